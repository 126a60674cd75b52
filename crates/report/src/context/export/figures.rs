//! A job's figures ([`ExportedRun::job`]): by Harbor's rules over the trials that it would count, and by ours over every
//! assigned repeat.

use std::collections::BTreeMap;

use domain::{
    ids::{PairId, Repeat},
    result::Class,
};
use store::harbor::job::{EvalStats, Job, JobResult, JobStats, Trial, TrialResult};

use super::{
    ClassCount, EXTRA_FORMAT, ExportedRun, JobFacts, RepeatFacts, TrialFacts, TwoByTwoCount,
    WithoutResult, readme::readme,
};
use crate::context::group::{class_name, configuration};

/// An assigned repeat with its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatExport {
    /// The pair.
    pub pair: PairId,
    /// Which repeat.
    pub repeat: Repeat,
    /// The class of its scored attempt.
    pub class: Class,
    /// Its attempts in order, or the one trial that says that it never ran.
    pub trials: Vec<(Trial, TrialStanding)>,
}

/// How a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialStanding {
    /// It is the attempt that is scored.
    Scored,
    /// A later attempt stands in for it.
    Superseded,
    /// It has no result.
    WithoutResult(WithoutResult),
}

impl ExportedRun<'_> {
    /// The whole job.
    ///
    /// # Errors
    ///
    /// Something of it cannot be said in JSON.
    pub fn job(&self, repeats: Vec<RepeatExport>) -> Result<Job, serde_json::Error> {
        let facts = self.facts(&repeats);
        let stats = stats(&repeats);
        let results = || {
            let trials = repeats.iter().flat_map(|repeat| &repeat.trials);
            trials.filter_map(|(trial, _)| trial.result.as_ref())
        };
        let updated_at = results().filter_map(|result| result.finished_at.clone()).max();
        let is_done = stats.n_pending_trials == 0 && stats.n_running_trials == 0;
        let result = JobResult {
            id: self.id(),
            started_at: self.record.started_utc.clone(),
            finished_at: updated_at.clone().filter(|_| is_done),
            updated_at,
            n_total_trials: repeats.len() as u32,
            stats,
        };
        Ok(Job {
            config: self.config(),
            readme: readme(&facts, &result),
            result,
            facts: serde_json::to_value(facts)?,
            trials: repeats
                .into_iter()
                .flat_map(|repeat| repeat.trials)
                .map(|(trial, _)| trial)
                .collect(),
        })
    }

    fn facts(&self, repeats: &[RepeatExport]) -> JobFacts {
        let (plan, score) = (self.plan, self.score);
        let named = |class| class_name(class, plan.arm.has_persona()).to_owned();
        let counts = score.census.entries().iter();
        JobFacts {
            format: EXTRA_FORMAT,
            audience: self.audience,
            tool: self.record.tool.clone(),
            protocol: self.record.protocol,
            run: self.name.to_owned(),
            release: plan.release.to_string(),
            release_version: plan.release_version.clone(),
            digest: plan.digest.to_string(),
            locked: plan.locked,
            arm: plan.arm.name().to_owned(),
            configuration: match configuration(plan).strip_prefix(plan.configuration.agent.as_str())
            {
                Some(rest) => format!("{}{rest}", self.agent_name()),
                None => self.agent_name(),
            },
            user: plan.side.user.name().to_owned(),
            sandbox: plan.side.sandbox.clone(),
            assigned: score.assigned,
            census: counts
                .map(|(class, count)| ClassCount { class: named(*class), count: *count })
                .collect(),
            completed: score.completion.count,
            personalized: score.personalization.map(|rate| rate.count),
            joint: score.joint.map(|rate| rate.count),
            two_by_two: TwoByTwoCount {
                both: score.two_by_two.both,
                completed_only: score.two_by_two.completed_only,
                personalized_only: score.two_by_two.personalized_only,
                neither: score.two_by_two.neither,
            },
            repeats: repeats
                .iter()
                .map(|repeat| RepeatFacts {
                    pair: repeat.pair.to_string(),
                    repeat: repeat.repeat.0,
                    class: named(repeat.class),
                    trials: repeat.trials.iter().map(trial_facts).collect(),
                })
                .collect(),
        }
    }
}

fn trial_facts((trial, standing): &(Trial, TrialStanding)) -> TrialFacts {
    TrialFacts {
        trial: trial.config.trial_name.clone(),
        scored: *standing == TrialStanding::Scored,
        without_result: match standing {
            TrialStanding::WithoutResult(why) => Some(why.words().to_owned()),
            TrialStanding::Scored | TrialStanding::Superseded => None,
        },
    }
}

