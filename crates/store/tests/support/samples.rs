//! One value of every kind that a run directory holds.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    acceptance::{Look, Occurrence, Reading, Truth},
    controller::{SpeechAct, TurnPlan},
    evidence::{
        AgentMessage, Break, CallOutcome, Change, ChangeKind, Channel, Collected, EventTime,
        FileDiff, FileKind, HookRun, HostedDecision, HostedTool, KeptArtifact, KeptFile, KeptNode,
        KeptState, Manifest, ManifestEntry, Missing, ModelCall, NetAttempt, NetOutcome,
        NetTransport, NetWay, Permission, ProcessEvent, Purpose, UserWords, WireFormat,
    },
    fault::{Ending, Flag},
    ids::{
        AgentName, Attempt, CheckId, CommandId, Hash, PairId, ReleaseId, Repeat, RequestId,
        RequirementId, StepId, TopicId, Turn,
    },
    plan::{Arm, BenchmarkSide, Configuration, Plan, SessionLimits, SessionSpec, UserKind},
    release::{ActionClass, FeedbackLevel},
    session::{
        Answer, CheckRequest, ClaimSpan, Command, CompletionOutcome, CompletionReport, Entry,
        Event, Excerpt, Observation, PlanEntry, PlanState, ToolActivity, ToolKind, ToolOutcome,
        ToolReturn, TurnStop, UseClaim, Watchdog, Wordsmith,
    },
    usage::{Price, Tokens},
    wording::Rejection,
};
use store::run::{AttemptHead, HostRecord, ModelsRecord, RecordedModel, RunRecord};

pub fn hash(digit: char) -> Hash {
    Hash::new(digit.to_string().repeat(64))
}

fn requirement() -> RequirementId {
    RequirementId::new("usage_note")
}

fn must_say() -> Vec<Vec<String>> {
    vec![vec!["USAGE".into()], vec!["without internet".into(), "no internet".into()]]
}

/// Every act of speech.
pub fn acts() -> Vec<SpeechAct> {
    let say = || "So spricht man: „ja“.\n".to_owned();
    vec![
        SpeechAct::Open { say: say(), statement: "Make it \"so\".\n\t```".into() },
        SpeechAct::Grant {
            class: ActionClass::GitCommit,
            subject: Some("main".into()),
            say: say(),
        },
        SpeechAct::Refuse { class: None, say: say() },
        SpeechAct::Answer { topic: TopicId::new("screen"), say: say() },
        SpeechAct::Defer { say: say() },
        SpeechAct::DontKnow { say: say() },
        SpeechAct::Correct { requirement: requirement(), level: FeedbackLevel::Point, say: say() },
        SpeechAct::Tell {
            requirement: requirement(),
            lead: "Something else:".into(),
            say: say(),
            because: "the neighbours".into(),
            must_say: must_say(),
        },
        SpeechAct::Acknowledge {
            requirement: requirement(),
            lead: String::new(),
            say: say(),
            because: "the neighbours".into(),
            must_say: must_say(),
        },
        SpeechAct::Nudge { say: say() },
        SpeechAct::CheckAgain { say: say() },
        SpeechAct::Continue { say: say() },
    ]
}

/// Every command.
pub fn commands() -> Vec<Command> {
    let plan = TurnPlan {
        turn: Turn(2),
        acts: acts(),
        words_max: 60,
        language: "en".into(),
        questions_max: 1,
    };
    let after = vec![
        Rejection::Empty,
        Rejection::TooLong { words: 90, words_max: 60 },
        Rejection::Language,
        Rejection::LeavesOut("USAGE".into()),
        Rejection::SaysTooMuch("17".into()),
        Rejection::Assents("sure".into()),
        Rejection::Code,
        Rejection::StatementChanged,
        Rejection::RoleFlip("I have implemented".into()),
        Rejection::BreaksFrame("benchmark".into()),
        Rejection::Questions,
    ];
    let check = |since| CheckRequest { check: CheckId::new("note_left"), since };
    let mut commands = vec![
        Command::PrepareSandbox,
        Command::OpenAgent,
        Command::Word { plan, nth: 2, after },
        Command::Prompt { turn: Turn(2), message: "Hello \u{1F33B}".into(), deadline_ms: 60_000 },
        Command::AnswerPermission { request: RequestId(4), allow: false },
        Command::BlockWire,
        Command::Interrupt { because: Ending::AgentTime },
        Command::Freeze { turn: Turn(2) },
        Command::Capture { turn: Turn(2) },
        Command::Interpret { turn: Turn(2), topics: vec![TopicId::new("screen")] },
        Command::Check {
            look: Look::Turn(Turn(2)),
            checks: vec![check(None), check(Some(Turn(1)))],
        },
        Command::Check { look: Look::Sealed, checks: vec![check(None)] },
        Command::Seal,
        Command::VerifyCompletion,
    ];
    commands.extend(Ending::ALL.map(Command::End));
    commands
}

