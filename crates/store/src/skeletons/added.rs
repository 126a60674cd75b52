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
    kinds::{CHECK, MET, MISSED, REQUIREMENT, SABOTEUR, filled, requirement_file},
    place,
};
use crate::{
    layout::release_files as names,
    release_files::{Problems, read_pair, read_script},
    write_once::Beside,
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
    /// A file of the pair is a symbolic link; a release holds regular files alone.
    #[error("`{}` is a symbolic link: put the file itself there", .0.display())]
    Link(PathBuf),
    /// A file of the pair is no text.
    #[error("`{}`:{line}: the text is not UTF-8: save the file as UTF-8", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that is not, from 1.
        line: usize,
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
    if let Err(source) = path.symlink_metadata() {
        return Err(AddError::NoPair { folder: folder.to_owned(), source });
    }
    let text = text_of(&path)?;
    let file = requirement_file(id);
    let words = [("requirement", id), ("file", file.as_str())];
    let pair = with_requirement(&path, &text, id, &words)?;
    let met = filled(MET, &words);
    let mut edits = vec![(path, pair)];
    for script in scripts(folder) {
        edits.push(with_block(script, &met)?);
    }
    let oracle = folder.join(names::ORACLE);
    let oracle = if oracle.exists() { text_of(&oracle)? } else { String::new() };
    let saboteur = SkeletonFile {
        path: names::counterexample(CounterexampleKind::Saboteur, id),
        text: saboteur(&oracle, &words),
        is_executable: false,
    };
    let new = folder.join(&saboteur.path);
    let mut prepared = Vec::new();
    for (path, text) in edits {
        match Beside::write(&path, text.as_bytes()) {
            Ok(beside) => prepared.push((path, beside)),
            Err(source) => return Err(AddError::Change { path, source }),
        }
    }
    place(folder, &[saboteur])?;
    let mut changed = Vec::new();
    for (path, beside) in prepared {
        match beside.replace() {
            Ok(()) => changed.push(path),
            Err(source) => return Err(AddError::Change { path, source }),
        }
    }
    Ok(RequirementAdded { changed, saboteur: new })
}

/// The oracle without the block that meets the requirement, and with a head that says so.
fn saboteur(oracle: &str, words: &[(&str, &str)]) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let head = oracle.split_inclusive('\n').take_while(is_comment);
    let rest = &oracle[head.clone().map(str::len).sum::<usize>()..];
    let canary: String = head.filter(|line| line.to_lowercase().contains("canary")).collect();
    let whole = [&canary, &with_ends_of(oracle, &filled(SABOTEUR, words)), rest].concat();
    joined(&whole, &filled(MISSED, words))
}

/// The text of a file of a pair.
fn text_of(path: &Path) -> Result<String, AddError> {
    let change = |source| AddError::Change { path: path.to_owned(), source };
    if path.symlink_metadata().map_err(change)?.is_symlink() {
        return Err(AddError::Link(path.to_owned()));
    }
    String::from_utf8(fs::read(path).map_err(change)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        AddError::NoText { path: path.to_owned(), line }
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
        Some(at) => [&text[..at], &with_ends_of(text, &check), &text[at..]].concat(),
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
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    found.retain(|path| is_there(path) && path.extension().is_some_and(|end| end == "toml"));
    found.sort();
    found
}

fn with_block(path: PathBuf, block: &str) -> Result<(PathBuf, String), AddError> {
    let read = |text: &str| read_script(&path.display().to_string(), text);
    let text = text_of(&path)?;
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
    let more = ["\n\n", block].concat();
    [text.trim_end(), &with_ends_of(text, &more)].concat()
}

/// Lines of ours with the ends that the lines of a file have.
fn with_ends_of(text: &str, lines: &str) -> String {
    if text.contains("\r\n") { lines.replace('\n', "\r\n") } else { lines.to_owned() }
}
