//! Every identifier of the benchmark, each a type of its own so that two of them cannot be mixed up.

use alloc::string::String;
use core::fmt;

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text of an id; the release lints judge its shape.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text as it stands in files and logs.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    )*};
}

text_ids! {
    /// A release, for instance `starter`.
    ReleaseId;
    /// Where a task comes from, for instance `swe-bench-pro`.
    SuiteId;
    /// A native task.
    TaskId;
    /// A step of a task that has several.
    StepId;
    /// A persona with its version, for instance `shop_owner.v1`.
    PersonaId;
    /// The family of personas that one belongs to, for instance `shop_owner`.
    FamilyId;
    /// One persona on one task: the unit of assignment.
    PairId;
    /// A requirement of a pair.
    RequirementId;
    /// A named check of a pair.
    CheckId;
    /// A neutral label that a question can be about.
    TopicId;
    /// A content hash in lower-case hexadecimal (BLAKE3, 256 bits).
    Hash;
    /// The agent under test as the user named it, for instance `oracle`.
    AgentName;
}

macro_rules! number_ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}", self.0)
            }
        }
    )*};
}

number_ids! {
    /// A turn; the first user message opens turn 1, turn 0 is the base state.
    Turn(u32);
    /// A planned repetition of a pair, from 1.
    Repeat(u32);
    /// One try at a repeat, from 1.
    Attempt(u32);
    /// A decided command within one session, from 1.
    CommandId(u32);
    /// A permission request of the agent within one session.
    RequestId(u32);
}

impl Turn {
    /// The state before the first message.
    pub const BASE: Turn = Turn(0);

    /// The turn after this one.
    pub fn next(self) -> Turn {
        Turn(self.0 + 1)
    }
}
