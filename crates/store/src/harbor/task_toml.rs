//! Reads Harbor's `task.toml` to a typed task: [`read_task_toml`]. What Harbor knows and no session can do is refused
//! by name; which sandbox a task needs is the task's own to say.

use domain::{
    ids::TaskId,
    release::{
        AgentPhase, EnvTable, Package, RewardStrategy, Task, VerifierEnvironment, VerifierPhase,
    },
};

use super::{
    Manner,
    artifacts::{read_artifacts, read_collect},
    environment::{read_env, read_environment, undeclared},
    network::read_phase,
    steps::read_steps,
};
use crate::release_files::sheet::{Table, Value};

const SCHEMA_VERSIONS: [&str; 5] = ["1.0", "1.1", "1.2", "1.3", "1.4"];

/// Reads a whole `task.toml`; instructions and folders are not looked at.
pub(crate) fn read_task_toml(root: Table<'_>, id: TaskId, manner: Manner) -> Option<Task> {
    let schema = read_schema_version(&root, manner);
    // Free by Harbor's own rule.
    let metadata = root.opt("metadata", |value| value.table("[metadata]").map(drop));
    let package = root.opt("task", read_package);
    let source = root.opt("source", Value::text);
    let agent = root.or("agent", AgentPhase::default(), read_agent);
    let verifier =
        root.or("verifier", VerifierPhase::default(), |value| read_verifier(value, manner));
    let environment = match manner {
        Manner::Release => root.req("environment", |value| read_environment(value, manner)),
        Manner::AdHoc => {
            root.or("environment", undeclared(manner), |value| read_environment(value, manner))
        }
    };
    let solution_env = root.or("solution", EnvTable::default(), read_solution);
    let artifacts = root.or("artifacts", Vec::new(), read_artifacts);
    let steps = root.or("steps", Vec::new(), |value| read_steps(value, manner));
    let strategy = root.or("multi_step_reward_strategy", RewardStrategy::Mean, |value| {
        value.word(&[("mean", RewardStrategy::Mean), ("final", RewardStrategy::Final)])
    });
    root.finish();
    schema?;
    metadata?;
    Some(Task {
        package: package?,
        source: source?,
        environment: environment?,
        agent: agent?,
        verifier: verifier?,
        solution_env: solution_env?,
        artifacts: artifacts?,
        steps: steps?,
        reward_strategy: strategy?,
        ..Task::new(id, "")
    })
}

fn read_schema_version(root: &Table<'_>, manner: Manner) -> Option<()> {
    let (current, legacy) = (root.get("schema_version"), root.get("version"));
    if let (Some(_), Some(legacy)) = (&current, &legacy) {
        let remedy = "remove `version`: it is the old name of `schema_version`";
        legacy.problem("the schema's version is given twice", remedy);
        return None;
    }
    let Some(value) = current.or(legacy) else { return Some(()) };
    let version = value.text()?;
    if SCHEMA_VERSIONS.contains(&version.as_str()) {
        return Some(());
    }
    let known = SCHEMA_VERSIONS.join(", ");
    if manner == Manner::AdHoc {
        let message = format!("schema version `{version}` is not known: it is read as the newest");
        value.warning(message, format!("known here: {known}"));
        return Some(());
    }
    let message = format!("schema version `{version}` of task.toml is not supported");
    value.problem(message, format!("use one of {known}"));
    None
}

/// Refuses by name what Harbor knows and this version does not support.
pub(super) fn refuse(table: &Table<'_>, prefix: &str, keys: &[&'static str]) -> Option<()> {
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

fn read_package(value: &Value<'_>) -> Option<Package> {
    let table = value.table("[task]")?;
    let name = table.req("name", |value| {
        let name = value.text()?;
        if !is_package_name(&name) {
            let message = format!("`{name}` is no name of a package");
            value.problem(message, "write `organisation/name` in letters, digits and `._-`");
            return None;
        }
        Some(name)
    });
    let version = table.opt("version", Value::text);
    let description = table.opt("description", Value::text);
    let keywords = table.opt("keywords", Value::any_texts);
    let authors = table.or("authors", Vec::new(), |value| {
        let people = value.tables("an author")?;
        let count = people.len();
        let read = |person: Table<'_>| {
            let name = person.req("name", Value::text);
            let email = person.opt("email", Value::text);
            person.finish();
            name.and(email)
        };
        let read: Vec<_> = people.into_iter().filter_map(read).collect();
        (read.len() == count).then_some(read)
    });
    table.finish();
    description?;
    keywords?;
    authors?;
    Some(Package { name: name?, version: version? })
}

fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            && !part.contains("..")
    };
    name.split_once('/').is_some_and(|(organisation, name)| is_part(organisation) && is_part(name))
}

/// A user's name, or a number.
pub(super) fn read_user(value: &Value<'_>) -> Option<String> {
    if value.is_number() {
        return value.u32().map(|id| id.to_string());
    }
    value.filled_text()
}

fn read_agent(value: &Value<'_>) -> Option<AgentPhase> {
    let table = value.table("[agent]")?;
    let timeout_sec = table.opt("timeout_sec", Value::positive);
    let user = table.opt("user", read_user);
    let network = read_phase(&table);
    table.finish();
    Some(AgentPhase { timeout_sec: timeout_sec?, user: user?, network: network? })
}

fn read_verifier(value: &Value<'_>, manner: Manner) -> Option<VerifierPhase> {
    let table = value.table("[verifier]")?;
    let timeout_sec = table.or("timeout_sec", VerifierPhase::TIMEOUT_SEC, Value::positive);
    let env = table.or("env", EnvTable::default(), read_env);
    let user = table.opt("user", read_user);
    let network = read_phase(&table);
    let collect = table.or("collect", Vec::new(), read_collect);
    let environment = read_verifier_environment(&table, manner);
    table.finish();
    Some(VerifierPhase {
        timeout_sec: timeout_sec?,
        env: env?,
        user: user?,
        network: network?,
        environment: environment?.unwrap_or_default(),
        collect: collect?,
        ..VerifierPhase::default()
    })
}

/// Where a table says that tests run, if it does; the outer none means that it is wrong.
pub(super) fn read_verifier_environment(
    table: &Table<'_>,
    manner: Manner,
) -> Option<Option<VerifierEnvironment>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mode {
        Shared,
        Separate,
    }
    let declared = table.opt("environment", |value| read_environment(value, manner));
    let mode = table.opt("environment_mode", |value| {
        value.word(&[("shared", Mode::Shared), ("separate", Mode::Separate)])
    });
    match (mode?, declared?) {
        (Some(Mode::Shared), Some(_)) => {
            let message = "`verifier.environment` stands beside `environment_mode = \"shared\"`";
            let remedy = "write \"separate\", or remove the table";
            table.problem_at_key("environment_mode", message, remedy);
            None
        }
        (Some(Mode::Shared), None) => Some(Some(VerifierEnvironment::Shared)),
        (None, None) => Some(None),
        (_, declared) => {
            Some(Some(VerifierEnvironment::Separate { declared: declared.map(Box::new) }))
        }
    }
}

fn read_solution(value: &Value<'_>) -> Option<EnvTable> {
    let table = value.table("[solution]")?;
    let env = table.or("env", EnvTable::default(), read_env);
    table.finish();
    env
}
