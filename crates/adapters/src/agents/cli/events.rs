//! Lines of a command-line agent by its description ([`Reader`]): what they mean is told to the intake, and what the end of
//! the turn needs to know is kept.

use domain::{
    ids::Turn,
    session::{ClaimSpan, ToolOutcome, UseClaim},
};
use regex::Regex;
use serde_json::Value;

use super::description::{
    CallMeaning, CliDescription, EventMeaning, Expected, Output, Place, ReturnMeaning, UseMeaning,
    UseSpan,
};
use crate::agents::{
    intake::{BYTES_MAX, Call, Intake},
    tools::{is_empty, printed, written},
};

/// Bytes of lines beside the events that are kept of a turn.
const BESIDE_MAX: usize = 2_000;

/// Reads the lines of an agent, turn by turn.
pub(in crate::agents) struct Reader {
    description: CliDescription,
    notes: Vec<Regex>,
    session_pattern: Option<Regex>,
    /// The name of its session, the last that was told.
    pub(super) session: Option<String>,
    /// What it said of the failure of this turn.
    pub(super) failure: Option<String>,
    /// The sum of this turn's requests, or what it told of the turn.
    used: Option<UseClaim>,
    /// What it told of the session when the turn before ended.
    used_before: Figures,
    /// The same, of this turn.
    used_so_far: Option<Figures>,
    beside: String,
    text: String,
}

/// Input, cached, output, reasoning and millionths of a US dollar.
type Figures = [Option<u64>; 5];

impl Reader {
    /// Reads by this description.
    pub(in crate::agents) fn new(description: CliDescription) -> Self {
        // Both were looked at when the description was read.
        let regex = |pattern: &String| Regex::new(pattern).ok();
        let session = description.session.as_ref();
        Self {
            notes: description.notes.iter().filter_map(regex).collect(),
            session_pattern: session.and_then(|session| regex(session.pattern.as_ref()?)),
            session: session.and_then(|session| session.chosen.clone()),
            description,
            failure: None,
            used: None,
            used_before: Figures::default(),
            used_so_far: None,
            beside: String::new(),
            text: String::new(),
        }
    }

    /// A turn begins.
    pub(in crate::agents) fn begin(&mut self) {
        (self.failure, self.used) = (None, None);
        self.beside.clear();
        self.text.clear();
    }

    /// One line.
    pub(in crate::agents) fn take(&mut self, line: &str, intake: &mut Intake) {
        intake.counts(line.len());
        if self.description.output == Output::Text {
            return self.words(line, intake);
        }
        match serde_json::from_str::<Value>(line.trim()) {
            Ok(event @ Value::Object(_)) => self.event(&event, intake),
            _ => self.beside(line),
        }
    }

    /// The turn is over: what was kept back is told.
    pub(in crate::agents) fn end(&mut self, intake: &mut Intake) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            intake.said(text.trim(), None);
        }
        if let Some(so_far) = self.used_so_far.take() {
            let before = std::mem::replace(&mut self.used_before, so_far);
            intake.claims(difference(so_far, before));
        }
        if let Some(used) = self.used.take() {
            intake.claims(used);
        }
        let beside = std::mem::take(&mut self.beside);
        if !beside.trim().is_empty() {
            intake.noted(&format!("beside its events it wrote: {}", beside.trim()));
        }
        intake.flush();
    }

    fn words(&mut self, line: &str, intake: &mut Intake) {
        let line = without_colours(line);
        self.look_for_session(&line);
        if self.notes.iter().any(|note| note.is_match(&line)) {
            return intake.noted(line.trim());
        }
        // More than a turn may tell is not kept either.
        if self.text.len() < BYTES_MAX {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn beside(&mut self, line: &str) {
        self.look_for_session(line);
        if line.trim().is_empty() || self.beside.len() >= BESIDE_MAX {
            return;
        }
        self.beside.extend(without_colours(line).chars().take(BESIDE_MAX));
        self.beside.push('\n');
    }

    fn look_for_session(&mut self, line: &str) {
        let found = self.session_pattern.as_ref().and_then(|pattern| pattern.captures(line));
        if let Some(name) = found.and_then(|found| found.get(1)) {
            self.session = Some(name.as_str().to_owned());
        }
    }

    fn event(&mut self, event: &Value, intake: &mut Intake) {
        if let Some(session) = &self.description.session {
            let at = Spot { element: event, event };
            if at.fits(session.when.iter()) {
                let named = session.at.iter().find_map(|place| at.text(place));
                self.session = named.or(self.session.take());
            }
        }
        for meaning in self.description.event.clone() {
            let whole = Spot { element: event, event };
            match &meaning.each {
                None => self.mean(&meaning, whole, intake),
                Some(place) => {
                    let list = whole.value(place).and_then(Value::as_array);
                    for element in list.into_iter().flatten() {
                        self.mean(&meaning, Spot { element, event }, intake);
                    }
                }
            }
        }
    }

    fn mean(&mut self, meaning: &EventMeaning, at: Spot<'_>, intake: &mut Intake) {
        if !at.fits(meaning.when.iter()) {
            return;
        }
        let message = meaning.message.as_ref().and_then(|place| at.text(place));
        let text = |place: &Option<Place>| place.as_ref().and_then(|place| at.text(place));
        if let Some(text) = text(&meaning.thinks) {
            intake.thought(&text, message.as_deref());
        }
        if let Some(text) = text(&meaning.says) {
            intake.said(&text, message.as_deref());
        }
        if let Some(calls) = &meaning.calls {
            intake.called(call(calls, at));
        }
        if let Some(returns) = &meaning.returns {
            returned(returns, at, intake);
        }
        if let Some(uses) = &meaning.uses {
            self.used(uses, at);
        }
        if let Some(text) = text(&meaning.notes) {
            intake.noted(&text);
        }
        if let Some(why) = text(&meaning.fails) {
            self.failure = Some(why);
        }
    }

    fn used(&mut self, meaning: &UseMeaning, at: Spot<'_>) {
        let figures = figures(meaning, at);
        if figures.iter().all(Option::is_none) {
            return;
        }
        match meaning.span {
            UseSpan::Turn => self.used = Some(claim(figures)),
            UseSpan::Session => self.used_so_far = Some(figures),
            UseSpan::Request => {
                let sum = self.used.as_ref().map_or_else(Figures::default, parts);
                let add = |(a, b): (Option<u64>, Option<u64>)| match (a, b) {
                    (Some(a), Some(b)) => Some(a.saturating_add(b)),
                    (a, b) => a.or(b),
                };
                let pairs: Vec<Option<u64>> = sum.into_iter().zip(figures).map(add).collect();
                self.used = Some(claim(pairs.try_into().unwrap_or_default()));
            }
        }
    }
}

/// The event that is looked at, and an element of it.
#[derive(Clone, Copy)]
struct Spot<'a> {
    element: &'a Value,
    event: &'a Value,
}

