//! The note before the first message of every session, the same bytes in every arm ([`SESSION_NOTE`]).

/// Tells the agent how to reach the user; it lists no rule and no limit.
pub const SESSION_NOTE: &str =
    "Note: the user reads your message when you end your turn, and answers then.";
