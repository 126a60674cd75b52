//! What stands in the `README.md` of an exported job: how it is to be read, and where Harbor's figures are not ours.

use std::fmt::Write as _;

use store::harbor::job::JobResult;

use super::{Audience, JobFacts};

/// The text.
pub(super) fn readme(facts: &JobFacts, result: &JobResult) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = write_readme(&mut text, facts, result);
    text
}

fn write_readme(text: &mut String, facts: &JobFacts, result: &JobResult) -> std::fmt::Result {
    writeln!(text, "# {} on {} {}\n", facts.configuration, facts.release, facts.release_version)?;
    writeln!(
        text,
        "A run of PersonaCodeBench (`{}`, arm {}), written as a Harbor job by `pcb export harbor`. `harbor view` on the \
         folder above this one opens it. It is a report: `harbor job resume` on it would delete what has no result, and \
         cannot run these sessions.\n",
        facts.run, facts.arm
    )?;
    if facts.audience == Audience::Public {
        writeln!(
            text,
            "This is a public export: the text of requirements that were never told to the agent is left out.\n"
        )?;
    }
    writeln!(text, "## Our figures\n")?;
    writeln!(text, "The denominator is the list of assigned repeats: {}.\n", facts.assigned)?;
    writeln!(text, "| Class | Repeats |\n|---|---|")?;
    for class in facts.census.iter().filter(|class| class.count > 0) {
        writeln!(text, "| {} | {} |", class.class, class.count)?;
    }
    writeln!(text, "\nCompleted: {}.", facts.completed)?;
    if let (Some(personalized), Some(joint)) = (facts.personalized, facts.joint) {
        let fields = facts.two_by_two;
        writeln!(
            text,
            "Personalized: {personalized}. Joint passes: {joint}. Of the graded sessions {} were both, {} completed only, {} \
             personalized only, {} neither.",
            fields.both, fields.completed_only, fields.personalized_only, fields.neither
        )?;
    }
    write_differences(text, facts, result)
}

fn write_differences(text: &mut String, facts: &JobFacts, result: &JobResult) -> std::fmt::Result {
    let stats = &result.stats;
    writeln!(text, "\n## How Harbor's figures differ\n")?;
    writeln!(
        text,
        "- A reward is completion alone. Whether the person was respected, and the joint pass, stand in `extra.pcb` of each \
         `agent/trajectory.json` and in `pcb.json`.\n\
         - Harbor's means are over the trials that have a result ({} of {}). What never ran ({}) or still runs ({}) has no \
         result there; with us it is in the denominator.\n\
         - A repeat that was run again after a fault has a folder for each attempt. `result.json` of the job counts only the \
         scored one, and the others as retries ({}); the tables of Harbor's viewer go by folder and count them all.\n\
         - A session that is lost by a fault, or disqualified, has no reward in its `result.json`, which Harbor counts as 0. \
         What its verifier gave stands in `verifier/reward.json`.\n\
         - What Harbor calls a task is a pair here: a persona on a task.\n\
         - An exception is a fault (the world's, not the agent's), a failure (the agent's, scored) or a verifier without a \
         reward; its message says which. Types that begin with `Pcb` are ours.\n\
         - Times are to the second of the session's start; within it they are to the millisecond.",
        stats.n_completed_trials,
        result.n_total_trials,
        stats.n_pending_trials,
        stats.n_running_trials,
        stats.n_retries
    )?;
    let open: Vec<_> = facts
        .repeats
        .iter()
        .filter_map(|repeat| {
            let trial = repeat.trials.iter().find(|trial| trial.without_result.is_some())?;
            Some((repeat, trial.without_result.as_deref()?))
        })
        .collect();
    if !open.is_empty() {
        writeln!(text, "\n## Without a result\n")?;
        for (repeat, why) in open {
            writeln!(text, "- {}, repeat {}: {why}", repeat.pair, repeat.repeat)?;
        }
    }
    Ok(())
}
