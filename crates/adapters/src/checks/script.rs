//! A program of the pair that looks at the state: exit 0 true, 1 false, anything else unknown.

use domain::acceptance::Look;
use engine::ports::{
    evidence::{Evidence, Placed},
    sandbox::{Ended, FileEntry, SandboxFault},
};

use super::{Known, describe, fork};

/// Where the pair's checks stand in the fork.
const FOLDER: &str = "/checks";

pub(super) async fn read(
    file: &str,
    timeout_sec: u32,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let name = file.strip_prefix("checks/").unwrap_or(file);
    let mut files: Vec<FileEntry> = evidence.check_files().to_vec();
    let Some(own) = files.iter_mut().find(|entry| entry.path == name) else {
        return Ok(Known::unknown(format!("{file} is not in the release")));
    };
    own.mode |= 0o555;
    let placed = vec![Placed { directory: FOLDER.into(), files }];
    let argv = [format!("{FOLDER}/{name}")];
    let mut run = fork::run(fork::honest(evidence).await?, placed, &argv, timeout_sec);
    let look = match evidence.look() {
        Look::Turn(turn) => turn.to_string(),
        Look::Sealed => "end".into(),
    };
    run.command.env.insert("PCB_LOOK".into(), look);
    let finished = evidence.run(&run).await?;
    let witness = describe(&finished);
    Ok(match finished.ended {
        Ended::Exited(0) => Known::holds(true, witness),
        Ended::Exited(1) => Known::holds(false, witness),
        _ => Known::unknown(witness),
    })
}
