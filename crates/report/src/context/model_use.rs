//! What an agent asked of its model, as the gateway saw it: each call ([`CallStory`]), those of a turn ([`ModelStory`]), and sums
//! ([`ModelUse`]) in which what nobody told is counted apart and is never zero.

use domain::evidence::{CallOutcome, ModelCall, Purpose};
use schemars::JsonSchema;
use serde::Serialize;

use super::group::NamedCount;

/// Calls of a turn that are told one by one; the rest is summed.
const TOLD_MAX: usize = 40;

/// How an effort that was not sent is called: it is not an effort of `none`.
const UNSET: &str = "unset";

/// Sums over calls of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelUse {
    /// The agent's work.
    pub main: UseSum,
    /// Beside the conversation: titles, summaries, classifiers.
    pub side: UseSum,
    /// How many times a provider was asked again.
    pub retries: u32,
    /// For how long the agent's clock stood still, each call for itself, in milliseconds.
    pub paused_ms: u64,
    /// Models as asked for and, behind an arrow, as they call themselves where that differs.
    pub models: Vec<NamedCount>,
    /// Efforts as sent; `unset` where none was.
    pub efforts: Vec<NamedCount>,
    /// How calls ended that were not answered, with who answers for it.
    pub not_answered: Vec<NamedCount>,
    /// Tools that a provider would have run, with what became of them.
    pub hosted: Vec<NamedCount>,
    /// Cuts of calls that the log names and that cannot be read: their calls are in no sum.
    pub unread: u32,
}

/// Sums over calls of one purpose. Tokens and cost are those that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UseSum {
    /// Calls.
    pub calls: u32,
    /// All input.
    pub input: u64,
    /// The part of it that was read from a cache.
    pub cached_input: u64,
    /// The part of it that was written to a cache.
    pub cache_write: u64,
    /// All output.
    pub output: u64,
    /// The part of it that was reasoning.
    pub reasoning: u64,
    /// Calls whose input or output nobody told.
    pub uncounted: u32,
    /// Cost in millionths of a US dollar.
    pub cost_microusd: u64,
    /// Calls of unknown cost.
    pub unpriced: u32,
}

/// What an agent asked of its model in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelStory {
    /// All of it.
    pub sum: ModelUse,
    /// Call by call, in order of their ends.
    pub calls: Vec<CallStory>,
    /// How many more.
    pub calls_more: usize,
}

/// One call of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallStory {
    /// When it was made, in milliseconds of the sandbox's clock.
    pub at_ms: i64,
    /// How long it took, asking again included.
    pub took_ms: u64,
    /// The form of the request.
    pub format: String,
    /// `main` or `side`.
    pub purpose: String,
    /// The model that was asked for.
    pub model_asked: String,
    /// The model that says it answered.
    pub model_answered: Option<String>,
    /// The effort as sent; absent if none was.
    pub effort: Option<String>,
    /// Other parameters as sent, `name = value`.
    pub parameters: Vec<String>,
    /// All input; absent if nobody told it.
    pub input: Option<u64>,
    /// The part of it that was read from a cache.
    pub cached_input: Option<u64>,
    /// The part of it that was written to a cache.
    pub cache_write: Option<u64>,
    /// All output.
    pub output: Option<u64>,
    /// The part of it that was reasoning.
    pub reasoning: Option<u64>,
    /// Cost in millionths of a US dollar; absent if unknown.
    pub cost_microusd: Option<u64>,
    /// How it ended.
    pub outcome: String,
    /// Who answers for that.
    pub owner: String,
    /// The status that the agent was given; 0 if it was given none.
    pub status: u16,
    /// How many times a provider was asked again.
    pub retries: u32,
    /// From the last asking to the first byte of the answer.
    pub first_byte_ms: Option<u64>,
    /// For how long the agent's clock stood still because of it.
    pub paused_ms: u64,
    /// Tools that a provider would have run, with what became of them.
    pub hosted: Vec<String>,
    /// Where the recorded exchange lies, as a path within the run's folder.
    pub exchange_place: Option<String>,
}

