//! One trial ([`SessionExport::trial`], [`ExportedRun::without_result`]): what an attempt came to, told as Harbor tells it.

use std::collections::BTreeSet;

use domain::{
    evidence::{KeptArtifact, KeptNode, KeptState},
    ids::{Attempt, PairId, Repeat, StepId},
    plan::SessionSpec,
    result::SessionResult,
    session::{Answer, Command, CompletionOutcome, CompletionReport, Entry, Event},
};
use serde_json::json;
use store::{
    harbor::job::{
        Agent, AgentContext, AgentInfo, ArtifactEntry, Artifacts, Extra, FinalMetrics, LocalTask,
        ModelInfo, Step, StepFiles, StepResult, Timing, Trajectory, Trial, TrialConfig,
        TrialResult, VERSION, VerifierResult, trial_name, uuid,
    },
    utc,
};

use super::{
    Audience, EXTRA_FORMAT, ExportedRun, LoadExtra, Moment, RequirementExtra, SessionExtra,
    exception::{exception, may_be_said, unrewarded},
    steps::{Telling, public_readings, steps, usd},
};
use crate::context::{
    group::class_name,
    story::{Lane, StoryContext, StorySources, decided, model_use, story},
    words,
};

/// An attempt that is exported.
pub struct SessionExport<'a> {
    /// The run.
    pub run: ExportedRun<'a>,
    /// What it is told from.
    pub sources: StorySources<'a>,
    /// Whether it is the attempt that is scored.
    pub scored: bool,
    /// Why its log was not read to its end or is not to be trusted.
    pub log_fault: Option<String>,
}

/// Why a trial has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutResult {
    /// Nobody ran it.
    NotRun,
    /// The arm excludes its pair.
    Excluded,
    /// Somebody works on it.
    Running(Attempt),
}

impl WithoutResult {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            WithoutResult::NotRun => "not run",
            WithoutResult::Excluded => "excluded by the arm",
            WithoutResult::Running(_) => "still running",
        }
    }
}

impl ExportedRun<'_> {
    /// A repeat or an attempt that has no result: Harbor reads it as one that is yet to end.
    pub fn without_result(&self, spec: &SessionSpec, why: WithoutResult) -> Trial {
        let attempt = match why {
            WithoutResult::Running(attempt) => Some(attempt),
            WithoutResult::NotRun | WithoutResult::Excluded => None,
        };
        Trial {
            config: self.trial_config(&spec.pair, spec.repeat, attempt),
            result: None,
            trajectory: None,
            rewards: None,
            test_stdout: None,
            artifacts: Artifacts::default(),
            steps: Vec::new(),
        }
    }

    fn trial_config(&self, pair: &PairId, repeat: Repeat, attempt: Option<Attempt>) -> TrialConfig {
        let job = self.config();
        TrialConfig {
            task: self.task(pair.as_str()),
            trial_name: trial_name(pair, repeat, attempt),
            agent_timeout_multiplier: job.agent_timeout_multiplier,
            agent: self.agent(),
            environment: job.environment,
            job_id: self.id(),
        }
    }
}

