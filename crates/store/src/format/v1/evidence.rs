//! Written forms of evidence blobs: manifests, changes, differences, processes, network attempts, words.

use std::collections::BTreeMap;

use super::{
    wire::wire,
    words::{ActionClass, EventTime},
};

wire! {
    /// Every path that differs from the base, by absolute path inside the sandbox.
    ///
    /// A path that is not listed is as the base has it.
    struct Manifest = domain::evidence::Manifest {
        /// The entries in order of their paths.
        entries: BTreeMap<String, ManifestEntry>,
    }

    /// One path of a manifest.
    struct ManifestEntry = domain::evidence::ManifestEntry {
        /// What it is.
        kind: FileKind,
        /// Permission bits including setuid, setgid and sticky.
        mode: u32,
        /// Size in bytes; 0 for what has no content.
        size: u64,
        /// Kernel change time in milliseconds since the session's origin; cannot be set by a program.
        ctime_ms: i64,
        /// Hash of a regular file's content.
        hash: Option<String>,
        /// Target of a link.
        link_target: Option<String>,
    }

    /// What a path is.
    enum FileKind = domain::evidence::FileKind {
        /// A regular file.
        File,
        /// A directory.
        Directory,
        /// A symbolic link.
        Link,
        /// A pipe, socket or device.
        Special,
        /// The path existed in the base and is gone.
        Gone,
    }

    /// What was taken from an end state beside the result.
    struct Collected = domain::evidence::Collected {
        /// Commands that were run before, in order.
        hooks: Vec<HookRun>,
        /// Every declared path, in order.
        artifacts: Vec<KeptArtifact>,
    }

    /// A command that was run before artifacts were taken; that it failed keeps nothing from being taken.
    struct HookRun = domain::evidence::HookRun {
        /// The shell's command line.
        command: String,
        /// How it ended, in words.
        ended: String,
        /// The end of what it printed.
        output: String,
    }

    /// A declared path and what was taken of it.
    struct KeptArtifact = domain::evidence::KeptArtifact {
        /// The path inside, as declared.
        source: String,
        /// Where it is kept, below the artifacts' folder.
        destination: String,
        /// The service that holds it.
        service: String,
        /// Globs of what was left out.
        exclude: Vec<String>,
        /// What became of it.
        state: KeptState,
        /// What is kept of it: a file has one entry with an empty path.
        files: Vec<KeptFile>,
        /// Links and special files below it that were left out, because they mean nothing elsewhere.
        left_out: Vec<String>,
    }

    /// What became of a declared path.
    enum KeptState = domain::evidence::KeptState {
        /// It was a file.
        File,
        /// It was a directory.
        Directory,
        /// It was a directory that held nothing.
        Empty,
        /// Its place in the folder was taken by an earlier one; it was carried, not kept.
        Skipped,
        /// It could not be taken; why.
        Failed(why: String),
    }

    /// A path that is kept.
    struct KeptFile = domain::evidence::KeptFile {
        /// Below its artifact.
        path: String,
        /// Permission bits.
        mode: u32,
        /// What it is.
        node: KeptNode,
    }

    /// The content of a path that is kept.
    enum KeptNode = domain::evidence::KeptNode {
        /// A regular file: the blob of its content, and its size in bytes.
        File(hash: String, size: u64),
        /// A directory.
        Directory,
        /// A link that stays within its artifact, with its target.
        Link(target: String),
    }

    /// A change of one path within one turn (E1 as an event).
    struct Change = domain::evidence::Change {
        /// The turn in which it was seen.
        turn: u32,
        /// Absolute path inside the sandbox.
        path: String,
        /// How it changed.
        kind: ChangeKind,
        /// Last change of the path within the turn: exact by `ctime`, for deletions bounded by the parent's.
        time: EventTime,
    }

    /// How a path changed.
    enum ChangeKind = domain::evidence::ChangeKind {
        /// It did not exist before.
        Created,
        /// Its content or link target changed.
        Modified,
        /// Only its permission bits changed.
        ModeChanged,
        /// It became another kind of file.
        KindChanged,
        /// It is gone.
        Deleted,
    }

    /// The line difference of one file between two states (E2).
    struct FileDiff = domain::evidence::FileDiff {
        /// Absolute path inside the sandbox (the later one for a rename).
        path: String,
        /// The earlier path if it was renamed.
        renamed_from: Option<String>,
        /// How it changed.
        kind: ChangeKind,
        /// True if one side is not text; then no lines are listed.
        binary: bool,
        /// Added lines without their ends.
        added: Vec<String>,
        /// Removed lines without their ends.
        removed: Vec<String>,
    }

    /// One program that was started inside the sandbox (E3): a successful `execve` or `execveat`.
    struct ProcessEvent = domain::evidence::ProcessEvent {
        /// The turn in which it was started.
        turn: u32,
        /// When the program was started.
        started_ms: i64,
        /// When it exited; none if it lived on or died by a signal that was not seen.
        ended_ms: Option<i64>,
        /// Process id as the sandbox's own namespace counts.
        pid: u32,
        /// Parent's process id.
        parent: u32,
        /// User id inside the sandbox.
        uid: u32,
        /// Absolute path of the program as it was resolved inside the sandbox.
        program: String,
        /// The argument vector, `argv[0]` first; long vectors are cut by the recorder and end in `…`.
        argv: Vec<String>,
        /// Working directory inside the sandbox.
        cwd: String,
        /// Exit code; none if it still ran or a signal ended it.
        exit_code: Option<i32>,
    }

    /// One attempt to reach something over the network (E4).
    struct NetAttempt = domain::evidence::NetAttempt {
        /// The turn of the attempt.
        turn: u32,
        /// When it was made.
        at_ms: i64,
        /// Host name or address as the agent gave it.
        host: String,
        /// Port, 0 if none was named.
        port: u16,
        /// What came of it.
        outcome: NetOutcome,
        /// What it was made by.
        #[serde(default)]
        transport: NetTransport,
        /// How it met the wire.
        #[serde(default)]
        way: NetWay,
        /// The server's name that a TLS client asked for.
        sni: Option<String>,
        /// The method of a plain HTTP request, `CONNECT` among them.
        method: Option<String>,
        /// The path of a plain HTTP request, cut if it is long.
        path: Option<String>,
        /// Bytes that the program sent to the other end.
        #[serde(default)]
        sent_bytes: u64,
        /// Bytes that came back to it.
        #[serde(default)]
        received_bytes: u64,
        /// What the policy decided, and by which rule: a fragment that begins with `allowed` or `refused`.
        #[serde(default)]
        rule: String,
    }

    /// What a network attempt was made by.
    #[derive(Default)]
    enum NetTransport = domain::evidence::NetTransport {
        /// TCP.
        #[default]
        Tcp,
        /// UDP.
        Udp,
        /// ICMP or ICMPv6.
        Icmp,
        /// Another protocol, by its number in the packet.
        Other(number: u16),
    }

    /// How a network attempt met the wire.
    #[derive(Default)]
    enum NetWay = domain::evidence::NetWay {
        /// By a packet to an address.
        #[default]
        Direct,
        /// By a request to the wire's proxy.
        Proxy,
        /// By asking for the address of a name.
        Resolver,
        /// By a tool that the provider of a model runs; it passes no socket of the sandbox.
        Hosted,
    }

    /// What came of a network attempt.
    enum NetOutcome = domain::evidence::NetOutcome {
        /// The policy refused it.
        Refused,
        /// It was allowed but did not succeed.
        Failed,
        /// Bytes were exchanged.
        Succeeded,
    }

    /// One request to a model, as the gateway saw it (E9).
    struct ModelCall = domain::evidence::ModelCall {
        /// The turn in which it was made.
        turn: u32,
        /// When it was made.
        at_ms: i64,
        /// How long it took until its outcome was known, retries included.
        took_ms: u64,
        /// Its form.
        format: WireFormat,
        /// What it was for.
        purpose: Purpose,
        /// The model that was asked for.
        model_asked: String,
        /// The model that says it answered.
        model_answered: Option<String>,
        /// The effort as it was sent; none means that none was sent, which is not an effort of "none".
        effort: Option<String>,
        /// Other parameters as they were sent, by name, as JSON.
        parameters: Vec<(String, String)>,
        /// What it took.
        tokens: Tokens,
        /// What it cost in millionths of a US dollar; none if unknown.
        cost_microusd: Option<u64>,
        /// How it ended.
        outcome: CallOutcome,
        /// The status that the agent was given; 0 if it was given none.
        status: u16,
        /// How many times it was asked again.
        retries: u32,
        /// From the last asking to the first byte of the answer.
        first_byte_ms: Option<u64>,
        /// For how long the agent's clock stood still because of it.
        paused_ms: u64,
        /// Tools that the provider would have run.
        hosted: Vec<HostedTool>,
        /// Hash of the recorded exchange.
        exchange: Option<String>,
    }

    /// Which of the providers' forms a request has.
    enum WireFormat = domain::evidence::WireFormat {
        /// OpenAI's chat completions.
        OpenAiChat,
        /// OpenAI's responses.
        OpenAiResponses,
        /// Anthropic's messages.
        AnthropicMessages,
        /// Gemini's content generation.
        Gemini,
    }

    /// What a request is for.
    enum Purpose = domain::evidence::Purpose {
        /// The agent's work, and everything of which nothing else is certain.
        Main,
        /// Beside the conversation.
        Side,
    }

    /// How a request to a model ended.
    enum CallOutcome = domain::evidence::CallOutcome {
        /// The answer was passed on whole.
        Answered,
        /// The request itself was at fault: the provider said so.
        BadRequest,
        /// The gateway did not pass it on.
        Refused,
        /// The wire was blocked by the machine.
        Blocked,
        /// The agent went away before the answer was whole.
        Abandoned,
        /// Key, account or configured model were not accepted.
        Unauthorised,
        /// The provider failed beyond the retry policy.
        ProviderFailed,
        /// An answer that had begun broke.
        Broken(how: Break),
    }

    /// Why an answer that had begun was not whole.
    enum Break = domain::evidence::Break {
        /// The connection ended before the answer did.
        Truncated,
        /// Nothing came for longer than the policy allows.
        Stalled,
        /// The answer took longer than the policy allows.
        TooLong,
        /// The answer was larger than the policy allows.
        TooLarge,
        /// A part of it could not be read as what it claims to be.
        Malformed,
        /// The provider reported an error of its own in the middle.
        ErrorInside,
    }

    /// A tool of the provider in a request.
    struct HostedTool = domain::evidence::HostedTool {
        /// As the request named it, or the field that stands for it.
        name: String,
        /// What became of it.
        decision: HostedDecision,
    }

    /// What became of a tool that the provider would have run itself.
    enum HostedDecision = domain::evidence::HostedDecision {
        /// Taken out of the request, which went on without it.
        Stripped,
        /// The request was refused because of it.
        Refused,
        /// Let through: the policy is open.
        Allowed,
    }

    /// Tokens of one request; each number is none if the provider did not tell it.
    struct Tokens = domain::usage::Tokens {
        /// All input: fresh, read from a cache and written to one.
        input: Option<u64>,
        /// The part of the input that was read from a cache.
        cached_input: Option<u64>,
        /// The part of the input that was written to a cache.
        cache_write: Option<u64>,
        /// All output, reasoning included.
        output: Option<u64>,
        /// The part of the output that was reasoning.
        reasoning: Option<u64>,
        /// Uses of tools that the provider runs and bills apart.
        hosted_uses: Option<u64>,
    }

    /// A piece of text that the agent wrote (E5).
    struct AgentMessage = domain::evidence::AgentMessage {
        /// The turn in which it was written.
        turn: u32,
        /// When it arrived.
        at_ms: i64,
        /// The text.
        text: String,
        /// True for the turn's message (all text after the last tool call), false for narration before it.
        is_turn_message: bool,
    }

    /// A message of the user as it was delivered (E5).
    struct UserWords = domain::evidence::UserWords {
        /// The turn that it opened.
        turn: u32,
        /// When its last byte was flushed to the agent.
        delivered_ms: i64,
        /// The text, without the session note.
        text: String,
    }

    /// A permission request inside a turn.
    struct Permission = domain::evidence::Permission {
        /// The request's number.
        request: u32,
        /// The turn in which it was made.
        turn: u32,
        /// When it was made.
        at_ms: i64,
        /// The class of the action if one could be told.
        class: Option<ActionClass>,
        /// What exactly was asked for.
        subject: Option<String>,
    }
}
