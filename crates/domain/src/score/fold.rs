//! The fold itself: the scored attempt of every assigned repeat into counts.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    vec::Vec,
};

use super::{AreaRow, Census, Rate, RequirementCounts, RunScore, ScoreError, Stratum, TwoByTwo};
use crate::{
    fault::Flag,
    ids::{PairId, Repeat},
    plan::{Plan, SessionSpec, scored},
    release::{Area, Pair, Release},
    result::{Class, Load, SessionResult},
    verdict::Outcome,
};

impl RunScore {
    /// Folds all attempts of a run, in any order. The denominator is the plan's list; what has no
    /// attempt is not run.
    ///
    /// # Errors
    ///
    /// [`ScoreError`] if plan, release and results do not belong together, or if a total is not the
    /// sum of its parts.
    pub fn of(
        plan: &Plan,
        release: &Release,
        attempts: &[SessionResult],
    ) -> Result<RunScore, ScoreError> {
        let by_repeat = by_repeat(plan, attempts)?;
        let mut fold = Fold::new(plan.arm.has_persona());
        for spec in &plan.specs {
            let pair = release
                .pairs
                .get(&spec.pair)
                .ok_or_else(|| ScoreError::UnknownPair(spec.pair.clone()))?;
            let persona = release
                .personas
                .get(&pair.persona)
                .ok_or_else(|| ScoreError::UnknownPair(spec.pair.clone()))?;
            let tries = by_repeat.get(&(&spec.pair, spec.repeat)).map_or(&[][..], Vec::as_slice);
            fold.add(pair, persona.family.as_str(), tries);
        }
        let score = fold.finish()?;
        score.check_sums()?;
        Ok(score)
    }
}

type ByRepeat<'a> = BTreeMap<(&'a PairId, Repeat), Vec<SessionResult>>;

fn by_repeat<'a>(
    plan: &'a Plan,
    attempts: &'a [SessionResult],
) -> Result<ByRepeat<'a>, ScoreError> {
    let mut by_repeat = ByRepeat::new();
    for SessionSpec { pair, repeat, .. } in &plan.specs {
        if by_repeat.insert((pair, *repeat), Vec::new()).is_some() {
            return Err(ScoreError::AssignedTwice { pair: pair.clone(), repeat: *repeat });
        }
    }
    for result in attempts {
        let own = by_repeat.get_mut(&(&result.pair, result.repeat)).ok_or_else(|| {
            ScoreError::NotAssigned { pair: result.pair.clone(), repeat: result.repeat }
        })?;
        own.push(result.clone());
    }
    for own in by_repeat.values_mut() {
        own.sort_by_key(|result| result.attempt);
    }
    Ok(by_repeat)
}

/// Counts while they grow.
#[derive(Default)]
struct Fold {
    has_persona: bool,
    assigned: u32,
    classes: BTreeMap<Class, u32>,
    total: Stratum,
    completed_valid: u32,
    within_budget: u32,
    two_by_two: TwoByTwo,
    suites: BTreeMap<String, Stratum>,
    families: BTreeMap<String, Stratum>,
    areas: BTreeMap<Area, RequirementCounts>,
    requirements: RequirementCounts,
    flags: BTreeMap<Flag, u32>,
    reruns: BTreeMap<Flag, u32>,
    load: Load,
}

impl Fold {
    fn new(has_persona: bool) -> Self {
        Fold { has_persona, ..Fold::default() }
    }

