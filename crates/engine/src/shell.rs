//! Command lines of a task's author, run as Harbor runs them ([`run_line`]).

use std::{collections::BTreeMap, time::Duration};

use crate::ports::sandbox::{CommandSpec, Ended, Finished, Sandbox, SandboxFault};

/// Bytes of a command line's output that are kept.
const OUTPUT_MAX: usize = 64 << 10;

/// A shell's command line.
pub(crate) struct Line<'a> {
    /// What the shell reads.
    pub command: &'a str,
    /// Where it is started.
    pub workdir: &'a str,
    /// Who runs it; none means the base's own.
    pub user: Option<String>,
    /// After this it is killed.
    pub timeout: Duration,
}

/// Runs a command line by `bash`, or by `sh` where there is no `bash`: small images have none.
pub(crate) async fn run_line(
    sandbox: &dyn Sandbox,
    line: Line<'_>,
) -> Result<Finished, SandboxFault> {
    let mut command = CommandSpec {
        argv: ["bash", "-c", line.command].map(str::to_owned).to_vec(),
        cwd: Some(line.workdir.to_owned()),
        env: BTreeMap::new(),
        user: line.user,
        stdin: Vec::new(),
        timeout: line.timeout,
        output_max: OUTPUT_MAX,
    };
    let finished = sandbox.exec(&command).await?;
    if finished.ended != Ended::NotStarted {
        return Ok(finished);
    }
    command.argv[0] = "sh".to_owned();
    sandbox.exec(&command).await
}

/// The last lines of what a command printed.
pub(crate) fn last_lines(finished: &Finished, lines_max: usize) -> String {
    let mut output = String::from_utf8_lossy(&finished.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&finished.stderr));
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(lines_max)..].join("\n")
}
