//! The smallest release that lints clean; each test spoils one thing of it.

use domain::{
    evidence::{Channel, ChannelSet},
    ids::*,
    plan::{Arm, BenchmarkSide, Configuration, PlanRequest, UserKind},
    release::*,
};

pub fn three(text: &str) -> Vec<String> {
    vec![text.to_owned(), format!("{text} Please."), format!("{text} Thanks.")]
}

pub fn persona(id: &str) -> Persona {
    Persona {
        id: PersonaId::new(id),
        family: FamilyId::new(id.split('.').next().unwrap()),
        role: "Looks after a house.".into(),
        card: "You look after a house and write short sentences.".into(),
        sees: vec![Sight::Message, Sight::Files],
        patience: Patience::default(),
        telling: Telling::default(),
        permissions: PermissionTable {
            default: PermissionAnswer::Allowed,
            entries: vec![
                PermissionEntry {
                    class: ActionClass::GitCommit,
                    asked_by: vec!["commit".into()],
                    answer: PermissionAnswer::Granted { uses: 1, turns: 2 },
                    scope: vec![],
                },
                PermissionEntry {
                    class: ActionClass::Publish,
                    asked_by: vec!["publish".into()],
                    answer: PermissionAnswer::Refused,
                    scope: vec![],
                },
            ],
        },
        topics: vec![topic("screen", "which screen")],
        knows: vec![Fact { topic: TopicId::new("screen"), say: three("The one at the door.") }],
        utterances: Utterances {
            opening: three("Could you help me?"),
            tell: three("There is another thing:"),
            acknowledge: three("You did this already:"),
            grant: three("Yes, you may do that."),
            refuse: three("No, leave that."),
            dont_know: three("I can't tell you that."),
            defer: three("Let me see something before."),
            nudge: three("Are you still there?"),
            closing: three("Thank you."),
        },
    }
}

pub fn topic(id: &str, word: &str) -> Topic {
    Topic { id: TopicId::new(id), words: vec![word.into()] }
}

pub fn check(id: &str, kind: CheckKind) -> Check {
    Check { id: CheckId::new(id), read: kind.default_read(), kind }
}

pub fn fs(path: &str) -> CheckKind {
    CheckKind::Fs {
        path: vec![path.into()],
        is: Some(FsState::Present),
        contains: None,
        lacks: None,
        since: None,
    }
}

pub fn exec(kind: ExecKind) -> CheckKind {
    CheckKind::Exec { kind: Some(kind), argv: None, cwd: vec![], exit: ExitFilter::Any }
}

pub fn message(matches: &str) -> CheckKind {
    CheckKind::Message(MessageCheck { matches: Some(matches.into()), ..Default::default() })
}

/// `word` is what it says, hides and must say.
pub fn requirement(id: &str, word: &str, holds: Expr) -> Requirement {
    let restate = three(&format!("I asked for the {word}."));
    Requirement {
        id: RequirementId::new(id),
        area: Area::Delivery,
        mandatory: true,
        because: "the neighbours come by".into(),
        topic: None,
        class: None,
        text: format!("Leave the {word} in the folder."),
        say: three(&format!("Leave the {word} in the folder.")),
        must_say: vec![vec![word.into()]],
        hide: vec![word.into()],
        binds: Binds::WhenTold,
        opening: None,
        tell: Tell {
            when: Condition::AtHandoff,
            latest: Latest::Handoff,
            if_presatisfied: IfPresatisfied::Deliver,
            if_previolated: IfPreviolated::Undo,
        },
        pass: Pass { applies_if: None, holds },
        feedback: Feedback { repeats: 2, symptom: vec![], restate, point: vec![], sight: vec![] },
    }
}

pub fn id(name: &str) -> CheckId {
    CheckId::new(name)
}

pub fn pair(name: &str) -> Pair {
    Pair {
        id: PairId::new(name),
        suite: SuiteId::new("tiny"),
        persona: PersonaId::new("caretaker.v1"),
        task: TaskId::new("greet"),
        needs: vec![],
        budget: Budget { turns: Some(8), agent_time_sec: Some(100.0), ..Default::default() },
        completion: CompletionRule {
            key: "reward".into(),
            at_least: 1.0,
            verify: VerifyMode::Fresh,
            paths: vec!["/app".into()],
        },
        environment: PairEnvironment {
            sandboxes: vec!["local".into()],
            host: vec!["python3 >= 3.11".into(), "git".into()],
        },
        permissions: vec![],
        topics: vec![topic("paper", "which paper")],
        knows: vec![],
        checks: vec![check("note_left", fs("USAGE")), check("commits", exec(ExecKind::Commits))],
        requirements: vec![
            requirement("note", "usage note", Expr::AtEnd(id("note_left"))),
            requirement("quiet", "history", Expr::Never(id("commits"))),
        ],
        counterexamples: ["note", "quiet"].map(saboteur).into(),
    }
}

/// What it does is never looked at here.
pub fn saboteur(requirement: &str) -> Counterexample {
    Counterexample {
        kind: CounterexampleKind::Saboteur,
        requirement: RequirementId::new(requirement),
        script: Script { blocks: Vec::new() },
    }
}

pub fn task() -> Task {
    let mut task = Task::new(TaskId::new("greet"), "Make greet.sh greet by name.");
    task.agent.timeout_sec = Some(60.0);
    task.verifier.timeout_sec = 120.0;
    task.environment.build_timeout_sec = 60.0;
    task
}

/// The task of the clean release in three steps, and its pair as such a task needs it.
pub fn with_steps(release: &mut Release) {
    let task = release.tasks.get_mut(&TaskId::new("greet")).unwrap();
    task.steps =
        ["one", "two", "three"].map(|name| Step::new(StepId::new(name), "Greet on.")).into();
    let pair = house(release);
    pair.persona = PersonaId::new("neutral");
    (pair.requirements, pair.counterexamples, pair.checks) = Default::default();
    (pair.topics, pair.permissions, pair.knows) = Default::default();
    pair.budget = Budget::default();
}

pub fn release() -> Release {
    let personas = [persona("caretaker.v1"), persona("neutral")];
    Release {
        id: ReleaseId::new("tiny"),
        version: "0.1.0".into(),
        canary: "canary".into(),
        digest: Hash::new("00"),
        locked: true,
        personas: personas.map(|persona| (persona.id.clone(), persona)).into(),
        tasks: [(TaskId::new("greet"), task())].into(),
        pairs: [(PairId::new("house"), pair("house"))].into(),
    }
}

pub fn request() -> PlanRequest {
    PlanRequest {
        configuration: Configuration {
            agent: AgentName::new("oracle"),
            model: None,
            effort: None,
            settings: vec![],
        },
        arm: Arm::Progressive,
        side: BenchmarkSide {
            user: UserKind::Model,
            sandbox: "local".into(),
            budget_multiplier: 1,
            interaction_limit_sec: None,
            jobs: 1,
        },
        seed: 7,
        repeats: 1,
        pairs: vec![],
        limit: None,
        channels: all_channels(),
    }
}

pub fn all_channels() -> ChannelSet {
    Channel::ALL.into_iter().collect()
}

pub fn house(release: &mut Release) -> &mut Pair {
    release.pairs.get_mut(&PairId::new("house")).unwrap()
}

pub fn caretaker(release: &mut Release) -> &mut Persona {
    release.personas.get_mut(&PersonaId::new("caretaker.v1")).unwrap()
}
