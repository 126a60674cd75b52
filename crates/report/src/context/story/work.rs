//! The agent's own account of its work in a turn ([`WorkStory`]): tool calls with what came of them, thoughts, its
//! plan, its count of tokens. What was seen to run and change stands beside it.

use domain::session::{
    Excerpt, Observation, PlanEntry, ToolActivity, ToolKind, ToolOutcome, ToolReturn, UseClaim,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::StorySources;

/// Calls and thoughts of a turn that are told; the rest is counted.
const TOLD_MAX: usize = 200;

/// An agent's account of its work in one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkStory {
    /// Tool calls and thoughts, in order.
    pub told: Vec<ToldWork>,
    /// How many more.
    pub told_more: usize,
    /// Its plan as it was at last.
    pub plan: Vec<PlanLine>,
    /// What it says it used, in words.
    pub claims: Vec<String>,
}

/// A piece of an agent's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToldWork {
    /// It called a tool.
    Tool(ToolStory),
    /// It thought aloud.
    Thought(TextStory),
}

/// A tool call by the agent's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolStory {
    /// The tool or command in short.
    pub title: String,
    /// Read, edit, execute and so on, if it says.
    pub kind: Option<String>,
    /// What it was given.
    pub input: Option<TextStory>,
    /// Completed or failed; absent if it never came back.
    pub outcome: Option<String>,
    /// What it gave back.
    pub output: Option<TextStory>,
    /// The exit code that it told.
    pub exit_code: Option<i32>,
    /// The agent's own name of the call.
    #[serde(skip)]
    call: Option<String>,
}

/// A text that may be cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TextStory {
    /// The text, or its beginning and end.
    pub text: String,
    /// Where the whole lies, as a path within the run's folder, if it was cut.
    pub place: Option<String>,
}

/// One entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanLine {
    /// Pending, doing or done.
    pub state: String,
    /// What is to be done.
    pub text: String,
}

impl WorkStory {
    /// Whether the agent told of nothing.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty() && self.plan.is_empty() && self.claims.is_empty()
    }

    /// Tool calls in all, those that are not told included as far as they are counted.
    pub fn tools(&self) -> impl Iterator<Item = &ToolStory> {
        self.told.iter().filter_map(|told| match told {
            ToldWork::Tool(tool) => Some(tool),
            ToldWork::Thought(_) => None,
        })
    }

    /// Takes in an observation; whether it was one of these.
    pub(super) fn take(&mut self, seen: &Observation, sources: &StorySources<'_>) -> bool {
        match seen {
            Observation::AgentActed(activity) => {
                self.add(ToldWork::Tool(called(activity, sources)));
            }
            Observation::ToolReturned(result) => self.returned(result, sources),
            Observation::AgentThought { text, .. } => {
                self.add(ToldWork::Thought(told(text, sources)));
            }
            Observation::AgentPlanned { entries, .. } => {
                self.plan = entries.iter().map(planned).collect();
            }
            Observation::UseClaimed(claim) => self.claims.push(claimed(claim)),
            _ => return false,
        }
        true
    }

    fn add(&mut self, told: ToldWork) {
        match self.told.len() < TOLD_MAX {
            true => self.told.push(told),
            false => self.told_more += 1,
        }
    }

    fn returned(&mut self, result: &ToolReturn, sources: &StorySources<'_>) {
        let tools = self.told.iter_mut().rev().filter_map(|told| match told {
            ToldWork::Tool(tool) => Some(tool),
            ToldWork::Thought(_) => None,
        });
        let mut of_call = tools.filter(|tool| tool.call.as_ref() == Some(&result.call));
        let Some(tool) = of_call.next() else { return };
        let outcome = match result.outcome {
            ToolOutcome::Completed => "completed",
            ToolOutcome::Failed => "failed",
        };
        tool.outcome = Some(outcome.to_owned());
        tool.exit_code = result.exit_code;
        tool.output = result.output.as_ref().map(|text| told(text, sources));
        if let Some(input) = &result.input {
            tool.input = Some(told(input, sources));
        }
    }
}

fn called(activity: &ToolActivity, sources: &StorySources<'_>) -> ToolStory {
    ToolStory {
        title: activity.title.clone(),
        kind: activity.kind.map(ToolKind::name).map(str::to_owned),
        input: activity.input.as_ref().map(|text| told(text, sources)),
        outcome: None,
        output: None,
        exit_code: None,
        call: activity.call.clone(),
    }
}

fn told(text: &Excerpt, sources: &StorySources<'_>) -> TextStory {
    let place = text.whole.as_ref().and_then(|hash| sources.payloads.place(hash));
    TextStory { text: text.shown.clone(), place }
}

fn planned(entry: &PlanEntry) -> PlanLine {
    PlanLine { state: entry.state.name().to_owned(), text: entry.text.clone() }
}

/// The figures that an agent tells, with what they span.
fn claimed(claim: &UseClaim) -> String {
    let counted = [
        (claim.input, "in"),
        (claim.cached, "cached"),
        (claim.output, "out"),
        (claim.reasoning, "of thoughts"),
    ];
    let counted =
        counted.into_iter().filter_map(|(count, what)| Some(format!("{} {what}", count?)));
    let cost = claim.cost_microusd.map(|cost| format!("{:.4} US$", cost as f64 / 1e6));
    let parts: Vec<String> = counted.chain(cost).collect();
    let figures = match parts.is_empty() {
        true => "nothing".to_owned(),
        false => parts.join(", "),
    };
    format!("{figures} ({})", claim.span.name())
}
