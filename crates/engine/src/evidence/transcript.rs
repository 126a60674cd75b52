//! What was said, with the moments at the source: [`Transcript`] tells the message of a turn from narration.

use domain::{
    evidence::{AgentMessage, Permission, UserWords},
    ids::Turn,
    session::Observation,
    wording::SESSION_NOTE,
};

/// The transcript of a session so far (E5).
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) agent: Vec<AgentMessage>,
    pub(super) user: Vec<UserWords>,
    pub(super) permissions: Vec<Permission>,
    pub(super) tokens: Option<u64>,
    prompted: Option<(Turn, String)>,
    acted: bool,
}

impl Transcript {
    /// A message is about to be delivered.
    pub(super) fn prompted(&mut self, turn: Turn, message: &str) {
        let words = message.strip_prefix(SESSION_NOTE).map_or(message, str::trim_start);
        self.prompted = Some((turn, words.to_owned()));
    }

    /// Takes in what concerns it.
    pub(super) fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::Delivered { turn, at_ms } => {
                if let Some((prompted, text)) = self.prompted.take() {
                    debug_assert_eq!(prompted, *turn, "one message is open at a time");
                    self.user.push(UserWords { turn: *turn, delivered_ms: *at_ms, text });
                }
            }
            Observation::AgentSaid { turn, at_ms, text } => self.agent.push(AgentMessage {
                turn: *turn,
                at_ms: *at_ms,
                text: text.clone(),
                is_turn_message: true,
            }),
            Observation::AgentActed(activity) => {
                self.acted = true;
                self.narrated(activity.turn, i64::MAX);
            }
            Observation::PermissionRequested(permission) => {
                self.permissions.push(permission.clone());
            }
            Observation::Used { tokens: Some(tokens), .. } => {
                self.tokens = Some(self.tokens.unwrap_or(0).saturating_add(*tokens));
            }
            _ => {}
        }
    }

    /// What the agent said in a turn of an earlier record, told from narration already.
    pub(super) fn told(&mut self, turn: Turn, messages: Vec<AgentMessage>) {
        self.agent.retain(|message| message.turn != turn);
        self.agent.extend(messages);
    }

    /// A turn has ended; its last program was started at this moment. A driver that tells of tool use is the
    /// better witness: a program that some earlier one starts late does not turn a message into narration.
    pub(super) fn turn_ended(&mut self, turn: Turn, last_start_ms: Option<i64>) {
        if let (false, Some(last_ms)) = (self.acted, last_start_ms) {
            self.narrated(turn, last_ms);
        }
    }

    /// What was said up to this moment of a turn was narration.
    fn narrated(&mut self, turn: Turn, until_ms: i64) {
        for message in self.agent.iter_mut().filter(|m| m.turn == turn && m.at_ms <= until_ms) {
            message.is_turn_message = false;
        }
    }
}
