//! Lints of acceptance: operators fit what their checks answer, corrections can be seen in time,
//! and something has to be done after a telling.

use alloc::format;

use super::{Scope, conditions::can_grant, note::Notes};
use crate::{
    ids::CheckId,
    release::{
        CheckKind, Expr, FsState, IfPresatisfied, IfPreviolated, QueryAnswer, Read, ReadingNature,
        Requirement, SecretPlace,
    },
};

/// The acceptance of every requirement of a pair.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    for requirement in &scope.pair.requirements {
        for (key, expr) in [
            ("pass.applies_if", requirement.pass.applies_if.as_ref()),
            ("pass.holds", Some(&requirement.pass.holds)),
        ] {
            let Some(expr) = expr else { continue };
            expr.visit(&mut |node| operator(scope, requirement, key, node, notes));
        }
        in_time(scope, requirement, notes);
        if requirement.tell.if_previolated == IfPreviolated::Grandfather
            && !checks_of(scope, &requirement.pass.holds)
                .any(|kind| kind.nature() == ReadingNature::State)
        {
            notes.error(
                scope.at(requirement, "tell.if_previolated"),
                "`grandfather` is about states, and the acceptance looks at events alone",
                "leave it out: events count from the telling on as it is",
            );
        }
    }
    for check in &scope.pair.checks {
        if !is_used(scope, &check.id) {
            notes.warning(
                scope.at_check(&check.id, ""),
                "nothing looks at this check",
                "use it in a requirement, or remove it",
            );
        }
    }
    needs_an_act(scope, notes);
}

/// How much of a requirement's acceptance can be told before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Online {
    /// All its checks are read during the session.
    Wholly,
    /// Some are.
    Partly,
    /// None is.
    Never,
}

/// How much of a requirement's acceptance can be told before the end.
pub(super) fn online(scope: &Scope<'_>, requirement: &Requirement) -> Online {
    let checks = requirement.pass.holds.checks();
    let late = checks
        .iter()
        .filter_map(|id| scope.pair.check(id))
        .filter(|check| check.read == Read::AtEnd)
        .count();
    match late {
        0 => Online::Wholly,
        late if late == checks.len() => Online::Never,
        _ => Online::Partly,
    }
}

fn operator(
    scope: &Scope<'_>,
    requirement: &Requirement,
    key: &str,
    node: &Expr,
    notes: &mut Notes,
) {
    let mut wants = |check: &CheckId, name: &str, nature: Option<ReadingNature>| {
        let path = scope.at(requirement, key);
        let Some(found) = scope.pair.check(check) else {
            notes.error(path, format!("there is no check `{check}`"), scope.other_check(check));
            return;
        };
        let (needs, has, remedy) = match (nature, found.kind.nature()) {
            (Some(ReadingNature::State), ReadingNature::Events) => {
                ("a state", "events", "use `eventually` or `never`, or look at a state")
            }
            (Some(ReadingNature::Events), ReadingNature::State) => {
                ("events", "a state", "use `at_end`, `always`, `never` or `eventually`")
            }
            _ => return,
        };
        notes.error(path, format!("`{name}` needs {needs}, and `{check}` answers {has}"), remedy);
    };
    let state = Some(ReadingNature::State);
    let events = Some(ReadingNature::Events);
    match node {
        Expr::AtEnd(check) => wants(check, "at_end", state),
        Expr::Always(check) => wants(check, "always", state),
        Expr::Never(check) => wants(check, "never", None),
        Expr::Eventually(check) => wants(check, "eventually", None),
        Expr::Before { first, then } => {
            wants(first, "before", events);
            wants(then, "before", events);
        }
        Expr::Within { first, then, .. } => {
            wants(first, "within", events);
            wants(then, "within", events);
        }
        Expr::AfterLast { last, exists } => {
            wants(last, "after_last", events);
            wants(exists, "after_last", events);
        }
        Expr::Granted { class, act } => {
            wants(act, "granted", events);
            if !can_grant(scope, *class) {
                notes.error(
                    scope.at(requirement, key),
                    format!("no answer of the permission table grants `{}`", class.name()),
                    "answer the class with `{ granted = { uses = 1, turns = 2 } }`",
                );
            }
        }
        Expr::All(list) | Expr::Any(list) if list.is_empty() => notes.error(
            scope.at(requirement, key),
            "the list is empty",
            "name at least one expression",
        ),
        Expr::AtLeast { k, of } if *k == 0 || *k as usize > of.len() => notes.error(
            scope.at(requirement, key),
            format!("at least {k} of {} says nothing", of.len()),
            "use 1 up to the number of expressions",
        ),
        _ => {}
    }
}

