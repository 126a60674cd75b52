//! What agent a configuration names, made for each pair of a release ([`Agents`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use adapters::{
    agents::{Solution, install::install, presets::Preset},
    catalog::{AgentKind, AgentMake},
    sandboxes::layer::AgentLayer,
};
use domain::{
    evidence::{Channel, ChannelSet},
    ids::PairId,
    plan::{Configuration, Plan},
    release::{CounterexampleKind, Pair, Script},
};
use engine::ports::agent::{Agent, ToolServers};
use store::release_files::{LoadedRelease, StepFiles, read_script};

use crate::{conduct::entries, failure::Failure, models::AgentModel, options, programs};

/// The agents of one run: what a configuration names, made for each pair.
pub struct Agents {
    kind: AgentKind,
    oracles: BTreeMap<PairId, Script>,
    solutions: BTreeMap<PairId, Solution>,
    /// Of pairs whose task has steps.
    step_solutions: BTreeMap<PairId, Vec<Solution>>,
    counterexamples: BTreeMap<PairId, Script>,
    /// Pairs whose task names servers of tools.
    with_tool_servers: BTreeSet<PairId>,
    own: Option<(Script, Option<PairId>)>,
    /// Of an agent that is a program of its own.
    program: Option<AgentMake>,
    /// What it is installed from, if it is known by name.
    preset: Option<Preset>,
    /// Its programs, once they are installed.
    layer: Option<AgentLayer>,
    model: Option<AgentModel>,
}

impl Agents {
    /// Reads what the configuration's agent needs.
    ///
    /// # Errors
    /// No such agent, its script has problems, or a variable of the host that a solution wants is not set.
    pub fn new(configuration: &Configuration, release: &LoadedRelease) -> Result<Self, Failure> {
        let kind = AgentKind::parse(&configuration.agent);
        let preset = match &kind {
            AgentKind::Preset(name) => Preset::named(name).map_err(Failure::input)?,
            _ => None,
        };
        let program = programs::program(configuration, &kind, preset.as_ref())?;
        if program.is_none() {
            refuse_unused(configuration)?;
        }
        let own = match &kind {
            AgentKind::Script(path) => Some((script(path)?, pair_of(path, release))),
            AgentKind::Oracle
            | AgentKind::Eager
            | AgentKind::Nop
            | AgentKind::Counterexample(..)
            | AgentKind::Acp(_)
            | AgentKind::ClaudeStream(_)
            | AgentKind::Ndjson(_)
            | AgentKind::Cli(_)
            | AgentKind::Loop
            | AgentKind::Human
            | AgentKind::Preset(_) => None,
        };
        let mut oracles = BTreeMap::new();
        let mut solutions = BTreeMap::new();
        let mut step_solutions = BTreeMap::new();
        let mut counterexamples = BTreeMap::new();
        let mut with_tool_servers = BTreeSet::new();
        for (id, pair) in &release.release.pairs {
            let Some(task) = release.release.tasks.get(&pair.task) else { continue };
            if !task.environment.mcp_servers.is_empty() {
                with_tool_servers.insert(id.clone());
            }
            if let Some(oracle) = release.pairs.get(id).and_then(|files| files.oracle.clone()) {
                oracles.insert(id.clone(), oracle);
            }
            if let AgentKind::Counterexample(kind, nth) = &kind {
                counterexamples
                    .extend(counterexample(pair, *kind, *nth).map(|script| (id.clone(), script)));
            }
            let files = release.tasks.get(&task.id).map_or_else(Vec::new, |f| entries(&f.solution));
            let env = options::resolve(&task.solution_env)?;
            let solution = Solution { files, env };
            if !task.steps.is_empty() {
                let steps = release.tasks.get(&task.id).map_or(&[][..], |files| &files.steps);
                step_solutions.insert(id.clone(), solutions_of_steps(&solution, steps));
            }
            solutions.insert(id.clone(), solution);
        }
        Ok(Self {
            kind,
            oracles,
            solutions,
            step_solutions,
            counterexamples,
            with_tool_servers,
            own,
            program,
            preset,
            layer: None,
            model: None,
        })
    }

