//! Recorded sessions from which readings and verdicts are derived again without any agent ([`record`], [`reread`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use adapters::agents::ScriptedAgent;
use domain::{
    acceptance::{Look, Reading, Truth},
    calibration::{Breach, CalibrationAgent, Subject},
    ids::{CheckId, Hash, PairId},
    plan::{Arm, SessionSpec},
    release::Pair,
    result::{SessionResult, fold, up_to_seal},
    session::{Answer, Command, Entry, Event, Scenario},
};
use engine::{
    cancel::Canceller,
    ports::record::{Blob, Record, RecordError, Seal},
    regrade::{Past, regrade},
};
use store::{reader::RunReader, release_files::LoadedRelease};

use super::runs::agent_of;
use crate::{
    attempts::{Attempt, read_failure},
    conduct::{self, Bases},
    failure::Failure,
    host::Host,
    record::Kept,
};

/// Whether a folder can take a record: it is not there, or empty.
///
/// # Errors
/// Something lies in it, or it cannot be read.
pub fn takes_record(folder: &Path) -> Result<(), Failure> {
    let first = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error)),
    };
    match first {
        None => Ok(()),
        Some(Ok(_)) => Err(Failure::input(format!(
            "--record {}: the folder is not empty; name a new one",
            folder.display()
        ))),
        Some(Err(error)) => Err(unwritable(folder, &error)),
    }
}

/// The arm of which the sessions are kept: the first with a persona.
///
/// # Errors
/// None has one.
pub fn recorded_arm(arms: &[Arm]) -> Result<Arm, Failure> {
    let recorded = Arm::ALL.into_iter().find(|arm| arm.has_persona() && arms.contains(arm));
    recorded.ok_or_else(|| {
        let message = "--record: nothing is told without a persona, so that nothing would be kept; add `progressive` \
                       to `--arms`";
        Failure::input(message)
    })
}

/// Keeps the runs of oracle and counterexamples in the first arm with a persona; answers how many. They are written
/// beside the folder, which is there once all of them are.
///
/// # Errors
/// The folder is not empty or cannot be written, or no arm has a persona.
pub fn record(runs: &[RunReader], folder: &Path) -> Result<usize, Failure> {
    let arms: Vec<Arm> = runs.iter().map(|run| run.plan.arm).collect();
    let arm = recorded_arm(&arms)?;
    let is_kept = |run: &&RunReader| {
        run.plan.arm == arm && !["eager", "nop"].contains(&run.plan.configuration.agent.as_str())
    };
    let kept: Vec<&RunReader> = runs.iter().filter(is_kept).collect();
    takes_record(folder)?;
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let partial = folder.with_file_name(name);
    for run in &kept {
        let to = partial.join(conduct::run_name(run));
        run.copy_to(&to).map_err(|error| unwritable(&to, &error))?;
    }
    fs::rename(&partial, folder).map_err(|error| unwritable(folder, &error))?;
    Ok(kept.len())
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("--record {}: {error}; name a new folder", path.display()))
}

/// What a re-reading found.
pub struct Reread {
    /// Sessions that were read again.
    pub sessions: u32,
    /// What is read or judged otherwise than it was recorded.
    pub differences: Vec<Breach>,
}

/// Reads the seals of recorded sessions again with the checks and tests of a release as they are now. Who is in the
/// release and not in the record, or the other way round, is a difference.
///
/// # Errors
/// A recorded run cannot be read, or there is no session of these pairs.
pub async fn reread(
    runs: &[RunReader],
    loaded: &LoadedRelease,
    pairs: &[&Pair],
    host: &Host,
    bases: &Bases,
) -> Result<Reread, Failure> {
    let mut found = Reread { sessions: 0, differences: Vec::new() };
    let mut seen: BTreeSet<(&PairId, CalibrationAgent)> = BTreeSet::new();
    for run in runs {
        let recorded = run.release().map_err(read_failure)?.release;
        for attempt in run.attempts().map_err(read_failure)? {
            let Some(pair) = pairs.iter().find(|pair| pair.id == attempt.pair) else { continue };
            // The place of a requirement in the pair may have changed since; its id says which it was.
            let Some(then) = recorded.pairs.get(&pair.id) else { continue };
            let Some(agent) = agent_of(&run.plan, then) else { continue };
            seen.insert((&pair.id, agent.clone()));
            let before = Attempt::read(run, &recorded, attempt)?;
            let fixture = Fixture { run, pair, agent, before };
            found.sessions += 1;
            match fixture.read_again(loaded, host, bases).await? {
                Ok(after) => found.differences.extend(fixture.differences(&after)),
                Err(why) => found.differences.push(fixture.unreadable(why)),
            }
        }
    }
    if found.sessions == 0 {
        let message = "--from: the record holds no session of these pairs; name a folder that \
                       `--record` made of them";
        return Err(Failure::input(message));
    }
    for pair in pairs {
        let seen = seen.iter().filter(|(id, _)| *id == &pair.id).map(|(_, agent)| agent.clone());
        found.differences.extend(on_one_side(pair, &seen.collect()));
    }
    Ok(found)
}

