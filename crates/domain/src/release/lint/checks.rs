//! Lints of checks: patterns compile, bounds are in order, and every check asks something.

use alloc::{format, string::String, vec::Vec};

use regex::Regex;

use super::{NotePath, delivered, note::Notes};
use crate::{
    acceptance::glob::trouble,
    release::{CheckKind, Codes, FsState, MessageCheck, Pair},
};

/// The checks of a pair.
pub(super) fn pair(pair: &Pair, notes: &mut Notes) {
    for check in &pair.checks {
        let at = |key: &str| NotePath::Check(pair.id.clone(), check.id.clone(), key.into());
        for (key, pattern) in patterns(&check.kind) {
            if let Err(error) = Regex::new(pattern) {
                notes.error(
                    at(key),
                    format!("the pattern cannot be read: {}", one_line(&error)),
                    "write a regular expression of the `regex` crate (no look-around)",
                );
            }
        }
        for (key, globs) in globs(&check.kind) {
            for (index, glob) in globs.iter().enumerate() {
                if let Some(trouble) = trouble(glob) {
                    notes.error(
                        at(&format!("{key}.{index}")),
                        format!("the glob `{glob}` {trouble}"),
                        "use `*` within a segment and `**` across, relative to the working directory",
                    );
                }
            }
        }
        if let Some((key, message, remedy)) = emptiness(&check.kind) {
            notes.error(at(key), message, remedy);
        }
        for slip in delivered::slips(&check.kind) {
            notes.error(at(&slip.key), slip.message, slip.remedy);
        }
        if let Some(since) = check.kind.since()
            && pair.requirement(since).is_none()
        {
            notes.error(
                at("since"),
                format!("there is no requirement `{since}`"),
                "name a requirement of this pair",
            );
        }
    }
}

fn patterns(kind: &CheckKind) -> Vec<(&'static str, &String)> {
    let keyed: Vec<(&'static str, &Option<String>)> = match kind {
        CheckKind::Fs { contains, lacks, .. } => {
            alloc::vec![("contains", contains), ("lacks", lacks)]
        }
        CheckKind::Diff { adds, adds_none, removes_none, .. } => {
            alloc::vec![("adds", adds), ("adds_none", adds_none), ("removes_none", removes_none),]
        }
        CheckKind::Git { message, author, .. } => {
            alloc::vec![("message", message), ("author", author)]
        }
        CheckKind::Exec { argv, .. } => alloc::vec![("argv", argv)],
        CheckKind::Message(MessageCheck { matches, lacks, .. }) => {
            alloc::vec![("matches", matches), ("lacks", lacks)]
        }
        CheckKind::Artifact(artifact) => {
            let texts = artifact.text.iter().map(|text| ("text", text));
            return texts.chain(artifact.prints.iter().map(|text| ("prints", text))).collect();
        }
        _ => Vec::new(),
    };
    keyed.into_iter().filter_map(|(key, value)| value.as_ref().map(|text| (key, text))).collect()
}

fn globs(kind: &CheckKind) -> Vec<(&'static str, &[String])> {
    match kind {
        CheckKind::Fs { path, .. } => alloc::vec![("path", path)],
        CheckKind::Diff { under, except, only_under, .. } => {
            alloc::vec![("under", under), ("except", except), ("only_under", only_under)]
        }
        CheckKind::Git { branch: Some(branch), .. } => {
            alloc::vec![("branch", core::slice::from_ref(branch))]
        }
        CheckKind::Test { tests, .. } => alloc::vec![("tests", tests)],
        CheckKind::Edit { under, except, .. } => {
            alloc::vec![("under", under), ("except", except)]
        }
        CheckKind::Exec { cwd, .. } => alloc::vec![("cwd", cwd)],
        CheckKind::Net { hosts, except, .. } => {
            alloc::vec![("hosts", hosts), ("except", except)]
        }
        CheckKind::Artifact(artifact) => alloc::vec![("path", &artifact.path)],
        CheckKind::Secret(secret) => {
            alloc::vec![("under", &secret.under), ("except", &secret.except)]
        }
        _ => Vec::new(),
    }
}

