//! What these tests start from: a program inside with its link, commands and files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use adapters::sandboxes::docker::link::{
    DEFAULT_CAPABILITIES, INSIDE_ARGUMENT, Launch, Link, Setup,
};
use engine::ports::sandbox::{Ended, Finished, SandboxFault};
use tokio::{
    net::unix::pipe,
    process::{Child, Command},
};

/// A process namespace whose pid 1 has become an image's own command.
pub struct Stage {
    pub link: Link,
    /// A directory that everybody may write.
    pub directory: tempfile::TempDir,
    /// The other end of the program's output, as an engine holds it.
    _output: Option<std::fs::File>,
    /// Kills the namespace when it is dropped.
    pub namespace: Child,
}

/// Whether somebody else keeps the program's output open, as an engine does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OutputHeld {
    Yes,
    No,
}

impl Stage {
    /// With the process log and a command that sleeps.
    pub async fn new() -> Self {
        Self::with(&["sleep", "infinity"], setup()).await.unwrap()
    }

    pub async fn with(command: &[&str], setup: Setup) -> Result<Self, SandboxFault> {
        Self::holding(OutputHeld::No, command, setup).await
    }

    pub async fn holding(
        output_held: OutputHeld,
        command: &[&str],
        setup: Setup,
    ) -> Result<Self, SandboxFault> {
        let directory = tempfile::tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        // Nobody outside the namespace may hold the other end, or its closing would not show.
        let output = directory.path().join("output");
        nix::unistd::mkfifo(&output, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = pipe::OpenOptions::new().open_receiver(&output).unwrap();
        let held = (output_held == OutputHeld::Yes)
            .then(|| std::fs::OpenOptions::new().write(true).open(&output).unwrap());
        let mut namespace = Command::new("unshare")
            .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
            .args(["sh", "-c", r#"output=$1; shift; exec "$@" >"$output""#, "sh"])
            .arg(&output)
            .arg(env!("CARGO_BIN_EXE_pcb-sandbox-supervisor"))
            .args([INSIDE_ARGUMENT, "--"])
            .args(command)
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let writer = namespace.stdin.take().unwrap();
        let link = Link::open(reader, writer, &setup).await?;
        // From here on it is empty.
        std::fs::remove_file(&output).unwrap();
        Ok(Self { link, directory, _output: held, namespace })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub async fn run(&self, launch: &Launch) -> Finished {
        self.link.exec(launch, Vec::new(), Duration::from_secs(60), 1 << 20).await.unwrap()
    }

    /// Runs a script as root and answers what it printed; it must succeed.
    pub async fn sh(&self, script: &str) -> String {
        self.sh_as("root", script).await
    }

    pub async fn sh_as(&self, user: &str, script: &str) -> String {
        let mut launch = shell(script);
        launch.user = Some(user.to_owned());
        let finished = self.run(&launch).await;
        let (stdout, stderr) = texts(&finished);
        assert_eq!(finished.ended, Ended::Exited(0), "{script}\n{stdout}\n{stderr}");
        stdout
    }
}

pub fn setup() -> Setup {
    Setup {
        record: true,
        keep_capabilities: DEFAULT_CAPABILITIES.to_vec(),
        user: None,
        cwd: "/".to_owned(),
        env: env(),
    }
}

fn env() -> BTreeMap<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    BTreeMap::from([("PATH".to_owned(), path.to_owned())])
}

pub fn launch(argv: &[&str]) -> Launch {
    let argv = argv.iter().map(|&argument| argument.to_owned()).collect();
    Launch { argv, cwd: "/".to_owned(), env: env(), user: None }
}

pub fn shell(script: &str) -> Launch {
    launch(&["sh", "-c", script])
}

pub fn texts(finished: &Finished) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&finished.stdout), text(&finished.stderr))
}

/// The text of a path.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
