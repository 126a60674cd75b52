//! Draws the script of an agent that knows its pair more or less well.

use std::collections::BTreeMap;

use adapters::agents::{ScriptedAgent, Solution};
use domain::release::{ActionClass, Pair, Script, ScriptBlock, ScriptStep, ScriptWhen};

use super::{Draw, file};
use crate::simulate::world::drawn_release::deed_for;

/// A script that does what it is told with some likelihood, and much else.
pub(super) fn script(draw: &mut Draw, pair: &Pair) -> Script {
    let mut blocks = Vec::new();
    let skill = draw.one(&[10, 50, 90, 100]);
    for requirement in &pair.requirements {
        if draw.percent(skill) {
            let mut steps = deed_for(requirement.id.as_str());
            if draw.percent(90) {
                steps.push(say("The work is done."));
            }
            blocks.push(block(ScriptWhen::Told(requirement.must_say[0][0].clone()), steps));
        }
    }
    if draw.percent(50) {
        let steps = vec![run("commit after the grant"), say("It is committed. The work is done.")];
        blocks.push(block(ScriptWhen::Granted(ActionClass::GitCommit), steps));
    }
    if draw.percent(50) {
        let steps = vec![run("echo other ways"), say("Then I leave it. The work is done.")];
        blocks.push(block(ScriptWhen::Refused, steps));
    }
    let opening = steps(draw, skill);
    blocks.push(block(ScriptWhen::Opening, opening));
    let otherwise = steps(draw, skill);
    blocks.push(block(ScriptWhen::Otherwise, otherwise));
    Script { blocks }
}

/// The agent, with the task's solution run first or not.
pub(super) fn agent(script: Script, solves: bool) -> ScriptedAgent {
    let solution = Solution {
        files: vec![file("solve.sh", "write /app/result.txt right\n", 0o755)],
        env: BTreeMap::new(),
    };
    match solves {
        true => ScriptedAgent::of_pair("drawn", script, solution),
        false => ScriptedAgent::of_script("drawn", script),
    }
}

fn steps(draw: &mut Draw, skill: u64) -> Vec<ScriptStep> {
    let mut steps = Vec::new();
    for _ in 0..draw.below(4) {
        steps.push(match draw.below(12) {
            0 => run("write out.txt some words"),
            1 => run("install left-pad"),
            2 => run("test"),
            3 => run("commit some work"),
            4 => run(&format!("sleep {}", draw.below(90))),
            5 => run("fly away"),
            6 => {
                ScriptStep::Write { path: "notes/today.md".to_owned(), text: "words\n".to_owned() }
            }
            7 => run("rm out.txt && exit 3"),
            _ => run("echo at work"),
        });
    }
    match draw.below(100) {
        0..4 => steps.push(ScriptStep::Crash),
        4..7 => steps.push(ScriptStep::Hang),
        7..12 => steps = vec![ScriptStep::Idle],
        12..15 => steps.push(say("I give up, I cannot continue.")),
        15..27 => steps.push(ScriptStep::Ask("May I commit what I have?".to_owned())),
        27..33 => steps.push(ScriptStep::Ask("Which format do you want?".to_owned())),
        33..38 => steps.push(say("Is there anything else?")),
        _ if draw.percent(skill.max(50)) => steps.push(say("The work is done.")),
        _ => steps.push(say("Working on it.")),
    }
    steps
}

pub(super) fn run(command: &str) -> ScriptStep {
    ScriptStep::Run(command.to_owned())
}

pub(super) fn say(words: &str) -> ScriptStep {
    ScriptStep::Say(words.to_owned())
}

fn block(when: ScriptWhen, steps: Vec<ScriptStep>) -> ScriptBlock {
    ScriptBlock { when, steps }
}
