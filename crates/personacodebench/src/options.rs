//! Raw arguments, configuration file and environment → resolved options, once, at the edge ([`RunOptions`]).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use adapters::{
    catalog::AgentKind,
    models::secret::Secret,
    process::{PASSED_ON, Variables},
};
use clap::ValueEnum;
use domain::{
    ids::AgentName,
    plan::{Arm, Configuration, UserKind},
    release::{EnvTable, MissingVariables, VerifyMode},
};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use store::{
    harbor::adhoc::{Completion, task_folders},
    layout,
    schema::Format,
};
use thiserror::Error;

use crate::commands::run::{ArmArg, BudgetArg, RunArgs, SandboxArg, UserArg, VerifyArg};

/// The most repeats of a pair.
pub const REPEATS_MAX: u64 = 1000;

/// The most processors to use at once.
pub const JOBS_MAX: u64 = 4096;

/// Why options cannot be resolved.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// No place for the tool's own files.
    #[error(
        "no folder for state: set PCB_STATE_DIR, XDG_STATE_HOME or HOME to a folder that can be written"
    )]
    NoStateFolder,
    /// The configuration file cannot be read.
    #[error("configuration file {path}: {problem}")]
    Config {
        /// Which file.
        path: String,
        /// What is wrong and where.
        problem: String,
    },
    /// A setting is not `KEY=VALUE`.
    #[error("--set `{0}`: expected KEY=VALUE")]
    Setting(String),
    /// A model was named and no agent works with one.
    #[error("--agent-model {0}: no agent of this run works with a model")]
    ModelUnused(String),
    /// Nobody says where a model is.
    #[error(
        "--agent {agent}: nothing says where its model {model} is: name a models file with --models"
    )]
    NoModelsFile {
        /// The agent.
        agent: String,
        /// Its model.
        model: String,
    },
    /// Nobody says which model of a file is meant.
    #[error(
        "--models {file}: nothing says with which of its models the agent {agent} works: name one with --agent-model"
    )]
    NoModel {
        /// The agent.
        agent: String,
        /// The file.
        file: PathBuf,
    },
    /// No agent was named.
    #[error("no agent: name at least one with --agent (see `pcb list agents`)")]
    NoAgent,
    /// The same configuration twice.
    #[error("--agent {0} stands twice; use --repeats for repetitions")]
    AgentTwice(String),
    /// An agent's text has an empty part.
    #[error("--agent `{0}`: expected NAME[:MODEL[@EFFORT]]")]
    Agent(String),
    /// A task wants variables of the host.
    #[error(
        "a task wants variables of this host in its environment, {0}: set them, or give them a default as in `${{NAME:-default}}`"
    )]
    Variables(MissingVariables),
    /// The key of a model is not there.
    #[error("the key of a model is wanted from the variable {0}, which is not set on this host")]
    NoKey(String),
    /// Tasks of others have no persona.
    #[error("{0} holds tasks without a persona: leave --arm out, or write --arm no-persona")]
    NoPersona(PathBuf),
    /// A reward that completes is asked of a release, which says that itself.
    #[error("--{0} is for Harbor tasks: each pair of a release says it in `[completion]`")]
    OwnCompletion(&'static str),
    /// The reward that completes cannot be read.
    #[error(
        "--completion `{0}`: expected KEY>=VALUE with a number from 0, for instance reward>=0.5"
    )]
    Completion(String),
}

/// What `pcb run` does, resolved.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Release as typed.
    pub release: String,
    /// Tasks of others that it names instead of a release.
    pub adhoc: Option<AdHoc>,
    /// One run each.
    pub configurations: Vec<Configuration>,
    /// The file that says where models are; none if no agent has a gateway.
    pub models: Option<PathBuf>,
    /// The arm.
    pub arm: Arm,
    /// Where agents work.
    pub sandbox: SandboxArg,
    /// Who words.
    pub user: UserKind,
    /// Planned repeats.
    pub repeats: u32,
    /// Processors to use at once.
    pub jobs: u32,
    /// Budget multiplier.
    pub budget_multiplier: u32,
    /// Agent time of every pair.
    pub interaction_limit_sec: Option<u64>,
    /// Only these pairs.
    pub pairs: Option<String>,
    /// At the most so many.
    pub limit: Option<u32>,
    /// Seed of all drawing.
    pub seed: u64,
    /// Folder of groups.
    pub out: PathBuf,
    /// JSON instead of the table.
    pub json: bool,
}

