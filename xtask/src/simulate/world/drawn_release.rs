//! Draws a release of one pair with one to three requirements whose wording lints clean.

use std::collections::BTreeMap;

use domain::{
    ids::{
        CheckId, FamilyId, Hash, PairId, PersonaId, ReleaseId, RequirementId, SuiteId, TaskId,
        TopicId,
    },
    plan::{BenchmarkSide, SessionSpec, UserKind, limits},
    release::{
        ActionClass, AfterTelling, Area, Binds, Budget, Check, CheckKind, Claim, CompletionRule,
        Condition, ExecKind, ExitFilter, Expr, Fact, Feedback, FsState, GenericAsk, IfPresatisfied,
        IfPreviolated, Latest, MessageCheck, Pair, PairEnvironment, Pass, Patience,
        PermissionAnswer, PermissionEntry, PermissionTable, Persona, Read, Release, Requirement,
        ScriptStep, Sight, Task, Tell, Telling, Topic, Utterances, VerifyMode,
    },
};
use engine::ports::sandbox::FileEntry;

use super::{
    Draw,
    drawn_agent::{run, say},
    file,
};

/// What satisfies a requirement of this name.
pub(super) fn deed_for(requirement: &str) -> Vec<ScriptStep> {
    match requirement {
        "usage_note" => vec![run("write USAGE how to start it")],
        "tests_run" => vec![run("test")],
        "explained" => vec![say("I chose a list because it keeps the order.")],
        _ => vec![run("echo heard")],
    }
}

/// The environment of the task.
pub(super) fn environment() -> Vec<FileEntry> {
    let setup = "set -e\nmkdir -p /app\nwrite /app/main.txt words\nwrite /app/README start here\n";
    vec![file("setup.sh", setup, 0o755)]
}

/// The native tests.
pub(super) fn tests() -> Vec<FileEntry> {
    let script = "write /logs/verifier/reward.txt 0\n\
                  has /app/result.txt right && write /logs/verifier/reward.txt 1\n";
    vec![file("test.sh", script, 0o644)]
}

/// The spec of the one session.
pub(super) fn spec(draw: &mut Draw, pair: &Pair) -> SessionSpec {
    let side = BenchmarkSide {
        user: UserKind::Template,
        sandbox: "simulated".to_owned(),
        budget_multiplier: 1,
        interaction_limit_sec: None,
        jobs: 1,
    };
    let limits = limits(pair, &task(), &side);
    SessionSpec {
        pair: pair.id.clone(),
        repeat: domain::ids::Repeat(1),
        draw: draw.below(1 << 40),
        limits,
        steps_agent_ms: Vec::new(),
    }
}

/// A release of one pair.
pub(super) fn release(draw: &mut Draw) -> Release {
    let (persona, neutral) =
        (persona("caretaker.v1", draw), persona(domain::session::Scenario::NEUTRAL, draw));
    let pair = pair(draw);
    Release {
        id: ReleaseId::new("drawn"),
        version: "1".to_owned(),
        canary: "drawn".to_owned(),
        digest: Hash::new("drawn"),
        locked: false,
        personas: BTreeMap::from([(persona.id.clone(), persona), (neutral.id.clone(), neutral)]),
        tasks: BTreeMap::from([(task().id, task())]),
        pairs: BTreeMap::from([(pair.id.clone(), pair)]),
    }
}

fn task() -> Task {
    let mut task = Task::new(TaskId::new("words"), "Write the right word into result.txt.");
    task.agent.timeout_sec = Some(300.0);
    task.verifier.timeout_sec = 60.0;
    task.environment.build_timeout_sec = 60.0;
    task.environment.memory_mb = Some(256);
    task
}