    fn add(&mut self, pair: &Pair, family: &str, tries: &[SessionResult]) {
        let result = scored(tries);
        let class = result.map_or(Class::NotRun, |result| result.class);
        self.assigned += 1;
        *self.classes.entry(class).or_default() += 1;
        self.add_attempts(tries);
        let graded = result.filter(|_| class.is_graded());
        let row = Stratum {
            name: String::new(),
            assigned: 1,
            headline: u32::from(class == Class::JointPass),
            completed: u32::from(graded.is_some_and(|it| it.completed == Some(true))),
            personalized: u32::from(graded.is_some_and(|it| it.personalized == Some(true))),
        };
        self.total.add(&row);
        for (strata, name) in
            [(&mut self.suites, pair.suite.as_str()), (&mut self.families, family)]
        {
            strata.entry(name.to_string()).or_default().add(&row);
        }
        if let Some(graded) = graded {
            self.within_budget += u32::from(graded.within_budget);
            self.completed_valid += row.completed * u32::from(graded.within_budget);
            match (row.completed, row.personalized) {
                (0, 0) => self.two_by_two.neither += 1,
                (_, 0) => self.two_by_two.completed_only += 1,
                (0, _) => self.two_by_two.personalized_only += 1,
                (_, _) => self.two_by_two.both += 1,
            }
        }
        if let Some(result) = result {
            self.load.add(&result.load);
        }
        if self.has_persona {
            self.add_requirements(pair, result, class);
        }
    }

    /// Flags of every attempt, and why there was a further one.
    fn add_attempts(&mut self, tries: &[SessionResult]) {
        for result in tries {
            for flag in result.flags.iter().map(|(flag, _)| *flag).collect::<BTreeSet<_>>() {
                *self.flags.entry(flag).or_default() += 1;
            }
        }
        let followed = &tries[..tries.len().saturating_sub(1)];
        let causes: BTreeSet<Flag> = followed
            .iter()
            .flat_map(SessionResult::counting_flags)
            .filter(|flag| flag.remedy().is_rerun())
            .collect();
        for flag in causes {
            *self.reruns.entry(flag).or_default() += 1;
        }
    }

    /// A requirement of a session that does not count is neither passed nor failed; why it could
    /// not be decided is shown all the same.
    fn add_requirements(&mut self, pair: &Pair, result: Option<&SessionResult>, class: Class) {
        for requirement in &pair.requirements {
            let found = result.and_then(|result| {
                result.requirements.iter().find(|found| found.id == requirement.id)
            });
            let outcome = match found.map_or(Outcome::NotGraded, |found| found.outcome) {
                Outcome::Passed | Outcome::Failed if !class.is_graded() => Outcome::NotGraded,
                outcome => outcome,
            };
            self.requirements.add(outcome);
            self.areas.entry(requirement.area).or_default().add(outcome);
        }
    }

    fn finish(self) -> Result<RunScore, ScoreError> {
        let assigned = self.assigned;
        let rate = |count| Rate { count, of: assigned };
        let census = Census::new(assigned, self.classes)?;
        let lost = Class::ALL
            .into_iter()
            .filter(|class| class.is_lost_by_others())
            .map(|class| census.count(class))
            .sum::<u32>();
        Ok(RunScore {
            assigned,
            census,
            joint: self.has_persona.then(|| rate(self.total.headline)),
            completed_valid: rate(self.completed_valid),
            completion: rate(self.total.completed),
            personalization: self.has_persona.then(|| rate(self.total.personalized)),
            two_by_two: self.two_by_two,
            suites: named(self.suites),
            families: named(self.families),
            areas: self.areas.into_iter().map(|(area, counts)| AreaRow { area, counts }).collect(),
            requirements: self.requirements,
            flags: self.flags.into_iter().collect(),
            within_budget: Rate { count: self.within_budget, of: self.two_by_two.graded() },
            upper_bound: rate(self.total.headline + lost),
            reruns: self.reruns.into_iter().collect(),
            load: self.load,
        })
    }
}

impl Stratum {
    fn add(&mut self, row: &Stratum) {
        self.assigned += row.assigned;
        self.headline += row.headline;
        self.completed += row.completed;
        self.personalized += row.personalized;
    }
}

fn named(strata: BTreeMap<String, Stratum>) -> Vec<Stratum> {
    strata.into_iter().map(|(name, row)| Stratum { name, ..row }).collect()
}
