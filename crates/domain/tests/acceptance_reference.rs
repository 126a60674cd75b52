//! The operators against a naive reading of the rules, over random small sessions; the laws of the logic; and that what
//! is settled stays so while a session goes on.

use std::cmp::Ordering;

use domain::{
    acceptance::{Look, Occurrence, Reading, ReadingHistory, Readings, Truth, Window, evaluate},
    controller::Grant,
    evidence::{EventTime, Missing},
    ids::{CheckId, Turn},
    release::{ActionClass, Check, CheckKind, ExitFilter, Expr, MessageCheck, Metric, Read},
    verdict::Verdict,
};
use proptest::prelude::*;

/// Two states, programs twice, edits, messages.
const NAMES: [&str; 6] = ["s1", "s2", "x1", "x2", "e", "m"];
const TURNS: u32 = 4;

/// One random session: what happened in each turn, and what each state was at its end.
#[derive(Clone, Debug)]
struct Session {
    /// Per turn: events as (check, time within the turn, length).
    events: Vec<Vec<(usize, i64, i64)>>,
    /// Per turn and state check: true, false, missing.
    states: Vec<[Option<bool>; 2]>,
    grants: Vec<(u32, u32, u32)>,
}

fn session() -> impl Strategy<Value = Session> {
    let event = (2..NAMES.len(), prop::sample::select(vec![0_i64, 5, 12, 30, 60]), 0..2_i64);
    let turn = prop::collection::vec(event, 0..3);
    let state = prop::option::weighted(0.85, any::<bool>());
    (
        prop::collection::vec(turn, TURNS as usize),
        prop::collection::vec([state.clone(), state], TURNS as usize),
        prop::collection::vec((1..=TURNS, 1..3_u32, 1..3_u32), 0..2),
    )
        .prop_map(|(events, states, grants)| Session { events, states, grants })
}

fn leaf() -> impl Strategy<Value = Expr> {
    let state = || prop::sample::select(&NAMES[..2]).prop_map(CheckId::new);
    let event = || prop::sample::select(&NAMES[2..]).prop_map(CheckId::new);
    let either = || prop::sample::select(&NAMES[..]).prop_map(CheckId::new);
    prop_oneof![
        state().prop_map(Expr::AtEnd),
        state().prop_map(Expr::Always),
        either().prop_map(Expr::Never),
        either().prop_map(Expr::Eventually),
        (event(), event()).prop_map(|(first, then)| Expr::Before { first, then }),
        (0..3_u32, event(), event()).prop_map(|(turns, first, then)| Expr::Within {
            turns,
            first,
            then
        }),
        (event(), event()).prop_map(|(last, exists)| Expr::AfterLast { last, exists }),
        event().prop_map(|act| Expr::Granted { class: ActionClass::Delete, act }),
    ]
}

fn expression() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list().prop_map(Expr::All),
            list().prop_map(Expr::Any),
            inner.clone().prop_map(|expr| Expr::Not(Box::new(expr))),
            (0..4_u32, list()).prop_map(|(k, of)| Expr::AtLeast { k, of }),
        ]
    })
}

impl Session {
    fn list(&self, name: &str, until: u32) -> Vec<Occurrence> {
        let mut found = Vec::new();
        for turn in 1..=until {
            for (check, at, length) in &self.events[turn as usize - 1] {
                if NAMES[*check] != name
                    || (name == "m" && found.iter().any(|o: &Occurrence| o.turn.0 == turn))
                {
                    continue;
                }
                let start = i64::from(turn) * 1000 + at;
                let start = if name == "m" { start + 500 } else { start };
                found.push(Occurrence {
                    turn: Turn(turn),
                    time: EventTime::between(start, start + length * 40),
                    subject: format!("{name} {at}"),
                });
            }
        }
        found
    }

    fn state(&self, name: &str, turn: u32) -> Option<bool> {
        self.states[turn as usize - 1][usize::from(name == "s2")]
    }

