//! The edge of a container's network, for an engine beside this process: entered by its first process's number.

use std::fs;

use engine::ports::sandbox::SandboxFault;

use super::super::{container::Container, engine::fault, host::Maker};
use crate::sandboxes::doorway::{self, FdDoorway};

impl Maker {
    /// Opens the edge with listeners on these ports, by this program.
    ///
    /// # Errors
    /// [`SandboxFault::Unsupported`] if the engine is elsewhere or this process may not enter.
    pub(super) async fn enter(
        &self,
        container: &Container,
        ports: &[u16],
    ) -> Result<FdDoorway, SandboxFault> {
        let pid = pid(container).await?;
        let sockets = doorway::enter(self.own_path(), pid, ports).await?;
        FdDoorway::new(sockets, container.link.origin_ns())
            .map_err(|error| SandboxFault::HostLimit(format!("doorway: {error}")))
    }
}

/// The number of its first process, if it is a process of this host.
async fn pid(container: &Container) -> Result<i64, SandboxFault> {
    let found = container.engine.inspect(&container.id).await;
    let found = found.map_err(|error| fault("ask for a container's process", &error))?;
    let pid = found.state.and_then(|state| state.pid).unwrap_or(0);
    let elsewhere = |why: String| {
        SandboxFault::Unsupported(format!(
            "the network of the container cannot be entered: {why}; run as root beside the engine"
        ))
    };
    if pid == 0 {
        return Err(elsewhere("the engine does not tell its process".to_owned()));
    }
    // An engine elsewhere counts other processes by the same numbers; its groups bear the container's name.
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup"));
    let groups = groups.map_err(|error| elsewhere(error.to_string()))?;
    match groups.contains(&container.id) {
        true => Ok(pid),
        false => Err(elsewhere("it is on another host".to_owned())),
    }
}