/// Who is only recorded, and who is only in the release; an oracle and every counterexample must be in both.
fn on_one_side(pair: &Pair, recorded: &BTreeSet<CalibrationAgent>) -> Vec<Breach> {
    let own = pair.counterexamples.iter();
    let released: BTreeSet<CalibrationAgent> = own
        .map(|one| CalibrationAgent::Counterexample(one.requirement.clone(), one.kind))
        .chain([CalibrationAgent::Oracle])
        .collect();
    let difference = |agent: &CalibrationAgent, expected: &str, found: &str| Breach {
        subject: Subject::Pair(pair.id.clone()),
        arm: None,
        agent: Some(agent.clone()),
        requirement: None,
        expected: expected.to_owned(),
        found: found.to_owned(),
        remedy: "calibrate and record anew".to_owned(),
    };
    let missing = released.difference(recorded);
    let missing = missing.map(|agent| difference(agent, "a recorded session", "none"));
    let gone = recorded.difference(&released);
    let gone = gone.map(|agent| difference(agent, "a script in the release", "none"));
    missing.chain(gone).collect()
}

/// One recorded session.
struct Fixture<'a> {
    run: &'a RunReader,
    pair: &'a Pair,
    agent: CalibrationAgent,
    before: Attempt,
}

/// What a recorded session says now.
struct After {
    readings: BTreeMap<CheckId, Reading>,
    result: SessionResult,
}

