//! Verification again, from the seal: the sealed state is laid over its base and the log goes on from there ([`regrade`]).

use std::sync::Arc;

use domain::{
    evidence::FileKind,
    release::VerifyMode,
    session::{Answer, Command, Divergence, Entry, Event, replay},
};
use thiserror::Error;

use crate::{
    cancel::Cancellation,
    drive::{SessionOutcome, go_on},
    evidence::Gathered,
    ports::{
        record::{Archive, RecordError, Seal},
        sandbox::{FileEntry, FileNode, Recording, Sandbox, SandboxFault},
    },
    setup::{SessionPorts, Setup},
};

/// What an attempt left that was sealed.
pub struct Past<'a> {
    /// Its log up to the seal.
    pub entries: &'a [Entry],
    /// What the sealed state is made of.
    pub seal: Seal,
    /// Its payloads.
    pub archive: &'a dyn Archive,
}

/// Why an attempt cannot be graded again.
#[derive(Debug, Error)]
pub enum RegradeError {
    /// The log is decided otherwise by this version.
    #[error("the log up to the seal does not replay: {0}")]
    Divergence(#[from] Divergence),
    /// A payload is gone or touched.
    #[error("the evidence is not whole: {0}")]
    Archive(#[from] RecordError),
    /// The seal lists files whose content was not kept.
    #[error("the seal is not whole: {path} {why}")]
    Unkept {
        /// The first such file.
        path: String,
        /// Why it was not kept.
        why: String,
    },
    /// What ran beside the tests is gone.
    #[error("it was verified in place, beside what still ran")]
    Live,
    /// The base is not there.
    #[error("the base cannot be made: {0}")]
    Base(SandboxFault),
    /// The seal is of another base.
    #[error("the seal lies on the base {sealed}, the task's base is now {found}")]
    OtherBase {
        /// Digest of the base that was sealed on.
        sealed: String,
        /// Digest of the base that there is.
        found: String,
    },
    /// The sealed state could not be laid out.
    #[error("the sealed state could not be laid out: {0}")]
    Sandbox(#[from] SandboxFault),
}

/// Grades an attempt again: checks read on the seal, completion verified, ended. The agent is not run; entries go
/// on counting where the seal's left off.
pub async fn regrade(
    setup: Setup,
    ports: SessionPorts,
    past: Past<'_>,
    cancellation: Cancellation,
) -> Result<SessionOutcome, RegradeError> {
    if setup.scenario.completion.verify == VerifyMode::Live {
        return Err(RegradeError::Live);
    }
    let session = replay(setup.scenario.clone(), past.entries)?;
    let sandbox = laid_out(&setup, &ports, &past).await?;
    let gathered = gathered(&setup, &past)?;
    Ok(go_on(setup, ports, session, sandbox, gathered, cancellation).await)
}

/// A frozen sandbox that holds the sealed state.
async fn laid_out(
    setup: &Setup,
    ports: &SessionPorts,
    past: &Past<'_>,
) -> Result<Arc<dyn Sandbox>, RegradeError> {
    if let Some((path, why)) = past.seal.unkept.iter().next() {
        return Err(RegradeError::Unkept { path: path.clone(), why: why.clone() });
    }
    let base = setup.base.as_ref().map_err(|fault| RegradeError::Base(fault.clone()))?;
    if let Some(sealed) = past.seal.base.as_ref().filter(|sealed| **sealed != base.digest) {
        let (sealed, found) = (sealed.to_string(), base.digest.to_string());
        return Err(RegradeError::OtherBase { sealed, found });
    }
    let mut files = Vec::new();
    for (path, entry) in &past.seal.manifest.entries {
        let node = match entry.kind {
            FileKind::File => match &entry.hash {
                Some(hash) => FileNode::File(past.archive.bytes(hash)?),
                None => continue,
            },
            FileKind::Directory => FileNode::Directory,
            FileKind::Link => FileNode::Link(entry.link_target.clone().unwrap_or_default()),
            FileKind::Gone => FileNode::Absent,
            // A pipe or a socket without its process is nothing that tests could look at.
            FileKind::Special => continue,
        };
        files.push(FileEntry {
            path: path.trim_start_matches('/').to_owned(),
            node,
            mode: entry.mode,
        });
    }
    let made = ports.sandboxes.provision(base, &setup.limits, Recording::Nothing).await?;
    let sandbox: Arc<dyn Sandbox> = Arc::from(made);
    sandbox.put("/", &files).await?;
    sandbox.freeze().await?;
    Ok(sandbox)
}

/// The evidence of the attempt as it stood at the seal.
fn gathered(setup: &Setup, past: &Past<'_>) -> Result<Gathered, RegradeError> {
    let scenario = &setup.scenario;
    let mut gathered = Gathered::new(scenario.channels.clone(), scenario.workdir.clone(), true);
    let mut open = None;
    for entry in past.entries {
        match &entry.event {
            Event::Decided(_, command) => {
                if let Command::Prompt { turn, message, .. } = command {
                    gathered.prompted(*turn, message);
                }
                open = turn_of(command).or(open);
            }
            Event::Observed(observation) => {
                gathered.observe(observation);
                gathered.read_cut(observation, past.archive)?;
            }
            Event::Answered(_, Answer::TurnEnded { agent_ms, .. }) => {
                gathered.turn_ended(open.unwrap_or(domain::ids::Turn::BASE), *agent_ms);
            }
            Event::Answered(_, Answer::Captured { manifest, .. }) => {
                let turn = open.unwrap_or(domain::ids::Turn::BASE);
                gathered.captured_before(turn, past.archive.manifest(manifest)?);
            }
            Event::Answered(..) => {}
        }
    }
    gathered.sealed_before(past.seal.manifest.clone(), past.archive);
    Ok(gathered)
}

fn turn_of(command: &Command) -> Option<domain::ids::Turn> {
    match command {
        Command::Prompt { turn, .. } | Command::Freeze { turn } | Command::Capture { turn } => {
            Some(*turn)
        }
        _ => None,
    }
}