/// Tasks of others, run without a release.
#[derive(Clone, Debug, PartialEq)]
pub struct AdHoc {
    /// A task, or a folder of them.
    pub path: PathBuf,
    /// The reward that completes one.
    pub completion: Completion,
}

/// A configuration file: the options of `pcb run` by their long names.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ConfigFile {
    /// Agents as NAME[:MODEL[@EFFORT]]; each one is a run of the group.
    #[serde(default)]
    agent: Vec<String>,
    /// Settings of the configuration as KEY=VALUE.
    #[serde(default)]
    set: Vec<String>,
    /// The model of every agent that works with one, by its name in the models file.
    agent_model: Option<String>,
    /// The file that says where models are and what they cost.
    models: Option<PathBuf>,
    /// What the user tells when; `progressive` without it.
    #[schemars(extend("enum" = names::<ArmArg>()))]
    arm: Option<String>,
    /// Where the agent works; `local` without it.
    #[schemars(extend("enum" = names::<SandboxArg>()))]
    sandbox: Option<String>,
    /// Who words the user's messages; `template` without it.
    #[schemars(extend("enum" = names::<UserArg>()))]
    user: Option<String>,
    /// Planned repeats of each pair; 1 without it.
    #[schemars(range(min = 1, max = REPEATS_MAX))]
    repeats: Option<u32>,
    /// Processors to use at once; all without it.
    #[schemars(range(min = 1, max = JOBS_MAX))]
    jobs: Option<u32>,
    /// Multiplies seconds, tokens and cost of every budget; `1x` without it.
    #[schemars(extend("enum" = names::<BudgetArg>()))]
    budget: Option<String>,
    /// Agent time of every pair in seconds, before the multiplier; makes a custom row.
    #[schemars(range(min = 1))]
    interaction_limit: Option<u64>,
    /// Only pairs whose id matches this glob.
    pairs: Option<String>,
    /// At the most so many pairs, in order of their ids.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// Seed of all drawing; 1 without it.
    seed: Option<u64>,
    /// The reward that completes a Harbor task as KEY>=VALUE; `reward>=1` without it.
    completion: Option<String>,
    /// Where the tests of Harbor tasks run; without it as each task needs it.
    #[schemars(extend("enum" = names::<VerifyArg>()))]
    verify: Option<String>,
    /// Folder in which the group's folder is made; `runs` without it.
    out: Option<PathBuf>,
}

/// The format of a configuration file.
pub fn config_format() -> Format {
    let mut schema = schema_for!(ConfigFile);
    schema.insert("title".to_owned(), "config".into());
    Format { name: "config", files: "the file of `pcb run --config`", schema: schema.to_value() }
}

/// The names of a closed list of choices.
fn names<T: ValueEnum>() -> Vec<String> {
    let named = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    named.map(|value| value.get_name().to_owned()).collect()
}

impl RunOptions {
    /// Resolves what was typed over the configuration file over the defaults.
    pub fn resolve(args: &RunArgs) -> Result<Self, OptionsError> {
        let file = match &args.config {
            Some(path) => ConfigFile::read(path)?,
            None => ConfigFile::default(),
        };
        let at = args.config.as_deref().unwrap_or(Path::new(""));
        file.check_ranges(at)?;
        let verify = pick(args.verify, file.verify.as_deref(), "verify", at)?;
        let rule = args.completion.as_deref().or(file.completion.as_deref());
        let adhoc = adhoc(&args.release, rule, verify.map(VerifyMode::from))?;
        let arm = pick(args.arm, file.arm.as_deref(), "arm", at)?;
        let arm = match (&adhoc, arm) {
            (None, arm) => arm.unwrap_or(ArmArg::Progressive),
            (Some(_), None | Some(ArmArg::NoPersona)) => ArmArg::NoPersona,
            (Some(adhoc), Some(_)) => return Err(OptionsError::NoPersona(adhoc.path.clone())),
        };
        let sandbox = pick(args.sandbox, file.sandbox.as_deref(), "sandbox", at)?
            .unwrap_or(SandboxArg::Local);
        let UserArg::Template =
            pick(args.user, file.user.as_deref(), "user", at)?.unwrap_or(UserArg::Template);
        let budget =
            pick(args.budget, file.budget.as_deref(), "budget", at)?.unwrap_or(BudgetArg::One);
        let agents = if args.agents.is_empty() { &file.agent } else { &args.agents };
        let settings = if args.settings.is_empty() { &file.set } else { &args.settings };
        let model = args.agent_model.as_deref().or(file.agent_model.as_deref());
        let models = args.models.clone().or(file.models);
        let mut configurations = configurations(agents, settings)?;
        choose_model(&mut configurations, model, models.as_deref())?;
        Ok(Self {
            release: args.release.clone(),
            adhoc,
            configurations,
            models,
            arm: arm.into(),
            user: UserKind::Template,
            sandbox,
            repeats: args.repeats.or(file.repeats).unwrap_or(1),
            jobs: args.jobs.or(file.jobs).unwrap_or_else(processors),
            budget_multiplier: match budget {
                BudgetArg::One => 1,
                BudgetArg::Two => 2,
                BudgetArg::Three => 3,
            },
            interaction_limit_sec: args.interaction_limit.or(file.interaction_limit),
            pairs: args.pairs.clone().or(file.pairs),
            limit: args.limit.or(file.limit),
            seed: args.seed.or(file.seed).unwrap_or(1),
            out: args.out.clone().or(file.out).unwrap_or_else(|| PathBuf::from("runs")),
            json: args.json,
        })
    }
}

