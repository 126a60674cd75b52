//! Results: the formula, flags and classes of single sessions.

use domain::{
    evidence::Missing,
    fault::{Ending, Flag},
    ids::*,
    release::Area,
    result::*,
    session::CompletionOutcome,
    verdict::{Outcome, Verdict},
};

use crate::build::pair;

const OPEN: Verdict = Verdict::Undecided(Missing::OrderUnknown);
const UNJUDGED: Verdict = Verdict::Undecided(Missing::JudgeSplit);

pub fn told(name: &str, mandatory: bool, sealed: Option<Verdict>) -> RequirementResult {
    RequirementResult {
        id: RequirementId::new(name),
        area: Area::Delivery,
        mandatory,
        delivered: Some(Turn(2)),
        corrections: 0,
        online: vec![],
        sealed,
        outcome: Outcome::NotGraded,
        disagreements: 0,
    }
}

pub fn facts() -> SessionFacts {
    SessionFacts {
        pair: PairId::new("house"),
        suite: SuiteId::new("tiny"),
        persona: PersonaId::new("caretaker.v1"),
        family: FamilyId::new("caretaker"),
        repeat: Repeat(1),
        attempt: Attempt(1),
        has_persona: true,
        ending: Ending::Accepted,
        flags: vec![],
        completion: reward(1.0),
        steps: vec![],
        survivors: None,
        rule: pair("house").completion,
        requirements: vec![
            told("note", true, Some(Verdict::Met)),
            told("quiet", true, Some(Verdict::Met)),
        ],
        load: Load::default(),
    }
}

fn reward(value: f64) -> Option<CompletionOutcome> {
    Some(CompletionOutcome::Rewards(vec![("reward".into(), value)]))
}

/// Spoils a passing session and shows class, joint and flags.
fn check(spoil: impl FnOnce(&mut SessionFacts), expect: &str) {
    let mut facts = facts();
    spoil(&mut facts);
    let result = facts.derive();
    let mut shown = result.class.name().to_owned();
    if result.joint == Some(true) {
        shown.push_str(", joint");
    }
    for (flag, _) in &result.flags {
        let counts = result.counting_flags().any(|counting| counting == *flag);
        shown.push_str(if counts { " !" } else { " " });
        shown.push_str(flag.name());
    }
    assert_eq!(shown, expect);
}

#[test]
fn a_joint_pass_needs_everything() {
    check(|_| {}, "joint pass, joint");
    check(|facts| facts.completion = reward(0.5), "personalization only");
    check(|facts| facts.requirements[0].sealed = Some(Verdict::Unmet), "completion only");
    check(|facts| facts.requirements[1].sealed = Some(Verdict::Violated), "completion only");
    check(|facts| facts.requirements[1].sealed = Some(Verdict::Vacuous), "completion only");
    check(
        |facts| {
            facts.completion = reward(0.0);
            facts.requirements[0].sealed = Some(Verdict::Unmet);
        },
        "neither",
    );
    check(
        |facts| {
            facts.requirements[1].mandatory = false;
            facts.requirements[1].sealed = Some(Verdict::Violated);
        },
        "joint pass, joint",
    );
}

#[test]
fn what_is_no_reward_completes_nothing() {
    for outcome in [
        CompletionOutcome::NoReward,
        CompletionOutcome::BadReward("nan".into()),
        CompletionOutcome::Contradictory("1 and 0".into()),
        CompletionOutcome::TimedOut,
        CompletionOutcome::Rewards(vec![("other".into(), 1.0)]),
        CompletionOutcome::Rewards(vec![]),
    ] {
        check(|facts| facts.completion = Some(outcome), "personalization only");
    }
}

#[test]
fn an_ending_of_the_agent_is_graded() {
    check(|facts| facts.ending = Ending::Quit, "joint pass, joint");
    check(|facts| facts.ending = Ending::AcceptedWithReservations, "joint pass, joint");
    check(|facts| facts.ending = Ending::TurnCap, "over budget");
    check(
        |facts| {
            facts.ending = Ending::Silent;
            facts.completion = reward(0.0);
        },
        "agent stopped",
    );
    check(
        |facts| {
            facts.ending = Ending::Crash;
            facts.requirements[1].delivered = None;
        },
        "agent stopped",
    );
}

