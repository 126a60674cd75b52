//! The steps of a conversation ([`steps`]): a user step for each message that reached the agent, agent steps for what it
//! said and the tools that it told of. Nothing is told that the log does not hold.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    controller::{SpeechAct, TurnPlan},
    ids::Turn,
    session::{
        Answer, Command, Event, Excerpt, Observation, Session, ToolActivity, ToolReturn, Wordsmith,
    },
};
use serde_json::{Value, json};
use store::{
    harbor::job::{Extra, Metrics, Source, Step, ToolCall, ToolResult, ToolResults},
    utc,
};

use super::{
    ActExtra, Audience, ChangedPath, MessageExtra, RequirementMoment, StepExtra, TurnEndExtra,
    exception::may_be_said,
};
use crate::context::{
    model_use::UseSum,
    story::{EventStory, ReadingStory, StoryContext, StorySources, TurnStory},
    words,
};

/// What steps are told from.
pub(super) struct Telling<'a> {
    pub(super) sources: &'a StorySources<'a>,
    pub(super) story: &'a StoryContext,
    pub(super) session: &'a Session,
    pub(super) audience: Audience,
    /// Checks that a public export says nothing of.
    pub(super) withheld: &'a BTreeSet<String>,
}

/// Tells the session step by step; at least one step comes out.
pub(super) fn steps(telling: &Telling<'_>) -> Result<Vec<Step>, serde_json::Error> {
    let mut script = Script {
        telling,
        steps: Vec::new(),
        work: None,
        turn: None,
        plan: None,
        worded_by: None,
        used: Used::default(),
    };
    for (at, entry) in telling.sources.entries.iter().enumerate() {
        script.take(at, &entry.event)?;
    }
    script.end_turn()?;
    if script.steps.is_empty() {
        let message = format!("No message reached the agent: {}.", telling.story.ending);
        script.push(Source::System, None, Words::of(message), StepExtra::default())?;
    }
    Ok(script.steps)
}

/// Steps while they grow.
struct Script<'a> {
    telling: &'a Telling<'a>,
    steps: Vec<Step>,
    /// The agent's step that is being told.
    work: Option<Work>,
    /// The turn that was opened last, as the story tells it.
    turn: Option<&'a TurnStory>,
    plan: Option<&'a TurnPlan>,
    worded_by: Option<Wordsmith>,
    used: Used,
}

/// What the agent thought and said, and the tools that it used after that.
#[derive(Default)]
struct Work {
    at: usize,
    thoughts: String,
    message: String,
    calls: Vec<ToolCall>,
    /// The agent's own names of the calls, with their ids.
    names: BTreeMap<String, String>,
    results: Vec<ToolResult>,
}

/// What a step holds of its own.
#[derive(Default)]
struct Words {
    message: String,
    thoughts: Option<String>,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    metrics: Option<Metrics>,
}