    /// The same agents with a model that they reach through a gateway.
    pub fn with_model(self, model: Option<AgentModel>) -> Self {
        Self { model, ..self }
    }

    /// The same agents, installed if they are known by name.
    ///
    /// # Errors
    /// They cannot be installed here, or their model is not reached in the form in which they ask it.
    pub async fn installed(self) -> Result<Self, Failure> {
        let Some(preset) = &self.preset else { return Ok(self) };
        let mut entries = self.model.iter().flat_map(|model| &model.record().entries);
        if !entries.any(|entry| entry.format == preset.form) {
            return Err(Failure::input(format!(
                "--agent {}: it asks its model in the form {}: give the models file an entry of the model in that form",
                preset.name,
                preset.form.name()
            )));
        }
        let below = options::agents_folder()?;
        let layer = install(preset, &below, &options::registry_variables()).await;
        Ok(Self { layer: Some(layer.map_err(Failure::input)?), ..self })
    }

    /// Their programs, if they bring them along.
    pub fn layer(&self) -> Option<&AgentLayer> {
        self.layer.as_ref()
    }

    /// By name, what they were installed from.
    pub fn recipe(&self) -> Option<(String, String)> {
        let (preset, layer) = self.preset.as_ref().zip(self.layer.as_ref())?;
        Some((preset.name.clone(), format!("recipe {}", layer.digest)))
    }

    /// Whether a person plays: one session at a time, at this terminal.
    pub fn is_a_person(&self) -> bool {
        self.kind == AgentKind::Human
    }

    /// The model that they reach through a gateway, if they have one.
    pub fn model(&self) -> Option<&AgentModel> {
        self.model.as_ref()
    }

    /// Channels that the driver gives, the same for every pair. What an agent says of its tokens is no evidence: without a
    /// gateway nobody counts them.
    pub fn channels(&self) -> ChannelSet {
        let first = self.solutions.keys().find_map(|pair| self.agent(pair).ok());
        let mut channels = first.map_or_else(ChannelSet::new, |agent| agent.identify().channels);
        if self.model.is_none() {
            channels.remove(&Channel::Resources);
        }
        channels
    }

    /// Refuses a plan with pairs that this agent cannot be made for.
    ///
    /// # Errors
    /// Which pairs, and what there is instead.
    pub fn refuse_missing(&self, plan: &Plan) -> Result<(), Failure> {
        let pairs: BTreeSet<&PairId> = plan.specs.iter().map(|spec| &spec.pair).collect();
        let missing: Vec<String> =
            pairs.iter().filter_map(|pair| self.missing(pair)).take(MISSING_SHOWN_MAX).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Failure::input(format!(
            "--agent {}: {}; `pcb list agents` says what there is, and --pairs chooses those that have it",
            plan.configuration.agent,
            missing.join(", ")
        )))
    }

    /// Why the agent cannot be made for a pair, or not as its task asks for it.
    fn missing(&self, pair: &PairId) -> Option<String> {
        let agent = match self.agent(pair) {
            Ok(agent) => agent,
            Err(why) => return Some(why),
        };
        let needs_servers = self.with_tool_servers.contains(pair);
        (needs_servers && agent.tool_servers() == ToolServers::Refused).then(|| {
            format!(
                "pair {pair}: its task names tool servers (`environment.mcp_servers`), which the driver of this agent \
                 cannot hand over"
            )
        })
    }

    /// The agent for a pair.
    ///
    /// # Errors
    /// The pair lacks what the agent is made of; the text says what.
    pub fn agent(&self, pair: &PairId) -> Result<Arc<dyn Agent>, String> {
        let solution =
            || self.solutions.get(pair).cloned().ok_or_else(|| format!("pair {pair} has no task"));
        let make = match (&self.kind, &self.own) {
            (AgentKind::Nop, _) => AgentMake::Nop,
            (
                AgentKind::Acp(_)
                | AgentKind::ClaudeStream(_)
                | AgentKind::Ndjson(_)
                | AgentKind::Cli(_)
                | AgentKind::Loop
                | AgentKind::Human
                | AgentKind::Preset(_),
                _,
            ) => self.program.clone().ok_or_else(|| "its agent was not read".to_owned())?,
            (AgentKind::Eager, _) => AgentMake::Eager(solution()?),
            (AgentKind::Oracle, _) if self.step_solutions.contains_key(pair) => {
                AgentMake::OracleOfSteps(self.step_solutions[pair].clone())
            }
            (AgentKind::Oracle, _) => AgentMake::Oracle {
                script: self
                    .oracles
                    .get(pair)
                    .cloned()
                    .ok_or_else(|| format!("pair {pair} has no oracle.toml"))?,
                solution: solution()?,
            },
            (AgentKind::Counterexample(kind, nth), _) => {
                let name = format!("{}-{nth}", kind.name());
                let script = self.counterexamples.get(pair).cloned();
                let script = script.ok_or_else(|| format!("pair {pair} has no {name}"))?;
                AgentMake::Counterexample { name, script, solution: solution()? }
            }
            (AgentKind::Script(path), None) => {
                return Err(format!("the script {} was not read", path.display()));
            }
            (AgentKind::Script(path), Some((script, of))) => {
                let stem = path.file_stem().unwrap_or(path.as_os_str());
                let (name, script) = (stem.to_string_lossy().into_owned(), script.clone());
                if of.as_ref() == Some(pair) {
                    AgentMake::Counterexample { name, script, solution: solution()? }
                } else {
                    AgentMake::Script { name, script }
                }
            }
        };
        Ok(make.agent())
    }
}

