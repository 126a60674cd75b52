//! One evolved requirement: public text, disclosure condition, acceptance and feedback ([`Requirement`]).

use alloc::{string::String, vec::Vec};

use super::{ActionClass, AfterTelling, Condition, Expr, Latest, Sight};
use crate::ids::{CheckId, RequirementId, TopicId};

/// A requirement of a pair; all of it is fixed before evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Its id within the pair.
    pub id: RequirementId,
    /// What it is about, for reports.
    pub area: Area,
    /// Whether personalization needs it.
    pub mandatory: bool,
    /// The trait: why this person wants it; delivered only with it.
    pub because: String,
    /// The neutral label of questions about it.
    pub topic: Option<TopicId>,
    /// The class of action that it is about.
    pub class: Option<ActionClass>,
    /// The public text; the acceptance asks nothing beyond it.
    pub text: String,
    /// At least three wordings of the telling.
    pub say: Vec<String>,
    /// Literals that each wording holds; each entry lists alternatives.
    pub must_say: Vec<Vec<String>>,
    /// Terms that must not be said before it is told.
    pub hide: Vec<String>,
    /// From which turn it binds.
    pub binds: Binds,
    /// Other wording for the opening arm, where acceptance refers to delivery, feedback or grants.
    pub opening: Option<String>,
    /// When it is told.
    pub tell: Tell,
    /// When it is met.
    pub pass: Pass,
    /// What is said when it is not.
    pub feedback: Feedback,
}

/// The areas of requirements, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// How it is built.
    Implementation,
    /// What may be done.
    Permissions,
    /// How it is verified.
    Testing,
    /// What is explained.
    Explanation,
    /// How it is handed over.
    Delivery,
    /// How one talks.
    Interaction,
}

impl Area {
    /// All areas in the order of reports.
    pub const ALL: [Area; 6] = [
        Area::Implementation,
        Area::Permissions,
        Area::Testing,
        Area::Explanation,
        Area::Delivery,
        Area::Interaction,
    ];

    /// The name that stands in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Area::Implementation => "implementation",
            Area::Permissions => "permissions",
            Area::Testing => "testing",
            Area::Explanation => "explanation",
            Area::Delivery => "delivery",
            Area::Interaction => "interaction",
        }
    }
}

/// From which turn a requirement binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binds {
    /// From the turn that its message opens.
    #[default]
    WhenTold,
    /// From the first turn; stands in the opening's frame.
    FromStart,
}

/// When a requirement is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Tell {
    /// The disclosure condition.
    pub when: Condition,
    /// The latest point; a hand-off forces it in any case.
    pub latest: Latest,
    /// If it is met at the telling.
    pub if_presatisfied: IfPresatisfied,
    /// If it is violated at the telling and is a state.
    pub if_previolated: IfPreviolated,
}

/// What to do when a requirement is met before it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfPresatisfied {
    /// Tell it as any other.
    #[default]
    Deliver,
    /// Tell it as praise for what is already so.
    Acknowledge,
}

/// What to do when a state is already wrong at the telling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfPreviolated {
    /// It is to be undone; judged at the seal.
    #[default]
    Undo,
    /// What was there before stays: only what is worse than at the telling counts.
    Grandfather,
}

/// The acceptance of a requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// If this does not hold over the whole session the verdict is vacuous; it can only take a pass away.
    pub applies_if: Option<Expr>,
    /// What must hold.
    pub holds: Expr,
}

/// Words of correction; the nth raise takes the nth level that has words and that the persona can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// How often it may be raised.
    pub repeats: u32,
    /// Level 1: a symptom that the persona can observe.
    pub symptom: Vec<String>,
    /// Level 2: the requirement in own words.
    pub restate: Vec<String>,
    /// Level 3: an observable within the persona's evidence rights.
    pub point: Vec<String>,
    /// Sight that symptom and point need; derived from the checks of the acceptance by the loader.
    pub sight: Vec<Sight>,
}

/// How precise a correction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeedbackLevel {
    /// A symptom.
    Symptom,
    /// The requirement in own words.
    Restate,
    /// An observable.
    Point,
}

impl Pass {
    /// Both expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.applies_if.iter().chain(core::iter::once(&self.holds))
    }

    /// Every check that the acceptance names, with duplicates.
    pub fn checks(&self) -> Vec<&CheckId> {
        self.exprs().flat_map(Expr::checks).collect()
    }
}

impl Requirement {
    /// The condition that `tell` stands for, in the opening arm always the opening.
    pub fn is_told_at_opening(&self) -> bool {
        self.tell.when == Condition::AtOpening || self.tell.latest == Latest::Opening
    }

    /// Whether its acceptance or its condition speaks of an earlier telling of `other`.
    pub fn waits_for(&self, other: &RequirementId) -> bool {
        self.tell.when.mentions(other, AfterTelling::Any)
    }
}
