//! Forks that answer honestly: the looked-at state, but with the base's own tools where the agent replaced them.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{
    evidence::{Evidence, ForkOf, ForkedRun, Placed, StateAt},
    sandbox::{CommandSpec, FileNode, SandboxFault},
};

/// Output of a run that is kept; only its end is ever shown.
const OUTPUT_MAX: usize = 64 * 1024;

/// Where programs are looked up.
const PROGRAM_FOLDERS: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Files that change what every program does, wherever they lie.
const HIJACKS: [&str; 2] = ["sitecustomize.py", "usercustomize.py"];

/// A run with network off and nothing on standard input.
pub(super) fn run(of: ForkOf, placed: Vec<Placed>, argv: &[String], timeout_sec: u32) -> ForkedRun {
    ForkedRun {
        of,
        placed,
        command: CommandSpec {
            argv: argv.to_vec(),
            cwd: None,
            env: BTreeMap::new(),
            user: None,
            stdin: Vec::new(),
            timeout: std::time::Duration::from_secs(u64::from(timeout_sec)),
            output_max: OUTPUT_MAX,
        },
    }
}

/// The state that is looked at. If the agent replaced a tool that the base has, or put something before it, what
/// it did elsewhere is laid over the pristine base instead: a run must not be answered by the agent's own `python3`.
pub(super) async fn honest(evidence: &dyn Evidence) -> Result<ForkOf, SandboxFault> {
    let Some(tree) = evidence.tree(StateAt::Look) else { return Ok(ForkOf::Look) };
    let mut distrusted = BTreeSet::new();
    for path in tree.entries.keys() {
        if replaces_tool(path, evidence).await? {
            distrusted.insert(path.as_str());
        }
    }
    if distrusted.is_empty() {
        return Ok(ForkOf::Look);
    }
    let mut kept = BTreeSet::new();
    for path in tree.entries.keys().filter(|path| !distrusted.contains(path.as_str())) {
        // A whole folder of the root is laid over at once unless something of it is distrusted.
        let top = top_folder(path);
        let is_clean = !distrusted.iter().any(|bad| top_folder(bad) == top);
        kept.insert(if is_clean { top.to_owned() } else { path.clone() });
    }
    Ok(ForkOf::BaseWith(kept.into_iter().collect()))
}

async fn replaces_tool(path: &str, evidence: &dyn Evidence) -> Result<bool, SandboxFault> {
    let file = path.rsplit('/').next().unwrap_or(path);
    if HIJACKS.contains(&file) || path.starts_with("/etc/ld.so") {
        return Ok(true);
    }
    let is_system = ["/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/usr/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    if !is_system {
        return Ok(false);
    }
    let is_file = |found: Option<(FileNode, u32)>| {
        found.is_some_and(|(node, _)| matches!(node, FileNode::File(_) | FileNode::Link(_)))
    };
    // What installing adds stays; what was there before, or takes the place of a program, does not.
    if is_file(evidence.read(StateAt::Base, path).await?) || file.ends_with(".pth") {
        return Ok(true);
    }
    let is_program = PROGRAM_FOLDERS
        .iter()
        .any(|folder| path.strip_prefix(folder).is_some_and(|name| !name.contains('/')));
    if is_program {
        for folder in PROGRAM_FOLDERS {
            if is_file(evidence.read(StateAt::Base, &format!("{folder}{file}")).await?) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn top_folder(path: &str) -> &str {
    let end = path[1..].find('/').map_or(path.len(), |at| at + 1);
    &path[..end]
}