impl ModelUse {
    /// Sums calls.
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a ModelCall>) -> Self {
        let mut all = Self::default();
        for call in calls {
            all.take(call);
        }
        all
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.main.add(&other.main);
        self.side.add(&other.side);
        self.retries = self.retries.saturating_add(other.retries);
        self.paused_ms = self.paused_ms.saturating_add(other.paused_ms);
        self.unread += other.unread;
        let lists = [
            (&mut self.models, &other.models),
            (&mut self.efforts, &other.efforts),
            (&mut self.not_answered, &other.not_answered),
            (&mut self.hosted, &other.hosted),
        ];
        for (own, others) in lists {
            for one in others {
                count(own, &one.name, one.count);
            }
        }
    }

    /// Both purposes together.
    pub fn all(&self) -> UseSum {
        let mut all = self.main;
        all.add(&self.side);
        all
    }

    /// Whether nothing is known of any call.
    pub fn is_empty(&self) -> bool {
        self.all().calls == 0 && self.unread == 0
    }

    fn take(&mut self, call: &ModelCall) {
        let sum = match call.purpose {
            Purpose::Main => &mut self.main,
            Purpose::Side => &mut self.side,
        };
        sum.take(call);
        self.retries = self.retries.saturating_add(call.retries);
        self.paused_ms = self.paused_ms.saturating_add(call.paused_ms);
        let model = match &call.model_answered {
            Some(answered) if *answered != call.model_asked => {
                format!("{} → {answered}", call.model_asked)
            }
            _ => call.model_asked.clone(),
        };
        count(&mut self.models, &model, 1);
        count(&mut self.efforts, call.effort.as_deref().unwrap_or(UNSET), 1);
        if call.outcome != CallOutcome::Answered {
            let outcome = format!("{} ({})", call.outcome.name(), call.outcome.owner().name());
            count(&mut self.not_answered, &outcome, 1);
        }
        for tool in &call.hosted {
            count(&mut self.hosted, &format!("{} {}", tool.name, tool.decision.name()), 1);
        }
    }
}

impl UseSum {
    /// Tokens in words; what nobody told stands beside what is known.
    pub fn tokens_words(&self) -> String {
        let unknown = match self.uncounted {
            0 => return self.known_tokens(),
            1 => "1 call of unknown tokens".to_owned(),
            more => format!("{more} calls of unknown tokens"),
        };
        match self.uncounted == self.calls {
            true => "tokens unknown".to_owned(),
            false => format!("{}, {unknown}", self.known_tokens()),
        }
    }

    fn known_tokens(&self) -> String {
        let part = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!("{count} {what}"),
        };
        let parts = |list: [String; 2]| {
            let told: Vec<String> = list.into_iter().filter(|part| !part.is_empty()).collect();
            if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
        };
        let input = parts([
            part(self.cached_input, "cached"),
            part(self.cache_write, "written to a cache"),
        ]);
        let output = parts([part(self.reasoning, "of reasoning"), String::new()]);
        format!("{} in{input}, {} out{output}", self.input, self.output)
    }

    /// Cost in words; what has no price stands beside what is known.
    pub fn cost_words(&self) -> String {
        let known = usd_words(self.cost_microusd);
        match self.unpriced {
            0 => known,
            all if all == self.calls => "cost unknown".to_owned(),
            some => format!("{known} and {some} unpriced"),
        }
    }

    /// Input, its cached part and output, where all of it is known; a cached part that nobody told is absent.
    pub(super) fn whole(&self) -> Option<(u64, Option<u64>, u64)> {
        let cached = Some(self.cached_input).filter(|cached| *cached > 0);
        (self.calls > 0 && self.uncounted == 0).then_some((self.input, cached, self.output))
    }

    fn take(&mut self, call: &ModelCall) {
        let tokens = &call.tokens;
        let is_told = tokens.input.is_some() && tokens.output.is_some();
        let known = |count: Option<u64>| count.unwrap_or(0);
        self.add(&UseSum {
            calls: 1,
            input: known(tokens.input),
            cached_input: known(tokens.cached_input),
            cache_write: known(tokens.cache_write),
            output: known(tokens.output),
            reasoning: known(tokens.reasoning),
            uncounted: u32::from(!is_told),
            cost_microusd: known(call.cost_microusd),
            unpriced: u32::from(call.cost_microusd.is_none()),
        });
    }

    fn add(&mut self, other: &Self) {
        let counts = [
            (&mut self.calls, other.calls),
            (&mut self.uncounted, other.uncounted),
            (&mut self.unpriced, other.unpriced),
        ];
        for (own, more) in counts {
            *own = own.saturating_add(more);
        }
        let sums = [
            (&mut self.input, other.input),
            (&mut self.cached_input, other.cached_input),
            (&mut self.cache_write, other.cache_write),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
            (&mut self.cost_microusd, other.cost_microusd),
        ];
        for (own, more) in sums {
            *own = own.saturating_add(more);
        }
    }
}