/// Every answer.
pub fn answers() -> Vec<Answer> {
    let verified = |outcome| {
        Answer::CompletionVerified(CompletionReport {
            outcome,
            took_ms: 12,
            output: Some(hash('a')),
            artifacts: Some(hash('b')),
            survivors: Some(vec!["7 sleep 9".into()]),
        })
    };
    let causes = [
        Missing::NotLooked,
        Missing::OrderUnknown,
        Missing::JudgeSplit,
        Missing::JudgeAbsent,
        Missing::ChannelMissing,
    ];
    let state = |truth| Reading::State { truth, witness: "USAGE".into() };
    let occurrence = Occurrence {
        turn: Turn(1),
        time: EventTime::between(-3, i64::MAX),
        subject: "pip install x".into(),
    };
    let mut readings = vec![
        state(Truth::True),
        state(Truth::False),
        Reading::Events(vec![occurrence]),
        Reading::Events(Vec::new()),
    ];
    readings.extend(causes.map(|cause| state(Truth::Unknown(cause))));
    readings.extend(causes.map(Reading::Missing));
    let id = |at: usize| CheckId::new(format!("check_{at}"));
    let readings =
        readings.into_iter().enumerate().map(|(at, reading)| (id(at), reading)).collect();
    let worded = |by, exchange| Answer::Worded { text: "Hello.".into(), by, exchange };
    let ended = |stop| Answer::TurnEnded { stop, agent_ms: 1_500 };
    vec![
        Answer::SandboxReady,
        Answer::AgentOpened { identity: "oracle 0.1.0".into() },
        worded(Wordsmith::Template, None),
        worded(Wordsmith::Model, Some(hash('b'))),
        worded(Wordsmith::Human, None),
        ended(TurnStop::Finished),
        ended(TurnStop::Interrupted),
        ended(TurnStop::Refused),
        ended(TurnStop::Crashed),
        ended(TurnStop::DeadlinePassed),
        ended(TurnStop::LimitBreached),
        Answer::PermissionAnswered,
        Answer::WireBlocked,
        Answer::Interrupted,
        Answer::Frozen,
        Answer::Captured {
            manifest: hash('c'),
            changed: 3,
            processes: 2,
            overflow: false,
            limit_hit: Some("memory".into()),
            cpu_share_percent: Some(97),
        },
        Answer::Interpreted { topics: vec![Some(TopicId::new("screen")), None] },
        Answer::Read { readings },
        Answer::Sealed { digest: hash('d'), verifier_tools_changed: vec!["/bin/sh".into()] },
        verified(CompletionOutcome::Rewards(vec![("reward".into(), 1.0), ("half".into(), 0.1)])),
        verified(CompletionOutcome::NoReward),
        verified(CompletionOutcome::BadReward("empty".into())),
        verified(CompletionOutcome::Contradictory("1 and 0".into())),
        verified(CompletionOutcome::TimedOut),
        Answer::Closed,
        Answer::Failed { flag: Flag::HostLimits, ending: None, detail: "disk".into() },
        Answer::Failed {
            flag: Flag::EnvironmentLost,
            ending: Some(Ending::EnvironmentLost),
            detail: "gone".into(),
        },
    ]
}

