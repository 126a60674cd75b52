//! An agent that follows a script, with or without the task's reference solution: [`ScriptedAgent`].

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use domain::{
    evidence::Channel,
    release::{Script, ScriptBlock, ScriptStep, ScriptWhen},
    session::TurnStop,
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer, ToolServers},
    sandbox::{CommandSpec, Ended, FileEntry, FileNode, Finished, Sandbox, SandboxFault},
};
use tokio::sync::{Mutex, Notify};

use super::matching::Blocks;

/// A command of a script runs so long at the most; the turn's own deadline is nearly always shorter.
const COMMAND_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Bytes of output that are kept of a command; a script does not read them.
const OUTPUT_MAX: usize = 64 << 10;

/// The reference solution of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The task's `solution/`.
    pub files: Vec<FileEntry>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
}

/// When the reference solution is run: before anything the script says, or as a step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Solves {
    /// Never.
    Never,
    /// In the first turn.
    AtOpening(Solution),
    /// Where the script says.
    WhenTold(Solution),
    /// In every turn.
    EachTurn(Solution),
    /// The nth in the nth turn.
    EachStep(Vec<Solution>),
}

/// A scripted agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedAgent {
    name: String,
    script: Script,
    solves: Solves,
}

impl ScriptedAgent {
    /// A script of the user's own: no solution is run for it.
    pub fn of_script(name: impl Into<String>, script: Script) -> Self {
        Self { name: name.into(), script, solves: Solves::Never }
    }

    /// A script of a pair, oracle or counterexample: the task's solution is run first, or where the script says.
    pub fn of_pair(name: impl Into<String>, script: Script, solution: Solution) -> Self {
        let solves = if script.says_when_it_solves() {
            Solves::WhenTold(solution)
        } else {
            Solves::AtOpening(solution)
        };
        Self { name: name.into(), script, solves }
    }

    /// Runs the solution in every turn, says that it is done and never listens.
    pub fn eager(solution: Solution) -> Self {
        let script = says_always("I have done what you asked for. The work is done.");
        Self { name: "eager".to_owned(), script, solves: Solves::EachTurn(solution) }
    }

    /// Runs the solution of each step of a task that has several, in the turn that is the step.
    pub fn of_steps(name: impl Into<String>, solutions: Vec<Solution>) -> Self {
        let script = says_always("I have done what you asked for. The work is done.");
        Self { name: name.into(), script, solves: Solves::EachStep(solutions) }
    }

    /// Does nothing and says a word.
    pub fn nop() -> Self {
        let script = says_always("Noted.");
        Self { name: "nop".to_owned(), script, solves: Solves::Never }
    }
}

fn says_always(words: &str) -> Script {
    let steps = vec![ScriptStep::Say(words.to_owned())];
    Script { blocks: vec![ScriptBlock { when: ScriptWhen::Otherwise, steps }] }
}

#[async_trait::async_trait]
impl Agent for ScriptedAgent {
    fn tool_servers(&self) -> ToolServers {
        ToolServers::Unneeded
    }

    fn identify(&self) -> Identity {
        Identity {
            name: self.name.clone(),
            channels: [Channel::Transcript, Channel::Order, Channel::Resources].into(),
            late_updates_ms: 0,
        }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        Ok(Box::new(ScriptedConversation {
            sandbox,
            workdir: brief.workdir.clone(),
            user: brief.user.clone(),
            env: brief.env.clone(),
            solves: self.solves.clone(),
            state: Mutex::new(State { blocks: Blocks::new(self.script.clone()), turns: 0 }),
            stopped: Notify::new(),
        }))
    }
}

struct ScriptedConversation {
    sandbox: Arc<dyn Sandbox>,
    workdir: String,
    user: Option<String>,
    env: BTreeMap<String, String>,
    solves: Solves,
    state: Mutex<State>,
    stopped: Notify,
}

struct State {
    blocks: Blocks,
    turns: u32,
}

/// What a step leaves to do.
enum After {
    GoOn,
    EndTurn(TurnStop),
}

#[async_trait::async_trait]
impl Conversation for ScriptedConversation {
    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        observer.delivered();
        tokio::select! {
            biased;
            () = self.stopped.notified() => Ok(TurnStop::Interrupted),
            stop = self.work(message, observer) => Ok(stop?),
        }
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }
}

