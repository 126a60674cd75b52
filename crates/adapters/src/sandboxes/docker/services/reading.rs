//! Reads what Compose prints of a file ([`project`]); a key that is not named here is refused by its name.

mod build;
mod mounts;
mod values;

use std::path::{Path, PathBuf};

use engine::ports::sandbox::FileEntry;
use serde_json::{Map, Value};

use self::{
    build::{read_build, read_deploy},
    mounts::{read_memory, read_mount, shared_and_written},
    values::{as_env, as_number, as_text, as_words, duration, size},
};
use super::{
    order::in_order,
    project::{Condition, Health, HealthTest, MAIN, Need, Project, Restart, Service, Source},
};

/// The folder of the environment and what it holds.
pub(super) struct Folder<'a> {
    /// Where Compose saw it.
    pub(super) path: PathBuf,
    pub(super) files: &'a [FileEntry],
}

impl Folder<'_> {
    /// A path that Compose printed, below the folder; none if it lies elsewhere.
    fn below(&self, printed: &str) -> Option<PathBuf> {
        Path::new(printed).strip_prefix(&self.path).ok().map(Path::to_owned)
    }
}

/// Keys of a service that say nothing about what runs in it, or that were done with when the file was normalised.
const WITHOUT_MEANING: [&str; 11] = [
    "annotations",
    "attach",
    "develop",
    "expose",
    "image",
    "labels",
    "logging",
    "profiles",
    "pull_policy",
    "stop_grace_period",
    "stop_signal",
];

/// Keys that would reach past the session, with what to do instead.
const REACHING: [(&str, &str); 14] = [
    ("cap_add", "leave it out: sessions have a plain container's capabilities"),
    ("cgroup_parent", "leave it out"),
    ("device_cgroup_rules", "leave it out"),
    ("devices", "leave it out: no device of the host is given"),
    ("dns", "leave it out: services find each other by name"),
    ("external_links", "leave it out: no container of others is reached"),
    ("ipc", "leave it out"),
    ("network_mode", "leave it out: all services share one network of the session"),
    ("pid", "leave it out"),
    (
        "ports",
        "write `expose`, or leave it out: nothing is published to the host, services reach each other by name",
    ),
    ("privileged", "leave it out"),
    ("security_opt", "leave it out"),
    ("userns_mode", "leave it out"),
    ("uts", "leave it out"),
];

/// Reads a normalised file, or says everything that keeps it from being given.
pub(super) fn project(document: &Value, folder: &Folder<'_>) -> Result<Project, Vec<String>> {
    // One file means one project, however its keys stand.
    let mut document = document.clone();
    document.sort_all_objects();
    let mut refused = Vec::new();
    let none = Map::new();
    let services = document.get("services").and_then(Value::as_object).unwrap_or(&none);
    let mut read: Vec<Service> = Vec::new();
    for (name, keys) in services {
        let keys = keys.as_object().unwrap_or(&none);
        let mut reading = Reading { name, folder, refused: &mut refused };
        read.push(reading.service(keys));
    }
    refuse_volumes(&document, &mut refused);
    refused.extend(shared_and_written(&read));
    if read.iter().all(|service| service.name != MAIN || service.source == Source::Nowhere) {
        refused.push(format!(
            "the service `{MAIN}`, in which the agent works, has neither image nor build: add environment/Dockerfile, \
             or `image`"
        ));
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut ordered = in_order(read).map_err(|why| vec![why])?;
    let before_main = ordered.iter().position(|service| service.name == MAIN).unwrap_or_default();
    let main = ordered.remove(before_main);
    Ok(Project { main, others: ordered, before_main })
}

fn refuse_volumes(document: &Value, refused: &mut Vec<String>) {
    let volumes = document.get("volumes").and_then(Value::as_object);
    for (name, keys) in volumes.into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let is_plain = match key.as_str() {
                "name" | "labels" => true,
                "driver" => value == "local",
                key => key.starts_with("x-"),
            };
            if !is_plain {
                refused.push(format!(
                    "volume `{name}`: `{key}` may reach past the session: leave it out, for volumes are the session's own"
                ));
            }
        }
    }
}

/// Reads one service.
struct Reading<'a> {
    name: &'a str,
    folder: &'a Folder<'a>,
    refused: &'a mut Vec<String>,
}

