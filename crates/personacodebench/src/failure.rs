//! Why a command could not do its work ([`Failure`]): a message for the user and an exit code.

use std::fmt::Display;

use crate::exit_code::ExitCode;

/// A message on standard error with the exit code of the process.
#[derive(Debug)]
pub struct Failure {
    /// What the shell gets.
    pub code: ExitCode,
    /// Where, what, and how to mend it.
    pub message: String,
}

impl Failure {
    /// Bad usage or input.
    pub fn input(message: impl Display) -> Self {
        Self { code: ExitCode::BadInput, message: message.to_string() }
    }

    /// Replay or lock do not match.
    pub fn mismatch(message: impl Display) -> Self {
        Self { code: ExitCode::Mismatch, message: message.to_string() }
    }
}

impl From<crate::options::OptionsError> for Failure {
    fn from(error: crate::options::OptionsError) -> Self {
        Self::input(error)
    }
}
