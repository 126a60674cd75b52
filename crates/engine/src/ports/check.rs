//! Checks that read content or run programs ([`Checks`]); those that are pure over events live in `domain`.
//!
//! Contract. A check answers a reading, never a verdict. What cannot be told (a program that is missing, a
//! run that broke or timed out, a state that was not kept) is unknown with its cause, never true. The same
//! evidence gives the same reading, in whatever order the checks are read. A fault means that the world broke.

use domain::{
    acceptance::{Reading, checks},
    ids::Turn,
    release::CheckKind,
};

use super::{evidence::Evidence, sandbox::SandboxFault};

/// Reads checks.
#[async_trait::async_trait]
pub trait Checks: Send + Sync {
    /// Reads a check that `domain` cannot read from recorded events alone.
    ///
    /// `since` is the turn after which a difference counts; none means the base.
    async fn read(
        &self,
        kind: &CheckKind,
        since: Option<Turn>,
        evidence: &dyn Evidence,
    ) -> Result<Reading, SandboxFault>;
}

/// Reads any check: those that are pure by `domain`, the others by the port.
pub async fn read(
    checks: &dyn Checks,
    kind: &CheckKind,
    since: Option<Turn>,
    evidence: &dyn Evidence,
) -> Result<Reading, SandboxFault> {
    match checks::read(kind, evidence.recorded(), since) {
        Some(reading) => Ok(reading),
        None => checks.read(kind, since, evidence).await,
    }
}
