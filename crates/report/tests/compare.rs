//! Comparisons of made-up runs whose differences are known beforehand.

use std::collections::BTreeMap;

use domain::{
    fault::{Ending, Flag},
    ids::{AgentName, Attempt, FamilyId, Hash, PairId, PersonaId, ReleaseId, Repeat, SuiteId},
    plan::{Arm, BenchmarkSide, Configuration, Plan, SessionLimits, SessionSpec, UserKind},
    result::{Class, Load, SessionResult},
};
use report::context::{
    Aspect, CompareContext, ComparedRun, HeaderContext, Incomparable, Pairing, compare,
    compare_tables,
};

const PAIRS: u32 = 100;

/// A run of a hundred pairs in the arm without a persona.
struct Run {
    header: HeaderContext,
    plan: Plan,
    results: Vec<SessionResult>,
    suites: BTreeMap<PairId, SuiteId>,
}

impl Run {
    /// `passes` says which repeat of which pair passed; none was not executed.
    fn new(agent: &str, repeats: u32, passes: impl Fn(u32, u32) -> Option<bool>) -> Self {
        let id = |pair: u32| PairId::new(format!("persona--task-{pair:03}"));
        let specs: Vec<SessionSpec> = (0..PAIRS)
            .flat_map(|pair| (1..=repeats).map(move |repeat| spec(id(pair), repeat)))
            .collect();
        let results = (0..PAIRS)
            .flat_map(|pair| (1..=repeats).map(move |repeat| (pair, repeat)))
            .filter_map(|(pair, repeat)| Some(result(id(pair), repeat, passes(pair, repeat)?)))
            .collect();
        let plan = Plan {
            release: ReleaseId::new("made-up"),
            release_version: "1.0.0".into(),
            digest: Hash::new("a".repeat(64)),
            locked: true,
            configuration: Configuration {
                agent: AgentName::new(agent),
                model: None,
                effort: None,
                settings: Vec::new(),
            },
            arm: Arm::NoPersona,
            side: BenchmarkSide {
                user: UserKind::Template,
                sandbox: "simulated".into(),
                budget_multiplier: 1,
                interaction_limit_sec: None,
                jobs: 1,
            },
            seed: 1,
            repeats,
            specs,
            excluded: Vec::new(),
        };
        let header = HeaderContext {
            release: "made-up 1.0.0".into(),
            digest: plan.digest.to_string(),
            locked: true,
            protocol: 1,
            arm: "no-persona".into(),
            sandbox: "simulated".into(),
            user: "template".into(),
            budget_multiplier: 1,
            pairs: PAIRS as usize,
            repeats,
            shortfalls: Vec::new(),
            environment: "root".into(),
            interaction_limit_sec: None,
            is_a_person: false,
        };
        let suites = (0..PAIRS).map(|pair| (id(pair), SuiteId::new("one"))).collect();
        Self { header, plan, results, suites }
    }

    fn compared(&self) -> ComparedRun<'_> {
        ComparedRun {
            name: self.plan.configuration.agent.to_string(),
            header: &self.header,
            plan: &self.plan,
            results: &self.results,
            suites: &self.suites,
        }
    }
}

fn spec(pair: PairId, repeat: u32) -> SessionSpec {
    let limits = SessionLimits {
        turns_max: 1,
        agent_time_ms: 1,
        wall_time_ms: 1,
        tokens_max: None,
        cost_microusd_max: None,
        preparation_ms: 1,
        verification_ms: 1,
    };
    SessionSpec { pair, repeat: Repeat(repeat), draw: 0, limits, steps_agent_ms: Vec::new() }
}

fn result(pair: PairId, repeat: u32, passed: bool) -> SessionResult {
    SessionResult {
        pair,
        suite: SuiteId::new("one"),
        persona: PersonaId::new("nobody"),
        family: FamilyId::new("none"),
        repeat: Repeat(repeat),
        attempt: Attempt(1),
        ending: Ending::Accepted,
        flags: Vec::new(),
        completion: None,
        steps: Vec::new(),
        survivors: None,
        completed: Some(passed),
        personalized: None,
        within_budget: true,
        valid: true,
        joint: None,
        class: if passed { Class::JointPass } else { Class::Neither },
        requirements: Vec::new(),
        load: Load::default(),
    }
}

fn of(runs: &[&Run], pairing: Pairing) -> CompareContext {
    let runs: Vec<ComparedRun<'_>> = runs.iter().map(|run| run.compared()).collect();
    compare(&runs, &[], pairing, 1).expect("runs that compare")
}

fn near(found: f64, expect: f64, within: f64) {
    assert!((found - expect).abs() <= within, "{found} is not {expect}");
}