/// Harbor's own sums: over the scored attempt of each repeat, as Harbor counts the last try of a trial that it retries.
fn stats(repeats: &[RepeatExport]) -> JobStats {
    let mut stats = JobStats::default();
    let mut counted: BTreeMap<String, Vec<&TrialResult>> = BTreeMap::new();
    for repeat in repeats {
        let scored = repeat.trials.iter().find_map(|(trial, standing)| {
            trial.result.as_ref().filter(|_| *standing == TrialStanding::Scored)
        });
        let is_running = repeat.trials.iter().any(|(_, standing)| {
            matches!(standing, TrialStanding::WithoutResult(WithoutResult::Running(_)))
        });
        let superseded =
            repeat.trials.iter().filter(|(_, standing)| *standing == TrialStanding::Superseded);
        stats.n_retries += superseded.count() as u32;
        match scored {
            Some(result) => counted.entry(evals_key(result)).or_default().push(result),
            None if is_running => stats.n_running_trials += 1,
            None => stats.n_pending_trials += 1,
        }
    }
    for (key, results) in counted {
        stats.n_completed_trials += results.len() as u32;
        for result in &results {
            stats.n_errored_trials += u32::from(result.exception_info.is_some());
            let cancelled = result
                .exception_info
                .as_ref()
                .is_some_and(|exception| exception.exception_type == "CancelledError");
            stats.n_cancelled_trials += u32::from(cancelled);
            if let Some(cost) = result.agent_result.cost_usd {
                *stats.cost_usd.get_or_insert(0.0) += cost;
            }
        }
        stats.evals.insert(key, eval_stats(&results));
    }
    stats
}

fn evals_key(result: &TrialResult) -> String {
    let agent = &result.agent_info;
    match &agent.model_info {
        Some(model) => format!("{}__{}__{}", agent.name, model.name, result.source),
        None => format!("{}__{}", agent.name, result.source),
    }
}

fn eval_stats(results: &[&TrialResult]) -> EvalStats {
    let mut stats = EvalStats::default();
    for result in results {
        let name = || result.trial_name.clone();
        if let Some(verified) = &result.verifier_result {
            stats.n_trials += 1;
            for (key, value) in &verified.rewards {
                let by_value = stats.reward_stats.entry(key.clone()).or_default();
                by_value.entry(format!("{value:?}")).or_default().push(name());
            }
        }
        if let Some(exception) = &result.exception_info {
            stats.n_errors += 1;
            let of_type = stats.exception_stats.entry(exception.exception_type.clone());
            of_type.or_default().push(name());
        }
    }
    stats.metrics = vec![means(results, &stats)];
    stats.pass_at_k = pass_at_k(results).unwrap_or_default();
    stats
}

/// One reward key is called `mean`, several keep their names; what is missing counts 0.
fn means(results: &[&TrialResult], stats: &EvalStats) -> BTreeMap<String, f64> {
    let mean = |key: Option<&String>| {
        let values = results.iter().map(|result| {
            let rewards = result.verifier_result.as_ref().map(|verified| &verified.rewards);
            key.and_then(|key| rewards?.get(key).copied()).unwrap_or(0.0)
        });
        values.sum::<f64>() / results.len() as f64
    };
    let keys: Vec<&String> = stats.reward_stats.keys().collect();
    if keys.len() <= 1 {
        return BTreeMap::from([("mean".to_owned(), mean(keys.first().copied()))]);
    }
    keys.into_iter().map(|key| (key.clone(), mean(Some(key)))).collect()
}

/// Harbor's unbiased estimate, for rewards of one key that are 0 or 1; none otherwise.
fn pass_at_k(results: &[&TrialResult]) -> Option<BTreeMap<u32, f64>> {
    let mut tries: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for result in results {
        let passed = match &result.verifier_result {
            None => false,
            Some(verified) => {
                let mut rewards = verified.rewards.values();
                let (Some(reward), None) = (rewards.next(), rewards.next()) else { return None };
                if *reward != 0.0 && *reward != 1.0 {
                    return None;
                }
                *reward == 1.0
            }
        };
        tries.entry(&result.task_name).or_default().push(passed);
    }
    let most = tries.values().map(Vec::len).min()? as u32;
    let powers = (1..32).map(|power| 1_u32 << power);
    let fives = (1..).map(|times| times * 5);
    let ks = powers.take_while(|k| *k <= most).chain(fives.take_while(|k| *k <= most));
    let of_task = |passed: &Vec<bool>, k: u32| {
        let (n, c) = (passed.len() as u32, passed.iter().filter(|passed| **passed).count() as u32);
        if n - c < k {
            return 1.0;
        }
        1.0 - (0..k).map(|i| f64::from(n - c - i) / f64::from(n - i)).product::<f64>()
    };
    let estimate = |k| {
        let sum: f64 = tries.values().map(|passed| of_task(passed, k)).sum();
        (k, sum / tries.len() as f64)
    };
    Some(ks.map(estimate).collect())
}
