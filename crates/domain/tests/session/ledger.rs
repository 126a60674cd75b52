//! Small ledgers, all of them: on every path on which the agent lives, speaks and has budget left,
//! everything is told.

use domain::{acceptance::Truth, fault::Ending};

use super::{
    player::{AgentTurn, Player},
    setting::setting,
};

const WHENS: [&str; 4] = ["asked", "handoff", "after:9", "holds:s9"];
/// A requirement that the agent always meets, one that it never does, and one that it breaks for
/// ever.
const PASSES: [&str; 3] = ["at_end:s1", "at_end:s0", "never:e1"];

/// What an agent does in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    /// Hands over, asks nothing.
    Hand,
    /// Asks something that nobody knows.
    Ask,
    /// Claims to be done and asks all the same.
    Both,
}

/// Plays the moves and then hands over for ever; returns how many messages the user needed.
fn messages(scenario: &str, moves: &[Move]) -> u32 {
    let mut player = Player::new(setting(scenario));
    player.world.states.insert("s1".into(), Truth::True);
    let mut number = 0;
    while let Some(prompt) = player.run_to_prompt() {
        let text = match moves.get(number).unwrap_or(&Move::Hand) {
            Move::Hand => format!("This is report {number}."),
            Move::Ask => format!("Where does the wind number {number} come from today?"),
            Move::Both => format!("All done. Where does wind number {number} come from today?"),
        };
        number += 1;
        player.world.events.entry("e1".into()).or_default().push(player.session.turn());
        player.turn(prompt, &AgentTurn { text, ..AgentTurn::default() });
    }
    let ending = player.ending();
    assert!(ending.is_some_and(Ending::is_normal), "{scenario}\n{moves:?}: {ending:?}");
    assert!(player.session.ledger().all_told(), "{scenario}\n{moves:?}");
    player.session.turn().0
}

fn ledgers(count: usize, whens: &[&str], passes: &[&str]) -> Vec<String> {
    let mut all = vec![String::new()];
    for name in ["a", "b", "c"].iter().take(count) {
        let mut longer = vec![];
        for lines in &all {
            for when in whens {
                for pass in passes {
                    longer.push(format!("{lines}need {name} when={when} pass={pass}\n"));
                }
            }
        }
        all = longer;
    }
    all
}

/// At most one message for the opening, one for each requirement and one for each refusal.
fn check_all(count: usize, whens: &[&str], passes: &[&str]) {
    for ledger in ledgers(count, whens, passes) {
        for refusals in 0..3 {
            for tells in 1..3 {
                let scenario = format!("refusals {refusals}\ntells {tells}\n{ledger}");
                let needed = messages(&scenario, &[]);
                let most = 1 + count as u32 + refusals;
                assert!(needed <= most, "{needed} messages, {most} at the most\n{scenario}");
            }
        }
    }
}

#[test]
fn one_or_two_requirements_and_an_agent_that_asks_nothing() {
    check_all(1, &WHENS, &PASSES);
    check_all(2, &WHENS, &PASSES);
}

#[test]
fn three_requirements_and_an_agent_that_asks_nothing() {
    check_all(3, &WHENS[..2], &PASSES[..2]);
    check_all(3, &WHENS[2..], &PASSES[1..]);
}

#[test]
fn every_short_path() {
    let moves = [Move::Hand, Move::Ask, Move::Both];
    let mut paths: Vec<Vec<Move>> = vec![vec![]];
    for _ in 0..3 {
        paths = paths
            .iter()
            .flat_map(|path| moves.map(|next| [path.as_slice(), &[next]].concat()))
            .collect();
    }
    for ledger in ledgers(2, &["asked", "after:2"], &PASSES[1..]) {
        for path in &paths {
            messages(&format!("refusals 1\n{ledger}"), path);
        }
    }
}
