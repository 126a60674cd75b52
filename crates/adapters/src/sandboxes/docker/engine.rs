//! The conversation with a Docker engine: [`Engine`] knows where it is, whose containers are whose, and which owner
//! each of its errors has.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use bollard::{
    Docker, errors::Error, models::ContainerInspectResponse,
    query_parameters::InspectContainerOptions,
};
use engine::ports::sandbox::SandboxFault;

use super::owner::Owner;

/// A call that has not come back by then is given up; builds and pulls have limits of their own.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// So often a container is asked for again whose state has no name, and so long it is waited between.
const UNNAMED_STATES: u32 = 50;
const UNNAMED_STATE_PAUSE: Duration = Duration::from_millis(100);

/// Labels of everything that is made.
pub(super) const LABEL_OWNER: &str = "personacodebench.owner";
pub(super) const LABEL_RUN: &str = "personacodebench.run";
pub(super) const LABEL_SESSION: &str = "personacodebench.session";
pub(super) const LABEL_ATTEMPT: &str = "personacodebench.attempt";
pub(super) const LABEL_SERVICE: &str = "personacodebench.service";
pub(super) const LABEL_BASE: &str = "personacodebench.base";
pub(super) const LABEL_PROGRAM: &str = "personacodebench.program";

/// An engine that answers, and what is stamped on everything that it makes for this process.
#[derive(Clone)]
pub(super) struct Engine {
    pub(super) docker: Docker,
    pub(super) owner: Arc<Owner>,
}

impl Engine {
    /// Connects to the engine of an address: `unix://PATH`, `tcp://HOST:PORT` or the path of a socket.
    pub(super) async fn connect(address: &str, owner: Owner) -> Result<Self, SandboxFault> {
        let docker = open(address).map_err(|error| unreachable_engine(address, &error))?;
        let docker = docker.with_timeout(CALL_TIMEOUT);
        let docker = docker
            .negotiate_version()
            .await
            .map_err(|error| unreachable_engine(address, &error))?;
        Ok(Self { docker, owner: Arc::new(owner) })
    }

    /// What the engine says of a container.
    pub(super) async fn inspect(&self, id: &str) -> Result<ContainerInspectResponse, Error> {
        let mut tries = 0;
        loop {
            let found = self.docker.inspect_container(id, None::<InspectContainerOptions>).await;
            match found {
                // Podman has a state between running and exited that no engine of Docker's has.
                Err(error) if tries < UNNAMED_STATES && error.to_string().contains("`stopped`") => {
                    tries += 1;
                    tokio::time::sleep(UNNAMED_STATE_PAUSE).await;
                }
                found => return found,
            }
        }
    }

    /// Labels of an object of this process, with more of its own.
    pub(super) fn labels<const N: usize>(
        &self,
        more: [(&str, &str); N],
    ) -> HashMap<String, String> {
        let own = [(LABEL_OWNER, self.owner.text())];
        own.iter()
            .map(|(name, value)| (*name, value.as_str()))
            .chain(more)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

fn open(address: &str) -> Result<Docker, Error> {
    let seconds = CALL_TIMEOUT.as_secs();
    let version = bollard::API_DEFAULT_VERSION;
    match address.split_once("://") {
        Some(("unix", path)) => Docker::connect_with_unix(path, seconds, version),
        Some(_) => Docker::connect_with_http(address, seconds, version),
        None => Docker::connect_with_unix(address, seconds, version),
    }
}

fn unreachable_engine(address: &str, error: &Error) -> SandboxFault {
    let is_missing = address.strip_prefix("unix://").is_some_and(|path| !Path::new(path).exists());
    let remedy = if is_missing {
        "there is no such socket: start Docker or Podman's service, or name its address in DOCKER_HOST"
    } else {
        "is the daemon running, and may this user reach it (group `docker`)?"
    };
    SandboxFault::Unsupported(format!("no Docker engine answers at {address}: {error}; {remedy}"))
}

/// Whose fault an error of the engine is.
pub(super) fn fault(what: &str, error: &Error) -> SandboxFault {
    let text = format!("{what}: {error}");
    match error {
        Error::RequestTimeoutError => SandboxFault::TimedOut(text),
        Error::DockerResponseServerError { message, .. }
        | Error::DockerStreamError { error: message }
            if is_host_limit(message) =>
        {
            SandboxFault::HostLimit(text)
        }
        _ => SandboxFault::Lost(text),
    }
}

/// What kernels, runtimes and engines write when the host itself has run out of something.
pub(super) fn is_host_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "no space left on device",
        "disk quota exceeded",
        "cannot allocate memory",
        "resource temporarily unavailable",
        "too many open files",
        "could not find an available, non-overlapping ipv4 address pool",
        "all predefined address pools have been fully subnetted",
    ]
    .iter()
    .any(|sign| message.contains(sign))
}

/// Whether the engine says that there is no such thing.
pub(super) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_owners() {
        let check = |status_code: u16, message: &str, expect: fn(&SandboxFault) -> bool| {
            let message = message.to_owned();
            let error = Error::DockerResponseServerError { status_code, message };
            assert!(expect(&fault("create", &error)), "{error}");
        };
        check(500, "write /x: no space left on device", |f| {
            matches!(f, SandboxFault::HostLimit(_))
        });
        check(500, "fork/exec: resource temporarily unavailable", |f| {
            matches!(f, SandboxFault::HostLimit(_))
        });
        check(404, "no such container", |f| matches!(f, SandboxFault::Lost(_)));
        let late = fault("start", &Error::RequestTimeoutError);
        assert!(matches!(late, SandboxFault::TimedOut(_)), "{late}");
    }
}
