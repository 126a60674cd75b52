//! The bundled releases for real: every pair's oracle in a local sandbox passes native tests and user.

use std::{path::Path, sync::Arc};

use adapters::{agents::ScriptedAgent, clock::RealClock, sandboxes::local::LocalSandboxes};
use domain::{
    evidence::Channel,
    fault::Ending,
    plan::Arm,
    release::{Script, ScriptBlock, ScriptStep, ScriptWhen},
    session::{CompletionOutcome, Event, Observation},
};
use engine::ports::sandbox::Sandboxes;

use crate::fixture::{Ended, Staged};

/// Runs a session in a local sandbox; none where the host cannot make one, which is said.
pub async fn run(staged: Staged) -> Option<Ended> {
    let state = tempfile::tempdir().expect("a directory for layers");
    let supervisor = Path::new(env!("CARGO_BIN_EXE_pcb-sandbox-supervisor"));
    let sandboxes =
        Arc::new(LocalSandboxes::new(supervisor, state.path()).expect("a state directory"));
    if let Err(fault) = sandboxes.capabilities().await {
        assert!(std::env::var_os("CI").is_none(), "local sandboxes are missing in CI: {fault}");
        println!("not run: {fault}");
        return None;
    }
    Some(staged.run(sandboxes, Arc::new(RealClock::begin())).await)
}

fn has_passed(ended: &Ended) -> bool {
    matches!(ended.completion(), Some(CompletionOutcome::Rewards(rewards))
        if rewards.iter().any(|(key, value)| key == "reward" && *value >= 1.0))
}

async fn check_oracle(release: &str, pair: &str, arm: Arm) {
    let Some(ended) = run(Staged::of(release, pair, arm)).await else { return };
    assert_eq!(ended.outcome.ending, Ending::Accepted, "{pair} {arm:?}: {}", ended.story());
    assert!(has_passed(&ended), "{pair} {arm:?}: {}", ended.story());
}

#[tokio::test]
async fn the_tiny_oracle_passes_in_every_arm() {
    for arm in Arm::ALL {
        check_oracle("tiny", "caretaker--greet", arm).await;
    }
}

#[tokio::test]
async fn eager_completes_the_tiny_task_and_hears_nothing() {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::Progressive);
    staged.agent = ScriptedAgent::eager(staged.solution());
    let Some(ended) = run(staged).await else { return };
    assert!(has_passed(&ended), "{}", ended.story());
    assert_ne!(ended.outcome.ending, Ending::Accepted, "{}", ended.story());
}

#[tokio::test]
async fn nop_falls_silent() {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::Progressive);
    staged.agent = ScriptedAgent::nop();
    let Some(ended) = run(staged).await else { return };
    assert_eq!(ended.outcome.ending, Ending::Silent, "{}", ended.story());
    assert!(!has_passed(&ended), "{}", ended.story());
}

/// What the agent reaches for stands in the log, in the turn in which it did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_reached_for_is_cut_into_the_log() {
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::Progressive);
    staged.scenario.channels.insert(Channel::Network);
    let steps = vec![ScriptStep::Run("getent hosts files.example || true".to_owned())];
    let block = ScriptBlock { when: ScriptWhen::Opening, steps };
    staged.agent = ScriptedAgent::of_script("reaching", Script { blocks: vec![block] });
    let Some(ended) = run(staged).await else { return };
    let cuts = ended.entries.iter().filter_map(|entry| match &entry.event {
        Event::Observed(Observation::Cut { channel: Channel::Network, turn, blob, .. }) => {
            Some((turn.0, &ended.blobs[blob]))
        }
        _ => None,
    });
    let cuts: Vec<_> = cuts.collect();
    let [(1, told)] = cuts.as_slice() else { panic!("{cuts:?}") };
    assert!(told.contains("files.example") && told.contains("Refused"), "{told}");
}