/// The folder for what the tool keeps between runs: bases of sandboxes, unpacked releases.
pub fn state_folder() -> Result<PathBuf, OptionsError> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("PCB_STATE_DIR")
        .or_else(|| variable("XDG_STATE_HOME").map(|folder| folder.join("personacodebench")))
        .or_else(|| variable("HOME").map(|home| home.join(".local/state/personacodebench")))
        .ok_or(OptionsError::NoStateFolder)
}

/// The folder in which agents are installed, each once.
pub fn agents_folder() -> Result<PathBuf, OptionsError> {
    match std::env::var_os("PCB_AGENTS_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(state_folder()?.join("agents")),
    }
}

/// Variables by which the clients of package registries find themselves, their settings and the way out; no key of a model is
/// among them.
pub fn registry_variables() -> Variables {
    let is_theirs = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["path", "home", "tmpdir", "node_extra_ca_certs"].contains(&name.as_str())
            || ["npm_config_", "ssl_cert_"].iter().any(|start| name.starts_with(start))
            || name.ends_with("_proxy")
    };
    host_variables().into_iter().filter(|(name, _)| is_theirs(name)).collect()
}

/// Where the Docker engine is: `DOCKER_HOST`, or the socket where Docker puts it.
pub fn docker_address() -> String {
    let told = std::env::var("DOCKER_HOST").ok().filter(|address| !address.is_empty());
    told.unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned())
}

/// The key of a model, from the variable that a models file names.
pub fn model_key(variable: &str) -> Result<Secret, OptionsError> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    value.map(Secret::new).ok_or_else(|| OptionsError::NoKey(variable.to_owned()))
}

/// Every variable of the host: by some of them programs are found, and compose files of tasks may name others.
pub fn host_variables() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect()
}

