//! Closed lists of what can be chosen by name: kind → constructor ([`AgentKind`], [`AgentMake`]).

use std::path::PathBuf;

use domain::{ids::AgentName, release::Script};

use crate::agents::{ScriptedAgent, Solution};

/// Agents that can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentKind {
    /// The pair's own script after the task's solution: must pass.
    Oracle,
    /// The solution in every turn, without listening.
    Eager,
    /// Nothing.
    Nop,
    /// A script of this path.
    Script(PathBuf),
}

impl AgentKind {
    /// Names of the agents that ship with the tool, with what each does.
    pub const NAMES: [(&str, &str); 3] = [
        ("oracle", "solves the task and does what the pair's user asks: must pass"),
        ("eager", "solves the task well and never listens"),
        ("nop", "does nothing and says a word"),
    ];

    /// What a name means; everything that is no built-in name is the path of a script.
    pub fn parse(name: &AgentName) -> Self {
        match name.as_str() {
            "oracle" => AgentKind::Oracle,
            "eager" => AgentKind::Eager,
            "nop" => AgentKind::Nop,
            path => AgentKind::Script(PathBuf::from(path)),
        }
    }
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
    /// `eager`.
    Eager(Solution),
    /// `nop`.
    Nop,
    /// A saboteur of the pair, which starts as its oracle does.
    Saboteur {
        /// Its file's stem.
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
}

impl AgentMake {
    /// Makes it.
    pub fn agent(self) -> ScriptedAgent {
        match self {
            AgentMake::Oracle { script, solution } => {
                ScriptedAgent::of_pair("oracle", script, solution)
            }
            AgentMake::Eager(solution) => ScriptedAgent::eager(solution),
            AgentMake::Nop => ScriptedAgent::nop(),
            AgentMake::Saboteur { name, script, solution } => {
                ScriptedAgent::of_pair(name, script, solution)
            }
            AgentMake::Script { name, script } => ScriptedAgent::of_script(name, script),
        }
    }
}
