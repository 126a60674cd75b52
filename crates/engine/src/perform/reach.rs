//! What the sandbox reaches: its wire is opened, asked at each capture, and made for a verifier that may reach more.

use std::sync::atomic::Ordering;

use domain::{
    controller::{TurnPlan, closes_network},
    evidence::Channel,
    ids::Turn,
    release::Policy,
};

use super::Stage;
use crate::{
    completion::{Verified, Verifier},
    ports::{
        record::Blob,
        sandbox::{Network, Sandbox, SandboxFault},
    },
    stop::{Stop, twice},
};

impl Stage {
    /// A sandbox whose own network reaches the world has no wire, and what it reaches is not seen.
    pub(super) async fn open_wire(&self) -> Result<(), Stop> {
        let setup = &self.setup;
        let is_seen = setup.scenario.channels.contains(&Channel::Network);
        if setup.limits.network == Network::Public {
            return Ok(());
        }
        if !is_seen {
            return match &setup.reach {
                Policy::Nothing => Ok(()),
                Policy::Listed(_) | Policy::Open => Err(SandboxFault::Unsupported(
                    "the task lists hosts, and nothing here can carry to them: `pcb doctor` says why".to_owned(),
                )
                .into()),
            };
        }
        let sandbox = self.sandbox()?.as_ref();
        let policies = [setup.reach.clone(), Policy::Nothing];
        let inner = self.open_gateway()?;
        let wire = self.ports.wires.open(sandbox, &policies, inner).await?;
        self.wire.set(wire).map_err(|_| twice("wire"))
    }

    /// Whether a message conveys that the network is refused is known when it is planned.
    pub(super) fn look_at_tellings(&self, plan: &TurnPlan) {
        let scenario = &self.setup.scenario;
        let closes = plan.delivers().any(|told| {
            let mut all = scenario.requirements.iter();
            all.any(|one| one.id == *told && closes_network(&scenario.permissions, one))
        });
        self.closes_network.store(closes, Ordering::Relaxed);
    }

    /// What the user refuses is enforced from the moment at which the agent has heard it: before, the refusal would
    /// have told itself.
    pub(super) fn close_network_if_told(&self) {
        if self.closes_network.load(Ordering::Relaxed)
            && let Some(wire) = self.wire.get()
        {
            wire.govern(Policy::Nothing);
        }
    }

    /// Evidence of what was attempted since the capture before; answers whether there was more than is kept.
    pub(super) async fn take_attempts(&self, turn: Turn) -> Result<bool, Stop> {
        let Some(wire) = self.wire.get() else { return Ok(false) };
        let mut attempts = wire.take(turn).await?;
        self.tell_contacts(&attempts.list);
        attempts.list.extend(self.take_calls(turn)?);
        self.gathered.lock().await.reached(&attempts.list);
        self.cut(Channel::Network, turn, attempts.list.len(), Blob::Network(&attempts.list))?;
        Ok(attempts.overflow)
    }

    /// What was attempted before the agent had its turn is the task's doing.
    pub(super) async fn forget_attempts(&self) -> Result<(), Stop> {
        if let Some(wire) = self.wire.get() {
            wire.take(Turn::BASE).await?;
        }
        Ok(())
    }

    /// Runs a verifier in a sandbox in which no agent acts, and ends that; on a wire if it may reach more than nothing.
    pub(super) async fn verify_in(
        &self,
        verifier: &Verifier,
        sandbox: &dyn Sandbox,
    ) -> Result<Verified, Stop> {
        let wire = match (&verifier.reach, verifier.limits.network) {
            (Policy::Nothing, _) | (_, Network::Public) => None,
            (Policy::Listed(_) | Policy::Open, Network::Off) => {
                let policies = std::slice::from_ref(&verifier.reach);
                Some(self.ports.wires.open(sandbox, policies, Vec::new()).await?)
            }
        };
        let verified = verifier.verify(sandbox).await?;
        sandbox.end().await?;
        if let Some(wire) = wire {
            wire.close().await;
        }
        Ok(verified)
    }
}