impl Reading<'_> {
    fn refuse(&mut self, key: &str, why: &str, remedy: &str) {
        self.refused.push(format!("service `{}`: `{key}` {why}: {remedy}", self.name));
    }

    fn service(&mut self, keys: &Map<String, Value>) -> Service {
        let mut service = Service { name: self.name.to_owned(), ..Service::default() };
        if let Some(image) = keys.get("image").and_then(Value::as_str) {
            service.source = Source::Named(as_text(image));
        }
        for (key, value) in keys {
            // No words in place of the image's own mean something.
            let is_nothing = value.is_null()
                || *value == false
                || *value == Value::Array(Vec::new()) && key != "entrypoint" && key != "command";
            if is_nothing || key.starts_with("x-") || WITHOUT_MEANING.contains(&key.as_str()) {
                continue;
            }
            if let Some((key, remedy)) = REACHING.iter().find(|(name, _)| name == key) {
                self.refuse(key, "reaches past the session", remedy);
                continue;
            }
            if self.read(key, value, &mut service).is_none() {
                let told = if value.to_string().len() > 60 {
                    String::new()
                } else {
                    format!(" = {value}")
                };
                self.refuse(
                    &format!("{key}{told}"),
                    "is not supported",
                    "leave it out if the task means the same without it",
                );
            }
        }
        service
    }

    /// None if the key or its value is not known.
    fn read(&mut self, key: &str, value: &Value, into: &mut Service) -> Option<()> {
        match key {
            "build" => {
                into.source = Source::Built(
                    read_build(self.folder, value)
                        .map_err(|why| {
                            self.refuse("build", &why, "build from files of environment/");
                        })
                        .unwrap_or_default(),
                )
            }
            "entrypoint" => into.entrypoint = Some(as_words(value)?),
            "command" => into.command = Some(as_words(value)?),
            "environment" => into.env = as_env(value)?,
            "user" => into.user = Some(as_text(value.as_str()?)),
            "working_dir" => into.workdir = Some(as_text(value.as_str()?)),
            "container_name" => into.aliases.push(as_text(value.as_str()?)),
            // Of containers that share a network only the first can have a name of its own.
            "hostname" if self.name == MAIN => into.hostname = Some(as_text(value.as_str()?)),
            "networks" => self.networks(value, into)?,
            "extra_hosts" => self.hosts(value, into)?,
            "depends_on" => into.needs = read_needs(value)?,
            "healthcheck" => into.health = read_health(value)?,
            "restart" => into.restart = read_restart(value.as_str()?)?,
            "volumes" => value.as_array()?.iter().try_for_each(|one| self.mount(one, into))?,
            "tmpfs" => {
                let mounts: Option<Vec<_>> =
                    as_words(value)?.iter().map(|one| read_memory(one)).collect();
                into.mounts.extend(mounts?);
            }
            "mem_limit" => into.memory_bytes = Some(size(value)?),
            "cpus" => into.cpus = Some(as_number(value)?),
            "pids_limit" => into.processes_max = Some(value.as_i64()?),
            "shm_size" => into.shm_bytes = Some(size(value)?),
            "ulimits" => into.ulimits = read_ulimits(value)?,
            "cap_drop" if self.name != MAIN => into.cap_drop = as_words(value)?,
            "read_only" if self.name != MAIN => into.is_root_read_only = value.as_bool()?,
            "init" => into.has_init = value.as_bool()?,
            "tty" if self.name != MAIN => into.has_terminal = value.as_bool()?,
            "tty" => {}
            "stdin_open" => into.is_stdin_open = value.as_bool()?,
            "scale" => (value == 1).then_some(())?,
            "deploy" => read_deploy(value, into)?,
            _ => return None,
        }
        Some(())
    }

    fn mount(&mut self, value: &Value, into: &mut Service) -> Option<()> {
        match read_mount(self.folder, value) {
            Ok((mounts, copied)) => {
                into.mounts.extend(mounts);
                into.copied.extend(copied);
            }
            Err(why) => self.refuse("volumes", &why, "mount a volume, or files of environment/"),
        }
        Some(())
    }

    fn networks(&mut self, value: &Value, into: &mut Service) -> Option<()> {
        for (network, keys) in value.as_object()? {
            if network != "default" {
                self.refuse(
                    &format!("networks.{network}"),
                    "is a network of its own",
                    "leave it out: all services share one network of the session",
                );
                continue;
            }
            for (key, value) in keys.as_object().into_iter().flatten() {
                match key.as_str() {
                    "aliases" => into.aliases.extend(as_words(value)?),
                    _ => return None,
                }
            }
        }
        Some(())
    }

    fn hosts(&mut self, value: &Value, into: &mut Service) -> Option<()> {
        for line in as_words(value)? {
            let (name, address) = line.split_once(['=', ':'])?;
            if address == "host-gateway" {
                self.refuse("extra_hosts", "reaches past the session", "leave `host-gateway` out");
                continue;
            }
            into.hosts.push(format!("{name}:{address}"));
        }
        Some(())
    }
}

fn read_needs(value: &Value) -> Option<Vec<Need>> {
    let mut needs = Vec::new();
    for (service, keys) in value.as_object()? {
        let condition = match keys.get("condition").and_then(Value::as_str) {
            None | Some("service_started") => Condition::Started,
            Some("service_healthy") => Condition::Healthy,
            Some("service_completed_successfully") => Condition::Completed,
            Some(_) => return None,
        };
        needs.push(Need { service: service.clone(), condition });
    }
    Some(needs)
}

fn read_health(value: &Value) -> Option<Health> {
    let mut found = HealthTest::default();
    for (key, value) in value.as_object()? {
        match key.as_str() {
            "disable" if value == true => return Some(Health::Off),
            "disable" => {}
            "test" => found.test = as_words(value)?,
            "interval" => found.interval = Some(duration(value.as_str()?)?),
            "timeout" => found.timeout = Some(duration(value.as_str()?)?),
            "start_period" => found.start_period = Some(duration(value.as_str()?)?),
            // The engine asks every `interval` then: later at the most.
            "start_interval" => {}
            "retries" => found.retries = Some(value.as_i64()?),
            _ => return None,
        }
    }
    if found.test.first().is_some_and(|word| word == "NONE") {
        return Some(Health::Off);
    }
    Some(Health::Test(found))
}

fn read_restart(text: &str) -> Option<Restart> {
    let (word, times) = text.split_once(':').unwrap_or((text, "0"));
    match word {
        "no" => Some(Restart::No),
        "always" | "unless-stopped" => Some(Restart::Always),
        "on-failure" => Some(Restart::OnFailure(times.parse().ok()?)),
        _ => None,
    }
}

fn read_ulimits(value: &Value) -> Option<Vec<(String, i64, i64)>> {
    let mut limits = Vec::new();
    for (name, value) in value.as_object()? {
        let both = |key: &str| value.as_i64().or_else(|| value.get(key)?.as_i64());
        limits.push((name.clone(), both("soft")?, both("hard")?));
    }
    Some(limits)
}

#[cfg(test)]
mod tests;