/// Every observation.
pub fn observations() -> Vec<Observation> {
    let permission = |class, subject| {
        let (request, turn, at_ms) = (RequestId(4), Turn(2), 17);
        Observation::PermissionRequested(Permission { request, turn, at_ms, class, subject })
    };
    let mut observations = vec![
        Observation::Delivered { turn: Turn(2), at_ms: 11 },
        Observation::AgentSaid { turn: Turn(2), at_ms: 12, text: "Done.\n\n```sh\nls\n```".into() },
        Observation::AgentActed(ToolActivity {
            turn: Turn(2),
            at_ms: 13,
            title: "run ls".into(),
            call: Some("call-1".into()),
            kind: Some(ToolKind::Execute),
            input: Some(Excerpt::of("ls")),
        }),
        Observation::ToolReturned(ToolReturn {
            turn: Turn(2),
            at_ms: 14,
            call: "call-1".into(),
            outcome: ToolOutcome::Failed,
            input: None,
            output: Some(Excerpt::of("no").cut(Hash::new("ab"))),
            exit_code: Some(2),
        }),
        Observation::AgentThought { turn: Turn(2), at_ms: 15, text: Excerpt::of("hm") },
        Observation::AgentPlanned {
            turn: Turn(2),
            at_ms: 16,
            entries: vec![PlanEntry { text: "look".into(), state: PlanState::Doing }],
        },
        Observation::UseClaimed(UseClaim {
            turn: Turn(2),
            span: ClaimSpan::Session,
            input: Some(10),
            cached: None,
            output: Some(2),
            reasoning: Some(1),
            cost_microusd: Some(7),
        }),
        Observation::DriverNoted {
            turn: Turn(2),
            at_ms: 17,
            text: "the agent exited with 1".into(),
        },
        permission(None, None),
        Observation::Used { tokens: Some(u64::MAX), cost_microusd: None },
        Observation::Used { tokens: None, cost_microusd: None },
        Observation::Used { tokens: Some(0), cost_microusd: Some(7) },
        Observation::WatchdogFired(Watchdog::Preparation),
        Observation::WatchdogFired(Watchdog::WallTime),
        Observation::WatchdogFired(Watchdog::Verification),
        Observation::Cancelled,
        Observation::Stray { detail: "frozen".into() },
    ];
    observations
        .extend(ActionClass::ALL.map(|class| permission(Some(class), Some("/app/x".to_owned()))));
    observations.extend(Channel::ALL.map(|channel| Observation::Cut {
        channel,
        turn: Turn(2),
        count: 5,
        blob: hash('e'),
    }));
    observations
        .extend(Flag::ALL.map(|flag| Observation::Flagged { flag, detail: "why".to_owned() }));
    observations
}

/// A log that holds every kind of entry; no session ever went so.
pub fn entries() -> Vec<Entry> {
    let commands = commands().into_iter().zip(1..).map(|(c, id)| Event::Decided(CommandId(id), c));
    let answers = answers().into_iter().zip(1..).map(|(a, id)| Event::Answered(CommandId(id), a));
    let observations = observations().into_iter().map(Event::Observed);
    let events = observations.chain(answers).chain(commands).chain(step_events());
    (1..).zip(events).map(|(seq, event)| Entry { seq, elapsed_ms: 10 * seq, event }).collect()
}

/// Commands and answers of a task that has steps.
fn step_events() -> Vec<Event> {
    let report = CompletionReport {
        outcome: CompletionOutcome::Rewards(vec![("reward".into(), 0.5)]),
        took_ms: 12,
        output: None,
        artifacts: None,
        survivors: None,
    };
    let verifier_tools_changed = vec!["/bin/sh".into()];
    let verify = Command::VerifyStep { turn: Turn(1), step: StepId::new("first") };
    let place = Command::PlaceStep { turn: Turn(2), step: StepId::new("second") };
    vec![
        Event::Decided(CommandId(1), verify),
        Event::Answered(CommandId(1), Answer::StepVerified { report, verifier_tools_changed }),
        Event::Decided(CommandId(2), place),
        Event::Answered(CommandId(2), Answer::StepPlaced { manifest: hash('c'), changed: 2 }),
    ]
}

pub fn manifest() -> Manifest {
    let entry = |kind, hash, target: Option<&str>| ManifestEntry {
        kind,
        mode: 0o4755,
        size: 12,
        ctime_ms: -4,
        hash,
        link_target: target.map(str::to_owned),
    };
    let entries = BTreeMap::from([
        ("/app/USAGE".to_owned(), entry(FileKind::File, Some(hash('f')), None)),
        ("/app/d".to_owned(), entry(FileKind::Directory, None, None)),
        ("/app/l".to_owned(), entry(FileKind::Link, None, Some("../x"))),
        ("/app/p".to_owned(), entry(FileKind::Special, None, None)),
        ("/app/g \u{fffd}".to_owned(), entry(FileKind::Gone, None, None)),
    ]);
    Manifest { entries }
}

