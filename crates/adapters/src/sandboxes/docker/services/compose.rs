//! The program that knows what a compose file means: [`Compose`] is found on the host and asked to normalise.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::ports::sandbox::{BaseSpec, FileEntry, FileNode, Image};
use thiserror::Error;

use super::{
    outside::read_outside,
    project::{COMPOSE_FILE, MAIN, Project},
    reading::{self, Folder},
};
use crate::process::{self, Output, Variables};

const TIMEOUT: Duration = Duration::from_secs(30);

const PROGRAM: &str = "docker-compose";

/// Where Docker looks for its plugins, behind the user's own folder.
const PLUGIN_FOLDERS: [&str; 4] = [
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
];

/// Folders that tasks of other times mounted from the host; here they stand in the container itself.
const LOG_FOLDERS: [(&str, &str); 3] =
    [("VERIFIER_LOGS", "verifier"), ("AGENT_LOGS", "agent"), ("ARTIFACTS", "artifacts")];

/// Stands in a mount's source for a folder of the host that there is none of.
pub(super) const NO_FOLDER: &str = "/personacodebench/none";

/// Why a compose file cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ComposeError {
    /// There is no program that reads it.
    #[error("{0}")]
    Absent(String),
    /// The file is wrong, or asks for what sessions do not give; one sentence each.
    #[error("environment/docker-compose.yaml: {}", .0.join("\nenvironment/docker-compose.yaml: "))]
    Refused(Vec<String>),
    /// The host's disk.
    #[error("the compose file cannot be looked at: {0}")]
    Io(String),
}

/// Compose, version 2 or newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compose {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says of its version.
    pub version: String,
}

impl Compose {
    /// Finds the program: on `PATH`, or where Docker's plugins lie. `variables` are those of the host.
    ///
    /// # Errors
    /// There is none, or it is of version 1.
    pub async fn find(variables: &Variables) -> Result<Self, ComposeError> {
        let mut old = None;
        for path in candidates(variables) {
            let said = process::output(&path, &["version", "--short"], variables, TIMEOUT).await;
            let Ok(Output { is_success: true, stdout, .. }) = said else { continue };
            let version = stdout.trim().trim_start_matches('v').to_owned();
            let major = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
            match major {
                Some(2..) => return Ok(Self { path, version }),
                _ => old = Some(format!("{} is version {version}; ", path.display())),
            }
        }
        let old = old.unwrap_or_default();
        Err(ComposeError::Absent(format!(
            "{old}tasks with a docker-compose.yaml need Docker Compose 2 or newer: install it so that \
             `docker compose version` or `docker-compose version` answers"
        )))
    }

    /// What the compose file of an environment makes, a line for each service in the order in which they start. `host` are
    /// the host's variables, which the file may name.
    ///
    /// # Errors
    /// It is wrong, or asks for something that no session has.
    pub async fn services(
        &self,
        spec: &BaseSpec,
        host: &Variables,
    ) -> Result<Vec<String>, ComposeError> {
        Ok(self.read(spec, host).await?.told())
    }

