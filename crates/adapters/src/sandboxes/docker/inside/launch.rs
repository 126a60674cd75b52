//! From a forked child of the launcher to a command of a container: directory, capabilities, user.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use super::identity::Identity;
use crate::sandboxes::supervision::{
    capabilities,
    command::{self, Executable},
    launcher::Children,
    protocol::Launch,
};

/// What commands take from the launcher.
pub(super) struct Commands {
    pub keep_capabilities: Vec<u32>,
    /// Where launches are told to the process log.
    pub notes: Option<OwnedFd>,
}

impl Children for Commands {
    fn become_command(&self, launch: &Launch, stdio: [OwnedFd; 3], problem: OwnedFd) -> ! {
        let mut launch = launch.clone();
        let prepared = self.prepare(&mut launch, &stdio);
        command::run_or_exit(prepared, &launch, problem)
    }

    fn before_placing(&self) -> io::Result<()> {
        capabilities::bound_to(&self.keep_capabilities);
        capabilities::keep_only(&self.keep_capabilities)
    }
}

impl Commands {
    fn prepare(&self, launch: &mut Launch, stdio: &[OwnedFd; 3]) -> io::Result<Executable> {
        command::detach(stdio)?;
        assume(launch, &self.keep_capabilities)?;
        command::executable(launch, self.notes.as_ref().map(AsFd::as_fd))
    }
}

/// Goes where a command starts and becomes its user, with no more rights than a container engine would give.
pub(super) fn assume(launch: &mut Launch, keep_capabilities: &[u32]) -> io::Result<()> {
    let identity = Identity::find(launch.user.as_deref().unwrap_or_default())?;
    // As root: engines also enter directories that are closed to the user.
    command::enter(&launch.cwd)?;
    capabilities::bound_to(keep_capabilities);
    identity.assume()?;
    // The kernel takes all of them from an ordinary user.
    if identity.uid == 0 {
        capabilities::keep_only(keep_capabilities)?;
    }
    if capabilities::is_gainable(capabilities::SYS_ADMIN)
        && !keep_capabilities.contains(&capabilities::SYS_ADMIN)
    {
        return Err(io::Error::other("the engine does not let capabilities be given up"));
    }
    launch.env.entry("HOME".to_owned()).or_insert(identity.home);
    Ok(())
}
