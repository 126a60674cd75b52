//! The native verifier must say the same twice: what it says of one agent is compared over sessions.

use alloc::{format, vec::Vec};

use super::{Breach, CalibrationAgent, Shown, Subject};
use crate::{ids::TaskId, plan::Arm};

/// Where the verifier of a task changes its mind, or was not asked twice.
pub(super) fn unsteady(task: &TaskId, shown: &[&Shown]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let breach = |arm, agent: &CalibrationAgent, found, remedy: &str| Breach {
        subject: Subject::Task(task.clone()),
        arm,
        agent: Some(agent.clone()),
        requirement: None,
        expected: "the verifier says the same, twice at the least".into(),
        found,
        remedy: remedy.into(),
    };
    for agent in [CalibrationAgent::Oracle, CalibrationAgent::Nop] {
        let own: Vec<&&Shown> = shown.iter().filter(|one| one.agent == agent).collect();
        let said: Vec<(Arm, bool)> =
            own.iter().filter_map(|one| Some((one.arm, one.result.completed?))).collect();
        if said.len() < 2 {
            let found = match said.len() {
                0 => "it was never asked".into(),
                _ => "it was asked once".into(),
            };
            let remedy = "calibrate in one more arm, or with `--repeats 2`";
            breaches.push(breach(None, &agent, found, remedy));
        }
        // What nop leaves is the base in every arm; what the oracle leaves depends on what it was told.
        let groups: Vec<(Option<Arm>, Vec<bool>)> = match agent {
            CalibrationAgent::Nop => [(None, said.iter().map(|(_, done)| *done).collect())].into(),
            _ => Arm::ALL
                .into_iter()
                .map(|arm| {
                    let own = said.iter().filter(|(own, _)| *own == arm);
                    (Some(arm), own.map(|(_, done)| *done).collect())
                })
                .collect(),
        };
        for (arm, said) in groups {
            let completed = said.iter().filter(|done| **done).count();
            if completed > 0 && completed < said.len() {
                let found = format!("completed {completed} of {} times", said.len());
                let remedy = format!(
                    "make `tasks/{task}/tests/test.sh` depend on nothing but the files it looks at"
                );
                breaches.push(breach(arm, &agent, found, &remedy));
            }
        }
    }
    breaches
}
