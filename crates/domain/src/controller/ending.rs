//! Budgets of a session and when one is spent ([`over_budget`]).

use super::Used;
use crate::{fault::Ending, ids::Turn, plan::SessionLimits};

/// How strictly a budget is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverBudget {
    /// More was used than there is.
    Exceeded,
    /// Nothing is left for another turn.
    Spent,
}

/// The ending of the first budget that is over, in the order time, tokens, cost, turns.
pub(crate) fn over_budget(
    limits: &SessionLimits,
    used: &Used,
    turn: Turn,
    how: OverBudget,
) -> Option<Ending> {
    let is_over = |used: u64, max: u64| match how {
        OverBudget::Exceeded => used > max,
        OverBudget::Spent => used >= max,
    };
    let is_over_if_set = |used: Option<u64>, max: Option<u64>| {
        used.zip(max).is_some_and(|(used, max)| is_over(used, max))
    };
    if is_over(used.agent_ms, limits.agent_time_ms) {
        Some(Ending::AgentTime)
    } else if is_over_if_set(used.tokens, limits.tokens_max) {
        Some(Ending::AgentTokens)
    } else if is_over_if_set(used.cost_microusd, limits.cost_microusd_max) {
        Some(Ending::AgentCost)
    } else if is_over(u64::from(turn.0), u64::from(limits.turns_max)) {
        Some(Ending::TurnCap)
    } else {
        None
    }
}
