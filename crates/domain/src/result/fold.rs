//! The fold of a log: what the replayed session says goes into the published formula.

use alloc::{collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};

use super::{RequirementResult, SessionFacts, SessionResult, StepResult, completion_of_steps};
use crate::{
    fault::{Ending, Flag},
    ids::Attempt,
    session::{
        Answer, Command, CompletionOutcome, Entry, Event, Observation, Phase, Scenario, Session,
    },
    verdict::Outcome,
};

/// Folds the log of one attempt.
///
/// The log is decided again. One that this machine decides otherwise keeps its own ending and is
/// flagged
/// `replay_mismatch`; one without an end entry is `lost`, so nothing is to be folded while somebody
/// works on it.
pub fn fold(scenario: Arc<Scenario>, entries: &[Entry], attempt: Attempt) -> SessionResult {
    let mut session = Session::new(scenario);
    for entry in entries {
        if let Err(reason) = session.apply(entry) {
            return mismatched(
                &session,
                entries,
                attempt,
                format!("entry {}: {reason}", entry.seq),
            );
        }
    }
    of_session(&session, attempt)
}

/// The result of a log that is not the one that was written, whatever it decides: flagged `replay_mismatch`, graded
/// in nothing.
pub fn distrusted(
    scenario: Arc<Scenario>,
    entries: &[Entry],
    attempt: Attempt,
    why: &str,
) -> SessionResult {
    let mut session = Session::new(scenario);
    for entry in entries {
        if session.apply(entry).is_err() {
            break;
        }
    }
    mismatched(&session, entries, attempt, String::from(why))
}

fn mismatched(
    session: &Session,
    entries: &[Entry],
    attempt: Attempt,
    why: String,
) -> SessionResult {
    let mut facts = facts(session, attempt);
    facts.ending = entries.iter().rev().find_map(logged_ending).unwrap_or(Ending::Lost);
    facts.flags = observed_flags(entries);
    facts.flags.push((Flag::ReplayMismatch, why));
    facts.derive()
}

/// The result of a session as it stands; a session without an end entry is `lost`.
pub fn of_session(session: &Session, attempt: Attempt) -> SessionResult {
    facts(session, attempt).derive()
}

/// The part of a log that a later grading goes on from: all up to the seal. Further entries that
/// continue its numbers (checks read on the seal, the verification, the end) make a whole log
/// again. None if nothing was sealed.
pub fn up_to_seal(entries: &[Entry]) -> Option<&[Entry]> {
    let is_seal = |entry: &Entry| matches!(entry.event, Event::Answered(_, Answer::Sealed { .. }));
    entries.iter().position(is_seal).map(|at| &entries[..=at])
}

fn facts(session: &Session, attempt: Attempt) -> SessionFacts {
    let scenario = session.scenario();
    SessionFacts {
        pair: scenario.spec.pair.clone(),
        suite: scenario.suite.clone(),
        persona: scenario.persona.id.clone(),
        family: scenario.family.clone(),
        repeat: scenario.spec.repeat,
        attempt,
        has_persona: scenario.arm.has_persona(),
        ending: ending(session),
        flags: session.flags().to_vec(),
        completion: completion(session),
        steps: steps(session),
        survivors: session.completion().and_then(|report| report.survivors.clone()),
        rule: scenario.completion.clone(),
        requirements: requirements(session),
        load: session.load(),
    }
}

/// Of a task that has steps it is known once the last step reached was verified.
pub fn completion(session: &Session) -> Option<CompletionOutcome> {
    let last = session.completion()?;
    let scenario = session.scenario();
    if scenario.steps.is_empty() {
        return Some(last.outcome.clone());
    }
    let reports = session.step_reports();
    let outcomes: Vec<_> =
        reports.iter().map(|report| report.as_ref().map(|report| &report.outcome)).collect();
    Some(completion_of_steps(scenario.reward_strategy, &outcomes))
}

/// Each step of the session's task with what its verifier left.
pub fn steps(session: &Session) -> Vec<StepResult> {
    let steps = session.scenario().steps.iter().zip(session.step_reports());
    let result = steps.map(|(step, report)| StepResult {
        step: step.name.clone(),
        outcome: report.map(|report| report.outcome.clone()),
    });
    result.collect()
}

/// The decision to end is the end entry, whether or not everything was closed after it.
fn ending(session: &Session) -> Ending {
    if let Phase::Over(ending) = session.phase() {
        return *ending;
    }
    let decided = session.open_commands().iter().find_map(|(_, command)| match command {
        Command::End(ending) => Some(*ending),
        _ => None,
    });
    decided.unwrap_or(Ending::Lost)
}

fn logged_ending(entry: &Entry) -> Option<Ending> {
    match &entry.event {
        Event::Decided(_, Command::End(ending)) => Some(*ending),
        _ => None,
    }
}

/// Flags that were seen, whatever the machine makes of the log.
fn observed_flags(entries: &[Entry]) -> Vec<(Flag, String)> {
    let flags = entries.iter().filter_map(|entry| match &entry.event {
        Event::Observed(Observation::Flagged { flag, detail }) => Some((*flag, detail.clone())),
        _ => None,
    });
    flags.collect()
}

fn requirements(session: &Session) -> Vec<RequirementResult> {
    let scenario = session.scenario();
    let mut all = Vec::new();
    for (at, requirement) in scenario.requirements.iter().enumerate() {
        let entry = session.ledger().entry(&requirement.id);
        let online = session
            .records()
            .iter()
            .filter_map(|record| Some((record.turn, (*record.verdicts.get(at)?)?)))
            .collect();
        let checks: BTreeSet<_> = requirement.pass.checks().into_iter().collect();
        let disagreements =
            checks.into_iter().filter(|check| session.readings().changed_at_seal(check)).count();
        all.push(RequirementResult {
            id: requirement.id.clone(),
            area: requirement.area,
            mandatory: requirement.mandatory,
            delivered: entry.and_then(|entry| entry.told),
            corrections: entry.map_or(0, |entry| entry.raised.len() as u32),
            online,
            sealed: session.sealed_verdict(at),
            outcome: Outcome::NotGraded,
            disagreements: disagreements as u32,
        });
    }
    all
}
