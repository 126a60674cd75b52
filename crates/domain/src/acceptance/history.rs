//! What the checks of a session have read so far, by look ([`ReadingHistory`]), as an evaluation sees it ([`Readings`]).

use alloc::{collections::BTreeMap, vec::Vec};

use super::{Look, Occurrence, Reading, Truth, Window};
use crate::{
    controller::Grant,
    evidence::{Channel, Missing},
    ids::{CheckId, Turn},
    release::{Check, CheckKind, ReadingNature, SecretPlace},
};

/// Readings by check and look; of events the latest list, which is whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingHistory {
    checks: BTreeMap<CheckId, CheckHistory>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct CheckHistory {
    looks: Vec<(Look, Seen)>,
    occurrences: Vec<Occurrence>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    State(Truth),
    Events { any: bool },
    Missing(Missing),
}

/// Everything that an evaluation may look at.
#[derive(Clone, Copy, Debug)]
pub struct Readings<'a> {
    /// The checks of the pair; their kinds tell from which clock an occurrence comes.
    pub checks: &'a [Check],
    /// What they have read.
    pub history: &'a ReadingHistory,
    /// Grants that were given.
    pub grants: &'a [Grant],
}

/// The first turn at whose end the check had read true or had an occurrence.
pub fn first_turn_true(check: &CheckId, readings: &Readings<'_>) -> Option<Turn> {
    let history = readings.history.checks.get(check)?;
    history.looks.iter().find_map(|(look, seen)| match (look, seen) {
        (Look::Turn(turn), Seen::State(Truth::True) | Seen::Events { any: true }) => Some(*turn),
        _ => None,
    })
}

impl ReadingHistory {
    /// Adds what a check answered at a look. A reading that says it was not looked at leaves no trace.
    pub fn record(&mut self, look: Look, check: &CheckId, reading: &Reading) {
        let seen = match reading {
            Reading::Missing(Missing::NotLooked)
            | Reading::State { truth: Truth::Unknown(Missing::NotLooked), .. } => return,
            Reading::State { truth, .. } => Seen::State(*truth),
            Reading::Events(list) => Seen::Events { any: !list.is_empty() },
            Reading::Missing(cause) => Seen::Missing(*cause),
        };
        let history = self.checks.entry(check.clone()).or_default();
        if let Reading::Events(list) = reading {
            history.occurrences.clone_from(list);
        }
        history.looks.retain(|(known, _)| *known != look);
        history.looks.push((look, seen));
    }

    /// Whether the check has read anything at the look.
    pub fn was_read(&self, look: Look, check: &CheckId) -> bool {
        self.checks
            .get(check)
            .is_some_and(|history| history.looks.iter().any(|(known, _)| *known == look))
    }

    /// Whether the check read otherwise on the seal than at the last turn at which it was looked at.
    pub fn changed_at_seal(&self, check: &CheckId) -> bool {
        let Some(history) = self.checks.get(check) else { return false };
        let seen = |is_sealed: bool| {
            let looks = history.looks.iter().rev();
            looks
                .filter(|(look, _)| (*look == Look::Sealed) == is_sealed)
                .map(|(_, seen)| *seen)
                .next()
        };
        match (seen(false), seen(true)) {
            (Some(Seen::State(Truth::Unknown(_))), _)
            | (_, Some(Seen::State(Truth::Unknown(_)))) => false,
            (Some(Seen::State(before)), Some(Seen::State(now))) => before != now,
            (Some(Seen::Events { any: before }), Some(Seen::Events { any: now })) => before != now,
            _ => false,
        }
    }
}

/// A state check's readings up to a moment.
pub(super) struct States {
    /// In order of looks.
    pub looks: Vec<(Look, Truth)>,
    /// At the moment itself.
    pub now: Truth,
}

/// An events check's occurrences up to a moment.
pub(super) struct Events<'a> {
    pub list: Vec<&'a Occurrence>,
    /// Why there may be more than the list holds.
    pub gap: Option<Missing>,
    pub source: Source,
}

/// Where the time of an occurrence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The agent's message: always the end of its turn's acts.
    Message,
    /// A kernel clock of the channel.
    Kernel(Channel),
}

/// What a check is by its readings; a check that has read nothing yet is what its kind says.
pub(super) enum Operand<'a> {
    States(States),
    Events(Events<'a>),
}

impl<'a> Readings<'a> {
    pub(super) fn operand(&self, check: &CheckId, window: &Window) -> Operand<'a> {
        let kind = self.checks.iter().find(|known| known.id == *check).map(|known| &known.kind);
        match kind {
            Some(CheckKind::Exec { .. }) => {
                Operand::Events(self.events(check, Source::Kernel(Channel::Processes), window))
            }
            Some(CheckKind::Edit { .. }) => {
                Operand::Events(self.events(check, Source::Kernel(Channel::Manifest), window))
            }
            Some(CheckKind::Net { .. }) => {
                Operand::Events(self.events(check, Source::Kernel(Channel::Network), window))
            }
            Some(CheckKind::Message(_)) => {
                Operand::Events(self.events(check, Source::Message, window))
            }
            Some(CheckKind::Secret(secret)) if secret.nature() == ReadingNature::Events => {
                let source = match secret.looks_at(SecretPlace::Messages) {
                    true => Source::Message,
                    false if secret.looks_at(SecretPlace::Programs) => {
                        Source::Kernel(Channel::Processes)
                    }
                    false => Source::Kernel(Channel::Network),
                };
                Operand::Events(self.events(check, source, window))
            }
            _ => Operand::States(self.states(check, window)),
        }
    }

    fn states(&self, check: &CheckId, window: &Window) -> States {
        let mut looks = Vec::new();
        let mut now = Truth::Unknown(Missing::NotLooked);
        let Some(history) = self.history.checks.get(check) else { return States { looks, now } };
        for (look, seen) in &history.looks {
            let truth = match seen {
                Seen::State(truth) => *truth,
                Seen::Missing(cause) => Truth::Unknown(*cause),
                Seen::Events { .. } => Truth::Unknown(Missing::ChannelMissing),
            };
            if *look <= window.moment {
                looks.push((*look, truth));
            }
            if *look == window.moment {
                now = truth;
            }
        }
        looks.sort_by_key(|(look, _)| *look);
        States { looks, now }
    }

    fn events(&self, check: &CheckId, source: Source, window: &Window) -> Events<'a> {
        let Some(history) = self.history.checks.get(check) else {
            return Events { list: Vec::new(), gap: Some(Missing::NotLooked), source };
        };
        let at_moment = history.looks.iter().find(|(look, _)| *look == window.moment);
        let gap = match at_moment {
            Some((_, Seen::Events { .. })) => None,
            Some((_, Seen::Missing(cause) | Seen::State(Truth::Unknown(cause)))) => Some(*cause),
            Some((_, Seen::State(_))) => Some(Missing::ChannelMissing),
            None => Some(Missing::NotLooked),
        };
        // A list read only later must not tell of turns at whose end nobody had looked.
        let was_read = history
            .looks
            .iter()
            .any(|(look, seen)| *look <= window.moment && matches!(seen, Seen::Events { .. }));
        let list = history
            .occurrences
            .iter()
            .filter(|occurrence| was_read && window.has_seen(occurrence.turn))
            .collect();
        Events { list, gap, source }
    }
}
