//! The simulated implementer of the sandbox port: [`SimulatedSandboxes`] on one virtual clock.

use std::{
    collections::BTreeMap,
    io::Cursor,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    evidence::{Channel, ProcessEvent},
    ids::{Hash, Turn},
};
use engine::ports::{
    clock::{Clock, within},
    sandbox::{
        Base, BaseSpec, Capabilities, Capture, CommandSpec, Doorway, Ended, FileEntry, FileNode,
        Finished, Limits, Recording, Sandbox, SandboxFault, SandboxKind, Sandboxes, Started,
    },
};

use crate::clock::VirtualClock;

use super::{
    edge::Edge,
    faults::{FaultPlan, FaultPoint},
    shell::{Deed, argv, deed, parse},
    tree::{Tree, normal},
};

/// Virtual time of one command; more than what order across channels needs.
const COMMAND_TIME: Duration = Duration::from_millis(25);

/// Makes simulated sandboxes.
#[derive(Clone)]
pub struct SimulatedSandboxes {
    clock: Arc<dyn Clock>,
    faults: FaultPlan,
    bases: Arc<Mutex<BTreeMap<Hash, MadeBase>>>,
}

#[derive(Clone)]
struct MadeBase {
    tree: Arc<Tree>,
    workdir: String,
}

impl SimulatedSandboxes {
    /// Sandboxes on this clock, in which this fault happens.
    pub fn new(clock: Arc<dyn Clock>, faults: FaultPlan) -> Self {
        Self { clock, faults, bases: Arc::default() }
    }

    /// The same bases on another clock: for the next session.
    pub fn on_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self.clone() }
    }

    fn sandbox(&self, made: MadeBase, tree: Tree, recording: Recording) -> SimulatedSandbox {
        SimulatedSandbox {
            makers: self.clone(),
            origin_ms: self.clock.now_ms(),
            made,
            recording,
            state: Mutex::new(State {
                tree,
                processes: Vec::new(),
                next_pid: 2,
                is_frozen: false,
                is_ended: false,
                edge: None,
            }),
        }
    }
}

#[async_trait::async_trait]
impl Sandboxes for SimulatedSandboxes {
    fn kind(&self) -> SandboxKind {
        SandboxKind::Simulated
    }

    async fn capabilities(&self) -> Result<Capabilities, SandboxFault> {
        Ok(Capabilities {
            channels: Channel::ALL.into_iter().filter(|c| *c != Channel::Network).collect(),
            enforced: Vec::new(),
            shortfalls: vec!["programs are simulated, nothing real is run".to_owned()],
            is_root: false,
        })
    }

    async fn materialise(&self, spec: &BaseSpec) -> Result<Base, SandboxFault> {
        self.faults.pass(FaultPoint::Materialise).await?;
        let base = Base {
            digest: spec.digest.clone(),
            workdir: spec.workdir.clone(),
            toolchain_versions: BTreeMap::new(),
        };
        if self.bases.lock().expect("no holder panics").contains_key(&spec.digest) {
            return Ok(base);
        }
        let made = MadeBase { tree: Arc::new(Tree::default()), workdir: spec.workdir.clone() };
        let mut tree = Tree::default();
        tree.place(&spec.workdir, FileNode::Directory, 0o755, 0);
        place_all(&mut tree, "/environment", &spec.environment, 0);
        // A base is made before any session's clock starts, so its setup has a time of its own.
        let own_clock = Arc::new(VirtualClock::default());
        let own = self.on_clock(own_clock.clone());
        let setup = own.sandbox(made.clone(), tree, Recording::Nothing);
        if spec.environment.iter().any(|file| file.path == "setup.sh") {
            let command = CommandSpec {
                argv: vec!["sh".to_owned(), "/environment/setup.sh".to_owned()],
                cwd: Some("/environment".to_owned()),
                env: BTreeMap::new(),
                user: None,
                stdin: Vec::new(),
                timeout: spec.setup_timeout,
                output_max: 64 << 10,
            };
            let mut ran = None;
            let (slot, running) = (&mut ran, &setup);
            own_clock
                .drive(Box::pin(async move { *slot = Some(running.run(&command).await) }))
                .await;
            if let Some(finished) = ran
                && !finished.is_success()
            {
                let output = String::from_utf8_lossy(&finished.stderr).into_owned();
                return Err(SandboxFault::Setup(format!("{:?}: {output}", finished.ended)));
            }
        }
        let mut tree = setup.state.into_inner().expect("no holder panics").tree;
        tree.remove("/environment");
        let made = MadeBase { tree: Arc::new(tree), ..made };
        self.bases.lock().expect("no holder panics").insert(spec.digest.clone(), made);
        Ok(base)
    }

