//! The edge of a container's network, opened from this host where the engine is beside this process ([`entering`]), else
//! by a container of ours that shares the network ([`beside`], whose program is [`keeper`]).

mod beside;
mod entering;
mod keeper;
mod lines;
mod words;

use engine::ports::sandbox::{Doorway, SandboxFault};

use super::{
    container::{Container, SandboxLabels},
    host::Maker,
};

pub use keeper::{KEEPER_ARGUMENT, keeper_main};

/// From where the edge of a container is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgePlacement {
    /// This program enters the network of the container on this host.
    Entered,
    /// A container of ours shares the network of the container, and carries over its attached stream.
    Beside,
}

impl Maker {
    /// Opens the edge of a container with listeners on these ports.
    ///
    /// # Errors
    /// [`SandboxFault::Unsupported`] if the engine allows neither placement.
    pub(super) async fn doorway(
        &self,
        container: &Container,
        labels: &SandboxLabels,
        ports: &[u16],
    ) -> Result<Box<dyn Doorway>, SandboxFault> {
        let entered = match self.edge() {
            Some(EdgePlacement::Beside) => None,
            Some(EdgePlacement::Entered) | None => Some(self.enter(container, ports).await),
        };
        let not_entered = match entered {
            Some(Ok(doorway)) => {
                self.found_edge(EdgePlacement::Entered);
                return Ok(Box::new(doorway));
            }
            Some(Err(SandboxFault::Unsupported(why))) if self.edge().is_none() => Some(why),
            Some(Err(fault)) => return Err(fault),
            None => None,
        };
        match self.open_beside(container, labels, ports).await {
            Ok(doorway) => {
                self.found_edge(EdgePlacement::Beside);
                Ok(Box::new(doorway))
            }
            Err(SandboxFault::Unsupported(why)) => {
                Err(SandboxFault::Unsupported(match not_entered {
                    Some(not_entered) => {
                        format!("{not_entered}; nor can a container beside it: {why}")
                    }
                    None => why,
                }))
            }
            Err(fault) => Err(fault),
        }
    }
}
