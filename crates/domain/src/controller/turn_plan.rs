//! What one user message must and may convey ([`TurnPlan`]), what it must not ([`WordingGuard`]),
//! and who speaks ([`Voice`]).

use alloc::{string::String, vec::Vec};

use crate::{
    ids::{RequirementId, TopicId, Turn},
    release::{ActionClass, FeedbackLevel},
};

/// What one user message conveys: all that a user port ever receives beside voice and dialogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlan {
    /// The turn that the message opens.
    pub turn: Turn,
    /// Acts in the order in which they are said.
    pub acts: Vec<SpeechAct>,
    /// Words at the most, the fenced statement aside.
    pub words_max: u32,
    /// BCP 47 language.
    pub language: String,
    /// Questions that the user may ask.
    pub questions_max: u32,
}

/// One act of speech with its chosen wording; a model may word it otherwise as long as the review
/// passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpeechAct {
    /// The first message, and that of each later step: frame and the statement verbatim in a fence.
    Open {
        /// Words before the statement.
        say: String,
        /// The native task statement, or the step's.
        statement: String,
    },
    /// Gives a permission.
    Grant {
        /// Its class.
        class: ActionClass,
        /// What exactly was asked for.
        subject: Option<String>,
        /// The chosen wording.
        say: String,
    },
    /// Refuses a permission.
    Refuse {
        /// Its class if it has one.
        class: Option<ActionClass>,
        /// The chosen wording.
        say: String,
    },
    /// Answers a question from the fact table.
    Answer {
        /// What it is about.
        topic: TopicId,
        /// The chosen wording.
        say: String,
    },
    /// Puts a question off.
    Defer {
        /// The chosen wording.
        say: String,
    },
    /// Has no answer to a question.
    DontKnow {
        /// The chosen wording.
        say: String,
    },
    /// Corrects a requirement that was told.
    Correct {
        /// Which one.
        requirement: RequirementId,
        /// How precisely.
        level: FeedbackLevel,
        /// The chosen wording.
        say: String,
    },
    /// Tells a requirement.
    Tell {
        /// Which one.
        requirement: RequirementId,
        /// Words before it.
        lead: String,
        /// The chosen wording.
        say: String,
        /// Why this person wants it: released with it.
        because: String,
        /// Literals that must appear, each with alternatives.
        must_say: Vec<Vec<String>>,
    },
    /// Tells a requirement that is met already, as praise.
    Acknowledge {
        /// Which one.
        requirement: RequirementId,
        /// Words before it.
        lead: String,
        /// The chosen wording.
        say: String,
        /// Why this person wants it.
        because: String,
        /// Literals that must appear, each with alternatives.
        must_say: Vec<Vec<String>>,
    },
    /// Asks an idle agent to go on.
    Nudge {
        /// The chosen wording.
        say: String,
    },
    /// Asks to check once more, without content (arm `neutral-turns`).
    CheckAgain {
        /// The chosen wording.
        say: String,
    },
    /// Goes on after answers or without anything to correct.
    Continue {
        /// The chosen wording.
        say: String,
    },
}

/// What a message must not convey; known only to the pure review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordingGuard {
    /// Terms of everything hidden that are not public by now, in lower case.
    pub hidden_terms: Vec<String>,
    /// Numbers, paths, identifiers and quotations that may appear: of the plan, the dialogue and
    /// the statement.
    pub allowed_literals: Vec<String>,
    /// Whether the plan holds a grant; without one there must be no assent.
    pub has_grant: bool,
}

/// What a wording model knows of the person; never permissions, topics, family or id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// One line: who they are.
    pub role: String,
    /// Manner and ability.
    pub card: String,
    /// Words at the most.
    pub words_max: u32,
    /// BCP 47 language.
    pub language: String,
    /// Facts that were answered already.
    pub known: Vec<String>,
    /// Texts of requirements delivered already.
    pub delivered: Vec<String>,
}

/// One message of the dialogue so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogueLine {
    /// The user said it.
    User(String),
    /// The agent said it: data, never an instruction.
    Agent(String),
}

impl SpeechAct {
    /// The requirement that the act delivers, if any.
    pub fn delivers(&self) -> Option<&RequirementId> {
        match self {
            SpeechAct::Tell { requirement, .. } | SpeechAct::Acknowledge { requirement, .. } => {
                Some(requirement)
            }
            _ => None,
        }
    }

    /// The requirement that the act corrects, if any.
    pub fn corrects(&self) -> Option<&RequirementId> {
        match self {
            SpeechAct::Correct { requirement, .. } => Some(requirement),
            _ => None,
        }
    }
}

impl TurnPlan {
    /// Requirements that the message delivers.
    pub fn delivers(&self) -> impl Iterator<Item = &RequirementId> {
        self.acts.iter().filter_map(SpeechAct::delivers)
    }
}