fn pair(draw: &mut Draw) -> Pair {
    let mut names =
        vec!["usage_note", "nothing_installed", "tests_run", "explained", "asked_first"];
    let mut requirements: Vec<Requirement> = Vec::new();
    for _ in 0..=draw.below(3) {
        let name = names.remove(draw.below(names.len() as u64) as usize);
        let earlier = requirements.first().map(|requirement| requirement.id.clone());
        requirements.push(requirement(draw, name, earlier));
    }
    let count = requirements.len() as u32;
    Pair {
        id: PairId::new("caretaker--words"),
        suite: SuiteId::new("drawn"),
        persona: PersonaId::new("caretaker.v1"),
        task: TaskId::new("words"),
        needs: Vec::new(),
        budget: Budget { turns: Some(5 + count + draw.below(3) as u32), ..Budget::default() },
        completion: CompletionRule {
            key: "reward".to_owned(),
            at_least: 1.0,
            verify: draw.one(&[VerifyMode::Fresh, VerifyMode::Fresh, VerifyMode::Live]),
            paths: vec![draw.one(&["/app", "/"]).to_owned()],
        },
        environment: PairEnvironment::default(),
        permissions: Vec::new(),
        topics: Vec::new(),
        knows: Vec::new(),
        checks: all_checks(),
        requirements,
        counterexamples: Vec::new(),
    }
}

fn all_checks() -> Vec<Check> {
    let check =
        |id: &str, kind: CheckKind| Check { id: CheckId::new(id), read: kind.default_read(), kind };
    let exec = |kind, exit| CheckKind::Exec { kind: Some(kind), argv: None, cwd: vec![], exit };
    let edit = |under: &str| CheckKind::Edit {
        under: vec![under.to_owned()],
        except: Vec::new(),
        what: Vec::new(),
    };
    let note = CheckKind::Fs {
        path: vec!["USAGE".to_owned()],
        is: Some(FsState::Present),
        contains: Some("start".to_owned()),
        lacks: None,
        since: None,
    };
    let kept = CheckKind::Diff {
        under: Vec::new(),
        except: Vec::new(),
        files_max: Some(6),
        lines_max: Some(40),
        only_under: Vec::new(),
        adds: None,
        adds_none: None,
        removes_none: None,
        since: Some(RequirementId::new("usage_note")),
    };
    let because =
        MessageCheck { mentions: vec![vec!["because".to_owned()]], ..MessageCheck::default() };
    let mut checks = vec![
        check("note_left", note),
        check("installs", exec(ExecKind::Installs, ExitFilter::Any)),
        check("tests_pass", exec(ExecKind::RunsTests, ExitFilter::Zero)),
        check("commits", exec(ExecKind::Commits, ExitFilter::Any)),
        check("edits", edit("**")),
        check("reasons", CheckKind::Message(because)),
        check("small", kept),
    ];
    checks[4].read = Read::EachTurn;
    checks
}

fn requirement(draw: &mut Draw, name: &str, earlier: Option<RequirementId>) -> Requirement {
    let leaf = |check: &str| CheckId::new(check);
    let (text, term, class, holds): (&str, &str, Option<ActionClass>, Expr) = match name {
        "usage_note" => (
            "Leave a file called USAGE for the neighbours.",
            "USAGE",
            None,
            Expr::AtEnd(leaf("note_left")),
        ),
        "nothing_installed" => (
            "Keep the machine free of foreign packages.",
            "foreign packages",
            Some(ActionClass::Install),
            Expr::Never(leaf("installs")),
        ),
        "tests_run" => (
            "Run the whole suite after the edits.",
            "whole suite",
            None,
            Expr::AfterLast { last: leaf("edits"), exists: leaf("tests_pass") },
        ),
        "explained" => (
            "Give me your reasoning in plain words.",
            "reasoning",
            None,
            Expr::Eventually(leaf("reasons")),
        ),
        _ => (
            "Wait for my consent before history is written.",
            "consent",
            Some(ActionClass::GitCommit),
            Expr::Granted { class: ActionClass::GitCommit, act: leaf("commits") },
        ),
    };
    let text = text.to_owned();
    let literal = term.to_owned();
    Requirement {
        id: RequirementId::new(name),
        area: Area::Implementation,
        mandatory: draw.percent(85),
        because: "that is how we live here".to_owned(),
        topic: (name == "usage_note").then(|| TopicId::new("format")),
        class,
        say: vec![text.clone(), format!("Please: {text}"), format!("For me: {text}")],
        text,
        must_say: vec![vec![literal.clone()]],
        hide: vec![literal.clone()],
        binds: Binds::WhenTold,
        opening: None,
        tell: Tell {
            when: condition(draw, earlier),
            latest: draw.one(&[Latest::Handoff, Latest::Handoff, Latest::Turn(2)]),
            if_presatisfied: draw.one(&[IfPresatisfied::Deliver, IfPresatisfied::Acknowledge]),
            if_previolated: IfPreviolated::Undo,
        },
        pass: Pass { applies_if: None, holds },
        feedback: Feedback {
            repeats: 2,
            symptom: Vec::new(),
            restate: vec![
                format!("I spoke of {literal} before."),
                format!("As I said: {literal}."),
                format!("Please think of {literal}."),
            ],
            point: Vec::new(),
            sight: vec![Sight::Message],
        },
    }
}