/// What of a check asks nothing or contradicts itself: key, message, remedy.
fn emptiness(kind: &CheckKind) -> Option<(&'static str, String, &'static str)> {
    let nothing = |remedy| Some(("", String::from("the check asks nothing"), remedy));
    match kind {
        CheckKind::Fs { path, .. } if path.is_empty() => nothing("name a `path`"),
        CheckKind::Fs { is: None, contains: None, lacks: None, .. } => {
            nothing("add `is`, `contains` or `lacks`")
        }
        CheckKind::Fs { is, since: Some(_), .. }
            if !matches!(is, Some(FsState::Changed | FsState::Unchanged)) =>
        {
            Some((
                "since",
                "only `changed` and `unchanged` count from a telling".into(),
                "leave `since` out, or set `is`",
            ))
        }
        CheckKind::Diff {
            files_max: None,
            lines_max: None,
            adds: None,
            adds_none: None,
            removes_none: None,
            only_under,
            ..
        } if only_under.is_empty() => nothing("add a bound, `only_under` or a pattern"),
        CheckKind::Git {
            branch: None,
            commits: None,
            message: None,
            author: None,
            clean: None,
            history_kept: None,
            merges: None,
            ..
        } => nothing("add what must be so of the repository"),
        CheckKind::Git { commits: Some(count), .. }
            if count.min.unwrap_or(0) > count.max.unwrap_or(u32::MAX) =>
        {
            Some(("commits", "`min` is more than `max`".into(), "swap them"))
        }
        CheckKind::Metric { at_most: None, at_least: None, .. } => {
            nothing("add `at_most` or `at_least`")
        }
        CheckKind::Metric { at_most: Some(most), at_least: Some(least), .. } if least > most => {
            Some(("at_least", "`at_least` is more than `at_most`".into(), "swap them"))
        }
        CheckKind::Test { run, .. } if run.is_empty() => nothing("name the program to `run`"),
        CheckKind::Test { timeout_sec: 0, .. } | CheckKind::Script { timeout_sec: 0, .. } => {
            Some(("timeout_sec", "no time is given".into(), "use at least 1"))
        }
        CheckKind::Script { file, .. }
            if file.starts_with('/') || file.split('/').any(|part| part == "..") =>
        {
            Some((
                "file",
                format!("`{file}` leaves the pair's folder"),
                "use a path below it, for instance `checks/opens.py`",
            ))
        }
        CheckKind::Exec { kind: None, argv: None, .. } => nothing("add `kind` or `argv`"),
        CheckKind::Edit { under, .. } if under.is_empty() => nothing("name a path `under`"),
        CheckKind::Message(message) => message_emptiness(message),
        _ => None,
    }
}

fn message_emptiness(message: &MessageCheck) -> Option<(&'static str, String, &'static str)> {
    let asks_something = !message.mentions.is_empty()
        || message.matches.is_some()
        || message.lacks.is_some()
        || message.words_max.is_some()
        || message.words_min.is_some()
        || message.questions_max.is_some()
        || message.code == Codes::None
        || message.list_min.is_some()
        || message.claims.is_some()
        || message.cites_changed_files;
    if !asks_something {
        return Some(("", "the check asks nothing".into(), "add what a message must be like"));
    }
    if message.mentions.iter().any(|word| word.iter().all(|alias| alias.trim().is_empty())) {
        return Some(("mentions", "an entry is empty".into(), "write a word or its aliases"));
    }
    if message.words_min.unwrap_or(0) > message.words_max.unwrap_or(u32::MAX) {
        return Some(("words_min", "`words_min` is more than `words_max`".into(), "swap them"));
    }
    None
}

fn one_line(error: &regex::Error) -> String {
    let text = format!("{error}");
    let last = text.lines().last().unwrap_or_default().trim();
    String::from(last.strip_prefix("error: ").unwrap_or(last))
}
