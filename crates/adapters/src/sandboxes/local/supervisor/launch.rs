//! From a forked child of init to a command of a local sandbox: control groups, limits, capabilities.

use std::{
    fs,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::sandboxes::{
    local::protocol::Rlimits,
    supervision::{
        capabilities,
        command::{self, Executable},
        launcher::Children,
        protocol::Launch,
    },
};

/// Programs that use `select` break above this.
const DESCRIPTORS_MAX: u64 = 1024;

/// What commands take from init.
pub(super) struct Commands {
    pub cgroup_procs: Vec<fs::File>,
    pub rlimits: Rlimits,
    /// Where launches are told to the process log.
    pub notes: Option<OwnedFd>,
}

impl Children for Commands {
    fn become_command(&self, launch: &Launch, stdio: [OwnedFd; 3], problem: OwnedFd) -> ! {
        command::run_or_exit(self.prepare(launch, &stdio), launch, problem)
    }

    fn before_placing(&self) -> io::Result<()> {
        drop_capabilities()
    }
}

impl Commands {
    fn prepare(&self, launch: &Launch, stdio: &[OwnedFd; 3]) -> io::Result<Executable> {
        command::detach(stdio)?;
        for mut group in &self.cgroup_procs {
            group.write_all(b"0\n")?;
        }
        set_limits(self.rlimits)?;
        command::enter(&launch.cwd)?;
        drop_capabilities()?;
        command::executable(launch, self.notes.as_ref().map(AsFd::as_fd))
    }
}

/// Root inside keeps what a container engine gives by default.
fn drop_capabilities() -> io::Result<()> {
    capabilities::bound_to(&capabilities::DEFAULT);
    capabilities::keep_only(&capabilities::DEFAULT)
}

fn set_limits(rlimits: Rlimits) -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS_MAX.min(hard), hard)?;
    let limits = [
        (Resource::RLIMIT_DATA, rlimits.data_bytes),
        (Resource::RLIMIT_NPROC, rlimits.processes),
        (Resource::RLIMIT_FSIZE, rlimits.file_bytes),
    ];
    for (resource, limit) in limits {
        if let Some(limit) = limit {
            let (_, hard) = getrlimit(resource)?;
            setrlimit(resource, limit.min(hard), limit.min(hard))?;
        }
    }
    Ok(())
}
