//! Plans: expansion, limits, refusals, and what remains to be done.

use domain::{
    evidence::Channel,
    fault::Remedy,
    ids::*,
    plan::*,
    release::{ActionClass, CheckKind, Expr, Metric, NetFilter, Release, StepPlaced, Task},
    session::Scenario,
};

use crate::build::*;

fn plan(release: &Release, change: impl FnOnce(&mut PlanRequest)) -> Result<Plan, String> {
    let mut request = request();
    change(&mut request);
    expand(release, &request).map_err(|error| error.to_string())
}

fn three_pairs() -> Release {
    let mut release = release();
    for name in ["attic", "cellar"] {
        release.pairs.insert(PairId::new(name), pair(name));
    }
    release
}

fn order(plan: &Plan) -> String {
    let specs = plan.specs.iter().map(|spec| format!("{}/{}", spec.pair, spec.repeat));
    specs.collect::<Vec<_>>().join(" ")
}

#[test]
fn pairs_stand_in_order_times_repeats() {
    let release = three_pairs();
    let check = |patterns: &[&str], limit, repeats, expect: &str| {
        let planned = plan(&release, |request| {
            request.pairs = patterns.iter().map(|pattern| pattern.to_string()).collect();
            request.limit = limit;
            request.repeats = repeats;
        });
        assert_eq!(planned.map(|plan| order(&plan)).unwrap_or_else(|error| error), expect);
    };
    check(&[], None, 2, "attic/1 attic/2 cellar/1 cellar/2 house/1 house/2");
    check(&["*l*"], None, 1, "cellar/1");
    check(&["h?use", "attic"], None, 1, "attic/1 house/1");
    check(&["{attic,cellar}"], None, 1, "attic/1 cellar/1");
    check(&["hous"], None, 1, "no pair of the release fits hous");
    check(&[], Some(1), 1, "attic/1");
    check(&[], Some(0), 1, "no pair of the release fits (it has none, or the limit is 0)");
    check(&[], None, 0, "the number of repeats must be at least 1");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_draws_do_not_depend_on_siblings() {
    let release = three_pairs();
    let whole = plan(&release, |request| request.repeats = 3).unwrap();
    let again = plan(&release, |request| request.repeats = 3).unwrap();
    assert_eq!(format!("{whole:?}"), format!("{again:?}"));
    let other = plan(&release, |request| request.seed = 8).unwrap();
    assert_ne!(whole.specs[0].draw, other.specs[0].draw);
    let alone = plan(&release, |request| request.pairs = vec!["house".into()]).unwrap();
    let in_company = whole.specs.iter().find(|spec| spec.pair.as_str() == "house").unwrap();
    assert_eq!(&alone.specs[0], in_company);
    let mut draws: Vec<u64> = whole.specs.iter().map(|spec| spec.draw).collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws.len(), 9, "each repeat draws by itself");
}

