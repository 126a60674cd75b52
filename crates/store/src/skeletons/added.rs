//! Adds a requirement to a pair that exists ([`add_requirement`]): text is put in, what stands there stays to the letter.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use domain::{
    ids::RequirementId,
    release::{CounterexampleKind, Pair},
};
use thiserror::Error;

use super::{
    PlaceError, SkeletonFile,
    kinds::{CHECK, MET, MISSED, REQUIREMENT, filled, requirement_file},
    place,
};
use crate::{
    layout::release_files as names,
    release_files::{Problems, read_pair, read_script},
    write_once::replace_file,
};

/// What adding a requirement changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementAdded {
    /// Files that got a block: the pair's, and each script that must meet the requirement.
    pub changed: Vec<PathBuf>,
    /// Its saboteur, which is new.
    pub saboteur: PathBuf,
}

/// Why a requirement was not added; nothing was written then.
#[derive(Debug, Error)]
pub enum AddError {
    /// The folder holds no pair.
    #[error("`{}` is no folder of a pair: {source}; name one, for instance `my-release/pairs/PAIR`", folder.display())]
    NoPair {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the pair is wrong already.
    #[error("`{}` has to be mended before something is added to it\n{problems}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problems: Box<Problems>,
    },
    /// The pair has a requirement or a check of that name.
    #[error("the pair has {what} already: choose another name")]
    Taken {
        /// What has the name.
        what: String,
    },
    /// The pair's file is written in a way that text cannot be added to.
    #[error("nothing can be added to `{}` as it is written; put this into it by hand:\n\n{block}", path.display())]
    ByHand {
        /// The file.
        path: PathBuf,
        /// What to put there.
        block: String,
    },
    /// A new file could not be placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file could not be changed.
    #[error("`{}` cannot be changed: {source}", path.display())]
    Change {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Adds the skeleton of a requirement to the pair in `folder`: its block and its check, a block that meets it to the
/// oracle and to every other script of the pair, and its saboteur, which is the oracle without that block.
pub fn add_requirement(folder: &Path, id: &str) -> Result<RequirementAdded, AddError> {
    let path = folder.join(names::PAIR);
    let text = fs::read_to_string(&path)
        .map_err(|source| AddError::NoPair { folder: folder.to_owned(), source })?;
    let file = requirement_file(id);
    let words = [("requirement", id), ("file", file.as_str())];
    let pair = with_requirement(&path, &text, id, &words)?;
    let met = filled(MET, &words);
    let mut edits = vec![(path, pair)];
    for script in scripts(folder) {
        edits.push(with_block(script, &met)?);
    }
    let oracle = fs::read_to_string(folder.join(names::ORACLE)).unwrap_or_default();
    let saboteur = SkeletonFile {
        path: names::counterexample(CounterexampleKind::Saboteur, id),
        text: joined(&oracle, &filled(MISSED, &words)),
        is_executable: false,
    };
    let new = folder.join(&saboteur.path);
    place(folder, &[saboteur])?;
    for (path, text) in &edits {
        replace_file(path, text.as_bytes())
            .map_err(|source| AddError::Change { path: path.clone(), source })?;
    }
    Ok(RequirementAdded {
        changed: edits.into_iter().map(|(path, _)| path).collect(),
        saboteur: new,
    })
}

/// The pair's text with the new requirement and its check; read again, it must say just that much more.
fn with_requirement(
    path: &Path,
    text: &str,
    id: &str,
    words: &[(&str, &str)],
) -> Result<String, AddError> {
    let shown = path.display().to_string();
    let (before, spans) = read_pair(&shown, text).map_err(|problems| AddError::Broken {
        path: path.to_owned(),
        problems: problems.into(),
    })?;
    let check = filled(CHECK, words);
    let requirement = filled(REQUIREMENT, words);
    let name = format!("{id}_file");
    if before.requirement(&RequirementId::new(id)).is_some() {
        return Err(AddError::Taken { what: format!("a requirement `{id}`") });
    }
    if before.checks.iter().any(|check| check.id.as_str() == name) {
        return Err(AddError::Taken { what: format!("a check `{name}`") });
    }
    let with_check = match end_of_checks(text, &spans) {
        Some(at) => [&text[..at], &check, &text[at..]].concat(),
        None => joined(text, &["[check]\n", &check].concat()),
    };
    let whole = joined(&with_check, &requirement);
    let is_just_more = |after: &Pair| {
        let mut without = after.clone();
        let requirement = without.requirements.pop();
        without.checks.retain(|check| check.id.as_str() != name);
        requirement.is_some_and(|added| added.id.as_str() == id) && without == before
    };
    match read_pair(&shown, &whole) {
        Ok((after, _)) if is_just_more(&after) => Ok(whole),
        _ => {
            let block = ["[check]\n", &check, "\n", &requirement].concat();
            Err(AddError::ByHand { path: path.to_owned(), block })
        }
    }
}

/// Where another line of `[check]` goes: after the line on which its last entry ends.
fn end_of_checks(text: &str, places: &BTreeMap<String, Range<usize>>) -> Option<usize> {
    let is_entry = |key: &str| key.strip_prefix("check.").is_some_and(|name| !name.contains('.'));
    let end = places.iter().filter(|(key, _)| is_entry(key)).map(|(_, span)| span.end).max()?;
    Some(text[end..].find('\n').map_or(text.len(), |at| end + at + 1))
}

/// The scripts of a pair that meet every requirement but their own.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.join(names::ORACLE)];
    for kind in CounterexampleKind::ALL {
        let Ok(entries) = fs::read_dir(folder.join(names::counterexamples(kind))) else { continue };
        found.extend(entries.flatten().map(|entry| entry.path()));
    }
    found.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "toml"));
    found.sort();
    found
}

fn with_block(path: PathBuf, block: &str) -> Result<(PathBuf, String), AddError> {
    let read = |text: &str| read_script(&path.display().to_string(), text);
    let text = fs::read_to_string(&path)
        .map_err(|source| AddError::Change { path: path.clone(), source })?;
    let whole = joined(&text, block);
    match read(&text).and_then(|_| read(&whole)) {
        Ok(_) => Ok((path, whole)),
        Err(problems) => Err(AddError::Broken { path, problems: problems.into() }),
    }
}

fn joined(text: &str, block: &str) -> String {
    if text.is_empty() {
        return block.to_owned();
    }
    [text.trim_end(), "\n\n", block].concat()
}
