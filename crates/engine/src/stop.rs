//! Why a command could not be carried out, and whose fault that is ([`Stop`]).

use domain::{
    fault::{Ending, Flag},
    session::Answer,
};

use crate::ports::{agent::AgentFault, record::RecordError, sandbox::SandboxFault};

/// Why a command could not be carried out.
pub(crate) enum Stop {
    Sandbox(SandboxFault),
    Agent(AgentFault),
    Record(RecordError),
    Other(Flag, Option<Ending>, String),
}

impl From<SandboxFault> for Stop {
    fn from(fault: SandboxFault) -> Self {
        Stop::Sandbox(fault)
    }
}

impl From<AgentFault> for Stop {
    fn from(fault: AgentFault) -> Self {
        match fault {
            AgentFault::Sandbox(fault) => Stop::Sandbox(fault),
            fault => Stop::Agent(fault),
        }
    }
}

impl From<RecordError> for Stop {
    fn from(error: RecordError) -> Self {
        Stop::Record(error)
    }
}

/// The answer that tells the machine; the phase of the command decides what a broken sandbox means.
pub(crate) fn failed(stop: Stop, is_preparation: bool, is_verification: bool) -> Answer {
    let (flag, ending, detail) = match stop {
        Stop::Other(flag, ending, detail) => (flag, ending, detail),
        Stop::Record(error) => {
            (Flag::JournalFailed, Some(Ending::JournalFailed), error.to_string())
        }
        Stop::Sandbox(fault) if is_verification => {
            (Flag::VerificationIncomplete, None, fault.to_string())
        }
        Stop::Sandbox(SandboxFault::HostLimit(detail)) => {
            (Flag::HostLimits, Some(Ending::HostLimits), detail)
        }
        Stop::Sandbox(fault) if is_preparation => {
            (Flag::PreparationFailed, Some(Ending::PreparationFailed), fault.to_string())
        }
        Stop::Sandbox(fault) => {
            (Flag::EnvironmentLost, Some(Ending::EnvironmentLost), fault.to_string())
        }
        Stop::Agent(AgentFault::Provider(detail)) => {
            (Flag::ProviderError, Some(Ending::ProviderError), detail)
        }
        Stop::Agent(fault @ AgentFault::Channel(_)) => {
            (Flag::ChannelFailed, Some(Ending::ChannelFailed), fault.to_string())
        }
        Stop::Agent(fault) if is_preparation => {
            (Flag::PreparationFailed, Some(Ending::PreparationFailed), fault.to_string())
        }
        Stop::Agent(fault) => (Flag::ChannelFailed, Some(Ending::ChannelFailed), fault.to_string()),
    };
    Answer::Failed { flag, ending, detail }
}

pub(crate) fn bug(detail: &str) -> Stop {
    Stop::Other(Flag::ControllerBug, Some(Ending::ControllerBug), detail.to_owned())
}

pub(crate) fn twice(what: &str) -> Stop {
    bug(&format!("the {what} was asked for twice"))
}
