//! Reads an environment table of `task.toml`: the agent's, or the one that a verifier has for itself.

use domain::release::{
    EnvTable, Environment, Healthcheck, McpServer, McpTransport, Recipe, WorkdirSource,
};

use super::{Manner, network::read_baseline, size::parse_size_mb, task_toml::refuse};
use crate::release_files::sheet::{Table, Value};

/// An environment of which the folder was not looked at.
pub(super) fn read_environment(value: &Value<'_>, manner: Manner) -> Option<Environment> {
    let table = value.table("[environment]")?;
    let build_timeout_sec =
        table.or("build_timeout_sec", Environment::BUILD_TIMEOUT_SEC, Value::positive);
    let image = table.opt("docker_image", Value::filled_text);
    let cpus = table.opt("cpus", Value::positive);
    let memory_mb = read_size(&table, "memory_mb", "memory", manner);
    let storage_mb = read_size(&table, "storage_mb", "storage", manner);
    let env = table.or("env", EnvTable::default(), read_env);
    let workdir = table.opt("workdir", read_workdir);
    let network = read_baseline(&table, manner);
    let os = table.opt("os", read_os);
    let gpus = table.or("gpus", 0, Value::u32);
    let gpu_types = table.or("gpu_types", Vec::new(), Value::texts);
    let healthcheck = table.opt("healthcheck", read_healthcheck);
    let mcp_servers = table.or("mcp_servers", Vec::new(), read_mcp_servers);
    let skills_dir = table.opt("skills_dir", read_workdir);
    let refused = refuse(&table, "environment.", &["tpu"]);
    table.finish();
    os?;
    refused?;
    let mut environment = Environment {
        image: image?,
        build_timeout_sec: build_timeout_sec?,
        cpus: cpus?.or(undeclared(manner).cpus),
        memory_mb: memory_mb?,
        storage_mb: storage_mb?,
        env: env?,
        network: network?,
        gpus: gpus?,
        gpu_types: gpu_types?,
        healthcheck: healthcheck?,
        mcp_servers: mcp_servers?,
        skills_dir: skills_dir?,
        ..undeclared(manner)
    };
    if let Some(workdir) = workdir? {
        environment.workdir = workdir;
        environment.workdir_said_by = WorkdirSource::Declared;
    }
    Some(environment)
}

/// The environment of a task that has no such table.
pub(super) fn undeclared(manner: Manner) -> Environment {
    let house = Environment { recipes: [].into(), ..Environment::default() };
    match manner {
        Manner::Release => house,
        Manner::AdHoc => {
            Environment { cpus: None, network: domain::release::Network::Public, ..house }
        }
    }
}

/// Adds what the files of the environment's folder say: what it is made from, and its working directory.
pub(crate) fn look_into(
    environment: &mut Environment,
    names: &[&str],
    dockerfile: Option<&str>,
    manner: Manner,
) {
    let recipe = |name: &&str| match *name {
        "setup.sh" => Recipe::Setup,
        "Dockerfile" if dockerfile.is_some_and(is_bare) => Recipe::BareDockerfile,
        "Dockerfile" => Recipe::Dockerfile,
        "docker-compose.yaml" => Recipe::Compose,
        _ => Recipe::Files,
    };
    environment.recipes = names.iter().map(recipe).collect();
    if manner == Manner::Release || environment.workdir_said_by == WorkdirSource::Declared {
        return;
    }
    let is_host = environment.image.is_none()
        && !environment.recipes.iter().any(|recipe| {
            matches!(recipe, Recipe::Dockerfile | Recipe::BareDockerfile | Recipe::Compose)
        });
    let own = dockerfile.filter(|_| environment.image.is_none()).and_then(last_workdir);
    (environment.workdir, environment.workdir_said_by) = match own {
        Some(workdir) => (workdir, WorkdirSource::Dockerfile),
        None if is_host => (Environment::WORKDIR.to_owned(), WorkdirSource::House),
        None => ("/".to_owned(), WorkdirSource::Image),
    };
}