#[test]
fn limits_are_resolved_and_multiplied() {
    let check = |change: fn(&mut Release), side: fn(&mut BenchmarkSide), expect: SessionLimits| {
        let mut release = release();
        change(&mut release);
        let planned = plan(&release, |request| side(&mut request.side)).unwrap();
        assert_eq!(planned.specs[0].limits, expect);
    };
    let declared = SessionLimits {
        turns_max: 8,
        agent_time_ms: 100_000,
        wall_time_ms: 3_700_000,
        tokens_max: None,
        cost_microusd_max: None,
        preparation_ms: 7_200_000,
        verification_ms: 900_000,
    };
    check(|_| {}, |_| {}, declared);
    // The task's 60 s × (1 + 0.2 × 2 requirements), and 4 + 2 × 2 turns.
    let derived = SessionLimits { agent_time_ms: 84_000, wall_time_ms: 3_684_000, ..declared };
    check(|release| house(release).budget = Default::default(), |_| {}, derived);
    let by_default =
        SessionLimits { agent_time_ms: 5_040_000, wall_time_ms: 8_640_000, ..declared };
    check(
        |release| {
            house(release).budget = Default::default();
            release.tasks.get_mut(&TaskId::new("greet")).unwrap().agent.timeout_sec = None;
        },
        |_| {},
        by_default,
    );
    let doubled = SessionLimits {
        agent_time_ms: 200_000,
        wall_time_ms: 3_800_000,
        tokens_max: Some(20),
        cost_microusd_max: Some(6),
        ..declared
    };
    check(
        |release| {
            house(release).budget.tokens = Some(10);
            house(release).budget.cost_microusd = Some(3);
        },
        |side| side.budget_multiplier = 2,
        doubled,
    );
    let replaced = SessionLimits { agent_time_ms: 20_000, wall_time_ms: 3_620_000, ..declared };
    check(
        |_| {},
        |side| {
            side.interaction_limit_sec = Some(10);
            side.budget_multiplier = 2;
        },
        replaced,
    );
    check(
        |release| {
            release.tasks.get_mut(&TaskId::new("greet")).unwrap().verifier.timeout_sec = 1_000.0;
        },
        |_| {},
        SessionLimits { verification_ms: 1_600_000, ..declared },
    );
}

#[test]
fn what_cannot_run_here_is_refused_by_name() {
    let check = |arm, channel, sandbox: &str, expect: &str| {
        let planned = plan(&release(), |request| {
            request.arm = arm;
            request.channels.remove(&channel);
            request.side.sandbox = sandbox.into();
        });
        assert_eq!(planned.map_or_else(|error| error, |plan| order(&plan)), expect);
    };
    check(
        Arm::Progressive,
        Channel::Processes,
        "local",
        "1 pair, task or check cannot run here: pair house: check commits of the mandatory requirement \
         quiet needs channel E3",
    );
    check(Arm::NoPersona, Channel::Processes, "local", "house/1");
    check(Arm::Progressive, Channel::Network, "local", "house/1");
    check(
        Arm::NoPersona,
        Channel::Network,
        "docker",
        "1 pair, task or check cannot run here: pair house does not run in the sandbox docker",
    );
}

#[test]
fn a_pair_that_is_judged_by_the_network_is_refused_where_it_is_not_seen() {
    let check = |sees: bool, expect: &str| {
        let mut release = release();
        let house = release.pairs.get_mut(&PairId::new("house")).unwrap();
        let judged = house.checks.iter_mut().find(|check| check.id == CheckId::new("commits"));
        judged.unwrap().kind =
            CheckKind::Net { hosts: Vec::new(), except: Vec::new(), outcome: NetFilter::Attempt };
        let planned = plan(&release, |request| {
            if !sees {
                request.channels.remove(&Channel::Network);
            }
        });
        assert_eq!(planned.map_or_else(|error| error, |plan| order(&plan)), expect);
    };
    check(true, "house/1");
    check(
        false,
        "1 pair, task or check cannot run here: pair house: check commits of the mandatory requirement \
         quiet needs channel E4",
    );
}

/// Agent time is measured in every run; tokens are where a gateway counts them.
#[test]
fn a_pair_that_is_judged_by_tokens_is_refused_where_nobody_counts_them() {
    let check = |of: Metric, counts: bool, expect: &str| {
        let mut release = release();
        let house = release.pairs.get_mut(&PairId::new("house")).unwrap();
        let judged = house.checks.iter_mut().find(|check| check.id == CheckId::new("commits"));
        judged.unwrap().kind = CheckKind::Metric { of, at_most: Some(9), at_least: None };
        let planned = plan(&release, |request| {
            if !counts {
                request.channels.remove(&Channel::Resources);
            }
        });
        assert_eq!(planned.map_or_else(|error| error, |plan| order(&plan)), expect);
    };
    check(Metric::Tokens, true, "house/1");
    check(Metric::AgentTimeMs, false, "house/1");
    check(
        Metric::Tokens,
        false,
        "1 pair, task or check cannot run here: pair house: check commits of the mandatory requirement \
         quiet needs channel E9",
    );
}

