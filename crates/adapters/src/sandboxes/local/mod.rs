//! Sandboxes from the host's own kernel, without daemon, image, network or root: [`LocalSandboxes`].
//!
//! A sandbox is a supervisor process (this program again, see [`supervisor_main`]) that makes user, pid, mount, network,
//! ipc, uts and cgroup namespaces and forks an init into them. The root view is an allow-list: overlays over the host's
//! `/usr` and over a skeleton with generated and copied parts of `/etc`. Every writable path lies in a layer that is read
//! from outside.

mod capture;
mod cgroups;
mod connection;
mod disk;
mod explain;
mod host;
mod layers;
mod protocol;
mod sandbox;
mod skeleton;
mod state;
mod streams;
mod supervisor;
mod toolchains;
mod transfer;
mod view;

pub use host::LocalSandboxes;
pub use protocol::SUPERVISOR_ARGUMENT;
pub use supervisor::supervisor_main;