impl Fixture<'_> {
    /// The readings and verdicts of today, or in words why there are none.
    async fn read_again(
        &self,
        loaded: &LoadedRelease,
        host: &Host,
        bases: &Bases,
    ) -> Result<Result<After, String>, Failure> {
        let found = &self.before.found;
        let Some(log) = found.log().map_err(read_failure)? else {
            return Ok(Err("it has no log".to_owned()));
        };
        let Some(sealed) = up_to_seal(&self.before.entries) else {
            return Ok(Err("it was never sealed".to_owned()));
        };
        let Some(seal) = conduct::digest_of(sealed).and_then(|hash| found.seal_of(hash).ok()?)
        else {
            return Ok(Err("its seal is gone or touched".to_owned()));
        };
        let spec: &SessionSpec = &self.before.scenario.spec;
        let (head, arm) = (&log.head, self.run.plan.arm);
        let scenario = Scenario::compile(&loaded.release, spec, arm, head.user, &head.channels)
            .map_err(Failure::input)?;
        let setup = conduct::setup(loaded, bases, scenario, found.attempt)?;
        let memory = Arc::new(Memory::default());
        let agent = Arc::new(ScriptedAgent::nop());
        let ports = conduct::quiet_ports(host, agent, memory.clone());
        let past = Past {
            entries: sealed,
            seal: Seal { base: seal.base, manifest: seal.manifest, unkept: seal.unkept },
            archive: &Kept(self.run.payloads()),
        };
        let scenario = setup.scenario.clone();
        let graded = regrade(setup, ports, past, Canceller::default().listen()).await;
        if let Err(error) = graded {
            return Ok(Err(error.to_string()));
        }
        let entries: Vec<Entry> = sealed.iter().cloned().chain(memory.entries()).collect();
        let result = fold(scenario, &entries, found.attempt);
        Ok(Ok(After { readings: sealed_readings(&entries), result }))
    }

    fn differences(&self, after: &After) -> Vec<Breach> {
        let mut differences = Vec::new();
        for (check, was) in sealed_readings(&self.before.entries) {
            let now = after.readings.get(&check).map_or("not read".to_owned(), shown);
            if shown(&was) != now {
                let expected = format!("the check `{check}` reads {}", shown(&was));
                let remedy = format!(
                    "mend the check `{check}`; if it is meant to read otherwise, calibrate and \
                     record anew"
                );
                differences.push(self.difference(expected, now, remedy));
            }
        }
        let known = sealed_readings(&self.before.entries);
        for (check, now) in after.readings.iter().filter(|(check, _)| !known.contains_key(check)) {
            let expected = format!("the check `{check}` not read");
            let remedy = "calibrate and record anew".to_owned();
            differences.push(self.difference(expected, shown(now), remedy));
        }
        let Some(before) = &self.before.result else { return differences };
        let is_new = |id| before.requirements.iter().all(|one| &one.id != id);
        for requirement in after.result.requirements.iter().filter(|one| is_new(&one.id)) {
            let expected = format!("no requirement `{}`", requirement.id);
            let found = requirement.outcome.name().to_owned();
            let remedy = "calibrate and record anew".to_owned();
            differences.push(self.difference(expected, found, remedy));
        }
        for requirement in &before.requirements {
            let (was, id) = (requirement.outcome.name(), &requirement.id);
            let now = after.result.requirements.iter().find(|one| &one.id == id);
            let now = now.map_or("not there", |one| one.outcome.name());
            if was != now {
                let remedy = "see what its checks read".to_owned();
                let expected = format!("the requirement `{id}` {was}");
                differences.push(self.difference(expected, now.to_owned(), remedy));
            }
        }
        if before.completed != after.result.completed {
            let said = |completed: Option<bool>| match completed {
                Some(true) => "completed",
                Some(false) => "not completed",
                None => "not verified",
            };
            let remedy = format!("see what `tasks/{}/tests/` says of it", self.pair.task);
            let expected = format!("the task {}", said(before.completed));
            let now = said(after.result.completed).to_owned();
            differences.push(self.difference(expected, now, remedy));
        }
        differences
    }

    fn unreadable(&self, why: String) -> Breach {
        let remedy = "if the pair or the task was changed on purpose, record anew".to_owned();
        self.difference("a record that can be read again".to_owned(), why, remedy)
    }

    fn difference(&self, expected: String, found: String, remedy: String) -> Breach {
        Breach {
            subject: Subject::Pair(self.pair.id.clone()),
            arm: Some(self.run.plan.arm),
            agent: Some(self.agent.clone()),
            requirement: None,
            expected,
            found,
            remedy,
        }
    }
}

/// What every check read at the seal; of later gradings the last.
fn sealed_readings(entries: &[Entry]) -> BTreeMap<CheckId, Reading> {
    let mut readings = BTreeMap::new();
    let mut open = None;
    for entry in entries {
        match &entry.event {
            Event::Decided(id, Command::Check { look: Look::Sealed, .. }) => open = Some(*id),
            Event::Answered(id, Answer::Read { readings: read }) if Some(*id) == open => {
                readings.extend(read.iter().cloned());
            }
            _ => {}
        }
    }
    readings
}

/// A reading in short, without what differs between two readings of one state.
fn shown(reading: &Reading) -> String {
    match reading {
        Reading::State { truth: Truth::True, .. } => "true".to_owned(),
        Reading::State { truth: Truth::False, .. } => "false".to_owned(),
        Reading::State { truth: Truth::Unknown(_), .. } => "unknown".to_owned(),
        Reading::Missing(_) => "missing".to_owned(),
        Reading::Events(list) if list.is_empty() => "no event".to_owned(),
        Reading::Events(list) => {
            let each = list.iter().map(|one| format!("turn {}: {}", one.turn, one.subject));
            format!("{} ({})", list.len(), each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// A journal that is forgotten with the re-reading.
#[derive(Default)]
struct Memory(Mutex<Vec<Entry>>);

impl Memory {
    fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Record for Memory {
    fn append(&self, entry: &Entry) -> Result<(), RecordError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
        Ok(())
    }

    fn sync(&self) -> Result<(), RecordError> {
        Ok(())
    }

    /// Nobody reads a payload of a re-reading again.
    fn put(&self, _: Blob<'_>) -> Result<Hash, RecordError> {
        Ok(Hash::new("unkept"))
    }
}
