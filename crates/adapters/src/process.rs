//! The only door to starting a process of the host: [`output`] for short questions to programs, [`supervise`] for the
//! supervisor of a sandbox. Nothing of the harness's environment is passed on but what is named here.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Variables of the host by their names, read by whoever starts this program's work.
pub type Variables = BTreeMap<String, OsString>;

/// Variables that host programs need to find their own installation.
pub const PASSED_ON: [&str; 6] =
    ["PATH", "HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_HOME", "LD_LIBRARY_PATH"];

/// What a host program printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whether it exited with 0.
    pub is_success: bool,
    /// Standard output as text.
    pub stdout: String,
    /// Standard error as text.
    pub stderr: String,
}

/// Runs a host program to its end without input and with these variables alone.
///
/// # Errors
/// The program cannot be started, or is not done in time (then it is killed).
pub async fn output(
    program: &Path,
    arguments: &[&str],
    variables: &Variables,
    timeout: Duration,
) -> io::Result<Output> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env_clear().envs(variables).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(timeout, command.output())
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok(Output {
        is_success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Starts a supervisor with an empty environment; descriptors become 3, 4, … in their order.
///
/// # Errors
/// The program cannot be started.
pub fn supervise(program: &Path, argument: &str, descriptors: &[OwnedFd]) -> io::Result<Child> {
    let mut command = Command::new(program);
    // Inside, init shows its command line: the program's path on the host is not for there.
    command.arg0("sandbox").arg(argument).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let hand_over = move || {
        // Out of the way first, or one descriptor could be overwritten before it is moved.
        let mut moved = [-1; 8];
        for (place, number) in moved.iter_mut().zip(&numbers) {
            // SAFETY: no pointer is passed.
            *place = unsafe { libc::fcntl(*number, libc::F_DUPFD_CLOEXEC, 64) };
            if *place < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        for (target, place) in (3..).zip(&moved[..numbers.len()]) {
            // SAFETY: no pointer is passed.
            if unsafe { libc::dup2(*place, target) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated.
    unsafe { command.pre_exec(hand_over) };
    command.spawn()
}
