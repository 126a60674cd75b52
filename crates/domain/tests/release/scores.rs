//! Scores: the census adds up, strata add up, and a score that does not is no score.

use domain::{
    evidence::Missing,
    fault::{Ending, Flag},
    ids::*,
    plan::*,
    release::Release,
    result::*,
    score::*,
    session::CompletionOutcome,
    verdict::Verdict,
};
use proptest::prelude::*;

use crate::{
    build::*,
    results::{facts, told},
};

fn three_pairs() -> Release {
    let mut release = release();
    for (name, suite) in [("attic", "other"), ("cellar", "tiny")] {
        let mut one = pair(name);
        one.suite = SuiteId::new(suite);
        release.pairs.insert(PairId::new(name), one);
    }
    release
}

fn plan(release: &Release, arm: Arm, repeats: u32) -> Plan {
    expand(release, &PlanRequest { arm, repeats, ..request() }).unwrap()
}

#[test]
fn a_census_that_does_not_add_up_does_not_exist() {
    let census = Census::new(3, [(Class::JointPass, 2), (Class::Infra, 1)]).unwrap();
    assert_eq!(census.count(Class::JointPass), 2);
    assert_eq!(census.entries().len(), Class::ALL.len());
    let error = Census::new(40, [(Class::JointPass, 20), (Class::Neither, 15)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "census: the total of assigned is 40, but its parts add up to 35"
    );
}

#[test]
fn a_total_that_differs_from_its_strata_is_an_error() {
    let release = three_pairs();
    let score = RunScore::of(&plan(&release, Arm::Progressive, 1), &release, &[]).unwrap();
    let check = |spoil: fn(&mut RunScore), expect: &str| {
        let mut spoiled = score.clone();
        spoil(&mut spoiled);
        assert_eq!(spoiled.check_sums().unwrap_err().to_string(), expect);
    };
    check(
        |score| score.suites[0].headline = 1,
        "suites: the total of headline is 0, but its parts add up to 1",
    );
    check(
        |score| score.families[0].assigned = 4,
        "families: the total of assigned is 3, but its parts add up to 4",
    );
    check(
        |score| score.personalization = Some(Rate { count: 2, of: 3 }),
        "suites: the total of personalized is 2, but its parts add up to 0",
    );
    check(
        |score| score.assigned = 4,
        "census: the total of assigned is 4, but its parts add up to 3",
    );
    check(
        |score| score.requirements.passed = 1,
        "requirements: the total of assigned is 6, but its parts add up to 7",
    );
    check(
        |score| score.areas[0].counts.not_graded = 5,
        "areas: the total of not graded is 6, but its parts add up to 5",
    );
}

#[test]
fn results_belong_to_the_plan() {
    let release = three_pairs();
    let planned = plan(&release, Arm::Progressive, 1);
    let mut stray = facts();
    stray.repeat = Repeat(2);
    let error = RunScore::of(&planned, &release, &[stray.derive()]).unwrap_err();
    assert_eq!(error.to_string(), "the result of pair house, repeat 2 was not assigned");
    let mut twice = planned.clone();
    twice.specs.push(planned.specs[0].clone());
    let error = RunScore::of(&twice, &release, &[]).unwrap_err();
    assert_eq!(error.to_string(), "the plan assigns pair attic, repeat 1 twice");
    let mut smaller = release.clone();
    smaller.pairs.remove(&PairId::new("attic"));
    let error = RunScore::of(&planned, &smaller, &[]).unwrap_err();
    assert_eq!(error.to_string(), "the release has no pair attic with its persona");
}

#[test]
fn the_first_sound_attempt_is_scored_else_the_last() {
    let attempt = |number, ending, flags: &[Flag]| {
        let mut facts = facts();
        facts.attempt = Attempt(number);
        facts.ending = ending;
        facts.flags = flags.iter().map(|flag| (*flag, String::new())).collect();
        facts.derive()
    };
    let check = |attempts: &[SessionResult], expect: Option<u32>| {
        let found = scored(attempts).map(|result| result.attempt.0);
        assert_eq!(found, expect);
    };
    check(&[], None);
    check(&[attempt(2, Ending::Accepted, &[]), attempt(1, Ending::Accepted, &[])], Some(1));
    check(&[attempt(2, Ending::Accepted, &[]), attempt(1, Ending::ProviderError, &[])], Some(2));
    check(&[attempt(1, Ending::Lost, &[]), attempt(2, Ending::ProviderError, &[])], Some(2));
    check(&[attempt(1, Ending::TurnCap, &[]), attempt(2, Ending::Accepted, &[])], Some(1));
    let leak = &[Flag::DisclosureLeak];
    check(&[attempt(1, Ending::Accepted, leak), attempt(2, Ending::Accepted, &[])], Some(2));
    let regraded = &[Flag::VerificationIncomplete];
    check(&[attempt(1, Ending::Accepted, regraded), attempt(2, Ending::Accepted, &[])], Some(1));
}

#[test]
fn a_run_is_counted() {
    let release = three_pairs();
    let planned = plan(&release, Arm::Progressive, 1);
    let result = |pair: &str, attempt, ending, completed: f64| {
        let mut facts = facts();
        facts.pair = PairId::new(pair);
        facts.attempt = Attempt(attempt);
        facts.ending = ending;
        facts.completion = Some(CompletionOutcome::Rewards(vec![("reward".into(), completed)]));
        facts.load.turns = 3;
        facts.load.tokens = (pair == "house").then_some(10);
        facts.derive()
    };
    let results = [
        result("house", 1, Ending::ProviderError, 1.0),
        result("house", 2, Ending::Accepted, 1.0),
        result("cellar", 1, Ending::AgentTime, 1.0),
    ];
    let score = RunScore::of(&planned, &release, &results).unwrap();
    let rate = |count, of| Rate { count, of };
    assert_eq!(score.joint, Some(rate(1, 3)));
    assert_eq!(score.completed_valid, rate(1, 3));
    assert_eq!(score.completion, rate(2, 3));
    assert_eq!(score.personalization, Some(rate(2, 3)));
    assert_eq!(score.upper_bound, rate(2, 3), "the attic was not run, the time of the cellar was");
    assert_eq!(score.within_budget, rate(1, 2));
    assert_eq!(score.two_by_two, TwoByTwo { both: 2, ..Default::default() });
    assert_eq!(score.reruns, [(Flag::ProviderError, 1)]);
    assert_eq!(score.flags, [(Flag::ProviderError, 1)]);
    assert_eq!((score.load.turns, score.load.tokens), (6, Some(10)));
    let suites: Vec<_> =
        score.suites.iter().map(|row| (row.name.as_str(), row.assigned, row.headline)).collect();
    assert_eq!(suites, [("other", 1, 0), ("tiny", 2, 1)]);
    assert_eq!((score.requirements.passed, score.requirements.not_graded), (4, 2));
}

prop_compose! {
    fn verdict()(which in 0_u8..6) -> Option<Verdict> {
        match which {
            0 => None,
            1 => Some(Verdict::Met),
            2 => Some(Verdict::Unmet),
            3 => Some(Verdict::Violated),
            4 => Some(Verdict::Vacuous),
            _ => Some(Verdict::Undecided(Missing::OrderUnknown)),
        }
    }
}

prop_compose! {
    fn session(has_persona: bool)(
        pair in prop::sample::select(vec!["attic", "cellar", "house"]),
        repeat in 1_u32..4,
        attempt in 1_u32..4,
        ending in prop::sample::select(Ending::ALL.to_vec()),
        flags in prop::collection::vec(prop::sample::select(Flag::ALL.to_vec()), 0..2),
        reward in prop::option::of(0_u8..2),
        verdicts in [verdict(), verdict()],
        told_both in any::<bool>(),
    ) -> SessionResult {
        let mut facts = facts();
        facts.pair = PairId::new(pair);
        facts.repeat = Repeat(repeat);
        facts.attempt = Attempt(attempt);
        facts.has_persona = has_persona;
        facts.ending = ending;
        facts.flags = flags.into_iter().map(|flag| (flag, String::new())).collect();
        facts.completion = reward.map(|value| {
            CompletionOutcome::Rewards(vec![("reward".into(), f64::from(value))])
        });
        facts.requirements = vec![
            told("note", true, verdicts[0]),
            told("quiet", false, verdicts[1]),
        ];
        if !told_both {
            facts.requirements[0].delivered = None;
        }
        facts.derive()
    }
}

fn check_adds_up(arm: Arm, results: &[SessionResult]) {
    let release = three_pairs();
    let planned = plan(&release, arm, 3);
    let score = RunScore::of(&planned, &release, results).unwrap();
    let classes: u32 = score.census.entries().iter().map(|(_, count)| count).sum();
    assert_eq!(classes, 9);
    for rows in [&score.suites, &score.families] {
        assert_eq!(rows.iter().map(|row| row.assigned).sum::<u32>(), 9);
        let headline: u32 = rows.iter().map(|row| row.headline).sum();
        assert_eq!(headline, score.headline().count);
        assert_eq!(headline, score.census.count(Class::JointPass));
    }
    let lost = Class::ALL.into_iter().filter(|class| !class.is_graded());
    let graded = 9 - lost.map(|class| score.census.count(class)).sum::<u32>();
    assert_eq!(score.two_by_two.graded(), graded);
    assert!(score.headline().count <= score.completed_valid.count);
    assert!(score.completed_valid.count <= score.completion.count);
    assert!(score.upper_bound.count <= 9);
    for result in results {
        let joint = result
            .joint
            .unwrap_or(result.completed == Some(true) && result.within_budget && result.valid);
        assert_eq!(joint, result.class == Class::JointPass);
    }
}

proptest! {
    #[test]
    fn every_score_adds_up(results in prop::collection::vec(session(true), 0..20)) {
        check_adds_up(Arm::Progressive, &results);
    }

    #[test]
    fn every_score_without_persona_adds_up(
        results in prop::collection::vec(session(false), 0..20),
    ) {
        check_adds_up(Arm::NoPersona, &results);
    }
}