#[test]
fn a_fault_is_not_graded() {
    check(|facts| facts.ending = Ending::ProviderError, "infra !provider_error");
    check(|facts| facts.ending = Ending::UserFailed, "invalid !user_failed");
    check(|facts| facts.ending = Ending::Lost, "invalid !lost");
    let unprepared = |flags: &[Flag], expect: &str| {
        let flags: Vec<_> = flags.iter().map(|flag| (*flag, String::new())).collect();
        let spoil = |facts: &mut SessionFacts| {
            facts.ending = Ending::PreparationFailed;
            facts.flags = flags;
        };
        check(spoil, expect);
    };
    unprepared(&[], "infra !preparation_failed");
    unprepared(&[Flag::MaterialiseFailed], "infra !materialise_failed");
    unprepared(&[Flag::HostLimits], "infra !preparation_failed !host_limits");
    let mut lost = facts();
    lost.ending = Ending::EnvironmentLost;
    let result = lost.derive();
    assert_eq!((result.completed, result.personalized), (None, None));
    assert!(result.requirements.iter().all(|one| one.outcome == Outcome::NotGraded));
}

#[test]
fn flags_go_by_their_owner_first() {
    let with = |flags: &[Flag]| {
        let flags: Vec<_> = flags.iter().map(|flag| (*flag, String::new())).collect();
        move |facts: &mut SessionFacts| facts.flags = flags
    };
    check(with(&[Flag::LogTampering]), "disqualified !log_tampering");
    check(
        with(&[Flag::LogTampering, Flag::DisclosureLeak]),
        "invalid !disclosure_leak !log_tampering",
    );
    check(
        with(&[Flag::DisclosureLeak, Flag::VerificationIncomplete]),
        "infra !verification_incomplete !disclosure_leak",
    );
    check(with(&[Flag::CpuStarved, Flag::CpuStarved]), "invalid !cpu_starved");
}

#[test]
fn a_requirement_untold_is_a_fault_only_after_a_normal_end() {
    check(|facts| facts.requirements[1].delivered = None, "invalid !not_delivered");
    check(
        |facts| {
            facts.ending = Ending::AgentTime;
            facts.requirements[1].delivered = None;
        },
        "over budget",
    );
}

#[test]
fn undecided_counts_only_if_it_decides() {
    let first = |verdict| move |facts: &mut SessionFacts| facts.requirements[0].sealed = verdict;
    check(first(Some(OPEN)), "invalid !order_unknown");
    check(first(Some(UNJUDGED)), "invalid !judge_undecided");
    check(first(None), "invalid !evidence_missing");
    check(
        |facts| {
            facts.completion = None;
            facts.requirements[0].sealed = Some(OPEN);
        },
        "invalid !order_unknown",
    );
    check(
        |facts| {
            facts.completion = reward(0.0);
            facts.requirements[0].sealed = Some(OPEN);
        },
        "undecided order_unknown",
    );
    check(
        |facts| {
            facts.requirements[0].sealed = Some(OPEN);
            facts.requirements[1].sealed = Some(Verdict::Violated);
        },
        "completion only order_unknown",
    );
    check(
        |facts| {
            facts.requirements[0].mandatory = false;
            facts.requirements[0].sealed = Some(OPEN);
        },
        "joint pass, joint",
    );
}

#[test]
fn without_persona_it_is_completed_or_not() {
    let alone = |facts: &mut SessionFacts| {
        facts.has_persona = false;
        facts.requirements = vec![];
    };
    check(alone, "joint pass");
    check(
        |facts| {
            alone(facts);
            facts.completion = reward(0.0);
            facts.ending = Ending::Quit;
        },
        "neither",
    );
    check(
        |facts| {
            alone(facts);
            facts.ending = Ending::AgentTokens;
        },
        "over budget",
    );
    let mut facts = facts();
    alone(&mut facts);
    let result = facts.derive();
    assert_eq!((result.personalized, result.joint), (None, None));
}
