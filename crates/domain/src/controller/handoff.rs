//! What the user does at a hand-off ([`reply`]): correct, tell what is due, force what is hidden,
//! accept; and violations.

use alloc::vec;

use super::{
    SpeechAct, TurnPlan, TurnRecord,
    draft::{Draft, Lead},
    feedback,
};
use crate::{fault::Ending, plan::Arm, verdict::Verdict};

/// The user's reaction to a hand-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The draft says it.
    Speak,
    /// The work is taken.
    End(Ending),
}

/// Words of `neutral-turns`: they say nothing about the work.
const CHECK_AGAIN: [&str; 3] = [
    "Please check it once more.",
    "Please look over it again.",
    "Please go through it another time.",
];

/// Nothing is accepted while anything is hidden; every hand-off moves the session on.
pub(super) fn reply(draft: &mut Draft<'_>, record: &TurnRecord) -> Reply {
    let cap = draft.scenario.persona.patience.handoff_refusals;
    let may_refuse = draft.state.refusals() < cap;
    if may_refuse {
        correct_unmet(draft, record);
    }
    for at in draft.due() {
        if draft.has_room() {
            draft.tell(at, Lead::Own);
        }
    }
    if draft.tells.is_empty() && (draft.corrections.is_empty() || !may_refuse) {
        let Some(next) = draft.hidden().first().copied() else {
            return Reply::End(acceptance(draft, record));
        };
        draft.tell(next, Lead::Own);
    }
    if may_refuse {
        speak_of_violation(draft, record);
    }
    Reply::Speak
}

/// Says once, and one at a time, that something was broken that cannot be mended; it blocks
/// nothing.
pub(super) fn speak_of_violation(draft: &mut Draft<'_>, record: &TurnRecord) {
    let (scenario, state) = (draft.scenario, draft.state);
    if state.refusals() >= scenario.persona.patience.handoff_refusals {
        return;
    }
    for (at, requirement) in scenario.requirements.iter().enumerate() {
        let entry = &state.ledger.entries()[at];
        let is_broken = |record: &&TurnRecord| {
            record.verdicts.get(at).copied().flatten() == Some(Verdict::Violated)
        };
        if !requirement.mandatory || !is_broken(&record) {
            continue;
        }
        let broken_in = state.records.iter().find(is_broken).map_or(record.turn, |r| r.turn);
        if entry.raised.iter().any(|raised| *raised > broken_in) {
            continue;
        }
        if let Some((level, words)) = feedback::words(requirement, entry, &scenario.persona.sees) {
            draft.corrections.push((at, level, words));
            return;
        }
    }
}

/// In the arm of neutral turns a hand-off is answered so often by a request without content.
pub(super) fn check_again(draft: &Draft<'_>) -> Option<TurnPlan> {
    let so_far = draft.state.checks_again.len() as u64;
    if draft.scenario.arm != Arm::NeutralTurns || so_far >= u64::from(draft.scenario.neutral_turns)
    {
        return None;
    }
    let say = draft.pick(&CHECK_AGAIN.map(Into::into), 0);
    Some(draft.plan_of(vec![SpeechAct::CheckAgain { say }]))
}

fn correct_unmet(draft: &mut Draft<'_>, record: &TurnRecord) {
    let (scenario, state) = (draft.scenario, draft.state);
    for (at, requirement) in scenario.requirements.iter().enumerate() {
        let verdict = record.verdicts.get(at).copied().flatten();
        if !requirement.mandatory || verdict != Some(Verdict::Unmet) {
            continue;
        }
        let entry = &state.ledger.entries()[at];
        if let Some((level, words)) = feedback::words(requirement, entry, &scenario.persona.sees) {
            draft.corrections.push((at, level, words));
        }
    }
}

fn acceptance(draft: &Draft<'_>, record: &TurnRecord) -> Ending {
    let is_wrong = draft.scenario.requirements.iter().enumerate().any(|(at, requirement)| {
        let verdict = record.verdicts.get(at).copied().flatten();
        requirement.mandatory && matches!(verdict, Some(Verdict::Unmet | Verdict::Violated))
    });
    if is_wrong { Ending::AcceptedWithReservations } else { Ending::Accepted }
}
