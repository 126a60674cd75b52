//! What an agent's message means, by rules: open questions, offers, requests for permission, claims ([`Interpretation`]).

mod action;
mod claim;
mod negation;
mod phrases;
mod question;
pub mod text;
mod words;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::ops::Range;

use crate::{
    ids::TopicId,
    release::{ActionClass, Claim, PermissionTable, Topic},
};
pub use action::class_of_request;
pub(crate) use negation::polarity_in_clause;
use question::Question;
use text::{Words, find_form, tokens};

/// The meaning of a turn's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interpretation {
    /// Nothing was said.
    pub silent: bool,
    /// The agent gives up.
    pub quits: bool,
    /// Open questions in order; offers and courtesy questions are not among them.
    pub asks: Vec<Ask>,
    /// What it claims.
    pub claims: Vec<Claim>,
}

/// One open question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// May I? With the class if the words tell one.
    Permission {
        /// The class.
        class: Option<ActionClass>,
        /// What exactly, as the agent named it.
        subject: Option<String>,
    },
    /// About a topic.
    About(TopicId),
    /// About nothing in particular: "anything else?".
    Generic,
    /// About something that no topic covers.
    Other,
}

/// What a message is read against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Neutral labels with the words that ask about them.
    pub topics: &'a [Topic],
    /// The classes of action with the words that ask for them.
    pub permissions: &'a PermissionTable,
}

/// Reads a message. Code, quotes and quotations mean nothing; each question counts once.
pub fn interpret(message: &str, context: &Context<'_>) -> Interpretation {
    let prose = text::prose(message);
    let ranges = text::sentence_ranges(&prose);
    let words: Vec<Words> = ranges.iter().map(|range| tokens(&prose[range.clone()])).collect();
    let sentences = Sentences { prose: &prose, ranges: &ranges, words: &words };
    let reader = Reader { message, sentences, context };
    let mut asks: Vec<Ask> = Vec::new();
    for at in 0..ranges.len() {
        for ask in reader.asks(at) {
            if !asks.contains(&ask) {
                asks.push(ask);
            }
        }
    }
    let waits = asks.iter().any(|ask| *ask != Ask::Generic);
    Interpretation {
        silent: message.trim().is_empty(),
        quits: !waits && claim::quits(&sentences),
        asks,
        claims: claim::claims(&sentences),
    }
}

impl Interpretation {
    /// Whether a question keeps the turn open; "anything else?" does not.
    pub fn leaves_question_open(&self) -> bool {
        self.asks.iter().any(|ask| *ask != Ask::Generic)
    }
}

/// The sentences of a prose with their words.
#[derive(Clone, Copy)]
struct Sentences<'a> {
    prose: &'a str,
    ranges: &'a [Range<usize>],
    words: &'a [Words],
}

impl<'a> Sentences<'a> {
    fn text(&self, at: usize) -> &'a str {
        &self.prose[self.ranges[at].clone()]
    }

    /// Each sentence as text and as words.
    fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Words)> {
        (0..self.ranges.len()).map(|at| (self.text(at), &self.words[at]))
    }
}

/// One message with its sentences.
struct Reader<'a> {
    message: &'a str,
    sentences: Sentences<'a>,
    context: &'a Context<'a>,
}

/// A question of so few words may lean on the sentence before it.
const SHORT_QUESTION: usize = 6;

