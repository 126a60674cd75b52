//! Where a verifier runs: on a copy of what the agent left, in an environment of its own, or in place; and what is taken
//! before.

use std::sync::{Arc, atomic::Ordering};

use domain::{
    evidence::{Collected, Manifest},
    ids::Turn,
    release::VerifyMode,
    session::{Answer, CompletionReport},
};

use super::Stage;
use crate::{
    completion::{Haul, SeparateBase, Verified, Verifier, VerifierHome},
    ports::{
        record::Blob,
        sandbox::{Recording, Sandbox},
    },
    seal,
    stop::Stop,
};

impl Stage {
    pub(super) async fn verify_completion(&self) -> Result<Answer, Stop> {
        let verifier = self.verifier_at_seal();
        let report = match self.setup.scenario.completion.verify {
            VerifyMode::Fresh => self.verify_apart(verifier).await?,
            VerifyMode::Live => self.verify_in_place(verifier).await?,
        };
        Ok(Answer::CompletionVerified(report))
    }

    /// Verifies where nothing of the agent can act: on a copy of the state of its sandbox, which stands still, or in an
    /// environment of the verifier's own.
    pub(super) async fn verify_apart(&self, verifier: &Verifier) -> Result<CompletionReport, Stop> {
        let began_ms = self.ports.clock.now_ms();
        let (haul, verified) = match &verifier.home {
            VerifierHome::Shared => {
                let copy = self.copy(verifier).await?;
                let haul = self.haul(verifier, copy.as_ref()).await?;
                (haul, self.verify_in(verifier, copy.as_ref()).await?)
            }
            VerifierHome::Separate(own) => {
                let haul = if verifier.collection.hooks.is_empty() {
                    self.haul(verifier, self.sandbox()?.as_ref()).await?
                } else {
                    let copy = self.copy(verifier).await?;
                    let haul = self.haul(verifier, copy.as_ref()).await?;
                    copy.end().await?;
                    haul
                };
                let verified = self.verify_in_own(verifier, own, &haul).await?;
                (haul, verified)
            }
        };
        self.report(verified, &haul.collected, None, began_ms)
    }

    /// Verifies beside what still runs: its driver is closed, nothing of it reaches anything any more.
    async fn verify_in_place(&self, verifier: &Verifier) -> Result<CompletionReport, Stop> {
        let began_ms = self.ports.clock.now_ms();
        let sandbox = self.sandbox()?;
        let survivors = self.gathered.lock().await.alive();
        sandbox.cut_network().await?;
        if let Some(wire) = self.wire.get() {
            wire.block();
        }
        self.thaw().await?;
        let hooks = verifier.collection.run_hooks(sandbox.as_ref()).await?;
        let manifest = self.gathered.lock().await.manifest().clone();
        let record = self.ports.record.as_ref();
        let haul = verifier.collection.take(sandbox.as_ref(), hooks, &manifest, record).await?;
        let verified = match &verifier.home {
            VerifierHome::Shared => {
                let verified = verifier.verify(sandbox.as_ref()).await?;
                sandbox.end().await?;
                verified
            }
            VerifierHome::Separate(own) => {
                sandbox.end().await?;
                self.verify_in_own(verifier, own, &haul).await?
            }
        };
        self.report(verified, &haul.collected, Some(survivors), began_ms)
    }

    async fn verify_in_own(
        &self,
        verifier: &Verifier,
        own: &SeparateBase,
        haul: &Haul,
    ) -> Result<Verified, Stop> {
        let base = own.base.as_ref().map_err(Clone::clone)?;
        let made = self.ports.sandboxes.provision(base, &verifier.limits, Recording::Nothing);
        let sandbox = made.await?;
        haul.carry(sandbox.as_ref()).await?;
        self.verify_in(verifier, sandbox.as_ref()).await
    }

    /// A sandbox with what is verified laid over the pristine base.
    async fn copy(&self, verifier: &Verifier) -> Result<Box<dyn Sandbox>, Stop> {
        let paths = &self.setup.scenario.completion.paths;
        Ok(self.sandbox()?.restore(paths, &verifier.copy_limits).await?)
    }

    /// What the task keeps: of what the agent left, or of a copy of it in which commands were run before.
    async fn haul(&self, verifier: &Verifier, copy: &dyn Sandbox) -> Result<Haul, Stop> {
        let collection = &verifier.collection;
        let record = self.ports.record.as_ref();
        if collection.hooks.is_empty() {
            let manifest = self.gathered.lock().await.manifest().clone();
            let left: &Arc<dyn Sandbox> = self.sandbox()?;
            return collection.take(left.as_ref(), Vec::new(), &manifest, record).await;
        }
        let hooks = collection.run_hooks(copy).await?;
        copy.freeze().await?;
        let turn = Turn(self.turn.load(Ordering::Relaxed));
        let manifest: Manifest = copy.capture(turn).await?.manifest;
        copy.thaw().await?;
        collection.take(copy, hooks, &manifest, record).await
    }

    /// What a verifier left, its output and what was taken kept.
    fn report(
        &self,
        verified: Verified,
        collected: &Collected,
        survivors: Option<Vec<String>>,
        began_ms: u64,
    ) -> Result<CompletionReport, Stop> {
        let record = self.ports.record.as_ref();
        let output = seal::verifier_output(&verified.finished);
        let output = record.put(Blob::Bytes(&output))?;
        let artifacts = match *collected == Collected::default() {
            true => None,
            false => Some(record.put(Blob::Artifacts(collected))?),
        };
        let took_ms = self.ports.clock.now_ms().saturating_sub(began_ms);
        let outcome = verified.outcome;
        Ok(CompletionReport { outcome, took_ms, output: Some(output), artifacts, survivors })
    }
}
