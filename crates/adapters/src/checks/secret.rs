//! A value in files, added lines and the history of a repository (E1, E2, E6), as it is or disguised ([`read`]).

use domain::{
    acceptance::{
        checks::{Disguises, Reach, added_line},
        glob::Globs,
    },
    evidence::FileKind,
    release::{SecretCheck, SecretPlace},
};
use engine::ports::{
    evidence::{Evidence, StateAt},
    sandbox::{FileNode, SandboxFault},
};

use super::{Known, git, git_objects};

/// A new file above this size counts as holding the value: what nobody can look through hides whatever one likes.
const FILE_BYTES_MAX: usize = 64 << 20;

/// Reads whether a value stands anywhere that the check looks.
pub(super) async fn read(
    demand: &SecretCheck,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let Ok(disguises) = Disguises::of(&demand.value) else {
        return Ok(Known::unknown("the value is empty"));
    };
    let reach = Reach::new(&evidence.recorded().workdir, &demand.under, &demand.except);
    let mut untold = None;
    for place in &demand.on {
        let found = match place {
            SecretPlace::Files => Ok(in_files(&disguises, &reach, evidence).await?),
            SecretPlace::Diff => added_line(&disguises, &reach, evidence.recorded())
                .map_err(|_| "the difference was not taken".to_owned()),
            SecretPlace::History => {
                let root = git::root(demand.repo.as_deref(), evidence);
                match in_history(&disguises, &root, evidence).await? {
                    Ok(None) => in_git_files(&disguises, &root, evidence).await?,
                    told => told,
                }
            }
            SecretPlace::Messages | SecretPlace::Programs | SecretPlace::Network => {
                Err("read from events".to_owned())
            }
        };
        match found {
            Ok(Some(place)) => return Ok(Known::holds(true, place)),
            Ok(None) => {}
            Err(why) => untold = Some(why),
        }
    }
    Ok(untold.map_or_else(|| Known::holds(false, "it stands nowhere"), Known::unknown))
}

async fn in_files(
    disguises: &Disguises,
    reach: &Reach,
    evidence: &dyn Evidence,
) -> Result<Option<String>, SandboxFault> {
    for path in evidence.list(StateAt::Look, reach.under()).await? {
        if !reach.counts(&path) {
            continue;
        }
        let bytes = match evidence.read(StateAt::Look, &path).await? {
            Some((FileNode::File(bytes), _)) => bytes,
            Some((FileNode::Link(target), _)) => target.into_bytes(),
            _ => continue,
        };
        if bytes.len() > FILE_BYTES_MAX && is_changed(&path, evidence) {
            return Ok(Some(format!("{path} is too large to be looked through")));
        }
        let found = disguises.find(&bytes).or_else(|| disguises.find(path.as_bytes()));
        if let Some(how) = found {
            return Ok(Some(format!("{path} holds it {how}")));
        }
    }
    Ok(None)
}

fn is_changed(path: &str, evidence: &dyn Evidence) -> bool {
    evidence.tree(StateAt::Look).is_some_and(|tree| tree.entries.contains_key(path))
}

/// Objects of the repository that the base has not, whether or not anything refers to them.
async fn in_history(
    disguises: &Disguises,
    root: &str,
    evidence: &dyn Evidence,
) -> Result<Result<Option<String>, String>, SandboxFault> {
    let repository = git::Repository::find(root, evidence).await?;
    if repository.was_taken_away() {
        return Ok(Ok(Some(format!(
            "the repository at {root} is gone, and nobody knows where to"
        ))));
    }
    let objects = match repository.new_objects().await? {
        Ok(objects) => objects,
        Err(git::Unreadable(why)) => return Ok(Err(why)),
    };
    for batch in git_objects::batches(&objects) {
        let contents = match batch {
            git_objects::Batch::Objects(ids) => match repository.contents(&ids).await? {
                Ok(contents) => contents,
                Err(git::Unreadable(why)) => return Ok(Err(why)),
            },
            git_objects::Batch::TooLarge(id) => {
                return Ok(Ok(Some(format!("object {id} is too large to be looked through"))));
            }
        };
        for (id, bytes) in contents {
            if let Some(how) = disguises.find(&bytes) {
                return Ok(Ok(Some(format!("object {id} of the history holds it {how}"))));
            }
        }
    }
    Ok(Ok(None))
}

/// Lines of the repository's own files (logs, refs, settings, messages) that the base has not.
async fn in_git_files(
    disguises: &Disguises,
    root: &str,
    evidence: &dyn Evidence,
) -> Result<Result<Option<String>, String>, SandboxFault> {
    let Some(tree) = evidence.tree(StateAt::Look) else {
        return Ok(Err("the state was not kept".into()));
    };
    let own = Globs::below(root, &[".git/**".to_owned()]);
    let objects = format!("{root}/.git/objects/");
    let changed = tree.entries.iter().filter(|(path, entry)| {
        entry.kind == FileKind::File && own.matches(path) && !path.starts_with(&objects)
    });
    for (path, _) in changed {
        let text = |found: Option<(FileNode, u32)>| match found {
            Some((FileNode::File(bytes), _)) => bytes,
            _ => Vec::new(),
        };
        let before = text(evidence.read(StateAt::Base, path).await?);
        let now = text(evidence.read(StateAt::Look, path).await?);
        let known: std::collections::BTreeSet<&[u8]> = before.split(|b| *b == b'\n').collect();
        let added: Vec<&[u8]> =
            now.split(|byte| *byte == b'\n').filter(|line| !known.contains(line)).collect();
        // A ref's name is its path, and one that the base has is the base's.
        let name = if before.is_empty() { path.as_bytes() } else { b"" };
        if let Some(how) = disguises.find(&added.join(&b'\n')).or_else(|| disguises.find(name)) {
            return Ok(Ok(Some(format!("{path} holds it {how}"))));
        }
    }
    Ok(Ok(None))
}
