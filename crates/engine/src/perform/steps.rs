//! Commands of a task that has steps: a step verified on a copy, the next one's files placed.

use std::collections::BTreeMap;

use domain::{
    evidence::{Manifest, ManifestEntry},
    fault::{Ending, Flag},
    ids::Turn,
    release::{StepPlaced, VerifyMode},
    session::Answer,
};

use super::{Stage, count};
use crate::{
    completion::{Verifier, VerifierHome, verifier_tools},
    ports::{
        record::Blob,
        sandbox::{CommandSpec, Finished},
    },
    setup::StepParts,
    shell::last_lines,
    stop::{Stop, bug},
};

/// The script of a step's files that makes its state.
const SETUP: &str = "setup.sh";

/// Bytes of its output that are kept: a fault tells the end of it.
const OUTPUT_MAX: usize = 64 << 10;

/// Lines of its output that a fault tells.
const LINES_TOLD: usize = 20;

impl Stage {
    /// Nothing of the tests is ever in the agent's sandbox, so no step sees those of an earlier one.
    pub(super) async fn verify_step(&self, turn: Turn) -> Result<Answer, Stop> {
        let parts = self.step_parts(turn).ok_or_else(|| bug("there is no such step"))?;
        self.freeze().await?;
        let report = self.verify_apart(&parts.verifier).await?;
        let manifest = self.gathered.lock().await.manifest().clone();
        let verifier_tools_changed = self.tools_changed(&parts.verifier, &manifest).await;
        Ok(Answer::StepVerified { report, verifier_tools_changed })
    }

    /// What is placed is the task's, not the agent's: the next turn's changes count from after it.
    pub(super) async fn place_step(&self, turn: Turn) -> Result<Answer, Stop> {
        let parts = self.step_parts(turn).ok_or_else(|| bug("there is no such step"))?;
        let scenario = &self.setup.scenario;
        let at = (turn.0 as usize).saturating_sub(1);
        let Some(step) = scenario.steps.get(at) else { return Err(bug("there is no such step")) };
        let sandbox = self.sandbox()?;
        self.thaw().await?;
        sandbox.put(&scenario.workdir, &parts.files).await?;
        if step.placed == StepPlaced::FilesAndSetup {
            let command = CommandSpec {
                argv: ["bash", SETUP].map(str::to_owned).to_vec(),
                cwd: Some(scenario.workdir.clone()),
                env: BTreeMap::new(),
                user: None,
                stdin: Vec::new(),
                timeout: parts.setup_timeout,
                output_max: OUTPUT_MAX,
            };
            let finished = sandbox.exec(&command).await?;
            if !finished.is_success() {
                let place = format!("steps/{}/workdir/{SETUP}", step.name);
                return Err(setup_failed(&place, &finished));
            }
        }
        if let Some(check) = &step.healthcheck {
            self.wait_until_healthy(check).await?;
        }
        self.freeze().await?;
        let capture = sandbox.capture(turn).await?;
        self.forget_attempts().await?;
        let brought = self.gathered.lock().await.placed(sandbox.as_ref(), &capture);
        let changed = count(brought.len());
        self.brought.lock().await.extend(brought);
        let manifest = self.ports.record.put(Blob::Manifest(&capture.manifest))?;
        Ok(Answer::StepPlaced { manifest, changed })
    }

    /// The verifier of the seal: that of the last step reached if the task has steps.
    pub(super) fn verifier_at_seal(&self) -> &Verifier {
        let turn = Turn(self.turn.load(std::sync::atomic::Ordering::Relaxed));
        self.step_parts(turn).map_or(&self.setup.verifier, |parts| &parts.verifier)
    }

    /// Tools of a verifier that lie in the agent's reach and are neither as the base nor as a step has them. Declared
    /// paths alone are laid over a pristine base, so there is nothing to be looked for then; nor is there where a
    /// verifier has an environment of its own and no command is run in the agent's before.
    pub(super) async fn tools_changed(
        &self,
        verifier: &Verifier,
        manifest: &Manifest,
    ) -> Vec<String> {
        let rule = &self.setup.scenario.completion;
        if verifier.home != VerifierHome::Shared && verifier.collection.hooks.is_empty() {
            return Vec::new();
        }
        let is_whole_root =
            rule.verify == VerifyMode::Live || rule.paths.iter().any(|path| path == "/");
        if !is_whole_root {
            return Vec::new();
        }
        let brought = self.brought.lock().await;
        let mut tools = verifier_tools(manifest);
        tools.retain(|path| match (brought.get(path), manifest.entries.get(path)) {
            (Some(then), Some(now)) => !is_same(then, now),
            _ => true,
        });
        tools
    }

    fn step_parts(&self, turn: Turn) -> Option<&StepParts> {
        self.setup.steps.get((turn.0 as usize).checked_sub(1)?)
    }
}

fn is_same(then: &ManifestEntry, now: &ManifestEntry) -> bool {
    let is_same_content = match (&then.hash, &now.hash) {
        (Some(then), Some(now)) => then == now,
        (None, None) => then.ctime_ms == now.ctime_ms,
        _ => false,
    };
    then.kind == now.kind
        && then.mode == now.mode
        && then.link_target == now.link_target
        && is_same_content
}

/// The task's materials are at fault, as an environment is whose base cannot be made.
fn setup_failed(place: &str, finished: &Finished) -> Stop {
    let told = last_lines(finished, LINES_TOLD);
    let detail = format!("{place} ended as {:?}\n{told}", finished.ended);
    let ending = Some(Ending::PreparationFailed);
    Stop::Other(Flag::MaterialiseFailed, ending, detail.trim_end().to_owned())
}
