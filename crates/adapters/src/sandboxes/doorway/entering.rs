//! Opening the edge of a namespace that another process made: a program of its own enters it ([`doorway_main`]), because
//! no thread of the harness may leave the host's network.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    path::Path,
    time::Duration,
};

use engine::ports::sandbox::SandboxFault;
use nix::{
    sched::{CloneFlags, setns},
    sys::socket::MsgFlags,
};
use serde::{Deserialize, Serialize};

use super::open;
use crate::{process, sandboxes::supervision::channel};

/// The argument that turns a binary into the program that enters a namespace.
pub const DOORWAY_ARGUMENT: &str = "__doorway";

/// Descriptor of the conversation in that program; the namespace comes over it.
const CONTROL_FD: i32 = 3;

/// A program that has not answered by then does not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Serialize, Deserialize)]
struct Ask {
    ports: Vec<u16>,
}

/// The number of the system's error, 0 for none; what was opened comes with it.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    errno: i32,
}

/// Opens the edge of the network namespace of a process of this host.
pub(crate) async fn enter(
    program: &Path,
    pid: i64,
    ports: &[u16],
) -> Result<Vec<OwnedFd>, SandboxFault> {
    let (program, ports) = (program.to_path_buf(), ports.to_vec());
    let entered = tokio::task::spawn_blocking(move || {
        let namespace = fs::File::open(format!("/proc/{pid}/ns/net"))?;
        let (here, there) = channel::packet_pair()?;
        let patience = nix::sys::time::TimeVal::new(ANSWER_TIMEOUT.as_secs() as i64, 0);
        nix::sys::socket::setsockopt(&here, nix::sys::socket::sockopt::ReceiveTimeout, &patience)?;
        let mut child = process::supervise(&program, DOORWAY_ARGUMENT, &[there])?;
        let asked = channel::send(here.as_fd(), &Ask { ports }, &[namespace.as_raw_fd()]);
        let told = asked.and_then(|()| channel::receive::<Told>(here.as_fd(), MsgFlags::empty()));
        // It has nothing left to do, whatever it said.
        let _ = child.kill();
        let _ = child.wait();
        match told? {
            Some(told) if told.message.errno == 0 => Ok(told.descriptors),
            Some(told) => Err(io::Error::from_raw_os_error(told.message.errno)),
            None => Err(io::Error::other("the program that enters it has ended")),
        }
    });
    let entered = entered.await.map_err(|error| SandboxFault::Lost(error.to_string()))?;
    entered.map_err(|error: io::Error| {
        SandboxFault::Unsupported(format!(
            "the network of the sandbox cannot be entered: {error}; run as root beside the engine"
        ))
    })
}

/// Enters the namespace that comes over descriptor 3, opens its edge, hands it over, and ends.
///
/// A binary calls this before anything else when its first argument is [`DOORWAY_ARGUMENT`].
pub fn doorway_main() -> ! {
    // SAFETY: by contract this descriptor was handed over by the harness and belongs to nobody else.
    let control = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    let opened = (|| {
        let asked = channel::receive::<Ask>(control.as_fd(), MsgFlags::empty())?;
        let asked = asked.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let namespace = asked.descriptors.first().ok_or(io::ErrorKind::InvalidInput)?;
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        open(&asked.message.ports)
    })();
    let (errno, opened) = match opened {
        Ok(opened) => (0, opened),
        Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), Vec::new()),
    };
    let numbers: Vec<i32> = opened.iter().map(AsRawFd::as_raw_fd).collect();
    // If the harness is gone, nobody is left to be told.
    let _ = channel::send(control.as_fd(), &Told { errno }, &numbers);
    std::process::exit(i32::from(errno != 0))
}