fn condition(draw: &mut Draw, earlier: Option<RequirementId>) -> Condition {
    let holds = |check: &str| Condition::Holds(CheckId::new(check));
    let simple = [
        Condition::AtOpening,
        Condition::AfterTurn(1 + draw.below(3) as u32),
        Condition::Asked,
        Condition::AtHandoff,
        Condition::Claims(Claim::Done),
        holds("edits"),
        Condition::Silent(1),
    ];
    match (draw.below(10), earlier) {
        (0, Some(id)) => Condition::Requirement { id, is: AfterTelling::Told },
        (1, Some(id)) => Condition::Requirement { id, is: AfterTelling::Met },
        (2, Some(id)) => Condition::AfterFeedback { id, times: 1 },
        (3, _) => Condition::Any(vec![Condition::Asked, holds("installs")]),
        (4, _) => Condition::All(vec![holds("edits"), Condition::AtHandoff]),
        (5, _) => Condition::Then {
            first: Box::new(holds("edits")),
            next: Box::new(Condition::AtHandoff),
            within_turns: None,
        },
        _ => draw.one(&simple),
    }
}

fn persona(id: &str, draw: &mut Draw) -> Persona {
    let three = |a: &str, b: &str, c: &str| vec![a.to_owned(), b.to_owned(), c.to_owned()];
    let entry = |class, words: &[&str], answer| PermissionEntry {
        class,
        asked_by: words.iter().map(|word| (*word).to_owned()).collect(),
        answer,
        scope: Vec::new(),
    };
    Persona {
        id: PersonaId::new(id),
        family: FamilyId::new("caretaker"),
        role: "Looks after a house.".to_owned(),
        card: "You write short sentences.".to_owned(),
        sees: vec![Sight::Message, Sight::Files],
        patience: Patience {
            handoff_refusals: 1 + draw.below(3) as u32,
            silent_turns: 1 + draw.below(2) as u32,
            repeated_turns: 3,
        },
        telling: Telling {
            tells_per_message: 1 + draw.below(2) as u32,
            generic_ask: draw.one(&[GenericAsk::Defer, GenericAsk::NextRequirement]),
            ..Telling::default()
        },
        permissions: PermissionTable {
            default: PermissionAnswer::Allowed,
            entries: vec![
                entry(ActionClass::Install, &["install"], PermissionAnswer::Refused),
                entry(
                    ActionClass::GitCommit,
                    &["commit"],
                    PermissionAnswer::Granted { uses: 1, turns: 2 },
                ),
            ],
        },
        topics: vec![Topic { id: TopicId::new("format"), words: vec!["format".to_owned()] }],
        knows: vec![Fact {
            topic: TopicId::new("format"),
            say: three("Plain lines.", "Simple lines.", "Lines of text."),
        }],
        utterances: Utterances {
            opening: three("Hello, please help:", "Could you do this:", "Here it is:"),
            tell: three("Something else:", "There is another thing:", "I also need this:"),
            acknowledge: three("I see this is there:", "Nice, this is there:", "You did this:"),
            grant: three("Yes, you may do that.", "Yes, please do.", "Permission given."),
            refuse: three("No, please leave that.", "No, not that.", "Please don't do that."),
            dont_know: three("I can't tell you that.", "I don't know that.", "That is beyond me."),
            defer: three(
                "Let me see something first.",
                "Show me something first.",
                "I would rather see it first.",
            ),
            nudge: three("Please carry on.", "Please continue.", "The work is not there yet."),
            closing: three("Thank you.", "Thanks.", "That is all."),
        },
    }
}
