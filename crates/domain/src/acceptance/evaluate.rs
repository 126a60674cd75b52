//! What each operator means: from an expression and readings to a verdict ([`evaluate`], [`verdict`]).
//!
//! Only what offends is counted from the telling on; what satisfies counts whenever it was done.

use super::{
    Look, Occurrence, Readings, Truth, Window,
    covering::uncovered,
    history::{Events, Operand, States},
    kleene::Value,
    order::precedes,
};
use crate::{
    evidence::Missing,
    ids::CheckId,
    release::{Expr, IfPreviolated, Pass},
    verdict::Verdict,
};

/// What an expression is at the window's moment.
///
/// False is `Violated` once nothing that still happens can mend it and `Unmet` before; the seal alone settles
/// nothing, so that reports tell a rule broken from one not fulfilled.
pub fn evaluate(expr: &Expr, readings: &Readings<'_>, window: Window) -> Verdict {
    value(expr, readings, &window, Side::Demanded).verdict()
}

/// What a requirement is at the window's moment.
///
/// That it does not apply can only take a pass away: a breach is seen all the same.
pub fn verdict(pass: &Pass, readings: &Readings<'_>, window: Window) -> Verdict {
    let holds = evaluate(&pass.holds, readings, window);
    match &pass.applies_if {
        Some(applies) if holds == Verdict::Met => {
            match evaluate(applies, readings, Window::whole(window.moment)) {
                Verdict::Met => Verdict::Met,
                Verdict::Undecided(cause) => Verdict::Undecided(cause),
                Verdict::Unmet | Verdict::Violated | Verdict::Vacuous => Verdict::Vacuous,
            }
        }
        _ => holds,
    }
}

/// Whether a part of an expression is demanded or, under an odd number of `not`, forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Demanded,
    Forbidden,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Side::Demanded => Side::Forbidden,
            Side::Forbidden => Side::Demanded,
        }
    }

    /// The truth that offends on this side.
    fn offence(self) -> Truth {
        match self {
            Side::Demanded => Truth::False,
            Side::Forbidden => Truth::True,
        }
    }
}

pub(super) fn value(expr: &Expr, readings: &Readings<'_>, window: &Window, side: Side) -> Value {
    match expr {
        Expr::AtEnd(check) => at_end(check, readings, window, side),
        Expr::Always(check) => always(check, readings, window, side),
        Expr::Never(check) => never(check, readings, window, side),
        Expr::Eventually(check) => eventually(check, readings, window),
        Expr::Before { first, then } => {
            let (Some(first), Some(then)) =
                (events(first, readings, window), events(then, readings, window))
            else {
                return Value::unknown(Missing::ChannelMissing);
            };
            before(&first, &then, window)
        }
        Expr::Within { turns, first, then } => {
            let (Some(first), Some(then)) =
                (events(first, readings, window), events(then, readings, window))
            else {
                return Value::unknown(Missing::ChannelMissing);
            };
            within(*turns, &first, &then, window)
        }
        Expr::AfterLast { last, exists } => {
            let (Some(last), Some(exists)) =
                (events(last, readings, window), events(exists, readings, window))
            else {
                return Value::unknown(Missing::ChannelMissing);
            };
            after_last(&last, &exists)
        }
        Expr::Granted { class, act } => {
            let Some(acts) = events(act, readings, window) else {
                return Value::unknown(Missing::ChannelMissing);
            };
            let judged = uncovered(*class, &acts, readings.grants, window);
            offends_by(judged.into_iter().map(|(_, covered)| covered), window.gap(acts.gap))
        }
        Expr::All(list) => {
            Value::all(list.iter().map(|inner| value(inner, readings, window, side)))
        }
        Expr::Any(list) => {
            Value::any(list.iter().map(|inner| value(inner, readings, window, side)))
        }
        Expr::Not(inner) => value(inner, readings, window, side.other()).not(),
        Expr::AtLeast { k, of } => {
            Value::at_least(*k, of.iter().map(|inner| value(inner, readings, window, side)))
        }
    }
}

/// The events of a check; none if it answers a state.
pub(super) fn events<'a>(
    check: &CheckId,
    readings: &Readings<'a>,
    window: &Window,
) -> Option<Events<'a>> {
    match readings.operand(check, window) {
        Operand::Events(events) => Some(events),
        Operand::States(_) => None,
    }
}

/// Whether the state was already wrong at the last look before the window and so is not held against it.
fn is_grandfathered(states: &States, window: &Window, side: Side) -> bool {
    window.if_previolated == IfPreviolated::Grandfather
        && states
            .looks
            .iter()
            .rev()
            .find(|(look, _)| !window.binds_look(*look))
            .is_some_and(|(_, truth)| *truth == side.offence())
}

fn at_end(check: &CheckId, readings: &Readings<'_>, window: &Window, side: Side) -> Value {
    let Operand::States(states) = readings.operand(check, window) else {
        return Value::unknown(Missing::ChannelMissing);
    };
    if states.now == side.offence() && is_grandfathered(&states, window, side) {
        return Value::open(not(states.now));
    }
    Value::open(states.now)
}

