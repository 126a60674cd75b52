//! Objects of a repository that the base has not (E6), whether or not anything reaches them ([`Object`]).

use std::collections::BTreeSet;

use super::{
    describe,
    git::{Repository, State, Told, Unreadable, told},
};

/// An object of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    id: String,
    size: usize,
}

/// What is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// These objects together.
    Objects(Vec<String>),
    /// Nobody reads this one.
    TooLarge(String),
}

impl Repository<'_> {
    /// Whether the base has a repository here and the look has none.
    pub(super) fn was_taken_away(&self) -> bool {
        self.in_base && !self.is_there
    }

    /// Objects that the base has not, with their sizes, reached by anything or not.
    pub(super) async fn new_objects(&self) -> Told<Vec<Object>> {
        if !self.is_there {
            return Ok(Ok(Vec::new()));
        }
        let now = told!(self.objects(State::Look).await?);
        let before: BTreeSet<String> = match self.in_base {
            true => told!(self.objects(State::Base).await?).into_iter().map(|o| o.id).collect(),
            false => BTreeSet::new(),
        };
        Ok(Ok(now.into_iter().filter(|object| !before.contains(&object.id)).collect()))
    }

    async fn objects(&self, state: State) -> Told<Vec<Object>> {
        let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check"];
        let mut run = self.invocation(state, &all);
        run.command.output_max = LISTING_OUTPUT_MAX;
        let listed = self.evidence.run(&run).await?;
        if !listed.is_success() || listed.stdout.len() >= LISTING_OUTPUT_MAX {
            return Ok(Err(Unreadable(describe(&listed))));
        }
        let text = String::from_utf8_lossy(&listed.stdout);
        Ok(Ok(text.lines().filter_map(object_of).collect()))
    }

    /// What these objects hold.
    pub(super) async fn contents(&self, ids: &[String]) -> Told<Vec<(String, Vec<u8>)>> {
        let mut run = self.invocation(State::Look, &["cat-file", "--batch"]);
        run.command.stdin = (ids.join("\n") + "\n").into_bytes();
        run.command.output_max = BATCH_OUTPUT_MAX;
        let finished = self.evidence.run(&run).await?;
        if !finished.is_success() {
            return Ok(Err(Unreadable(describe(&finished))));
        }
        let read = read_batch(&finished.stdout);
        Ok(read
            .filter(|found| found.len() == ids.len())
            .ok_or_else(|| Unreadable("git told less than it was asked".into())))
    }
}

/// Objects in groups that git can be asked for at once.
pub(super) fn batches(objects: &[Object]) -> Vec<Batch> {
    let mut found = Vec::new();
    let (mut ids, mut size) = (Vec::new(), 0);
    for object in objects {
        let own = object.size + HEADING_MAX;
        if own > BATCH_MAX {
            found.push(Batch::TooLarge(object.id.clone()));
            continue;
        }
        if size + own > BATCH_MAX {
            found.push(Batch::Objects(std::mem::take(&mut ids)));
            size = 0;
        }
        size += own;
        ids.push(object.id.clone());
    }
    if !ids.is_empty() {
        found.push(Batch::Objects(ids));
    }
    found
}

/// `ID KIND SIZE`, as git lists objects.
fn object_of(line: &str) -> Option<Object> {
    let mut words = line.split(' ');
    let (id, _, size) = (words.next()?, words.next()?, words.next()?);
    Some(Object { id: id.to_owned(), size: size.parse().ok()? })
}

/// Objects as git hands them out: a heading, so many bytes, a line's end.
fn read_batch(output: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut rest = output;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let object = object_of(std::str::from_utf8(&rest[..end]).ok()?)?;
        let content = rest.get(end + 1..end + 1 + object.size)?;
        found.push((object.id, content.to_vec()));
        rest = rest.get(end + 2 + object.size..)?;
    }
    Some(found)
}

/// Bytes of objects that are read at once.
const BATCH_MAX: usize = 16 << 20;
const BATCH_OUTPUT_MAX: usize = BATCH_MAX + 1;
/// More objects than this has no repository of a task.
const LISTING_OUTPUT_MAX: usize = 64 << 20;
/// The heading of an object among others and its line's end.
const HEADING_MAX: usize = 128;
