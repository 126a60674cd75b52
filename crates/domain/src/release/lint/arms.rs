//! Lints over arms: every pair compiles in each, and who drops out of the opening arm is said.

use alloc::{format, string::ToString};

use super::{NotePath, Scope, note::Notes};
use crate::{
    evidence::{Channel, ChannelSet},
    ids::Repeat,
    plan::{
        Arm, BenchmarkSide, SessionSpec, UserKind, excluded_from_opening, limits, steps_agent_ms,
    },
    release::Release,
    session::Scenario,
};

/// A pair in all arms.
pub(super) fn pair(scope: &Scope<'_>, release: &Release, notes: &mut Notes) {
    let side = BenchmarkSide {
        user: UserKind::Template,
        sandbox: "simulated".to_string(),
        budget_multiplier: 1,
        interaction_limit_sec: None,
        jobs: 1,
    };
    let spec = SessionSpec {
        pair: scope.pair.id.clone(),
        repeat: Repeat(1),
        draw: 0,
        limits: limits(scope.pair, scope.task, &side),
        steps_agent_ms: steps_agent_ms(scope.task, &side),
    };
    let channels: ChannelSet = Channel::ALL.into_iter().collect();
    // That the other arms are closed to it is said with its persona.
    let has_steps = !scope.task.steps.is_empty();
    for arm in Arm::ALL.into_iter().filter(|arm| !has_steps || *arm == Arm::NoPersona) {
        if let Err(error) = Scenario::compile(release, &spec, arm, side.user, &channels) {
            notes.error(
                NotePath::Pair(scope.pair.id.clone(), "".into()),
                format!("the pair cannot be run in the arm `{}`: {error}", arm.name()),
                "add what is missing",
            );
        }
    }
    for id in excluded_from_opening(scope.pair) {
        notes.warning(
            NotePath::Requirement(scope.pair.id.clone(), id.clone(), "opening".into()),
            "its acceptance refers to the telling or to grants, so the opening arm leaves the pair out",
            "write how it reads when it is told in the first message: `opening = \"…\"`",
        );
    }
}
