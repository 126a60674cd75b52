//! What the sessions of a calibration showed, read back from their logs ([`shown`]).

use domain::{calibration::Shown, plan::scored, release::Pair, result::SessionResult, session};
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
            all.push(Shown::new(agent, &session, result.clone()));
        }
    }
    Ok(all)
}
