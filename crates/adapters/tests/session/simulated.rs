//! What the engine promises of a session, asked in virtual time.

use std::{sync::Arc, time::Duration};

use adapters::{
    agents::ScriptedAgent,
    clock::VirtualClock,
    sandboxes::simulated::{FaultEffect, FaultPlan, FaultPoint, SimulatedSandboxes},
};
use domain::{
    acceptance::Reading,
    fault::{Ending, Flag},
    ids::CheckId,
    plan::Arm,
    release::{
        Check, CheckKind, ExitFilter, FsState, Read, Script, ScriptBlock, ScriptStep, ScriptWhen,
        VerifyMode,
    },
    session::{Answer, CompletionOutcome},
};
use engine::{cancel::Canceller, ports::clock::Clock};

use crate::fixture::{Ended, Staged, file};

/// The smallest pair with a verifier that the simulated sandbox understands: `result` must hold `right`.
fn staged(script: Script) -> Staged {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::NoPersona);
    let tests = "write /logs/verifier/reward.txt 0\n\
                 has /app/result right && write /logs/verifier/reward.txt 1\n";
    staged.verifier.tests = vec![file("test.sh", tests)];
    staged.agent = ScriptedAgent::of_script("drawn", script);
    staged
}

async fn run(staged: Staged, faults: FaultPlan) -> Ended {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let sandboxes = Arc::new(SimulatedSandboxes::new(clock.clone(), faults));
    staged.run(sandboxes, clock).await
}

fn script(steps: &[ScriptStep]) -> Script {
    Script { blocks: vec![ScriptBlock { when: ScriptWhen::Otherwise, steps: steps.to_vec() }] }
}

fn does(command: &str) -> ScriptStep {
    ScriptStep::Run(command.to_owned())
}

fn done() -> ScriptStep {
    ScriptStep::Say("The work is done.".to_owned())
}

fn reward(value: f64) -> CompletionOutcome {
    CompletionOutcome::Rewards(vec![("reward".to_owned(), value)])
}

/// What the verifier makes of what an agent leaves, in both ways of verifying.
async fn check_completion(commands: &[&str], tests: &str, expect: CompletionOutcome) {
    for verify in [VerifyMode::Fresh, VerifyMode::Live] {
        for paths in ["/app", "/"] {
            let mut steps: Vec<ScriptStep> = commands.iter().map(|command| does(command)).collect();
            steps.push(done());
            let mut staged = staged(script(&steps));
            staged.scenario.completion.verify = verify;
            staged.scenario.completion.paths = vec![paths.to_owned()];
            if !tests.is_empty() {
                staged.verifier.tests = vec![file("test.sh", tests)];
            }
            let ended = run(staged, FaultPlan::default()).await;
            assert_eq!(ended.outcome.ending, Ending::Accepted, "{}", ended.story());
            assert_eq!(
                ended.completion(),
                Some(&expect),
                "{commands:?} {verify:?} {paths}: {}",
                ended.story()
            );
        }
    }
}

#[tokio::test]
async fn only_the_tests_own_reward_counts() {
    check_completion(&["write result right"], "", reward(1.0)).await;
    check_completion(&["write result wrong"], "", reward(0.0)).await;
    let planted = ["write /logs/verifier/reward.json '{\"reward\": 1}'", "write result wrong"];
    check_completion(&planted, "", reward(0.0)).await;
    let planted = ["write /logs/verifier/reward.txt 1"];
    check_completion(&planted, "echo silent\n", CompletionOutcome::NoReward).await;
    let planted = ["write /tests/test.sh 'write /logs/verifier/reward.txt 1'"];
    check_completion(&planted, "", reward(0.0)).await;
    check_completion(&["true"], "write /logs/verifier/reward.txt 1\nexit 3\n", reward(1.0)).await;
    check_completion(&["true"], "sleep 100000\n", CompletionOutcome::TimedOut).await;
    let bad = CompletionOutcome::BadReward("reward.txt: not a number: `yes`".to_owned());
    check_completion(&["true"], "write /logs/verifier/reward.txt yes\n", bad).await;
}

#[tokio::test]
async fn tools_of_a_whole_root_are_compared_with_the_base() {
    let check = async |paths: &str, command: &str, is_flagged: bool| {
        let mut staged = staged(script(&[does(command), done()]));
        staged.scenario.completion.paths = vec![paths.to_owned()];
        let ended = run(staged, FaultPlan::default()).await;
        let flagged =
            ended.session.flags().iter().any(|(flag, _)| *flag == Flag::VerifierToolsChanged);
        assert_eq!(flagged, is_flagged, "{paths} {command}: {}", ended.story());
    };
    check("/", "write /usr/bin/python3 mine", true).await;
    check("/", "write /app/conftest.py mine", true).await;
    check("/", "write /app/result right", false).await;
    check("/app", "write /usr/bin/python3 mine", false).await;
}

