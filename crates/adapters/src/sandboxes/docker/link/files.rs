//! Files over the link: placements that are sent, trees and looks that come back.

use std::{io, time::Duration};

use domain::{evidence::FileKind, ids::Hash};
use engine::ports::sandbox::{FileEntry, FileNode, SandboxFault};
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;

use super::{
    super::frames::{Answer, Listed, Question, Seen},
    ANSWER_TIMEOUT, FILES_TIMEOUT, Looked,
    connection::Connection,
    streams::Piece,
    unexpected,
};
use crate::sandboxes::supervision::{
    channel::{read_frame, write_frame},
    protocol::{PlacedKind, PlacedNode, Placement},
};

/// Paths in one question.
const PATHS_MAX: usize = 10_000;

fn broken(error: &dyn std::fmt::Display) -> SandboxFault {
    SandboxFault::Lost(error.to_string())
}

/// Places files below a directory.
pub(super) async fn put(
    connection: &Connection,
    directory: &str,
    files: &[FileEntry],
) -> Result<(), SandboxFault> {
    let (placement, bodies) = Placement::of(directory, files);
    place(connection, &placement, &bodies).await
}

/// Places nodes with their bytes.
async fn place(
    connection: &Connection,
    placement: &Placement,
    bodies: &[&[u8]],
) -> Result<(), SandboxFault> {
    let mut head = Vec::new();
    write_frame(&mut head, placement).map_err(|error| broken(&error))?;
    let (asked, content) = connection.ask_with_content(&Question::Put)?;
    let id = asked.id;
    let sent = async {
        let mut content = tokio::io::BufWriter::with_capacity(super::super::frames::BLOCK, content);
        content.write_all(&head).await?;
        for body in bodies {
            content.write_all(body).await?;
        }
        content.shutdown().await
    };
    let Ok(sent) = tokio::time::timeout(FILES_TIMEOUT, sent).await else {
        connection.forget(id);
        return Err(SandboxFault::TimedOut("files were not taken".into()));
    };
    match connection.answer(asked, ANSWER_TIMEOUT).await? {
        Answer::Done(_) => sent.map_err(|error| broken(&error)),
        // It explains why it did not take all of them.
        Answer::Failed(reason) => Err(failed(reason)),
        other => Err(unexpected(&other)),
    }
}

/// A full disk is told apart from everything else.
fn failed(reason: String) -> SandboxFault {
    let is_limit = [libc::ENOSPC, libc::EDQUOT]
        .iter()
        .any(|errno| reason.ends_with(&io::Error::from_raw_os_error(*errno).to_string()));
    if is_limit { SandboxFault::HostLimit(reason) } else { SandboxFault::Lost(reason) }
}

/// All that comes before the answer; none if there is nothing at the path.
async fn content(
    connection: &Connection,
    question: &Question,
) -> Result<Option<Vec<u8>>, SandboxFault> {
    let (asked, mut pieces) = connection.ask_for_content(question)?;
    let id = asked.id;
    let mut content = Vec::new();
    // Each piece is a sign of life.
    loop {
        match tokio::time::timeout(FILES_TIMEOUT, pieces.recv()).await {
            Ok(Some(Piece::Bytes(bytes))) => content.extend_from_slice(&bytes),
            Ok(Some(Piece::Drained)) => {}
            Ok(None) => break,
            Err(_) => {
                connection.forget(id);
                return Err(SandboxFault::TimedOut("files were not read".into()));
            }
        }
    }
    match connection.answer(asked, Duration::from_secs(1)).await? {
        Answer::Sent(true) => Ok(Some(content)),
        Answer::Sent(false) => Ok(None),
        Answer::Failed(reason) => Err(failed(reason)),
        other => Err(unexpected(&other)),
    }
}

/// A sequence of framed documents.
fn documents<T: DeserializeOwned>(content: &[u8]) -> Result<Vec<T>, SandboxFault> {
    let mut rest = content;
    let mut found = Vec::new();
    while !rest.is_empty() {
        found.push(read_frame(&mut rest).map_err(|error| broken(&error))?);
    }
    Ok(found)
}

/// Everything below a path.
pub(super) async fn read(
    connection: &Connection,
    path: &str,
) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
    match content(connection, &Question::Read(path.to_owned())).await? {
        Some(content) => Ok(Some(nodes(&content)?.map_entries())),
        None => Ok(None),
    }
}

/// What stands at these paths, to be placed elsewhere.
pub(super) async fn carry(
    connection: &Connection,
    paths: &[String],
) -> Result<Cargo, SandboxFault> {
    let mut cargo = Cargo::default();
    for part in paths.chunks(PATHS_MAX) {
        let content = content(connection, &Question::Carry(part.to_vec())).await?;
        cargo.nodes.extend(nodes(&content.unwrap_or_default())?.nodes);
    }
    Ok(cargo)
}

/// Places what was carried, after these paths are cleared away.
pub(super) async fn unload(
    connection: &Connection,
    absent: &[String],
    cargo: &Cargo,
) -> Result<(), SandboxFault> {
    let gone = absent.iter().map(|path| PlacedNode {
        path: path.trim_start_matches('/').to_owned(),
        mode: 0,
        kind: PlacedKind::Absent,
        kept: None,
    });
    let nodes = gone.chain(cargo.nodes.iter().map(|(node, _)| node.clone())).collect();
    let bodies: Vec<&[u8]> = cargo.nodes.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    place(connection, &Placement { directory: "/".to_owned(), nodes }, &bodies).await
}