    fn grants(&self) -> Vec<Grant> {
        let grant = |(from, uses, turns): &(u32, u32, u32)| Grant {
            class: ActionClass::Delete,
            scope: vec![],
            from: Turn(*from),
            uses: *uses,
            turns: *turns,
            given_ms: i64::from(*from) * 1000,
        };
        self.grants.iter().map(grant).collect()
    }

    /// Evaluates as the session machine does: every check read at the end of every turn up to the moment.
    fn evaluate(&self, expr: &Expr, from: u32, moment: u32) -> Verdict {
        let checks: Vec<Check> = NAMES.iter().map(|name| check(name)).collect();
        let mut history = ReadingHistory::default();
        for turn in 1..=moment {
            for name in NAMES {
                let reading = if name.starts_with('s') {
                    match self.state(name, turn) {
                        Some(is) => Reading::State {
                            truth: if is { Truth::True } else { Truth::False },
                            witness: String::new(),
                        },
                        None => Reading::Missing(Missing::ChannelMissing),
                    }
                } else {
                    Reading::Events(self.list(name, turn))
                };
                history.record(Look::Turn(Turn(turn)), &CheckId::new(name), &reading);
            }
        }
        let grants = self.grants();
        let readings = Readings { checks: &checks, history: &history, grants: &grants };
        evaluate(expr, &readings, Window::new(Turn(from), Look::Turn(Turn(moment))))
    }
}

fn check(name: &str) -> Check {
    let kind = match name {
        "s1" | "s2" => CheckKind::Metric { of: Metric::Turns, at_most: None, at_least: None },
        "e" => CheckKind::Edit { under: vec![], except: vec![], what: vec![] },
        "m" => CheckKind::Message(MessageCheck::default()),
        _ => CheckKind::Exec { kind: None, argv: None, cwd: vec![], exit: ExitFilter::Any },
    };
    Check { id: CheckId::new(name), kind, read: Read::EachTurn }
}

/// The naive reading: whatever cannot be told may be either way, so every way is tried, and an answer is known only
/// if all ways agree. Nothing here knows of Kleene's logic or of causes.
struct World<'a> {
    session: &'a Session,
    from: u32,
    moment: u32,
    /// How the missing states and unclear orders turn out, as bits that are used up in order of asking.
    choices: u64,
    asked: std::cell::RefCell<Vec<String>>,
}

