//! Reads the steps of a task that has several, as far as `task.toml` says them.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    ids::StepId,
    release::{EnvTable, Step, StepPlaced, StepVerifierPhase},
};

use super::{
    Manner,
    artifacts::{read_artifacts, read_collect},
    environment::{read_env, read_healthcheck},
    network::read_phase,
    task_toml::{read_user, read_verifier_environment, refuse},
};
use crate::release_files::sheet::{Table, Value};

/// The key that a bare number of `min_reward` is about.
const REWARD: &str = "reward";

/// Names that some systems keep for devices.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Steps in order; instructions and files are not read here.
pub(super) fn read_steps(value: &Value<'_>, manner: Manner) -> Option<Vec<Step>> {
    let tables = value.tables("a step")?;
    let count = tables.len();
    let mut taken = BTreeSet::new();
    let read = |table: Table<'_>| read_step(table, &mut taken, manner);
    let steps: Vec<Step> = tables.into_iter().filter_map(read).collect();
    (steps.len() == count).then_some(steps)
}

fn read_step(table: Table<'_>, taken: &mut BTreeSet<String>, manner: Manner) -> Option<Step> {
    let name = table.req("name", |value| read_name(value, taken));
    let agent_timeout_sec = table.or("agent", None, read_agent);
    let verifier =
        table.or("verifier", StepVerifierPhase::default(), |value| read_verifier(value, manner));
    let min_reward = table.or("min_reward", BTreeMap::new(), read_min_reward);
    let healthcheck = table.opt("healthcheck", read_healthcheck);
    let artifacts = table.or("artifacts", Vec::new(), read_artifacts);
    table.finish();
    Some(Step {
        name: name?,
        statement: String::new(),
        agent_timeout_sec: agent_timeout_sec?,
        verifier: verifier?,
        min_reward: min_reward?,
        healthcheck: healthcheck?,
        artifacts: artifacts?,
        placed: StepPlaced::Nothing,
    })
}

fn read_name(value: &Value<'_>, taken: &mut BTreeSet<String>) -> Option<StepId> {
    let name = value.filled_text()?;
    let lower = name.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    let is_numbered = |kind: &str| {
        stem.strip_prefix(kind).is_some_and(|rest| rest.len() == 1 && rest != "0")
            && stem.ends_with(|c: char| c.is_ascii_digit())
    };
    let is_device = DEVICES.contains(&stem) || is_numbered("com") || is_numbered("lpt");
    let is_plain = name.len() <= 255
        && !name.starts_with('.')
        && !name.ends_with(['.', ' '])
        && !name.chars().any(|c| c.is_control() || "/\\<>:\"|?*".contains(c));
    if !is_plain || is_device {
        let message = format!("`{name}` cannot name a folder on every system");
        value.problem(message, "name the step in letters, digits, `-` and `_`");
        return None;
    }
    if !taken.insert(lower) {
        value.problem(format!("the step `{name}` stands twice"), "give each step its own name");
        return None;
    }
    Some(StepId::new(name))
}

fn read_agent(value: &Value<'_>) -> Option<Option<f64>> {
    let table = value.table("a step's `agent`")?;
    let timeout_sec = table.opt("timeout_sec", Value::positive);
    let refused = refuse(&table, "steps.agent.", &["user", "network_mode", "allowed_hosts"]);
    table.finish();
    refused?;
    timeout_sec
}

fn read_verifier(value: &Value<'_>, manner: Manner) -> Option<StepVerifierPhase> {
    let table = value.table("a step's `verifier`")?;
    let timeout_sec = table.opt("timeout_sec", Value::positive);
    let env = table.or("env", EnvTable::default(), read_env);
    let user = table.opt("user", read_user);
    let network = read_phase(&table);
    let collect = table.or("collect", Vec::new(), read_collect);
    let environment = read_verifier_environment(&table, manner);
    table.finish();
    Some(StepVerifierPhase {
        timeout_sec: timeout_sec?,
        env: env?,
        user: user?,
        network: network?,
        environment: environment?,
        collect: collect?,
        ..StepVerifierPhase::default()
    })
}

fn read_min_reward(value: &Value<'_>) -> Option<BTreeMap<String, f64>> {
    if !value.is_table() {
        return Some(BTreeMap::from([(REWARD.to_owned(), value.signed()?)]));
    }
    let entries = value.table("min_reward")?.entries();
    let count = entries.len();
    let read = |(key, _, value): (String, _, Value<'_>)| Some((key, value.signed()?));
    let least: BTreeMap<String, f64> = entries.into_iter().filter_map(read).collect();
    (least.len() == count).then_some(least)
}
