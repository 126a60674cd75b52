//! The expansion of a request into a [`Plan`]: pairs in order of their ids times repeats, limits
//! resolved, draws drawn.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use thiserror::Error;

use super::{Arm, BenchmarkSide, Configuration, Plan, SessionLimits, SessionSpec};
use crate::{
    acceptance::glob::Glob,
    evidence::{Channel, ChannelSet},
    ids::{CheckId, PairId, Repeat, RequirementId, TaskId},
    release::{Expr, Pair, Release, Requirement, Step, StepPlaced, Task, Unsupported},
    seed::Seed,
};

/// What is to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// The configuration asked for.
    pub configuration: Configuration,
    /// The arm.
    pub arm: Arm,
    /// The benchmark's side.
    pub side: BenchmarkSide,
    /// Seed of all drawing.
    pub seed: u64,
    /// Planned repeats of each pair, at least 1.
    pub repeats: u32,
    /// Patterns of pair ids, any of which suffices; empty means all.
    pub pairs: Vec<String>,
    /// The first so many of the pairs that fit; none means all.
    pub limit: Option<u32>,
    /// Channels that sandbox and driver give together.
    pub channels: ChannelSet,
}

/// Why nothing is planned.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// A repeat count of 0, or a budget multiplier of 0.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// Nothing fits.
    #[error("no pair of the release fits {0}")]
    NoPair(String),
    /// A pair names a task that the release lacks.
    #[error("pair {pair} names the task {task}, which the release does not have")]
    NoTask {
        /// The pair.
        pair: PairId,
        /// The task.
        task: TaskId,
    },
    /// Pairs that the sandbox and the driver cannot run; all of them at once.
    #[error("{} cannot run here: {}", count(.0.len(), "pair, task or check"), list(.0))]
    Unsuited(Vec<Unsuited>),
}

/// Why a pair cannot run with the sandbox and the driver that were asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unsuited {
    /// Its task has steps, which only the arm without persona asks for.
    #[error(
        "pair {pair} has a task with steps, which only the arm `{}` runs", Arm::NoPersona.name()
    )]
    Steps {
        /// The pair.
        pair: PairId,
    },
    /// The pair does not list the sandbox.
    #[error("pair {pair} does not run in the sandbox {sandbox}")]
    Sandbox {
        /// The pair.
        pair: PairId,
        /// The sandbox asked for.
        sandbox: String,
    },
    /// The pair's task asks for what the sandbox does not give.
    #[error("task {task}: {}; {}", unsupported.what, unsupported.remedy)]
    Task {
        /// The task.
        task: TaskId,
        /// What, and what to do about it.
        unsupported: Unsupported,
    },
    /// A mandatory requirement needs a channel that nobody gives.
    #[error(
        "pair {pair}: check {check} of the mandatory requirement {requirement} needs channel {}",
        channel.code()
    )]
    Channel {
        /// The pair.
        pair: PairId,
        /// The requirement.
        requirement: RequirementId,
        /// The check.
        check: CheckId,
        /// The channel that is missing.
        channel: Channel,
    },
}

/// Decides a whole run: the same release and request give the same plan.
///
/// # Errors
///
/// [`PlanError`] if nothing fits or a pair cannot run with this sandbox and driver. Such a pair is
/// refused rather than left out, because nothing but the request may shrink the denominator.
pub fn expand(release: &Release, request: &PlanRequest) -> Result<Plan, PlanError> {
    if request.repeats == 0 {
        return Err(PlanError::Zero("the number of repeats"));
    }
    if request.side.budget_multiplier == 0 {
        return Err(PlanError::Zero("the budget multiplier"));
    }
    let pairs = chosen(release, request)?;
    let mut unsuited: Vec<Unsuited> = pairs
        .iter()
        .flat_map(|pair| {
            let task = release.tasks.get(&pair.task);
            unsuited(pair, task, request)
        })
        .collect();
    unsuited.extend(unsupported(release, &pairs, request));
    if !unsuited.is_empty() {
        return Err(PlanError::Unsuited(unsuited));
    }
    let mut specs = Vec::new();
    for pair in &pairs {
        let task = release
            .tasks
            .get(&pair.task)
            .ok_or_else(|| PlanError::NoTask { pair: pair.id.clone(), task: pair.task.clone() })?;
        let limits = limits(pair, task, &request.side);
        let steps_agent_ms = steps_agent_ms(task, &request.side);
        let seed = Seed::root(request.seed).child("session").child(pair.id.as_str());
        specs.extend((1..=request.repeats).map(|repeat| SessionSpec {
            pair: pair.id.clone(),
            repeat: Repeat(repeat),
            draw: seed.index(u64::from(repeat)).draw(),
            limits,
            steps_agent_ms: steps_agent_ms.clone(),
        }));
    }
    let excluded = pairs
        .iter()
        .filter(|pair| request.arm == Arm::Opening && !excluded_from_opening(pair).is_empty())
        .map(|pair| pair.id.clone())
        .collect();
    Ok(Plan {
        release: release.id.clone(),
        release_version: release.version.clone(),
        digest: release.digest.clone(),
        locked: release.locked,
        configuration: request.configuration.clone(),
        arm: request.arm,
        side: request.side.clone(),
        seed: request.seed,
        repeats: request.repeats,
        specs,
        excluded,
    })
}

