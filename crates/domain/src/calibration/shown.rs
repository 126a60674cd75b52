//! What one session of a calibration showed ([`Shown`]), down to each part of an acceptance ([`Part`]).

use alloc::{string::String, vec::Vec};

use super::CalibrationAgent;
use crate::{
    ids::RequirementId,
    plan::{Arm, SessionLimits},
    release::Expr,
    result::SessionResult,
    session::Session,
    verdict::Verdict,
};

/// One session: who, where, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// In which arm.
    pub arm: Arm,
    /// Who.
    pub agent: CalibrationAgent,
    /// Its declared limits.
    pub limits: SessionLimits,
    /// What it came to.
    pub result: SessionResult,
    /// Every part of every acceptance at the seal; empty if nothing was sealed.
    pub parts: Vec<Part>,
    /// Its commands that failed, each with how: a script that breaks off shows nothing of what it is there for.
    pub failed_commands: Vec<String>,
}

/// One operator over checks within the `holds` of a requirement, at the seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which requirement.
    pub requirement: RequirementId,
    /// Its place among the parts of that requirement, from 0.
    pub place: u32,
    /// As an author would name it: operator and checks.
    pub name: String,
    /// Whether it speaks for the requirement, the polarity of `not` worked in.
    pub passes: bool,
}

impl Shown {
    /// What a session that was replayed to its end showed; `result` is its fold, `failed_commands` are those of its
    /// script.
    pub fn new(
        agent: CalibrationAgent,
        session: &Session,
        result: SessionResult,
        failed_commands: Vec<String>,
    ) -> Self {
        let scenario = session.scenario();
        let mut parts = Vec::new();
        for (at, requirement) in scenario.requirements.iter().enumerate() {
            let mut leaves = Vec::new();
            leaves_of(&requirement.pass.holds, false, &mut leaves);
            for (place, (leaf, is_negated)) in leaves.into_iter().enumerate() {
                let Some(verdict) = session.sealed_verdict_of(at, leaf) else { continue };
                let passes = match verdict {
                    Verdict::Met => !is_negated,
                    Verdict::Unmet | Verdict::Violated => is_negated,
                    Verdict::Undecided(_) | Verdict::Vacuous => false,
                };
                parts.push(Part {
                    requirement: requirement.id.clone(),
                    place: place as u32,
                    name: leaf.named(),
                    passes,
                });
            }
        }
        let limits = scenario.spec.limits;
        Self { arm: scenario.arm, agent, limits, result, parts, failed_commands }
    }
}

/// The operators over checks, each with whether an odd number of `not` lies over it.
fn leaves_of<'a>(expr: &'a Expr, is_negated: bool, found: &mut Vec<(&'a Expr, bool)>) {
    match expr {
        Expr::All(list) | Expr::Any(list) | Expr::AtLeast { of: list, .. } => {
            for inner in list {
                leaves_of(inner, is_negated, found);
            }
        }
        Expr::Not(inner) => leaves_of(inner, !is_negated, found),
        _ => found.push((expr, is_negated)),
    }
}