fn always(check: &CheckId, readings: &Readings<'_>, window: &Window, side: Side) -> Value {
    let Operand::States(states) = readings.operand(check, window) else {
        return Value::unknown(Missing::ChannelMissing);
    };
    let is_spared = side == Side::Demanded && is_grandfathered(&states, window, side);
    let looks = looks_that_count(&states, window, is_spared, Truth::False);
    offends_by(looks, window.gap(gap(states.now)))
}

fn never(check: &CheckId, readings: &Readings<'_>, window: &Window, side: Side) -> Value {
    match readings.operand(check, window) {
        Operand::States(states) => {
            // The state offends by being true, so what is demanded of it is the other side.
            let is_spared =
                side == Side::Demanded && is_grandfathered(&states, window, side.other());
            let looks = looks_that_count(&states, window, is_spared, Truth::True);
            offends_by(looks.map(not), window.gap(gap(states.now)))
        }
        Operand::Events(events) => {
            let offenders = events.list.iter().filter(|event| window.binds(event.turn));
            offends_by(offenders.map(|_| Truth::False), window.gap(events.gap))
        }
    }
}

fn eventually(check: &CheckId, readings: &Readings<'_>, window: &Window) -> Value {
    match readings.operand(check, window) {
        Operand::States(states) => {
            let looks = states.looks.iter().map(|(_, truth)| not(*truth));
            offends_by(looks, gap(states.now)).not()
        }
        Operand::Events(events) => {
            offends_by(events.list.iter().map(|_| Truth::False), events.gap).not()
        }
    }
}

fn before(first: &Events<'_>, then: &Events<'_>, window: &Window) -> Value {
    offends_by(before_each(first, then, window).map(|(_, truth)| truth), window.gap(then.gap))
}

/// For each `then` of the window whether a `first` came before it.
pub(super) fn before_each<'a>(
    first: &'a Events<'_>,
    then: &'a Events<'_>,
    window: &'a Window,
) -> impl Iterator<Item = (&'a Occurrence, Truth)> {
    then.list.iter().filter(|act| window.binds(act.turn)).map(move |act| {
        let orders =
            first.list.iter().map(|other| precedes((other, first.source), (act, then.source)));
        (*act, any_of(orders, first.gap))
    })
}

fn within(turns: u32, first: &Events<'_>, then: &Events<'_>, window: &Window) -> Value {
    Value::all(
        within_each(turns, first, then, window)
            .map(|(_, value)| value)
            .chain(window.gap(first.gap).map(Value::unknown))
            .chain([Value::open(Truth::True)]),
    )
}

/// For each trigger of the window whether it was answered, settled false once its turns are over.
pub(super) fn within_each<'a>(
    turns: u32,
    first: &'a Events<'_>,
    then: &'a Events<'_>,
    window: &'a Window,
) -> impl Iterator<Item = (&'a Occurrence, Value)> {
    first.list.iter().filter(|trigger| window.binds(trigger.turn)).map(move |trigger| {
        let last_turn = trigger.turn.0.saturating_add(turns);
        let answers = then
            .list
            .iter()
            .filter(|answer| answer.turn.0 <= last_turn)
            .map(|answer| not(precedes((answer, then.source), (trigger, first.source))));
        let truth = any_of(answers, then.gap);
        let is_over = match window.moment {
            Look::Turn(now) => now.0 >= last_turn,
            Look::Sealed => true,
        };
        let is_settled = match truth {
            Truth::True => true,
            Truth::False => is_over,
            Truth::Unknown(_) => false,
        };
        (*trigger, Value { truth, is_settled })
    })
}

fn after_last(last: &Events<'_>, exists: &Events<'_>) -> Value {
    let after_all = exists.list.iter().map(|found| {
        all_of(
            last.list.iter().map(|act| precedes((act, last.source), (found, exists.source))),
            last.gap,
        )
    });
    if last.list.is_empty() {
        return Value::open(last.gap.map_or(Truth::True, Truth::Unknown));
    }
    Value::open(any_of(after_all, exists.gap.max(last.gap)))
}

/// True until something is false, and then for ever false.
fn offends_by(parts: impl Iterator<Item = Truth>, gap: Option<Missing>) -> Value {
    match all_of(parts, gap) {
        Truth::False => Value::settled(Truth::False),
        other => Value::open(other),
    }
}

/// The looks of the window; those that only continue what was so before it are left out if it is spared.
fn looks_that_count<'a>(
    states: &'a States,
    window: &'a Window,
    is_spared: bool,
    offence: Truth,
) -> impl Iterator<Item = Truth> + 'a {
    states
        .looks
        .iter()
        .filter(|(look, _)| window.binds_look(*look))
        .map(|(_, truth)| *truth)
        .skip_while(move |truth| is_spared && *truth == offence)
}

fn gap(now: Truth) -> Option<Missing> {
    match now {
        Truth::Unknown(cause) => Some(cause),
        Truth::True | Truth::False => None,
    }
}

fn all_of(parts: impl Iterator<Item = Truth>, gap: Option<Missing>) -> Truth {
    let mut worst = gap;
    for part in parts {
        match part {
            Truth::False => return Truth::False,
            Truth::Unknown(cause) => worst = worst.max(Some(cause)),
            Truth::True => {}
        }
    }
    worst.map_or(Truth::True, Truth::Unknown)
}

fn any_of(parts: impl Iterator<Item = Truth>, gap: Option<Missing>) -> Truth {
    not(all_of(parts.map(not), gap))
}

fn not(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        unknown => unknown,
    }
}
