//! What is mounted in a service: volumes of the session, memory, and files of the task, which are copied.

use std::path::{Path, PathBuf};

use engine::ports::sandbox::{FileEntry, FileNode};
use serde_json::Value;

use super::{
    Folder,
    values::{as_text, size},
};
use crate::sandboxes::docker::services::{
    compose::NO_FOLDER,
    project::{Copied, Mount, Service, VolumeMount},
};

type Mounted = (Option<Mount>, Option<Copied>);

/// A mount, or files in place of one; or why it is refused.
pub(super) fn read_mount(folder: &Folder<'_>, value: &Value) -> Result<Mounted, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(as_text);
    let target = text("target").ok_or("has no target")?;
    let known = ["type", "source", "target", "read_only", "volume", "bind", "tmpfs", "consistency"];
    let odd =
        value.as_object().into_iter().flatten().find(|(key, _)| !known.contains(&key.as_str()));
    if let Some((key, _)) = odd {
        return Err(format!("has `{key}` at {target}, which is not supported"));
    }
    let is_read_only = value.get("read_only") == Some(&Value::Bool(true));
    match text("type").as_deref() {
        Some("volume") => {
            let mut is_empty = false;
            for (key, value) in value.get("volume").and_then(Value::as_object).into_iter().flatten()
            {
                match key.as_str() {
                    "nocopy" => is_empty = value == true,
                    key => {
                        return Err(format!(
                            "has `volume.{key}` at {target}, which is not supported"
                        ));
                    }
                }
            }
            let volume = VolumeMount { name: text("source"), target, is_read_only, is_empty };
            Ok((Some(Mount::Volume(volume)), None))
        }
        Some("tmpfs") => {
            let option = |key: &str| value.get("tmpfs").and_then(|options| options.get(key));
            let mode = option("mode").and_then(Value::as_u64).and_then(|mode| mode.try_into().ok());
            Ok((Some(Mount::Memory { target, bytes: option("size").and_then(size), mode }), None))
        }
        Some("bind") => {
            let source = text("source").unwrap_or_default();
            if source.starts_with(NO_FOLDER) {
                return Ok((None, None));
            }
            let below = folder.below(&source);
            let below = below.ok_or_else(|| format!("mounts {source} of the host"))?;
            let shown = format!("environment/{}", below.display());
            let files = files_of(folder.files, &below);
            let files = files.ok_or_else(|| format!("mounts {shown}, which is not there"))?;
            Ok((None, Some(Copied { source: below, target, files, is_read_only })))
        }
        other => Err(format!("has the type `{}` at {target}", other.unwrap_or_default())),
    }
}

/// `/run:size=1048576,mode=700`, as the engine reads it.
pub(super) fn read_memory(text: &str) -> Option<Mount> {
    let (target, options) = text.split_once(':').unwrap_or((text, ""));
    let (mut bytes, mut mode) = (None, None);
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("size", number)) => bytes = Some(bytes_of(number)?),
            Some(("mode", octal)) => mode = Some(u32::from_str_radix(octal, 8).ok()?),
            _ => return None,
        }
    }
    Some(Mount::Memory { target: target.to_owned(), bytes, mode })
}

fn bytes_of(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_shl(shift)
}

/// A file or folder of the environment as it is to stand at a target.
fn files_of(files: &[FileEntry], source: &Path) -> Option<Vec<FileEntry>> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| matches!(file.node, FileNode::File(_))) {
        if let Ok(rest) = Path::new(&file.path).strip_prefix(source) {
            found.push(FileEntry { path: rest.to_string_lossy().into_owned(), ..file.clone() });
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Each service has a copy of its own, so what one writes the others would not see.
pub(super) fn shared_and_written(services: &[Service]) -> Vec<String> {
    let copies = || services.iter().flat_map(|one| one.copied.iter().map(move |copy| (one, copy)));
    let overlap = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
    let mut refused = Vec::new();
    for (service, copy) in copies().filter(|(_, copy)| !copy.is_read_only) {
        let other = copies()
            .find(|(other, its)| other.name != service.name && overlap(&its.source, &copy.source));
        if let Some((other, _)) = other {
            refused.push(format!(
                "service `{}`: `volumes` mounts environment/{} to be written, which `{}` mounts too: share a volume, or \
                 end both with `:ro`",
                service.name,
                copy.source.display(),
                other.name
            ));
        }
    }
    refused
}
