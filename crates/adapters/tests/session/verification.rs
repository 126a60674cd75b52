//! Where tests run and what is taken before, in real sandboxes of the host and in virtual time.

use std::{collections::BTreeMap, sync::Arc};

use adapters::{
    agents::{ScriptedAgent, Solution},
    clock::VirtualClock,
    sandboxes::simulated::{FaultPlan, SimulatedSandboxes},
};
use domain::{
    plan::Arm,
    release::{Artifact, CollectHook, MAIN_SERVICE, VerifyMode},
    session::CompletionOutcome,
};
use engine::ports::clock::Clock;

use crate::{
    fixture::{Ended, Staged, file},
    local,
};

/// What a session of a test is made of, programs in the language of the sandbox.
#[derive(Clone, Default)]
struct Made {
    is_separate: bool,
    verify: VerifyMode,
    artifacts: &'static [&'static str],
    exclude: &'static [&'static str],
    hooks: &'static [&'static str],
    solution: &'static str,
    tests: &'static str,
}

fn staged(made: &Made) -> Staged {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::NoPersona);
    staged.is_separate = made.is_separate;
    staged.scenario.completion.verify = made.verify;
    staged.scenario.completion.paths = vec!["/".to_owned()];
    staged.verifier.tests = vec![file("test.sh", made.tests)];
    let exclude: Vec<String> = made.exclude.iter().map(|glob| (*glob).to_owned()).collect();
    let declared = made
        .artifacts
        .iter()
        .map(|source| Artifact { exclude: exclude.clone(), ..Artifact::of_main(source) });
    let collection = &mut staged.verifier.collection;
    collection.artifacts.extend(declared);
    let hook = |command: &&str| CollectHook {
        command: (*command).to_owned(),
        service: MAIN_SERVICE.to_owned(),
        timeout_sec: 20.0,
        user: None,
    };
    collection.hooks = made.hooks.iter().map(hook).collect();
    let solution = Solution { files: vec![file("solve.sh", made.solution)], env: BTreeMap::new() };
    staged.agent = ScriptedAgent::eager(solution);
    staged
}

/// The rewards, or why there are none.
fn came_to(ended: &Ended) -> String {
    match ended.completion() {
        Some(CompletionOutcome::Rewards(rewards)) => {
            rewards.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("+")
        }
        other => format!("{other:?}"),
    }
}

/// What was kept beside the result, as it is shown.
fn kept(ended: &Ended) -> String {
    let report = ended.session.completion().expect("it was verified");
    let blob = report.artifacts.as_ref().and_then(|hash| ended.blobs.get(hash));
    blob.cloned().unwrap_or_default()
}

/// A session in a sandbox of the host comes to this, and what was kept says each of these.
async fn check(made: &Made, expect: &str, said: &[&str]) {
    let Some(ended) = local::run(staged(made)).await else { return };
    let kept = kept(&ended);
    assert_eq!(came_to(&ended), expect, "{}\n{kept}", ended.story());
    for text in said {
        assert!(kept.contains(text), "{text} is not in {kept}");
    }
}

const NOTHING_BUT_ARTIFACTS: &str = "#!/bin/sh\n\
    cd /; r=0\n\
    [ \"$(cat /app/out/a.txt)\" = done ] && [ \"$(cat /logs/artifacts/x)\" = shown ] && r=1\n\
    [ -e /app/undeclared ] && r=0\n\
    [ -e /app/out/skip.pyc ] && r=0\n\
    [ -e /logs/verifier/reward.json ] && r=0\n\
    echo $r > /logs/verifier/reward.txt\n";

#[tokio::test]
async fn artifacts_alone_cross_into_a_verifiers_own_environment() {
    let made = Made {
        is_separate: true,
        artifacts: &["out", "/app/absent"],
        exclude: &["*.pyc"],
        solution: "#!/bin/sh\n\
            mkdir -p /app/out /logs/artifacts /logs/verifier\n\
            echo done > /app/out/a.txt; echo x > /app/out/skip.pyc; chmod 600 /app/out/a.txt\n\
            echo shown > /logs/artifacts/x; echo x > /app/undeclared\n\
            echo '{\"reward\": 1}' > /logs/verifier/reward.json\n",
        tests: NOTHING_BUT_ARTIFACTS,
        ..Made::default()
    };
    let said = ["state: Directory", "Failed(\"it is not there\")", "a.txt", "source: \"out\""];
    check(&made, "1", &said).await;
    check(&Made { is_separate: false, ..made.clone() }, "0", &said).await;
    check(&Made { artifacts: &[], ..made }, "0", &[]).await;
}