    async fn provision(
        &self,
        base: &Base,
        _: &Limits,
        recording: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.faults.pass(FaultPoint::Provision).await?;
        let made = self.bases.lock().expect("no holder panics").get(&base.digest).cloned();
        let Some(made) = made else {
            return Err(SandboxFault::Setup("a base that was never made".to_owned()));
        };
        let tree = Tree::clone(&made.tree);
        Ok(Box::new(self.sandbox(made, tree, recording)))
    }
}

struct SimulatedSandbox {
    makers: SimulatedSandboxes,
    origin_ms: u64,
    made: MadeBase,
    recording: Recording,
    state: Mutex<State>,
}

struct State {
    tree: Tree,
    processes: Vec<ProcessEvent>,
    next_pid: u32,
    is_frozen: bool,
    is_ended: bool,
    /// Once it was opened.
    edge: Option<Edge>,
}

#[async_trait::async_trait]
impl Sandbox for SimulatedSandbox {
    fn now_ms(&self) -> i64 {
        let now_ms = self.makers.clock.now_ms().saturating_sub(self.origin_ms);
        i64::try_from(now_ms).unwrap_or(i64::MAX)
    }

    async fn exec(&self, command: &CommandSpec) -> Result<Finished, SandboxFault> {
        self.makers.faults.pass(FaultPoint::Exec).await?;
        self.running()?;
        Ok(self.run(command).await)
    }

    async fn start(&self, command: &CommandSpec) -> Result<Started, SandboxFault> {
        // A simulated program reads nothing, so all its output is there once it has run.
        let finished = self.exec(command).await?;
        let (sender, ended) = tokio::sync::oneshot::channel();
        let pid = self.state.lock().expect("no holder panics").next_pid - 1;
        // The receiver is handed out below, so this cannot fail.
        let _ = sender.send(finished.ended);
        Ok(Started {
            stdin: Box::new(tokio::io::sink()),
            stdout: Box::new(Cursor::new(finished.stdout)),
            stderr: Box::new(Cursor::new(finished.stderr)),
            ended,
            pid,
        })
    }

    async fn kill(&self, _: u32) -> Result<(), SandboxFault> {
        // Programs end with the call that runs them: there is never one left to kill.
        self.running()
    }

    async fn put(&self, directory: &str, files: &[FileEntry]) -> Result<(), SandboxFault> {
        self.makers.faults.pass(FaultPoint::Put).await?;
        let now_ms = self.now_ms();
        place_all(&mut self.lock().tree, directory, files, now_ms);
        Ok(())
    }

    async fn get(&self, path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
        self.makers.faults.pass(FaultPoint::Get).await?;
        Ok(self.lock().tree.read(path))
    }

    async fn base(&self, path: &str) -> Result<Option<FileEntry>, SandboxFault> {
        let found = self.made.tree.get(path);
        Ok(found.map(|node| FileEntry {
            path: String::new(),
            node: node.node.clone(),
            mode: node.mode,
        }))
    }

    async fn base_written(&self) -> Result<Vec<FileEntry>, SandboxFault> {
        let mut entries = self.made.tree.read("/").unwrap_or_default();
        for entry in &mut entries {
            entry.path.insert(0, '/');
        }
        Ok(entries)
    }

    async fn freeze(&self) -> Result<(), SandboxFault> {
        self.makers.faults.pass(FaultPoint::Freeze).await?;
        self.lock().is_frozen = true;
        Ok(())
    }

    async fn thaw(&self) -> Result<(), SandboxFault> {
        self.makers.faults.pass(FaultPoint::Thaw).await?;
        self.lock().is_frozen = false;
        Ok(())
    }

    async fn capture(&self, turn: Turn) -> Result<Capture, SandboxFault> {
        self.makers.faults.pass(FaultPoint::Capture).await?;
        let mut state = self.lock();
        if !state.is_frozen {
            return Err(SandboxFault::Lost("a capture of what is not frozen".to_owned()));
        }
        let mut processes = std::mem::take(&mut state.processes);
        for process in &mut processes {
            process.turn = turn;
        }
        Ok(Capture {
            manifest: state.tree.manifest(&self.made.tree),
            processes,
            ..Capture::default()
        })
    }

