//! The runs of a calibration: one for each agent in each arm, all of them executed at once ([`CalibrationRun`]).

use std::{
    future::{Future, poll_fn},
    path::Path,
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use adapters::{catalog::AgentKind, executors::LocalExecutor};
use domain::{
    calibration::{Breach, CalibrationAgent, Subject, agents},
    ids::{AgentName, PairId},
    plan::{Arm, BenchmarkSide, Configuration, Plan, PlanRequest, UserKind, expand, remaining},
    release::{Pair, Release},
};
use engine::cancel::Canceller;
use report::live::Live;
use store::{reader::RunReader, release_files::LoadedRelease};

use crate::{
    agents::Agents,
    attempts::Attempts,
    commands::run::{create, listen},
    conduct::{Bases, Conduct, conduct},
    failure::Failure,
    host::Host,
    interrupts::Interrupts,
};

/// Seed of all drawing; a calibration says the same each time.
const SEED: u64 = 1;

/// What is to be run.
pub struct Wanted<'a> {
    /// The release.
    pub loaded: &'a LoadedRelease,
    /// The pairs.
    pub pairs: Vec<&'a Pair>,
    /// The arms.
    pub arms: Vec<Arm>,
    /// How often oracle and nop are run in the arm in which they are cheapest.
    pub repeats: u32,
    /// Processors to use at once.
    pub jobs: u32,
}

/// A run with the agent that it is of.
pub struct CalibrationRun {
    run: RunReader,
    agents: Arc<Agents>,
}

impl Wanted<'_> {
    /// Makes the folder of every run below the group's.
    ///
    /// # Errors
    /// A pair cannot run here, or a folder cannot be written.
    pub fn create(
        &self,
        group: &Path,
        host: &Host,
        bases: &Bases,
    ) -> Result<Vec<CalibrationRun>, Failure> {
        let mut runs = Vec::new();
        for arm in &self.arms {
            for name in self.names(*arm) {
                let (plan, agents) = self.plan(*arm, &name, host)?;
                let path = group.join(format!("{}-{name}", arm.name()));
                let run = create(&path, &plan, self.loaded, host, bases, &agents)?;
                runs.push(CalibrationRun { run, agents: Arc::new(agents) });
            }
        }
        Ok(runs)
    }

    /// Names of the agents that have something to do in an arm, in order of reports.
    fn names(&self, arm: Arm) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for pair in &self.pairs {
            for agent in agents(pair, arm) {
                let name = name_in(pair, &agent);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.sort();
        names
    }

    fn plan(&self, arm: Arm, name: &str, host: &Host) -> Result<(Plan, Agents), Failure> {
        let configuration = Configuration {
            agent: AgentName::new(name),
            model: None,
            effort: None,
            settings: Vec::new(),
        };
        let own = Agents::new(&configuration, self.loaded)?;
        let has_place =
            |pair: &&&Pair| agents(pair, arm).iter().any(|agent| name_in(pair, agent) == name);
        let request = PlanRequest {
            configuration,
            arm,
            side: BenchmarkSide {
                user: UserKind::Template,
                sandbox: host.name.to_owned(),
                budget_multiplier: 1,
                interaction_limit_sec: None,
                jobs: self.jobs,
            },
            seed: SEED,
            repeats: self.repeats_of(arm, name),
            pairs: self.pairs.iter().filter(has_place).map(|pair| pair.id.to_string()).collect(),
            limit: None,
            channels: host.channels().union(&own.channels()).copied().collect(),
        };
        let plan = expand(&self.loaded.release, &request).map_err(Failure::input)?;
        Ok((plan, own))
    }

    /// The verifier is asked again where a session costs least: without persona nobody tells anything.
    fn repeats_of(&self, arm: Arm, name: &str) -> u32 {
        let cheapest = self.arms.iter().find(|arm| !arm.has_persona()).or(self.arms.first());
        let is_asked = ["oracle", "nop"].contains(&name) && cheapest == Some(&arm);
        if is_asked { self.repeats } else { 1 }
    }
}

