//! What takes too long for every change ([`run`]): the matrix of known agents, what they can and what befalls them, by sandbox,
//! written as a dated table to `docs/agents-matrix.md`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use adapters::agents::presets::Preset;
use serde_json::Value;

/// Kinds of sandboxes, with what the check is told of each.
const SANDBOXES: [(&str, &[&str]); 2] =
    [("local", &["--sandbox", "local"]), ("docker", &["--sandbox", "docker"])];

/// What was tried of one agent in one sandbox.
struct Checked {
    agent: String,
    sandbox: &'static str,
    /// By what was tried, whether it works and what is told.
    lines: BTreeMap<String, (String, String)>,
    /// In the order in which it was tried.
    order: Vec<String>,
}

/// The agents named, or all of them, in these sandboxes (`--sandbox NAME`, or all) and this image (`--image NAME`).
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let Some(("agents", rest)) = arguments.split_first().map(|(first, rest)| (&**first, rest))
    else {
        return Err("nightly: name what: agents".to_owned());
    };
    let mut names = Vec::new();
    let mut image = None;
    let mut wanted = None;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--image" => image = Some(words.next().ok_or("--image: which?")?.clone()),
            "--sandbox" => wanted = Some(words.next().ok_or("--sandbox: which?")?.clone()),
            name if Preset::names().any(|known| known == name) => names.push(name.to_owned()),
            other => return Err(format!("nightly agents: no agent `{other}`")),
        }
    }
    if names.is_empty() {
        names = Preset::names().map(str::to_owned).collect();
    }
    let mut all = Vec::new();
    for name in &names {
        for (sandbox, told) in SANDBOXES {
            if wanted.as_ref().is_none_or(|wanted| wanted == sandbox) {
                eprintln!("{name} in {sandbox}");
                all.push(check(name, sandbox, told, image.as_deref())?);
            }
        }
    }
    let page = root().join("docs/agents-matrix.md");
    fs::write(&page, table(&all)).map_err(|error| format!("{}: {error}", page.display()))?;
    eprintln!("{}", page.display());
    Ok(ExitCode::SUCCESS)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn check(
    name: &str,
    sandbox: &'static str,
    told: &[&str],
    image: Option<&str>,
) -> Result<Checked, String> {
    let binary = root().join("target/debug/pcb");
    let mut command = Command::new(&binary);
    command.args(["agent", "check", name, "--faults", "--json"]).args(told);
    if let (Some(image), "docker") = (image, sandbox) {
        command.args(["--image", image]);
    }
    let done = command.output().map_err(|error| {
        format!("{}: {error}; build it first: cargo build --workspace", binary.display())
    })?;
    let report: Value = serde_json::from_slice(&done.stdout).map_err(|_| {
        format!("{name} in {sandbox}: {}", String::from_utf8_lossy(&done.stderr).trim())
    })?;
    let mut checked =
        Checked { agent: name.to_owned(), sandbox, lines: BTreeMap::new(), order: Vec::new() };
    for line in report["lines"].as_array().into_iter().flatten() {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        checked.order.push(text("what"));
        checked.lines.insert(text("what"), (text("tried"), text("detail")));
    }
    Ok(checked)
}

/// The page.
fn table(all: &[Checked]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for what in all.iter().flat_map(|checked| &checked.order) {
        if !columns.contains(&what.as_str()) {
            columns.push(what);
        }
    }
    let today = today();
    let mut page = format!(
        "# What of each agent works\n\nAs `cargo xtask nightly agents` found it on {today}, with a scripted model; \
         `pcb agent check NAME --faults` tells one row. `+` works, `F` fails, `-` the agent has no such thing, empty: \
         not tried because something before it failed.\n\n| agent | sandbox |"
    );
    for column in &columns {
        let _ = write!(page, " {column} |");
    }
    page.push_str("\n|---|---|");
    page.push_str(&"---|".repeat(columns.len()));
    page.push('\n');
    let mut failing = String::new();
    for Checked { agent, sandbox, lines, .. } in all {
        let _ = write!(page, "| {agent} | {sandbox} |");
        for column in &columns {
            let shown = match lines.get(*column).map(|(tried, _)| tried.as_str()) {
                Some("works") => "+",
                Some("fails") => "F",
                Some(_) => "-",
                None => "",
            };
            let _ = write!(page, " {shown} |");
        }
        page.push('\n');
        for (what, (tried, detail)) in lines {
            if tried == "fails" {
                let detail: String = detail.chars().take(300).collect();
                let detail = detail.replace('`', "'");
                let _ = writeln!(failing, "- {agent}, {sandbox}, {what}: `{detail}`");
            }
        }
    }
    if !failing.is_empty() {
        let _ = write!(page, "\nWhat fails:\n\n{failing}");
    }
    page
}

/// The day as people write it.
fn today() -> String {
    let now = store::utc::text(std::time::SystemTime::now());
    now.chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_what_works_and_why_something_does_not() {
        let line = |tried: &str, detail: &str| (tried.to_owned(), detail.to_owned());
        let checked = |agent: &str, lines: &[(&str, &str, &str)]| Checked {
            agent: agent.to_owned(),
            sandbox: "local",
            lines: lines.iter().map(|(what, t, d)| ((*what).to_owned(), line(t, d))).collect(),
            order: lines.iter().map(|(what, ..)| (*what).to_owned()).collect(),
        };
        let page = table(&[
            checked("a", &[("start", "works", "a 1"), ("ask", "without", "")]),
            checked("b", &[("start", "fails", "no `b`")]),
        ]);
        assert!(page.contains("| agent | sandbox | start | ask |\n"), "{page}");
        assert!(page.contains("| a | local | + | - |\n"), "{page}");
        assert!(page.contains("| b | local | F |  |\n"), "{page}");
        assert!(page.contains("- b, local, start: `no 'b'`\n"), "{page}");
    }
}