impl World<'_> {
    fn choose(&self, question: String) -> bool {
        let mut asked = self.asked.borrow_mut();
        let place = asked.iter().position(|known| *known == question).unwrap_or_else(|| {
            asked.push(question);
            asked.len() - 1
        });
        self.choices >> place & 1 == 1
    }

    fn state(&self, name: &str, turn: u32) -> bool {
        self.session
            .state(name, turn)
            .unwrap_or_else(|| self.choose(format!("state {name} {turn}")))
    }

    fn turns(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.moment
    }

    fn list(&self, name: &CheckId) -> Vec<Occurrence> {
        self.session.list(name.as_str(), self.moment)
    }

    fn is_before(&self, a: (&Occurrence, &CheckId), b: (&Occurrence, &CheckId)) -> bool {
        match a.0.turn.cmp(&b.0.turn) {
            Ordering::Less => return true,
            Ordering::Greater => return false,
            Ordering::Equal => {}
        }
        let (is_message, is_same_clock) =
            (|name: &CheckId| name.as_str() == "m", a.1.as_str()[..1] == b.1.as_str()[..1]);
        if is_message(a.1) || is_message(b.1) {
            return !is_message(a.1);
        }
        if is_same_clock && a.0 == b.0 {
            return false;
        }
        let apart = if is_same_clock { 1 } else { 10 };
        if b.0.time.earliest_ms - a.0.time.latest_ms >= apart {
            true
        } else if a.0.time.earliest_ms - b.0.time.latest_ms >= apart {
            false
        } else {
            self.choose(format!("order {a:?} {b:?}"))
        }
    }

    fn holds(&self, expr: &Expr) -> bool {
        let bound = |event: &&Occurrence| event.turn.0 >= self.from;
        let name_of = |id: &CheckId| id.as_str().to_owned();
        match expr {
            Expr::AtEnd(c) => self.state(c.as_str(), self.moment),
            Expr::Always(c) => {
                !self.turns().filter(|t| *t >= self.from).any(|t| !self.state(c.as_str(), t))
            }
            Expr::Never(c) if name_of(c).starts_with('s') => {
                !self.turns().filter(|t| *t >= self.from).any(|t| self.state(c.as_str(), t))
            }
            Expr::Never(c) => !self.list(c).iter().any(|event| bound(&event)),
            Expr::Eventually(c) if name_of(c).starts_with('s') => {
                self.turns().any(|t| self.state(c.as_str(), t))
            }
            Expr::Eventually(c) => !self.list(c).is_empty(),
            Expr::Before { first, then } => {
                let firsts = self.list(first);
                self.list(then)
                    .iter()
                    .filter(bound)
                    .all(|act| firsts.iter().any(|f| self.is_before((f, first), (act, then))))
            }
            Expr::Within { turns, first, then } => {
                let answers = self.list(then);
                self.list(first).iter().filter(bound).all(|trigger| {
                    answers.iter().any(|answer| {
                        answer.turn.0 <= trigger.turn.0 + turns
                            && !self.is_before((answer, then), (trigger, first))
                    })
                })
            }
            Expr::AfterLast { last, exists } => {
                let lasts = self.list(last);
                lasts.is_empty()
                    || self.list(exists).iter().any(|found| {
                        lasts.iter().all(|act| self.is_before((act, last), (found, exists)))
                    })
            }
            Expr::Granted { act, .. } => self.is_granted(&self.list(act)),
            Expr::All(list) => list.iter().all(|inner| self.holds(inner)),
            Expr::Any(list) => list.iter().any(|inner| self.holds(inner)),
            Expr::Not(inner) => !self.holds(inner),
            Expr::AtLeast { k, of } => {
                of.iter().filter(|inner| self.holds(inner)).count() >= *k as usize
            }
        }
    }

    /// Tries every way of using grants up: an act that must be covered is covered if some way covers all of them.
    fn is_granted(&self, acts: &[Occurrence]) -> bool {
        let grants = self.session.grants();
        let mut uses: Vec<u32> = grants.iter().map(|grant| grant.uses).collect();
        fn covers(grant: &Grant, act: &Occurrence) -> bool {
            (grant.from.0..grant.from.0 + grant.turns).contains(&act.turn.0)
        }
        let mut in_order: Vec<&Occurrence> = acts.iter().collect();
        in_order.sort_by_key(|act| (act.turn, act.time));
        // With at most two grants, the one that dies first is always used first.
        for act in in_order {
            let best = (0..grants.len())
                .filter(|at| uses[*at] > 0 && covers(&grants[*at], act))
                .min_by_key(|at| (grants[*at].from.0 + grants[*at].turns, grants[*at].from));
            match best {
                Some(at) => uses[at] -= 1,
                None if act.turn.0 >= self.from => return false,
                None => {}
            }
        }
        true
    }
}

