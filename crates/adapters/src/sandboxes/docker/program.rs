//! What runs inside containers: this very program with its loader and libraries, on a volume that is made once for each
//! build and mounted read-only ([`Program`]), so that it runs in images of any C library or of none.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use engine::ports::sandbox::SandboxFault;

use super::{
    engine::Engine,
    volume::{Pieces, Stored},
};
use crate::{
    process::{self, Variables},
    sandboxes::layer::{AGENT_FOLDER, AgentLayer},
};

/// Where the volume stands inside: on the container's own `/dev`, so that no image gets a directory for it.
pub(super) const FOLDER: &str = "/dev/.init";

/// Names of what stays on the engine for a build begin so.
const NAME: &str = "personacodebench-program";

/// The same for the programs of agents.
const AGENT_NAME: &str = "personacodebench-agent";

const LDD_TIMEOUT: Duration = Duration::from_secs(20);

/// The program with everything that it loads.
pub(super) struct Program {
    /// Names in the volume with where they lie on the host.
    files: Vec<(String, PathBuf)>,
    digest: String,
}

impl Program {
    /// Finds a program's loader and libraries by asking the loader.
    pub(super) async fn find(program: &Path) -> io::Result<Self> {
        let program = fs::canonicalize(program)?;
        let mut files = vec![("init".to_owned(), program.clone())];
        let path = program.to_string_lossy();
        let none = Variables::new();
        let listed = process::output(Path::new("ldd"), &[&path], &none, LDD_TIMEOUT).await?;
        for path in listed.stdout.lines().filter_map(library) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let name = if name.starts_with("ld-") { "ld.so".to_owned() } else { name };
            files.push((name, path));
        }
        if !files.iter().any(|(name, _)| name == "ld.so") {
            return Err(io::Error::other(format!("ldd does not tell the loader of {path}")));
        }
        let mut hasher = blake3::Hasher::new();
        for (name, path) in &files {
            hasher.update(name.as_bytes());
            hasher.update_reader(fs::File::open(path)?)?;
        }
        let digest = hasher.finalize().to_hex()[..16].to_owned();
        Ok(Self { files, digest })
    }

    /// The entrypoint of a container that runs it with this argument.
    pub(super) fn entrypoint(&self, argument: &str) -> Vec<String> {
        let words = [
            &format!("{FOLDER}/ld.so"),
            "--library-path",
            FOLDER,
            &format!("{FOLDER}/init"),
            argument,
        ];
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The mount for a container; the volume is made if no process has made it yet.
    pub(super) async fn bind(&self, engine: &Engine) -> Result<String, SandboxFault> {
        let files = self.files.clone();
        let stored = Stored {
            name: &format!("{NAME}-{}", self.digest),
            digest: &self.digest,
            folder: FOLDER,
            write: move |builder: &mut tar::Builder<Pieces>| archive(&files, builder),
        };
        stored.bind(engine).await
    }
}

/// The mount of an agent's layer for a container, whose volume is made as the program's is.
pub(super) async fn bind_agent(
    engine: &Engine,
    agent: &AgentLayer,
) -> Result<String, SandboxFault> {
    let folder = agent.folder.clone();
    let stored = Stored {
        name: &format!("{AGENT_NAME}-{}", agent.digest),
        digest: &agent.digest,
        folder: AGENT_FOLDER,
        write: move |builder: &mut tar::Builder<Pieces>| {
            builder.mode(tar::HeaderMode::Deterministic);
            builder.follow_symlinks(false);
            builder.append_dir_all(".", &folder)
        },
    };
    stored.bind(engine).await
}

fn archive(files: &[(String, PathBuf)], builder: &mut tar::Builder<Pieces>) -> io::Result<()> {
    for (name, path) in files {
        let mut header = tar::Header::new_gnu();
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(fs::metadata(path)?.len());
        header.set_mode(0o755);
        builder.append_data(&mut header, name, fs::File::open(path)?)?;
    }
    Ok(())
}

/// The path on a line of ldd: `libc.so.6 => /lib/libc.so.6 (0x…)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn library(line: &str) -> Option<PathBuf> {
    let path = line.split_once("=>").map_or(line, |(_, path)| path);
    let path = path.trim().split(" (").next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}
