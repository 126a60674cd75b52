//! State of files (E1): whether they are there, differ, and what their text holds.

use std::collections::BTreeSet;

use domain::{
    acceptance::checks::Reach,
    evidence::{FileKind, Manifest, ManifestEntry},
    ids::Turn,
    release::FsState,
};
use engine::ports::{
    evidence::{Evidence, StateAt},
    sandbox::{FileNode, SandboxFault},
};
use regex::Regex;

use super::Known;

/// The keys of a check on files; all that are given must hold.
pub(super) struct Demand<'a> {
    pub path: &'a [String],
    pub is: Option<FsState>,
    pub contains: Option<&'a str>,
    pub lacks: Option<&'a str>,
}

pub(super) async fn read(
    demand: &Demand<'_>,
    since: Option<Turn>,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let patterns = [demand.contains, demand.lacks].map(|text| text.map(Regex::new).transpose());
    let [Ok(contains), Ok(lacks)] = patterns else {
        return Ok(Known::unknown("no regular expression"));
    };
    let reach = Reach::new(&evidence.recorded().workdir, demand.path, &[]);
    if let Some(state) = demand.is {
        let known = is(state, &reach, since, evidence).await?;
        if known.truth != domain::acceptance::Truth::True {
            return Ok(known);
        }
    }
    if contains.is_none() && lacks.is_none() {
        return Ok(Known::holds(true, ""));
    }
    text(&reach, contains.as_ref(), lacks.as_ref(), evidence).await
}

async fn is(
    state: FsState,
    reach: &Reach,
    since: Option<Turn>,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    if matches!(state, FsState::Present | FsState::Absent) {
        let found = existing(reach, evidence).await?;
        let is_present = !found.is_empty();
        let witness = found.first().map_or_else(|| "no file fits".into(), Clone::clone);
        return Ok(Known::holds(is_present == (state == FsState::Present), witness));
    }
    let earlier = since.map_or(StateAt::Base, StateAt::After);
    let (Some(earlier), Some(now)) = (evidence.tree(earlier), evidence.tree(StateAt::Look)) else {
        return Ok(Known::unknown("the earlier state was not kept"));
    };
    let changed = changed(earlier, now).into_iter().find(|path| reach.counts(path));
    let is_changed = changed.is_some();
    let witness =
        changed.map_or_else(|| "nothing changed".into(), |path| format!("{path} changed"));
    Ok(Known::holds(is_changed == (state == FsState::Changed), witness))
}

async fn text(
    reach: &Reach,
    contains: Option<&Regex>,
    lacks: Option<&Regex>,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let mut is_contained = contains.is_none();
    for path in existing(reach, evidence).await? {
        let Some((FileNode::File(bytes), _)) = evidence.read(StateAt::Look, &path).await? else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        if let Some(found) = lacks.and_then(|refused| refused.find(&text)) {
            return Ok(Known::holds(false, format!("{path} holds {}", found.as_str())));
        }
        is_contained |= contains.is_some_and(|wanted| wanted.is_match(&text));
    }
    let witness = if is_contained { "" } else { "no file holds it" };
    Ok(Known::holds(is_contained, witness))
}

async fn existing(reach: &Reach, evidence: &dyn Evidence) -> Result<Vec<String>, SandboxFault> {
    let mut found = evidence.list(StateAt::Look, reach.under()).await?;
    found.retain(|path| reach.counts(path));
    Ok(found)
}

/// Files and links that differ between two states of one session.
pub(super) fn changed(earlier: &Manifest, now: &Manifest) -> Vec<String> {
    let paths: BTreeSet<&String> = earlier.entries.keys().chain(now.entries.keys()).collect();
    paths
        .into_iter()
        .filter(|path| {
            let (before, after) = (earlier.entries.get(*path), now.entries.get(*path));
            let is_file = |entry: Option<&ManifestEntry>| {
                entry.is_some_and(|entry| entry.kind != FileKind::Directory)
            };
            // A path that one of them does not list is there as the base has it.
            let is_same = match (before, after) {
                (Some(before), Some(after)) => before.same_content(after),
                _ => false,
            };
            !is_same && (is_file(before) || is_file(after))
        })
        .cloned()
        .collect()
}
