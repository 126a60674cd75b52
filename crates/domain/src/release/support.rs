//! Which sandbox can give a task what it asks for ([`Unsupported`]); nothing that is asked for is left out in silence.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};

use super::{Environment, Home, HomeOrigin, MAIN_SERVICE, Network, Recipe, SeparateHome, Task};

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
        self.services(found);
    }

    /// What is asked of services beside the agent's, which a `docker-compose.yaml` would define.
    fn services(&self, found: &mut Found) {
        for step in self.verifications() {
            let is_other = |service: &str| service != MAIN_SERVICE;
            for artifact in self.artifacts_after(step) {
                if is_other(&artifact.service) {
                    let (source, service) = (artifact.source, artifact.service);
                    let what = format!("the path `{source}` of the service `{service}`");
                    found.planned("artifacts", &what);
                }
            }
            for hook in self.collect_hooks(step).filter(|hook| is_other(&hook.service)) {
                let what = format!("a command in the service `{}`", hook.service);
                found.planned("verifier.collect", &what);
            }
        }
    }

    /// Each key that says what may be reached, with what it says.
    fn networks(&self) -> Vec<(&'static str, Network)> {
        let mut all = Vec::from([("environment.network_mode", self.environment.network.clone())]);
        let phases = [
            ("agent.network_mode", &self.agent.network),
            ("verifier.network_mode", &self.verifier.network),
        ];
        let of_steps = self.steps.iter().map(|step| &step.verifier.network);
        let of_steps = of_steps.map(|network| ("steps.verifier.network_mode", network));
        for (key, network) in phases.into_iter().chain(of_steps) {
            all.extend(network.clone().map(|network| (key, network)));
        }
        let homes = self.separate_homes().into_iter();
        let homes = homes.filter(|home| home.environment.network != self.environment.network);
        all.extend(
            homes.map(|home| ("verifier.environment.network_mode", home.environment.network)),
        );
        all
    }

    fn separate_homes(&self) -> Vec<SeparateHome> {
        let homes = self.verifications().into_iter().map(|step| self.verifier_home(step));
        let separate = homes.filter_map(|home| match home {
            Home::Shared => None,
            Home::Separate(home) => Some(*home),
        });
        separate.collect()
    }

    /// What the programs of the host cannot stand in for.
    fn needs_container(&self, found: &mut Found) {
        self.environment.needs_container(found);
        for home in self.separate_homes() {
            let what = match home.origin {
                HomeOrigin::Image(_) => "`verifier.environment.docker_image`",
                HomeOrigin::Tests => "`tests/`, from which the verifier's image is built,",
                HomeOrigin::StepTests => {
                    "a step's `tests/`, from which the verifier's image is built,"
                }
                HomeOrigin::Pristine => "",
            };
            if !what.is_empty() {
                found.on_docker(Some("verifier.environment"), what, "");
            }
            if home.environment.gpus > 0 {
                let key = "verifier.environment.gpus";
                found.on_docker(Some(key), &format!("`{key}`"), "");
            }
        }
        for (key, network) in self.networks() {
            if network == Network::Public {
                let absent = if key.contains("env") { " (also where it is absent)" } else { "" };
                let what = format!("`{key} = \"public\"`{absent}");
                let else_where =
                    "write `network_mode = \"no-network\"` if the task needs no network, or ";
                found.on_docker(Some(key), &what, else_where);
            }
        }
        let of_steps = self.steps.iter().filter_map(|step| step.verifier.user.as_ref());
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
