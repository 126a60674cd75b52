//! Reads `pairs/<pair>/pair.toml` into a [`Pair`].

use std::{collections::BTreeMap, ops::Range};

use domain::{
    ids::{PairId, PersonaId, SuiteId, TaskId},
    release::{
        Budget, Check, CompletionRule, Need, Pair, PairEnvironment, Requirement, VerifyMode,
    },
};

use super::{
    checks::read_checks,
    persona::{read_facts, read_permissions_over, read_topics},
    problem::Problems,
    requirement,
    sheet::{Sheet, Table, Value},
};

const NEEDS: [(&str, Need); 4] = [
    ("image", Need::Image),
    ("docker", Need::Docker),
    ("root", Need::Root),
    ("network", Need::Network),
];

const VERIFY_MODES: [(&str, VerifyMode); 2] =
    [(VerifyMode::Fresh.name(), VerifyMode::Fresh), (VerifyMode::Live.name(), VerifyMode::Live)];

/// Reads the text of a pair file, with the place of each key by its path; `file` is how problems name it.
pub(crate) fn read_pair(
    file: &str,
    text: &str,
) -> Result<(Pair, BTreeMap<String, Range<usize>>), Problems> {
    let sheet = Sheet::new(file, text);
    let pair = sheet.read("a pair", read);
    let mut problems = Problems::default();
    let places = sheet.finish(&mut problems);
    problems.or(pair).map(|pair| (pair, places))
}

/// Reads a whole pair file. What `[completion]` leaves open (`paths`), and the scripts
/// beside the file, stay empty here.
pub(crate) fn read(root: Table<'_>) -> Option<Pair> {
    let id = root.req("id", Value::filled_text);
    let suite = root.req("suite", Value::filled_text);
    let persona = root.req("persona", Value::filled_text);
    let task = root.req("task", Value::filled_text);
    let needs = root.or("needs", Vec::new(), |value| value.words(&NEEDS));
    let budget = root.or("budget", Budget::default(), read_budget);
    let completion = root.or("completion", default_completion(), read_completion);
    let environment = root.or("environment", default_environment(), read_environment);
    let permissions = root.or("permissions", Vec::new(), read_permissions_over);
    let topics = root.or("topics", Vec::new(), read_topics);
    let knows = root.or("knows", Vec::new(), read_facts);
    let checks = root.or("check", (Vec::new(), true), read_checks);
    let known = checks.as_ref().map_or(&[][..], |(checks, _)| checks);
    let requirements = root.or("requirement", Vec::new(), |value| read_requirements(value, known));
    root.finish();
    let (checks, complete) = checks?;
    if !complete {
        return None;
    }
    Some(Pair {
        id: PairId::new(id?),
        suite: SuiteId::new(suite?),
        persona: PersonaId::new(persona?),
        task: TaskId::new(task?),
        needs: needs?,
        budget: budget?,
        completion: completion?,
        environment: environment?,
        permissions: permissions?,
        topics: topics?,
        knows: knows?,
        checks,
        requirements: requirements?,
        counterexamples: Vec::new(),
    })
}

fn read_requirements(value: &Value<'_>, checks: &[Check]) -> Option<Vec<Requirement>> {
    let tables = value.tables("[[requirement]]")?;
    let count = tables.len();
    let requirements: Vec<Requirement> =
        tables.into_iter().filter_map(|table| requirement::read(table, checks)).collect();
    (requirements.len() == count).then_some(requirements)
}

fn read_budget(value: &Value<'_>) -> Option<Budget> {
    let table = value.table("[budget]")?;
    let turns = table.opt("turns", Value::count);
    let agent_time_sec = table.opt("agent_time_sec", Value::positive);
    let tokens = table.opt("tokens", Value::u64);
    let cost_usd = table.opt("cost_usd", Value::positive);
    table.finish();
    Some(Budget {
        turns: turns?,
        agent_time_sec: agent_time_sec?,
        tokens: tokens?,
        cost_microusd: cost_usd?.map(|usd| (usd * 1_000_000.0).round() as u64),
    })
}

fn default_completion() -> CompletionRule {
    CompletionRule {
        key: "reward".to_owned(),
        at_least: 1.0,
        verify: VerifyMode::default(),
        paths: Vec::new(),
    }
}

fn read_completion(value: &Value<'_>) -> Option<CompletionRule> {
    let table = value.table("[completion]")?;
    let default = default_completion();
    let key = table.or("key", default.key, Value::filled_text);
    let at_least = table.or("at_least", default.at_least, Value::number);
    let verify = table.or("verify", default.verify, |value| value.word(&VERIFY_MODES));
    let paths = table.or("paths", default.paths, read_absolute_paths);
    table.finish();
    Some(CompletionRule { key: key?, at_least: at_least?, verify: verify?, paths: paths? })
}

fn read_absolute_paths(value: &Value<'_>) -> Option<Vec<String>> {
    let paths = value.texts()?;
    let mut all_absolute = true;
    for path in &paths {
        if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
            all_absolute = false;
            let message = format!("`{path}` is not an absolute path of the sandbox");
            value.problem(message, "write it from `/`, without `..`");
        }
    }
    all_absolute.then_some(paths)
}

fn default_environment() -> PairEnvironment {
    let sandboxes = vec!["local".to_owned(), "docker".to_owned()];
    PairEnvironment { sandboxes, host: Vec::new() }
}

fn read_environment(value: &Value<'_>) -> Option<PairEnvironment> {
    let table = value.table("[environment]")?;
    let default = default_environment();
    let sandboxes = table.or("sandboxes", default.sandboxes, Value::texts);
    let host = table.or("host", default.host, Value::texts);
    table.finish();
    Some(PairEnvironment { sandboxes: sandboxes?, host: host? })
}
