//! What the user does after a turn, step by step ([`decide`]): idle, answers, permissions,
//! hand-off, violations.

use alloc::{string::String, vec, vec::Vec};

use super::{
    Controller, OverBudget, SpeechAct, TurnKind, TurnPlan, TurnRecord,
    draft::{Draft, Lead},
    handoff, over_budget, permission,
};
use crate::{
    fault::Ending,
    ids::TopicId,
    interpret::Ask,
    release::{ActionClass, GenericAsk, Latest, PermissionAnswer},
    session::Scenario,
};

/// What the user does next.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Decision {
    /// Says something.
    Say(TurnPlan),
    /// Ends the session.
    End(Ending),
}

/// The plan of the first message: the statement, and every requirement that belongs to the opening.
pub(super) fn opening(scenario: &Scenario, state: &Controller) -> TurnPlan {
    let mut draft = Draft::new(scenario, state);
    for at in draft.due() {
        draft.tell(at, Lead::None);
    }
    let mut acts = vec![SpeechAct::Open {
        say: draft.pick(&scenario.persona.utterances.opening, 0),
        statement: scenario.statement.clone(),
    }];
    draft.push_tellings(&mut acts);
    draft.plan_of(acts)
}

/// The plan of a message that asks for a step after the first: framed as an addition, fenced as the
/// opening is.
pub(super) fn next_step(scenario: &Scenario, state: &Controller, statement: String) -> TurnPlan {
    let draft = Draft::new(scenario, state);
    let say = draft.pick(&scenario.persona.utterances.tell, 0);
    draft.plan_of(vec![SpeechAct::Open { say, statement }])
}

/// Decides after the last ended turn. Endings that need no words have precedence over everything.
pub(super) fn decide(scenario: &Scenario, state: &Controller) -> Decision {
    let Some(record) = state.records.last() else {
        return Decision::Say(opening(scenario, state));
    };
    if let Some(ending) = wordless_ending(scenario, state, record) {
        return Decision::End(ending);
    }
    let mut draft = Draft::new(scenario, state);
    if record.kind == TurnKind::Idle {
        let say = draft.pick(&scenario.persona.utterances.nudge, 0);
        return say_if_affordable(scenario, record, draft.plan_of(vec![SpeechAct::Nudge { say }]));
    }
    answer_questions(&mut draft, record);
    answer_permissions(&mut draft, record);
    tell_overdue(&mut draft, record);
    if record.kind == TurnKind::Handoff {
        if let handoff::Reply::End(ending) = handoff::reply(&mut draft, record) {
            return match handoff::check_again(&draft) {
                Some(plan) => say_if_affordable(scenario, record, plan),
                None => Decision::End(ending),
            };
        }
    } else {
        handoff::speak_of_violation(&mut draft, record);
    }
    say_if_affordable(scenario, record, draft.into_plan())
}

fn wordless_ending(scenario: &Scenario, state: &Controller, record: &TurnRecord) -> Option<Ending> {
    let limits = &scenario.spec.limits;
    over_budget(limits, &record.used, record.turn, OverBudget::Exceeded)
        .or(record.interpretation.quits.then_some(Ending::Quit))
        .or_else(|| state.patience.ending(&scenario.persona.patience))
}

/// Another message opens another turn; without anything left for one the session ends.
fn say_if_affordable(scenario: &Scenario, record: &TurnRecord, plan: TurnPlan) -> Decision {
    let limits = &scenario.spec.limits;
    match over_budget(limits, &record.used, record.turn, OverBudget::Spent) {
        Some(ending) => Decision::End(ending),
        None => Decision::Say(plan),
    }
}

/// Every open question gets one reply.
fn answer_questions(draft: &mut Draft<'_>, record: &TurnRecord) {
    let mut answered: Vec<&TopicId> = vec![];
    let mut is_unknown = false;
    let mut is_deferred = false;
    for ask in &record.interpretation.asks {
        match ask {
            Ask::About(topic) if answered.contains(&topic) => {}
            Ask::About(topic) => {
                answered.push(topic);
                match reply(draft, topic) {
                    Reply::Told => {}
                    Reply::Known(act) => draft.answers.push(act),
                    Reply::Deferred => is_deferred = true,
                    Reply::Unknown => is_unknown = true,
                }
            }
            Ask::Generic => answer_generic(draft),
            Ask::Other => is_unknown = true,
            Ask::Permission { .. } => {}
        }
    }
    let utterances = &draft.scenario.persona.utterances;
    if is_deferred {
        let say = draft.pick(&utterances.defer, draft.answers.len());
        draft.answers.push(SpeechAct::Defer { say });
    }
    if is_unknown {
        let say = draft.pick(&utterances.dont_know, draft.answers.len());
        draft.answers.push(SpeechAct::DontKnow { say });
    }
}

