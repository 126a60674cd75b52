//! Who is run to calibrate a pair ([`CalibrationAgent`]).

use alloc::{format, string::String, vec::Vec};

use crate::{
    ids::RequirementId,
    plan::Arm,
    release::{CounterexampleKind, Pair},
};

/// An agent of whom it is known beforehand what it must pass and fail.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CalibrationAgent {
    /// Does everything right.
    Oracle,
    /// Runs the reference solution and never listens.
    Eager,
    /// Does nothing.
    Nop,
    /// Fails one requirement.
    Counterexample(RequirementId, CounterexampleKind),
}

impl CalibrationAgent {
    /// As it stands in reports.
    pub fn name(&self) -> String {
        match self {
            CalibrationAgent::Oracle => "oracle".into(),
            CalibrationAgent::Eager => "eager".into(),
            CalibrationAgent::Nop => "nop".into(),
            CalibrationAgent::Counterexample(requirement, kind) => {
                format!("{} of {requirement}", kind.name())
            }
        }
    }
}

/// Who calibrates a pair in an arm, in order of reports. Counterexamples fail what the arms without persona do not
/// grade, so they have no place there.
pub fn agents(pair: &Pair, arm: Arm) -> Vec<CalibrationAgent> {
    let mut all =
        Vec::from([CalibrationAgent::Oracle, CalibrationAgent::Eager, CalibrationAgent::Nop]);
    if arm.has_persona() {
        for requirement in &pair.requirements {
            let own = pair.counterexamples.iter().filter(|one| one.requirement == requirement.id);
            all.extend(
                own.map(|one| CalibrationAgent::Counterexample(one.requirement.clone(), one.kind)),
            );
        }
    }
    all
}
