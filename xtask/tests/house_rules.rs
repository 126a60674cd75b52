//! House rules that a machine can check; every message names the remedy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Who may use whom: the table of ARCHITECTURE.md. `xtask` stands outside the house and may use everybody.
const EDGES: [(&str, &[&str]); 6] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("engine", &["domain"]),
    ("adapters", &["domain", "engine"]),
    ("report", &["domain", "store"]),
    ("personacodebench", &["adapters", "domain", "engine", "report", "store"]),
];

/// Everything that `domain` depends on, directly or not, beside the compiler's own libraries.
const DOMAIN_DEPENDENCIES: [&str; 9] = [
    "aho-corasick",
    "memchr",
    "proc-macro2",
    "quote",
    "regex",
    "regex-automata",
    "regex-syntax",
    "thiserror",
    "thiserror-impl",
];

/// Build-time parts of the derive macro; they are not linked into `domain`.
const MACRO_PARTS: [&str; 2] = ["syn", "unicode-ident"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the workspace")
        .to_owned()
}

fn metadata() -> Value {
    // Without the filter cargo wants the sources of other platforms' dependencies too.
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("sources are readable");
                found.push((path.strip_prefix(root()).expect("below the root").to_owned(), text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no source below {folder}: the rule would check nothing");
    found
}

fn check(broken: Vec<String>, remedy: &str) {
    assert!(broken.is_empty(), "\n{}\n\nremedy: {remedy}\n", broken.join("\n"));
}

#[test]
fn crates_know_exactly_whom_they_may() {
    let metadata = metadata();
    let wanted: BTreeMap<&str, BTreeSet<&str>> =
        EDGES.iter().map(|(name, may)| (*name, may.iter().copied().collect())).collect();
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        if !wanted.contains_key(name) || !package["source"].is_null() {
            continue;
        }
        let ours = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter(|dependency| dependency["kind"].is_null() && !dependency["path"].is_null())
            .filter_map(|dependency| dependency["name"].as_str());
        found.insert(name, ours.collect());
    }
    assert_eq!(
        found, wanted,
        "\nremedy: a new edge between crates is an architectural change; take it back, or change the \
         table in ARCHITECTURE.md and EDGES here in a commit of its own"
    );
}

#[test]
fn domain_depends_on_nothing_that_reaches_the_world() {
    let metadata = metadata();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| (node["id"].as_str().expect("an id"), node))
        .collect();
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| {
            (package["id"].as_str().expect("an id"), package["name"].as_str().expect("a name"))
        })
        .collect();
    let start = names.iter().find(|(_, name)| **name == "domain").map(|(id, _)| *id);
    let mut open = vec![start.expect("the crate domain")];
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        for dependency in nodes[id]["deps"].as_array().expect("deps") {
            let kinds = dependency["dep_kinds"].as_array().expect("kinds");
            let is_normal = kinds.iter().any(|kind| kind["kind"].is_null());
            let package = dependency["pkg"].as_str().expect("a package");
            if is_normal && found.insert(names[package]) {
                open.push(package);
            }
        }
    }
    let found: BTreeSet<&str> =
        found.into_iter().filter(|name| !MACRO_PARTS.contains(name)).collect();
    assert_eq!(
        found,
        BTreeSet::from(DOMAIN_DEPENDENCIES),
        "\nremedy: domain is pure; take the dependency back, or argue it in docs/decisions and add it here"
    );
}

#[test]
fn domain_is_without_std() {
    let broken = sources("crates/domain/src")
        .into_iter()
        .flat_map(|(path, text)| {
            let lines: Vec<String> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| {
                    let code = line.split("//").next().unwrap_or_default();
                    code.contains("std::") || code.contains("extern crate std")
                })
                .map(|(number, line)| format!("{}:{}: {}", path.display(), number + 1, line.trim()))
                .collect();
            lines
        })
        .collect();
    check(broken, "use core:: and alloc::; what needs std belongs behind a port");
}

#[test]
fn every_file_says_what_it_is_for() {
    let broken = ["crates", "xtask"]
        .into_iter()
        .flat_map(sources)
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| path.display().to_string())
        .collect();
    check(
        broken,
        "open the file with one to three sentences of //! : what it is for, its main type",
    );
}

#[test]
fn nothing_is_unfinished_or_silenced() {
    let banned = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[", "ignore"),
        concat!("allow(", "dead_code"),
        concat!("assert!(", "true)"),
        concat!("FIX", "ME"),
    ];
    let broken = ["crates", "xtask"]
        .into_iter()
        .flat_map(sources)
        .flat_map(|(path, text)| banned_lines(&path, &text, &banned))
        .collect();
    check(broken, "finish it, or take it out");
}

fn banned_lines(path: &Path, text: &str, banned: &[&str]) -> Vec<String> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| {
            let code = line.split("//").next().unwrap_or_default();
            banned.iter().any(|word| code.contains(word))
        })
        .map(|(number, line)| format!("{}:{}: {}", path.display(), number + 1, line.trim()))
        .collect()
}

fn broken_outside(folder: &str, banned: &[&str], allowed: &[&str]) -> Vec<String> {
    sources(folder)
        .into_iter()
        .filter(|(path, _)| {
            let path = path.to_string_lossy();
            !path.contains("/tests/") && !allowed.iter().any(|place| path.contains(place))
        })
        .flat_map(|(path, text)| {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            banned_lines(&path, &code, banned)
        })
        .collect()
}

#[test]
fn host_processes_start_through_one_door() {
    let broken = broken_outside(
        "crates",
        &["Command::new(", "process::Command"],
        &["adapters/src/process.rs", "adapters/src/sandboxes/local/"],
    );
    check(broken, "start host processes through adapters::process");
}

#[test]
fn environment_variables_are_read_once() {
    let broken = broken_outside(
        "crates",
        &["env::var"],
        &["personacodebench/src/options.rs", "personacodebench/build.rs"],
    );
    check(broken, "read the variable in the binary's options.rs and hand the value in");
}

#[test]
fn file_names_of_a_run_are_spelled_in_one_place() {
    let names =
        ["\"log.jsonl\"", "\"plan.jsonl\"", "\"run.json\"", "\"seal.json\"", "\"claim.json\""];
    let broken = broken_outside("crates", &names, &["store/src/layout.rs"]);
    check(broken, "ask store::layout for the path");
}

#[test]
fn adapters_know_ports_only_and_reports_only_read() {
    let mut broken = broken_outside(
        "crates/adapters/src",
        &[
            "engine::drive",
            "engine::perform",
            "engine::materialise",
            "engine::run",
            "engine::regrade",
        ],
        &[],
    );
    broken.extend(broken_outside(
        "crates/report/src",
        &["store::journal", "store::claim", "RunWriter", "SessionWriter"],
        &[],
    ));
    check(broken, "adapters see engine::ports alone, report sees store's readers alone");
}

#[test]
fn rooms_have_names_of_their_own() {
    let empty = ["utils", "util", "helpers", "common", "manager", "misc", "imp"];
    let broken = sources("crates")
        .into_iter()
        .filter(|(path, _)| {
            path.components().any(|part| {
                let name = part.as_os_str().to_string_lossy();
                empty.contains(&name.trim_end_matches(".rs"))
            })
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    check(broken, "name the file after the thing in it");
}

#[test]
fn both_licences_are_there() {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(root().join(name).is_file(), "remedy: put {name} back into the root");
    }
}
