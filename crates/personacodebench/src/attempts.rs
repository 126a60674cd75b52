//! What stands of a run on disk: every attempt replayed and folded ([`Attempts`]).

use std::sync::Arc;

use domain::{
    plan::{AttemptRecord, AttemptState, SessionSpec},
    release::Release,
    result::{SessionResult, fold, up_to_seal},
    session::{Divergence, Entry, Scenario, replay},
};
use store::reader::{AttemptFound, AttemptLog, ReadError, RunReader, Standing};

use crate::failure::Failure;

/// Every attempt of a run.
pub struct Attempts {
    /// How each stands, for what remains to be done.
    pub records: Vec<AttemptRecord>,
    /// What each came to, those that still run aside.
    pub results: Vec<SessionResult>,
}

impl Attempts {
    /// Reads, replays and folds every attempt of a run.
    pub fn read(run: &RunReader, release: &Release) -> Result<Self, Failure> {
        let mut all = Self { records: Vec::new(), results: Vec::new() };
        for found in run.attempts().map_err(read_failure)? {
            let attempt = Attempt::read(run, release, found)?;
            let state = match (attempt.standing, &attempt.result) {
                (Standing::Running, _) | (_, None) => AttemptState::Running,
                (Standing::Lost, Some(_)) if !attempt.is_regraded => AttemptState::Lost,
                (_, Some(result)) => AttemptState::of(result),
            };
            all.records.push(AttemptRecord {
                pair: attempt.found.pair.clone(),
                repeat: attempt.found.repeat,
                attempt: attempt.found.attempt,
                state,
                sealed: attempt.sealed,
                regrades: attempt.regrades,
            });
            all.results.extend(attempt.result);
        }
        Ok(all)
    }
}

/// One attempt, read.
pub struct Attempt {
    /// Where it is.
    pub found: AttemptFound,
    /// How it stands.
    pub standing: Standing,
    /// Its compiled setting.
    pub scenario: Arc<Scenario>,
    /// Its log; the entries of the newest later grading stand in for those after the seal.
    pub entries: Vec<Entry>,
    /// What it came to; none while it runs.
    pub result: Option<SessionResult>,
    /// Whether its end state was sealed.
    pub sealed: bool,
    /// Later gradings.
    pub regrades: u32,
    is_regraded: bool,
}

impl Attempt {
    /// Reads one attempt.
    pub fn read(run: &RunReader, release: &Release, found: AttemptFound) -> Result<Self, Failure> {
        let log = found.log().map_err(read_failure)?;
        let standing = found.standing(log.as_ref()).map_err(read_failure)?;
        let scenario = Arc::new(scenario(run, release, &found, log.as_ref())?);
        let entries = entries(log.as_ref())?;
        let sealed = up_to_seal(&entries).is_some();
        let gradings = found.regrades().map_err(read_failure)?;
        let regrades = u32::try_from(gradings.len()).unwrap_or(u32::MAX);
        let regraded = match gradings.last() {
            Some(last) => graded_anew(&entries, last)?,
            None => None,
        };
        let is_regraded = regraded.is_some();
        let entries = regraded.unwrap_or(entries);
        let result = (standing != Standing::Running || is_regraded)
            .then(|| fold(scenario.clone(), &entries, found.attempt));
        Ok(Self { found, standing, scenario, entries, result, sealed, regrades, is_regraded })
    }

    /// Decides the log again.
    pub fn replay(&self) -> Result<(), Divergence> {
        replay(self.scenario.clone(), &self.entries).map(drop)
    }
}

/// The compiled setting of an attempt; without a readable head the plan's own.
fn scenario(
    run: &RunReader,
    release: &Release,
    found: &AttemptFound,
    log: Option<&AttemptLog>,
) -> Result<Scenario, Failure> {
    let spec = spec(run, found).ok_or_else(|| {
        Failure::input(format!("the plan has no repeat {} of {}", found.repeat, found.pair))
    })?;
    let (user, channels) = match log {
        Some(log) => (log.head.user, log.head.channels.clone()),
        None => (run.plan.side.user, run.record.host.channels.clone()),
    };
    Scenario::compile(release, spec, run.plan.arm, user, &channels).map_err(Failure::input)
}

fn spec<'a>(run: &'a RunReader, found: &AttemptFound) -> Option<&'a SessionSpec> {
    run.plan.specs.iter().find(|spec| spec.pair == found.pair && spec.repeat == found.repeat)
}

fn entries(log: Option<&AttemptLog>) -> Result<Vec<Entry>, Failure> {
    let Some(log) = log else { return Ok(Vec::new()) };
    log.entries().collect::<Result<_, _>>().map_err(read_failure)
}

/// The attempt's entries up to its seal, then those of the grading; none if the grading did not come to its end.
fn graded_anew(entries: &[Entry], grading: &AttemptLog) -> Result<Option<Vec<Entry>>, Failure> {
    use domain::session::{Command, Event};
    let Some(before) = up_to_seal(entries) else { return Ok(None) };
    let after = self::entries(Some(grading))?;
    let has_end =
        after.iter().any(|entry| matches!(entry.event, Event::Decided(_, Command::End(_))));
    Ok(has_end.then(|| before.iter().cloned().chain(after).collect()))
}

/// A run that cannot be read.
pub fn read_failure(error: ReadError) -> Failure {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        // Some errors say their source themselves.
        if !message.ends_with(&inner.to_string()) {
            message.push_str(&format!(": {inner}"));
        }
        source = inner.source();
    }
    Failure::input(message)
}
