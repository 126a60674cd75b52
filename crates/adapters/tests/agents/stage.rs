//! A sandbox of this host for an agent to live in.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::sandboxes::local::LocalSandboxes;
use domain::ids::Hash;
use engine::ports::sandbox::{
    BaseSpec, FileEntry, FileNode, Image, Limits, Network, Recording, Sandbox, Sandboxes,
};

/// Where programs of the tests lie inside.
pub const PROGRAMS: &str = "/opt/fake";

/// A sandbox, with the folder that its maker keeps.
pub struct Stage {
    pub sandbox: Arc<dyn Sandbox>,
    _state: tempfile::TempDir,
}

impl Stage {
    /// A running sandbox that holds these programs.
    pub async fn with(programs: &[(&str, &str)]) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let supervisor = env!("CARGO_BIN_EXE_pcb-sandbox-supervisor");
        let sandboxes = LocalSandboxes::new(supervisor.as_ref(), state.path());
        let sandboxes = sandboxes.expect("this host makes sandboxes");
        let limits = Limits {
            memory_mb: Some(2048),
            processes_max: Some(200),
            disk_mb: Some(500),
            cpus: None,
            gpus: 0,
            network: Network::Off,
        };
        let spec = BaseSpec {
            digest: Hash::new("agents"),
            image: Image::None,
            environment: Vec::new(),
            workdir: "/app".to_owned(),
            env: BTreeMap::new(),
            toolchains: Vec::new(),
            setup_timeout: Duration::from_secs(60),
            limits: limits.clone(),
        };
        let base = sandboxes.materialise(&spec).await.expect("a base");
        let made = sandboxes.provision(&base, &limits, Recording::Processes).await;
        let sandbox: Arc<dyn Sandbox> = Arc::from(made.expect("a sandbox"));
        let stage = Self { sandbox, _state: state };
        stage.place(programs).await;
        stage
    }

    /// Places programs beside those that are there.
    pub async fn place(&self, programs: &[(&str, &str)]) {
        let files = programs.iter().map(|(name, text)| FileEntry {
            path: (*name).to_owned(),
            node: FileNode::File(text.as_bytes().to_vec()),
            mode: 0o755,
        });
        let files: Vec<FileEntry> = files.collect();
        self.sandbox.put(PROGRAMS, &files).await.expect("the programs are placed");
    }
}