/// Variables by which toolchains of the host are found.
pub fn toolchain_variables() -> Variables {
    let set = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    set.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The variables of a task with those of this host looked up.
pub fn resolve(table: &EnvTable) -> Result<BTreeMap<String, String>, OptionsError> {
    table.resolve(|name| std::env::var(name).ok()).map_err(OptionsError::Variables)
}

/// Width of the terminal on standard output, if it is one and says so.
pub fn terminal_width() -> Option<u16> {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.or_else(|| {
        use std::io::IsTerminal;
        std::io::stdout().is_terminal().then(|| console::Term::stdout().size().1)
    })
}

/// Processors of this host.
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

impl ConfigFile {
    fn read(path: &Path) -> Result<Self, OptionsError> {
        let problem =
            |problem: String| OptionsError::Config { path: path.display().to_string(), problem };
        let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
        toml::from_str(&text).map_err(|error| problem(error.to_string().trim_end().to_owned()))
    }

    /// Numbers have the ranges that the command line gives them.
    fn check_ranges(&self, path: &Path) -> Result<(), OptionsError> {
        let numbers = [
            ("repeats", self.repeats.map(u64::from), REPEATS_MAX),
            ("jobs", self.jobs.map(u64::from), JOBS_MAX),
            ("limit", self.limit.map(u64::from), u64::MAX),
            ("interaction-limit", self.interaction_limit, u64::MAX),
        ];
        for (key, number, most) in numbers {
            let Some(number) = number.filter(|number| *number < 1 || *number > most) else {
                continue;
            };
            let range = match most {
                u64::MAX => "at least 1".to_owned(),
                most => format!("1 to {most}"),
            };
            let problem = format!("`{key} = {number}`: expected {range}");
            return Err(OptionsError::Config { path: path.display().to_string(), problem });
        }
        Ok(())
    }
}

fn pick<T: ValueEnum>(
    typed: Option<T>,
    written: Option<&str>,
    key: &str,
    path: &Path,
) -> Result<Option<T>, OptionsError> {
    let Some(text) = written.filter(|_| typed.is_none()) else { return Ok(typed) };
    T::from_str(text, false).map(Some).map_err(|_| {
        let known: Vec<String> = T::value_variants()
            .iter()
            .filter_map(|value| value.to_possible_value().map(|value| value.get_name().to_owned()))
            .collect();
        OptionsError::Config {
            path: path.display().to_string(),
            problem: format!("`{key} = \"{text}\"`: expected one of {}", known.join(", ")),
        }
    })
}

/// A folder that is no release and holds a task, or folders of tasks.
fn adhoc(
    path: &str,
    completion: Option<&str>,
    verify: Option<VerifyMode>,
) -> Result<Option<AdHoc>, OptionsError> {
    let path = Path::new(path);
    let holds_tasks = || task_folders(path).is_ok_and(|folders| !folders.is_empty());
    if layout::is_release(path) || !holds_tasks() {
        return match (completion, verify) {
            (Some(_), _) => Err(OptionsError::OwnCompletion("completion")),
            (None, Some(_)) => Err(OptionsError::OwnCompletion("verify")),
            (None, None) => Ok(None),
        };
    }
    let completion = completion.map_or(Ok(Completion::default()), completion_rule)?;
    let completion = Completion { verify, ..completion };
    Ok(Some(AdHoc { path: path.to_owned(), completion }))
}

fn completion_rule(text: &str) -> Result<Completion, OptionsError> {
    let parts = text.split_once(">=").map(|(key, value)| (key.trim(), value.trim().parse::<f64>()));
    match parts {
        Some((key, Ok(at_least))) if !key.is_empty() && at_least.is_finite() && at_least >= 0.0 => {
            Ok(Completion { key: key.to_owned(), at_least, verify: None })
        }
        _ => Err(OptionsError::Completion(text.to_owned())),
    }
}

fn configurations(
    agents: &[String],
    settings: &[String],
) -> Result<Vec<Configuration>, OptionsError> {
    if agents.is_empty() {
        return Err(OptionsError::NoAgent);
    }
    let mut pairs = Vec::new();
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| OptionsError::Setting(setting.clone()))?;
        pairs.push((key.to_owned(), value.to_owned()));
    }
    pairs.sort();
    let mut found: Vec<Configuration> = Vec::new();
    for text in agents {
        let mut configuration = configuration(text)?;
        configuration.settings.clone_from(&pairs);
        if found.contains(&configuration) {
            return Err(OptionsError::AgentTwice(text.clone()));
        }
        found.push(configuration);
    }
    Ok(found)
}