/// What is said of a requirement during the session rests on checks that are read by then.
fn in_time(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let seen = online(scope, requirement);
    if requirement.tell.if_presatisfied == IfPresatisfied::Acknowledge && seen != Online::Wholly {
        notes.error(
            scope.at(requirement, "tell.if_presatisfied"),
            "to acknowledge it, all its checks must be read before the end",
            "set `if_presatisfied = \"deliver\"`, or read its checks at each turn or at hand-offs",
        );
    }
    let feedback = &requirement.feedback;
    let has_words =
        !(feedback.symptom.is_empty() && feedback.restate.is_empty() && feedback.point.is_empty());
    if has_words && feedback.repeats > 0 && seen == Online::Never {
        notes.error(
            scope.at(requirement, "feedback"),
            "its checks are read at the end, when nothing can be corrected any more",
            "read one at each turn or at hand-offs, or set `repeats = 0`",
        );
    }
}

fn is_used(scope: &Scope<'_>, id: &CheckId) -> bool {
    use crate::release::Condition;
    scope.pair.requirements.iter().any(|requirement| {
        let mut told_by = false;
        requirement.tell.when.visit(&mut |node| {
            told_by |= matches!(node, Condition::Holds(check) if check == id);
        });
        told_by || requirement.pass.checks().contains(&id)
    })
}

/// A pair that the native solution alone could pass measures nothing of the person; without a person it is to.
fn needs_an_act(scope: &Scope<'_>, notes: &mut Notes) {
    if !scope.task.steps.is_empty() {
        return;
    }
    let demanding =
        scope.pair.requirements.iter().any(|requirement| {
            requirement.mandatory && demands(scope, &requirement.pass.holds, true)
        });
    if !demanding {
        notes.error(
            super::NotePath::Pair(scope.pair.id.clone(), "requirement".into()),
            "no mandatory requirement asks for an act: who does nothing but the task passes",
            "add one whose acceptance needs something done after its telling (`at_end`, `eventually`, \
             `after_last`)",
        );
    }
}

/// Whether the expression is false as long as nothing is done for it.
fn demands(scope: &Scope<'_>, expr: &Expr, wanted: bool) -> bool {
    let state =
        |id: &CheckId| scope.pair.check(id).is_some_and(|check| asks(&check.kind) == wanted);
    match expr {
        Expr::AtEnd(id) | Expr::Always(id) => state(id),
        Expr::Eventually(id) => {
            wanted && scope.pair.check(id).is_some_and(|check| asks(&check.kind))
        }
        Expr::Never(id) => !wanted && scope.pair.check(id).is_some_and(|check| asks(&check.kind)),
        Expr::AfterLast { .. } => wanted,
        Expr::Before { .. } | Expr::Within { .. } | Expr::Granted { .. } => !wanted,
        Expr::Not(inner) => demands(scope, inner, !wanted),
        Expr::All(list) if wanted => list.iter().any(|inner| demands(scope, inner, wanted)),
        Expr::Any(list) if !wanted => list.iter().any(|inner| demands(scope, inner, wanted)),
        Expr::All(list) | Expr::Any(list) => list.iter().all(|inner| demands(scope, inner, wanted)),
        Expr::AtLeast { k, of } => {
            let demanding = of.iter().filter(|inner| demands(scope, inner, wanted)).count();
            let idle = of.len() - demanding;
            if wanted { idle < *k as usize } else { demanding > of.len() - *k as usize }
        }
    }
}

/// Whether a check reads true only after something was done: bounds from above hold for whoever
/// does nothing.
fn asks(kind: &CheckKind) -> bool {
    match kind {
        CheckKind::Fs { is, contains, .. } => match is {
            Some(FsState::Present | FsState::Changed | FsState::Absent) => true,
            Some(FsState::Unchanged) | None => contains.is_some(),
        },
        CheckKind::Diff { adds, .. } => adds.is_some(),
        CheckKind::Git { branch, commits, clean, .. } => {
            branch.is_some()
                || clean.is_some()
                || commits.is_some_and(|count| count.min.unwrap_or(0) > 0)
        }
        CheckKind::Metric { at_least, .. } => at_least.is_some(),
        CheckKind::Test { .. } | CheckKind::Script { .. } | CheckKind::Artifact(_) => true,
        CheckKind::Db(database) => {
            database.query.as_ref().is_some_and(|query| matches!(query.answer, QueryAnswer::Is(_)))
        }
        // Files of the base may hold it, all else comes by the agent.
        CheckKind::Secret(secret) => !secret.looks_at(SecretPlace::Files),
        CheckKind::Exec { .. }
        | CheckKind::Edit { .. }
        | CheckKind::Message(_)
        | CheckKind::Net { .. } => true,
    }
}

fn checks_of<'a>(scope: &Scope<'a>, expr: &Expr) -> impl Iterator<Item = &'a CheckKind> {
    let pair = scope.pair;
    expr.checks()
        .into_iter()
        .filter_map(|id| pair.check(id).map(|check| &check.kind))
        .collect::<alloc::vec::Vec<_>>()
        .into_iter()
}