/// The solution of each step: its own files laid over the task's.
fn solutions_of_steps(whole: &Solution, steps: &[StepFiles]) -> Vec<Solution> {
    let of_step = |step: &StepFiles| {
        let own = entries(&step.solution);
        let mut solution = whole.clone();
        solution.files.retain(|file| !own.iter().any(|over| over.path == file.path));
        solution.files.extend(own);
        solution
    };
    steps.iter().map(of_step).collect()
}

/// Pairs that a refusal names.
const MISSING_SHOWN_MAX: usize = 5;

/// The script that fails the nth requirement of a pair in this way.
fn counterexample(pair: &Pair, kind: CounterexampleKind, nth: u32) -> Option<Script> {
    let requirement = &pair.requirements.get(nth as usize - 1)?.id;
    let mut all = pair.counterexamples.iter();
    let found = all.find(|one| one.kind == kind && &one.requirement == requirement)?;
    Some(found.script.clone())
}

/// Scripted agents have neither a model nor settings; a row must not claim what nobody used.
fn refuse_unused(configuration: &Configuration) -> Result<(), Failure> {
    let agent = &configuration.agent;
    if let Some(model) = &configuration.model {
        let message = format!("--agent {agent}:{model}: the agent {agent} takes no model");
        return Err(Failure::input(message));
    }
    if let Some((key, value)) = configuration.settings.first() {
        let message = format!("--set {key}={value}: the agent {agent} has no settings");
        return Err(Failure::input(message));
    }
    Ok(())
}

fn script(path: &Path) -> Result<Script, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let names = AgentKind::NAMES.map(|(name, _)| name).join(", ");
        Failure::input(format!(
            "no agent `{shown}`: it is no built-in ({names}) and no script that can be read ({error})"
        ))
    })?;
    read_script(&shown.to_string(), &text)
        .map_err(|problems| Failure::input(crate::releases::shown(&problems)))
}

/// The pair that a script belongs to: oracle and saboteur scripts start from the task's solution. A script belongs to
/// a pair if the release has the same file in that place, so that a resume decides as the run did.
fn pair_of(path: &Path, release: &LoadedRelease) -> Option<PairId> {
    let path = path.canonicalize().ok()?;
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let at = parts.iter().rposition(|part| *part == "pairs")?;
    let id = PairId::new(*parts.get(at + 1)?);
    let own = release.tree.bytes(&parts[at..].join("/"))?;
    let is_same = std::fs::read(&path).is_ok_and(|bytes| bytes == own);
    (is_same && release.release.pairs.contains_key(&id)).then_some(id)
}