/// Gives each agent that works with a model the one that is named, unless it names its own.
fn choose_model(
    configurations: &mut [Configuration],
    model: Option<&str>,
    models: Option<&Path>,
) -> Result<(), OptionsError> {
    let mut is_used = false;
    for configuration in configurations {
        if AgentKind::parse(&configuration.agent).works_with_a_model() {
            is_used = true;
            configuration.model = configuration.model.take().or(model.map(str::to_owned));
            let agent = configuration.agent.to_string();
            match (&configuration.model, models) {
                (Some(model), None) => {
                    return Err(OptionsError::NoModelsFile { agent, model: model.clone() });
                }
                (None, Some(file)) => {
                    return Err(OptionsError::NoModel { agent, file: file.to_owned() });
                }
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
    }
    match model {
        Some(model) if !is_used => Err(OptionsError::ModelUnused(model.to_owned())),
        _ => Ok(()),
    }
}

/// A file that exists is a script whatever its name holds; a driver stands before a command; else `NAME[:MODEL[@EFFORT]]`.
fn configuration(text: &str) -> Result<Configuration, OptionsError> {
    let bare = |agent: &str, model: Option<&str>, effort: Option<&str>| Configuration {
        agent: AgentName::new(agent),
        model: model.map(str::to_owned),
        effort: effort.map(str::to_owned),
        settings: Vec::new(),
    };
    // A command may hold colons of its own.
    if Path::new(text).is_file() || AgentKind::driver(text).is_some() {
        return Ok(bare(text, None, None));
    }
    let (agent, rest) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
    let (model, effort) = match rest {
        None => (None, None),
        Some(rest) => rest.split_once('@').map_or((Some(rest), None), |(m, e)| (Some(m), Some(e))),
    };
    if agent.is_empty() || model == Some("") || effort == Some("") {
        return Err(OptionsError::Agent(text.to_owned()));
    }
    Ok(bare(agent, model, effort))
}

impl From<ArmArg> for Arm {
    fn from(arm: ArmArg) -> Self {
        match arm {
            ArmArg::Progressive => Arm::Progressive,
            ArmArg::Opening => Arm::Opening,
            ArmArg::NoPersona => Arm::NoPersona,
            ArmArg::NeutralTurns => Arm::NeutralTurns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_agent_model_and_effort() {
        let cases = [
            ("oracle", ("oracle", None, None)),
            ("loop:a/b", ("loop", Some("a/b"), None)),
            ("loop:a/b@high", ("loop", Some("a/b"), Some("high"))),
            ("acp:goose acp --x a:b@c", ("acp:goose acp --x a:b@c", None, None)),
        ];
        for (text, (agent, model, effort)) in cases {
            let found = configuration(text).expect(text);
            assert_eq!(found.agent.as_str(), agent);
            assert_eq!((found.model.as_deref(), found.effort.as_deref()), (model, effort));
        }
        for text in ["", ":m", "a:", "a:m@"] {
            assert!(configuration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_model_goes_to_the_agents_that_work_with_one() {
        let check = |agents: &[&str], model, file: Option<&str>, expect: Result<&[_], &str>| {
            let agents: Vec<String> = agents.iter().map(|&agent| agent.to_owned()).collect();
            let mut found = configurations(&agents, &[]).expect("agents");
            let chosen = choose_model(&mut found, model, file.map(Path::new));
            match expect {
                Err(part) => {
                    let told = chosen.expect_err("refused").to_string();
                    assert!(told.contains(part), "{told}");
                }
                Ok(models) => {
                    chosen.expect("taken");
                    let found: Vec<_> = found.iter().map(|c| c.model.as_deref()).collect();
                    assert_eq!(found, models, "{agents:?}");
                }
            }
        };
        check(&["nop", "acp:a"], Some("m"), Some("f"), Ok(&[None, Some("m")]));
        check(&["acp:a"], None, None, Ok(&[None]));
        check(&["nop"], None, Some("f"), Ok(&[None]));
        check(&["nop"], Some("m"), Some("f"), Err("no agent of this run works with a model"));
        check(&["acp:a"], Some("m"), None, Err("--models"));
        check(&["acp:a"], None, Some("f"), Err("--agent-model"));
    }

    #[test]
    fn completions_are_a_key_and_a_bound() {
        let check = |text: &str, expect: Option<(&str, f64)>| {
            let read = completion_rule(text).ok().map(|rule| (rule.key, rule.at_least));
            assert_eq!(read, expect.map(|(key, value)| (key.to_owned(), value)), "{text}");
        };
        check("reward>=1", Some(("reward", 1.0)));
        check("pass rate >= 0.5", Some(("pass rate", 0.5)));
        for text in ["reward", "reward>1", ">=1", "reward>=", "reward>=nan", "reward>=-1"] {
            check(text, None);
        }
    }

    #[test]
    fn refuses_what_would_be_lost() {
        let agents = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert!(matches!(configurations(&[], &[]), Err(OptionsError::NoAgent)));
        assert!(matches!(
            configurations(&agents(&["nop", "nop"]), &[]),
            Err(OptionsError::AgentTwice(_))
        ));
        assert!(matches!(
            configurations(&agents(&["nop"]), &agents(&["novalue"])),
            Err(OptionsError::Setting(_))
        ));
    }
}