/// Nodes with their bytes, on their way from one sandbox to another.
#[derive(Clone, Debug, Default)]
pub struct Cargo {
    nodes: Vec<(PlacedNode, Vec<u8>)>,
}

impl Cargo {
    /// Only what stands at these absolute paths.
    pub fn only(&self, paths: &[String]) -> Self {
        let wanted: std::collections::HashSet<&str> =
            paths.iter().map(|path| path.trim_start_matches('/')).collect();
        let is_wanted = |(node, _): &&(PlacedNode, Vec<u8>)| wanted.contains(node.path.as_str());
        Self { nodes: self.nodes.iter().filter(is_wanted).cloned().collect() }
    }

    /// The nodes without owners and times.
    pub fn entries(&self) -> Vec<FileEntry> {
        self.clone().map_entries()
    }

    fn map_entries(self) -> Vec<FileEntry> {
        let entry = |(PlacedNode { path, mode, kind, .. }, bytes)| {
            let node = match kind {
                PlacedKind::File(_) => FileNode::File(bytes),
                PlacedKind::Directory => FileNode::Directory,
                PlacedKind::Link(target) => FileNode::Link(target),
                PlacedKind::Absent => FileNode::Absent,
            };
            FileEntry { path, node, mode }
        };
        self.nodes.into_iter().map(entry).collect()
    }
}

fn nodes(content: &[u8]) -> Result<Cargo, SandboxFault> {
    let mut rest = content;
    let mut nodes = Vec::new();
    while !rest.is_empty() {
        let node: PlacedNode = read_frame(&mut rest).map_err(|error| broken(&error))?;
        let mut bytes = Vec::new();
        if let PlacedKind::File(length) = node.kind {
            let Some((content, after)) = rest.split_at_checked(length as usize) else {
                return Err(SandboxFault::Lost(format!("{}: content is missing", node.path)));
            };
            rest = after;
            bytes = content.to_vec();
        }
        nodes.push((node, bytes));
    }
    Ok(Cargo { nodes })
}

/// What stands at these paths.
pub(super) async fn look(
    connection: &Connection,
    paths: &[String],
    origin_ns: i64,
) -> Result<Vec<Option<Looked>>, SandboxFault> {
    let mut found = Vec::with_capacity(paths.len());
    for part in paths.chunks(PATHS_MAX) {
        let content = content(connection, &Question::Look(part.to_vec())).await?;
        let seen = documents::<Option<Seen>>(&content.unwrap_or_default())?;
        if seen.len() != part.len() {
            return Err(SandboxFault::Lost("not every path was looked at".into()));
        }
        found.extend(seen.into_iter().map(|seen| seen.map(|seen| looked(seen, origin_ns))));
    }
    Ok(found)
}

/// What stands below a path.
pub(super) async fn walk(
    connection: &Connection,
    path: &str,
    origin_ns: i64,
) -> Result<Vec<(String, Looked)>, SandboxFault> {
    let content = content(connection, &Question::Walk(path.to_owned())).await?;
    let seen = documents::<(String, Seen)>(&content.unwrap_or_default())?;
    Ok(seen.into_iter().map(|(path, seen)| (path, looked(seen, origin_ns))).collect())
}

/// What these directories hold, other mounts left out; none where there is no directory.
pub(super) async fn list(
    connection: &Connection,
    paths: &[String],
) -> Result<Vec<Option<Vec<Listed>>>, SandboxFault> {
    let mut found = Vec::with_capacity(paths.len());
    for part in paths.chunks(PATHS_MAX) {
        let content = content(connection, &Question::List(part.to_vec())).await?;
        let listed = documents(&content.unwrap_or_default())?;
        if listed.len() != part.len() {
            return Err(SandboxFault::Lost("not every directory was listed".into()));
        }
        found.extend(listed);
    }
    Ok(found)
}

fn looked(seen: Seen, origin_ns: i64) -> Looked {
    let kind = match seen.mode & libc::S_IFMT {
        libc::S_IFREG => FileKind::File,
        libc::S_IFDIR => FileKind::Directory,
        libc::S_IFLNK => FileKind::Link,
        _ => FileKind::Special,
    };
    Looked {
        kind,
        mode: seen.mode & 0o7777,
        uid: seen.uid,
        size: seen.size,
        ctime_ms: (seen.ctime_ns - origin_ns).div_euclid(1_000_000),
        hash: seen.hash.map(Hash::new),
        link_target: seen.link_target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let check = |reason: &str, is_limit: bool| {
            let fault = failed(reason.to_owned());
            assert_eq!(matches!(fault, SandboxFault::HostLimit(_)), is_limit, "{fault}");
        };
        check("/app/x: No space left on device (os error 28)", true);
        check("/app/x: Disk quota exceeded (os error 122)", true);
        check("/app/x: Permission denied (os error 13)", false);
        check("No space left on device (os error 28): /app/x", false);
    }
}
