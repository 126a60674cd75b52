//! How a service is built, and what of its deployment counts in a session.

use serde_json::Value;

use super::{
    Folder,
    values::{as_env, as_number, as_text, size},
};
use crate::sandboxes::docker::services::project::{Dockerfile, Recipe, Service};

/// Keys of a build that say nothing about what is built.
const WITHOUT_MEANING: [&str; 6] = ["cache_from", "cache_to", "labels", "no_cache", "pull", "tags"];

/// A recipe, or why the build is refused.
pub(super) fn read_build(folder: &Folder<'_>, value: &Value) -> Result<Recipe, String> {
    let mut recipe = Recipe::default();
    for (key, value) in value.as_object().into_iter().flatten() {
        let odd = || format!("has an odd `{key}`");
        let text = || value.as_str().map(as_text).ok_or_else(odd);
        match key.as_str() {
            "context" => {
                let context = text()?;
                let below = folder.below(&context);
                recipe.context =
                    below.ok_or_else(|| format!("begins at {context}, outside the task"))?;
            }
            "dockerfile" => recipe.dockerfile = Dockerfile::Path(text()?),
            "dockerfile_inline" => recipe.dockerfile = Dockerfile::Text(text()?),
            "args" => recipe.args = as_env(value).ok_or_else(odd)?,
            "target" => recipe.target = Some(text()?),
            key if WITHOUT_MEANING.contains(&key) || value.is_null() => {}
            key => return Err(format!("has `{key}`, which is not supported")),
        }
    }
    if let Dockerfile::Path(path) = &recipe.dockerfile {
        let whole = recipe.context.join(path);
        // The Dockerfile of the environment's folder itself is kept apart from the other files.
        let is_there = folder.path.join(&whole).is_file();
        let leads_out = path.split('/').any(|part| part == "..") || path.starts_with('/');
        if !is_there || leads_out {
            return Err(format!("names environment/{}, which is not there", whole.display()));
        }
    }
    Ok(recipe)
}

/// Limits and the number of containers; none if it asks for more.
pub(super) fn read_deploy(value: &Value, into: &mut Service) -> Option<()> {
    for (key, value) in value.as_object()? {
        match key.as_str() {
            "resources" => read_resources(value, into)?,
            "replicas" => (value == 1).then_some(())?,
            "placement" if value.as_object().is_some_and(serde_json::Map::is_empty) => {}
            "labels" => {}
            _ => return None,
        }
    }
    Some(())
}

fn read_resources(value: &Value, into: &mut Service) -> Option<()> {
    for (kind, values) in value.as_object()? {
        for (key, value) in values.as_object()? {
            match (kind.as_str(), key.as_str()) {
                ("limits", "memory") => into.memory_bytes = Some(size(value)?),
                ("limits", "cpus") => into.cpus = Some(as_number(value)?),
                ("limits", "pids") => into.processes_max = Some(value.as_i64()?),
                // Promises of a cluster: a single host has nothing to set aside.
                ("reservations", "memory" | "cpus") => {}
                _ => return None,
            }
        }
    }
    Some(())
}