/// The numbers that end a session of the pair: its budget, resolved and multiplied, and the
/// watchdogs.
pub fn limits(pair: &Pair, task: &Task, side: &BenchmarkSide) -> SessionLimits {
    let requirements = u32::try_from(pair.requirements.len()).unwrap_or(u32::MAX);
    let multiplier = u64::from(side.budget_multiplier);
    let agent_time_sec = match (side.interaction_limit_sec, pair.budget.agent_time_sec) {
        (Some(limit), _) => limit as f64,
        (None, Some(declared)) => declared,
        (None, None) => native_agent_time_sec(task) * (1.0 + 0.2 * f64::from(requirements)),
    };
    let agent_time_ms = milliseconds(agent_time_sec).saturating_mul(multiplier);
    SessionLimits {
        turns_max: turns_max(pair, task),
        agent_time_ms,
        wall_time_ms: agent_time_ms
            .saturating_add(WALL_MARGIN_MS)
            .saturating_add(milliseconds(between_steps_sec(task))),
        tokens_max: pair.budget.tokens.map(|tokens| tokens.saturating_mul(multiplier)),
        cost_microusd_max: pair.budget.cost_microusd.map(|cost| cost.saturating_mul(multiplier)),
        preparation_ms: PREPARATION_MS,
        verification_ms: milliseconds(verifier_timeout_sec(task))
            .saturating_add(VERIFICATION_MARGIN_MS)
            .max(VERIFICATION_LEAST_MS),
    }
}

/// Agent time of each step of a task that has several, multiplied; none if it has none.
pub fn steps_agent_ms(task: &Task, side: &BenchmarkSide) -> Vec<u64> {
    let multiplier = u64::from(side.budget_multiplier);
    let times = task.steps.iter().map(|step| step_agent_time_sec(task, step));
    times.map(|seconds| milliseconds(seconds).saturating_mul(multiplier)).collect()
}

/// Turns of a pair: declared, or 4 + 2 × requirements, and enough for every step of its task.
pub(crate) fn turns_max(pair: &Pair, task: &Task) -> u32 {
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    let by_requirements = count(pair.requirements.len()).saturating_mul(2).saturating_add(4);
    pair.budget.turns.unwrap_or_else(|| by_requirements.max(count(task.steps.len())))
}

/// Requirements that keep the pair out of the opening arm: their acceptance refers to the telling
/// or to grants, and they carry no `opening` wording.
pub fn excluded_from_opening(pair: &Pair) -> Vec<&RequirementId> {
    pair.requirements
        .iter()
        .filter(|requirement| requirement.opening.is_none() && refers_to_session(pair, requirement))
        .map(|requirement| &requirement.id)
        .collect()
}

const DEFAULT_AGENT_TIME_SEC: f64 = 3_600.0;
const WALL_MARGIN_MS: u64 = 3_600_000;
const PREPARATION_MS: u64 = 7_200_000;
const VERIFICATION_MARGIN_MS: u64 = 600_000;
const VERIFICATION_LEAST_MS: u64 = 900_000;

/// The task's own limit, or those of all its steps together.
fn native_agent_time_sec(task: &Task) -> f64 {
    if task.steps.is_empty() {
        task.agent.timeout_sec.unwrap_or(DEFAULT_AGENT_TIME_SEC)
    } else {
        task.steps.iter().map(|step| step_agent_time_sec(task, step)).sum()
    }
}

fn step_agent_time_sec(task: &Task, step: &Step) -> f64 {
    step.agent_timeout_sec.or(task.agent.timeout_sec).unwrap_or(DEFAULT_AGENT_TIME_SEC)
}

