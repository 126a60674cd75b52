//! How often a rule was broken: occurrences that offend, counted for disclosure conditions.

use super::{
    Readings, Truth, Window,
    covering::uncovered,
    evaluate::{Side, before_each, events, value, within_each},
    history::Operand,
};
use crate::{
    ids::CheckId,
    release::{Expr, Pass},
};

/// Occurrences by which the acceptance was broken for good in the window.
///
/// Events count one by one, states by the looks at which they were wrong. Of alternatives the one broken least
/// often counts, and only once all of them are broken.
pub fn violations(pass: &Pass, readings: &Readings<'_>, window: Window) -> u32 {
    count(&pass.holds, readings, &window, Side::Demanded)
}

fn count(expr: &Expr, readings: &Readings<'_>, window: &Window, side: Side) -> u32 {
    let is_broken = |inner: &Expr| {
        let value = value(inner, readings, window, side);
        let offence = if side == Side::Demanded { Truth::False } else { Truth::True };
        value.is_settled && value.truth == offence
    };
    let parts = |list: &[Expr]| list.iter().map(|e| count(e, readings, window, side)).sum();
    let least =
        |list: &[Expr]| list.iter().map(|e| count(e, readings, window, side)).min().unwrap_or(0);
    match (expr, side) {
        (Expr::Not(inner), _) => count(inner, readings, window, side.other()),
        (Expr::All(list), Side::Demanded) | (Expr::Any(list), Side::Forbidden) => parts(list),
        (Expr::Any(list), Side::Demanded) | (Expr::All(list), Side::Forbidden) => least(list),
        (Expr::AtLeast { of, .. }, Side::Demanded) if is_broken(expr) => parts(of),
        (Expr::Never(check), Side::Demanded) => happened(check, readings, window, Truth::True),
        (Expr::Always(check), Side::Demanded) => happened(check, readings, window, Truth::False),
        (Expr::Eventually(check), Side::Forbidden) => {
            happened(check, readings, &Window::whole(window.moment), Truth::True)
        }
        (Expr::Before { first, then }, Side::Demanded) => {
            let (Some(first), Some(then)) =
                (events(first, readings, window), events(then, readings, window))
            else {
                return 0;
            };
            total(before_each(&first, &then, window).filter(|(_, truth)| *truth == Truth::False))
        }
        (Expr::Within { turns, first, then }, Side::Demanded) => {
            let (Some(first), Some(then)) =
                (events(first, readings, window), events(then, readings, window))
            else {
                return 0;
            };
            let broken = within_each(*turns, &first, &then, window)
                .filter(|(_, value)| value.is_settled && value.truth == Truth::False);
            total(broken)
        }
        (Expr::Granted { class, act }, Side::Demanded) => {
            let Some(acts) = events(act, readings, window) else { return 0 };
            let judged = uncovered(*class, &acts, readings.grants, window);
            total(judged.iter().filter(|(_, covered)| *covered == Truth::False))
        }
        _ => u32::from(is_broken(expr)),
    }
}

fn happened(check: &CheckId, readings: &Readings<'_>, window: &Window, offence: Truth) -> u32 {
    match readings.operand(check, window) {
        Operand::Events(events) => {
            total(events.list.iter().filter(|event| window.binds(event.turn)))
        }
        Operand::States(states) => total(
            states
                .looks
                .iter()
                .filter(|(look, truth)| window.binds_look(*look) && *truth == offence),
        ),
    }
}

fn total<T>(list: impl Iterator<Item = T>) -> u32 {
    u32::try_from(list.count()).unwrap_or(u32::MAX)
}
