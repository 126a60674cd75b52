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
    let named = fault(result, entries, audience)
        .or_else(|| failure(result.ending))
        .or_else(|| without_reward(result.completion.as_ref()?))
        .or_else(|| disqualified(result))?;
    Some(info(named, at))
}

/// What a verifier that left no reward is called.
pub(super) fn unrewarded(outcome: &CompletionOutcome, at: String) -> Option<ExceptionInfo> {
    Some(info(without_reward(outcome)?, at))
}

fn info(
    (exception_type, exception_message): (String, String),
    occurred_at: String,
) -> ExceptionInfo {
    ExceptionInfo {
        exception_type,
        exception_message,
        exception_traceback: String::new(),
        occurred_at,
    }
}

fn fault(
    result: &SessionResult,
    entries: &[Entry],
    audience: Audience,
) -> Option<(String, String)> {
    let counting: Vec<Flag> =
        result.counting_flags().filter(|flag| flag.owner() != Owner::Agent).collect();
    // A log that is not to be trusted does not tell how its session ended.
    let first = [Some(Flag::ReplayMismatch), result.ending.flag()].into_iter().flatten();
    let mut first = first.filter(|flag| counting.contains(flag));
    let flag = first.next().or_else(|| counting.first().copied())?;
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

fn without_reward(outcome: &CompletionOutcome) -> Option<(String, String)> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::{
        ids::{Attempt, CommandId, FamilyId, PairId, PersonaId, Repeat, SuiteId},
        result::{Class, Load},
    };

    use super::*;

    fn result(
        ending: Ending,
        flags: &[(Flag, &str)],
        completion: Option<CompletionOutcome>,
    ) -> SessionResult {
        SessionResult {
            pair: PairId::new("pair"),
            suite: SuiteId::new("suite"),
            persona: PersonaId::new("persona"),
            family: FamilyId::new("family"),
            repeat: Repeat(1),
            attempt: Attempt(1),
            ending,
            flags: flags.iter().map(|(flag, detail)| (*flag, (*detail).to_owned())).collect(),
            completion,
            steps: Vec::new(),
            survivors: None,
            completed: None,
            personalized: None,
            within_budget: true,
            valid: flags.is_empty(),
            joint: None,
            class: Class::Neither,
            requirements: Vec::new(),
            load: Load::default(),
        }
    }

    fn told(result: &SessionResult, entries: &[Entry], audience: Audience) -> Option<String> {
        let told = exception(result, entries, "2026-11-30T14:53:07Z".to_owned(), audience)?;
        Some(format!("{}: {}", told.exception_type, told.exception_message))
    }

    #[test]
    fn exceptions_have_the_names_that_fit() {
        use CompletionOutcome::{BadReward, Contradictory, NoReward, Rewards, TimedOut};
        let rewards = || Some(Rewards(vec![("reward".to_owned(), 1.0)]));
        let check = |ending, flags: &[(Flag, &str)], completion, expect: Option<&str>| {
            let result = result(ending, flags, completion);
            assert_eq!(told(&result, &[], Audience::Full).as_deref(), expect);
        };
        check(Ending::Accepted, &[], rewards(), None);
        check(Ending::Quit, &[], rewards(), None);
        check(
            Ending::AgentTime,
            &[],
            rewards(),
            Some("AgentTimeoutError: failure (agent): agent_time"),
        );
        check(
            Ending::AgentTime,
            &[(Flag::VerificationIncomplete, "no disk")],
            None,
            Some("PcbVerificationIncompleteError: fault (infra): verification_incomplete: no disk"),
        );
        check(
            Ending::ProviderError,
            &[(Flag::ProviderError, "503"), (Flag::CpuStarved, "12 %")],
            None,
            Some("ApiError: fault (infra): provider_error: 503"),
        );
        check(
            Ending::Lost,
            &[(Flag::ReplayMismatch, "line 4"), (Flag::Lost, "gone")],
            None,
            Some("PcbReplayMismatchError: fault (harness): replay_mismatch: line 4"),
        );
        check(
            Ending::Accepted,
            &[(Flag::VerifierToolsChanged, "python3")],
            rewards(),
            Some("PcbVerifierToolsChangedError: failure (agent): verifier_tools_changed: python3"),
        );
        let unrewarded = [
            (NoReward, "RewardFileNotFoundError: verifier: no reward file"),
            (BadReward("x".to_owned()), "VerifierOutputParseError: verifier: bad reward file: x"),
            (
                Contradictory("x".to_owned()),
                "PcbContradictoryRewardsError: verifier: contradictory rewards: x",
            ),
            (TimedOut, "VerifierTimeoutError: verifier: the verifier ran out of time"),
        ];
        for (outcome, expect) in unrewarded {
            check(Ending::Accepted, &[], Some(outcome), Some(expect));
        }
    }

    #[test]
    fn preparation_that_takes_too_long_is_told_by_its_phase() {
        let fired = Event::Observed(Observation::WatchdogFired(Watchdog::Preparation));
        let (ready, id) = (Answer::SandboxReady, CommandId(1));
        let with_sandbox = [
            Event::Answered(id, ready),
            Event::Decided(CommandId(2), Command::OpenAgent),
            fired.clone(),
        ];
        let cases: [(&[Event], &str); 3] = [
            (&[], "PcbPreparationFailedError"),
            (&[fired], "EnvironmentStartTimeoutError"),
            (&with_sandbox, "AgentSetupTimeoutError"),
        ];
        for (events, expect) in cases {
            let entries: Vec<Entry> = (1..)
                .zip(events)
                .map(|(seq, event)| Entry { seq, elapsed_ms: 0, event: event.clone() })
                .collect();
            let result =
                result(Ending::PreparationFailed, &[(Flag::PreparationFailed, "late")], None);
            let told = told(&result, &entries, Audience::Full).unwrap_or_default();
            assert!(told.starts_with(&format!("{expect}: fault (infra)")), "{told}");
        }
    }

    #[test]
    fn no_fault_has_the_name_of_a_failure() {
        let mut names: [BTreeSet<String>; 2] = Default::default();
        for ending in Ending::ALL {
            let flags: Vec<(Flag, &str)> =
                ending.flag().map(|flag| (flag, "")).into_iter().collect();
            let Some(told) = told(&result(ending, &flags, None), &[], Audience::Full) else {
                assert!(ending.is_graded(), "{} is a fault that is not told", ending.name());
                continue;
            };
            let name = told.split(':').next().unwrap_or_default().to_owned();
            assert!(told.contains("failure (agent)") == ending.is_graded(), "{told}");
            assert!(names[usize::from(ending.is_graded())].insert(name), "{told} stands for two");
        }
        let [faults, failures] = names;
        assert!(faults.is_disjoint(&failures), "{faults:?} {failures:?}");
        assert!(faults.len() > 8 && failures.len() > 5);
    }

    #[test]
    fn what_the_user_let_slip_is_not_told_to_everybody() {
        let result = result(Ending::Accepted, &[(Flag::DisclosureLeak, "said USAGE")], None);
        for (audience, is_told) in [(Audience::Full, true), (Audience::Public, false)] {
            let told = told(&result, &[], audience).unwrap_or_default();
            assert!(told.starts_with("PcbDisclosureLeakError: fault (simulator)"), "{told}");
            assert_eq!(told.contains("USAGE"), is_told, "{told}");
        }
    }
}