impl SessionExport<'_> {
    /// Tells the attempt.
    ///
    /// # Errors
    ///
    /// Something of it cannot be said in JSON.
    pub fn trial(&self) -> Result<Trial, serde_json::Error> {
        let result = self.sources.result;
        let report = self.report();
        let trajectory = self.trajectory()?;
        Ok(Trial {
            config: self.run.trial_config(&result.pair, result.repeat, Some(result.attempt)),
            result: Some(self.result()?),
            steps: self.steps(&trajectory),
            trajectory: Some(trajectory),
            // A task that has steps has no reward file of its own.
            rewards: result
                .completion
                .as_ref()
                .filter(|_| result.steps.is_empty())
                .and_then(rewards),
            test_stdout: report
                .filter(|_| result.steps.is_empty())
                .and_then(|report| self.output(report)),
            artifacts: report
                .filter(|_| result.steps.is_empty())
                .map(|report| self.artifacts(report))
                .unwrap_or_default(),
        })
    }

    /// What was kept with a report. Links are left out: outside a sandbox they would lead into the host.
    fn artifacts(&self, report: &CompletionReport) -> Artifacts {
        let payloads = self.sources.payloads;
        let collected = report.artifacts.as_ref().and_then(|hash| payloads.artifacts(hash));
        let mut kept = Artifacts::default();
        for artifact in collected.unwrap_or_default().artifacts {
            for file in &artifact.files {
                if let KeptNode::File(hash, _) = &file.node
                    && let Some(bytes) = payloads.bytes(hash)
                {
                    let path = [artifact.destination.as_str(), file.path.as_str()].join("/");
                    kept.files.insert(path.trim_matches('/').to_owned(), bytes);
                }
            }
            kept.manifest.push(artifact_entry(artifact));
        }
        kept
    }

    fn output(&self, report: &CompletionReport) -> Option<Vec<u8>> {
        report.output.as_ref().and_then(|hash| self.sources.payloads.bytes(hash))
    }

    /// The steps of a task that has several: each is a turn, and was verified at its end.
    fn steps(&self, whole: &Trajectory) -> Vec<StepFiles> {
        let named = (1..).zip(&self.sources.result.steps);
        let told = named.map(|(turn, named): (u32, _)| {
            let own = whole.steps.iter().filter(|step| step.extra.pcb["turn"] == turn).cloned();
            let steps: Vec<Step> =
                (1..).zip(own).map(|(step_id, step)| Step { step_id, ..step }).collect();
            let extra =
                json!({ "format": EXTRA_FORMAT, "step": named.step.to_string(), "turn": turn });
            let trajectory = (!steps.is_empty()).then(|| Trajectory {
                trajectory_id: uuid(&[&whole.trajectory_id, named.step.as_str()]),
                final_metrics: FinalMetrics {
                    total_prompt_tokens: None,
                    total_completion_tokens: None,
                    total_cached_tokens: None,
                    total_cost_usd: None,
                    total_steps: steps.len() as u32,
                    extra: Extra { pcb: json!({}) },
                },
                steps,
                extra: Extra { pcb: extra },
                ..whole.clone()
            });
            let report = self.step_report(&named.step);
            StepFiles {
                step: named.step.to_string(),
                trajectory,
                rewards: named.outcome.as_ref().and_then(rewards),
                test_stdout: report.and_then(|report| self.output(report)),
                artifacts: report.map(|report| self.artifacts(report)).unwrap_or_default(),
            }
        });
        told.collect()
    }

    /// The last report of a step's verifier; the step that was reached last is verified on the seal.
    fn step_report(&self, step: &StepId) -> Option<&CompletionReport> {
        let entries = self.sources.entries;
        let decided = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Decided(id, Command::VerifyStep { step: of, .. }) if of == step => Some(*id),
            _ => None,
        });
        let Some(decided) = decided else {
            let reached = self.sources.result.steps.iter().rev();
            let last =
                reached.filter(|known| known.outcome.is_some()).map(|known| &known.step).next();
            return self.report().filter(|_| last == Some(step));
        };
        entries.iter().find_map(|entry| match &entry.event {
            Event::Answered(id, Answer::StepVerified { report, .. }) if *id == decided => {
                Some(report)
            }
            _ => None,
        })
    }

    fn id(&self) -> String {
        let result = self.sources.result;
        let (repeat, attempt) = (result.repeat.to_string(), result.attempt.to_string());
        uuid(&[&self.run.id(), result.pair.as_str(), &repeat, &attempt])
    }

    fn result(&self) -> Result<TrialResult, serde_json::Error> {
        let result = self.sources.result;
        let config = self.run.trial_config(&result.pair, result.repeat, Some(result.attempt));
        let identity = decided(&self.sources).agent_identity().map(str::to_owned);
        let started = self.at(0);
        let last = self.sources.entries.last().map_or(0, |entry| entry.elapsed_ms);
        let finished = self.at(last).or_else(|| self.sources.places.ended_utc.clone());
        let occurred = finished.clone().unwrap_or_else(|| self.run.record.started_utc.clone());
        let counts = result.class.is_graded();
        let rewards = result.completion.as_ref().and_then(self::rewards).filter(|_| counts);
        let step_results = result.steps.iter().map(|step| StepResult {
            step_name: step.step.to_string(),
            verifier_result: step
                .outcome
                .as_ref()
                .and_then(self::rewards)
                .filter(|_| counts)
                .map(|rewards| VerifierResult { rewards }),
            exception_info: step
                .outcome
                .as_ref()
                .and_then(|outcome| unrewarded(outcome, occurred.clone())),
        });
        let step_results = step_results.collect();
        let class = class_name(result.class, self.sources.scenario.arm.has_persona());
        let tokens = model_use(&self.sources).and_then(|all| all.all().whole());
        let metadata = json!({ "pcb": {
            "format": EXTRA_FORMAT,
            "scored": self.scored,
            "class": class,
            "ending": result.ending.name(),
            "completed": result.completed,
            "personalized": result.personalized,
            "joint": result.joint,
            "turns": result.load.turns,
            "agent_ms": result.load.agent_ms,
            "tokens": result.load.tokens,
        }});
        Ok(TrialResult {
            id: self.id(),
            task_name: result.pair.to_string(),
            trial_name: config.trial_name.clone(),
            trial_uri: format!("pcb:{}", self.sources.places.log),
            task_id: LocalTask { path: config.task.path.clone() },
            source: config.task.source.clone(),
            task_checksum: format!("blake3:{}", self.run.plan.digest),
            agent_info: AgentInfo {
                name: config.agent.name.clone(),
                version: version(identity.as_deref()),
                model_info: config.agent.model_name.as_deref().map(model_info),
            },
            config,
            agent_result: AgentContext {
                n_input_tokens: tokens.map(|(input, ..)| input),
                n_cache_tokens: tokens.and_then(|(_, cached, _)| cached),
                n_output_tokens: tokens.map(|(.., output)| output),
                cost_usd: cost(result),
                metadata,
            },
            verifier_result: rewards.map(|rewards| VerifierResult { rewards }),
            exception_info: exception(result, self.sources.entries, occurred, self.run.audience),
            started_at: started,
            finished_at: finished,
            environment_setup: self.phase(|command| matches!(command, Command::PrepareSandbox)),
            agent_setup: self.phase(|command| matches!(command, Command::OpenAgent)),
            agent_execution: self.phase(|command| matches!(command, Command::Prompt { .. })),
            verifier: self.phase(|command| {
                matches!(command, Command::VerifyCompletion | Command::VerifyStep { .. })
            }),
            step_results,
        })
    }

    fn trajectory(&self) -> Result<Trajectory, serde_json::Error> {
        let told = story(&self.sources);
        let session = decided(&self.sources);
        let withheld = self.withheld_checks(&told);
        let telling = Telling {
            sources: &self.sources,
            story: &told,
            session: &session,
            audience: self.run.audience,
            withheld: &withheld,
        };
        let steps = steps(&telling)?;
        let (agent, load) = (self.run.agent(), self.sources.result.load);
        let extra = self.extra(&told, &withheld);
        let tokens = told.facts.model_use.as_ref().and_then(|all| all.all().whole());
        Ok(Trajectory {
            schema_version: VERSION.to_owned(),
            session_id: self.id(),
            trajectory_id: self.id(),
            agent: Agent {
                name: agent.name,
                version: version(session.agent_identity()),
                model_name: agent.model_name,
            },
            final_metrics: FinalMetrics {
                total_prompt_tokens: tokens.map(|(input, ..)| input),
                total_completion_tokens: tokens.map(|(.., output)| output),
                total_cached_tokens: tokens.and_then(|(_, cached, _)| cached),
                total_cost_usd: cost(self.sources.result),
                total_steps: steps.len() as u32,
                extra: Extra { pcb: json!({ "tokens": load.tokens, "unpriced": load.unpriced }) },
            },
            steps,
            notes: self.notes(),
            extra: Extra { pcb: serde_json::to_value(extra)? },
        })
    }

    fn notes(&self) -> Option<String> {
        let fault = self.log_fault.as_ref()?;
        Some(format!(
            "The log could not be read as it was written: {fault}. What follows is what could be read."
        ))
    }

    /// Checks that rest on nothing that was told, for a public export.
    fn withheld_checks(&self, told: &StoryContext) -> BTreeSet<String> {
        let mut withheld = BTreeSet::new();
        if self.run.audience == Audience::Full {
            return withheld;
        }
        let (open, hidden): (Vec<&Lane>, Vec<&Lane>) =
            told.lanes.iter().partition(|lane| self.is_told(&lane.id));
        withheld.extend(hidden.iter().flat_map(|lane| lane.checks.iter().cloned()));
        for check in open.iter().flat_map(|lane| &lane.checks) {
            withheld.remove(check);
        }
        withheld
    }

    fn is_told(&self, id: &str) -> bool {
        let mut all = self.sources.result.requirements.iter();
        all.any(|requirement| requirement.id.as_str() == id && requirement.delivered.is_some())
    }

    fn extra(&self, told: &StoryContext, withheld: &BTreeSet<String>) -> SessionExtra {
        let (result, scenario) = (self.sources.result, self.sources.scenario);
        let mut flags = told.flags.clone();
        for (told, (flag, _)) in flags.iter_mut().zip(&result.flags) {
            if !may_be_said(*flag, self.run.audience) {
                told.detail.clear();
            }
        }
        SessionExtra {
            format: EXTRA_FORMAT,
            audience: self.run.audience,
            pair: result.pair.to_string(),
            repeat: result.repeat.0,
            attempt: result.attempt.0,
            scored: self.scored,
            task: scenario.task.to_string(),
            suite: scenario.suite.to_string(),
            persona: scenario.persona.id.to_string(),
            role: scenario.persona.role.clone(),
            arm: scenario.arm.name().to_owned(),
            user: scenario.user.name().to_owned(),
            log: self.sources.places.log.clone(),
            log_fault: self.log_fault.clone(),
            ending: result.ending.name().to_owned(),
            ending_owner: result.ending.owner().name().to_owned(),
            class: class_name(result.class, scenario.arm.has_persona()).to_owned(),
            completed: result.completed,
            personalized: result.personalized,
            joint: result.joint,
            two_by_two: two_by_two(result).map(str::to_owned),
            within_budget: result.within_budget,
            valid: result.valid,
            flags,
            completion: result.completion.as_ref().map(words::completion),
            completion_rule: format!(
                "{} of at least {}",
                scenario.completion.key, scenario.completion.at_least
            ),
            requirements: told.lanes.iter().map(|lane| self.requirement(lane)).collect(),
            seal: told
                .seal
                .iter()
                .flat_map(|look| public_readings(&look.readings, withheld))
                .collect(),
            closing_words: told.closing_words.clone(),
            load: load(result, told),
            model_use: told.facts.model_use.clone(),
        }
    }

    fn requirement(&self, lane: &Lane) -> RequirementExtra {
        let mut all = self.sources.result.requirements.iter();
        let result = all.find(|requirement| requirement.id.as_str() == lane.id);
        let delivered = result.and_then(|result| result.delivered).map(|turn| turn.0);
        let is_open = self.run.audience == Audience::Full || delivered.is_some();
        let told = |text: &String| is_open.then(|| text.clone());
        let cells = lane.cells.iter();
        RequirementExtra {
            id: lane.id.clone(),
            area: lane.area.clone(),
            mandatory: lane.mandatory,
            text: told(&lane.text),
            because: told(&lane.because),
            told_when: told(&lane.told_when),
            met_if: told(&lane.met_if),
            applies_if: lane.applies_if.as_ref().and_then(told),
            checks: is_open.then(|| lane.checks.clone()),
            delivered,
            corrections: result.map_or(0, |result| result.corrections),
            lane: cells
                .map(|cell| Moment { moment: cell.moment.clone(), steps: cell.steps.clone() })
                .collect(),
            sealed: result.and_then(|result| result.sealed).map(words::verdict),
            outcome: lane.outcome.clone(),
        }
    }

    /// The last report of the native verifier.
    fn report(&self) -> Option<&CompletionReport> {
        self.sources.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Answered(_, Answer::CompletionVerified(report)) => Some(report),
            _ => None,
        })
    }

    /// From the first command of a kind to the answer of the last one; none if there is no such command. A later grading
    /// counts its time from a start of its own, so that its phases have none here.
    fn phase(&self, is_of_kind: impl Fn(&Command) -> bool) -> Option<Timing> {
        let until = self.sources.places.grading.as_ref().map_or(usize::MAX, |(from, _)| *from);
        let own: &[Entry] = &self.sources.entries[..until.min(self.sources.entries.len())];
        let mut ids = BTreeSet::new();
        let (mut first, mut last) = (None, None);
        for entry in own {
            match &entry.event {
                Event::Decided(id, command) if is_of_kind(command) => {
                    ids.insert(*id);
                    first = first.or(Some(entry.elapsed_ms));
                    last = None;
                }
                Event::Answered(id, _) if ids.contains(id) => last = Some(entry.elapsed_ms),
                _ => {}
            }
        }
        Some(Timing {
            started_at: self.at(first?)?,
            finished_at: last.and_then(|elapsed_ms| self.at(elapsed_ms)),
        })
    }

    fn at(&self, elapsed_ms: u64) -> Option<String> {
        utc::later(self.sources.places.started_utc.as_deref()?, elapsed_ms)
    }
}