enum Reply {
    /// The telling of a requirement is the answer.
    Told,
    /// A fact, or a requirement that was told before.
    Known(SpeechAct),
    /// It belongs to something that may not be told yet.
    Deferred,
    /// Nobody knows.
    Unknown,
}

fn reply(draft: &mut Draft<'_>, topic: &TopicId) -> Reply {
    let scenario = draft.scenario;
    let is_about = |at: &usize| scenario.requirements[*at].topic.as_ref() == Some(topic);
    if let Some(at) = draft.due().into_iter().find(is_about)
        && draft.has_room()
    {
        draft.tell(at, Lead::None);
        return Reply::Told;
    }
    let place = draft.answers.len();
    if let Some(fact) = scenario.facts.iter().find(|fact| &fact.topic == topic) {
        let say = draft.pick(&fact.say, place);
        return Reply::Known(SpeechAct::Answer { topic: topic.clone(), say });
    }
    if draft.hidden().iter().any(is_about) {
        return Reply::Deferred;
    }
    let told = scenario.requirements.iter().find(|requirement| {
        requirement.topic.as_ref() == Some(topic)
            && draft.state.ledger.told(&requirement.id).is_some()
    });
    match told {
        Some(requirement) => {
            let say = draft.wording(requirement, place);
            Reply::Known(SpeechAct::Answer { topic: topic.clone(), say })
        }
        None if draft.tells.iter().any(|(at, _)| is_about(at)) => Reply::Told,
        None => Reply::Unknown,
    }
}

/// "Anything else?" brings the next hidden requirement, or is put off while there is one.
fn answer_generic(draft: &mut Draft<'_>) {
    let Some(next) = draft.hidden().first().copied() else { return };
    match draft.scenario.persona.telling.generic_ask {
        GenericAsk::NextRequirement if draft.has_room() => draft.tell(next, Lead::None),
        GenericAsk::NextRequirement | GenericAsk::Defer => draft.defers_generic = true,
    }
}

/// Requests in words: the table answers, and a requirement of the class is told with it so that it
/// binds.
fn answer_permissions(draft: &mut Draft<'_>, record: &TurnRecord) {
    let scenario = draft.scenario;
    let utterances = &scenario.persona.utterances;
    let mut answered: Vec<(Option<ActionClass>, Option<&str>)> = vec![];
    for ask in &record.interpretation.asks {
        let Ask::Permission { class, subject } = ask else { continue };
        // A refusal does not depend on the subject and is said once for a class.
        let fixed = class.map(|class| permission::answer(&scenario.permissions, class));
        let is_refused = matches!(fixed, None | Some(PermissionAnswer::Refused));
        let key = (*class, subject.as_deref().filter(|_| !is_refused));
        if answered.contains(&key) {
            continue;
        }
        answered.push(key);
        let place = draft.permissions.len();
        match class {
            // Without a persona nothing is refused: the neutral user says to go on.
            None if !scenario.arm.has_persona() => draft
                .permissions
                .push(SpeechAct::Continue { say: draft.pick(&utterances.nudge, place) }),
            Some(class) if !is_refused => draft.permissions.push(SpeechAct::Grant {
                class: *class,
                subject: subject.clone(),
                say: draft.pick(&utterances.grant, place),
            }),
            _ => draft.permissions.push(SpeechAct::Refuse {
                class: *class,
                say: draft.pick(&utterances.refuse, place),
            }),
        }
        for at in draft.hidden() {
            if class.is_some() && scenario.requirements[at].class == *class {
                draft.tell(at, Lead::None);
            }
        }
    }
}

/// A requirement whose latest turn has come is told whether or not the agent hands over.
fn tell_overdue(draft: &mut Draft<'_>, record: &TurnRecord) {
    for at in draft.hidden() {
        let latest = draft.scenario.requirements[at].tell.latest;
        if matches!(latest, Latest::Turn(turn) if turn <= record.turn.0) && draft.has_room() {
            draft.tell(at, Lead::Own);
        }
    }
}
