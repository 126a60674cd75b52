//! Folds: logs of whole sessions, played by a tiny agent, into results.

use std::sync::Arc;

use domain::{
    acceptance::{Look, Reading, Truth},
    evidence::Missing,
    fault::{Ending, Flag},
    ids::*,
    plan::{Arm, UserKind, expand},
    result::{Class, SessionResult, fold, of_session, up_to_seal},
    session::*,
    verdict::{Outcome, Verdict},
    wording,
};

use crate::build::*;

/// What differs from a session in which all goes well.
#[derive(Default)]
struct Course {
    arm: Arm,
    /// The turn from which the note is there; none means never.
    note_from: Option<u32>,
    /// The note as it is read on the seal, if it is not as it was.
    sealed_note: Option<Truth>,
    /// The provider fails in this turn.
    fails_in: Option<u32>,
    /// Agent time of each turn in milliseconds.
    agent_ms: u64,
}

fn scenario(arm: Arm) -> Arc<Scenario> {
    let release = release();
    let plan = expand(&release, &request()).unwrap();
    let user = UserKind::Template;
    Arc::new(Scenario::compile(&release, &plan.specs[0], arm, user, &all_channels()).unwrap())
}

/// An agent that uses a tool and says that it is done, turn by turn, until the session is over.
fn play(course: &Course) -> Vec<Entry> {
    let mut session = Session::new(scenario(course.arm));
    let mut log = Vec::new();
    loop {
        match session.next() {
            Next::Over(_) => return log,
            Next::Wait => panic!("every command is answered at once"),
            Next::Do(id, command) => {
                write(&mut session, &mut log, Event::Decided(id, command.clone()));
                for observation in seen_during(&command) {
                    write(&mut session, &mut log, Event::Observed(observation));
                }
                let answer = answer(course, &command);
                write(&mut session, &mut log, Event::Answered(id, answer));
            }
        }
    }
}

fn write(session: &mut Session, log: &mut Vec<Entry>, event: Event) {
    let seq = log.len() as u64 + 1;
    let entry = Entry { seq, elapsed_ms: seq * 10, event };
    session.apply(&entry).unwrap();
    log.push(entry);
}

fn seen_during(command: &Command) -> Vec<Observation> {
    let Command::Prompt { turn, .. } = command else { return vec![] };
    let (turn, at_ms) = (*turn, i64::from(turn.0) * 1_000);
    vec![
        Observation::Delivered { turn, at_ms },
        Observation::AgentActed(ToolActivity::titled(turn, at_ms, "sh")),
        Observation::AgentSaid { turn, at_ms, text: format!("Part {turn} is done.") },
    ]
}

fn answer(course: &Course, command: &Command) -> Answer {
    match command {
        Command::PrepareSandbox => Answer::SandboxReady,
        Command::OpenAgent => Answer::AgentOpened { identity: "tiny 1".into() },
        Command::Word { plan, .. } => Answer::Worded {
            text: wording::template(plan),
            by: Wordsmith::Template,
            exchange: None,
        },
        Command::Prompt { turn, .. } if course.fails_in == Some(turn.0) => Answer::Failed {
            flag: Flag::ProviderError,
            ending: Some(Ending::ProviderError),
            detail: "503".into(),
        },
        Command::Prompt { .. } => {
            Answer::TurnEnded { stop: TurnStop::Finished, agent_ms: course.agent_ms }
        }
        Command::AnswerPermission { .. } => Answer::PermissionAnswered,
        Command::BlockWire => Answer::WireBlocked,
        Command::Interrupt { .. } => Answer::Interrupted,
        Command::Freeze { .. } => Answer::Frozen,
        Command::Capture { .. } => Answer::Captured {
            manifest: Hash::new("aa"),
            changed: 1,
            processes: 1,
            overflow: false,
            limit_hit: None,
            cpu_share_percent: None,
        },
        Command::Interpret { .. } => Answer::Interpreted { topics: vec![] },
        Command::Check { look, checks } => Answer::Read {
            readings: checks
                .iter()
                .map(|request| (request.check.clone(), reading(course, *look, &request.check)))
                .collect(),
        },
        Command::Seal => Answer::Sealed { digest: Hash::new("bb"), verifier_tools_changed: vec![] },
        Command::VerifyCompletion => Answer::CompletionVerified(CompletionReport {
            outcome: CompletionOutcome::Rewards(vec![("reward".into(), 1.0)]),
            took_ms: 5,
            output: None,
            artifacts: None,
            survivors: None,
        }),
        Command::VerifyStep { .. } | Command::PlaceStep { .. } => {
            panic!("the task has no steps")
        }
        Command::End(_) => Answer::Closed,
    }
}

fn reading(course: &Course, look: Look, check: &CheckId) -> Reading {
    if check.as_str() != "note_left" {
        return Reading::Events(vec![]);
    }
    let truth = match (look, course.sealed_note) {
        (Look::Sealed, Some(truth)) => truth,
        (Look::Sealed, None) if course.note_from.is_some() => Truth::True,
        (Look::Turn(turn), _) if course.note_from.is_some_and(|from| from <= turn.0) => Truth::True,
        _ => Truth::False,
    };
    Reading::State { truth, witness: String::new() }
}

