//! Installs an agent by its recipe into a folder of the host ([`install`]), once for each recipe: sandboxes get it read-only.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use thiserror::Error;

use super::presets::Preset;
use crate::{
    process::{self, Variables},
    sandboxes::layer::{AGENT_FOLDER, AgentLayer, HOME_IN_LAYER},
};

/// The registry client has so long.
const INSTALL_MAX: Duration = Duration::from_secs(900);

/// Characters of what it complains of that are told.
const COMPLAINT_TOLD: usize = 1_500;

/// Presets name programs of this architecture.
const ARCHITECTURE: &str = "x86_64";

/// Why an agent could not be installed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// There is no program for this kind of host.
    #[error("{name} is known for {ARCHITECTURE} alone, and this host is {found}")]
    Architecture {
        /// The agent.
        name: String,
        /// The host's.
        found: &'static str,
    },
    /// The registry's client is not there.
    #[error(
        "{name} is installed by npm, which is not on PATH: install it (Debian: `apt-get install npm`)"
    )]
    NoClient {
        /// The agent.
        name: String,
    },
    /// The registry's client did not do it.
    #[error("{name} could not be installed by npm: {told}")]
    Client {
        /// The agent.
        name: String,
        /// What the client says of it.
        told: String,
    },
    /// What was installed does not hold the program that is to be started.
    #[error("{name} was installed and lacks {program}")]
    Lacking {
        /// The agent.
        name: String,
        /// The program, as it would stand inside.
        program: String,
    },
    /// The folder cannot be written.
    #[error("{name} cannot be installed into {folder}: {source}")]
    Folder {
        /// The agent.
        name: String,
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The layer of an agent, below a folder of this tool's own: found if it was installed before, else made by the ordinary client
/// of the registry with these variables. Every package is held to the hash in the recipe's lock; no script of a package runs.
///
/// # Errors
/// It cannot be installed here; the text says what to change.
pub async fn install(
    preset: &Preset,
    below: &Path,
    variables: &Variables,
) -> Result<AgentLayer, InstallError> {
    let name = || preset.name.clone();
    if std::env::consts::ARCH != ARCHITECTURE {
        let found = std::env::consts::ARCH;
        return Err(InstallError::Architecture { name: name(), found });
    }
    let digest = preset.recipe.digest();
    let folder = below.join(&digest);
    if !folder.is_dir() {
        let failed = |source| InstallError::Folder { name: name(), folder: below.into(), source };
        fs::create_dir_all(below).map_err(failed)?;
        let making = tempfile::Builder::new().prefix(".making-").tempdir_in(below);
        let making = making.map_err(failed)?;
        fill(preset, making.path(), variables).await?;
        // Whoever was quicker has made the same.
        if let Err(error) = fs::rename(making.path(), &folder)
            && !folder.is_dir()
        {
            return Err(failed(error));
        }
    }
    Ok(AgentLayer { folder, digest })
}

/// Puts everything of a recipe into an empty folder.
async fn fill(preset: &Preset, folder: &Path, variables: &Variables) -> Result<(), InstallError> {
    write(preset, folder).map_err(|source| InstallError::Folder {
        name: preset.name.clone(),
        folder: folder.into(),
        source,
    })?;
    let shown = folder.to_string_lossy();
    let arguments = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--prefix",
        &shown,
    ];
    let done = process::output(Path::new("npm"), &arguments, variables, INSTALL_MAX).await;
    let name = || preset.name.clone();
    let done = match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(InstallError::NoClient { name: name() });
        }
        Err(error) => {
            return Err(InstallError::Client { name: name(), told: error.to_string() });
        }
        Ok(done) => done,
    };
    if !done.is_success {
        let told: String = done.stderr.trim().chars().take(COMPLAINT_TOLD).collect();
        return Err(InstallError::Client { name: name(), told });
    }
    let inside = |word: &&String| word.starts_with(AGENT_FOLDER);
    for program in preset.command.iter().filter(inside) {
        let place = folder.join(program[AGENT_FOLDER.len()..].trim_start_matches('/'));
        if !place.is_file() {
            return Err(InstallError::Lacking { name: name(), program: program.clone() });
        }
    }
    Ok(())
}

fn write(preset: &Preset, folder: &Path) -> io::Result<()> {
    let recipe = &preset.recipe;
    let package = json!({ "name": "agent", "private": true, "dependencies": recipe.npm });
    fs::write(folder.join("package.json"), package.to_string())?;
    fs::write(folder.join("package-lock.json"), &recipe.npm_lock)?;
    fs::create_dir(folder.join(HOME_IN_LAYER))?;
    fs::create_dir(folder.join("files"))?;
    for (name, text) in &recipe.files {
        fs::write(folder.join("files").join(name), text)?;
    }
    // The agent may be anybody inside.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}
