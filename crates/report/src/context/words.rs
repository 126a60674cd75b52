//! What the typed parts of a release and of a log are called in reports: conditions, acceptances, acts, verdicts.

use domain::{
    acceptance::Look,
    evidence::ChangeKind,
    release::{AfterTelling, BudgetKind, Claim, Condition, Expr, FeedbackLevel, Latest, Tell},
    session::{CompletionOutcome, TurnStop, Watchdog},
    verdict::Verdict,
};

/// When a requirement is told, its latest point included.
pub(super) fn told_when(tell: &Tell) -> String {
    let when = condition(&tell.when);
    match tell.latest {
        Latest::Opening => format!("{when}; at the latest in the first message"),
        Latest::Turn(turn) => format!("{when}; at the latest after turn {turn}"),
        Latest::Handoff if tell.when == Condition::AtHandoff => when,
        Latest::Handoff => format!("{when}; a hand-off forces it"),
    }
}

fn condition(when: &Condition) -> String {
    match when {
        Condition::AtOpening => "in the first message".to_owned(),
        Condition::AfterTurn(turn) => format!("after turn {turn}"),
        Condition::AfterShare { of, percent } => {
            let of = match of {
                BudgetKind::Turns => "the turns",
                BudgetKind::AgentTime => "the agent time",
                BudgetKind::Tokens => "the tokens",
                BudgetKind::Cost => "the cost",
            };
            format!("once {percent} % of {of} are used")
        }
        Condition::Asked => "when it is asked about".to_owned(),
        Condition::Holds(check) => format!("once {check} holds"),
        Condition::Requirement { id, is } => {
            let fate = match is {
                AfterTelling::Told => "was told",
                AfterTelling::Met => "was met",
                AfterTelling::Violated => "was violated",
                AfterTelling::Any => "has come up",
            };
            format!("once {id} {fate}")
        }
        Condition::Violated { id, times } => format!("once {id} was broken {}", often(*times)),
        Condition::Claims(claim) => {
            format!("once the agent claims that the work is {}", claimed(*claim))
        }
        Condition::AtHandoff => "at a hand-off".to_owned(),
        Condition::AfterFeedback { id, times } => {
            format!("once {id} was corrected {}", often(*times))
        }
        Condition::Silent(turns) => format!("after {turns} idle turns in a row"),
        Condition::Granted(class) => format!("once {} was granted", class.name()),
        Condition::All(list) => joined(list.iter().map(condition), " and "),
        Condition::Any(list) => joined(list.iter().map(condition), " or "),
        Condition::Not(inner) => format!("not yet: {}", condition(inner)),
        Condition::Then { first, next, within_turns } => {
            let within = within_turns.map_or_else(String::new, |n| format!(" within {n} turns"));
            format!("{}, then{within} {}", condition(first), condition(next))
        }
    }
}

fn often(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

fn claimed(claim: Claim) -> &'static str {
    match claim {
        Claim::Done => "done",
        Claim::Tested => "tested",
        Claim::Explained => "explained",
    }
}

/// What an acceptance asks, in the words of its operators.
pub(super) fn acceptance(expr: &Expr) -> String {
    match expr {
        Expr::AtEnd(check) => format!("{check} is true at the end"),
        Expr::Always(check) => format!("{check} is always true"),
        Expr::Never(check) => format!("never {check}"),
        Expr::Eventually(check) => format!("{check} at some time"),
        Expr::Before { first, then } => format!("{first} before each {then}"),
        Expr::Within { turns, first, then } => {
            format!("each {first} is answered by {then} within {turns} turns")
        }
        Expr::AfterLast { last, exists } => format!("{exists} after the last {last}"),
        Expr::Granted { class, act } => format!("each {act} has a grant for {}", class.name()),
        Expr::All(list) => joined(list.iter().map(acceptance), " and "),
        Expr::Any(list) => joined(list.iter().map(acceptance), " or "),
        Expr::Not(inner) => format!("not ({})", acceptance(inner)),
        Expr::AtLeast { k, of } => {
            format!("at least {k} of: {}", joined(of.iter().map(acceptance), ", "))
        }
    }
}

