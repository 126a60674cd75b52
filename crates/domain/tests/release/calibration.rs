//! Calibration: what is as it must be is clean, and every single thing that is not is named with its remedy.

use std::collections::BTreeSet;

use domain::{
    calibration::*,
    evidence::Missing,
    fault::{Ending, Flag},
    ids::*,
    plan::{Arm, limits},
    release::*,
    result::SessionFacts,
    session::CompletionOutcome,
    verdict::Verdict,
};

use crate::{
    build::{check as named_check, house, id, release, request, task},
    results::facts,
};

const ARMS: [Arm; 3] = [Arm::Progressive, Arm::Opening, Arm::NoPersona];

/// What is spoiled of a calibration in which everything is as it must be.
struct Bench {
    release: Release,
    shown: Vec<Shown>,
}

impl Bench {
    fn clean() -> Self {
        let mut release = release();
        house(&mut release).requirements[1].opening = Some("Leave the history alone.".into());
        let pair = house(&mut release).clone();
        let mut shown = Vec::new();
        for arm in ARMS {
            for agent in agents(&pair, arm) {
                let is_asked_twice = arm == Arm::NoPersona && agent != CalibrationAgent::Eager;
                for repeat in 1..=1 + u32::from(is_asked_twice) {
                    shown.push(session(&pair, arm, &agent, repeat, |_| {}));
                }
            }
        }
        Self { release, shown }
    }

    /// The session again, with other facts.
    fn respoil(&mut self, arm: Arm, agent: &CalibrationAgent, spoil: fn(&mut SessionFacts)) {
        let pair = house(&mut self.release).clone();
        let found = self.shown.iter_mut().find(|one| one.arm == arm && &one.agent == agent);
        let one = found.expect("a session");
        *one = session(&pair, arm, agent, one.result.repeat.0, spoil);
    }

    fn breaches(&self) -> Vec<String> {
        let matrix = self.matrix();
        let wrong: usize = matrix
            .pairs
            .iter()
            .flat_map(|pair| &pair.rows)
            .flat_map(|row| &row.cells)
            .filter(|cell| !cell.is_right)
            .count();
        let of_sessions = matrix
            .breaches
            .iter()
            .filter(|one| one.arm.is_some() && matches!(one.subject, Subject::Pair(_)));
        let places: BTreeSet<_> = of_sessions.map(|one| (one.arm, &one.agent)).collect();
        assert_eq!(wrong, places.len(), "wrong cells are those that have a breach");
        matrix.breaches.iter().map(shown).collect()
    }

    fn matrix(&self) -> Matrix {
        let pairs = self.release.pairs.values().collect();
        let calibration = Calibration {
            release: &self.release,
            pairs,
            arms: ARMS.into(),
            shown: self.shown.clone(),
            admission: Vec::new(),
        };
        calibration.matrix()
    }
}

fn shown(breach: &Breach) -> String {
    assert!(!breach.remedy.is_empty());
    format!("{}: {} | {}", breach.place(), breach.expected, breach.found)
}

fn saboteur_of(requirement: &str) -> CalibrationAgent {
    let kind = CounterexampleKind::Saboteur;
    CalibrationAgent::Counterexample(RequirementId::new(requirement), kind)
}

/// What the agent must show in the arm, and then what `spoil` makes of it.
fn session(
    pair: &Pair,
    arm: Arm,
    agent: &CalibrationAgent,
    repeat: u32,
    spoil: fn(&mut SessionFacts),
) -> Shown {
    let mut facts = facts();
    facts.repeat = Repeat(repeat);
    facts.has_persona = arm.has_persona();
    facts.load.turns = 4;
    facts.load.agent_ms = 20_000;
    if !facts.has_persona {
        facts.requirements.clear();
    }
    for requirement in &mut facts.requirements {
        requirement.delivered = Some(Turn(if arm == Arm::Opening { 1 } else { 2 }));
        let is_broken = match agent {
            CalibrationAgent::Oracle => false,
            CalibrationAgent::Eager | CalibrationAgent::Nop => requirement.id.as_str() == "note",
            CalibrationAgent::Counterexample(own, _) => own == &requirement.id,
        };
        if is_broken {
            requirement.sealed = Some(Verdict::Unmet);
        }
    }
    match agent {
        CalibrationAgent::Oracle => {}
        CalibrationAgent::Nop => {
            facts.completion = reward(0.0);
            facts.ending = Ending::Silent;
        }
        CalibrationAgent::Eager => facts.ending = Ending::Repeats,
        CalibrationAgent::Counterexample(..) => facts.ending = Ending::AcceptedWithReservations,
    }
    spoil(&mut facts);
    let parts = facts.requirements.iter().map(|requirement| Part {
        requirement: requirement.id.clone(),
        place: 0,
        name: format!("at_end = {}", requirement.id),
        passes: requirement.sealed == Some(Verdict::Met),
    });
    let parts = parts.collect();
    let limits = limits(pair, &task(), &request().side);
    let failed_commands = Vec::new();
    Shown { arm, agent: agent.clone(), limits, result: facts.derive(), parts, failed_commands }
}

