//! Which sandbox can give a task what it asks for ([`Unsupported`]); nothing that is asked for is left out in silence.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};

use super::{Environment, Network, Recipe, Task, VerifierEnvironment};

/// Something that a task asks for and that a sandbox, or this version, does not give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsupported {
    /// The dotted key of `task.toml`; none for a file of the task.
    pub key: Option<&'static str>,
    /// What: a lower-case fragment that names the key or the file.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// The sandbox of containers; every other one uses programs of the host.
pub const DOCKER: &str = "docker";

const ON_DOCKER: &str = "run it with --sandbox docker";
const PLANNED: &str = "leave this task out: without it the task means something else";

impl Task {
    /// What of the task a sandbox of this kind does not give; empty means that the task runs there as it is meant.
    pub fn unsupported_by(&self, sandbox: &str) -> Vec<Unsupported> {
        let mut found = Found(Vec::new());
        self.planned(&mut found);
        if sandbox != DOCKER {
            self.needs_container(&mut found);
        }
        found.0
    }

    /// What no sandbox of this version gives.
    fn planned(&self, found: &mut Found) {
        let networks = [
            ("environment.network_mode", Some(&self.environment.network)),
            ("agent.network_mode", self.agent.network.as_ref()),
            ("verifier.network_mode", self.verifier.network.as_ref()),
        ];
        for (key, network) in networks {
            if matches!(network, Some(Network::Allowlist(_))) {
                found.planned(key, "an allow-list of hosts");
            }
        }
        let environment = &self.environment;
        if !environment.mcp_servers.is_empty() {
            found.planned("environment.mcp_servers", "tool servers for the agent");
        }
        if environment.skills_dir.is_some() {
            found.planned("environment.skills_dir", "skills for the agent");
        }
        if !self.verifier.collect.is_empty() {
            found.planned("verifier.collect", "hooks before artifacts are taken");
        }
        if !self.artifacts.is_empty() || self.steps.iter().any(|step| !step.artifacts.is_empty()) {
            found.planned("artifacts", "artifacts");
        }
        if self.verifier.environment != VerifierEnvironment::Shared {
            found.planned("verifier.environment_mode", "a separate verifier environment");
        }
    }

    /// What the programs of the host cannot stand in for.
    fn needs_container(&self, found: &mut Found) {
        self.environment.needs_container(found);
        let networks = [
            ("environment.network_mode", Some(&self.environment.network)),
            ("agent.network_mode", self.agent.network.as_ref()),
            ("verifier.network_mode", self.verifier.network.as_ref()),
        ];
        for (key, network) in networks {
            if network == Some(&Network::Public) {
                let absent = if key.starts_with("env") { " (also where it is absent)" } else { "" };
                let what = format!("`{key} = \"public\"`{absent}");
                let else_where =
                    "write `network_mode = \"no-network\"` if the task needs no network, or ";
                found.on_docker(Some(key), &what, else_where);
            }
        }
        let of_steps = self.steps.iter().filter_map(|step| step.verifier_user.as_ref());
        let users = [("agent.user", &self.agent.user), ("verifier.user", &self.verifier.user)];
        let users = users.into_iter().filter_map(|(key, user)| Some((key, user.as_ref()?)));
        for (key, user) in users.chain(of_steps.map(|user| ("steps.verifier.user", user))) {
            // Commands of a sandbox on the host are root's inside.
            if user != "root" && user != "0" {
                found.on_docker(Some(key), &format!("`{key}`"), "");
            }
        }
    }
}

impl Environment {
    fn needs_container(&self, found: &mut Found) {
        let has = |recipe| self.recipes.contains(&recipe);
        if self.gpus > 0 {
            found.on_docker(Some("environment.gpus"), "`environment.gpus`", "");
        }
        if has(Recipe::Compose) {
            found.on_docker(None, "`environment/docker-compose.yaml`, which names services,", "");
        }
        if has(Recipe::Setup) {
            return;
        }
        if self.image.is_some() {
            let key = "environment.docker_image";
            found.on_docker(Some(key), "`environment.docker_image`", "");
        }
        if has(Recipe::Dockerfile) {
            found.on_docker(None, "`environment/Dockerfile`, which builds an image", "");
        }
    }
}

struct Found(Vec<Unsupported>);

impl Found {
    fn planned(&mut self, key: &'static str, what: &str) {
        let what = format!("Harbor's key `{key}` ({what}) is planned and not in this version");
        self.add(Some(key), what, PLANNED.to_owned());
    }

    fn on_docker(&mut self, key: Option<&'static str>, what: &str, else_where: &str) {
        let what = format!("{what} needs a container");
        self.add(key, what, [else_where, ON_DOCKER].concat());
    }

    fn add(&mut self, key: Option<&'static str>, what: String, remedy: String) {
        let new = Unsupported { key, what, remedy };
        if !self.0.contains(&new) {
            self.0.push(new);
        }
    }
}