/// What verifying all steps but the last and setting up those that need it may take.
fn between_steps_sec(task: &Task) -> f64 {
    let between = task.steps.iter().zip(task.steps.iter().skip(1));
    let seconds = between.map(|(ended, next)| {
        let setup = match next.placed {
            StepPlaced::FilesAndSetup => task.environment.build_timeout_sec,
            StepPlaced::Files | StepPlaced::Nothing => 0.0,
        };
        setup + step_verifier_sec(task, ended)
    });
    seconds.sum()
}

/// Any step can be the one that is verified on the seal.
fn verifier_timeout_sec(task: &Task) -> f64 {
    let steps = task.steps.iter().map(|step| step_verifier_sec(task, step));
    steps.reduce(f64::max).unwrap_or_else(|| task.verifier.timeout_sec + hooks_sec(task, None))
}

fn step_verifier_sec(task: &Task, step: &Step) -> f64 {
    step.verifier.timeout_sec.unwrap_or(task.verifier.timeout_sec) + hooks_sec(task, Some(step))
}

/// What the commands may take that are run before artifacts are taken.
fn hooks_sec(task: &Task, step: Option<&Step>) -> f64 {
    task.collect_hooks(step).map(|hook| hook.timeout_sec).sum()
}

fn chosen<'a>(release: &'a Release, request: &PlanRequest) -> Result<Vec<&'a Pair>, PlanError> {
    let limit = request.limit.map_or(usize::MAX, |limit| limit as usize);
    let patterns: Vec<Glob> = request.pairs.iter().map(|pattern| Glob::new(pattern)).collect();
    let chosen: Vec<&Pair> = release
        .pairs
        .values()
        .filter(|pair| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(pair.id.as_str()))
        })
        .take(limit)
        .collect();
    if chosen.is_empty() {
        let wanted = if request.pairs.is_empty() {
            "(it has none, or the limit is 0)".to_string()
        } else {
            request.pairs.join(", ")
        };
        return Err(PlanError::NoPair(wanted));
    }
    Ok(chosen)
}

fn unsuited(pair: &Pair, task: Option<&Task>, request: &PlanRequest) -> Vec<Unsuited> {
    let mut found = Vec::new();
    let has_steps = task.is_some_and(|task| !task.steps.is_empty());
    if has_steps && request.arm != Arm::NoPersona {
        found.push(Unsuited::Steps { pair: pair.id.clone() });
    }
    let sandboxes = &pair.environment.sandboxes;
    if !sandboxes.is_empty() && !sandboxes.contains(&request.side.sandbox) {
        found.push(Unsuited::Sandbox {
            pair: pair.id.clone(),
            sandbox: request.side.sandbox.clone(),
        });
    }
    if !request.arm.has_persona() {
        return found;
    }
    for requirement in pair.requirements.iter().filter(|requirement| requirement.mandatory) {
        for id in requirement.pass.checks() {
            let needed = pair.check(id).map_or(&[][..], |check| check.kind.channels());
            for channel in needed.iter().filter(|channel| !request.channels.contains(channel)) {
                found.push(Unsuited::Channel {
                    pair: pair.id.clone(),
                    requirement: requirement.id.clone(),
                    check: id.clone(),
                    channel: *channel,
                });
            }
        }
    }
    found.dedup();
    found
}

/// What the tasks of the pairs ask for and the sandbox does not give; each task once.
fn unsupported(release: &Release, pairs: &[&Pair], request: &PlanRequest) -> Vec<Unsuited> {
    let tasks: BTreeSet<&TaskId> = pairs.iter().map(|pair| &pair.task).collect();
    let tasks = tasks.into_iter().filter_map(|id| release.tasks.get(id));
    let of_task = |task: &Task| {
        let id = task.id.clone();
        let found = task.unsupported_by(&request.side.sandbox).into_iter();
        found.map(move |unsupported| Unsuited::Task { task: id.clone(), unsupported })
    };
    tasks.flat_map(of_task).collect()
}

fn refers_to_session(pair: &Pair, requirement: &Requirement) -> bool {
    let since = requirement
        .pass
        .checks()
        .into_iter()
        .filter_map(|id| pair.check(id))
        .any(|check| check.kind.since().is_some());
    since || requirement.pass.exprs().any(names_grant)
}

fn names_grant(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |node| found |= matches!(node, Expr::Granted { .. }));
    found
}

/// Seconds as whole milliseconds; what is no positive number is 0.
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0 + 0.5) as u64
}

fn count(number: usize, noun: &str) -> String {
    alloc::format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn list(causes: &[Unsuited]) -> String {
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