fn reward(value: f64) -> Option<CompletionOutcome> {
    Some(CompletionOutcome::Rewards(vec![("reward".into(), value)]))
}

fn check(spoil: impl FnOnce(&mut Bench), expect: &[&str]) {
    let mut bench = Bench::clean();
    spoil(&mut bench);
    assert_eq!(bench.breaches(), expect);
}

fn check_one(arm: Arm, agent: CalibrationAgent, spoil: fn(&mut SessionFacts), expect: &[&str]) {
    check(|bench| bench.respoil(arm, &agent, spoil), expect);
}

#[test]
fn what_is_as_it_must_be_is_clean() {
    check(|_| {}, &[]);
    let matrix = Bench::clean().matrix();
    assert_eq!(matrix.sessions, 15);
    let names: Vec<String> = matrix.pairs[0].rows.iter().map(|row| row.agent.name()).collect();
    assert_eq!(names, ["oracle", "eager", "nop", "saboteur of note", "saboteur of quiet"]);
    assert_eq!(matrix.pairs[0].rows[3].cells[2].state, CellState::NoPlace);
}

#[test]
fn the_oracle_passes_everything_with_a_margin() {
    let oracle = || CalibrationAgent::Oracle;
    check_one(
        Arm::Progressive,
        oracle(),
        |facts| {
            facts.requirements[0].sealed = Some(Verdict::Unmet);
            facts.ending = Ending::AcceptedWithReservations;
        },
        &[
            "house · progressive · oracle: the user accepts | ended as accepted_with_reservations",
            "house · progressive · oracle · note: passed | failed",
        ],
    );
    check_one(
        Arm::Opening,
        oracle(),
        |facts| facts.requirements[1].sealed = Some(Verdict::Vacuous),
        &["house · opening · oracle · quiet: passed | vacuous"],
    );
    check_one(
        Arm::NoPersona,
        oracle(),
        |facts| facts.load.turns = 7,
        &["house · no-persona · oracle: at the most 75 % of the 8 turns | 7 turns"],
    );
    check_one(Arm::NoPersona, oracle(), |facts| facts.load.turns = 6, &[]);
    check_one(
        Arm::Opening,
        oracle(),
        |facts| facts.load.agent_ms = 25_001,
        &["house · opening · oracle: at the most 25 % of the 100000 ms | 25001 ms"],
    );
    check_one(
        Arm::Opening,
        oracle(),
        |facts| facts.ending = Ending::TurnCap,
        &[
            "house · opening · oracle: the user accepts | ended as turn_cap",
            "house · opening · oracle: within budget | ended as turn_cap",
        ],
    );
}

#[test]
fn who_does_nothing_or_never_listens_does_not_pass() {
    let pass = |facts: &mut SessionFacts| {
        facts.requirements[0].sealed = Some(Verdict::Met);
        facts.completion = reward(1.0);
    };
    check_one(
        Arm::Opening,
        CalibrationAgent::Eager,
        pass,
        &["house · opening · eager: no joint pass without listening | a joint pass"],
    );
    check_one(
        Arm::Progressive,
        CalibrationAgent::Eager,
        |facts| facts.completion = reward(0.5),
        &["house · progressive · eager: the task completed | not completed (reward 0.5)"],
    );
    check_one(
        Arm::Progressive,
        CalibrationAgent::Nop,
        pass,
        &[
            "house · progressive · nop: no joint pass | a joint pass",
            "house · progressive · nop: the task not completed | completed",
            "task greet · nop: the verifier says the same, twice at the least | completed 1 of 4 times",
        ],
    );
}