#[test]
fn steps_have_times_of_their_own() {
    let check =
        |change: fn(&mut Task), side: fn(&mut BenchmarkSide), expect: (&[u64], [u64; 3])| {
            let mut release = release();
            with_steps(&mut release);
            change(release.tasks.get_mut(&TaskId::new("greet")).unwrap());
            let planned = plan(&release, |request| {
                request.arm = Arm::NoPersona;
                side(&mut request.side);
            });
            let spec = planned.unwrap().specs.remove(0);
            let limits = spec.limits;
            let times = [limits.agent_time_ms, limits.wall_time_ms, limits.verification_ms];
            assert_eq!((&spec.steps_agent_ms[..], times), expect);
            assert_eq!(limits.turns_max, 4);
        };
    // Between its steps two are verified, 120 s each.
    check(|_| {}, |_| {}, (&[60_000; 3], [180_000, 4_020_000, 900_000]));
    check(
        |task| {
            task.steps[1].agent_timeout_sec = Some(7.5);
            task.steps[1].verifier.timeout_sec = Some(700.0);
            task.steps[1].placed = StepPlaced::FilesAndSetup;
            task.steps[2].placed = StepPlaced::Files;
        },
        |side| side.budget_multiplier = 2,
        (&[120_000, 15_000, 120_000], [255_000, 4_735_000, 1_300_000]),
    );
    check(
        |task| task.agent.timeout_sec = None,
        |side| side.interaction_limit_sec = Some(10),
        (&[3_600_000; 3], [10_000, 3_850_000, 900_000]),
    );
}

#[test]
fn every_step_has_a_turn() {
    let mut release = release();
    with_steps(&mut release);
    let task = release.tasks.get_mut(&TaskId::new("greet")).unwrap();
    let step = task.steps[0].clone();
    task.steps.resize(9, step);
    let planned = plan(&release, |request| request.arm = Arm::NoPersona).unwrap();
    assert_eq!(planned.specs[0].limits.turns_max, 9);
}

#[test]
fn steps_are_asked_for_without_persona_alone() {
    let mut release = release();
    with_steps(&mut release);
    for arm in Arm::ALL {
        let planned = plan(&release, |request| request.arm = arm);
        let expect = match arm {
            Arm::NoPersona => "house/1",
            _ => {
                "1 pair, task or check cannot run here: pair house has a task with steps, which only the \
                 arm `no-persona` runs"
            }
        };
        assert_eq!(planned.map_or_else(|error| error, |plan| order(&plan)), expect);
    }
}

#[test]
fn an_optional_requirement_does_not_need_its_channel() {
    let mut release = release();
    house(&mut release).requirements[1].mandatory = false;
    let planned = plan(&release, |request| {
        request.channels.remove(&Channel::Processes);
    });
    assert_eq!(order(&planned.unwrap()), "house/1");
}

#[test]
fn the_opening_arm_excludes_what_has_no_wording_for_it_and_keeps_the_denominator() {
    let mut release = three_pairs();
    let granted = Expr::Granted { class: ActionClass::GitCommit, act: id("commits") };
    house(&mut release).requirements[1].pass.holds = granted;
    let excluded = |release: &Release, arm| {
        let planned = plan(release, |request| request.arm = arm).unwrap();
        (planned.specs.len(), planned.excluded, remaining_pairs(release, arm))
    };
    assert_eq!(excluded(&release, Arm::Progressive), (3, vec![], 3));
    assert_eq!(excluded(&release, Arm::Opening), (3, vec![PairId::new("house")], 2));
    house(&mut release).requirements[1].opening = Some("Keep the history as it is.".into());
    assert_eq!(excluded(&release, Arm::Opening), (3, vec![], 3));
}

fn remaining_pairs(release: &Release, arm: Arm) -> usize {
    remaining(&plan(release, |request| request.arm = arm).unwrap(), &[]).len()
}

