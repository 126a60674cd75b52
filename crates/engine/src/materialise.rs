//! What many sessions share: bases, each made once before any clock of a session starts ([`materialise`]).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    ids::Hash,
    release::{PairEnvironment, Task},
};
use tokio::sync::Semaphore;

use crate::ports::sandbox::{Base, BaseSpec, FileEntry, FileNode, Limits, SandboxFault, Sandboxes};

/// The limits of a task's sandboxes.
pub fn task_limits(task: &Task) -> Limits {
    Limits {
        memory_mb: task.memory_mb,
        processes_max: None,
        disk_mb: task.storage_mb,
        cpus: Some(task.cpus),
    }
}

/// What the base of a task on a pair's host toolchains is made of. `environment` is the task's folder of that
/// name without its Dockerfile.
pub fn base_spec(task: &Task, pair: &PairEnvironment, environment: Vec<FileEntry>) -> BaseSpec {
    let toolchains: Vec<String> = pair
        .host
        .iter()
        .filter_map(|need| need.split([' ', '<', '>', '=']).find(|word| !word.is_empty()))
        .map(str::to_owned)
        .collect();
    let setup_timeout = Duration::from_secs_f64(task.build_timeout_sec);
    let limits = task_limits(task);
    let digest = digest(&environment, task, &toolchains);
    BaseSpec {
        digest,
        environment,
        workdir: task.workdir.clone(),
        env: task.env.clone(),
        toolchains,
        setup_timeout,
        limits,
    }
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
fn digest(environment: &[FileEntry], task: &Task, toolchains: &[String]) -> Hash {
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
    add(task.workdir.as_bytes());
    for (key, value) in &task.env {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for toolchain in toolchains {
        add(toolchain.as_bytes());
    }
    Hash::new(hasher.finalize().to_hex().as_str())
}
