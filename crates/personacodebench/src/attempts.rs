//! What stands of a run on disk: every attempt replayed and folded ([`Attempts`]).

use std::{collections::BTreeMap, path::Path, sync::Arc};

use domain::{
    evidence::Channel,
    fault::{Ending, Flag},
    ids::{Attempt as AttemptNumber, Hash, PairId, Repeat},
    plan::{AttemptRecord, AttemptState, SessionSpec},
    release::Release,
    result::{SessionResult, distrusted, fold, up_to_seal},
    session::{Command, Divergence, Entry, Event, Observation, Scenario, replay},
};
use report::context::LogPlaces;
use store::reader::{AttemptFound, AttemptLog, ReadError, RunReader, Standing};

use crate::failure::Failure;

/// Every attempt of a run.
pub struct Attempts {
    /// How each stands, for what remains to be done.
    pub records: Vec<AttemptRecord>,
    /// What each came to, those that still run aside.
    pub results: Vec<SessionResult>,
    /// Where the calls of a model lie that were cut in an attempt, as its log names them.
    pub calls: BTreeMap<(PairId, Repeat, AttemptNumber), Vec<Hash>>,
}

impl Attempts {
    /// Reads, replays and folds every attempt of a run.
    pub fn read(run: &RunReader, release: &Release) -> Result<Self, Failure> {
        let mut all = Self { records: Vec::new(), results: Vec::new(), calls: BTreeMap::new() };
        for found in run.attempts().map_err(read_failure)? {
            let attempt = Attempt::read(run, release, found)?;
            let state = match (attempt.standing, &attempt.result) {
                (Standing::Running, _) | (_, None) => AttemptState::Running,
                (Standing::Lost, Some(_)) if !attempt.is_regraded && !attempt.is_touched => {
                    AttemptState::Lost
                }
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
            let cut: Vec<Hash> = attempt.entries.iter().filter_map(cut_calls).collect();
            if !cut.is_empty() {
                let AttemptFound { pair, repeat, attempt, .. } = &attempt.found;
                all.calls.insert((pair.clone(), *repeat, *attempt), cut);
            }
            all.results.extend(attempt.result);
        }
        Ok(all)
    }
}

fn cut_calls(entry: &Entry) -> Option<Hash> {
    match &entry.event {
        Event::Observed(Observation::Cut { channel: Channel::Resources, blob, .. }) => {
            Some(blob.clone())
        }
        _ => None,
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
    /// Later gradings that settled something; one that was killed or stopped did not.
    pub regrades: u32,
    /// Whether its log is not the one whose hash was written at its end.
    pub is_touched: bool,
    /// Whether a last line without its end was dropped from its log.
    pub is_torn: bool,
    /// Where its entries stand.
    pub places: LogPlaces,
    is_regraded: bool,
}

/// What is said of a log that was touched.
pub const TOUCHED: &str = "the log is not the one whose hash was written at its end";

/// What is said of a log whose writer died within a line.
const TORN: &str = "a last line without its end was dropped";

impl Attempt {
    /// Reads one attempt.
    pub fn read(run: &RunReader, release: &Release, found: AttemptFound) -> Result<Self, Failure> {
        let log = found.log().map_err(read_failure)?;
        let standing = found.standing(log.as_ref()).map_err(read_failure)?;
        let scenario = Arc::new(scenario(run, release, &found, log.as_ref())?);
        let entries = entries(log.as_ref())?;
        let end = found.end().map_err(read_failure)?;
        let is_touched =
            end.as_ref().is_some_and(|end| log.as_ref().is_none_or(|log| log.hash() != end.log));
        let mut places = LogPlaces {
            log: within(run, &found.layout.log()),
            grading: None,
            started_utc: log.as_ref().map(|log| log.head.started_utc.clone()),
            ended_utc: end.map(|end| end.ended_utc),
        };
        // Nothing is graded from a log that nobody can trust.
        let sealed = up_to_seal(&entries).filter(|_| !is_touched);
        let mut regrades = 0;
        let mut regraded = None;
        for grading in found.regrades().map_err(read_failure)? {
            let after = self::entries(Some(&grading))?;
            match sealed.filter(|_| has_own_end(&after)) {
                Some(before) => {
                    regrades += 1;
                    places.grading = Some((before.len(), within(run, grading.file())));
                    regraded = Some(before.iter().cloned().chain(after).collect());
                }
                None => regrades += u32::from(is_refusal(&after)),
            }
        }
        let (sealed, is_regraded) = (sealed.is_some(), regraded.is_some());
        let entries = regraded.unwrap_or(entries);
        let result = (standing != Standing::Running || is_regraded).then(|| match is_touched {
            true => distrusted(scenario.clone(), &entries, found.attempt, TOUCHED),
            false => fold(scenario.clone(), &entries, found.attempt),
        });
        Ok(Self {
            found,
            standing,
            scenario,
            entries,
            result,
            sealed,
            regrades,
            is_touched,
            is_torn: log.is_some_and(|log| log.was_torn),
            places,
            is_regraded,
        })
    }

    /// Reads one attempt as far as it can be read, and says what stood in the way. What follows a line that cannot be
    /// read is not trusted, and nothing of such a log is graded.
    pub fn readable(
        run: &RunReader,
        release: &Release,
        found: AttemptFound,
    ) -> Result<(Self, Option<String>), Failure> {
        let why = match Self::read(run, release, found.clone()) {
            Ok(attempt) => {
                let torn = attempt.is_torn.then_some(TORN);
                let why = attempt.is_touched.then_some(TOUCHED).or(torn).map(str::to_owned);
                return Ok((attempt, why));
            }
            // Where the run lies is not told on.
            Err(unread) => {
                unread.message.replace(&format!("{}/", run.layout().root().display()), "")
            }
        };
        let log = found.log().ok().flatten();
        let scenario = Arc::new(scenario(run, release, &found, log.as_ref())?);
        let own = log.iter().flat_map(AttemptLog::entries);
        let entries: Vec<Entry> = own.map_while(Result::ok).collect();
        let attempt = Self {
            standing: Standing::Lost,
            result: Some(distrusted(scenario.clone(), &entries, found.attempt, &why)),
            scenario,
            entries,
            sealed: false,
            regrades: 0,
            is_touched: true,
            is_torn: log.as_ref().is_some_and(|log| log.was_torn),
            places: LogPlaces {
                log: within(run, &found.layout.log()),
                grading: None,
                started_utc: log.map(|log| log.head.started_utc),
                ended_utc: None,
            },
            is_regraded: false,
            found,
        };
        Ok((attempt, Some(why)))
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

/// A path within the run's folder, as reports show it.
fn within(run: &RunReader, path: &Path) -> String {
    path.strip_prefix(run.layout().root()).unwrap_or(path).to_string_lossy().into_owned()
}

fn spec<'a>(run: &'a RunReader, found: &AttemptFound) -> Option<&'a SessionSpec> {
    run.plan.specs.iter().find(|spec| spec.pair == found.pair && spec.repeat == found.repeat)
}

fn entries(log: Option<&AttemptLog>) -> Result<Vec<Entry>, Failure> {
    let Some(log) = log else { return Ok(Vec::new()) };
    log.entries().collect::<Result<_, _>>().map_err(read_failure)
}

/// The entry of a grading that cannot be made: the first and only one of its log, so that it is not tried again.
pub fn refusal(sealed: &[Entry], why: &str) -> Entry {
    let last = sealed.last();
    Entry {
        seq: last.map_or(1, |entry| entry.seq + 1),
        elapsed_ms: last.map_or(0, |entry| entry.elapsed_ms),
        event: Event::Observed(Observation::Flagged {
            flag: Flag::VerificationIncomplete,
            detail: why.to_owned(),
        }),
    }
}

fn is_refusal(grading: &[Entry]) -> bool {
    let first = grading.first().map(|entry| &entry.event);
    matches!(
        first,
        Some(Event::Observed(Observation::Flagged { flag: Flag::VerificationIncomplete, .. }))
    )
}

/// Whether a grading came to an end that is not merely the operator's.
fn has_own_end(grading: &[Entry]) -> bool {
    let mut endings = grading.iter().filter_map(|entry| match &entry.event {
        Event::Decided(_, Command::End(ending)) => Some(*ending),
        _ => None,
    });
    endings.next().is_some_and(|ending| ending != Ending::OperatorAbort)
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
