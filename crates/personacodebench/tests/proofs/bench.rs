//! Runs the real binary hermetically ([`Bench`]): cleared environment, own state folder, fixed width, normalised output.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;

/// No command of these tests takes longer on a machine that is up to anything.
const COMMAND_MAX: Duration = Duration::from_secs(900);

/// A folder of its own with a state folder, in which the binary is run.
pub struct Bench {
    folder: TempDir,
    binary: PathBuf,
}

/// What a command left.
#[derive(Debug)]
pub struct Done {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said beside it.
    pub stderr: String,
}

/// A command that runs in a process group of its own.
pub struct Running {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Bench {
    /// A new folder.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, binary: PathBuf::from(env!("CARGO_BIN_EXE_pcb")) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where groups are made.
    pub fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    /// The tool's own folder.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// A command with nothing of the caller's environment but the search path.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        self.cleared(command)
    }

    /// The environment of [`Bench::command`] for any program, for instance one that starts the binary.
    pub fn cleared(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("PCB_STATE_DIR", self.state())
            .env("COLUMNS", "120")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub fn pcb(&self, arguments: &[&str]) -> Done {
        Running::start(self.command(arguments)).wait()
    }

    /// As [`Bench::pcb`], and the exit code has to be this one.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Done {
        let done = self.pcb(arguments);
        assert_eq!(done.code, Some(code), "pcb {arguments:?}\n{}\n{}", done.stdout, done.stderr);
        done
    }

    /// Runs `tiny` with these agents into [`Bench::out`] and answers the group's folder.
    pub fn tiny(&self, agents: &[&str], more: &[&str]) -> PathBuf {
        let mut arguments = vec!["run", "tiny", "--out", "out"];
        arguments.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
        arguments.extend(more);
        let done = self.expect(0, &arguments);
        self.path().join(done.stderr.lines().next().expect("the group's folder"))
    }

    /// The report of folders as data.
    pub fn report(&self, folders: &[&Path]) -> Value {
        let mut arguments = vec!["report", "--format", "json"];
        arguments.extend(folders.iter().map(|path| path.to_str().expect("a plain path")));
        let done = self.pcb(&arguments);
        serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", done.stdout, done.stderr))
    }

    /// Writes a file below the folder.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The text of a file below the folder.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// An unlocked copy of a bundled release below the folder.
    pub fn copy_of(&self, release: &str, name: &str) -> PathBuf {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(release);
        let to = self.path().join(name);
        copy_tree(&from, &to);
        let _ = fs::remove_file(to.join("release.lock"));
        to
    }
}

impl Running {
    /// Starts a command in a process group of its own.
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("the binary starts");
        let mut out = child.stdout.take().expect("a pipe");
        let err = child.stderr.take().expect("a pipe");
        let (sender, lines) = std::sync::mpsc::channel();
        let stdout = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = out.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let stderr = thread::spawn(move || {
            let mut all = String::new();
            for line in BufReader::new(err).lines() {
                let Ok(line) = line else { break };
                let _ = sender.send(line.clone());
                all.push_str(&line);
                all.push('\n');
            }
            all
        });
        Self { child, stdout, stderr, lines }
    }

    /// Waits until a line on standard error holds a text; false if the command ended before.
    pub fn says(&self, text: &str) -> bool {
        let deadline = Instant::now() + COMMAND_MAX;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(text) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }

    /// Sends a signal to every process of the group.
    pub fn signal_group(&self, signal: Signal) {
        // A command that has ended by itself has no group any more.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Sends a signal to the command alone.
    pub fn signal(&self, signal: Signal) {
        let _ = nix::sys::signal::kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Waits for the end; what hangs is killed and fails the test.
    pub fn wait(mut self) -> Done {
        let deadline = Instant::now() + COMMAND_MAX;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > deadline {
                self.signal_group(Signal::SIGKILL);
                let stderr = self.stderr.join().unwrap_or_default();
                panic!("a command did not end within {COMMAND_MAX:?}\n{stderr}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        Done {
            code: status.code(),
            stdout: self.stdout.join().expect("a reader"),
            stderr: self.stderr.join().expect("a reader"),
        }
    }
}

/// A scripted model that is served until it is dropped.
pub struct Served {
    server: Child,
    /// Where it is served.
    pub address: String,
}

impl Served {
    /// Serves the script.
    pub fn by(bench: &Bench, script: &str) -> Self {
        bench.write("script.toml", script);
        let mut serve = bench.command(&["model", "serve", "--script", "script.toml"]);
        let mut server = serve.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut line = String::new();
        let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
        said.read_line(&mut line).expect("it says where it is");
        Self { server, address: line.trim().to_owned() }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Copies a folder with its modes.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}

/// Every file below a folder, relative to it.
pub fn files_below(folder: &Path) -> BTreeSet<String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = entry.path();
            if entry.file_type().expect("a type").is_dir() {
                walk(root, &path, found);
            } else {
                let below = path.strip_prefix(root).expect("below the root");
                found.insert(below.to_string_lossy().into_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(folder, folder, &mut found);
    found
}

/// A copy without what differs from run to run or from host to host: times, hashes, process numbers.
pub fn normalised(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let is_time = key.ends_with("_ms") || key.ends_with("_utc") || key == "pid";
                let value = match value {
                    Value::Number(_) if is_time => Value::from(0),
                    Value::String(_) if is_time => Value::from("TIME"),
                    Value::Array(_) if key == "shortfalls" => Value::from("HOST"),
                    other => normalised(other),
                };
                (key.clone(), value)
            })
            .collect(),
        Value::Array(list) => list.iter().map(normalised).collect(),
        Value::String(text) if is_hash(text) => Value::from("HASH"),
        other => other.clone(),
    }
}

/// Whether a text is a hash as files and logs write it.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The lines of a log as data.
pub fn log_lines(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Whether these tests run as root.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