impl Words {
    fn of(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// Use reported in a turn.
#[derive(Default)]
struct Used {
    reports: u32,
    tokens: u64,
    cost_microusd: u64,
    unpriced: u32,
}

impl<'a> Script<'a> {
    fn take(&mut self, at: usize, event: &'a Event) -> Result<(), serde_json::Error> {
        match event {
            Event::Decided(_, Command::Word { plan, .. }) => self.plan = Some(plan),
            Event::Answered(_, Answer::Worded { by, .. }) => self.worded_by = Some(*by),
            Event::Decided(_, Command::Prompt { turn, message, .. }) => {
                self.end_turn()?;
                let turns = &self.telling.story.turns;
                self.turn = turns.iter().find(|told| told.turn == turn.0);
                self.open_turn(at, *turn, message)?;
            }
            Event::Observed(Observation::AgentSaid { text, .. }) => {
                if self.work.as_ref().is_some_and(|work| !work.calls.is_empty()) {
                    self.end_work(None)?;
                }
                let message = &mut self.work_at(at).message;
                if !message.is_empty() && !text.is_empty() {
                    message.push('\n');
                }
                message.push_str(text);
            }
            Event::Observed(Observation::AgentThought { text, .. }) => {
                if self.work.as_ref().is_some_and(|work| !work.calls.is_empty()) {
                    self.end_work(None)?;
                }
                let thoughts = &mut self.work_at(at).thoughts;
                if !thoughts.is_empty() {
                    thoughts.push('\n');
                }
                thoughts.push_str(&text.shown);
            }
            Event::Observed(Observation::AgentActed(activity)) => {
                let call_id = format!("call-{}", self.telling.sources.entries[at].seq);
                let call = tool_call(&call_id, activity);
                let work = self.work_at(at);
                work.calls.push(call);
                work.names.extend(activity.call.clone().map(|name| (name, call_id)));
            }
            Event::Observed(Observation::ToolReturned(result)) => self.tool_returned(result),
            Event::Observed(Observation::Used { tokens, cost_microusd }) => {
                self.used.reports += 1;
                self.used.tokens += tokens.unwrap_or(0);
                self.used.cost_microusd += cost_microusd.unwrap_or(0);
                self.used.unpriced += u32::from(cost_microusd.is_none());
            }
            Event::Answered(_, Answer::TurnEnded { .. }) => {
                // A turn in which nothing was said has a step all the same: it tells what came of it.
                self.work_at(at);
            }
            _ => {}
        }
        Ok(())
    }

    fn work_at(&mut self, at: usize) -> &mut Work {
        self.work.get_or_insert_with(|| Work { at, ..Work::default() })
    }

    /// A result stands in the step of its call; one that comes after that step was told is left to the log.
    fn tool_returned(&mut self, result: &ToolReturn) {
        let Some(work) = &mut self.work else { return };
        let Some(call_id) = work.names.get(&result.call) else { return };
        if let (Some(input), Some(call)) =
            (&result.input, work.calls.iter_mut().find(|call| call.tool_call_id == *call_id))
        {
            (call.arguments, call.extra) = arguments(Some(input));
        }
        work.results.push(ToolResult {
            source_call_id: call_id.clone(),
            content: result.output.as_ref().map_or(String::new(), |output| output.shown.clone()),
        });
    }

    /// A message that never reached the agent is no step of the user.
    fn open_turn(&mut self, at: usize, turn: Turn, message: &str) -> Result<(), serde_json::Error> {
        let delivered = self.is_delivered(turn);
        let plan = self.plan.take();
        let tells = plan.is_some_and(|plan| plan.delivers().next().is_some());
        let is_withheld = self.telling.audience == Audience::Public && tells;
        let message_extra = MessageExtra {
            delivered,
            worded_by: self.worded_by.take().map(|by| wordsmith(by).to_owned()),
            acts: plan.iter().flat_map(|plan| &plan.acts).map(act).collect(),
            granted: self.turn.map_or_else(Vec::new, |told| told.granted.clone()),
            undelivered_text: (!delivered && !is_withheld).then(|| message.to_owned()),
        };
        let extra = StepExtra {
            turn: turn.0,
            line: Some(self.telling.sources.places.line(at)),
            message: Some(message_extra),
            turn_end: None,
        };
        if delivered {
            self.push(Source::User, Some(at), Words::of(message), extra)
        } else {
            let said = "A message of the user did not reach the agent.".to_owned();
            self.push(Source::System, Some(at), Words::of(said), extra)
        }
    }

    /// What the machine says if it follows the log, because a stamp can be withdrawn; else what the log says.
    fn is_delivered(&self, turn: Turn) -> bool {
        let session = self.telling.session;
        if session.turn() >= turn {
            return session.user_messages().any(|(told, _)| told == turn);
        }
        self.telling.sources.entries.iter().any(|entry| {
            matches!(
                &entry.event,
                Event::Observed(Observation::Delivered { turn: told, .. }) if *told == turn
            )
        })
    }

    fn end_turn(&mut self) -> Result<(), serde_json::Error> {
        let Some(told) = self.turn.take() else { return Ok(()) };
        self.end_work(Some(told))
    }

    /// Closes the agent's step; the last one of a turn tells what came of the turn.
    fn end_work(&mut self, last_of: Option<&TurnStory>) -> Result<(), serde_json::Error> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let turn = last_of.or(self.turn).map_or(0, |told| told.turn);
        let extra = StepExtra {
            turn,
            line: Some(self.telling.sources.places.line(work.at)),
            message: None,
            turn_end: last_of.map(|told| self.turn_end(told)),
        };
        let metrics = last_of.and_then(|told| {
            let calls = told.model.as_ref().map(|model| model.sum.all());
            std::mem::take(&mut self.used).metrics(calls)
        });
        let words = Words {
            message: work.message,
            thoughts: Some(work.thoughts).filter(|thoughts| !thoughts.is_empty()),
            calls: work.calls,
            results: work.results,
            metrics,
        };
        self.push(Source::Agent, Some(work.at), words, extra)
    }

    fn turn_end(&self, told: &TurnStory) -> TurnEndExtra {
        let moment = format!("turn {}", told.turn);
        let requirements = self.telling.story.lanes.iter().filter_map(|lane| {
            let cell = lane.cells.iter().find(|cell| cell.moment == moment)?;
            Some(RequirementMoment { id: lane.id.clone(), steps: cell.steps.clone() })
        });
        TurnEndExtra {
            ended: told.ended.clone(),
            agent_ms: told.agent_ms,
            asked_for: told.asked_for.clone(),
            events: told.events.iter().filter(|event| self.may_tell(event)).cloned().collect(),
            model: told.model.clone(),
            programs: told.ran.clone(),
            programs_more: told.ran_more,
            reached: told.reached.clone(),
            reached_more: told.reached_more,
            changed: told
                .changed
                .iter()
                .map(|file| ChangedPath { what: file.what.clone(), path: file.path.clone() })
                .collect(),
            changed_more: told.changed_more,
            changed_git: told.changed_git,
            readings: told
                .look
                .iter()
                .flat_map(|look| public_readings(&look.readings, self.telling.withheld))
                .collect(),
            requirements: requirements.collect(),
        }
    }

    /// Whether an event's words may be told to whom the export is for.
    fn may_tell(&self, event: &EventStory) -> bool {
        let entries = self.telling.sources.entries.iter();
        let flagged = entries.filter_map(|entry| match &entry.event {
            Event::Observed(Observation::Flagged { flag, detail })
            | Event::Answered(_, Answer::Failed { flag, detail, .. }) => Some((*flag, detail)),
            _ => None,
        });
        let mut kept_back = flagged.filter(|(flag, _)| !may_be_said(*flag, self.telling.audience));
        !kept_back.any(|(_, detail)| event.words.ends_with(detail.as_str()))
    }

    fn push(
        &mut self,
        source: Source,
        at: Option<usize>,
        words: Words,
        extra: StepExtra,
    ) -> Result<(), serde_json::Error> {
        let sources = self.telling.sources;
        let elapsed_ms = at.map_or(0, |at| sources.entries[at].elapsed_ms);
        let started = sources.places.started_utc.as_deref();
        self.steps.push(Step {
            step_id: self.steps.len() as u32 + 1,
            timestamp: started.and_then(|started| utc::later(started, elapsed_ms)),
            source,
            message: words.message,
            reasoning_content: words.thoughts,
            tool_calls: words.calls,
            observation: (!words.results.is_empty())
                .then_some(ToolResults { results: words.results }),
            metrics: words.metrics,
            extra: Extra { pcb: serde_json::to_value(extra)? },
        });
        Ok(())
    }
}

fn tool_call(call_id: &str, activity: &ToolActivity) -> ToolCall {
    let (arguments, extra) = arguments(activity.input.as_ref());
    ToolCall {
        tool_call_id: call_id.to_owned(),
        function_name: activity.title.clone(),
        arguments,
        extra,
    }
}

/// An object of JSON stands as it is, everything else as the one argument `input`.
fn arguments(input: Option<&Excerpt>) -> (BTreeMap<String, Value>, Extra) {
    let Some(input) = input else {
        return (BTreeMap::new(), Extra { pcb: json!({ "arguments": "not told" }) });
    };
    let object = serde_json::from_str(&input.shown);
    let arguments = object.unwrap_or_else(|_| {
        BTreeMap::from([("input".to_owned(), Value::String(input.shown.clone()))])
    });
    let told = if input.whole.is_some() { "cut" } else { "told" };
    (arguments, Extra { pcb: json!({ "arguments": told }) })
}

impl Used {
    /// What was reported is one sum of tokens; prompt and completion are told apart by the calls.
    fn metrics(self, calls: Option<UseSum>) -> Option<Metrics> {
        let tokens = calls.and_then(|calls| calls.whole());
        (self.reports > 0).then(|| Metrics {
            prompt_tokens: tokens.map(|(input, ..)| input),
            completion_tokens: tokens.map(|(.., output)| output),
            cached_tokens: tokens.and_then(|(_, cached, _)| cached),
            cost_usd: (self.unpriced == 0).then(|| usd(self.cost_microusd)),
            extra: Extra { pcb: json!({ "tokens": self.tokens, "unpriced": self.unpriced }) },
        })
    }
}

pub(super) fn usd(microusd: u64) -> f64 {
    microusd as f64 / 1e6
}

pub(super) fn public_readings(
    readings: &[ReadingStory],
    withheld: &BTreeSet<String>,
) -> Vec<ReadingStory> {
    readings.iter().filter(|reading| !withheld.contains(&reading.check)).cloned().collect()
}

fn wordsmith(by: Wordsmith) -> &'static str {
    match by {
        Wordsmith::Template => "template",
        Wordsmith::Model => "model",
        Wordsmith::Human => "human",
    }
}