pub fn changes() -> Vec<Change> {
    let kinds = [
        ChangeKind::Created,
        ChangeKind::Modified,
        ChangeKind::ModeChanged,
        ChangeKind::KindChanged,
        ChangeKind::Deleted,
    ];
    let change =
        |kind| Change { turn: Turn(1), path: "/app/USAGE".into(), kind, time: EventTime::exact(5) };
    kinds.map(change).to_vec()
}

pub fn diffs() -> BTreeMap<Turn, Vec<FileDiff>> {
    let diff = FileDiff {
        path: "/app/USAGE".into(),
        renamed_from: Some("/app/USE".into()),
        kind: ChangeKind::Modified,
        binary: false,
        added: vec!["a".into(), String::new()],
        removed: vec!["b".into()],
    };
    BTreeMap::from([(Turn::BASE, vec![diff]), (Turn(3), Vec::new())])
}

pub fn processes() -> Vec<ProcessEvent> {
    let process = |ended_ms, exit_code| ProcessEvent {
        turn: Turn(1),
        started_ms: 3,
        ended_ms,
        pid: 7,
        parent: 2,
        uid: 0,
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), "echo \u{0}\u{1b}[1m".into()],
        cwd: "/app".into(),
        exit_code,
    };
    vec![process(None, None), process(Some(9), Some(-1))]
}

pub fn network() -> Vec<NetAttempt> {
    let outcomes = [NetOutcome::Refused, NetOutcome::Failed, NetOutcome::Succeeded];
    let attempt = |outcome| NetAttempt {
        turn: Turn(1),
        at_ms: 3,
        host: "pypi.org".into(),
        port: 443,
        outcome,
        transport: NetTransport::Tcp,
        way: NetWay::Proxy,
        sni: Some("pypi.org".into()),
        method: Some("CONNECT".into()),
        path: None,
        sent_bytes: 1,
        received_bytes: 2,
        rule: "refused: not on the list".into(),
    };
    let mut attempts = outcomes.map(attempt).to_vec();
    let transports = [NetTransport::Udp, NetTransport::Icmp, NetTransport::Other(132)];
    let ways = [NetWay::Direct, NetWay::Resolver, NetWay::Hosted];
    for (transport, way) in transports.into_iter().zip(ways) {
        attempts.push(NetAttempt { transport, way, ..attempt(NetOutcome::Refused) });
    }
    attempts
}

pub fn calls() -> Vec<ModelCall> {
    let outcomes = [
        CallOutcome::Answered,
        CallOutcome::BadRequest,
        CallOutcome::Refused,
        CallOutcome::Blocked,
        CallOutcome::Abandoned,
        CallOutcome::Unauthorised,
        CallOutcome::ProviderFailed,
    ];
    let broken = Break::ALL.into_iter().map(CallOutcome::Broken);
    let call = |(at, outcome): (usize, CallOutcome)| ModelCall {
        turn: Turn(2),
        at_ms: -1,
        took_ms: 5,
        format: WireFormat::ALL[at % 4],
        purpose: if at % 2 == 0 { Purpose::Main } else { Purpose::Side },
        model_asked: "a".into(),
        model_answered: (at > 0).then(|| "b".into()),
        effort: (at > 0).then(|| "none".into()),
        parameters: vec![("top_p".into(), "0.5".into())],
        tokens: Tokens { input: Some(u64::MAX), cached_input: Some(0), ..Tokens::default() },
        cost_microusd: (at > 0).then_some(7),
        outcome,
        status: 200,
        retries: 1,
        first_byte_ms: None,
        paused_ms: 9,
        hosted: HostedDecision::ALL
            .map(|decision| HostedTool { name: "web_search".into(), decision })
            .to_vec(),
        exchange: (at > 0).then(|| hash('e')),
    };
    outcomes.into_iter().chain(broken).enumerate().map(call).collect()
}