/// 48 against 40, ten pairs one way and two the other: McNemar's exact p is 0.0386, Tango's interval 1.4 to 15.8.
#[test]
fn two_rows_with_one_repeat() {
    let first = Run::new("a", 1, |pair, _| Some(pair < 48));
    let second =
        Run::new("b", 1, |pair, _| Some((10..48).contains(&pair) || (60..62).contains(&pair)));
    let found = of(&[&first, &second], Pairing::All);
    let [one] = found.comparisons.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.first_more, one.second_more), (10, 2));
    near(one.p, 0.038_574, 1e-6);
    near(one.adjusted_p, one.p, 1e-12);
    assert_eq!((one.points, one.low_points, one.high_points), (8.0, 1.4, 15.8));
    assert_eq!(found.rows[0].passed.count, 48);
    assert_eq!((found.rows[0].rank_best, found.rows[0].with_best), (Some(1), Some(true)));
    assert_eq!((found.rows[0].percent, found.ranks_withheld.as_deref()), (48.0, None));
    assert_eq!(found.flips.len(), 12);
    assert_eq!(found.flips[0].cells[1].reasons, ["not completed: tests"]);
    let tables = compare_tables(&found);
    assert_eq!(tables[1].rows, [["a − b", "10 – 2", "+8.0", "+1.4 to +15.8", "0.039"]]);
}

#[test]
fn what_was_not_executed_did_not_pass() {
    let first = Run::new("a", 2, |_, _| Some(true));
    let second = Run::new("b", 2, |pair, repeat| (pair % 2 == 0 || repeat == 1).then_some(true));
    let found = of(&[&first, &second], Pairing::All);
    assert_eq!((found.rows[1].passed.count, found.rows[1].passed.of), (150, 200));
    near(found.comparisons[0].points, 25.0, 1e-9);
    assert_eq!((found.comparisons[0].first_more, found.flips.len()), (50, 50));
    assert_eq!(found.flips[0].cells[1].reasons, ["not run"]);
    assert!(found.comparisons[0].p < 0.001, "{found:?}");
    // A quarter was lost, and nobody knows to whose harm: such rows are not ranked.
    let why = found.ranks_withheld.as_deref().expect("a reason");
    assert_eq!(why, "b lost 25.0 points for reasons that are not the agent's");
    assert!(found.rows.iter().all(|row| row.rank_best.is_none() && row.with_best.is_none()));
    assert_eq!(compare_tables(&found)[0].rows[0][3..], ["–", "–"]);
}

#[test]
fn families_cost_what_they_must() {
    let rows: Vec<Run> = (0..4)
        .map(|row| {
            let passes = move |pair: u32, _| Some(pair < 40 && pair >= 3 * row || pair == 90 + row);
            Run::new(&format!("row-{row}"), 1, passes)
        })
        .collect();
    let rows: Vec<&Run> = rows.iter().collect();
    let all = of(&rows, Pairing::All);
    assert_eq!(all.comparisons.len(), 6);
    let first = of(&rows, Pairing::WithFirst);
    let p: Vec<f64> = first.comparisons.iter().map(|one| one.p).collect();
    assert_eq!(p.len(), 3);
    // Holm: the smallest of three counts three times.
    let least = first.comparisons.iter().map(|one| one.adjusted_p).fold(1.0, f64::min);
    near(least, 3.0 * p.iter().copied().fold(1.0, f64::min), 1e-12);
    for one in all.comparisons.iter().chain(&first.comparisons) {
        assert!(one.adjusted_p >= one.p, "{one:?}");
    }
}

#[test]
fn what_differs_is_refused_unless_it_is_named() {
    let first = Run::new("a", 1, |_, _| Some(true));
    let mut second = Run::new("a", 1, |_, _| Some(false));
    second.header.arm = "opening".into();
    second.header.budget_multiplier = 2;
    let runs = [first.compared(), second.compared()];
    let check =
        |despite: &[Aspect], expect: &[Aspect]| match compare(&runs, despite, Pairing::All, 1) {
            Err(Incomparable::Differs(differs)) => {
                assert_eq!(differs.iter().map(|one| one.what).collect::<Vec<_>>(), expect);
            }
            other => assert!(expect.is_empty() && other.is_ok(), "{other:?}"),
        };
    check(&[], &[Aspect::Arm, Aspect::Budget]);
    check(&[Aspect::Arm], &[Aspect::Budget]);
    check(&[Aspect::Arm, Aspect::Budget], &[]);
    let found = compare(&runs, &[Aspect::Arm, Aspect::Budget], Pairing::All, 1).expect("allowed");
    assert_eq!(found.rows[1].name, "a · opening · 2x");
    assert_eq!(found.differs.len(), 2);
    let notes = compare_tables(&found)[0].notes.join("\n");
    assert!(notes.contains("differ in arm") && notes.contains("differ in budget"), "{notes}");
    let said = compare(&runs, &[], Pairing::All, 1).unwrap_err().to_string();
    assert_eq!(said, "the runs differ in arm (no-persona, opening), budget (1x, 2x)");
    assert_eq!(compare(&runs[..1], &[], Pairing::All, 1), Err(Incomparable::TooFew));
}

#[test]
fn reasons_name_budget_and_flags() {
    let first = Run::new("a", 1, |_, _| Some(true));
    let mut second = Run::new("b", 1, |_, _| Some(true));
    let late = &mut second.results[3];
    late.within_budget = false;
    late.valid = false;
    late.class = Class::OverBudget;
    late.ending = Ending::AgentTime;
    late.flags = vec![(Flag::ChannelOverflow, String::new())];
    let found = of(&[&first, &second], Pairing::All);
    let reason = found.flips[0].cells[1].reasons.join("; ");
    let parts = ["over budget", Ending::AgentTime.name(), Flag::ChannelOverflow.name()];
    assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
}
