//! Reads Harbor's `task.toml`, the part that is supported: [`TaskSettings`]; every other key is refused by name.

use domain::release::{EnvTable, Environment, VerifierPhase, WorkdirSource};

use super::size::parse_size_mb;
use crate::release_files::sheet::{Table, Value};

/// What `task.toml` says, defaults worked in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskSettings {
    pub(crate) environment: Environment,
    pub(crate) agent_timeout_sec: Option<f64>,
    pub(crate) verifier_timeout_sec: f64,
    pub(crate) verifier_env: EnvTable,
    pub(crate) solution_env: EnvTable,
}

const SCHEMA_VERSIONS: [&str; 5] = ["1.0", "1.1", "1.2", "1.3", "1.4"];

/// Reads a whole `task.toml`.
pub(crate) fn read_task_toml(root: Table<'_>) -> Option<TaskSettings> {
    let schema = read_schema_version(&root);
    // Both are free: metadata by Harbor's own rule, the package's description because nothing depends on it.
    let metadata = root.opt("metadata", |value| value.table("[metadata]").map(drop));
    let package = root.opt("task", |value| value.table("[task]").map(drop));
    let source = root.opt("source", Value::text);
    let agent = root.or("agent", None, read_agent);
    let default = (VerifierPhase::TIMEOUT_SEC, EnvTable::default());
    let verifier = root.or("verifier", default, read_verifier);
    let environment = root.req("environment", read_environment);
    let solution_env = root.or("solution", EnvTable::default(), read_solution);
    let known = ["artifacts", "steps", "multi_step_reward_strategy"];
    let refused = refuse(&root, "", &known);
    root.finish();
    schema?;
    metadata?;
    package?;
    source?;
    refused?;
    let ((verifier_timeout_sec, verifier_env), environment) = (verifier?, environment?);
    Some(TaskSettings {
        environment,
        agent_timeout_sec: agent?,
        verifier_timeout_sec,
        verifier_env,
        solution_env: solution_env?,
    })
}

fn read_schema_version(root: &Table<'_>) -> Option<()> {
    let (current, legacy) = (root.get("schema_version"), root.get("version"));
    if let (Some(_), Some(legacy)) = (&current, &legacy) {
        let remedy = "remove `version`: it is the old name of `schema_version`";
        legacy.problem("the schema's version is given twice", remedy);
        return None;
    }
    let Some(value) = current.or(legacy) else { return Some(()) };
    let version = value.text()?;
    if !SCHEMA_VERSIONS.contains(&version.as_str()) {
        let message = format!("schema version `{version}` of task.toml is not supported");
        value.problem(message, format!("use one of {}", SCHEMA_VERSIONS.join(", ")));
        return None;
    }
    Some(())
}

/// Refuses by name what Harbor knows and this version does not support.
fn refuse(table: &Table<'_>, prefix: &str, keys: &[&'static str]) -> Option<()> {
    let mut none_given = true;
    for key in keys {
        if table.get(key).is_some() {
            none_given = false;
            let message = format!("Harbor's key `{prefix}{key}` is not supported by this version");
            let remedy =
                "remove it, or leave this task out: without it the task means something else";
            table.problem_at_key(key, message, remedy);
        }
    }
    none_given.then_some(())
}

fn read_agent(value: &Value<'_>) -> Option<Option<f64>> {
    let table = value.table("[agent]")?;
    let timeout_sec = table.opt("timeout_sec", Value::positive);
    let refused = refuse(&table, "agent.", &["user", "network_mode", "allowed_hosts"]);
    table.finish();
    refused?;
    timeout_sec
}

fn read_verifier(value: &Value<'_>) -> Option<(f64, EnvTable)> {
    let table = value.table("[verifier]")?;
    let timeout_sec = table.or("timeout_sec", VerifierPhase::TIMEOUT_SEC, Value::positive);
    let env = table.or("env", EnvTable::default(), read_env);
    let mode = table.opt("environment_mode", |value| {
        let mode = value.text()?;
        if mode != "shared" {
            let message = format!(
                "Harbor's `verifier.environment_mode = \"{mode}\"` is not supported by this version"
            );
            value.problem(message, "write \"shared\" or leave the task out");
        }
        (mode == "shared").then_some(())
    });
    let known = ["user", "environment", "collect", "network_mode", "allowed_hosts"];
    let refused = refuse(&table, "verifier.", &known);
    table.finish();
    mode?;
    refused?;
    Some((timeout_sec?, env?))
}