impl ScriptedConversation {
    async fn work(&self, message: &str, observer: &Observer) -> Result<TurnStop, SandboxFault> {
        let mut state = self.state.lock().await;
        state.turns += 1;
        match &self.solves {
            Solves::EachTurn(solution) => self.solve(solution, observer).await?,
            Solves::EachStep(solutions) => {
                if let Some(solution) = solutions.get(state.turns as usize - 1) {
                    self.solve(solution, observer).await?;
                }
            }
            Solves::AtOpening(solution) if state.turns == 1 => {
                self.solve(solution, observer).await?;
            }
            Solves::Never | Solves::AtOpening(_) | Solves::WhenTold(_) => {}
        }
        for block in state.blocks.answering(message) {
            for step in state.blocks.begin(block) {
                if matches!(step, ScriptStep::Ask(_)) {
                    state.blocks.asked();
                }
                if let After::EndTurn(stop) = self.take(&step, observer).await? {
                    return Ok(stop);
                }
            }
        }
        Ok(TurnStop::Finished)
    }

    async fn take(&self, step: &ScriptStep, observer: &Observer) -> Result<After, SandboxFault> {
        match step {
            ScriptStep::Run(command) => {
                observer.acted(first_line(command));
                let argv = ["sh", "-c", command].map(str::to_owned).to_vec();
                self.exec(argv, BTreeMap::new(), Vec::new()).await?;
            }
            ScriptStep::Write { path, text } => {
                observer.acted(format!("write {path}"));
                let absolute = match path.strip_prefix('/') {
                    Some(_) => path.clone(),
                    None => format!("{}/{path}", self.workdir.trim_end_matches('/')),
                };
                let node = FileNode::File(text.clone().into_bytes());
                let path = absolute.trim_start_matches('/').to_owned();
                self.sandbox.put("/", &[FileEntry { path, node, mode: 0o644 }]).await?;
            }
            ScriptStep::Patch(diff) => {
                observer.acted("patch");
                let argv = ["patch", "-p1", "-s"].map(str::to_owned).to_vec();
                let patched = self.exec(argv, BTreeMap::new(), diff.clone().into_bytes()).await?;
                if patched.ended == Ended::NotStarted {
                    let argv = ["git", "apply", "-"].map(str::to_owned).to_vec();
                    self.exec(argv, BTreeMap::new(), diff.clone().into_bytes()).await?;
                }
            }
            ScriptStep::Say(words) => observer.said(words.clone()),
            ScriptStep::Ask(words) => {
                observer.said(words.clone());
                return Ok(After::EndTurn(TurnStop::Finished));
            }
            ScriptStep::Solve => match &self.solves {
                Solves::WhenTold(solution) => self.solve(solution, observer).await?,
                _ => observer.said("There is no solution to run here."),
            },
            ScriptStep::Crash => return Ok(After::EndTurn(TurnStop::Crashed)),
            ScriptStep::Hang => std::future::pending::<()>().await,
            ScriptStep::Idle => return Ok(After::EndTurn(TurnStop::Finished)),
        }
        Ok(After::GoOn)
    }

    /// The solution stands in the sandbox only as long as it runs.
    async fn solve(&self, solution: &Solution, observer: &Observer) -> Result<(), SandboxFault> {
        observer.acted("solve.sh");
        let absent = FileEntry { path: "solution".to_owned(), node: FileNode::Absent, mode: 0 };
        let mut files = solution.files.clone();
        for file in &mut files {
            if file.path == "solve.sh" {
                file.mode |= 0o111;
            }
        }
        self.sandbox.put("/solution", &files).await?;
        let argv = vec!["/solution/solve.sh".to_owned()];
        let solved = self.exec(argv, solution.env.clone(), Vec::new()).await?;
        self.sandbox.put("/", &[absent]).await?;
        if !solved.is_success() {
            let errors = String::from_utf8_lossy(&solved.stderr).into_owned();
            observer.said(format!("solve.sh: {:?}\n{}", solved.ended, errors.trim()));
        }
        Ok(())
    }

    async fn exec(
        &self,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        stdin: Vec<u8>,
    ) -> Result<Finished, SandboxFault> {
        let mut all = self.env.clone();
        all.extend(env);
        let command = CommandSpec {
            argv,
            cwd: Some(self.workdir.clone()),
            env: all,
            user: self.user.clone(),
            stdin,
            timeout: COMMAND_MAX,
            output_max: OUTPUT_MAX,
        };
        self.sandbox.exec(&command).await
    }
}

fn first_line(command: &str) -> String {
    let line = command.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(120).collect()
}
