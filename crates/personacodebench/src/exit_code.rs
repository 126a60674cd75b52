//! The one table of exit codes ([`ExitCode`]).

/// What `pcb` answers to the shell. Of several the highest wins, an interrupt before all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitCode {
    /// Done, whatever the scores.
    Done,
    /// Findings of a lint or a check.
    Findings,
    /// Bad usage or input; nothing was run or written.
    BadInput,
    /// Ended with repeats that are not scored.
    NotScored,
    /// Replay or lock do not match.
    Mismatch,
    /// Stopped by the operator.
    Interrupted,
}

impl ExitCode {
    /// The number.
    pub fn number(self) -> u8 {
        match self {
            ExitCode::Done => 0,
            ExitCode::Findings => 1,
            ExitCode::BadInput => 2,
            ExitCode::NotScored => 3,
            ExitCode::Mismatch => 4,
            ExitCode::Interrupted => 130,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        std::process::ExitCode::from(code.number())
    }
}