pub fn artifacts() -> Collected {
    let states = [
        KeptState::File,
        KeptState::Directory,
        KeptState::Empty,
        KeptState::Skipped,
        KeptState::Failed("it is not there".into()),
    ];
    let node = |at: usize| match at {
        0 => KeptNode::File(hash('c'), 7),
        1 => KeptNode::Directory,
        _ => KeptNode::Link("../x".into()),
    };
    let artifact = |(at, state)| KeptArtifact {
        source: format!("/app/{at}"),
        destination: format!("app/{at}"),
        service: "main".into(),
        exclude: vec!["*.pyc".into()],
        state,
        files: vec![KeptFile { path: "a".into(), mode: 0o644, node: node(at) }],
        left_out: vec!["l -> /x".into()],
    };
    let hook =
        HookRun { command: "true".into(), ended: "exited with 0".into(), output: String::new() };
    let artifacts = states.into_iter().enumerate().map(artifact).collect();
    Collected { hooks: vec![hook], artifacts }
}

pub fn messages() -> Vec<AgentMessage> {
    let message = |is_turn_message| AgentMessage {
        turn: Turn(1),
        at_ms: 3,
        text: "line\u{2028}end".into(),
        is_turn_message,
    };
    vec![message(false), message(true)]
}

pub fn user_words() -> Vec<UserWords> {
    vec![UserWords { turn: Turn(1), delivered_ms: 3, text: "Hello".into() }]
}

/// A plan over the tiny release.
pub fn plan(digest: Hash) -> Plan {
    let limits = SessionLimits {
        turns_max: 6,
        agent_time_ms: 60_000,
        wall_time_ms: 3_660_000,
        tokens_max: Some(1_000),
        cost_microusd_max: None,
        preparation_ms: 7_200_000,
        verification_ms: 900_000,
    };
    let spec = |repeat| SessionSpec {
        pair: PairId::new("caretaker--greet"),
        repeat: Repeat(repeat),
        draw: u64::MAX - u64::from(repeat),
        limits,
        steps_agent_ms: Vec::new(),
    };
    Plan {
        release: ReleaseId::new("tiny"),
        release_version: "0.1.0".into(),
        digest,
        locked: false,
        configuration: Configuration {
            agent: AgentName::new("oracle"),
            model: Some("m".into()),
            effort: None,
            settings: vec![("mode".into(), "ask".into())],
        },
        arm: Arm::Progressive,
        side: BenchmarkSide {
            user: UserKind::Template,
            sandbox: "simulated".into(),
            budget_multiplier: 2,
            interaction_limit_sec: Some(90),
            jobs: 2,
        },
        seed: u64::MAX,
        repeats: 2,
        specs: vec![spec(1), spec(2)],
        excluded: vec![PairId::new("other")],
    }
}

pub fn record() -> RunRecord {
    RunRecord {
        tool: "pcb 0.1.0".into(),
        protocol: 1,
        started_utc: "2026-11-30T14:53:07Z".into(),
        host: HostRecord {
            sandbox: "simulated".into(),
            channels: BTreeSet::from(Channel::ALL),
            enforced: vec!["memory".into()],
            shortfalls: vec!["processor share is not counted".into()],
            is_root: true,
            cpus: 2,
            memory_mb: Some(4_096),
            kernel: "Linux 6.8 x86_64".into(),
            toolchains: BTreeMap::from([("python3".to_owned(), "3.11.2".to_owned())]),
        },
        models: Some(ModelsRecord {
            file: hash('a'),
            entries: vec![RecordedModel {
                name: "luna".into(),
                model: "gpt-6-luna".into(),
                format: WireFormat::OpenAiResponses,
                base: "https://api.example.com/v1".into(),
                key_variable: Some("EXAMPLE_KEY".into()),
                authorities: None,
            }],
            prices: vec![Price {
                model: "gpt-6*".into(),
                input: 1_250_000,
                cached_input: Some(125_000),
                cache_write: None,
                output: u64::MAX,
            }],
        }),
    }
}

pub fn head(repeat: u32, attempt: u32) -> AttemptHead {
    AttemptHead {
        pair: PairId::new("caretaker--greet"),
        repeat: Repeat(repeat),
        attempt: Attempt(attempt),
        user: UserKind::Template,
        channels: BTreeSet::from([Channel::Manifest, Channel::Order]),
        started_utc: "2026-11-30T14:53:08Z".into(),
    }
}