/// Every way in which the unknown can turn out; none if there are too many to try.
fn outcomes(session: &Session, expr: &Expr, from: u32, moment: u32) -> Option<(bool, bool)> {
    let world = |choices| World { session, from, moment, choices, asked: Vec::new().into() };
    let (mut some_true, mut some_false) = (false, false);
    let mut bits = 0;
    let mut choices = 0_u64;
    loop {
        let world = world(choices);
        if world.holds(expr) {
            some_true = true;
        } else {
            some_false = true;
        }
        bits = bits.max(world.asked.borrow().len());
        choices += 1;
        if bits > 10 {
            return None;
        }
        if choices >= 1 << bits {
            return Some((some_true, some_false));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A known verdict is what every way of filling the gaps says; where nothing is unclear all is known.
    #[test]
    fn agrees_with_the_naive_reading(
        session in session(), expr in expression(), from in 1..=TURNS, moment in 1..=TURNS,
    ) {
        if let Some((some_true, some_false)) = outcomes(&session, &expr, from, moment) {
            match session.evaluate(&expr, from, moment) {
                Verdict::Met => prop_assert!(!some_false),
                Verdict::Unmet | Verdict::Violated => prop_assert!(!some_true),
                // Kleene's logic does not see that `a or not a` is true, so it may say less, but never of a leaf.
                Verdict::Undecided(_) => prop_assert!(
                    (some_true && some_false) || !is_leaf(&expr)
                ),
                Verdict::Vacuous => prop_assert!(false, "an expression is never vacuous"),
            }
        }
    }

    /// What is settled false stays so whatever still happens.
    #[test]
    fn a_violation_is_for_ever(
        session in session(), expr in expression(), from in 1..=TURNS, moment in 1..TURNS,
    ) {
        if session.evaluate(&expr, from, moment) == Verdict::Violated {
            for later in moment + 1..=TURNS {
                prop_assert_eq!(session.evaluate(&expr, from, later), Verdict::Violated);
            }
        }
        // The opposite settled false means settled true.
        let opposite = Expr::Not(Box::new(expr.clone()));
        if session.evaluate(&opposite, from, moment) == Verdict::Violated {
            for later in moment + 1..=TURNS {
                prop_assert_eq!(session.evaluate(&expr, from, later), Verdict::Met);
            }
        }
    }

    /// What offends before the window is not held against the agent: a later window is never worse.
    #[test]
    fn a_later_telling_is_never_held_against_the_agent(
        session in session(), expr in leaf(), from in 1..TURNS, moment in 1..=TURNS,
    ) {
        if session.evaluate(&expr, from, moment) == Verdict::Met {
            prop_assert_eq!(session.evaluate(&expr, from + 1, moment), Verdict::Met);
        }
    }

    #[test]
    fn laws_of_the_logic(
        session in session(), a in expression(), b in expression(), c in expression(),
        from in 1..=TURNS, moment in 1..=TURNS,
    ) {
        let is = |expr: &Expr| session.evaluate(expr, from, moment);
        let not = |expr: &Expr| Expr::Not(Box::new(expr.clone()));
        let all = |list: &[&Expr]| Expr::All(list.iter().map(|e| (*e).clone()).collect());
        let any = |list: &[&Expr]| Expr::Any(list.iter().map(|e| (*e).clone()).collect());
        let at_least = |k, list: &[&Expr]| Expr::AtLeast {
            k,
            of: list.iter().map(|e| (*e).clone()).collect(),
        };
        prop_assert_eq!(is(&not(&not(&a))), is(&a));
        prop_assert_eq!(is(&all(&[&a, &b])), is(&all(&[&b, &a])));
        prop_assert_eq!(is(&all(&[&a, &all(&[&b, &c])])), is(&all(&[&a, &b, &c])));
        prop_assert_eq!(is(&not(&all(&[&a, &b]))), is(&any(&[&not(&a), &not(&b)])));
        prop_assert_eq!(is(&not(&any(&[&a, &b]))), is(&all(&[&not(&a), &not(&b)])));
        prop_assert_eq!(is(&at_least(1, &[&a, &b, &c])), is(&any(&[&a, &b, &c])));
        prop_assert_eq!(is(&at_least(3, &[&a, &b, &c])), is(&all(&[&a, &b, &c])));
        prop_assert_eq!(is(&all(&[&a, &a])), is(&a));
        let two_of_three = any(&[&all(&[&a, &b]), &all(&[&a, &c]), &all(&[&b, &c])]);
        prop_assert_eq!(is(&at_least(2, &[&a, &b, &c])), is(&two_of_three));
    }
}

fn is_leaf(expr: &Expr) -> bool {
    !matches!(expr, Expr::All(_) | Expr::Any(_) | Expr::Not(_) | Expr::AtLeast { .. })
}