#[tokio::test]
async fn nothing_of_an_artifact_leads_to_the_verifiers_files_or_to_a_reward() {
    let made = Made {
        is_separate: true,
        artifacts: &["/app/answer", "/logs"],
        solution: "#!/bin/sh\n\
            mkdir -p /app/answer/sub /logs/verifier\n\
            echo 1 > /logs/verifier/reward.txt; echo mine > /logs/verifier/mine\n\
            ln -s /tests/expected /app/answer/a.txt\n\
            ln -s ../../../tests/expected /app/answer/sub/b.txt\n\
            echo inside > /app/answer/sub/c.txt; ln -s sub/c.txt /app/answer/c.txt\n",
        tests: "#!/bin/sh\n\
            echo right > /tests/expected\n\
            [ -e /app/answer/a.txt ] || [ -e /app/answer/sub/b.txt ] && exit 0\n\
            [ -e /logs/verifier/mine ] && exit 0\n\
            [ \"$(cat /app/answer/c.txt)\" = inside ] && echo 0.5 > /logs/verifier/reward.txt\n",
        ..Made::default()
    };
    let said = ["a.txt -> /tests/expected", "sub/b.txt -> ../../../tests/expected"];
    check(&made, "0.5", &said).await;
    check(&Made { tests: "#!/bin/sh\ntrue\n", ..made }, "Some(NoReward)", &[]).await;
}

/// An agent whose process writes over what a hook reads, as long as it runs.
const BEATING: &str = "#!/bin/sh\n\
    cat > /app/beat.sh <<'END'\n\
    while :; do echo running > /app/state; echo $(($(cat /app/count) + 1)) > /app/count; sleep 0.05; done\n\
    END\n\
    echo 0 > /app/count; setsid sh /app/beat.sh >/dev/null 2>&1 &\n\
    sleep 0.3\n";

#[tokio::test]
async fn hooks_run_where_nothing_of_the_agent_runs() {
    let made = Made {
        is_separate: true,
        artifacts: &["/app/state"],
        hooks: &["echo quiet > state; sleep 0.5; pwd", "exit 3", "sleep 60"],
        solution: BEATING,
        tests: "#!/bin/sh\n\
            [ \"$(cat /app/state)\" = quiet ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n",
        ..Made::default()
    };
    let said = [
        "ended: \"exited with 0\", output: \"/app\"",
        "ended: \"exited with 3\"",
        "ended: \"out of time\"",
    ];
    check(&made, "1", &said).await;
    // Tests in the agent's environment see what a hook left, as in Harbor.
    check(&Made { is_separate: false, hooks: &["echo quiet > state"], ..made }, "1", &[]).await;
}

#[tokio::test]
async fn tests_in_place_run_beside_what_still_runs() {
    let made = Made {
        verify: VerifyMode::Live,
        artifacts: &["/app/state"],
        solution: BEATING,
        tests: "#!/bin/sh\n\
            a=$(cat /app/count); sleep 0.5; b=$(cat /app/count)\n\
            [ \"$a\" != \"$b\" ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n",
        ..Made::default()
    };
    let Some(ended) = local::run(staged(&made)).await else { return };
    assert_eq!(came_to(&ended), "1", "{}", ended.story());
    let report = ended.session.completion().expect("it was verified");
    let survivors = report.survivors.clone().expect("it was in place");
    assert!(survivors.iter().any(|one| one.contains("beat.sh")), "{survivors:?}");
    let fresh = Made { verify: VerifyMode::Fresh, ..made.clone() };
    let ended = local::run(staged(&fresh)).await.expect("the host can");
    assert_eq!(came_to(&ended), "0", "{}", ended.story());
    assert_eq!(ended.session.completion().and_then(|report| report.survivors.clone()), None);
    // A hook that needs what runs finds it, and the tests have an environment of their own.
    let apart = Made {
        is_separate: true,
        hooks: &[
            "cp /app/count /app/one; sleep 0.3; cmp -s /app/count /app/one || echo moves > /app/state.txt",
        ],
        artifacts: &["/app/state.txt"],
        tests: "#!/bin/sh\n\
            [ \"$(cat /app/state.txt)\" = moves ] && [ ! -e /app/count ] && r=1 || r=0\n\
            echo $r > /logs/verifier/reward.txt\n",
        ..made
    };
    check(&apart, "1", &[]).await;
}

#[tokio::test]
async fn virtual_time_has_homes_hooks_and_artifacts_too() {
    let made = Made {
        is_separate: true,
        artifacts: &["/app/one", "/app/two"],
        hooks: &["cp one two"],
        solution: "write /app/one done\nwrite /app/undeclared here\n",
        tests: "write /logs/verifier/reward.txt 0\n\
            has /app/two done && write /logs/verifier/reward.txt 1\n\
            has /app/undeclared && write /logs/verifier/reward.txt 0.5\n",
        ..Made::default()
    };
    for (is_separate, expect) in [(true, "1"), (false, "0.5")] {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
        let sandboxes = Arc::new(SimulatedSandboxes::new(clock.clone(), FaultPlan::default()));
        let staged = staged(&Made { is_separate, ..made.clone() });
        let ended = staged.run(sandboxes, clock).await;
        assert_eq!(came_to(&ended), expect, "{}", ended.story());
    }
}