/// The name under which the catalogue knows an agent of a pair.
fn name_in(pair: &Pair, agent: &CalibrationAgent) -> String {
    match agent {
        CalibrationAgent::Oracle | CalibrationAgent::Eager | CalibrationAgent::Nop => agent.name(),
        CalibrationAgent::Counterexample(requirement, kind) => {
            let place = pair.requirements.iter().position(|one| &one.id == requirement);
            format!("{}-{}", kind.name(), place.map_or(0, |place| place + 1))
        }
    }
}

/// Who a run is of on a pair; none if it is nobody who calibrates it.
pub fn agent_of(plan: &Plan, pair: &Pair) -> Option<CalibrationAgent> {
    match AgentKind::parse(&plan.configuration.agent) {
        AgentKind::Oracle => Some(CalibrationAgent::Oracle),
        AgentKind::Eager => Some(CalibrationAgent::Eager),
        AgentKind::Nop => Some(CalibrationAgent::Nop),
        AgentKind::Counterexample(kind, nth) => {
            let requirement = pair.requirements.get(nth as usize - 1)?;
            Some(CalibrationAgent::Counterexample(requirement.id.clone(), kind))
        }
        AgentKind::Preset(_)
        | AgentKind::Script(_)
        | AgentKind::Acp(_)
        | AgentKind::ClaudeStream(_)
        | AgentKind::Ndjson(_)
        | AgentKind::Cli(_)
        | AgentKind::Loop
        | AgentKind::Human => None,
    }
}

/// The command that tells the session in which something is not as it must be; none if it is about no single one.
pub fn show(runs: &[RunReader], release: &Release, breach: &Breach) -> Option<String> {
    let Subject::Pair(id) = &breach.subject else { return None };
    let pair = release.pairs.get(id)?;
    let is_of = |run: &&RunReader| {
        Some(run.plan.arm) == breach.arm && agent_of(&run.plan, pair) == breach.agent
    };
    let run = breach.agent.as_ref().and_then(|_| runs.iter().find(is_of))?;
    let is_there = run.plan.specs.iter().any(|spec| &spec.pair == id);
    is_there.then(|| format!("pcb show {} {id}", run.layout().root().display()))
}

/// Runs every session of every run; answers the runs, and whether the operator stopped them.
pub async fn execute(
    runs: Vec<CalibrationRun>,
    wanted: &Wanted<'_>,
    host: &Host,
    bases: &Bases,
    interrupts: Interrupts,
) -> Result<(Vec<RunReader>, bool), Failure> {
    let mut sessions = 0;
    for one in &runs {
        let attempts = Attempts::read(&one.run, &wanted.loaded.release)?;
        sessions += remaining(&one.run.plan, &attempts.records).len();
    }
    let live = Arc::new(Live::new(sessions as u64));
    let canceller = Canceller::default();
    let listening = tokio::spawn(listen(interrupts, canceller.clone(), live.clone()));
    let executor = LocalExecutor::new(f64::from(wanted.jobs), usize::MAX);
    let conducts: Vec<Conduct<'_>> = runs
        .iter()
        .map(|one| Conduct {
            run: &one.run,
            release: wanted.loaded,
            host,
            bases,
            agents: one.agents.clone(),
            executor: executor.clone(),
            live: live.clone(),
            canceller: canceller.clone(),
        })
        .collect();
    let conducted = all(conducts.iter().map(conduct)).await;
    live.close();
    listening.abort();
    conducted?;
    let is_interrupted = canceller.listen().is_cancelled();
    Ok((runs.into_iter().map(|one| one.run).collect(), is_interrupted))
}

/// Drives all of them at once; the first error is answered when all have ended.
async fn all<F>(futures: impl Iterator<Item = F>) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let mut open: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut first = Ok(());
    poll_fn(|context| {
        open.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(done) => {
                if first.is_ok() {
                    first = done;
                }
                false
            }
        });
        if open.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    first
}

/// Ids of the pairs.
pub fn ids<'a>(pairs: &'a [&Pair]) -> impl Iterator<Item = &'a PairId> {
    pairs.iter().map(|pair| &pair.id)
}