fn act(speech: &SpeechAct) -> ActExtra {
    let named = |act: &str| ActExtra { act: act.to_owned(), ..ActExtra::default() };
    let of = |act: &str, requirement: &domain::ids::RequirementId| ActExtra {
        requirement: Some(requirement.to_string()),
        ..named(act)
    };
    match speech {
        SpeechAct::Open { .. } => named("open"),
        SpeechAct::Grant { class, .. } => {
            ActExtra { class: Some(class.name().to_owned()), ..named("grant") }
        }
        SpeechAct::Refuse { class, .. } => {
            ActExtra { class: class.map(|class| class.name().to_owned()), ..named("refuse") }
        }
        SpeechAct::Answer { topic, .. } => {
            ActExtra { topic: Some(topic.to_string()), ..named("answer") }
        }
        SpeechAct::Defer { .. } => named("defer"),
        SpeechAct::DontKnow { .. } => named("dont_know"),
        SpeechAct::Correct { requirement, level, .. } => {
            ActExtra { level: Some(words::level(*level).to_owned()), ..of("correct", requirement) }
        }
        SpeechAct::Tell { requirement, .. } => of("tell", requirement),
        SpeechAct::Acknowledge { requirement, .. } => of("acknowledge", requirement),
        SpeechAct::Nudge { .. } => named("nudge"),
        SpeechAct::CheckAgain { .. } => named("check_again"),
        SpeechAct::Continue { .. } => named("continue"),
    }
}
