//! A run as a job of Harbor ([`ExportedRun`]): each attempt a trial with its conversation, each repeat that never ran a
//! trial without a result, and the figures both by Harbor's rules and by ours.

mod exception;
mod extra;
mod figures;
mod readme;
mod steps;
mod trial;

pub use extra::{
    ActExtra, Audience, ChangedPath, ClassCount, EXTRA_FORMAT, JobFacts, LoadExtra, MessageExtra,
    Moment, RepeatFacts, RequirementExtra, RequirementMoment, SessionExtra, StepExtra, TrialFacts,
    TurnEndExtra, TwoByTwoCount,
};
pub use figures::{RepeatExport, TrialStanding};
pub use trial::{SessionExport, WithoutResult};

use std::path::Path;

use domain::{plan::Plan, score::RunScore};
use store::{
    harbor::job::{AgentConfig, DatasetConfig, EnvironmentConfig, JobConfig, TaskConfig, uuid},
    run::RunRecord,
};

/// A run that is exported.
#[derive(Clone, Copy)]
pub struct ExportedRun<'a> {
    /// Its folder, with the group's before it.
    pub name: &'a str,
    /// What it says of itself.
    pub record: &'a RunRecord,
    /// What was planned.
    pub plan: &'a Plan,
    /// Its score.
    pub score: &'a RunScore,
    /// Who the export is for.
    pub audience: Audience,
}

impl ExportedRun<'_> {
    /// The job's id: that of the run's name, of what was asked for, and of when it began.
    pub fn id(&self) -> String {
        let (plan, side) = (self.plan, &self.plan.side);
        let settings = format!("{:?}", plan.configuration);
        let benchmark = format!("{side:?} {} {}", plan.repeats, plan.seed);
        let (release, digest) = (plan.release.as_str(), plan.digest.as_str());
        let (arm, started) = (plan.arm.name(), self.record.started_utc.as_str());
        uuid(&[self.name, release, digest, &settings, arm, &benchmark, started])
    }

    fn config(&self) -> JobConfig {
        JobConfig {
            job_name: self.name.replace('/', "."),
            n_attempts: self.plan.repeats.max(1),
            n_concurrent_trials: self.plan.side.jobs.max(1),
            agent_timeout_multiplier: f64::from(self.plan.side.budget_multiplier),
            environment: EnvironmentConfig::of_sandbox(&self.plan.side.sandbox),
            agents: vec![self.agent()],
            datasets: vec![DatasetConfig { path: self.plan.release.to_string() }],
        }
    }

    fn agent(&self) -> AgentConfig {
        let asked = &self.plan.configuration;
        let settings =
            asked.settings.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        let effort = asked
            .effort
            .iter()
            .map(|effort| ("reasoning_effort".to_owned(), effort.clone().into()));
        AgentConfig {
            name: self.agent_name(),
            model_name: asked.model.clone(),
            kwargs: settings.chain(effort).collect(),
        }
    }

    /// A script is named after its file; where that lay on the host is nobody's business.
    fn agent_name(&self) -> String {
        let name = self.plan.configuration.agent.as_str();
        let is_file = name.contains('/') || name.ends_with(".toml");
        let stem = Path::new(name).file_stem().filter(|_| is_file);
        stem.map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    fn task(&self, pair: &str) -> TaskConfig {
        TaskConfig { path: format!("pairs/{pair}"), source: self.plan.release.to_string() }
    }
}