#[test]
fn a_counterexample_fails_its_requirement_and_no_other() {
    check_one(
        Arm::Progressive,
        saboteur_of("quiet"),
        |facts| facts.requirements[1].sealed = Some(Verdict::Met),
        &["house · progressive · saboteur of quiet: failed | passed"],
    );
    check_one(
        Arm::Progressive,
        saboteur_of("quiet"),
        |facts| facts.requirements[0].sealed = Some(Verdict::Violated),
        &["house · progressive · saboteur of quiet · note: passed | failed"],
    );
    check_one(
        Arm::Opening,
        saboteur_of("note"),
        |facts| {
            facts.completion = Some(CompletionOutcome::NoReward);
            facts.ending = Ending::Quit;
        },
        &[
            "house · opening · saboteur of note: the task completed | the verifier left no reward",
            "house · opening · saboteur of note: the user takes the work, with reservations or \
             without | ended as quit",
        ],
    );
    check_one(
        Arm::Progressive,
        saboteur_of("note"),
        |facts| facts.requirements[0].sealed = Some(Verdict::Undecided(Missing::NotLooked)),
        &["house · progressive · saboteur of note: a session that can be graded | invalid \
           (evidence_missing: note)"],
    );
}

#[test]
fn the_opening_arm_tells_everything_at_once() {
    let late = |facts: &mut SessionFacts| facts.requirements[1].delivered = Some(Turn(2));
    check_one(
        Arm::Opening,
        saboteur_of("note"),
        late,
        &["house · opening · saboteur of note · quiet: told in the first message | not told then"],
    );
    check_one(Arm::Progressive, saboteur_of("note"), late, &[]);
}

#[test]
fn every_part_is_broken_by_somebody() {
    let pass = |bench: &mut Bench| {
        for one in &mut bench.shown {
            for part in &mut one.parts {
                part.passes |= part.requirement.as_str() == "quiet";
            }
        }
    };
    check(
        pass,
        &[
            "house · quiet: `at_end = quiet` fails for a counterexample of the requirement | it passes \
           for the oracle and for each of them",
        ],
    );
    // One arm in which it is broken suffices.
    check(
        |bench| {
            pass(bench);
            bench.respoil(Arm::Opening, &saboteur_of("quiet"), |_| {});
        },
        &[],
    );
}

#[test]
fn what_is_missing_or_invalid_is_named() {
    check(
        |bench| bench.shown.retain(|one| one.agent != saboteur_of("note")),
        &[
            "house · progressive · saboteur of note: a session | none",
            "house · opening · saboteur of note: a session | none",
        ],
    );
    check_one(
        Arm::NoPersona,
        CalibrationAgent::Eager,
        |facts| facts.flags.push((Flag::HostLimits, "disk".into())),
        &["house · no-persona · eager: a session that can be graded | infra (host_limits: disk)"],
    );
    // A pair that the opening arm leaves out is no breach, and is said.
    let mut bench = Bench::clean();
    let pair = house(&mut bench.release);
    pair.requirements[1].opening = None;
    pair.requirements[1].pass.holds =
        Expr::Granted { class: ActionClass::GitCommit, act: id("commits") };
    bench.shown.retain(|one| one.arm != Arm::Opening);
    assert_eq!(bench.breaches(), [""; 0]);
    let matrix = bench.matrix();
    assert_eq!(matrix.excluded, [(PairId::new("house"), vec![RequirementId::new("quiet")])]);
    assert_eq!(matrix.pairs[0].rows[0].cells[1].state, CellState::Excluded);
}

#[test]
fn the_verifier_says_the_same_twice() {
    check_one(
        Arm::NoPersona,
        CalibrationAgent::Oracle,
        |facts| facts.completion = reward(0.0),
        &[
            "house · no-persona · oracle: the task completed | not completed (reward 0)",
            "task greet · no-persona · oracle: the verifier says the same, twice at the least | \
             completed 1 of 2 times",
        ],
    );
    check(
        |bench| {
            bench
                .shown
                .retain(|one| one.agent != CalibrationAgent::Nop || one.arm == Arm::Progressive);
        },
        &[
            "house · opening · nop: a session | none",
            "house · no-persona · nop: a session | none",
            "task greet · nop: the verifier says the same, twice at the least | it was asked once",
        ],
    );
}