impl ModelStory {
    /// Takes in calls; `place` says where a recorded exchange lies.
    pub(super) fn take(
        &mut self,
        calls: &[ModelCall],
        place: &dyn Fn(&domain::ids::Hash) -> Option<String>,
    ) {
        self.sum.add(&ModelUse::of(calls));
        let room = TOLD_MAX.saturating_sub(self.calls.len());
        self.calls_more += calls.len().saturating_sub(room);
        self.calls.extend(calls.iter().take(room).map(|call| CallStory::of(call, place)));
    }

    /// The whole in a few lines: how much, which models, and what was out of the ordinary.
    pub fn lines(&self) -> Vec<String> {
        let sum = &self.sum;
        let all = sum.all();
        let mut lines = vec![format!(
            "{} main and {} side: {}; {}",
            counted(sum.main.calls, "call"),
            sum.side.calls,
            all.tokens_words(),
            all.cost_words()
        )];
        lines.push(format!("{}; effort {}", counts(&sum.models), counts(&sum.efforts)));
        if sum.side.calls > 0 {
            let side = &sum.side;
            lines.push(format!("of it side: {}; {}", side.tokens_words(), side.cost_words()));
        }
        if sum.retries > 0 {
            lines.push(format!(
                "asked again {}; the agent's clock stood still for {} ms",
                counted(sum.retries, "time"),
                sum.paused_ms
            ));
        }
        let hosted =
            sum.hosted.iter().map(|one| format!("hosted tool {}: {}", one.name, one.count));
        lines.extend(hosted);
        let others = sum.not_answered.iter();
        lines.extend(others.map(|one| format!("{}: {}", one.name, counted(one.count, "call"))));
        if sum.unread > 0 {
            lines.push("a record of calls cannot be read: they are in no sum".to_owned());
        }
        lines
    }
}

impl CallStory {
    fn of(call: &ModelCall, place: &dyn Fn(&domain::ids::Hash) -> Option<String>) -> Self {
        let purpose = match call.purpose {
            Purpose::Main => "main",
            Purpose::Side => "side",
        };
        let hosted = call.hosted.iter();
        Self {
            at_ms: call.at_ms,
            took_ms: call.took_ms,
            format: call.format.name().to_owned(),
            purpose: purpose.to_owned(),
            model_asked: call.model_asked.clone(),
            model_answered: call.model_answered.clone(),
            effort: call.effort.clone(),
            parameters: call.parameters.iter().map(|(name, v)| format!("{name} = {v}")).collect(),
            input: call.tokens.input,
            cached_input: call.tokens.cached_input,
            cache_write: call.tokens.cache_write,
            output: call.tokens.output,
            reasoning: call.tokens.reasoning,
            cost_microusd: call.cost_microusd,
            outcome: call.outcome.name().to_owned(),
            owner: call.outcome.owner().name().to_owned(),
            status: call.status,
            retries: call.retries,
            first_byte_ms: call.first_byte_ms,
            paused_ms: call.paused_ms,
            hosted: hosted.map(|tool| format!("{} {}", tool.name, tool.decision.name())).collect(),
            exchange_place: call.exchange.as_ref().and_then(place),
        }
    }
}

/// An amount of money, to a hundredth of a cent where that shows it.
pub(crate) fn usd_words(microusd: u64) -> String {
    let usd = microusd as f64 / 1e6;
    if microusd == 0 || microusd >= 100 { format!("{usd:.4} US$") } else { format!("{usd:.6} US$") }
}

/// Names with their counts; a count of one that stands alone is left out.
pub(crate) fn counts(list: &[NamedCount]) -> String {
    if let [one] = list {
        return one.name.clone();
    }
    let each = list.iter().map(|one| format!("{} ({})", one.name, one.count));
    each.collect::<Vec<_>>().join(", ")
}

fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn count(list: &mut Vec<NamedCount>, name: &str, more: u32) {
    match list.iter_mut().find(|known| known.name == name) {
        Some(known) => known.count = known.count.saturating_add(more),
        None => list.push(NamedCount { name: name.to_owned(), count: more, owner: None }),
    }
}

#[cfg(test)]
mod tests {
    use domain::{evidence::WireFormat, ids::Turn, usage::Tokens};

    use super::*;

    fn call(tokens: Tokens, cost_microusd: Option<u64>) -> ModelCall {
        ModelCall {
            turn: Turn(1),
            at_ms: 0,
            took_ms: 5,
            format: WireFormat::OpenAiChat,
            purpose: Purpose::Main,
            model_asked: "m".to_owned(),
            model_answered: None,
            effort: None,
            parameters: Vec::new(),
            tokens,
            cost_microusd,
            outcome: CallOutcome::Answered,
            status: 200,
            retries: 0,
            first_byte_ms: None,
            paused_ms: 0,
            hosted: Vec::new(),
            exchange: None,
        }
    }

    fn tokens(input: Option<u64>, output: Option<u64>) -> Tokens {
        Tokens { input, output, ..Tokens::default() }
    }

    #[test]
    fn what_is_unknown_is_told_apart_from_nothing() {
        let known = call(tokens(Some(1_200), Some(40)), Some(1_500));
        let free = call(tokens(Some(0), Some(0)), Some(0));
        let untold = call(Tokens::default(), None);
        let half = call(tokens(Some(7), None), None);
        let check = |calls: &[&ModelCall], tokens: &str, cost: &str| {
            let sum = ModelUse::of(calls.iter().copied()).all();
            assert_eq!((sum.tokens_words(), sum.cost_words()), (tokens.into(), cost.into()));
        };
        check(&[&known], "1200 in, 40 out", "0.0015 US$");
        check(&[&free], "0 in, 0 out", "0.0000 US$");
        check(&[&untold], "tokens unknown", "cost unknown");
        check(
            &[&known, &untold],
            "1200 in, 40 out, 1 call of unknown tokens",
            "0.0015 US$ and 1 unpriced",
        );
        check(
            &[&known, &half, &untold],
            "1207 in, 40 out, 2 calls of unknown tokens",
            "0.0015 US$ and 2 unpriced",
        );
        let cached = Tokens {
            cached_input: Some(800),
            cache_write: Some(3),
            reasoning: Some(10),
            ..tokens(Some(1_200), Some(40))
        };
        let words = "1200 in (800 cached, 3 written to a cache), 40 out (10 of reasoning)";
        check(&[&call(cached, Some(7))], words, "0.000007 US$");
    }

    #[test]
    fn sums_keep_purposes_models_efforts_and_faults_apart() {
        let main = ModelCall {
            effort: Some("high".to_owned()),
            model_answered: Some("m-0101".to_owned()),
            retries: 2,
            paused_ms: 3_000,
            ..call(tokens(Some(10), Some(1)), Some(5))
        };
        let side = ModelCall {
            purpose: Purpose::Side,
            outcome: CallOutcome::ProviderFailed,
            ..call(tokens(Some(0), Some(0)), Some(0))
        };
        let mut sum = ModelUse::of([&main, &side]);
        sum.add(&ModelUse::of([&main]));
        assert_eq!((sum.main.calls, sum.main.input, sum.side.calls), (2, 20, 1));
        assert_eq!((sum.retries, sum.paused_ms), (4, 6_000));
        assert_eq!(counts(&sum.models), "m → m-0101 (2), m (1)");
        assert_eq!(counts(&sum.efforts), "high (2), unset (1)");
        assert_eq!(counts(&sum.not_answered), "provider_failed (infra)");
    }

    #[test]
    fn a_turn_is_told_in_lines_and_call_by_call() {
        let mut story = ModelStory::default();
        let calls = vec![call(tokens(Some(10), Some(1)), None); TOLD_MAX + 2];
        story.take(&calls, &|_| None);
        assert_eq!((story.calls.len(), story.calls_more), (TOLD_MAX, 2));
        let lines = story.lines();
        assert_eq!(lines[0], "42 calls main and 0 side: 420 in, 42 out; cost unknown");
        assert_eq!(lines[1], "m; effort unset");
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}
