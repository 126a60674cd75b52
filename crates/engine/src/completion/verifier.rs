//! Places the native tests beside the sealed state and runs them: [`Verifier`].

use std::{collections::BTreeMap, time::Duration};

use domain::{
    release::{Home, Policy, Step, Task},
    session::CompletionOutcome,
};

use super::{Collection, read_reward};
use crate::{
    materialise::{environment_limits, reached, task_limits},
    ports::sandbox::{
        Base, CommandSpec, Ended, FileEntry, FileNode, Finished, Limits, Sandbox, SandboxFault,
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
    /// Limits of the sandbox that it runs in.
    pub limits: Limits,
    /// What its wire carries where its sandbox has no network of its own.
    pub reach: Policy,
    /// Where that comes from.
    pub home: VerifierHome,
    /// What is taken before.
    pub collection: Collection,
    /// Limits of the copy in which commands are run before anything is taken.
    pub copy_limits: Limits,
}

/// Where the sandbox of a verifier comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum VerifierHome {
    /// It holds what the agent left.
    Shared,
    /// It is made from a base of the verifier's own.
    Separate(SeparateBase),
}

/// A base that a verifier has for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SeparateBase {
    /// The base, or why it could not be made.
    pub base: Result<Base, SandboxFault>,
    /// Whether the tests are in it already; they are placed in it otherwise.
    pub holds_tests: bool,
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
    /// The verifier of a task, or of one of its steps with the step's variables and tests laid over the task's. What
    /// it takes from the host is looked up already; it is started in `workdir`, or where its own base says.
    pub fn new(
        task: &Task,
        step: Option<&Step>,
        workdir: &str,
        (env, tests): (BTreeMap<String, String>, Vec<FileEntry>),
        base: Option<Result<Base, SandboxFault>>,
    ) -> Verifier {
        let own = step.map(|step| &step.verifier);
        let timeout_sec = own.and_then(|own| own.timeout_sec).unwrap_or(task.verifier.timeout_sec);
        let user = own.and_then(|own| own.user.clone()).or_else(|| task.verifier.user.clone());
        let network = task.verifier_network(step);
        let reach = Policy::from(&network);
        let network = reached(&network);
        let collection = Collection {
            artifacts: task.artifacts_after(step),
            hooks: task.collect_hooks(step).cloned().collect(),
            workdir: workdir.to_owned(),
        };
        let shared_limits = Limits { network, ..task_limits(task) };
        let mut verifier = Verifier {
            tests,
            env,
            timeout: Duration::from_secs_f64(timeout_sec),
            workdir: workdir.to_owned(),
            user,
            limits: shared_limits.clone(),
            reach,
            home: VerifierHome::Shared,
            collection,
            copy_limits: shared_limits,
        };
        if let Home::Separate(home) = task.verifier_home(step) {
            let unmade = || Err(SandboxFault::Lost("its base was not made".to_owned()));
            let base = base.unwrap_or_else(unmade);
            if let Ok(base) = &base {
                verifier.workdir.clone_from(&base.workdir);
            }
            verifier.limits = Limits { network, ..environment_limits(&home.environment) };
            verifier.copy_limits.network = reached(&task.environment.network);
            let holds_tests = home.origin.holds_tests();
            verifier.home = VerifierHome::Separate(SeparateBase { base, holds_tests });
        }
        verifier
    }

    /// Why its own base could not be made.
    pub fn base_fault(&self) -> Option<&SandboxFault> {
        match &self.home {
            VerifierHome::Separate(own) => own.base.as_ref().err(),
            VerifierHome::Shared => None,
        }
    }

    /// Runs the tests in a sandbox that holds the state to be judged and nothing of the agent that could act.
    ///
    /// What stands at `/logs/verifier` before is removed, so no reward of the agent survives, and what stands at `/tests`
    /// unless it came with the verifier's own base.
    pub async fn verify(&self, sandbox: &dyn Sandbox) -> Result<Verified, SandboxFault> {
        let gone = |path| entry(path, FileNode::Absent, 0);
        // Whoever runs the tests must be able to leave a reward.
        let logs = entry("logs/verifier", FileNode::Directory, 0o777);
        sandbox.put("/", &[gone("logs/verifier")]).await?;
        sandbox.put("/", &[logs]).await?;
        if matches!(&self.home, VerifierHome::Separate(own) if own.holds_tests) {
            make_executable(sandbox).await?;
        } else {
            sandbox.put("/", &[gone("tests")]).await?;
            sandbox.put("/", &[entry("tests", FileNode::Directory, 0o755)]).await?;
            sandbox.put(TESTS, &self.tests_executable()).await?;
        }
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

/// An image need not have made its script executable.
async fn make_executable(sandbox: &dyn Sandbox) -> Result<(), SandboxFault> {
    let found = sandbox.get(&format!("{TESTS}/{SCRIPT}")).await?.unwrap_or_default();
    let [FileEntry { path, node: FileNode::File(bytes), mode }] = found.as_slice() else {
        return Ok(());
    };
    if path.is_empty() && mode & 0o111 != 0o111 {
        let script = entry(SCRIPT, FileNode::File(bytes.clone()), mode | 0o111);
        sandbox.put(TESTS, &[script]).await?;
    }
    Ok(())
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