fn load(result: &SessionResult, told: &StoryContext) -> LoadExtra {
    let load = &result.load;
    LoadExtra {
        turns: load.turns,
        turns_max: told.facts.turns_max,
        agent_ms: load.agent_ms,
        agent_max_ms: told.facts.agent_max_ms,
        tokens: load.tokens,
        cost_microusd: load.cost_microusd,
        unpriced: load.unpriced,
        delivered: load.delivered,
        corrections: load.corrections,
        refusals: load.refusals,
        nudges: load.nudges,
        questions: load.questions,
        permission_requests: load.permission_requests,
        words_read: load.words_read,
    }
}

fn two_by_two(result: &SessionResult) -> Option<&'static str> {
    Some(match (result.completed?, result.personalized?) {
        (true, true) => "both",
        (true, false) => "completed_only",
        (false, true) => "personalized_only",
        (false, false) => "neither",
    })
}

fn rewards(outcome: &CompletionOutcome) -> Option<std::collections::BTreeMap<String, f64>> {
    match outcome {
        CompletionOutcome::Rewards(rewards) => Some(rewards.iter().cloned().collect()),
        _ => None,
    }
}

/// The cost if all of it is known.
fn cost(result: &SessionResult) -> Option<f64> {
    result.load.cost_microusd.filter(|_| result.load.unpriced == 0).map(usd)
}

