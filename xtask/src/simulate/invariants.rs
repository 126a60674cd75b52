//! What must hold of every simulated session, whatever was drawn: [`violated`].

use std::collections::BTreeSet;

use adapters::sandboxes::simulated::FaultEffect;
use domain::{
    fault::{Ending, Flag, Owner},
    ids::{RequirementId, Turn},
    session::{Answer, Command, Event, Next, Observation, Session, replay},
};

use super::{
    parts::RecordFault,
    world::{Planned, Simulated},
};

/// Every rule that a session broke, in words.
pub(super) fn violated(simulated: &Simulated) -> Vec<String> {
    let mut wrong = Vec::new();
    if simulated.hung {
        return vec!["it never ended".to_owned()];
    }
    let scenario = simulated.drawn.scenario.clone();
    let replayed = match replay(scenario, &simulated.entries) {
        Ok(session) => session,
        Err(divergence) => return vec![format!("its log does not replay: {divergence:?}")],
    };
    ends_as_logged(simulated, &replayed, &mut wrong);
    delivers_once(simulated, &mut wrong);
    owner_fits(simulated, &replayed, &mut wrong);
    answers_follow_commands(simulated, &mut wrong);
    wrong
}

fn ends_as_logged(simulated: &Simulated, replayed: &Session, wrong: &mut Vec<String>) {
    let logged = replayed.next();
    let outcome = &simulated.outcome;
    match (outcome.is_recorded, &logged) {
        (true, Next::Over(ending)) if *ending == outcome.ending => {}
        (true, other) => {
            wrong.push(format!("ended {:?} and the log says {other:?}", outcome.ending))
        }
        (false, Next::Over(ending)) => {
            wrong.push(format!("unrecorded, and the log ends {ending:?}"))
        }
        (false, _) if outcome.ending != Ending::JournalFailed => {
            wrong.push(format!("not recorded for {:?}", outcome.ending));
        }
        (false, _) => {}
    }
}

/// No requirement is told by two messages that reached the agent, unless the first was withdrawn with it.
fn delivers_once(simulated: &Simulated, wrong: &mut Vec<String>) {
    let mut told: BTreeSet<RequirementId> = BTreeSet::new();
    let mut planned: Vec<RequirementId> = Vec::new();
    let mut turns: BTreeSet<Turn> = BTreeSet::new();
    for entry in &simulated.entries {
        match &entry.event {
            Event::Decided(_, Command::Word { plan, .. }) => {
                planned = plan.delivers().cloned().collect();
            }
            Event::Observed(Observation::Delivered { turn, .. }) => {
                if !turns.insert(*turn) {
                    wrong.push(format!("turn {turn} was delivered twice"));
                }
                for requirement in planned.drain(..) {
                    if !told.insert(requirement.clone()) {
                        wrong.push(format!("{requirement} was told twice"));
                    }
                }
            }
            _ => {}
        }
    }
}

fn owner_fits(simulated: &Simulated, replayed: &Session, wrong: &mut Vec<String>) {
    let ending = simulated.outcome.ending;
    let has = |flag: Flag| replayed.flags().iter().any(|(set, _)| *set == flag);
    let graded_owner = matches!(ending.owner(), Owner::Nobody | Owner::Agent);
    let fits = match (simulated.drawn.planned, simulated.has_struck) {
        (Planned::Nothing, _) | (_, false) => {
            graded_owner && !has(Flag::VerificationIncomplete) && !has(Flag::ControllerBug)
        }
        (Planned::Sandbox(_, _, FaultEffect::Lost | FaultEffect::HostLimit), _) => {
            ending.owner() == Owner::Infra
                || (graded_owner && (has(Flag::VerificationIncomplete) || is_after_end(simulated)))
        }
        // Who hangs in a command of the agent's own cannot be told from an agent that hangs.
        (Planned::Sandbox(_, _, FaultEffect::Hang), _) => {
            matches!(ending.owner(), Owner::Infra | Owner::Harness | Owner::Agent)
                || has(Flag::VerificationIncomplete)
                || is_after_end(simulated)
        }
        (Planned::Record(RecordFault::AppendForever(_)), _) => {
            ending == Ending::JournalFailed && !simulated.outcome.is_recorded
        }
        (Planned::Record(_), _) => {
            ending == Ending::JournalFailed
                || (graded_owner && (has(Flag::JournalFailed) || is_after_end(simulated)))
        }
        (Planned::Provider(_), _) => ending == Ending::ProviderError,
        (Planned::Cancelled(_), _) => {
            ending == Ending::OperatorAbort || is_after_end(simulated) || graded_owner
        }
    };
    if !fits {
        wrong.push(format!(
            "{:?} does not lead to {ending:?} with {:?}",
            simulated.drawn.planned,
            replayed.flags()
        ));
    }
}

/// Whether the session was already closing when the fault came: nothing is left that could tell of it.
fn is_after_end(simulated: &Simulated) -> bool {
    simulated
        .entries
        .iter()
        .any(|entry| matches!(entry.event, Event::Answered(_, Answer::CompletionVerified(_))))
}

/// Entries are numbered without gaps, time never runs backwards, and nothing answers what was not decided.
fn answers_follow_commands(simulated: &Simulated, wrong: &mut Vec<String>) {
    let mut open = BTreeSet::new();
    let mut before = (0, 0);
    for entry in &simulated.entries {
        if entry.seq != before.0 + 1 || entry.elapsed_ms < before.1 {
            wrong.push(format!("entry {} follows {before:?}", entry.seq));
        }
        before = (entry.seq, entry.elapsed_ms);
        match &entry.event {
            Event::Decided(id, _) => {
                open.insert(*id);
            }
            Event::Answered(id, _) if !open.remove(id) => {
                wrong.push(format!("command {id} was answered without being open"));
            }
            _ => {}
        }
    }
}