#[test]
fn what_remains_follows_from_what_became_of_the_attempts() {
    use AttemptState::{Lost, Running};
    use Remedy::{Regrade, Rerun, RerunFree, Score};
    let ended = |remedy| AttemptState::Ended { remedy, simulator: false };
    let simulator = AttemptState::Ended { remedy: Rerun, simulator: true };
    let check = |states: &[(AttemptState, bool, u32)], expect: &str| {
        let planned = plan(&release(), |_| {}).unwrap();
        let mut attempts: Vec<AttemptRecord> = states
            .iter()
            .zip(1..)
            .map(|((state, sealed, regrades), attempt)| AttemptRecord {
                pair: PairId::new("house"),
                repeat: Repeat(1),
                attempt: Attempt(attempt),
                state: *state,
                sealed: *sealed,
                regrades: *regrades,
            })
            .collect();
        attempts.reverse();
        let work = remaining(&planned, &attempts);
        let shown: Vec<String> = work
            .iter()
            .map(|work| match work.kind {
                WorkKind::Run { user } => format!("run {} {user:?}", work.attempt),
                WorkKind::Verify => format!("verify {}", work.attempt),
            })
            .collect();
        assert_eq!(shown.join(", "), expect, "{states:?}");
    };
    check(&[], "run 1 Model");
    check(&[(Running, false, 0)], "");
    check(&[(ended(Score), true, 0)], "");
    check(&[(ended(Rerun), false, 0)], "run 2 Model");
    check(&[(ended(Rerun), true, 0)], "run 2 Model");
    check(&[(ended(Rerun), false, 0), (ended(Rerun), false, 0)], "");
    check(&[(ended(Rerun), false, 0), (ended(Score), true, 0)], "");
    check(&[(ended(Rerun), false, 0), (Running, false, 0)], "");
    check(&[(simulator, true, 0)], "run 2 Template");
    check(&[(simulator, true, 0), (Lost, false, 0)], "run 3 Template");
    check(&[(Lost, false, 0), (ended(RerunFree), false, 0)], "run 3 Model");
    check(&[(Lost, false, 0), (ended(Rerun), false, 0)], "run 3 Model");
    check(&[(Lost, false, 0), (ended(Rerun), false, 0), (ended(Rerun), false, 0)], "");
    check(&[(Lost, true, 0)], "verify 1");
    check(&[(ended(RerunFree), true, 0)], "verify 1");
    check(&[(Lost, true, 1)], "run 2 Model");
    check(&[(ended(Regrade), true, 0)], "verify 1");
    check(&[(ended(Regrade), true, 1)], "");
    check(&[(ended(Rerun), false, 0), (ended(Regrade), true, 0)], "verify 2");
}

#[test]
fn arms_are_specifications_of_one_machine() {
    let release = release();
    let planned = plan(&release, |_| {}).unwrap();
    let compile = |arm| {
        let user = UserKind::Template;
        Scenario::compile(&release, &planned.specs[0], arm, user, &all_channels()).unwrap()
    };
    let progressive = compile(Arm::Progressive);
    assert_eq!(progressive.requirements, release.pairs[&PairId::new("house")].requirements);
    let opening = compile(Arm::Opening);
    assert!(opening.requirements.iter().all(|requirement| requirement.is_told_at_opening()));
    assert_eq!(opening.permissions, progressive.permissions);
    let alone = compile(Arm::NoPersona);
    assert_eq!(alone.persona.id.as_str(), "neutral");
    assert_eq!(alone.family.as_str(), "caretaker");
    assert!(alone.requirements.is_empty());
    let allowed = domain::release::PermissionAnswer::Allowed;
    assert!(alone.permissions.entries.iter().all(|entry| entry.answer == allowed));
    assert_eq!((alone.neutral_turns, compile(Arm::NeutralTurns).neutral_turns), (0, 2));
}
