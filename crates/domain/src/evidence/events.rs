//! Events in time: processes, network attempts, messages and permission requests of one session.

use alloc::{string::String, vec::Vec};

use crate::{
    ids::{RequestId, Turn},
    release::ActionClass,
};

/// When something happened, in milliseconds of the source's kernel clock since the session's origin.
///
/// `earliest_ms == latest_ms` when the source knows the time exactly; the origin is the moment at which the
/// sandbox was ready, so what the base already held has a negative time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventTime {
    /// It did not happen before this.
    pub earliest_ms: i64,
    /// It did not happen after this.
    pub latest_ms: i64,
}

impl EventTime {
    /// A time that the source knows exactly.
    pub fn exact(at_ms: i64) -> Self {
        Self { earliest_ms: at_ms, latest_ms: at_ms }
    }

    /// A time that is only bounded.
    pub fn between(earliest_ms: i64, latest_ms: i64) -> Self {
        Self { earliest_ms, latest_ms }
    }
}

/// One program that was started inside the sandbox (E3): a successful `execve` or `execveat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEvent {
    /// The turn in which it was started.
    pub turn: Turn,
    /// When the program was started.
    pub started_ms: i64,
    /// When it exited; none if it lived on or died by a signal that was not seen.
    pub ended_ms: Option<i64>,
    /// Process id as the sandbox's own namespace counts.
    pub pid: u32,
    /// Parent's process id.
    pub parent: u32,
    /// User id inside the sandbox.
    pub uid: u32,
    /// Absolute path of the program as it was resolved inside the sandbox.
    pub program: String,
    /// The argument vector, `argv[0]` first; long vectors are cut by the recorder and end in `…`.
    pub argv: Vec<String>,
    /// Working directory inside the sandbox.
    pub cwd: String,
    /// Exit code; none if it still ran or a signal ended it.
    pub exit_code: Option<i32>,
}

/// What came of a network attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetOutcome {
    /// The policy refused it.
    Refused,
    /// It was allowed but did not succeed.
    Failed,
    /// Bytes were exchanged.
    Succeeded,
}

/// What a network attempt was made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetTransport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// ICMP or ICMPv6.
    Icmp,
    /// Another protocol, by its number in the packet.
    Other(u16),
}

/// How a network attempt met the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetWay {
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

/// One attempt to reach something over the network (E4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetAttempt {
    /// The turn of the attempt.
    pub turn: Turn,
    /// When it was made.
    pub at_ms: i64,
    /// Host name or address as the agent gave it.
    pub host: String,
    /// Port, 0 if none was named.
    pub port: u16,
    /// What came of it.
    pub outcome: NetOutcome,
    /// What it was made by.
    pub transport: NetTransport,
    /// How it met the wire.
    pub way: NetWay,
    /// The server's name that a TLS client asked for.
    pub sni: Option<String>,
    /// The method of a plain HTTP request, `CONNECT` among them.
    pub method: Option<String>,
    /// The path of a plain HTTP request, cut if it is long.
    pub path: Option<String>,
    /// Bytes that the program sent to the other end.
    pub sent_bytes: u64,
    /// Bytes that came back to it.
    pub received_bytes: u64,
    /// What the policy decided, and by which rule: a fragment that begins with `allowed` or `refused`.
    pub rule: String,
}

/// A piece of text that the agent wrote (E5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMessage {
    /// The turn in which it was written.
    pub turn: Turn,
    /// When it arrived.
    pub at_ms: i64,
    /// The text.
    pub text: String,
    /// True for the turn's message (all text after the last tool call), false for narration before it.
    pub is_turn_message: bool,
}

/// A message of the user as it was delivered (E5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWords {
    /// The turn that it opened.
    pub turn: Turn,
    /// When its last byte was flushed to the agent.
    pub delivered_ms: i64,
    /// The text, without the session note.
    pub text: String,
}

/// A permission request inside a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The request's number.
    pub request: RequestId,
    /// The turn in which it was made.
    pub turn: Turn,
    /// When it was made.
    pub at_ms: i64,
    /// The class of the action if one could be told.
    pub class: Option<ActionClass>,
    /// What exactly was asked for.
    pub subject: Option<String>,
}
