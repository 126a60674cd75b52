//! The environment that a task works in, or that its verifier has for itself ([`Environment`]).

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use super::{EnvTable, Network};

/// An environment: how it is made, what it may use and reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// A prebuilt image by its name.
    pub image: Option<String>,
    /// What its folder holds to make it from.
    pub recipes: BTreeSet<Recipe>,
    /// Absolute working directory inside the sandbox; `/` while only the image knows it.
    pub workdir: String,
    /// Who says which directory that is.
    pub workdir_said_by: WorkdirSource,
    /// Variables of every command in it.
    pub env: EnvTable,
    /// Time limit of building, or of the setup, in seconds.
    pub build_timeout_sec: f64,
    /// Processors; none means no limit.
    pub cpus: Option<f64>,
    /// Memory in MiB; none means no limit.
    pub memory_mb: Option<u64>,
    /// Disk in MiB; none means no limit.
    pub storage_mb: Option<u64>,
    /// Graphics processors.
    pub gpus: u32,
    /// Kinds of graphics processors of which one is needed; empty means any.
    pub gpu_types: Vec<String>,
    /// What it may reach where no phase says otherwise.
    pub network: Network,
    /// What must be so before anybody works in it.
    pub healthcheck: Option<Healthcheck>,
    /// Tool servers that the agent is to use.
    pub mcp_servers: Vec<McpServer>,
    /// Directory inside the image with skills that the agent is to use.
    pub skills_dir: Option<String>,
}

/// Something in an environment's folder from which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipe {
    /// `setup.sh`, run in a sandbox on the host's own programs.
    Setup,
    /// A `Dockerfile` that does more than name an image and a working directory.
    Dockerfile,
    /// A `Dockerfile` that names an image and a working directory and does nothing else.
    BareDockerfile,
    /// A `docker-compose.yaml`.
    Compose,
    /// Other files; a prebuilt image without `Dockerfile` gets them in its working directory.
    Files,
}

/// Who says which the working directory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkdirSource {
    /// `workdir` of the environment.
    #[default]
    Declared,
    /// The last stage of the `Dockerfile`.
    Dockerfile,
    /// The house, because nothing else does.
    House,
    /// The image, which says it when it is there.
    Image,
}

/// A command that is run until it exits with 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Healthcheck {
    /// A shell's command line.
    pub command: String,
    /// Pause between two tries in seconds.
    pub interval_sec: f64,
    /// Time limit of one try in seconds.
    pub timeout_sec: f64,
    /// For so many seconds a failed try does not count.
    pub start_period_sec: f64,
    /// Pause between two tries while they do not count, in seconds.
    pub start_interval_sec: f64,
    /// So many failed tries in a row end it.
    pub retries: u32,
}

/// A server of tools that the agent is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How a server of tools is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// Server-sent events at an address.
    Sse {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: EnvTable,
    },
    /// Streamable HTTP at an address.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: EnvTable,
    },
    /// A program's standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

impl Environment {
    /// Working directory of a task of ours that names none.
    pub const WORKDIR: &'static str = "/app";
    /// Seconds that building takes at the most where a task says nothing.
    pub const BUILD_TIMEOUT_SEC: f64 = 600.0;
}

impl Default for Environment {
    /// One that declares nothing and reaches nothing: for tasks that are written in code.
    fn default() -> Self {
        Self {
            image: None,
            recipes: BTreeSet::from([Recipe::Setup]),
            workdir: Self::WORKDIR.into(),
            workdir_said_by: WorkdirSource::House,
            env: EnvTable::default(),
            build_timeout_sec: Self::BUILD_TIMEOUT_SEC,
            cpus: Some(1.0),
            memory_mb: None,
            storage_mb: None,
            gpus: 0,
            gpu_types: Vec::new(),
            network: Network::NoNetwork,
            healthcheck: None,
            mcp_servers: Vec::new(),
            skills_dir: None,
        }
    }
}