/// An agent that tells its version tells it after its name.
fn version(identity: Option<&str>) -> String {
    let version = identity.and_then(|identity| identity.trim().split_once(' '));
    version.map_or("unknown", |(_, version)| version).to_owned()
}

fn model_info(model: &str) -> ModelInfo {
    match model.split_once('/') {
        Some((provider, name)) => {
            ModelInfo { name: name.to_owned(), provider: Some(provider.to_owned()) }
        }
        None => ModelInfo { name: model.to_owned(), provider: None },
    }
}

/// An entry of Harbor's list. Of what could not be taken its type is guessed from its name, as Harbor does.
fn artifact_entry(artifact: KeptArtifact) -> ArtifactEntry {
    let name = artifact.source.rsplit('/').next().unwrap_or_default();
    let guessed = if name.trim_start_matches('.').contains('.') { "file" } else { "directory" };
    let (kind, status) = match artifact.state {
        KeptState::File => ("file", "ok"),
        KeptState::Directory => ("directory", "ok"),
        KeptState::Empty => ("directory", "empty"),
        KeptState::Skipped => (guessed, "skipped"),
        KeptState::Failed(_) => (guessed, "failed"),
    };
    let destination = format!("artifacts/{}", artifact.destination);
    ArtifactEntry {
        source: artifact.source,
        destination: destination.trim_end_matches('/').to_owned(),
        kind,
        status,
        service: artifact.service,
        exclude: if kind == "directory" { artifact.exclude } else { Vec::new() },
    }
}
