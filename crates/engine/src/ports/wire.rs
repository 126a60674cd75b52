//! The wire of a sandbox: its only way out, and who sees every attempt to take it ([`Wires`], [`Wire`]).
//!
//! Contract. A wire stands at the sandbox's [`Doorway`](super::sandbox::Doorway) from before the first command of the
//! agent until it is closed or dropped. What its policy does not allow is refused at once and seen; what is allowed is
//! carried from the host's own network and seen too. A policy counts for what begins after it was set; what a stricter
//! one does not allow any more is cut. Nothing that a wire does waits for a program of the sandbox.

use std::collections::BTreeMap;

use domain::{evidence::NetAttempt, ids::Turn, release::Policy};
use tokio::sync::mpsc::UnboundedSender;

use super::sandbox::{ArrivedStream, Sandbox, SandboxFault};

/// A port of the sandbox's loopback behind which something of the harness answers.
#[derive(Clone, Debug)]
pub struct InnerPort {
    /// Its number.
    pub port: u16,
    /// Who takes the streams that arrive there; they are no attempts to reach anything.
    pub streams: UnboundedSender<ArrivedStream>,
}

/// What a wire has seen since it was asked last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempts {
    /// The attempts in order of time. One that goes on is told again in each turn in which bytes went over it, with the
    /// bytes of that turn.
    pub list: Vec<NetAttempt>,
    /// There were more than are listed.
    pub overflow: bool,
}

/// Makes wires.
#[async_trait::async_trait]
pub trait Wires: Send + Sync {
    /// A wire at the sandbox's doorway. The first of the policies holds until another is set; the others are those
    /// that will be, so that their ports are open from the start. None at all means nothing.
    async fn open(
        &self,
        sandbox: &dyn Sandbox,
        policies: &[Policy],
        inner: Vec<InnerPort>,
    ) -> Result<Box<dyn Wire>, SandboxFault>;
}

/// The wire of one sandbox.
#[async_trait::async_trait]
pub trait Wire: Send + Sync {
    /// Sets the policy from now on.
    fn govern(&self, policy: Policy);

    /// Variables for commands of the sandbox, by which programs that honour them take the proxy.
    fn env(&self) -> BTreeMap<String, String>;

    /// Everything that was attempted since it was asked last, told as of this turn. Asked of a sandbox that is
    /// frozen or dead, it misses nothing.
    async fn take(&self, turn: Turn) -> Result<Attempts, SandboxFault>;

    /// Cuts what goes on and refuses everything from now on, inner ports too; what is tried is still seen.
    fn block(&self);

    /// Ends it; nothing is seen any more.
    async fn close(&self);
}