/// Instructions of a Dockerfile with what stands behind them; comments, blank lines and continuations aside.
fn instructions(dockerfile: &str) -> Vec<(String, String)> {
    let mut logical = String::new();
    let mut found = Vec::new();
    for line in dockerfile.lines().map(str::trim) {
        if line.starts_with('#') || (line.is_empty() && logical.is_empty()) {
            continue;
        }
        if let Some(part) = line.strip_suffix('\\') {
            logical.push_str(part);
            logical.push(' ');
            continue;
        }
        logical.push_str(line);
        let whole = std::mem::take(&mut logical);
        let (word, rest) = whole.split_once(char::is_whitespace).unwrap_or((&whole, ""));
        found.push((word.to_uppercase(), rest.trim().to_owned()));
    }
    found
}

/// Whether a Dockerfile names an image and a working directory and does nothing else.
fn is_bare(dockerfile: &str) -> bool {
    let all = instructions(dockerfile);
    let is_plain = |(word, _): &(String, String)| {
        matches!(word.as_str(), "FROM" | "WORKDIR" | "LABEL" | "MAINTAINER" | "ARG")
    };
    let stages = all.iter().filter(|(word, _)| word == "FROM").count();
    stages == 1 && all.iter().all(is_plain)
}

/// The working directory that the last stage ends with, if it says one that can be known without building.
fn last_workdir(dockerfile: &str) -> Option<String> {
    let mut workdir: Option<String> = None;
    for (word, rest) in instructions(dockerfile) {
        match word.as_str() {
            "FROM" => workdir = None,
            "WORKDIR" if rest.contains('$') => return None,
            "WORKDIR" => {
                let path = rest.trim_matches('"').trim_end_matches('/');
                workdir = match path.strip_prefix('/') {
                    Some(_) => Some(path.to_owned()),
                    None if rest.starts_with('/') => Some("/".to_owned()),
                    None => Some(format!("{}/{path}", workdir?.trim_end_matches('/'))),
                };
            }
            _ => {}
        }
    }
    workdir
}

fn read_os(value: &Value<'_>) -> Option<()> {
    let os = value.text()?;
    match os.as_str() {
        "linux" => Some(()),
        "windows" => {
            let message = "Harbor's `environment.os = \"windows\"` is not supported";
            value.problem(message, "leave this task out: its scripts need Windows");
            None
        }
        other => {
            value.unknown_word(other, ["linux"]);
            None
        }
    }
}

/// A size in mebibytes, or the deprecated text of it.
fn read_size(
    table: &Table<'_>,
    key: &'static str,
    legacy: &'static str,
    manner: Manner,
) -> Option<Option<u64>> {
    let size = table.opt(key, Value::u64);
    let remedy = format!("write `{key} = 2048`, a number of mebibytes");
    let old = table.get(legacy).map(|value| {
        if manner == Manner::AdHoc && value.is_number() {
            // Harbor drops a number here and goes on without a limit.
            value.warning(format!("a number for `{legacy}` sets no limit"), remedy.as_str());
            return Some(None);
        }
        let parsed = parse_size_mb(&value.text()?);
        if parsed.is_none() {
            value.problem("no size that Harbor reads", remedy.as_str());
        }
        parsed.map(Some)
    });
    match (size?, old.unwrap_or(Some(None))?) {
        (Some(size), Some(old)) if size != old => {
            let message = format!("`{legacy}` and `{key}` say different things");
            table.problem_at_key(legacy, message, format!("remove `{legacy}`, the old name"));
            None
        }
        (size, old) => Some(size.or(old)),
    }
}

fn read_workdir(value: &Value<'_>) -> Option<String> {
    let workdir = value.filled_text()?;
    if !workdir.starts_with('/') || workdir.split('/').any(|part| part == "..") {
        value.problem("the directory is not absolute", "write it from `/`, without `..`");
        return None;
    }
    Some(workdir)
}

