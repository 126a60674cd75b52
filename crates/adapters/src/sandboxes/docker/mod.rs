//! Sandboxes in containers of a Docker engine (or Podman's compatible one), over its API: [`DockerSandboxes`].
//!
//! A container runs this very program beside the image's own processes (`inside`); the harness speaks with it over the
//! container's attached streams ([`link`]). It starts commands, keeps the process log, stops and kills the tree and reads
//! files without any program of the image. A second container of the same image, in which nothing runs, is the pristine
//! base, beside which it is told what differs.

mod build;
mod changes;
mod clean;
mod container;
mod credit;
mod doorway;
mod engine;
mod frames;
mod host;
mod images;
mod inside;
pub mod link;
mod owner;
mod program;
mod remover;
mod sandbox;
mod services;
mod volume;

pub use clean::{Leftover, LeftoverKind, Swept, sweep};
pub use container::SandboxLabels;
pub use doorway::{EdgePlacement, KEEPER_ARGUMENT, keeper_main};
pub use host::DockerSandboxes;
pub use inside::container_main;
pub use services::{Compose, ComposeError};
