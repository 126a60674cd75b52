//! Keeps a sealed state so that it can be graded again ([`keep`]), and what its verifier printed.

use std::collections::BTreeMap;

use domain::{
    evidence::{FileKind, Manifest},
    ids::Hash,
};

use crate::ports::{
    record::{Blob, Record, RecordError, Seal},
    sandbox::{FileNode, Finished, Sandbox, SandboxFault},
};

/// A file above this size is named in the seal and its content is not kept.
const FILE_MAX: u64 = 64 << 20;

/// Contents of all files together; what comes after is named and not kept.
const SEAL_MAX: u64 = 1 << 30;

/// Keeps the content of every changed regular file and the list of changed paths; answers the list's hash.
///
/// The outer error is the sandbox's, the inner one the record's.
pub(crate) async fn keep(
    sandbox: &dyn Sandbox,
    base: Option<Hash>,
    manifest: &Manifest,
    record: &dyn Record,
) -> Result<Result<Hash, RecordError>, SandboxFault> {
    let mut unkept = BTreeMap::new();
    let mut kept_bytes: u64 = 0;
    for (path, entry) in &manifest.entries {
        let (FileKind::File, Some(hash)) = (entry.kind, &entry.hash) else { continue };
        if entry.size > FILE_MAX || kept_bytes.saturating_add(entry.size) > SEAL_MAX {
            unkept.insert(path.clone(), format!("too big to keep: {} bytes", entry.size));
            continue;
        }
        let found = sandbox.get(path).await?.unwrap_or_default();
        let content = found.into_iter().find_map(|found| match found.node {
            FileNode::File(bytes) if found.path.is_empty() => Some(bytes),
            _ => None,
        });
        let Some(bytes) = content else {
            unkept.insert(path.clone(), "could not be read".to_owned());
            continue;
        };
        match record.put(Blob::Bytes(&bytes)) {
            Ok(kept) if kept == *hash => kept_bytes += entry.size,
            Ok(_) => {
                unkept.insert(path.clone(), "is not what its manifest says".to_owned());
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    let seal = Seal { base, manifest: manifest.clone(), unkept };
    Ok(record.put(Blob::Seal(&seal)))
}

/// What a verifier printed.
pub(crate) fn verifier_output(finished: &Finished) -> Vec<u8> {
    let mut text = finished.stdout.clone();
    if !finished.stderr.is_empty() {
        text.extend_from_slice(b"\n(standard error)\n");
        text.extend_from_slice(&finished.stderr);
    }
    text
}