fn folded(course: &Course) -> SessionResult {
    fold(scenario(course.arm), &play(course), Attempt(1))
}

#[test]
fn a_session_in_which_all_goes_well() {
    let result = folded(&Course { note_from: Some(2), ..Course::default() });
    assert_eq!((result.ending, result.class), (Ending::Accepted, Class::JointPass));
    assert_eq!(result.joint, Some(true));
    let note = &result.requirements[0];
    assert_eq!((note.outcome, note.sealed), (Outcome::Passed, Some(Verdict::Met)));
    assert_eq!(note.delivered, Some(Turn(2)));
    assert_eq!(note.online.first(), Some(&(Turn(2), Verdict::Met)));
    assert_eq!((note.corrections, note.disagreements), (0, 0));
    assert_eq!(result.load.delivered, 2);
    assert_eq!(result.load.turns, 3);
}

#[test]
fn classes_of_whole_sessions() {
    let check = |course: Course, ending, class| {
        let result = folded(&course);
        assert_eq!((result.ending, result.class), (ending, class), "{result:#?}");
    };
    let note_from = Some(2);
    check(Course::default(), Ending::AcceptedWithReservations, Class::CompletionOnly);
    check(
        Course { note_from, fails_in: Some(2), ..Course::default() },
        Ending::ProviderError,
        Class::Infra,
    );
    check(
        Course { note_from, agent_ms: 60_000, ..Course::default() },
        Ending::AgentTime,
        Class::OverBudget,
    );
    check(
        Course { note_from, arm: Arm::Opening, ..Course::default() },
        Ending::Accepted,
        Class::JointPass,
    );
    check(Course { arm: Arm::NoPersona, ..Course::default() }, Ending::Accepted, Class::JointPass);
    check(
        Course {
            note_from,
            sealed_note: Some(Truth::Unknown(Missing::ChannelMissing)),
            ..Course::default()
        },
        Ending::Accepted,
        Class::Invalid,
    );
}

#[test]
fn the_seal_decides_and_a_change_at_it_is_counted() {
    let sealed_note = Some(Truth::False);
    let result = folded(&Course { note_from: Some(2), sealed_note, ..Course::default() });
    assert_eq!((result.ending, result.class), (Ending::Accepted, Class::CompletionOnly));
    let note = &result.requirements[0];
    assert_eq!((note.outcome, note.disagreements), (Outcome::Failed, 1));
}

#[test]
fn a_correction_is_counted() {
    let result = folded(&Course { note_from: Some(4), ..Course::default() });
    assert_eq!(result.class, Class::JointPass);
    assert!(result.requirements[0].corrections > 0, "{result:#?}");
    assert_eq!(result.load.corrections, result.requirements[0].corrections);
}

#[test]
fn every_beginning_of_a_log_is_lost_until_the_end_is_decided() {
    let log = play(&Course { note_from: Some(2), ..Course::default() });
    let is_end = |entry: &Entry| matches!(entry.event, Event::Decided(_, Command::End(_)));
    let end = log.iter().position(is_end).unwrap();
    for length in 0..log.len() {
        let result = fold(scenario(Arm::Progressive), &log[..length], Attempt(1));
        let lost = length <= end;
        assert_eq!(result.ending == Ending::Lost, lost, "{length} of {}", log.len());
        let flagged = result.flags.iter().any(|(flag, _)| *flag == Flag::Lost);
        assert_eq!((flagged, result.class == Class::Invalid), (lost, lost));
    }
}

#[test]
fn a_log_that_is_decided_otherwise_is_flagged() {
    let mut log = play(&Course { note_from: Some(2), ..Course::default() });
    let forged = log.iter_mut().find_map(|entry| match &mut entry.event {
        Event::Answered(_, Answer::Worded { text, .. }) => Some(text),
        _ => None,
    });
    forged.unwrap().push_str(" And nothing else.");
    let result = fold(scenario(Arm::Progressive), &log, Attempt(1));
    assert_eq!((result.ending, result.class), (Ending::Accepted, Class::Invalid));
    assert_eq!(result.flags.len(), 1, "{:?}", result.flags);
    assert_eq!(result.flags[0].0, Flag::ReplayMismatch);
    assert_eq!((result.completed, result.personalized), (None, None));
    assert!(result.flags[0].1.starts_with("entry "), "{:?}", result.flags);
}

#[test]
fn a_later_grading_goes_on_from_the_seal() {
    let log = play(&Course { note_from: Some(2), ..Course::default() });
    let kept = up_to_seal(&log).unwrap();
    let mut session = Session::new(scenario(Arm::Progressive));
    for entry in kept {
        session.apply(entry).unwrap();
    }
    assert_eq!(of_session(&session, Attempt(1)).ending, Ending::Lost);
    let mut again = kept.to_vec();
    let course = Course { sealed_note: Some(Truth::False), ..Course::default() };
    while let Next::Do(id, command) = session.next() {
        write(&mut session, &mut again, Event::Decided(id, command.clone()));
        write(&mut session, &mut again, Event::Answered(id, answer(&course, &command)));
    }
    let result = fold(scenario(Arm::Progressive), &again, Attempt(1));
    assert_eq!((result.ending, result.class), (Ending::Accepted, Class::CompletionOnly));
    assert_eq!(up_to_seal(&log[..3]), None);
}
