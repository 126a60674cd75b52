//! Reads what is kept beside a result, and the commands that are run before it is taken.

use domain::release::{Artifact, CollectHook, MAIN_SERVICE};

use super::task_toml::read_user;
use crate::release_files::sheet::{Table, Value};

const COLLECT_TIMEOUT_SEC: f64 = 60.0;

/// Artifacts, each a path or a table.
pub(super) fn read_artifacts(value: &Value<'_>) -> Option<Vec<Artifact>> {
    let list = value.list()?;
    let count = list.len();
    let artifacts: Vec<Artifact> = list.iter().filter_map(read_artifact).collect();
    (artifacts.len() == count).then_some(artifacts)
}

/// Hooks in order.
pub(super) fn read_collect(value: &Value<'_>) -> Option<Vec<CollectHook>> {
    let tables = value.tables("a hook of `verifier.collect`")?;
    let count = tables.len();
    let hooks: Vec<CollectHook> = tables.into_iter().filter_map(read_hook).collect();
    (hooks.len() == count).then_some(hooks)
}

fn read_artifact(value: &Value<'_>) -> Option<Artifact> {
    if value.is_text() {
        let source = read_source(value)?;
        let service = MAIN_SERVICE.to_owned();
        return Some(Artifact { source, destination: None, exclude: Vec::new(), service });
    }
    let table = value.table("an artifact")?;
    let source = table.req("source", read_source);
    let destination = table.opt("destination", read_destination);
    let exclude = table.or("exclude", Vec::new(), Value::texts);
    let service = table.or("service", MAIN_SERVICE.to_owned(), Value::filled_text);
    let source_at = table.get("source");
    table.finish();
    let (source, service) = (source?, service?);
    if service != MAIN_SERVICE && !source.starts_with('/') {
        let message = format!("the path `{source}` in service `{service}` is not absolute");
        source_at?.problem(message, "write it from `/`: only `main` has a working directory");
        return None;
    }
    Some(Artifact { source, destination: destination?, exclude: exclude?, service })
}

fn read_source(value: &Value<'_>) -> Option<String> {
    let source = value.filled_text()?;
    if source.split('/').any(|part| part == "..") {
        let message = format!("the path `{source}` leads outside");
        value.problem(message, "write it without `..`");
        return None;
    }
    Some(source)
}

fn read_destination(value: &Value<'_>) -> Option<String> {
    const MANIFEST: &str = "manifest.json";
    let destination = value.filled_text()?;
    let is_outside = destination.starts_with('/')
        || destination.contains('\\')
        || destination.split('/').any(|part| part == "..");
    if is_outside {
        let message = format!("the destination `{destination}` leads outside");
        value.problem(message, "write a relative path with forward slashes, without `..`");
        return None;
    }
    if destination == MANIFEST {
        value.problem("the list of artifacts has that name", "choose another name");
        return None;
    }
    Some(destination)
}

fn read_hook(table: Table<'_>) -> Option<CollectHook> {
    let command = table.req("command", Value::filled_text);
    let service = table.or("service", MAIN_SERVICE.to_owned(), Value::filled_text);
    let timeout_sec = table.or("timeout_sec", COLLECT_TIMEOUT_SEC, Value::positive);
    let user = table.opt("user", read_user);
    table.finish();
    Some(CollectHook {
        command: command?,
        service: service?,
        timeout_sec: timeout_sec?,
        user: user?,
    })
}