impl Reader<'_> {
    fn asks(&self, at: usize) -> Vec<Ask> {
        let words = self.words(at);
        match question::classify(&self.sentences, at) {
            Question::None | Question::Courtesy => Vec::new(),
            Question::Permission => self.permission(at, words),
            Question::Offer => self.offer(at, words),
            Question::Generic => match self.topics(words) {
                topics if topics.is_empty() => [Ask::Generic].into(),
                topics => topics,
            },
            Question::Open => self.open(at, words),
        }
    }

    fn permission(&self, at: usize, words: &Words) -> Vec<Ask> {
        if let Some((class, place)) = self.class(words) {
            return [self.request(class, at, place)].into();
        }
        let topics = self.topics(words);
        if !topics.is_empty() {
            return topics;
        }
        if let Some(request) = self.act_before(at) {
            return [request].into();
        }
        [Ask::Permission { class: None, subject: self.named(at) }].into()
    }

    /// An offer is no question, unless it asks for an act of a class or about how this work is to be done.
    fn offer(&self, at: usize, words: &Words) -> Vec<Ask> {
        let is_question = self.sentences.text(at).contains('?');
        let goes_ahead = question::goes_ahead(words);
        if is_question || goes_ahead {
            if let Some(request) = self.own_act(at, words) {
                return [request].into();
            }
            if goes_ahead && let Some(request) = self.act_before(at) {
                return [request].into();
            }
        }
        let is_about_it = is_question && question::is_about_this_work(words);
        if is_about_it { self.topics(words) } else { Vec::new() }
    }

    fn open(&self, at: usize, words: &Words) -> Vec<Ask> {
        if let Some(request) = self.own_act(at, words) {
            return [request].into();
        }
        let mut asks = self.topics(words);
        let leans = words.len() <= SHORT_QUESTION
            && at > 0
            && question::classify(&self.sentences, at - 1) == Question::None;
        if asks.is_empty() && leans {
            let before = self.words(at - 1);
            asks = self.topics(before);
            if asks.is_empty() && !question::claims_consent(before) {
                asks.extend(self.own_act(at - 1, before));
            }
        }
        if asks.is_empty() { [Ask::Other].into() } else { asks }
    }

    /// A request, if the sentence speaks of an act of the agent's own and of a class.
    fn own_act(&self, at: usize, words: &Words) -> Option<Ask> {
        let (class, place) = self.class(words).filter(|_| question::is_own_act(words))?;
        Some(self.request(class, at, place))
    }

    /// A request, if the sentence before names a class: "I need to touch the index. I am waiting for your go-ahead."
    ///
    /// What it reports as done, or as allowed before, is not asked for.
    fn act_before(&self, at: usize) -> Option<Ask> {
        let before = at.checked_sub(1)?;
        let words = self.words(before);
        let (class, place) = self.class(words)?;
        let is_reported = question::claims_consent(words) || question::is_done(words, place);
        (!is_reported).then(|| self.request(class, before, place))
    }

    fn words(&self, at: usize) -> &Words {
        &self.sentences.words[at]
    }

    fn topics(&self, words: &Words) -> Vec<Ask> {
        self.context
            .topics
            .iter()
            .filter(|topic| topic.words.iter().any(|word| find_form(words, word).is_some()))
            .map(|topic| Ask::About(topic.id.clone()))
            .collect()
    }

    /// The class whose words stand first, and the place behind them.
    fn class(&self, words: &Words) -> Option<(ActionClass, usize)> {
        self.context
            .permissions
            .entries
            .iter()
            .flat_map(|entry| entry.asked_by.iter().map(move |word| (entry.class, word)))
            .filter_map(|(class, word)| {
                let (start, end) = find_form(words, word)?;
                Some((start, class, end))
            })
            .min_by_key(|(start, ..)| *start)
            .map(|(_, class, end)| (class, end))
    }

    fn request(&self, class: ActionClass, at: usize, behind: usize) -> Ask {
        let subject = self.named(at).or_else(|| self.object(at, behind));
        Ask::Permission { class: Some(class), subject }
    }

    /// What the sentence names in code or quotes, or as a path.
    fn named(&self, at: usize) -> Option<String> {
        let sentence = &self.message[self.sentences.ranges[at].clone()];
        let spans = text::code_spans(sentence).into_iter().chain(text::quotations(sentence));
        let named: Vec<&str> =
            spans.map(|span| sentence[span].trim()).filter(|name| !name.is_empty()).collect();
        let path = || {
            sentence
                .split_whitespace()
                .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'))
                .find(|word| is_path(word))
        };
        if named.is_empty() { path().map(ToString::to_string) } else { Some(named.join(" ")) }
    }

    /// The words behind the class's words up to the end of the phrase, articles aside; a list is one object.
    fn object(&self, at: usize, behind: usize) -> Option<String> {
        let words = self.words(at);
        let mut object: Vec<&str> = Vec::new();
        for word in words.iter().skip(behind) {
            let text = word.text.as_str();
            let is_joined = !object.is_empty() && text == "and";
            let goes_on = match word.before {
                text::Break::None => true,
                text::Break::Comma => !object.is_empty(),
                text::Break::Clause | text::Break::Sentence => false,
            };
            if !goes_on || (STOPS.contains(&text) && !is_joined) || object.len() == 6 {
                break;
            }
            let is_article = matches!(text, "a" | "an" | "the" | "this" | "that" | "it" | "your");
            if !is_joined && !is_article {
                object.push(text);
            }
        }
        (!object.is_empty()).then(|| object.join(" "))
    }
}

/// Words that end the object of a request.
const STOPS: &[&str] = &[
    "to", "for", "so", "before", "in", "now", "with", "if", "and", "because", "since", "as", "on",
    "at", "from", "or",
];

fn is_path(word: &str) -> bool {
    let inner = word.trim_matches('/');
    word.len() > 2
        && !matches!(word, "and/or" | "e.g" | "i.e")
        && (inner.contains('/') || word.starts_with('/') || has_extension(word))
}

fn has_extension(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
    })
}
