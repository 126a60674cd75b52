//! Tasks that have steps, in virtual time and in real sandboxes: [`staged`] makes one out of three steps.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::{
    agents::{ScriptedAgent, Solution},
    clock::VirtualClock,
    sandboxes::simulated::{FaultEffect, FaultPlan, FaultPoint, SimulatedSandboxes},
};
use domain::{
    fault::{Ending, Flag},
    ids::StepId,
    plan::Arm,
    release::{Healthcheck, Step, StepPlaced},
    result::{completion, steps},
    session::{Answer, Command, CompletionOutcome, Event},
};
use engine::{
    completion::Verifier,
    ports::{clock::Clock, sandbox::FileEntry},
    setup::StepParts,
};

use crate::{
    fixture::{Ended, Staged, file},
    local,
};

/// What a step of a test is made of, programs in the language of the sandbox.
#[derive(Clone, Default)]
struct Made {
    files: Vec<(&'static str, &'static str)>,
    tests: &'static str,
    solution: &'static str,
    min_reward: Option<f64>,
    healthcheck: Option<&'static str>,
}

impl Made {
    fn placed(&self) -> StepPlaced {
        match self.files.iter().any(|(path, _)| *path == "setup.sh") {
            true => StepPlaced::FilesAndSetup,
            false if self.files.is_empty() => StepPlaced::Nothing,
            false => StepPlaced::Files,
        }
    }
}

/// A session on these steps, with an agent that solves each of them.
fn staged(made: &[Made]) -> Staged {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::NoPersona);
    let entries = |files: &[(&str, &str)]| -> Vec<FileEntry> {
        files.iter().map(|(path, text)| file(path, text)).collect()
    };
    let mut solutions = Vec::new();
    for (made, name) in made.iter().zip(["one", "two", "three"]) {
        let mut step = Step::new(StepId::new(name), format!("Do step {name}."));
        step.min_reward.extend(made.min_reward.map(|least| ("reward".to_owned(), least)));
        step.placed = made.placed();
        step.healthcheck = made.healthcheck.map(|command| Healthcheck {
            command: command.to_owned(),
            interval_sec: 5.0,
            timeout_sec: 5.0,
            start_period_sec: 0.0,
            start_interval_sec: 5.0,
            retries: 2,
        });
        staged.scenario.steps.push(step);
        let tests = entries(&[("test.sh", made.tests)]);
        let env = BTreeMap::from([("STEP".to_owned(), name.to_owned())]);
        staged.steps.push(StepParts {
            verifier: Verifier {
                tests,
                env,
                timeout: Duration::from_secs(60),
                ..staged.verifier.clone()
            },
            files: entries(&made.files),
            setup_timeout: Duration::from_secs(60),
        });
        let files = entries(&[("solve.sh", made.solution)]);
        solutions.push(Solution { files, env: BTreeMap::new() });
    }
    staged.scenario.statement = staged.scenario.steps[0].statement.clone();
    staged.scenario.spec.steps_agent_ms = vec![60_000; made.len()];
    staged.scenario.spec.limits.turns_max = 3;
    staged.scenario.completion.paths = vec!["/".to_owned()];
    staged.agent = ScriptedAgent::of_steps("oracle", solutions);
    staged
}

async fn simulated(staged: Staged, faults: FaultPlan) -> Ended {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let sandboxes = Arc::new(SimulatedSandboxes::new(clock.clone(), faults));
    staged.run(sandboxes, clock).await
}

/// Three steps for the simulated sandbox; each looks for what the others must have left or must not.
fn three() -> [Made; 3] {
    let one = Made {
        tests: "write /logs/verifier/reward.txt 0\n\
                has /app/one done && write /logs/verifier/reward.txt 1\n\
                write /app/trace_of_tests here\n",
        solution: "write /app/one done\nwrite /logs/verifier/reward.txt 9\n",
        ..Made::default()
    };
    let two = Made {
        files: vec![("given", "write"), ("setup.sh", "has given && cp given prepared\n")],
        tests: "write /logs/verifier/reward.txt 0.5\n\
                has /app/two && has /app/one done && write /logs/verifier/reward.txt 1\n\
                has /app/leak && write /logs/verifier/reward.txt 0\n",
        solution: "has prepared && write /app/two done\n\
                   has /tests/test.sh && write /app/leak tests\n\
                   has /app/trace_of_tests && write /app/leak trace\n",
        ..Made::default()
    };
    let three = Made {
        tests: "write /logs/verifier/reward.txt 0\n\
                has /app/three && write /logs/verifier/reward.txt 0.25\n",
        solution: "write /app/three done\n",
        min_reward: Some(1.0),
        ..Made::default()
    };
    [one, two, three]
}

