//! In which folder a started program works ([`of`]): git is followed to the repository that its options name.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::evidence::ProcessEvent;

/// The absolute folder, without `.` and `..`.
pub(super) fn of(process: &ProcessEvent) -> String {
    let mut folder = process.cwd.clone();
    let is_git = process.argv.first().is_some_and(|name| name.rsplit('/').next() == Some("git"));
    if !is_git {
        return plain(&folder);
    }
    let mut named = None;
    let mut args = process.argv.iter().skip(1).map(String::as_str);
    while let Some(arg) = args.next().filter(|arg| arg.starts_with('-')) {
        let (option, joined) = arg.split_once('=').map_or((arg, None), |(o, v)| (o, Some(v)));
        if !VALUED.contains(&option) {
            continue;
        }
        let Some(value) = joined.or_else(|| args.next()) else { break };
        match option {
            "-C" => folder = join(&folder, value),
            "--work-tree" => named = Some(join(&folder, value)),
            "--git-dir" if named.is_none() => {
                let path = join(&folder, value);
                named = Some(path.trim_end_matches("/.git").to_string());
            }
            _ => {}
        }
    }
    plain(&named.unwrap_or(folder))
}

/// Options of git before its verb whose value may be the next argument.
const VALUED: [&str; 6] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];

fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_string() } else { format!("{folder}/{path}") }
}

fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
