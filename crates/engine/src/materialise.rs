//! What many sessions share: bases, each made once before any clock of a session starts ([`materialise`]).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    ids::Hash,
    release::{Environment, PairEnvironment, Task, WorkdirSource},
};
use tokio::sync::Semaphore;

use crate::ports::sandbox::{
    Base, BaseSpec, FileEntry, FileNode, Image, Limits, Network, SandboxFault, Sandboxes,
};

/// The limits of a task's sandboxes in the agent's phase.
pub fn task_limits(task: &Task) -> Limits {
    Limits { network: reached(task.agent_network()), ..environment_limits(&task.environment) }
}

/// The limits of an environment's sandboxes where no phase says otherwise.
pub fn environment_limits(environment: &Environment) -> Limits {
    Limits {
        memory_mb: environment.memory_mb,
        processes_max: None,
        disk_mb: environment.storage_mb,
        cpus: environment.cpus,
        gpus: environment.gpus,
        network: reached(&environment.network),
    }
}

/// What network of its own a sandbox has where a task says so. A list of hosts is reached by the wire alone.
pub fn reached(network: &domain::release::Network) -> Network {
    match network {
        domain::release::Network::Public => Network::Public,
        domain::release::Network::NoNetwork | domain::release::Network::Allowlist(_) => {
            Network::Off
        }
    }
}

/// What the base of an environment on a pair's host toolchains is made of. `env` are its variables with those of the
/// host looked up, `files` its folder without its Dockerfile; the image is none for sandboxes that need none.
pub fn base_spec(
    environment: &Environment,
    limits: Limits,
    pair: &PairEnvironment,
    env: BTreeMap<String, String>,
    files: Vec<FileEntry>,
    image: Image,
) -> BaseSpec {
    let toolchains: Vec<String> = pair
        .host
        .iter()
        .filter_map(|need| need.split([' ', '<', '>', '=']).find(|word| !word.is_empty()))
        .map(str::to_owned)
        .collect();
    let setup_timeout = Duration::from_secs_f64(environment.build_timeout_sec);
    // What only the image knows is left to it.
    let workdir = match environment.workdir_said_by {
        WorkdirSource::Image => String::new(),
        _ => environment.workdir.clone(),
    };
    let digest = digest(&files, &workdir, &env, &toolchains, &image);
    BaseSpec { digest, image, environment: files, workdir, env, toolchains, setup_timeout, limits }
}

/// Whether the toolchains of a base are as new as a pair needs them. One that is too old, or does not say how old
/// it is, would make the agent answer for the host.
///
/// # Errors
///
/// [`SandboxFault::Unsupported`] names every one that falls short and what it has to be.
pub fn new_enough(base: &Base, pair: &PairEnvironment) -> Result<(), SandboxFault> {
    let short = pair.host.iter().filter_map(|need| {
        let (name, least) = need.split_once(">=")?;
        let (name, least) = (name.trim(), least.trim());
        let found = base.toolchain_versions.get(name).map_or("", String::as_str);
        let is_enough = version_in(found).is_some_and(|version| version >= numbers(least));
        (!is_enough).then(|| format!("`{name}` must be at least {least}, found: {found}"))
    });
    let short: Vec<String> = short.collect();
    if short.is_empty() { Ok(()) } else { Err(SandboxFault::Unsupported(short.join("; "))) }
}

/// The first dotted number of what a program says of its version.
fn version_in(said: &str) -> Option<Vec<u64>> {
    let words = said.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words.map(|word| word.trim_matches('.')).find(|word| word.contains('.')).map(numbers)
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// Makes every base once, so many at a time; a failure concerns only those who need that base.
pub async fn materialise(
    sandboxes: Arc<dyn Sandboxes>,
    specs: impl IntoIterator<Item = BaseSpec>,
    parallel: usize,
) -> BTreeMap<Hash, Result<Base, SandboxFault>> {
    let specs: BTreeMap<Hash, BaseSpec> =
        specs.into_iter().map(|spec| (spec.digest.clone(), spec)).collect();
    let places = Arc::new(Semaphore::new(parallel.max(1)));
    let mut making = tokio::task::JoinSet::new();
    for (digest, spec) in specs {
        let (sandboxes, places) = (sandboxes.clone(), places.clone());
        making.spawn(async move {
            let _place = places.acquire_owned().await;
            let made = sandboxes.materialise(&spec).await;
            (digest, made)
        });
    }
    let mut bases = BTreeMap::new();
    while let Some(made) = making.join_next().await {
        match made {
            Ok((digest, base)) => {
                bases.insert(digest, base);
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    bases
}

/// Everything that a base depends on goes in, each part with its length so that no two specs look alike.
fn digest(
    environment: &[FileEntry],
    workdir: &str,
    env: &BTreeMap<String, String>,
    toolchains: &[String],
    image: &Image,
) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    let mut files: Vec<&FileEntry> = environment.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    for file in files {
        add(file.path.as_bytes());
        add(&file.mode.to_le_bytes());
        match &file.node {
            FileNode::File(bytes) => {
                add(b"file");
                add(bytes);
            }
            FileNode::Directory => add(b"directory"),
            FileNode::Link(target) => {
                add(b"link");
                add(target.as_bytes());
            }
            FileNode::Absent => add(b"absent"),
        }
    }
    add(workdir.as_bytes());
    for (key, value) in env {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for toolchain in toolchains {
        add(toolchain.as_bytes());
    }
    match image {
        Image::None => {}
        Image::Dockerfile(text) => {
            add(b"dockerfile");
            add(text);
        }
        Image::Named(name) => {
            add(b"image");
            add(name.as_bytes());
        }
    }
    Hash::new(hasher.finalize().to_hex().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_are_as_new_as_needed() {
        let check = |need: &str, said: &str, expect: bool| {
            let name = need.split(' ').next().expect("a name").to_owned();
            let base = Base {
                digest: Hash::new("0"),
                workdir: "/app".to_owned(),
                toolchain_versions: [(name, said.to_owned())].into(),
            };
            let pair = PairEnvironment { sandboxes: Vec::new(), host: vec![need.to_owned()] };
            assert_eq!(new_enough(&base, &pair).is_ok(), expect, "{need}: {said}");
        };
        check("python3 >= 3.11", "Python 3.11.2", true);
        check("python3 >= 3.11", "Python 3.9.18", false);
        check("python3 >= 3.11", "Python 4.0", true);
        check("git >= 2.30", "git version 2.39.5 (Apple Git-154)", true);
        check("git >= 2.30", "git version 2.3.10", false);
        check("cargo >= 1.70", "cargo 1.95.0 (abc 2026-03-01)", true);
        check("bash >= 5", "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", true);
        check("dash >= 0.5", "present", false);
        check("dash", "present", true);
    }
}
