//! What an agent tells of its own work beside what it says: tool calls and what came of them, thoughts, plans,
//! its own count of tokens. Of one shape whatever the agent; none of it is evidence of what really happened.

use alloc::{borrow::ToOwned as _, format, string::String};

use crate::ids::{Hash, Turn};

/// A tool call by the agent's own event stream, told when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolActivity {
    /// The turn.
    pub turn: Turn,
    /// Milliseconds of the sandbox's kernel clock since its origin.
    pub at_ms: i64,
    /// The tool or command in short.
    pub title: String,
    /// The agent's own name of this call, by which [`ToolReturn`] speaks of it.
    pub call: Option<String>,
    /// What kind of tool it is, if the agent says.
    pub kind: Option<ToolKind>,
    /// What the tool was given, as the agent writes it.
    pub input: Option<Excerpt>,
}

impl ToolActivity {
    /// A use of a tool of which nothing but its title is told.
    pub fn titled(turn: Turn, at_ms: i64, title: impl Into<String>) -> Self {
        Self { turn, at_ms, title: title.into(), call: None, kind: None, input: None }
    }
}

/// What a tool does, in the words of the Agent Client Protocol, version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files or contents.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches for something.
    Search,
    /// Runs a command or code.
    Execute,
    /// Thinks or plans.
    Think,
    /// Fetches something from elsewhere.
    Fetch,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// The word that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Delete => "delete",
            ToolKind::Move => "move",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Think => "think",
            ToolKind::Fetch => "fetch",
            ToolKind::Other => "other",
        }
    }
}

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolReturn {
    /// The turn.
    pub turn: Turn,
    /// Milliseconds of the sandbox's kernel clock since its origin.
    pub at_ms: i64,
    /// The call, by the agent's own name of it.
    pub call: String,
    /// Whether the tool says that it worked.
    pub outcome: ToolOutcome,
    /// What it was given, if that was told only now.
    pub input: Option<Excerpt>,
    /// What it gave back.
    pub output: Option<Excerpt>,
    /// The exit code of its command, if it ran one and told.
    pub exit_code: Option<i32>,
}

/// How a tool call ended by the agent's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolOutcome {
    /// It worked.
    Completed,
    /// It failed, or was not allowed.
    Failed,
}

/// One entry of the plan that an agent keeps for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: PlanState,
}

/// How far an entry of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlanState {
    /// Not begun.
    Pending,
    /// Being done.
    Doing,
    /// Done.
    Done,
}

impl PlanState {
    /// The word that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            PlanState::Pending => "pending",
            PlanState::Doing => "doing",
            PlanState::Done => "done",
        }
    }
}

/// Tokens as the agent itself counts them; stands beside what was measured and never in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseClaim {
    /// The turn at whose end it was told.
    pub turn: Turn,
    /// What the figures span.
    pub span: ClaimSpan,
    /// Tokens read, as the agent counts them: some include cached ones, some do not.
    pub input: Option<u64>,
    /// Tokens read from a cache.
    pub cached: Option<u64>,
    /// Tokens written, thoughts included or not.
    pub output: Option<u64>,
    /// Tokens of thoughts.
    pub reasoning: Option<u64>,
    /// Cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
}

/// What an agent's own figures span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimSpan {
    /// The turn.
    Turn,
    /// Everything since the session began.
    Session,
    /// The last request of the turn.
    Request,
    /// Nobody knows.
    Unknown,
}

impl ClaimSpan {
    /// The words that stand in reports.
    pub fn name(self) -> &'static str {
        match self {
            ClaimSpan::Turn => "this turn",
            ClaimSpan::Session => "the session so far",
            ClaimSpan::Request => "the last request",
            ClaimSpan::Unknown => "an unknown span",
        }
    }
}

/// A text that may be long: as much of it as a log holds, and where the whole is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, or its beginning and end if it was cut.
    pub shown: String,
    /// Blob of the whole text if it was cut.
    pub whole: Option<Hash>,
    /// Bytes of the whole text.
    pub bytes: u64,
}

impl Excerpt {
    /// Bytes up to which a text stands in a log whole.
    pub const BYTES_MAX: usize = 4 << 10;

    /// A text that is not cut yet, however long it is.
    pub fn of(text: impl Into<String>) -> Self {
        let shown = text.into();
        let bytes = shown.len() as u64;
        Self { shown, whole: None, bytes }
    }

    /// Whether it is longer than a log takes.
    pub fn is_long(&self) -> bool {
        self.shown.len() > Self::BYTES_MAX
    }

    /// Its beginning and end, the whole being kept under this hash.
    #[must_use]
    pub fn cut(&self, whole: Hash) -> Self {
        if !self.is_long() {
            return Self { whole: Some(whole), ..self.clone() };
        }
        let half = Self::BYTES_MAX / 2;
        let head_end = floor(&self.shown, half);
        let tail_start = ceil(&self.shown, self.shown.len().saturating_sub(half));
        let left_out = tail_start - head_end;
        let shown = format!(
            "{}\n… {left_out} bytes …\n{}",
            &self.shown[..head_end],
            &self.shown[tail_start..]
        );
        Self { shown, whole: Some(whole), bytes: self.bytes }
    }
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The nearest place at or after `at` where a character begins.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The first line that says something, cut to a title's length.
pub fn title_of(command: &str) -> String {
    const TITLE_MAX: usize = 120;
    let line = command.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(TITLE_MAX) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn long_texts_keep_both_ends() {
        let check = |text: &str, is_long: bool| {
            let whole = Excerpt::of(text);
            assert_eq!(whole.is_long(), is_long, "{} bytes", text.len());
            if is_long {
                let cut = whole.cut(Hash::new("h"));
                assert_eq!(cut.bytes, text.len() as u64);
                assert!(cut.shown.len() <= Excerpt::BYTES_MAX + 64, "{} bytes", cut.shown.len());
                let (head, rest) = cut.shown.split_once("\n… ").expect("a mark of the cut");
                let (left_out, tail) = rest.split_once(" bytes …\n").expect("how much is left out");
                assert!(text.starts_with(head) && text.ends_with(tail));
                let kept = head.len() + tail.len();
                assert_eq!(left_out, (text.len() - kept).to_string());
            }
        };
        check("short", false);
        check(&"x".repeat(Excerpt::BYTES_MAX), false);
        check(&"x".repeat(Excerpt::BYTES_MAX + 1), true);
        check(&"é→😀".repeat(5_000), true);
    }

    #[test]
    fn titles_are_one_line() {
        assert_eq!(title_of("\n  ls -la \n cat x"), "ls -la");
        assert_eq!(title_of(""), "");
        assert_eq!(title_of(&"é".repeat(200)), "é".repeat(120) + "…");
    }
}