#[test]
fn a_base_holds_no_answer_and_what_checks_name() {
    let seen = || BaseSeen {
        places: vec!["/app".into()],
        files: ["/app/greet.sh", "/app/tests/run.sh", "/app/.git/HEAD"].map(str::to_owned).into(),
        repositories: vec![RepositorySeen { path: "/app/.git".into(), ..Default::default() }],
        answers: vec![],
    };
    let check = |kind: CheckKind, spoil: fn(&mut BaseSeen), expect: &[&str]| {
        let mut pair = house(&mut release()).clone();
        pair.checks.push(named_check("extra", kind));
        let mut seen = seen();
        spoil(&mut seen);
        let found = admission(&task(), &[&pair], &seen);
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expect);
    };
    let unchanged = |path: &str| CheckKind::Fs {
        path: vec![path.into()],
        is: Some(FsState::Unchanged),
        contains: None,
        lacks: None,
        since: None,
    };
    let suite = |proves, program: &str, tests: &str| CheckKind::Test {
        run: vec![program.into()],
        proves,
        tests: vec![tests.into()],
        timeout_sec: 9,
    };
    check(unchanged("greet.sh"), |_| {}, &[]);
    check(unchanged("*.sh"), |_| {}, &[]);
    check(unchanged("/elsewhere/x"), |_| {}, &[]);
    check(
        unchanged("great.sh"),
        |_| {},
        &["house: `great.sh` of the check `extra` in the base | no such file"],
    );
    check(suite(Proof::Kept, "sh", "tests/**"), |_| {}, &[]);
    check(suite(Proof::Regression, "./greet.sh", "spec/**"), |_| {}, &[]);
    check(
        suite(Proof::Kept, "./run-tests", "spec/**"),
        |_| {},
        &[
            "house: `spec/**` of the check `extra` in the base | no such file",
            "house: `run-tests` of the check `extra` in the base | no such file",
        ],
    );
    check(
        CheckKind::Edit {
            under: vec!["lib/**".into()],
            except: vec![],
            what: vec![EditKind::Delete],
        },
        |_| {},
        &["house: `lib/**` of the check `extra` in the base | no such file"],
    );
    check(
        unchanged("greet.sh"),
        |seen| {
            seen.answers.push(("tasks/greet/solution/solve.sh".into(), "/app/note".into()));
            seen.repositories[0].unreachable = vec!["commit 12".into(), "blob 34".into()];
            seen.repositories[0].newer = vec!["commit 56".into()];
        },
        &[
            "task greet: no answer where the agent can read it | text of \
             `tasks/greet/solution/solve.sh` lies in `/app/note`",
            "task greet: no object that nothing leads to | /app/.git holds 2 (commit 12)",
            "task greet: no commit newer than HEAD | /app/.git holds 1 (commit 56)",
        ],
    );
    check(
        unchanged("greet.sh"),
        |seen| seen.repositories[0].unreadable = Some("there is no git".into()),
        &["task greet: a repository that git can read | /app/.git: there is no git"],
    );
}

#[test]
fn a_counterexample_whose_commands_fail_says_which() {
    let check = |agent: &CalibrationAgent, expect: bool| {
        let mut bench = Bench::clean();
        bench.respoil(Arm::Progressive, agent, |facts| facts.ending = Ending::Silent);
        for one in &mut bench.shown {
            one.failed_commands = vec!["`make` exited with 127".into()];
        }
        let breaches = bench.breaches();
        assert!(!breaches.is_empty(), "{}", agent.name());
        let is_said =
            |breach: &String| breach.ends_with("; of its commands `make` exited with 127");
        assert_eq!(breaches.iter().any(is_said), expect, "{breaches:?}");
    };
    let kind = CounterexampleKind::Saboteur;
    check(&CalibrationAgent::Counterexample(RequirementId::new("note"), kind), true);
    check(&CalibrationAgent::Oracle, false);
}