/// How the session ended, what each step came to, and what they come to together.
fn came_to(ended: &Ended) -> String {
    let shown = |outcome: &CompletionOutcome| match outcome {
        CompletionOutcome::Rewards(rewards) => {
            rewards.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("+")
        }
        other => format!("{other:?}"),
    };
    let each: Vec<String> = steps(&ended.session)
        .iter()
        .map(|step| step.outcome.as_ref().map_or_else(|| "-".to_owned(), shown))
        .collect();
    let whole = completion(&ended.session).map_or_else(|| "-".to_owned(), |whole| shown(&whole));
    format!("{}: {} = {whole}", ended.outcome.ending.name(), each.join(" "))
}

#[tokio::test]
async fn each_step_is_verified_where_the_agent_never_is() {
    let ended = simulated(staged(&three()), FaultPlan::default()).await;
    assert_eq!(came_to(&ended), "accepted: 1 1 0.25 = 0.75", "{}", ended.story());
    let messages: Vec<&str> = ended.session.user_messages().map(|(_, text)| text).collect();
    assert_eq!(messages.len(), 3);
    for (message, name) in messages.iter().zip(["one", "two", "three"]) {
        assert!(message.ends_with(&format!("```\nDo step {name}.\n```")), "{message}");
    }
}

#[tokio::test]
async fn what_falls_short_or_breaks_stops_the_steps() {
    let check = async |change: &dyn Fn(&mut [Made; 3]), expect: &str| {
        let mut made = three();
        change(&mut made);
        let ended = simulated(staged(&made), FaultPlan::default()).await;
        assert_eq!(came_to(&ended), expect, "{}", ended.story());
        ended
    };
    check(&|made| made[0].min_reward = Some(1.0), "accepted: 1 1 0.25 = 0.75").await;
    check(&|made| made[0].min_reward = Some(1.1), "step_unmet: 1 - - = 0.3333333333333333").await;
    check(&|made| made[1].tests = "true\n", "step_unmet: 1 NoReward - = 0.3333333333333333").await;
    let ended = check(
        &|made| made[1].files[1].1 = "echo no luck\nexit 3\n",
        "preparation_failed: 1 - - = -",
    )
    .await;
    let flags = ended.session.flags();
    let (flag, detail) = &flags[0];
    assert_eq!((flags.len(), *flag), (1, Flag::MaterialiseFailed));
    assert!(detail.starts_with("steps/two/workdir/setup.sh ended as Exited(3)"), "{detail}");
    assert!(detail.ends_with("no luck"), "{detail}");
}

#[tokio::test]
async fn faults_between_steps_are_the_worlds() {
    use FaultEffect::{HostLimit, Lost};
    let cases = [
        (FaultPoint::Restore, 1, Lost, Ending::EnvironmentLost),
        (FaultPoint::Restore, 2, HostLimit, Ending::HostLimits),
        // The third restore is the seal's, which can be graded again.
        (FaultPoint::Restore, 3, Lost, Ending::Accepted),
        // Captures after turn 1, and after the second step's files were placed.
        (FaultPoint::Capture, 2, Lost, Ending::EnvironmentLost),
    ];
    for (point, nth, effect, ending) in cases {
        let ended = simulated(staged(&three()), FaultPlan::at(point, nth, effect)).await;
        assert_eq!(ended.outcome.ending, ending, "{point:?} {nth}: {}", ended.story());
        assert_eq!(completion(&ended.session), None, "{point:?} {nth}: {}", ended.story());
    }
}

#[tokio::test]
async fn tools_are_compared_at_each_step_with_base_and_steps() {
    let check = async |what: &str, change: &dyn Fn(&mut [Made; 3]), expect: Option<&str>| {
        let mut made = three();
        change(&mut made);
        let ended = simulated(staged(&made), FaultPlan::default()).await;
        let flags = ended.session.flags();
        let flagged = flags.iter().find(|(flag, _)| *flag == Flag::VerifierToolsChanged);
        let found = flagged.map(|(_, detail)| detail.as_str());
        assert_eq!(found, expect, "{what}: {}", ended.story());
    };
    check("nothing", &|_| {}, None).await;
    let bends = "write /usr/bin/python3 mine\n";
    let mends = "rm /usr/bin/python3\n";
    check(
        "bent for one step and mended in the next",
        &|made| (made[0].solution, made[1].solution) = (bends, mends),
        Some("/usr/bin/python3"),
    )
    .await;
    check("brought by a step", &|made| made[1].files.push(("conftest.py", "its own")), None).await;
    check(
        "brought by a step and changed after it",
        &|made| {
            made[1].files.push(("conftest.py", "its own"));
            made[2].solution = "write /app/conftest.py mine\n";
        },
        Some("/app/conftest.py"),
    )
    .await;
    let setup = "write /usr/bin/python3 newer\n";
    check("installed by a setup", &|made| made[1].files[1].1 = setup, None).await;
}

