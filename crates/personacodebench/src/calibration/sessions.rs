//! What the sessions of a calibration showed, read back from their logs ([`shown`]).

use std::collections::BTreeMap;

use domain::{
    calibration::Shown,
    evidence::Channel,
    plan::scored,
    release::Pair,
    result::SessionResult,
    session::{self, Entry, Event, Observation},
};
use store::reader::RunReader;

use super::runs::agent_of;
use crate::{
    attempts::{Attempt, read_failure},
    failure::Failure,
};

/// The scored attempt of every repeat of these pairs.
pub fn shown(runs: &[RunReader], pairs: &[&Pair]) -> Result<Vec<Shown>, Failure> {
    let mut all = Vec::new();
    for run in runs {
        let release = run.release().map_err(read_failure)?.release;
        let mut attempts = Vec::new();
        for found in run.attempts().map_err(read_failure)? {
            attempts.push(Attempt::read(run, &release, found)?);
        }
        for spec in &run.plan.specs {
            let Some(pair) = pairs.iter().find(|pair| pair.id == spec.pair) else { continue };
            let Some(agent) = agent_of(&run.plan, pair) else { continue };
            let own = attempts.iter().filter_map(|attempt| attempt.result.as_ref());
            let own: Vec<SessionResult> = own
                .filter(|result| result.pair == spec.pair && result.repeat == spec.repeat)
                .cloned()
                .collect();
            let Some(result) = scored(&own) else { continue };
            let attempt = attempts.iter().find(|attempt| attempt.result.as_ref() == Some(result));
            let Some(attempt) = attempt else { continue };
            // A log that does not replay has a flag that says so, and no parts.
            let replayed = session::replay(attempt.scenario.clone(), &attempt.entries);
            let session =
                replayed.unwrap_or_else(|_| session::Session::new(attempt.scenario.clone()));
            let failed = failed_commands(run, &attempt.entries);
            all.push(Shown::new(agent, &session, result.clone(), failed));
        }
    }
    Ok(all)
}

/// Command lines that a script had run and that failed, each with how. A payload that is gone says nothing.
fn failed_commands(run: &RunReader, entries: &[Entry]) -> Vec<String> {
    let mut failed = BTreeMap::new();
    for entry in entries {
        let Event::Observed(Observation::Cut { channel: Channel::Processes, blob, .. }) =
            &entry.event
        else {
            continue;
        };
        for program in run.payloads().processes(blob).unwrap_or_default() {
            let [shell, flag, command] = program.argv.as_slice() else { continue };
            let is_script = (shell.as_str(), flag.as_str()) == ("sh", "-c");
            if let Some(code) = program.exit_code.filter(|code| *code != 0 && is_script) {
                let line = command.lines().next().unwrap_or_default();
                failed.insert(program.started_ms, format!("`{line}` exited with {code}"));
            }
        }
    }
    failed.into_values().collect()
}
