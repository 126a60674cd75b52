//! What Harbor calls an exception ([`exception`]): a fault of the world, a failure of the agent, or a verifier that left no
//! reward. The names are Harbor's where one fits; ours begin with `Pcb`.

use domain::{
    fault::{Ending, Flag, Owner},
    result::SessionResult,
    session::{Answer, Command, CompletionOutcome, Entry, Event, Observation, Watchdog},
};
use store::harbor::job::ExceptionInfo;

use super::Audience;
use crate::context::words;

/// What went wrong in a session, the world's faults before the agent's failures; none if nothing did. `at` is when the
/// session ended.
pub(super) fn exception(
    result: &SessionResult,
    entries: &[Entry],
    at: String,
    audience: Audience,
) -> Option<ExceptionInfo> {
    let (exception_type, exception_message) = fault(result, entries, audience)
        .or_else(|| failure(result.ending))
        .or_else(|| unrewarded(result))
        .or_else(|| disqualified(result))?;
    Some(ExceptionInfo {
        exception_type,
        exception_message,
        exception_traceback: String::new(),
        occurred_at: at,
    })
}

fn fault(
    result: &SessionResult,
    entries: &[Entry],
    audience: Audience,
) -> Option<(String, String)> {
    let counting: Vec<Flag> =
        result.counting_flags().filter(|flag| flag.owner() != Owner::Agent).collect();
    let of_ending = result.ending.flag().filter(|flag| counting.contains(flag));
    let flag = of_ending.or_else(|| counting.first().copied())?;
    let name = match flag {
        Flag::MaterialiseFailed => "SandboxBuildFailedError".to_owned(),
        Flag::PreparationFailed if fired(entries, Watchdog::Preparation) => if has_sandbox(entries)
        {
            "AgentSetupTimeoutError"
        } else {
            "EnvironmentStartTimeoutError"
        }
        .to_owned(),
        Flag::ProviderError => "ApiError".to_owned(),
        Flag::OperatorAbort => "CancelledError".to_owned(),
        other => ours(other.name()),
    };
    let mut message = format!("fault ({}): {}", flag.owner().name(), flag.name());
    let detail = result.flags.iter().find(|(known, _)| *known == flag).map(|(_, detail)| detail);
    if let Some(detail) = detail.filter(|_| may_be_said(flag, audience)) {
        message.push_str(&format!(": {detail}"));
    }
    Some((name, message))
}

/// What the simulated user did wrong can quote what it was to keep.
pub(super) fn may_be_said(flag: Flag, audience: Audience) -> bool {
    audience == Audience::Full || flag.owner() != Owner::Simulator
}

fn failure(ending: Ending) -> Option<(String, String)> {
    let name = match ending {
        Ending::AgentTime => "AgentTimeoutError".to_owned(),
        Ending::Crash => "NonZeroAgentExitCodeError".to_owned(),
        Ending::ModelRefusal => "AgentSafetyRefusalError".to_owned(),
        Ending::ResourceLimit | Ending::TurnCap | Ending::AgentTokens | Ending::AgentCost => {
            ours(ending.name())
        }
        // The agent stopped by itself, or the user took the work: nothing was thrown.
        _ => return None,
    };
    Some((name, format!("failure (agent): {}", ending.name())))
}

fn unrewarded(result: &SessionResult) -> Option<(String, String)> {
    let outcome = result.completion.as_ref()?;
    let name = match outcome {
        CompletionOutcome::Rewards(_) => return None,
        CompletionOutcome::NoReward => "RewardFileNotFoundError".to_owned(),
        CompletionOutcome::BadReward(_) => "VerifierOutputParseError".to_owned(),
        CompletionOutcome::Contradictory(_) => ours("contradictory_rewards"),
        CompletionOutcome::TimedOut => "VerifierTimeoutError".to_owned(),
    };
    Some((name, format!("verifier: {}", words::completion(outcome))))
}

fn disqualified(result: &SessionResult) -> Option<(String, String)> {
    let flag = result.counting_flags().next()?;
    let detail = result.flags.iter().find(|(known, _)| *known == flag).map(|(_, detail)| detail);
    let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
    Some((ours(flag.name()), format!("failure ({}): {}{detail}", flag.owner().name(), flag.name())))
}

/// `environment_lost` is `PcbEnvironmentLostError`.
fn ours(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    });
    format!("Pcb{}Error", words.collect::<String>())
}

fn fired(entries: &[Entry], watchdog: Watchdog) -> bool {
    entries.iter().any(|entry| {
        matches!(&entry.event, Event::Observed(Observation::WatchdogFired(fired)) if *fired == watchdog)
    })
}

fn has_sandbox(entries: &[Entry]) -> bool {
    let is_ready = |entry: &Entry| matches!(entry.event, Event::Answered(_, Answer::SandboxReady));
    let is_opening = |entry: &Entry| matches!(entry.event, Event::Decided(_, Command::OpenAgent));
    entries.iter().any(is_ready) && entries.iter().any(is_opening)
}
