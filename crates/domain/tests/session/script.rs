//! Scripts of whole sessions: what the agent does, what the user must say to it, how it must end.
//!
//! ```text
//! user: open tell(a)            the acts of the next message
//! agent [idle s1=yes e1]: text  a turn of the agent
//! answers: yes no               what its permission requests were answered
//! leaves: reward=1 b=0; bad     what the verifiers will leave, in order
//! reads: s1 e1                  the checks read after it
//! ends: accepted                how the session ends, graded or not
//! ```
//!
//! Marks of a turn: `idle` (uses no tool), `changes`, `s…=yes|no|missing` (from now on), `e…` (an
//! occurrence in it), `stop=crashed|refused|deadline|limit|interrupted`, `ms=…`, `tokens=…`,
//! `may=class` or `may=class:subject` (a request inside the turn), `undelivered`.

use domain::{
    acceptance::Truth,
    evidence::Missing,
    fault::Ending,
    ids::CommandId,
    release::ActionClass,
    session::{CompletionOutcome, TurnStop},
};

use super::{
    player::{AgentTurn, Player, acts},
    setting::setting,
};

/// Plays the script in the setting; every line of it must come true, and the log must replay.
pub fn check(scenario: &str, script: &str) -> Player {
    let mut play = Play { player: Player::new(setting(scenario)), prompt: None, allowed: vec![] };
    play.player.reads.clear();
    play.prompt = play.player.run_to_prompt();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        play.line(line);
    }
    play.player.check_replay();
    play.player
}

struct Play {
    player: Player,
    /// The prompt that waits for the agent's turn.
    prompt: Option<CommandId>,
    allowed: Vec<bool>,
}

impl Play {
    fn line(&mut self, line: &str) {
        let (head, rest) = line.split_once(':').expect("a colon");
        let rest = rest.trim();
        let word = head.split_whitespace().next().expect("a word");
        match word {
            "user" => {
                let plan = self.player.session.plan();
                let said =
                    plan.map_or_else(|| format!("nothing: {:?}", self.player.ending()), acts);
                assert_eq!(said, rest, "what the user says");
            }
            "agent" => {
                let turn = self.agent_turn(line);
                let prompt = self.prompt.take().expect("a message was delivered");
                self.player.reads.clear();
                self.allowed = self.player.turn(prompt, &turn);
                self.prompt = self.player.run_to_prompt();
            }
            "answers" => {
                let allowed = self.allowed.iter().map(|allow| if *allow { "yes" } else { "no" });
                assert_eq!(allowed.collect::<Vec<_>>().join(" "), rest, "answers to requests");
            }
            "reads" => {
                let first = self.player.reads.first().cloned().unwrap_or_default();
                let names: Vec<&str> = first.iter().map(|check| check.as_str()).collect();
                assert_eq!(names.join(" "), rest, "checks read");
            }
            "leaves" => {
                let outcomes = rest.split(';').map(|outcome| left(outcome.trim()));
                self.player.world.step_outcomes.extend(outcomes);
            }
            "ends" => {
                let ending = self.player.ending().map(Ending::name);
                assert_eq!(ending, Some(rest), "how it ends");
            }
            other => panic!("no line {other} in a script"),
        }
    }

    /// `agent [marks]: text`; the text may hold colons.
    fn agent_turn(&mut self, line: &str) -> AgentTurn {
        let (marks, text) = match line.strip_prefix("agent [") {
            Some(rest) => rest.split_once("]:").expect("marks end"),
            None => ("", line.strip_prefix("agent:").expect("a colon")),
        };
        let mut turn = AgentTurn { text: text.trim().to_string(), ..AgentTurn::default() };
        let now = self.player.session.turn();
        for mark in marks.split_whitespace() {
            let (key, value) = mark.split_once('=').unwrap_or((mark, ""));
            match key {
                "idle" => turn.acts = false,
                "changes" => turn.changes = 1,
                "undelivered" => turn.is_delivered = false,
                "ms" => turn.agent_ms = value.parse().expect("a number"),
                "tokens" => turn.tokens = value.parse().ok(),
                "stop" => turn.stop = stop(value),
                "may" => {
                    let (name, subject) = value
                        .split_once(':')
                        .map_or((value, None), |(a, b)| (a, Some(b.to_string())));
                    let class = ActionClass::ALL.into_iter().find(|class| class.name() == name);
                    turn.requests.push((class.expect("a class"), subject));
                }
                state if state.starts_with('s') => {
                    let truth = match value {
                        "yes" => Truth::True,
                        "no" => Truth::False,
                        _ => Truth::Unknown(Missing::ChannelMissing),
                    };
                    self.player.world.states.insert(state.to_string(), truth);
                }
                event if event.starts_with('e') => {
                    self.player.world.events.entry(event.to_string()).or_default().push(now);
                }
                other => panic!("no mark {other}"),
            }
        }
        turn
    }
}

/// `key=value …`, or a word for what is no reward.
pub fn left(text: &str) -> CompletionOutcome {
    match text {
        "no-reward" => CompletionOutcome::NoReward,
        "bad" => CompletionOutcome::BadReward("it says so".into()),
        "timed-out" => CompletionOutcome::TimedOut,
        rewards => {
            let rewards = rewards.split_whitespace().map(|pair| {
                let (key, value) = pair.split_once('=').expect("a key and a value");
                (key.to_string(), value.parse().expect("a number"))
            });
            CompletionOutcome::Rewards(rewards.collect())
        }
    }
}

fn stop(name: &str) -> TurnStop {
    match name {
        "crashed" => TurnStop::Crashed,
        "refused" => TurnStop::Refused,
        "deadline" => TurnStop::DeadlinePassed,
        "limit" => TurnStop::LimitBreached,
        "interrupted" => TurnStop::Interrupted,
        other => panic!("no stop {other}"),
    }
}
