//! Who works on an attempt: [`Claim`], made exclusively, kept alive by a heartbeat, read by whoever resumes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use thiserror::Error;

use crate::{
    format::v1::{self, Wire as _},
    utc,
    write_once::sync_folder_of,
};

/// How often a claim is to be refreshed.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// A claim of another machine without a heartbeat for so long is dead.
const SILENCE_MAX: Duration = Duration::from_secs(180);

/// An exclusive claim on an attempt.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
}

/// Who made a claim, told apart well enough to say whether they still live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Name of the host.
    pub host: String,
    /// Id of the boot of its kernel.
    pub boot: String,
    /// Process namespace, in which `pid` counts.
    pub pid_namespace: String,
    /// Process id.
    pub pid: u32,
    /// When the process was started, in ticks since the boot.
    pub pid_started: u64,
    /// When the claim was made.
    pub claimed_utc: String,
}

/// Whether somebody works on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Its owner lives, or may live.
    Live,
    /// Its owner is gone.
    Dead,
    /// Nobody claimed it.
    Unclaimed,
}

/// Why an attempt was not claimed.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// Somebody else was first.
    #[error("the attempt is claimed already")]
    Taken,
    /// The claim could not be written.
    #[error("the claim could not be written")]
    Unwritten(#[from] io::Error),
}

impl Claim {
    /// Claims by making the file; of several claimants exactly one succeeds.
    pub(crate) fn make(path: PathBuf) -> Result<Claim, ClaimError> {
        let bytes = v1::write_record(&Owner::this_process(), v1::Claim::from_domain)
            .map_err(io::Error::other)?;
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ClaimError::Taken);
            }
            Err(error) => return Err(ClaimError::Unwritten(error)),
        };
        file.write_all(&bytes)?;
        file.sync_data()?;
        sync_folder_of(&path)?;
        Ok(Claim { path })
    }

    /// Says that the owner lives; to be called every [`HEARTBEAT`].
    pub fn beat(&self) -> io::Result<()> {
        File::options().write(true).open(&self.path)?.set_modified(SystemTime::now())
    }
}

/// Whether the claim at a path is live, as far as this process can tell.
pub(crate) fn liveness(path: &Path) -> io::Result<Liveness> {
    let (bytes, beat) = match fs::read(path)
        .and_then(|bytes| Ok((bytes, fs::metadata(path)?.modified()?)))
    {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Liveness::Unclaimed),
        Err(error) => return Err(error),
    };
    let silent = SystemTime::now().duration_since(beat).unwrap_or_default() > SILENCE_MAX;
    let by_heartbeat = if silent { Liveness::Dead } else { Liveness::Live };
    // A claim that cannot be read is being written, or its writer died over it.
    let Ok(owner) = v1::read_record(&bytes, v1::Claim::into_domain) else {
        return Ok(by_heartbeat);
    };
    let here = Owner::this_process();
    if owner.host == here.host && owner.boot != here.boot {
        return Ok(Liveness::Dead);
    }
    if owner.boot == here.boot && owner.pid_namespace == here.pid_namespace {
        let lives = pid_started(owner.pid) == Some(owner.pid_started);
        return Ok(if lives { Liveness::Live } else { Liveness::Dead });
    }
    Ok(by_heartbeat)
}

impl Owner {
    fn this_process() -> Owner {
        // All but the time is the same as long as the process lives.
        static THIS: OnceLock<Owner> = OnceLock::new();
        let this = THIS.get_or_init(Owner::read_this_process).clone();
        // Whoever was forked from the process that asked first is another one.
        let this = if this.pid == std::process::id() { this } else { Owner::read_this_process() };
        Owner { claimed_utc: utc::text(SystemTime::now()), ..this }
    }

    fn read_this_process() -> Owner {
        let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let pid = std::process::id();
        Owner {
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            pid_namespace: namespace.to_string_lossy().into_owned(),
            pid,
            pid_started: pid_started(pid).unwrap_or_default(),
            claimed_utc: String::new(),
        }
    }
}

/// When a process was started, in ticks since the boot; none if there is none, or only its remains.
fn pid_started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses too; the fields begin after its last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
