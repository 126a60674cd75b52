//! Acceptance expressions: a typed tree of operators over named checks ([`Expr`]).

use alloc::{boxed::Box, format, string::String, vec::Vec};

use super::ActionClass;
use crate::ids::CheckId;

/// What must hold. Evaluated by [`crate::acceptance::evaluate`] at a turn and at the seal.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A state is true at the look.
    AtEnd(CheckId),
    /// A state is true at every look of the window.
    Always(CheckId),
    /// No occurrence, or never true, in the window.
    Never(CheckId),
    /// An occurrence, or once true, whenever it was.
    Eventually(CheckId),
    /// Each `then` in the window has a `first` before it, whenever that was.
    Before {
        /// What must come first.
        first: CheckId,
        /// What must come after.
        then: CheckId,
    },
    /// Each `first` in the window is answered by a `then` within so many turns.
    Within {
        /// Turns for the answer, 0 = in the same turn.
        turns: u32,
        /// The trigger.
        first: CheckId,
        /// The answer.
        then: CheckId,
    },
    /// After the last `last` there is an `exists`.
    AfterLast {
        /// What happens for the last time.
        last: CheckId,
        /// What must come after it.
        exists: CheckId,
    },
    /// Every act in the window is covered by a live grant of the class.
    Granted {
        /// The class.
        class: ActionClass,
        /// The acts.
        act: CheckId,
    },
    /// Every one.
    All(Vec<Expr>),
    /// Any one.
    Any(Vec<Expr>),
    /// The opposite.
    Not(Box<Expr>),
    /// At least `k` of them.
    AtLeast {
        /// How many.
        k: u32,
        /// Of these.
        of: Vec<Expr>,
    },
}

/// Whether an operand of an operator is counted only from the telling on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windowing {
    /// What offends: from the telling on.
    Windowed,
    /// What satisfies: whenever it was.
    Whole,
}

impl Expr {
    /// Every check that it names, with duplicates, in order of reading.
    pub fn checks(&self) -> Vec<&CheckId> {
        let mut found = Vec::new();
        self.visit(&mut |node| match node {
            Expr::AtEnd(c) | Expr::Always(c) | Expr::Never(c) | Expr::Eventually(c) => {
                found.push(c)
            }
            Expr::Before { first, then } | Expr::Within { first, then, .. } => {
                found.push(first);
                found.push(then);
            }
            Expr::AfterLast { last, exists } => {
                found.push(last);
                found.push(exists);
            }
            Expr::Granted { act, .. } => found.push(act),
            Expr::All(_) | Expr::Any(_) | Expr::Not(_) | Expr::AtLeast { .. } => {}
        });
        found
    }

    /// The operator with the checks that it names, as an author writes it.
    pub fn named(&self) -> String {
        match self {
            Expr::AtEnd(check) => format!("at_end = {check}"),
            Expr::Always(check) => format!("always = {check}"),
            Expr::Never(check) => format!("never = {check}"),
            Expr::Eventually(check) => format!("eventually = {check}"),
            Expr::Before { first, then } => format!("before = {first}, {then}"),
            Expr::Within { first, then, .. } => format!("within = {first}, {then}"),
            Expr::AfterLast { last, exists } => format!("after_last = {last}, {exists}"),
            Expr::Granted { class, act } => format!("granted = {}, {act}", class.name()),
            Expr::All(_) => "all".into(),
            Expr::Any(_) => "any".into(),
            Expr::Not(_) => "not".into(),
            Expr::AtLeast { .. } => "at_least".into(),
        }
    }

    /// Visits every node, parents first.
    pub fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Expr)) {
        see(self);
        match self {
            Expr::All(list) | Expr::Any(list) | Expr::AtLeast { of: list, .. } => {
                for inner in list {
                    inner.visit(see);
                }
            }
            Expr::Not(inner) => inner.visit(see),
            _ => {}
        }
    }
}
