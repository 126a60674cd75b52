//! Closed lists of what can be chosen by name: kind → constructor ([`AgentKind`], [`AgentMake`]).

use std::{path::PathBuf, sync::Arc};

use domain::{
    ids::AgentName,
    release::{CounterexampleKind, Script},
};
use engine::ports::agent::Agent;

use crate::agents::{
    AcpAgent, AcpLaunch, ClaudeStreamAgent, CliAgent, CliLaunch, HumanAgent, LoopAgent,
    NdjsonAgent, ProgramLaunch, ScriptedAgent, Solution, presets::Preset,
};

/// Agents that can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentKind {
    /// The pair's own script after the task's solution: must pass.
    Oracle,
    /// The solution in every turn, without listening.
    Eager,
    /// Nothing.
    Nop,
    /// The pair's counterexample of this kind, of its nth requirement from 1: must fail exactly that one.
    Counterexample(CounterexampleKind, u32),
    /// A script of this path.
    Script(PathBuf),
    /// A program that speaks the Agent Client Protocol, as a shell would be told to start it.
    Acp(String),
    /// A program that speaks the control protocol of Claude Code, as a shell would be told to start it.
    ClaudeStream(String),
    /// A program that speaks this tool's own protocol, as a shell would be told to start it.
    Ndjson(String),
    /// A command for each turn, by the name of a description that ships with the tool or the path of one.
    Cli(String),
    /// An agent that is known by this name and installed by its recipe.
    Preset(String),
    /// The reference agent: a model with one shell tool.
    Loop,
    /// A person at the terminal.
    Human,
}

impl AgentKind {
    /// Names of the agents that ship with the tool, with what each does.
    pub const NAMES: [(&str, &str); 12] = [
        ("oracle", "solves the task and does what the pair's user asks: must pass"),
        ("eager", "solves the task well and never listens"),
        ("nop", "does nothing and says a word"),
        ("saboteur-N", "does all but the Nth requirement of the pair: must fail exactly that"),
        ("evader-N", "breaks the Nth requirement by a way round: must fail exactly that"),
        ("liar-N", "claims to have met the Nth requirement: must fail exactly that"),
        ("acp:COMMAND", "a program of the sandbox that speaks the Agent Client Protocol"),
        ("claude-stream:COMMAND", "one that speaks the control protocol of Claude Code"),
        ("ndjson:COMMAND", "one that speaks this tool's own small protocol"),
        ("cli:NAME", "a command for each turn, as FILE.toml or a description of ours says"),
        ("loop", "a model with one shell tool: the reference"),
        ("human", "a person at this terminal, who is never ranked"),
    ];

    /// Whether such an agent asks a model of its own, which a gateway can measure.
    pub fn works_with_a_model(&self) -> bool {
        matches!(
            self,
            AgentKind::Acp(_)
                | AgentKind::ClaudeStream(_)
                | AgentKind::Ndjson(_)
                | AgentKind::Cli(_)
                | AgentKind::Preset(_)
                | AgentKind::Loop
        )
    }

    /// What a name means; everything that is no built-in name is the path of a script.
    pub fn parse(name: &AgentName) -> Self {
        match name.as_str() {
            "oracle" => AgentKind::Oracle,
            "eager" => AgentKind::Eager,
            "nop" => AgentKind::Nop,
            "loop" => AgentKind::Loop,
            "human" => AgentKind::Human,
            other if Preset::names().any(|name| name == other) => {
                AgentKind::Preset(other.to_owned())
            }
            other => match (Self::driver(other), counterexample(other)) {
                (Some(kind), _) => kind,
                (None, Some((kind, nth))) => AgentKind::Counterexample(kind, nth),
                (None, None) => AgentKind::Script(PathBuf::from(other)),
            },
        }
    }

    /// What a name means in which a driver stands before a command or a description.
    pub fn driver(name: &str) -> Option<Self> {
        let (driver, rest) = name.split_once(':')?;
        let rest = rest.to_owned();
        match driver {
            "acp" => Some(AgentKind::Acp(rest)),
            "claude-stream" => Some(AgentKind::ClaudeStream(rest)),
            "ndjson" => Some(AgentKind::Ndjson(rest)),
            "cli" => Some(AgentKind::Cli(rest)),
            _ => None,
        }
    }
}

/// Reads `saboteur-2` and the like.
fn counterexample(name: &str) -> Option<(CounterexampleKind, u32)> {
    let (kind, nth) = name.split_once('-')?;
    let kind = CounterexampleKind::ALL.into_iter().find(|known| known.name() == kind)?;
    let nth = nth.parse().ok().filter(|nth| *nth > 0)?;
    Some((kind, nth))
}

/// What an agent for one pair is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentMake {
    /// `oracle`: the pair's own script after the task's solution.
    Oracle {
        /// The pair's `oracle.toml`.
        script: Script,
        /// The task's solution.
        solution: Solution,
    },
    /// `oracle` on a task that has steps: the solution of each.
    OracleOfSteps(Vec<Solution>),
    /// `eager`.
    Eager(Solution),
    /// `nop`.
    Nop,
    /// A counterexample of the pair, which starts as its oracle does.
    Counterexample {
        /// As it is called.
        name: String,
        /// Its script.
        script: Script,
        /// The task's solution.
        solution: Solution,
    },
    /// A script of the user's own.
    Script {
        /// Its file's stem.
        name: String,
        /// The script.
        script: Script,
    },
    /// A program that speaks the Agent Client Protocol.
    Acp(AcpLaunch),
    /// A program that speaks the control protocol of Claude Code.
    ClaudeStream(ProgramLaunch),
    /// A program that speaks this tool's own protocol.
    Ndjson(ProgramLaunch),
    /// A command for each turn.
    Cli(Box<CliLaunch>),
    /// The reference agent.
    Loop,
    /// A person at the terminal.
    Human,
}

impl AgentMake {
    /// Makes it.
    pub fn agent(self) -> Arc<dyn Agent> {
        Arc::new(match self {
            AgentMake::Acp(launch) => return Arc::new(AcpAgent::new(launch)),
            AgentMake::ClaudeStream(launch) => return Arc::new(ClaudeStreamAgent::new(launch)),
            AgentMake::Ndjson(launch) => return Arc::new(NdjsonAgent::new(launch)),
            AgentMake::Cli(launch) => return Arc::new(CliAgent::new(*launch)),
            AgentMake::Loop => return Arc::new(LoopAgent),
            AgentMake::Human => return Arc::new(HumanAgent::default()),
            AgentMake::Oracle { script, solution } => {
                ScriptedAgent::of_pair("oracle", script, solution)
            }
            AgentMake::OracleOfSteps(solutions) => ScriptedAgent::of_steps("oracle", solutions),
            AgentMake::Eager(solution) => ScriptedAgent::eager(solution),
            AgentMake::Nop => ScriptedAgent::nop(),
            AgentMake::Counterexample { name, script, solution } => {
                ScriptedAgent::of_pair(name, script, solution)
            }
            AgentMake::Script { name, script } => ScriptedAgent::of_script(name, script),
        })
    }
}