/// A fault at a point and how the session ends by it.
async fn check_fault(point: FaultPoint, effect: FaultEffect, ending: Ending, flag: Option<Flag>) {
    let staged = staged(script(&[does("write result right"), done()]));
    let ended = run(staged, FaultPlan::at(point, 1, effect)).await;
    assert_eq!(ended.outcome.ending, ending, "{point:?} {effect:?}: {}", ended.story());
    let flags: Vec<Flag> = ended.session.flags().iter().map(|(flag, _)| *flag).collect();
    assert!(
        flag.is_none_or(|flag| flags.contains(&flag)),
        "{point:?} {effect:?}: {}",
        ended.story()
    );
}

#[tokio::test]
async fn every_fault_has_its_owner() {
    use FaultEffect::{Hang, HostLimit, Lost};
    use FaultPoint as At;
    let flagged = |flag| Some(flag);
    check_fault(At::Materialise, Lost, Ending::PreparationFailed, flagged(Flag::MaterialiseFailed))
        .await;
    check_fault(At::Provision, Lost, Ending::PreparationFailed, flagged(Flag::PreparationFailed))
        .await;
    check_fault(At::Provision, HostLimit, Ending::HostLimits, flagged(Flag::HostLimits)).await;
    check_fault(At::Provision, Hang, Ending::PreparationFailed, None).await;
    check_fault(At::Exec, Lost, Ending::EnvironmentLost, flagged(Flag::EnvironmentLost)).await;
    check_fault(At::Exec, Hang, Ending::AgentTime, None).await;
    check_fault(At::Freeze, Lost, Ending::EnvironmentLost, None).await;
    check_fault(At::Freeze, Hang, Ending::SessionWallTime, None).await;
    check_fault(At::Capture, HostLimit, Ending::HostLimits, None).await;
    check_fault(At::Restore, Lost, Ending::Accepted, flagged(Flag::VerificationIncomplete)).await;
    check_fault(At::Restore, Hang, Ending::Accepted, flagged(Flag::VerificationIncomplete)).await;
}

#[tokio::test]
async fn an_agent_that_hangs_or_crashes_is_graded_as_it_stands() {
    let check = async |last: ScriptStep, ending: Ending| {
        let staged = staged(script(&[does("write result right"), last]));
        let ended = run(staged, FaultPlan::default()).await;
        assert_eq!(ended.outcome.ending, ending, "{}", ended.story());
        assert_eq!(ended.completion(), Some(&reward(1.0)), "{}", ended.story());
    };
    check(ScriptStep::Hang, Ending::AgentTime).await;
    check(ScriptStep::Crash, Ending::Crash).await;
    check(ScriptStep::Say("I give up, I cannot continue.".to_owned()), Ending::Quit).await;
}

#[tokio::test]
async fn the_operators_wish_is_decided_and_logged() {
    let staged = staged(script(&[does("sleep 50"), done()]));
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let sandboxes = Arc::new(SimulatedSandboxes::new(clock.clone(), FaultPlan::default()));
    let canceller = Canceller::default();
    canceller.cancel();
    let ended = staged.run_until(sandboxes, clock.clone(), canceller).await;
    assert_eq!(ended.outcome.ending, Ending::OperatorAbort, "{}", ended.story());
    assert!(ended.outcome.is_recorded);
    assert!(clock.now_ms() < Duration::from_secs(50).as_millis() as u64);
}

#[tokio::test]
async fn the_order_of_checks_does_not_matter() {
    let exec = |argv: &str| CheckKind::Exec {
        kind: None,
        argv: Some(argv.to_owned()),
        cwd: vec![],
        exit: ExitFilter::Any,
    };
    let present = |path: &str| CheckKind::Fs {
        path: vec![path.to_owned()],
        is: Some(FsState::Present),
        contains: None,
        lacks: None,
        since: None,
    };
    let runs = |file: &str| CheckKind::Script { file: file.to_owned(), timeout_sec: 5 };
    let checks: Vec<Check> = [
        ("writes", exec("^write ")),
        ("result", present("result")),
        ("trace", present("trace")),
        // The first leaves a trace in its fork that the second must not see.
        ("leaves_trace", runs("checks/leaves_trace")),
        ("finds_trace", runs("checks/finds_trace")),
    ]
    .into_iter()
    .map(|(id, kind)| Check { id: CheckId::new(id), kind, read: Read::AtHandoff })
    .collect();
    let mut seen: Vec<Vec<(CheckId, Reading)>> = Vec::new();
    for turned in 0..checks.len() {
        let mut staged = staged(script(&[does("write result right"), done()]));
        staged.scenario.checks = checks.clone();
        staged.scenario.checks.rotate_left(turned);
        if turned % 2 == 1 {
            staged.scenario.checks.reverse();
        }
        staged.check_files = vec![
            file("leaves_trace", "write /app/trace here\n"),
            file("finds_trace", "has /app/trace\n"),
        ];
        let ended = run(staged, FaultPlan::default()).await;
        for answer in ended.answers() {
            if let Answer::Read { readings } = answer {
                let mut readings = readings.clone();
                readings.sort_by(|a, b| a.0.cmp(&b.0));
                seen.push(readings);
            }
        }
    }
    assert_eq!(seen.len(), 2 * checks.len(), "each session reads at its hand-off and its seal");
    for readings in &seen {
        assert_eq!(readings, &seen[0]);
    }
    let shown = format!("{:?}", seen[0]);
    assert!(shown.contains("True") && shown.contains("False"), "they tell something: {shown}");
}
