//! The bundled releases for real: every pair's oracle in a local sandbox passes native tests and user.

use std::{path::Path, sync::Arc};

use adapters::{agents::ScriptedAgent, clock::RealClock, sandboxes::local::LocalSandboxes};
use domain::{fault::Ending, plan::Arm, session::CompletionOutcome};
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
