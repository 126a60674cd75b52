//! Who the user is, true on every task: [`Persona`].

use alloc::{string::String, vec::Vec};

use crate::ids::{FamilyId, PersonaId, TopicId};

/// A person with role, manner, sight, patience, permissions, facts and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    /// Id with version.
    pub id: PersonaId,
    /// Family that variants share.
    pub family: FamilyId,
    /// One line: who they are and what they need.
    pub role: String,
    /// Manner and ability in prose; holds no graded demand.
    pub card: String,
    /// What they can look at by themselves.
    pub sees: Vec<Sight>,
    /// When they lose patience.
    pub patience: Patience,
    /// How they tell.
    pub telling: Telling,
    /// What they allow, refuse or grant.
    pub permissions: PermissionTable,
    /// Neutral labels with the words that ask about them.
    pub topics: Vec<Topic>,
    /// What they know and say when asked.
    pub knows: Vec<Fact>,
    /// Their words for each act.
    pub utterances: Utterances,
}

/// An evidence right of a persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// The agent's message.
    Message,
    /// The thing that was made, opened.
    Artifact,
    /// Files of the workspace.
    Files,
    /// The difference to before.
    Diff,
    /// The version history.
    History,
    /// The commands that were run.
    Commands,
    /// Test results.
    Tests,
}

/// Limits of patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Hand-offs that are refused at the most.
    pub handoff_refusals: u32,
    /// Idle turns in a row after which they give up.
    pub silent_turns: u32,
    /// Same message without change so many times in a row ends it.
    pub repeated_turns: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { handoff_refusals: 2, silent_turns: 2, repeated_turns: 3 }
    }
}

/// How a persona tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    /// Requirements told in one message at the most.
    pub tells_per_message: u32,
    /// What "anything else?" brings.
    pub generic_ask: GenericAsk,
    /// Length of a message at the most, the opening's statement aside.
    pub words_max: u32,
    /// BCP 47 language of the utterances.
    pub language: String,
}

impl Default for Telling {
    fn default() -> Self {
        Self {
            tells_per_message: 1,
            generic_ask: GenericAsk::Defer,
            words_max: 60,
            language: String::from("en"),
        }
    }
}

/// Policy for a question about nothing in particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericAsk {
    /// Tell the next requirement that is hidden.
    NextRequirement,
    /// Put it off.
    Defer,
}

/// Classes of action that can be permitted, a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActionClass {
    /// Installing software.
    Install,
    /// Reaching the network.
    Network,
    /// Writing to listed paths.
    Write,
    /// Deleting files or data.
    Delete,
    /// Committing.
    GitCommit,
    /// Pushing.
    GitPush,
    /// Rewriting history.
    GitHistory,
    /// Publishing something.
    Publish,
    /// Changing a database schema.
    Schema,
    /// Starting or stopping services.
    Service,
    /// Acting with raised privileges.
    Privileged,
    /// Spending money.
    Spend,
}

impl ActionClass {
    /// All classes in the order of the protocol.
    pub const ALL: [ActionClass; 12] = [
        ActionClass::Install,
        ActionClass::Network,
        ActionClass::Write,
        ActionClass::Delete,
        ActionClass::GitCommit,
        ActionClass::GitPush,
        ActionClass::GitHistory,
        ActionClass::Publish,
        ActionClass::Schema,
        ActionClass::Service,
        ActionClass::Privileged,
        ActionClass::Spend,
    ];

    /// The name that stands in files.
    pub fn name(self) -> &'static str {
        match self {
            ActionClass::Install => "install",
            ActionClass::Network => "network",
            ActionClass::Write => "write",
            ActionClass::Delete => "delete",
            ActionClass::GitCommit => "git_commit",
            ActionClass::GitPush => "git_push",
            ActionClass::GitHistory => "git_history",
            ActionClass::Publish => "publish",
            ActionClass::Schema => "schema",
            ActionClass::Service => "service",
            ActionClass::Privileged => "privileged",
            ActionClass::Spend => "spend",
        }
    }
}

/// What a persona answers to requests, by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionTable {
    /// Answer for a class that is not listed.
    pub default: PermissionAnswer,
    /// Listed classes, each once.
    pub entries: Vec<PermissionEntry>,
}

/// One class of a permission table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionEntry {
    /// The class.
    pub class: ActionClass,
    /// Words that ask for it.
    pub asked_by: Vec<String>,
    /// The answer.
    pub answer: PermissionAnswer,
    /// Paths or names that a grant covers; empty means the subject that was asked for.
    pub scope: Vec<String>,
}

/// The fixed answer to a request of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// Always allowed.
    Allowed,
    /// Always refused.
    Refused,
    /// Must be asked for; a grant covers so many uses in so many turns.
    Granted {
        /// Acts covered.
        uses: u32,
        /// Turns for which it lives, the one that it opens included.
        turns: u32,
    },
}

/// A neutral label with the words that ask about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The label.
    pub id: TopicId,
    /// Words or phrases, matched without case.
    pub words: Vec<String>,
}

/// Something that the persona knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub topic: TopicId,
    /// At least three wordings.
    pub say: Vec<String>,
}

/// A persona's words for each act, at least three of each that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utterances {
    /// Before the task statement.
    pub opening: Vec<String>,
    /// Before a telling.
    pub tell: Vec<String>,
    /// For a requirement that is met already.
    pub acknowledge: Vec<String>,
    /// When a grant is given; the class is worded by the request.
    pub grant: Vec<String>,
    /// When a request is refused.
    pub refuse: Vec<String>,
    /// To a question that has no answer here; never assent.
    pub dont_know: Vec<String>,
    /// To a question about something that is not yet to be told; never assent.
    pub defer: Vec<String>,
    /// After an idle turn.
    pub nudge: Vec<String>,
    /// Stored, not sent, on acceptance.
    pub closing: Vec<String>,
}