    async fn fork(&self, _: &Limits) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.makers.faults.pass(FaultPoint::Fork).await?;
        self.still()?;
        let tree = self.lock().tree.clone();
        Ok(Box::new(self.makers.sandbox(self.made.clone(), tree, Recording::Nothing)))
    }

    async fn restore(
        &self,
        paths: &[String],
        _: &Limits,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.makers.faults.pass(FaultPoint::Restore).await?;
        self.still()?;
        let tree = self.lock().tree.laid_over(&self.made.tree, paths);
        Ok(Box::new(self.makers.sandbox(self.made.clone(), tree, Recording::Nothing)))
    }

    async fn cut_network(&self) -> Result<(), SandboxFault> {
        // Nothing in virtual time reaches anything.
        Ok(())
    }

    async fn doorway(&self, ports: &[u16]) -> Result<Box<dyn Doorway>, SandboxFault> {
        let (edge, doorway) = Edge::open(ports);
        self.lock().edge = Some(edge);
        Ok(Box::new(doorway))
    }

    async fn end(&self) -> Result<(), SandboxFault> {
        self.makers.faults.pass(FaultPoint::End).await?;
        let mut state = self.lock();
        state.is_ended = true;
        state.edge = None;
        Ok(())
    }
}

impl SimulatedSandbox {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    fn running(&self) -> Result<(), SandboxFault> {
        let state = self.lock();
        match (state.is_ended, state.is_frozen) {
            (true, _) => Err(SandboxFault::Lost("it has ended".to_owned())),
            (_, true) => Err(SandboxFault::Lost("a frozen sandbox runs nothing".to_owned())),
            _ => Ok(()),
        }
    }

    fn still(&self) -> Result<(), SandboxFault> {
        let state = self.lock();
        match state.is_frozen || state.is_ended {
            true => Ok(()),
            false => Err(SandboxFault::Lost("a copy of what is not frozen".to_owned())),
        }
    }

    async fn run(&self, command: &CommandSpec) -> Finished {
        let clock = &self.makers.clock;
        let began_ms = clock.now_ms();
        let mut stdout = Vec::new();
        let mut stderr = Vec::new();
        let ran = within(
            clock.as_ref(),
            command.timeout,
            self.run_program(command, &mut stdout, &mut stderr),
        );
        let ended = ran.await.unwrap_or(Ended::TimedOut);
        stdout.truncate(command.output_max);
        stderr.truncate(command.output_max);
        let took = Duration::from_millis(clock.now_ms().saturating_sub(began_ms));
        Finished { ended, stdout, stderr, took }
    }

    async fn run_program(
        &self,
        command: &CommandSpec,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> Ended {
        let cwd = command.cwd.clone().unwrap_or_else(|| self.made.workdir.clone());
        let Some(program) = self.program(&command.argv, &cwd) else { return Ended::NotStarted };
        let shell = self.begin(&command.argv, 1, &cwd);
        let mut code = 0;
        let mut stops_on_failure = false;
        'program: for line in parse(&program) {
            for words in line.commands {
                let pid = self.begin(&argv(&words), shell, &cwd);
                self.makers.clock.sleep(COMMAND_TIME).await;
                let deed = deed(&words);
                if let Deed::Sleep(duration) = deed {
                    self.makers.clock.sleep(duration).await;
                }
                code = self.perform(&deed, &words, &cwd, stdout, stderr);
                self.finish(pid, code);
                match deed {
                    Deed::Exit(_) => break 'program,
                    Deed::StopOnFailure => stops_on_failure = true,
                    _ => {}
                }
                if code != 0 && stops_on_failure {
                    break 'program;
                }
                if code != 0 {
                    break;
                }
            }
        }
        self.finish(shell, code);
        Ended::Exited(code)
    }