fn joined(parts: impl Iterator<Item = String>, with: &str) -> String {
    parts.collect::<Vec<_>>().join(with)
}

pub(super) fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Met => "met".to_owned(),
        Verdict::Unmet => "unmet".to_owned(),
        Verdict::Violated => "violated".to_owned(),
        Verdict::Undecided(cause) => format!("undecided ({})", cause.name()),
        Verdict::Vacuous => "vacuous".to_owned(),
    }
}

pub(super) fn completion(outcome: &CompletionOutcome) -> String {
    match outcome {
        CompletionOutcome::Rewards(rewards) => {
            joined(rewards.iter().map(|(key, value)| format!("{key} = {value}")), ", ")
        }
        CompletionOutcome::NoReward => "no reward file".to_owned(),
        CompletionOutcome::BadReward(why) => format!("bad reward file: {why}"),
        CompletionOutcome::Contradictory(why) => format!("contradictory rewards: {why}"),
        CompletionOutcome::TimedOut => "the verifier ran out of time".to_owned(),
    }
}

pub(super) fn change(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::ModeChanged => "mode changed",
        ChangeKind::KindChanged => "kind changed",
        ChangeKind::Deleted => "deleted",
    }
}

pub(super) fn look(look: Look) -> String {
    match look {
        Look::Turn(turn) => format!("turn {turn}"),
        Look::Sealed => "seal".to_owned(),
    }
}

pub(super) fn level(level: FeedbackLevel) -> &'static str {
    match level {
        FeedbackLevel::Symptom => "symptom",
        FeedbackLevel::Restate => "restate",
        FeedbackLevel::Point => "point",
    }
}

pub(super) fn stop(stop: TurnStop) -> &'static str {
    match stop {
        TurnStop::Finished => "returned control",
        TurnStop::Interrupted => "was interrupted",
        TurnStop::Refused => "its model refused",
        TurnStop::Crashed => "crashed",
        TurnStop::DeadlinePassed => "ran out of time",
        TurnStop::LimitBreached => "breached a limit of the sandbox",
    }
}

pub(super) fn watchdog(watchdog: Watchdog) -> &'static str {
    match watchdog {
        Watchdog::Preparation => "preparation took too long",
        Watchdog::WallTime => "the wall time of the session ran out",
        Watchdog::Verification => "verification took too long",
    }
}

#[cfg(test)]
mod tests {
    use domain::{
        ids::{CheckId, RequirementId},
        release::{ActionClass, IfPresatisfied, IfPreviolated},
    };

    use super::*;

    fn check(name: &str) -> CheckId {
        CheckId::new(name)
    }

    #[test]
    fn conditions_and_acceptances_read_as_sentences() {
        let tell = |when, latest| Tell {
            when,
            latest,
            if_presatisfied: IfPresatisfied::Deliver,
            if_previolated: IfPreviolated::Undo,
        };
        let asked_or_written =
            Condition::Any(vec![Condition::Asked, Condition::Holds(check("page_written"))]);
        let broken = Condition::Violated { id: RequirementId::new("no_commit"), times: 1 };
        let cases = [
            (tell(Condition::AtHandoff, Latest::Handoff), "at a hand-off"),
            (
                tell(asked_or_written, Latest::Handoff),
                "when it is asked about or once page_written holds; a hand-off forces it",
            ),
            (
                tell(broken, Latest::Turn(3)),
                "once no_commit was broken once; at the latest after turn 3",
            ),
        ];
        for (tell, expect) in cases {
            assert_eq!(told_when(&tell), expect);
        }
        let cases = [
            (Expr::AtEnd(check("opens")), "opens is true at the end"),
            (
                Expr::All(vec![
                    Expr::Never(check("installs")),
                    Expr::Not(Box::new(Expr::Always(check("clean")))),
                ]),
                "never installs and not (clean is always true)",
            ),
            (
                Expr::Granted { class: ActionClass::GitCommit, act: check("commits") },
                "each commits has a grant for git_commit",
            ),
        ];
        for (expr, expect) in cases {
            assert_eq!(acceptance(&expr), expect);
        }
    }
}
