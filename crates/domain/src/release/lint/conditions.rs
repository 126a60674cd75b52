//! Lints of disclosure: conditions name what exists, can come true online, and wait for each other
//! without a circle.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use super::{
    Scope,
    acceptance::{Online, online},
    note::Notes,
};
use crate::{
    ids::RequirementId,
    plan::turns_max,
    release::{
        ActionClass, AfterTelling, BudgetKind, Condition, Latest, PermissionAnswer, Read,
        ReadingNature, Requirement,
    },
};

/// The conditions of a pair.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    for requirement in &scope.pair.requirements {
        requirement.tell.when.visit(&mut |leaf| {
            if let Some((message, remedy)) = trouble(scope, requirement, leaf) {
                notes.error(scope.at(requirement, "tell.when"), message, remedy);
            }
        });
        if let Latest::Turn(turn) = requirement.tell.latest
            && let Some((message, remedy)) = turn_trouble(scope, turn)
        {
            notes.error(scope.at(requirement, "tell.latest"), message, remedy);
        }
        topic(scope, requirement, notes);
        class(scope, requirement, notes);
    }
    circles(scope, notes);
}

type Trouble = (String, String);

/// Why a node of a condition can never come true.
fn trouble(scope: &Scope<'_>, own: &Requirement, node: &Condition) -> Option<Trouble> {
    let tell = |message: String, remedy: &str| Some((message, String::from(remedy)));
    match node {
        Condition::AfterTurn(turn) => turn_trouble(scope, *turn),
        Condition::AfterShare { of, percent } => {
            if !(1..=100).contains(percent) {
                return tell(format!("{percent} is no percentage"), "use 1 to 100");
            }
            let declared = match of {
                BudgetKind::Turns | BudgetKind::AgentTime => true,
                BudgetKind::Tokens => scope.pair.budget.tokens.is_some(),
                BudgetKind::Cost => scope.pair.budget.cost_microusd.is_some(),
            };
            if declared {
                return None;
            }
            tell(
                "it waits for a share of a budget that the pair does not declare".into(),
                "declare it below `[budget]`, or wait for turns or agent time",
            )
        }
        Condition::Asked if own.topic.is_none() && own.class.is_none() => tell(
            "nothing can ask for it: it has neither topic nor class".into(),
            "give it a `topic`, or a `class`",
        ),
        Condition::Holds(id) => match scope.pair.check(id) {
            None => tell(format!("there is no check `{id}`"), &scope.other_check(id)),
            Some(check) if check.read == Read::AtEnd => tell(
                format!("the check `{id}` is read at the end, when nothing can be told any more"),
                "read it at each turn or at hand-offs",
            ),
            Some(_) => None,
        },
        Condition::Requirement { id, is } => {
            let Some(other) = scope.pair.requirement(id) else { return no_requirement(id) };
            match (is, online(scope, other)) {
                (AfterTelling::Met, Online::Partly | Online::Never)
                | (AfterTelling::Violated, Online::Never) => tell(
                    format!(
                        "what `{id}` needs is read at the end, when nothing can be told any more"
                    ),
                    "let its checks be read at each turn or at hand-offs",
                ),
                _ => None,
            }
        }
        Condition::Violated { id, times } => {
            let Some(other) = scope.pair.requirement(id) else { return no_requirement(id) };
            violated_trouble(scope, other, *times)
        }
        Condition::AfterFeedback { id, times } => {
            let Some(other) = scope.pair.requirement(id) else { return no_requirement(id) };
            let most = other.feedback.repeats;
            if (1..=most).contains(times) {
                return None;
            }
            tell(
                format!("`{id}` is corrected {most} times at the most"),
                "wait for 1 correction at the least and for no more than its `repeats`",
            )
        }
        Condition::Silent(turns)
            if *turns == 0 || *turns >= scope.persona.patience.silent_turns =>
        {
            tell(
                format!(
                    "the persona gives up after {} idle turns",
                    scope.persona.patience.silent_turns
                ),
                "wait for fewer idle turns, and for 1 at the least",
            )
        }
        Condition::Granted(class) if !can_grant(scope, *class) => tell(
            format!("no answer of the permission table grants `{}`", class.name()),
            "answer the class with a grant, or wait for something else",
        ),
        Condition::All(list) | Condition::Any(list) if list.is_empty() => {
            tell("the list is empty".into(), "name at least one condition")
        }
        Condition::Then { within_turns: Some(0), .. } => tell(
            "`then` needs a later turn".into(),
            "set `within_turns` to at least 1, or leave it out",
        ),
        _ => None,
    }
}

