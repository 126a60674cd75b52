//! Places the native tests beside the sealed state and runs them: [`Verifier`].

use std::{collections::BTreeMap, time::Duration};

use domain::{release::Task, session::CompletionOutcome};

use super::read_reward;
use crate::{
    materialise::{reached, task_limits},
    ports::sandbox::{
        CommandSpec, Ended, FileEntry, FileNode, Finished, Limits, Sandbox, SandboxFault,
    },
};

/// Bytes kept of each of the verifier's streams.
const OUTPUT_MAX: usize = 1 << 20;

/// Where tests are placed and rewards are looked for.
const TESTS: &str = "/tests";
const SCRIPT: &str = "test.sh";
const LOGS: &str = "/logs/verifier";

/// The native verifier of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Verifier {
    /// The task's `tests/`.
    pub tests: Vec<FileEntry>,
    /// Its own variables.
    pub env: BTreeMap<String, String>,
    /// Its time limit.
    pub timeout: Duration,
    /// Where it is started.
    pub workdir: String,
    /// Who runs it, as Docker writes users; none means the base's own.
    pub user: Option<String>,
    /// Limits of the sandbox that it has to itself.
    pub limits: Limits,
}

/// What a verifier run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// The reward or why there is none.
    pub outcome: CompletionOutcome,
    /// How the script ended; means nothing for the outcome.
    pub finished: Finished,
}

impl Verifier {
    /// The verifier of a task, its variables with those of the host looked up; it is started in `workdir`.
    pub fn of_task(
        task: &Task,
        workdir: String,
        env: BTreeMap<String, String>,
        tests: Vec<FileEntry>,
    ) -> Verifier {
        Verifier {
            tests,
            env,
            timeout: Duration::from_secs_f64(task.verifier.timeout_sec),
            workdir,
            user: task.verifier.user.clone(),
            limits: Limits { network: reached(task.verifier_network()), ..task_limits(task) },
        }
    }

    /// The verifier of a step: its own tests laid over the task's, its variables over the task's, its own limit and
    /// user if it has them.
    pub fn of_step(
        &self,
        timeout_sec: Option<f64>,
        user: Option<String>,
        env: BTreeMap<String, String>,
        tests: Vec<FileEntry>,
    ) -> Verifier {
        let mut own = self.clone();
        own.tests.retain(|file| !tests.iter().any(|over| over.path == file.path));
        own.tests.extend(tests);
        own.env.extend(env);
        if let Some(seconds) = timeout_sec {
            own.timeout = Duration::from_secs_f64(seconds);
        }
        own.user = user.or(own.user);
        own
    }

    /// Runs the tests in a sandbox that holds the state to be judged and nothing of the agent that could act.
    ///
    /// What stands at `/tests` and `/logs/verifier` before is removed, so no reward of the agent survives.
    pub async fn verify(&self, sandbox: &dyn Sandbox) -> Result<Verified, SandboxFault> {
        let cleared = ["tests", "logs/verifier"].map(|path| entry(path, FileNode::Absent, 0));
        sandbox.put("/", &cleared).await?;
        // Whoever runs the tests must be able to leave a reward.
        let made = [("tests", 0o755), ("logs/verifier", 0o777)];
        let made = made.map(|(path, mode)| entry(path, FileNode::Directory, mode));
        sandbox.put("/", &made).await?;
        sandbox.put(TESTS, &self.tests_executable()).await?;
        let command = CommandSpec {
            argv: vec![format!("{TESTS}/{SCRIPT}")],
            cwd: Some(self.workdir.clone()),
            env: self.env.clone(),
            user: self.user.clone(),
            stdin: Vec::new(),
            timeout: self.timeout,
            output_max: OUTPUT_MAX,
        };
        let finished = sandbox.exec(&command).await?;
        if finished.ended == Ended::TimedOut {
            return Ok(Verified { outcome: CompletionOutcome::TimedOut, finished });
        }
        let json = read_file(sandbox, "reward.json").await?;
        let text = read_file(sandbox, "reward.txt").await?;
        let outcome = read_reward(json.as_deref(), text.as_deref());
        Ok(Verified { outcome, finished })
    }

    fn tests_executable(&self) -> Vec<FileEntry> {
        let mut tests = self.tests.clone();
        for file in &mut tests {
            if file.path == SCRIPT {
                file.mode |= 0o111;
            }
        }
        tests
    }
}

/// A link is not followed: a reward is a regular file or it is none.
async fn read_file(sandbox: &dyn Sandbox, name: &str) -> Result<Option<Vec<u8>>, SandboxFault> {
    let found = sandbox.get(&format!("{LOGS}/{name}")).await?;
    Ok(found.and_then(|entries| {
        entries.into_iter().find_map(|found| match found.node {
            FileNode::File(bytes) if found.path.is_empty() => Some(bytes),
            _ => None,
        })
    }))
}

fn entry(path: &str, node: FileNode, mode: u32) -> FileEntry {
    FileEntry { path: path.to_owned(), node, mode }
}