    /// The text of a program: after `sh -c` (or `bash`), of a file, or the words themselves.
    fn program(&self, argv: &[String], cwd: &str) -> Option<String> {
        let state = self.lock();
        let is_shell = |name: &str| matches!(name, "sh" | "bash");
        let text = |path: &String| {
            let bytes = state.tree.file(&absolute(cwd, path))?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        match argv {
            [shell, flag, program, ..] if is_shell(shell) && flag == "-c" => Some(program.clone()),
            [shell, path, ..] if is_shell(shell) => text(path),
            [path, ..] if path.contains('/') => {
                let mode = state.tree.get(&absolute(cwd, path))?.mode;
                if mode & 0o111 == 0 { None } else { text(path) }
            }
            [] => None,
            words => Some(words.join(" ")),
        }
    }

    fn perform(
        &self,
        deed: &Deed,
        words: &[String],
        cwd: &str,
        stdout: &mut Vec<u8>,
        stderr: &mut Vec<u8>,
    ) -> i32 {
        let now_ms = self.now_ms();
        let mut state = self.lock();
        let tree = &mut state.tree;
        match deed {
            Deed::Write { path, text, appends } => {
                let path = absolute(cwd, path);
                let mut bytes = match appends {
                    true => tree.file(&path).unwrap_or_default().to_vec(),
                    false => Vec::new(),
                };
                bytes.extend_from_slice(text.as_bytes());
                let mode = tree.get(&path).map_or(0o644, |node| node.mode);
                tree.place(&path, FileNode::File(bytes), mode, now_ms);
            }
            Deed::Remove(paths) => {
                for path in paths {
                    tree.remove(&absolute(cwd, path));
                }
            }
            Deed::MakeDirectories(paths) => {
                for path in paths {
                    let path = absolute(cwd, path);
                    if tree.get(&path).is_none() {
                        tree.place(&path, FileNode::Directory, 0o755, now_ms);
                    }
                }
            }
            Deed::Copy { from, to } => match tree.get(&absolute(cwd, from)).cloned() {
                Some(node) => tree.place(&absolute(cwd, to), node.node, node.mode, now_ms),
                None => return 1,
            },
            Deed::Mode { path, mode } => match tree.get(&absolute(cwd, path)).cloned() {
                Some(node) => tree.place(&absolute(cwd, path), node.node, *mode, now_ms),
                None => return 1,
            },
            Deed::Has { path, word } => {
                let found = tree.file(&absolute(cwd, path)).map(String::from_utf8_lossy);
                let fits = match (found, word) {
                    (None, _) => false,
                    (Some(_), None) => true,
                    (Some(text), Some(word)) => text.contains(word.as_str()),
                };
                return i32::from(!fits);
            }
            Deed::Install(package) => {
                let path = format!("/usr/lib/packages/{package}");
                tree.place(&path, FileNode::File(Vec::new()), 0o644, now_ms);
            }
            Deed::Commit(message) => {
                let path = absolute(cwd, ".git/log");
                let mut log = tree.file(&path).unwrap_or_default().to_vec();
                log.extend_from_slice(format!("{message}\n").as_bytes());
                tree.place(&path, FileNode::File(log), 0o644, now_ms);
            }
            Deed::Test => return i32::from(tree.get(&absolute(cwd, "broken")).is_some()),
            Deed::Reach(to, port) => {
                let edge = state.edge.as_ref();
                return i32::from(!edge.is_some_and(|edge| edge.reach(*to, *port, now_ms)));
            }
            Deed::Exit(code) => return *code,
            Deed::Echo(text) => stdout.extend_from_slice(text.as_bytes()),
            Deed::Fail => return 1,
            Deed::Succeed | Deed::StopOnFailure | Deed::Sleep(_) => {}
            Deed::Unknown => {
                stderr.extend_from_slice(format!("{}: not found\n", words.join(" ")).as_bytes());
                return 127;
            }
        }
        0
    }

    fn begin(&self, argv: &[String], parent: u32, cwd: &str) -> u32 {
        let started_ms = self.now_ms();
        let mut state = self.lock();
        let pid = state.next_pid;
        state.next_pid += 1;
        if self.recording == Recording::Processes {
            let program = argv.first().map_or_else(String::new, |name| match name.contains('/') {
                true => absolute(cwd, name),
                false => format!("/usr/bin/{name}"),
            });
            state.processes.push(ProcessEvent {
                turn: Turn::BASE,
                started_ms,
                ended_ms: None,
                pid,
                parent,
                uid: 0,
                program,
                argv: argv.to_vec(),
                cwd: cwd.to_owned(),
                exit_code: None,
            });
        }
        pid
    }

    fn finish(&self, pid: u32, code: i32) {
        let ended_ms = self.now_ms();
        let mut state = self.lock();
        let process = state.processes.iter_mut().rev().find(|process| process.pid == pid);
        if let Some(process) = process {
            process.ended_ms = Some(ended_ms);
            process.exit_code = Some(code);
        }
    }
}

fn place_all(tree: &mut Tree, directory: &str, files: &[FileEntry], now_ms: i64) {
    for file in files {
        tree.place(&absolute(directory, &file.path), file.node.clone(), file.mode, now_ms);
    }
}

fn absolute(cwd: &str, path: &str) -> String {
    match path.starts_with('/') {
        true => normal(path),
        false => normal(&format!("{cwd}/{path}")),
    }
}
