//! Where a value must not be ([`SecretCheck`]): files, messages, programs, history, difference.

use alloc::{string::String, vec::Vec};

use super::ReadingNature;
use crate::evidence::Channel;

/// Where a value is looked for, as it is and in the usual disguises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretCheck {
    /// The value.
    pub value: String,
    /// Where; either places that answer a state or places that answer events.
    pub on: Vec<SecretPlace>,
    /// Paths that count for files and difference; empty means all below the working directory.
    pub under: Vec<String>,
    /// Paths that do not count.
    pub except: Vec<String>,
    /// The repository of the history; none means the working directory.
    pub repo: Option<String>,
}

/// A place where a value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretPlace {
    /// A file that is there now (E1): its content, its name, a link's target.
    Files,
    /// A line added since the base (E2).
    Diff,
    /// An object, a log or a setting of the repository that the base has not (E6).
    History,
    /// The agent's text, narration, code and quotes included (E5).
    Messages,
    /// The arguments of a program (E3) that does more than look for text or replace it.
    Programs,
    /// A name, address, path or server's name in an attempt to reach a host (E4).
    Network,
}

impl SecretPlace {
    /// All places with the words that name them in files.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("files", Self::Files),
        ("diff", Self::Diff),
        ("history", Self::History),
        ("messages", Self::Messages),
        ("programs", Self::Programs),
        ("network", Self::Network),
    ];

    /// Whether looking there answers a state or events.
    pub fn nature(self) -> ReadingNature {
        match self {
            Self::Files | Self::Diff | Self::History => ReadingNature::State,
            Self::Messages | Self::Programs | Self::Network => ReadingNature::Events,
        }
    }
}

impl SecretCheck {
    /// Whether it answers a state or events; the first place decides, and a lint refuses a mixture.
    pub fn nature(&self) -> ReadingNature {
        self.on.first().map_or(ReadingNature::State, |place| place.nature())
    }

    /// Whether it looks there.
    pub fn looks_at(&self, place: SecretPlace) -> bool {
        self.on.contains(&place)
    }

    /// The channels that it needs.
    pub fn channels(&self) -> &'static [Channel] {
        // A place in the middle costs little where it is not asked for.
        const EVENTS: [Channel; 3] = [Channel::Transcript, Channel::Processes, Channel::Network];
        const STATES: [Channel; 3] = [Channel::Manifest, Channel::Diff, Channel::Git];
        let looks = |place| self.looks_at(place);
        if self.nature() == ReadingNature::Events {
            let places = [SecretPlace::Messages, SecretPlace::Programs, SecretPlace::Network];
            let first = places.iter().position(|place| looks(*place)).unwrap_or(0);
            let last = places.iter().rposition(|place| looks(*place)).unwrap_or(0);
            return &EVENTS[first..=last];
        }
        let first = if looks(SecretPlace::Files) || looks(SecretPlace::Diff) { 0 } else { 2 };
        let last = match (looks(SecretPlace::History), looks(SecretPlace::Diff)) {
            (true, _) => 3,
            (false, true) => 2,
            (false, false) => 1,
        };
        &STATES[first..last]
    }
}
