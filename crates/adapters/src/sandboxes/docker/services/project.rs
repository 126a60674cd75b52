//! What a compose file says, as far as it can be given ([`Project`]).

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use engine::ports::sandbox::FileEntry;

/// The file of an environment that names services.
pub(in super::super) const COMPOSE_FILE: &str = "docker-compose.yaml";

/// The service in which the agent works.
pub(in super::super) const MAIN: &str = "main";

/// Services with what they share.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Project {
    /// The container of agent and tests.
    pub(in super::super) main: Service,
    /// All others, each after those that it waits for.
    pub(in super::super) others: Vec<Service>,
    /// How many of the others come before main.
    pub(in super::super) before_main: usize,
}

/// A service.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Service {
    pub(in super::super) name: String,
    pub(in super::super) source: Source,
    /// In place of the image's own.
    pub(in super::super) entrypoint: Option<Vec<String>>,
    /// In place of the image's own.
    pub(in super::super) command: Option<Vec<String>>,
    pub(in super::super) env: BTreeMap<String, String>,
    pub(in super::super) user: Option<String>,
    pub(in super::super) workdir: Option<String>,
    pub(in super::super) mounts: Vec<Mount>,
    /// Files of the environment's folder that stand in it.
    pub(in super::super) copied: Vec<Copied>,
    pub(in super::super) needs: Vec<Need>,
    pub(in super::super) health: Health,
    /// What it is called inside; only main can be.
    pub(in super::super) hostname: Option<String>,
    /// Other names that it is reached by.
    pub(in super::super) aliases: Vec<String>,
    /// Further lines of the hosts file as `name:address`.
    pub(in super::super) hosts: Vec<String>,
    pub(in super::super) memory_bytes: Option<i64>,
    pub(in super::super) cpus: Option<f64>,
    pub(in super::super) processes_max: Option<i64>,
    pub(in super::super) shm_bytes: Option<i64>,
    /// Names with soft and hard limit.
    pub(in super::super) ulimits: Vec<(String, i64, i64)>,
    pub(in super::super) cap_drop: Vec<String>,
    pub(in super::super) is_root_read_only: bool,
    pub(in super::super) has_init: bool,
    pub(in super::super) has_terminal: bool,
    pub(in super::super) is_stdin_open: bool,
    pub(in super::super) restart: Restart,
}

/// Where the image of a service comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Source {
    /// It says neither.
    #[default]
    Nowhere,
    /// An image by its name.
    Named(String),
    /// Built from files of the environment's folder.
    Built(Recipe),
}

/// How an image is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Recipe {
    /// Folder of the context below the environment's; empty for that itself.
    pub(in super::super) context: PathBuf,
    /// The Dockerfile's path in the context, or its text.
    pub(in super::super) dockerfile: Dockerfile,
    pub(in super::super) args: BTreeMap<String, String>,
    pub(in super::super) target: Option<String>,
}

/// Where a Dockerfile stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Dockerfile {
    /// Below the context.
    Path(String),
    /// In the compose file.
    Text(String),
}

impl Default for Dockerfile {
    fn default() -> Self {
        Self::Path("Dockerfile".to_owned())
    }
}

/// Something that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Mount {
    /// A volume of the session.
    Volume(VolumeMount),
    /// Memory.
    Memory { target: String, bytes: Option<i64>, mode: Option<u32> },
}

/// A volume of the session at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct VolumeMount {
    /// By which several services share it; none is one of its own.
    pub(in super::super) name: Option<String>,
    pub(in super::super) target: String,
    pub(in super::super) is_read_only: bool,
    /// What the image has there is not copied in.
    pub(in super::super) is_empty: bool,
}

/// Files that stand in a container in place of a mount of the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Copied {
    /// From where, below the environment's folder.
    pub(in super::super) source: PathBuf,
    /// Where.
    pub(in super::super) target: String,
    /// One with an empty path is a file at that place.
    pub(in super::super) files: Vec<FileEntry>,
    pub(in super::super) is_read_only: bool,
}

/// What must be so of another service before this one starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Need {
    pub(in super::super) service: String,
    pub(in super::super) condition: Condition,
}

/// A state of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Condition {
    Started,
    Healthy,
    Completed,
}

/// How a service is found healthy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Health {
    /// As its image says.
    #[default]
    OfImage,
    /// It is not asked.
    Off,
    /// By a test, as the engine takes it.
    Test(HealthTest),
}

/// A test of health; what is not said is the engine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct HealthTest {
    pub(in super::super) test: Vec<String>,
    pub(in super::super) interval: Option<Duration>,
    pub(in super::super) timeout: Option<Duration>,
    pub(in super::super) start_period: Option<Duration>,
    pub(in super::super) retries: Option<i64>,
}

/// What is done when a service ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Restart {
    #[default]
    No,
    Always,
    /// So often at the most; 0 is no limit.
    OnFailure(i64),
}

impl Project {
    /// Names in the hosts file of the session with their addresses, as the engine takes them.
    pub(in super::super) fn hosts(&self) -> Vec<String> {
        let services = || std::iter::once(&self.main).chain(&self.others);
        let names = services()
            .flat_map(|service| std::iter::once(&service.name).chain(&service.aliases))
            .map(|name| format!("{name}:127.0.0.1"));
        let mut hosts: Vec<String> =
            names.chain(services().flat_map(|service| service.hosts.clone())).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Each service in a line, in the order in which they start.
    pub(super) fn told(&self) -> Vec<String> {
        let (before, after) = self.others.split_at(self.before_main.min(self.others.len()));
        before.iter().chain([&self.main]).chain(after).map(Service::told).collect()
    }

    /// Volumes that have a name.
    pub(in super::super) fn volumes(&self) -> Vec<&str> {
        let services = std::iter::once(&self.main).chain(&self.others);
        let mounts = services.flat_map(|service| &service.mounts);
        let mut names: Vec<&str> = mounts
            .filter_map(|mount| match mount {
                Mount::Volume(volume) => volume.name.as_deref(),
                Mount::Memory { .. } => None,
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Service {
    fn told(&self) -> String {
        let from = match &self.source {
            Source::Nowhere => "the base of the task".to_owned(),
            Source::Named(image) => format!("the image {image}"),
            Source::Built(recipe) if recipe.context.as_os_str().is_empty() => {
                "built from environment/".to_owned()
            }
            Source::Built(recipe) => format!("built from environment/{}", recipe.context.display()),
        };
        let mut parts = vec![format!("{}: {from}", self.name)];
        parts.extend(self.needs.iter().map(|need| {
            let state = match need.condition {
                Condition::Started => "has started",
                Condition::Healthy => "is healthy",
                Condition::Completed => "has ended well",
            };
            format!("after {} {state}", need.service)
        }));
        parts.extend(self.mounted().map(|place| format!("own data at {place}")));
        parts.extend(self.copied.iter().map(|copied| format!("a copy at {}", copied.target)));
        parts.join("; ")
    }

    /// Places of the container whose content the engine does not count as changes.
    pub(in super::super) fn mounted(&self) -> impl Iterator<Item = &str> {
        self.mounts.iter().map(|mount| match mount {
            Mount::Volume(volume) => volume.target.as_str(),
            Mount::Memory { target, .. } => target,
        })
    }
}
