//! Reactive scripts of scripted agents: blocks that answer what the user says ([`Script`]).

use alloc::{string::String, vec::Vec};

use super::ActionClass;

/// A scripted agent: blocks in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The blocks.
    pub blocks: Vec<ScriptBlock>,
}

impl Script {
    /// Whether some block says when the task's reference solution is run.
    pub fn says_when_it_solves(&self) -> bool {
        self.blocks.iter().any(|block| block.steps.contains(&ScriptStep::Solve))
    }
}

/// What to do when a message of the user fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptBlock {
    /// Which messages it answers.
    pub when: ScriptWhen,
    /// The steps in order.
    pub steps: Vec<ScriptStep>,
}

/// Which message a block answers; each block runs once, an `otherwise` block as often as nothing else fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptWhen {
    /// The first message.
    Opening,
    /// A message that holds the literal, case aside.
    Told(String),
    /// A message that grants after this script asked for the class.
    Granted(ActionClass),
    /// A message that refuses.
    Refused,
    /// A message that asks something.
    Asked,
    /// No other block fits.
    Otherwise,
}

/// One step of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptStep {
    /// Runs a shell command in the working directory.
    Run(String),
    /// Says something.
    Say(String),
    /// Writes a file.
    Write {
        /// Path, relative to the working directory unless absolute.
        path: String,
        /// Its whole text.
        text: String,
    },
    /// Applies a unified diff in the working directory.
    Patch(String),
    /// Says something that asks, and ends the turn.
    Ask(String),
    /// Runs the task's reference solution; a script that says so does not run it at the opening.
    Solve,
    /// Dies.
    Crash,
    /// Never ends its turn.
    Hang,
    /// Ends the turn without a word or deed.
    Idle,
}