fn read_solution(value: &Value<'_>) -> Option<EnvTable> {
    let table = value.table("[solution]")?;
    let env = table.or("env", EnvTable::default(), read_env);
    table.finish();
    env
}

fn read_environment(value: &Value<'_>) -> Option<Environment> {
    let table = value.table("[environment]")?;
    let build_timeout_sec =
        table.or("build_timeout_sec", Environment::BUILD_TIMEOUT_SEC, Value::positive);
    let cpus = table.or("cpus", 1.0, Value::positive);
    let memory_mb = read_size(&table, "memory_mb", "memory");
    let storage_mb = read_size(&table, "storage_mb", "storage");
    let env = table.or("env", EnvTable::default(), read_env);
    let workdir = table.opt("workdir", read_workdir);
    let network = read_network(&table);
    let os = table.opt("os", |value| value.word(&[("linux", ())]));
    let gpus = table.opt("gpus", |value| {
        let count = value.u32()?;
        if count > 0 {
            value.problem("GPUs are not supported by this version", "leave this task out");
        }
        (count == 0).then_some(())
    });
    let known = ["docker_image", "gpu_types", "tpu", "mcp_servers", "skills_dir", "healthcheck"];
    let refused = refuse(&table, "environment.", &known);
    table.finish();
    network?;
    os?;
    gpus?;
    refused?;
    let mut environment = Environment {
        build_timeout_sec: build_timeout_sec?,
        cpus: Some(cpus?),
        memory_mb: memory_mb?,
        storage_mb: storage_mb?,
        env: env?,
        ..Environment::default()
    };
    if let Some(workdir) = workdir? {
        environment.workdir = workdir;
        environment.workdir_said_by = WorkdirSource::Declared;
    }
    Some(environment)
}

/// A size in mebibytes, or the deprecated text of it.
fn read_size(table: &Table<'_>, key: &'static str, legacy: &'static str) -> Option<Option<u64>> {
    let size = table.opt(key, Value::u64);
    let old = table.opt(legacy, |value| {
        let parsed = parse_size_mb(&value.text()?);
        if parsed.is_none() {
            let remedy = format!("write `{key} = 2048`, a number of mebibytes");
            value.problem("no size that Harbor reads", remedy);
        }
        parsed
    });
    match (size?, old?) {
        (Some(size), Some(old)) if size != old => {
            let message = format!("`{legacy}` and `{key}` say different things");
            table.problem_at_key(legacy, message, format!("remove `{legacy}`, the old name"));
            None
        }
        (size, old) => Some(size.or(old)),
    }
}

/// Sandboxes of this version have no network, so a task that needs one is refused.
fn read_network(table: &Table<'_>) -> Option<()> {
    const REMEDY: &str = "write `network_mode = \"no-network\"` if the task needs no network";
    let (mode, legacy) = (table.get("network_mode"), table.get("allow_internet"));
    let hosts = refuse(table, "environment.", &["allowed_hosts"]);
    match (mode, legacy) {
        (Some(mode), _) => {
            let text = mode.text()?;
            if text != "no-network" {
                mode.problem(
                    format!("network mode `{text}` is not supported by this version"),
                    REMEDY,
                );
                return None;
            }
        }
        (None, Some(legacy)) => {
            if legacy.bool()? {
                legacy.problem("a task with internet is not supported by this version", REMEDY);
                return None;
            }
        }
        (None, None) => {
            table.problem(
                "a task without `network_mode` has the public network, which is not supported by this version",
                REMEDY,
            );
            return None;
        }
    }
    hosts
}

fn read_workdir(value: &Value<'_>) -> Option<String> {
    let workdir = value.filled_text()?;
    if !workdir.starts_with('/') || workdir.split('/').any(|part| part == "..") {
        value.problem("the working directory is not absolute", "write it from `/`, without `..`");
        return None;
    }
    Some(workdir)
}

fn read_env(value: &Value<'_>) -> Option<EnvTable> {
    let table = value.table("env")?;
    let entries = table.entries();
    let count = entries.len();
    let read = |(name, _, value): (String, _, Value<'_>)| Some((name, value.text()?));
    let env: EnvTable = entries.into_iter().filter_map(read).collect();
    (env.0.len() == count).then_some(env)
}