fn violated_trouble(scope: &Scope<'_>, other: &Requirement, times: u32) -> Option<Trouble> {
    if times == 0 {
        return Some(("it is always so".into(), "count from 1".into()));
    }
    if online(scope, other) == Online::Never {
        return Some((
            format!("what `{}` needs is read at the end alone", other.id),
            "let its checks be read at each turn or at hand-offs".into(),
        ));
    }
    let has_events = other
        .pass
        .holds
        .checks()
        .into_iter()
        .filter_map(|id| scope.pair.check(id))
        .any(|check| check.kind.nature() == ReadingNature::Events);
    (times > 1 && !has_events).then(|| {
        (
            format!("`{}` looks at states, of which there are no occurrences to count", other.id),
            "set `times = 1`, or look at events".into(),
        )
    })
}

fn no_requirement(id: &RequirementId) -> Option<Trouble> {
    Some((format!("there is no requirement `{id}`"), "name a requirement of this pair".into()))
}

/// A turn can be waited for if a message can still follow it.
fn turn_trouble(scope: &Scope<'_>, turn: u32) -> Option<Trouble> {
    let turns = turns_max(scope.pair, scope.task);
    if (1..turns).contains(&turn) {
        return None;
    }
    Some((
        format!("after turn {turn} of {turns} nothing can be told"),
        format!("use a turn from 1 to {}", turns.saturating_sub(1)),
    ))
}

/// A question has one answer: a fact, or the telling.
fn topic(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let Some(topic) = &requirement.topic else { return };
    if scope.facts.iter().any(|fact| &fact.topic == topic) {
        notes.error(
            scope.at(requirement, "topic"),
            format!("questions on `{topic}` are answered by a fact already"),
            "give the requirement a topic of its own, or remove the fact",
        );
    }
}

/// A requirement with a class is told by the answer to a request, so requests must be recognised.
fn class(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let Some(class) = requirement.class else { return };
    if !scope.permissions.entries.iter().any(|entry| entry.class == class) {
        notes.error(
            scope.at(requirement, "class"),
            format!("no words ask for `{}`", class.name()),
            format!("add `{}` with `asked_by` and `answer` below `[permissions]`", class.name()),
        );
    }
}

pub(super) fn can_grant(scope: &Scope<'_>, class: ActionClass) -> bool {
    let is_grant = |answer| matches!(answer, PermissionAnswer::Granted { .. });
    scope
        .permissions
        .entries
        .iter()
        .find(|entry| entry.class == class)
        .map_or(is_grant(scope.permissions.default), |entry| is_grant(entry.answer))
}

/// A requirement that waits for the telling of another one, which waits for it in turn.
fn circles(scope: &Scope<'_>, notes: &mut Notes) {
    for requirement in &scope.pair.requirements {
        let mut reached = BTreeSet::new();
        let mut open = waits_for(requirement);
        while let Some(id) = open.pop() {
            if let Some(other) = scope.pair.requirement(id)
                && reached.insert(id)
            {
                open.extend(waits_for(other));
            }
        }
        if reached.contains(&requirement.id) {
            notes.error(
                scope.at(requirement, "tell.when"),
                format!("`{}` waits for its own telling", requirement.id),
                "let one of the circle wait for something else",
            );
        }
    }
}

/// Requirements whose telling the condition needs. An alternative that needs none opens the circle.
fn waits_for(requirement: &Requirement) -> Vec<&RequirementId> {
    needed(&requirement.tell.when)
}

fn needed(condition: &Condition) -> Vec<&RequirementId> {
    match condition {
        Condition::Requirement { id, .. } | Condition::AfterFeedback { id, .. } => {
            alloc::vec![id]
        }
        Condition::All(list) => list.iter().flat_map(needed).collect(),
        Condition::Any(list) => {
            let branches: Vec<_> = list.iter().map(needed).collect();
            if branches.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            branches.into_iter().flatten().collect()
        }
        Condition::Then { first, next, .. } => {
            let mut all = needed(first);
            all.extend(needed(next));
            all
        }
        _ => Vec::new(),
    }
}