#[tokio::test]
async fn what_steps_bring_along_is_not_the_agents_doing() {
    let ended = simulated(staged(&three()), FaultPlan::default()).await;
    let mut turn = 0;
    let mut seen = Vec::new();
    for entry in &ended.entries {
        match &entry.event {
            Event::Decided(_, Command::Capture { turn: captured }) => turn = captured.0,
            Event::Answered(_, Answer::Captured { changed, .. }) => {
                seen.push(format!("turn {turn}: {changed}"));
            }
            Event::Answered(_, Answer::StepPlaced { changed, .. }) => {
                seen.push(format!("placed: {changed}"));
            }
            _ => {}
        }
    }
    // The first solution writes a file and a reward in two new directories; the second one file.
    assert_eq!(seen, ["turn 1: 4", "placed: 3", "turn 2: 1", "turn 3: 1"], "{}", ended.story());
}

#[tokio::test]
async fn the_first_step_is_prepared_too() {
    let mut made = three();
    made[0].files = vec![("plot", "dug"), ("setup.sh", "has plot && write ready yes\n")];
    made[0].solution = "has ready && write /app/one done\n";
    let ended = simulated(staged(&made), FaultPlan::default()).await;
    assert_eq!(came_to(&ended), "accepted: 1 1 0.25 = 0.75", "{}", ended.story());
    made[0].files[1].1 = "exit 1\n";
    let ended = simulated(staged(&made), FaultPlan::default()).await;
    assert_eq!(came_to(&ended), "preparation_failed: - - - = -", "{}", ended.story());
    assert_eq!(ended.session.user_messages().count(), 0);
}

#[tokio::test]
async fn a_step_waits_until_it_is_healthy() {
    let check = async |change: &dyn Fn(&mut [Made; 3]), expect: &str| {
        let mut made = three();
        change(&mut made);
        let ended = simulated(staged(&made), FaultPlan::default()).await;
        assert_eq!(came_to(&ended), expect, "{}", ended.story());
        ended
    };
    // Of the first step after its own setup, of the third without files: what a try leaves is the task's.
    let ended = check(
        &|made| {
            made[0].files = vec![("setup.sh", "write ready yes\n")];
            made[0].healthcheck = Some("has ready");
            made[2].healthcheck = Some("append conftest.py tried\nhas two");
        },
        "accepted: 1 1 0.25 = 0.75",
    )
    .await;
    assert_eq!(ended.session.flags(), [], "{}", ended.story());
    let placed = ended.answers().filter_map(|answer| match answer {
        Answer::StepPlaced { changed, .. } => Some(*changed),
        _ => None,
    });
    assert_eq!(placed.collect::<Vec<_>>(), [2, 3, 1], "{}", ended.story());
    let ended =
        check(&|made| made[2].healthcheck = Some("false"), "preparation_failed: 1 1 - = -").await;
    let detail = &ended.session.flags()[0].1;
    assert!(detail.starts_with("the healthcheck `false` failed 2 times in a row"), "{detail}");
}

/// The same shape of task for a real shell.
fn three_for_real() -> [Made; 3] {
    let one = Made {
        tests: "#!/bin/sh\n\
                test \"$STEP\" = one && grep -q done one && r=1 || r=0\n\
                echo $r > /logs/verifier/reward.txt\n\
                touch /app/trace_of_tests\n",
        solution: "#!/bin/sh\necho done > one\n",
        ..Made::default()
    };
    let two = Made {
        files: vec![
            ("given.txt", "7\n"),
            ("setup.sh", "set -eu\n[[ -f given.txt ]]\ncp given.txt prepared\n"),
        ],
        tests: "#!/bin/sh\n\
                grep -qx 7 two && test -f one && ! test -e leak && r=1 || r=0.5\n\
                echo \"{\\\"reward\\\": $r}\" > /logs/verifier/reward.json\n",
        solution: "#!/bin/sh\n\
                   cat prepared > two\n\
                   for seen in /tests/test.sh /logs/verifier/reward.txt trace_of_tests; do\n\
                     test -e $seen && echo $seen >> leak\n\
                   done\ntrue\n",
        ..Made::default()
    };
    let three = Made {
        tests: "#!/bin/sh\ntest -f three && echo 0.25 > /logs/verifier/reward.txt\n",
        solution: "#!/bin/sh\ntouch three\n",
        min_reward: Some(1.0),
        ..Made::default()
    };
    [one, two, three]
}

#[tokio::test]
async fn steps_go_on_in_a_real_sandbox() {
    let check = async |change: &dyn Fn(&mut [Made; 3]), expect: &str| {
        let mut made = three_for_real();
        change(&mut made);
        let Some(ended) = local::run(staged(&made)).await else { return };
        assert_eq!(came_to(&ended), expect, "{}", ended.story());
    };
    check(&|_| {}, "accepted: 1 1 0.25 = 0.75").await;
    check(&|made| made[1].min_reward = Some(2.0), "step_unmet: 1 1 - = 0.6666666666666666").await;
    check(&|made| made[1].files[1].1 = "exit 3\n", "preparation_failed: 1 - - = -").await;
}
