//! The page of runs: every attempt told once, then the overview that leads to them ([`one_file`], [`folder`]).

use std::{
    fs,
    path::{Path, PathBuf},
};

use domain::{
    ids::{PairId, Repeat},
    plan::{Plan, scored},
    result::SessionResult,
};
use report::{
    context::{DeclaredPair, PageContext, RunFacts, SessionEntry, SessionRow},
    render::html::{self, Place, SessionPage},
};
use store::{reader::RunReader, release_files::LoadedRelease};

use crate::{
    attempts::{Attempt, read_failure},
    failure::Failure,
    tables::Tables,
    told::told,
};

/// Stories of one file together: mail servers take attachments of this size, and browsers open it at once.
const FILE_MAX: usize = 20 << 20;

/// Where the stories of a folder lie, beside its index.
const STORIES: &str = "stories";

/// What was read of one run while its sessions were told.
struct ToldRun {
    facts: RunFacts,
    attempts: Vec<(PairId, Repeat, SessionEntry)>,
    pairs: Vec<DeclaredPair>,
    canary: String,
}

/// Everything in one file. Stories beyond [`FILE_MAX`] are left out, which the page says.
pub fn one_file(tables: &Tables) -> Result<String, Failure> {
    let mut stories = Vec::new();
    let mut room = FILE_MAX;
    let context = tell(tables, Place::SameFile, |session, _| {
        let section = html::story_section(session);
        let fits = section.len() <= room;
        room = if fits { room - section.len() } else { 0 };
        if fits {
            stories.push(section);
        }
        Ok(fits)
    })?;
    Ok(html::page(&context, &stories))
}

/// An index with a page for each session, into a folder; answers the index.
pub fn folder(tables: &Tables, into: &Path) -> Result<PathBuf, Failure> {
    let stories = into.join(STORIES);
    fs::create_dir_all(&stories).map_err(|error| unwritten(&stories, &error))?;
    let context = tell(tables, Place::Folder(STORIES), |session, canary| {
        let file = stories.join(format!("{}.html", session.id));
        write(&file, &html::story_page(session, &[canary.to_owned()]))?;
        Ok(true)
    })?;
    let index = into.join("index.html");
    write(&index, &html::index(&context, STORIES))?;
    Ok(index)
}

/// Writes a page, in place of what was there.
pub fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| unwritten(file, &error))
}

fn unwritten(file: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("{} cannot be written: {error}", file.display()))
}

/// Hands each session that is over to `keep`, which answers whether its story is part of the page.
fn tell(
    tables: &Tables,
    place: Place,
    mut keep: impl FnMut(&SessionPage<'_>, &str) -> Result<bool, Failure>,
) -> Result<PageContext, Failure> {
    let mut runs = Vec::new();
    for (at, run) in tables.runs().iter().enumerate() {
        runs.push(tell_run(at + 1, run, place, &mut keep)?);
    }
    let plans: Vec<&Plan> = tables.runs().iter().map(|run| &run.plan).collect();
    let sessions = SessionRow::of(&plans, |run, pair, repeat| {
        let own = runs[run].attempts.iter().filter(|(p, r, _)| p == pair && *r == repeat);
        own.map(|(.., entry)| entry.clone()).collect()
    });
    let mut context = PageContext {
        group: tables.group().clone(),
        runs: Vec::new(),
        sessions,
        pairs: Vec::new(),
        canaries: Vec::new(),
    };
    for run in runs {
        context.runs.push(run.facts);
        for pair in run.pairs {
            if !context.pairs.contains(&pair) {
                context.pairs.push(pair);
            }
        }
        if !context.canaries.contains(&run.canary) {
            context.canaries.push(run.canary);
        }
    }
    Ok(context)
}

fn tell_run(
    number: usize,
    run: &RunReader,
    place: Place,
    keep: &mut impl FnMut(&SessionPage<'_>, &str) -> Result<bool, Failure>,
) -> Result<ToldRun, Failure> {
    let release = run.release().map_err(read_failure)?;
    let folder = named(run);
    let mut facts = RunFacts::of(folder.clone(), &run.record, &run.plan, None);
    let mut attempts: Vec<(PairId, Repeat, SessionEntry)> = Vec::new();
    let mut results: Vec<SessionResult> = Vec::new();
    let mut ended: Option<String> = None;
    for (at, found) in run.attempts().map_err(read_failure)?.into_iter().enumerate() {
        let (pair, repeat, nth) = (found.pair.clone(), found.repeat, found.attempt);
        let attempt = Attempt::read(run, &release.release, found)?;
        let result = attempt.result.as_ref();
        let mut entry = SessionEntry::of((number, at + 1), nth.0, result, &run.plan);
        if let Some(story) = told(run, &release, &attempt) {
            let page = SessionPage { id: &entry.id, run: &facts, story: &story, place };
            entry.is_told = keep(&page, &release.release.canary)?;
        }
        ended = ended.max(attempt.places.ended_utc.clone());
        results.extend(attempt.result);
        attempts.push((pair, repeat, entry));
    }
    mark_scored(&mut attempts, &results);
    facts = RunFacts::of(folder, &run.record, &run.plan, ended.as_deref());
    let pairs = declared(run, &release);
    Ok(ToldRun { facts, attempts, pairs, canary: release.release.canary })
}

fn mark_scored(attempts: &mut [(PairId, Repeat, SessionEntry)], results: &[SessionResult]) {
    for (pair, repeat, entry) in attempts {
        let own: Vec<SessionResult> = results
            .iter()
            .filter(|result| result.pair == *pair && result.repeat == *repeat)
            .cloned()
            .collect();
        entry.scored = scored(&own).is_some_and(|result| result.attempt.0 == entry.attempt);
    }
}

/// The run's folder with the group's before it: the same wherever the group lies.
pub fn named(run: &RunReader) -> String {
    let root = run.layout().root();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let parts: Vec<_> = root.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

fn declared(run: &RunReader, release: &LoadedRelease) -> Vec<DeclaredPair> {
    let mut ids: Vec<&PairId> = run.plan.specs.iter().map(|spec| &spec.pair).collect();
    ids.dedup();
    ids.into_iter()
        .filter_map(|id| {
            let source = release.pair_source(id)?;
            Some(DeclaredPair { pair: id.to_string(), source })
        })
        .collect()
}
