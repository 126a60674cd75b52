//! Permissions: the answer to a request in words or inside a turn, and the grants that come of it.

use alloc::{string::String, vec};

use super::{Grant, Ledger};
use crate::{
    acceptance::covers,
    ids::Turn,
    release::{
        ActionClass, Binds, Network, PermissionAnswer, PermissionTable, Policy, Requirement,
    },
};

/// The table's answer for a class.
pub(super) fn answer(table: &PermissionTable, class: ActionClass) -> PermissionAnswer {
    table
        .entries
        .iter()
        .find(|entry| entry.class == class)
        .map_or(table.default, |entry| entry.answer)
}

/// What the wire carries while the agent works. Whatever is enforced would disclose by deed, so a table that refuses the
/// network closes it only where a requirement says so from the start; else it stays as the task has it, and what is
/// reached is logged, until one is delivered that [`closes_network`].
pub fn reach(network: &Network, table: &PermissionTable, requirements: &[Requirement]) -> Policy {
    let is_told_at_once = requirements.iter().any(|requirement| {
        requirement.class == Some(ActionClass::Network) && requirement.binds == Binds::FromStart
    });
    let is_refused = answer(table, ActionClass::Network) == PermissionAnswer::Refused;
    if is_told_at_once && is_refused { Policy::Nothing } else { Policy::from(network) }
}

/// Whether the network is closed once this requirement is delivered: the table refuses it, and nobody can find that out by
/// deed any more.
pub fn closes_network(table: &PermissionTable, requirement: &Requirement) -> bool {
    requirement.class == Some(ActionClass::Network)
        && answer(table, ActionClass::Network) == PermissionAnswer::Refused
}

/// The grant that a message gives; what is always allowed is granted without bounds.
pub(super) fn grant(
    table: &PermissionTable,
    class: ActionClass,
    subject: Option<&String>,
    from: Turn,
    given_ms: i64,
) -> Grant {
    let scope = table.entries.iter().find(|entry| entry.class == class).map(|entry| &entry.scope);
    match answer(table, class) {
        PermissionAnswer::Granted { uses, turns } => {
            let scope = match scope {
                Some(scope) if !scope.is_empty() => scope.clone(),
                _ if !names_its_object(class) => vec![],
                _ => subject.into_iter().cloned().collect(),
            };
            Grant { class, scope, from, uses, turns, given_ms }
        }
        PermissionAnswer::Allowed | PermissionAnswer::Refused => {
            Grant { class, scope: vec![], from, uses: u32::MAX, turns: u32::MAX, given_ms }
        }
    }
}

/// Whether an act of the class names what it is done to, so that the words of who asked can be compared with it.
/// A commit, a push or a start says nothing of the kind on its command line.
fn names_its_object(class: ActionClass) -> bool {
    match class {
        ActionClass::Install
        | ActionClass::Network
        | ActionClass::Write
        | ActionClass::Delete
        | ActionClass::Schema => true,
        ActionClass::GitCommit
        | ActionClass::GitPush
        | ActionClass::GitHistory
        | ActionClass::Publish
        | ActionClass::Service
        | ActionClass::Privileged
        | ActionClass::Spend => false,
    }
}

/// Answers a request inside a turn at once; the user's words come at the turn's end, if at all.
pub(super) fn allows_now(
    table: &PermissionTable,
    class: Option<ActionClass>,
    is_covered: bool,
    is_hidden: bool,
) -> bool {
    let fixed = class.map_or(table.default, |class| answer(table, class));
    match fixed {
        PermissionAnswer::Allowed => true,
        // A refusal, or the demand to ask first, would disclose by deed what was not told yet.
        PermissionAnswer::Refused => is_hidden,
        PermissionAnswer::Granted { .. } => is_covered || is_hidden,
    }
}

/// Whether a requirement of the class is untold and binds only when told.
pub(super) fn is_class_hidden(
    requirements: &[Requirement],
    ledger: &Ledger,
    class: ActionClass,
) -> bool {
    requirements.iter().any(|requirement| {
        requirement.class == Some(class)
            && requirement.binds == Binds::WhenTold
            && ledger.told(&requirement.id).is_none()
    })
}

/// The place of a live grant that covers the request and has uses left.
pub(super) fn covering(
    grants: &[Grant],
    spent: &[u32],
    class: ActionClass,
    subject: Option<&String>,
    turn: Turn,
) -> Option<usize> {
    grants.iter().enumerate().position(|(at, grant)| {
        let is_live = grant.from <= turn && turn.0 - grant.from.0 < grant.turns;
        let has_uses = spent.get(at).copied().unwrap_or(0) < grant.uses;
        let in_scope =
            grant.scope.is_empty() || subject.is_some_and(|subject| covers(&grant.scope, subject));
        grant.class == class && is_live && has_uses && in_scope
    })
}
