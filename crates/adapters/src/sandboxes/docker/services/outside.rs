//! Which files outside a task's folder its compose files would read ([`read_outside`]).
//!
//! Compose reads such files while it normalises and leaves no trace of them in what it prints, so they are looked for
//! in the text.

use std::collections::{BTreeSet, VecDeque};

use engine::ports::sandbox::{FileEntry, FileNode};
use saphyr::{LoadableYamlNode, Yaml};

use super::project::COMPOSE_FILE;

/// Keys whose values name files that are read.
const READING: [&str; 4] = ["env_file", "label_file", "include", "extends"];

/// Keys below those that hold a path.
const PATHS: [&str; 4] = ["path", "file", "project_directory", "env_file"];

/// What is wrong with the files that the compose files of an environment read, in the words of a refusal.
pub(super) fn read_outside(environment: &[FileEntry]) -> Vec<String> {
    let mut refused = Vec::new();
    let mut known = BTreeSet::from([COMPOSE_FILE.to_owned()]);
    let mut waiting = VecDeque::from([COMPOSE_FILE.to_owned()]);
    while let Some(name) = waiting.pop_front() {
        let found = environment.iter().find(|file| file.path == name);
        let Some(FileNode::File(bytes)) = found.map(|file| &file.node) else { continue };
        let text = String::from_utf8_lossy(bytes);
        // What is no YAML, Compose itself refuses with the line.
        let Ok(documents) = Yaml::load_from_str(&text) else { continue };
        let mut named = Vec::new();
        documents.iter().for_each(|document| look(document, &mut named));
        // An anchor stands wherever it is used.
        named.sort();
        named.dedup();
        for (key, path) in named {
            match inside(&name, &path) {
                Some(file) if known.insert(file.clone()) => waiting.push_back(file),
                Some(_) => {}
                None => refused.push(format!(
                    "`{key}: {path}` of {name} reads past the task: name a file of environment/"
                )),
            }
        }
    }
    refused
}

/// Paths that stand behind keys that make Compose read.
fn look(node: &Yaml<'_>, found: &mut Vec<(String, String)>) {
    if let Some(mapping) = node.as_mapping() {
        for (key, value) in mapping {
            match key.as_str() {
                Some(key) if READING.contains(&key) => paths(key, value, found),
                _ => look(value, found),
            }
        }
    }
    for value in node.as_sequence().into_iter().flatten() {
        look(value, found);
    }
}

fn paths(key: &str, value: &Yaml<'_>, found: &mut Vec<(String, String)>) {
    // `extends: name` is a service of the same file.
    if let Some(path) = value.as_str().filter(|_| key != "extends") {
        found.push((key.to_owned(), path.to_owned()));
    }
    for value in value.as_sequence().into_iter().flatten() {
        paths(key, value, found);
    }
    for (inner, value) in value.as_mapping().into_iter().flatten() {
        let is_path = inner.as_str().is_some_and(|inner| PATHS.contains(&inner));
        let texts = value.as_sequence().map_or_else(|| vec![value], |all| all.iter().collect());
        for text in texts.into_iter().filter_map(|text| text.as_str()).filter(|_| is_path) {
            found.push((key.to_owned(), text.to_owned()));
        }
    }
}

/// The path below the environment's folder; none for what may lead out of it.
fn inside(file: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) || path.contains(['$', ':', '\\']) {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_task_are_read() {
        let check = |files: &[(&str, &str)], expect: &[&str]| {
            let environment: Vec<FileEntry> = files
                .iter()
                .map(|(path, text)| FileEntry {
                    path: (*path).to_owned(),
                    node: FileNode::File(text.as_bytes().to_vec()),
                    mode: 0o644,
                })
                .collect();
            let refused = read_outside(&environment);
            assert_eq!(refused.len(), expect.len(), "{files:?}: {refused:?}");
            for (refused, expect) in refused.iter().zip(expect) {
                assert!(refused.contains(expect), "{refused}");
            }
        };
        let one = |text: &str, expect: &[&str]| check(&[("docker-compose.yaml", text)], expect);
        one("services: {a: {env_file: ./a.env, image: /not/read}}", &[]);
        one("services: {a: {env_file: [a.env, {path: sub/../b.env, required: false}]}}", &[]);
        one("services: {a: {env_file: /etc/passwd}}", &["/etc/passwd"]);
        one("services: {a: {env_file: [{path: ../up.env}]}}", &["../up.env"]);
        one("services: {a: {\"env_file\": [\"${HOME}/x\"]}}", &["${HOME}/x"]);
        one("services: {a: {extends: b}, b: {image: x}}", &[]);
        one("services: {a: {extends: {service: b, file: ~/x.yaml}}}", &["~/x.yaml"]);
        one("include: [https://example.org/x.git]", &["https://example.org/x.git"]);
        one("x: &e {env_file: /a}\nservices: {a: {<<: *e}}", &["/a"]);
        check(
            &[
                ("docker-compose.yaml", "include: [{path: [sub/more.yaml], env_file: x.env}]"),
                ("sub/more.yaml", "services: {a: {env_file: [../ok.env, ../../no.env]}}"),
            ],
            &["../../no.env"],
        );
    }
}