/// A table of environment variables.
pub(super) fn read_env(value: &Value<'_>) -> Option<EnvTable> {
    let table = value.table("env")?;
    let entries = table.entries();
    let count = entries.len();
    let read = |(name, _, value): (String, _, Value<'_>)| Some((name, value.text()?));
    let env: EnvTable = entries.into_iter().filter_map(read).collect();
    (env.0.len() == count).then_some(env)
}

/// A healthcheck with Harbor's defaults.
pub(super) fn read_healthcheck(value: &Value<'_>) -> Option<Healthcheck> {
    let table = value.table("a healthcheck")?;
    let command = table.req("command", Value::filled_text);
    let interval_sec = table.or("interval_sec", 5.0, Value::not_negative);
    let timeout_sec = table.or("timeout_sec", 30.0, Value::positive);
    let start_period_sec = table.or("start_period_sec", 0.0, Value::not_negative);
    let start_interval_sec = table.or("start_interval_sec", 5.0, Value::not_negative);
    let retries = table.or("retries", 3, Value::count);
    table.finish();
    Some(Healthcheck {
        command: command?,
        interval_sec: interval_sec?,
        timeout_sec: timeout_sec?,
        start_period_sec: start_period_sec?,
        start_interval_sec: start_interval_sec?,
        retries: retries?,
    })
}

fn read_mcp_servers(value: &Value<'_>) -> Option<Vec<McpServer>> {
    let tables = value.tables("a server of `environment.mcp_servers`")?;
    let count = tables.len();
    let servers: Vec<McpServer> = tables.into_iter().filter_map(read_mcp_server).collect();
    (servers.len() == count).then_some(servers)
}

fn read_mcp_server(table: Table<'_>) -> Option<McpServer> {
    #[derive(Clone, Copy)]
    enum Kind {
        Sse,
        Http,
        Stdio,
    }
    const KINDS: [(&str, Kind); 4] = [
        ("sse", Kind::Sse),
        ("streamable-http", Kind::Http),
        ("http", Kind::Http),
        ("stdio", Kind::Stdio),
    ];
    let name = table.req("name", Value::filled_text);
    let kind = table.or("transport", Kind::Sse, |value| value.word(&KINDS))?;
    let url = table.opt("url", Value::filled_text);
    let headers = table.or("headers", EnvTable::default(), read_env);
    let command = table.opt("command", Value::filled_text);
    let args = table.or("args", Vec::new(), Value::any_texts);
    let (url, headers, command, args) = (url?, headers?, command?, args?);
    let transport = match (kind, url, command) {
        (Kind::Sse, Some(url), _) => Some(McpTransport::Sse { url, headers }),
        (Kind::Http, Some(url), _) => Some(McpTransport::Http { url, headers }),
        (Kind::Stdio, _, Some(command)) => Some(McpTransport::Stdio { command, args }),
        (Kind::Sse | Kind::Http, None, _) => {
            table.problem("the server lacks `url`", "add `url = …`, its address");
            None
        }
        (Kind::Stdio, _, None) => {
            table.problem("the server lacks `command`", "add `command = …`, its program");
            None
        }
    };
    table.finish();
    Some(McpServer { name: name?, transport: transport? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dockerfiles_say_where_work_is_done() {
        let check = |dockerfile: &str, bare: bool, workdir: Option<&str>| {
            assert_eq!(is_bare(dockerfile), bare, "{dockerfile}");
            assert_eq!(last_workdir(dockerfile).as_deref(), workdir, "{dockerfile}");
        };
        check("FROM debian\n", true, None);
        check("# syntax\nFROM debian\n\nworkdir /app/\n", true, Some("/app"));
        check("FROM debian\nWORKDIR /\n", true, Some("/"));
        check("FROM debian\nWORKDIR /a\nWORKDIR b\n", true, Some("/a/b"));
        check("FROM debian\nWORKDIR \\\n  /a\n", true, Some("/a"));
        check("FROM debian\nWORKDIR $HOME\n", true, None);
        check("FROM debian\nWORKDIR rel\n", true, None);
        check("FROM a AS b\nWORKDIR /x\nFROM c\n", false, None);
        check("FROM debian\nRUN true\nWORKDIR /app\n", false, Some("/app"));
        check("FROM debian\nCOPY . /app\n", false, None);
        check("FROM debian\nRUN echo \\\n# inside\n  WORKDIR /no\n", false, None);
        check("", false, None);
    }
}