impl<'a> Spot<'a> {
    fn value(&self, place: &Place) -> Option<&'a Value> {
        match place {
            Place::Element(pointer) => self.element.pointer(pointer),
            Place::Event(pointer) => self.event.pointer(pointer),
            Place::Literal(_) => None,
        }
    }

    /// The value as text; none if nothing stands there.
    fn text(&self, place: &Place) -> Option<String> {
        match place {
            Place::Literal(text) => Some(text.clone()),
            _ => self.value(place).filter(|value| !is_empty(value)).map(written),
        }
    }

    fn number(&self, place: &Place) -> Option<u64> {
        self.value(place).and_then(Value::as_u64)
    }

    fn fits<'b>(&self, mut wanted: impl Iterator<Item = (&'b Place, &'b Expected)>) -> bool {
        wanted.all(|(place, expected)| self.is(place, expected))
    }

    fn is(&self, place: &Place, expected: &Expected) -> bool {
        let Some(value) = self.value(place).filter(|value| !value.is_null()) else { return false };
        let Some(any_of) = &expected.any_of else { return true };
        any_of.contains(&written(value))
    }
}

fn call(meaning: &CallMeaning, at: Spot<'_>) -> Call {
    let text = |place: &Place| at.text(place);
    Call {
        id: meaning.id.as_ref().and_then(text),
        title: text(&meaning.title).unwrap_or_default(),
        kind: meaning.kind.map(Into::into),
        input: meaning.input.as_ref().and_then(text),
    }
}

fn returned(meaning: &ReturnMeaning, at: Spot<'_>, intake: &mut Intake) {
    let id = meaning.id.as_ref().and_then(|place| at.text(place));
    let mut outputs = meaning.output.iter().filter_map(|place| at.value(place));
    let output = outputs.find(|output| !is_empty(output)).map(printed);
    let exit_code = meaning.exit_code.as_ref().and_then(|place| at.value(place)?.as_i64());
    let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
    let is_told = meaning.failed.iter().any(|(place, expected)| at.is(place, expected));
    let has_failed = is_told || exit_code.is_some_and(|code| code != 0);
    let outcome = if has_failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
    intake.returned(id.as_deref(), outcome, output, exit_code);
}

fn figures(meaning: &UseMeaning, at: Spot<'_>) -> Figures {
    let number = |place: &Option<Place>| place.as_ref().and_then(|place| at.number(place));
    let dollars = meaning.cost_usd.as_ref().and_then(|place| at.value(place)?.as_f64());
    [
        number(&meaning.input),
        number(&meaning.cached),
        number(&meaning.output),
        number(&meaning.reasoning),
        dollars.and_then(microusd),
    ]
}

/// Millionths of a US dollar.
pub(in crate::agents) fn microusd(dollars: f64) -> Option<u64> {
    let is_money = dollars.is_finite() && (0.0..1e12).contains(&dollars);
    // What is left of a millionth is rounded off on purpose.
    is_money.then_some((dollars * 1e6).round() as u64)
}

fn claim([input, cached, output, reasoning, cost_microusd]: Figures) -> UseClaim {
    let span = ClaimSpan::Turn;
    UseClaim { turn: Turn::BASE, span, input, cached, output, reasoning, cost_microusd }
}

fn parts(claim: &UseClaim) -> Figures {
    [claim.input, claim.cached, claim.output, claim.reasoning, claim.cost_microusd]
}

/// What of the session's figures is this turn's. An agent whose figures fall has begun to count anew: then nobody knows
/// what they span.
fn difference(now: Figures, before: Figures) -> UseClaim {
    let pairs = now.into_iter().zip(before);
    let less = |(now, before): (Option<u64>, Option<u64>)| match (now, before) {
        (Some(now), before) => now.checked_sub(before.unwrap_or(0)).map(Some),
        (None, _) => Some(None),
    };
    let differences: Option<Vec<Option<u64>>> = pairs.map(less).collect();
    match differences.and_then(|differences| Figures::try_from(differences).ok()) {
        Some(differences) => claim(differences),
        None => UseClaim { span: ClaimSpan::Unknown, ..claim(now) },
    }
}

/// A line without the sequences that colour it.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
            continue;
        }
        if characters.next_if_eq(&'[').is_some() {
            characters.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}