    /// Reads the compose file of an environment. `host` are the host's variables, which the file may name.
    ///
    /// # Errors
    /// It is wrong, or asks for something that no session has.
    pub(in super::super) async fn read(
        &self,
        spec: &BaseSpec,
        host: &Variables,
    ) -> Result<Project, ComposeError> {
        let refused = read_outside(&spec.environment);
        if !refused.is_empty() {
            return Err(ComposeError::Refused(refused));
        }
        let said = |error: io::Error| ComposeError::Io(error.to_string());
        let folder = tempfile::tempdir().map_err(said)?;
        // What the program prints has no links in it.
        let top = fs::canonicalize(folder.path()).map_err(said)?;
        let environment = top.join("environment");
        write(&environment, &spec.environment).map_err(said)?;
        if let Image::Dockerfile(text) = &spec.image {
            fs::write(environment.join("Dockerfile"), text).map_err(said)?;
        }
        let first = top.join("first.json");
        fs::write(&first, beneath(spec).to_string()).map_err(said)?;
        let own = environment.join(COMPOSE_FILE);
        let [first, own, folder] = [&first, &own, &environment].map(|path| path.to_string_lossy());
        let arguments = [
            ["--project-name", "session"],
            ["--project-directory", &folder],
            ["--file", &first],
            ["--file", &own],
            ["config", "--format=json"],
        ];
        let variables = interpolated(spec, host, &environment);
        let printed = process::output(&self.path, arguments.as_flattened(), &variables, TIMEOUT);
        let printed = printed.await.map_err(said)?;
        if !printed.is_success {
            // Paths of the temporary folder say nothing to anybody.
            let why = printed.stderr.replace(&*folder, "environment").trim().to_owned();
            return Err(ComposeError::Refused(vec![why]));
        }
        let document: serde_json::Value = serde_json::from_str(&printed.stdout)
            .map_err(|error| ComposeError::Io(error.to_string()))?;
        let tree = Folder { path: environment.clone(), files: &spec.environment };
        reading::project(&document, &tree).map_err(ComposeError::Refused)
    }
}

fn candidates(variables: &Variables) -> Vec<PathBuf> {
    let value = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let path = value("PATH").into_iter().flat_map(std::env::split_paths);
    let own = value("DOCKER_CONFIG")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(value("HOME")?).join(".docker")));
    let plugins = own.map(|folder| folder.join("cli-plugins"));
    let folders = path.chain(plugins).chain(PLUGIN_FOLDERS.iter().map(PathBuf::from));
    let mut found: Vec<PathBuf> = folders.map(|folder| folder.join(PROGRAM)).collect();
    found.retain(|path| {
        fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    });
    found
}

/// What stands beneath a task's own file, as Harbor lays it: main, from the image or the Dockerfile, waits.
fn beneath(spec: &BaseSpec) -> serde_json::Value {
    let waits = ["sh", "-c", "sleep infinity"];
    let main = match &spec.image {
        Image::None => serde_json::json!({ "command": waits }),
        Image::Named(image) => serde_json::json!({ "image": image, "command": waits }),
        Image::Dockerfile(_) => {
            serde_json::json!({ "build": { "context": "." }, "command": waits })
        }
    };
    serde_json::json!({ "services": { MAIN: main } })
}

/// The variables that the file may name: the host's, over them the task's, over them those that Harbor sets.
fn interpolated(spec: &BaseSpec, host: &Variables, environment: &Path) -> Variables {
    // Those would change what the program itself does.
    let mut variables: Variables = host
        .iter()
        .filter(|(name, _)| !name.starts_with("COMPOSE_"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut set = |name: &str, value: String| {
        variables.insert(name.to_owned(), OsString::from(value));
    };
    spec.env.iter().for_each(|(name, value)| set(name, value.clone()));
    set("CONTEXT_DIR", environment.to_string_lossy().into_owned());
    set("MAIN_IMAGE_NAME", "session-main".to_owned());
    set("TEST_DIR", "/tests".to_owned());
    if let Image::Named(name) = &spec.image {
        set("PREBUILT_IMAGE_NAME", name.clone());
    }
    if let Some(cpus) = spec.limits.cpus {
        set("CPUS", cpus.to_string());
    }
    if let Some(memory_mb) = spec.limits.memory_mb {
        set("MEMORY", format!("{memory_mb}m"));
    }
    for (name, folder) in LOG_FOLDERS {
        set(&format!("HOST_{name}_PATH"), format!("{NO_FOLDER}/{folder}"));
        set(&format!("ENV_{name}_PATH"), format!("/logs/{folder}"));
    }
    variables
}

fn write(folder: &Path, files: &[FileEntry]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for file in files {
        let path = folder.join(&file.path);
        match &file.node {
            FileNode::Directory => fs::create_dir_all(&path)?,
            FileNode::File(bytes) => {
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(&path, bytes)?;
            }
            // Trees of tasks hold none.
            FileNode::Link(_) | FileNode::Absent => {}
        }
    }
    Ok(())
}
