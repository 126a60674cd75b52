//! One session as a story ([`StoryContext`]): what was said, run and changed in each turn, the way of each
//! requirement, and the evidence for it. `pcb show` and the page tell this and nothing else.

mod artifacts;
mod evidence;
mod files;
mod lanes;
mod steps;
mod turns;
mod work;

use std::sync::Arc;

use domain::{
    evidence::{
        Change, Channel, Collected, FileDiff, Manifest, ModelCall, NetAttempt, ProcessEvent,
    },
    ids::{Hash, Turn},
    result::SessionResult,
    session::{Entry, Event, Observation, Scenario, Session},
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{payload::Payloads, seal::Seal};

pub use artifacts::{ArtifactFile, ArtifactStory, HookStory};
pub use evidence::{
    CheckLook, CheckStory, CompletionStory, FlagStory, LookStory, OccurrenceStory, ReadingStory,
};
pub use files::{ChangedFile, DiffLine, Difference, FileStory, LineKind};
pub use lanes::{Lane, LaneCell, LaneStep, Stage};
pub use steps::StepStory;
pub use turns::{ActStory, EventStory, RanProgram, ReachedHost, TurnStory};
pub use work::{PlanLine, TextStory, ToldWork, ToolStory, WorkStory};

use super::{group::class_name, model_use::ModelUse};

/// A session that a person can follow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoryContext {
    /// Pair, repeat, attempt, class.
    pub title: String,
    /// Task, persona, arm.
    pub preface: Vec<String>,
    /// What the session was and came to.
    pub facts: SessionFacts,
    /// Turn by turn.
    pub turns: Vec<TurnStory>,
    /// What the checks read at the seal.
    pub seal: Option<LookStory>,
    /// How it ended.
    pub ending: String,
    /// The user's words on work that is taken: stored, never sent.
    pub closing_words: Option<String>,
    /// Completion, personalization, budget, flags.
    pub closing: Vec<String>,
    /// Validity flags.
    pub flags: Vec<FlagStory>,
    /// What the native verifier left; absent if it did not run.
    pub completion: Option<CompletionStory>,
    /// Each step of a task that has several; a turn is a step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepStory>,
    /// The way of each requirement from hidden to verdict.
    pub lanes: Vec<Lane>,
    /// Each check with everything that it read.
    pub checks: Vec<CheckStory>,
    /// Every path that differs from the base at the end.
    pub files: Vec<FileStory>,
    /// How many more.
    pub files_more: usize,
}

/// What a session was and came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionFacts {
    /// The pair.
    pub pair: String,
    /// Which repeat.
    pub repeat: u32,
    /// Which attempt.
    pub attempt: u32,
    /// Its class of the census.
    pub class: String,
    /// The native task.
    pub task: String,
    /// Who spoke.
    pub persona: String,
    /// Who that is, in one line.
    pub role: String,
    /// The suite.
    pub suite: String,
    /// The arm.
    pub arm: String,
    /// Who worded in this attempt.
    pub user: String,
    /// The agent's own name and version, if it told one.
    pub agent: Option<String>,
    /// When it began and ended by the wall clock.
    pub started_utc: Option<String>,
    /// See `started_utc`; absent if the log was not closed.
    pub ended_utc: Option<String>,
    /// Its log, as a path within the run's folder.
    pub log: String,
    /// Whether the task counts as completed; absent if ungraded.
    pub completed: Option<bool>,
    /// Whether every mandatory requirement passed; absent if ungraded or without persona.
    pub personalized: Option<bool>,
    /// Whether the budget was kept.
    pub within_budget: bool,
    /// Whether no flag counts.
    pub valid: bool,
    /// Turns that the agent ended, and how many it could have had.
    pub turns: u32,
    /// See `turns`.
    pub turns_max: u32,
    /// Agent time used.
    pub agent_ms: u64,
    /// Agent time allowed.
    pub agent_max_ms: u64,
    /// Tokens; absent if nobody counted.
    pub tokens: Option<u64>,
    /// What the agent asked of its model, by the gateway; absent if it asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_use: Option<ModelUse>,
}

/// Where the entries of a session stand in files of its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlaces {
    /// The attempt's log, as a path within the run's folder.
    pub log: String,
    /// From which entry on a later grading stands in, and its file.
    pub grading: Option<(usize, String)>,
    /// When the attempt began and ended by the wall clock.
    pub started_utc: Option<String>,
    /// See `started_utc`.
    pub ended_utc: Option<String>,
}

/// What a story is made from.
pub struct StorySources<'a> {
    /// The compiled setting.
    pub scenario: &'a Arc<Scenario>,
    /// The log.
    pub entries: &'a [Entry],
    /// Where each entry stands.
    pub places: &'a LogPlaces,
    /// Its fold.
    pub result: &'a SessionResult,
    /// What the log names by hash.
    pub payloads: &'a dyn Archive,
    /// What the sealed state is made of.
    pub seal: Option<&'a Seal>,
    /// A file as the release's environment brings it, by absolute path.
    pub environment_file: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// What a log names by hash. What cannot be read is absent, and the story says so.
pub trait Archive {
    /// Programs of a cut of E3.
    fn processes(&self, hash: &Hash) -> Option<Vec<ProcessEvent>>;
    /// Attempts of a cut of E4.
    fn network(&self, hash: &Hash) -> Option<Vec<NetAttempt>>;
    /// Calls of a cut of E9.
    fn calls(&self, hash: &Hash) -> Option<Vec<ModelCall>>;
    /// Changes of a cut of E1.
    fn changes(&self, hash: &Hash) -> Option<Vec<Change>>;
    /// The state at the end of a turn.
    fn manifest(&self, hash: &Hash) -> Option<Manifest>;
    /// Line differences to the base of a cut of E2.
    fn diffs_to_base(&self, hash: &Hash) -> Option<Vec<FileDiff>>;
    /// What was kept beside a result.
    fn artifacts(&self, hash: &Hash) -> Option<Collected>;
    /// Plain bytes.
    fn bytes(&self, hash: &Hash) -> Option<Vec<u8>>;
    /// Where a payload lies, as a path within the run's folder.
    fn place(&self, hash: &Hash) -> Option<String>;
}

impl Archive for Payloads {
    fn processes(&self, hash: &Hash) -> Option<Vec<ProcessEvent>> {
        Payloads::processes(self, hash).ok()
    }

    fn network(&self, hash: &Hash) -> Option<Vec<NetAttempt>> {
        Payloads::network(self, hash).ok()
    }

    fn calls(&self, hash: &Hash) -> Option<Vec<ModelCall>> {
        Payloads::calls(self, hash).ok()
    }

    fn changes(&self, hash: &Hash) -> Option<Vec<Change>> {
        Payloads::changes(self, hash).ok()
    }

    fn manifest(&self, hash: &Hash) -> Option<Manifest> {
        Payloads::manifest(self, hash).ok()
    }

    fn diffs_to_base(&self, hash: &Hash) -> Option<Vec<FileDiff>> {
        Payloads::diffs(self, hash).ok()?.remove(&Turn::BASE)
    }

    fn artifacts(&self, hash: &Hash) -> Option<Collected> {
        Payloads::artifacts(self, hash).ok()
    }

    fn bytes(&self, hash: &Hash) -> Option<Vec<u8>> {
        Payloads::bytes(self, hash).ok()
    }

    fn place(&self, hash: &Hash) -> Option<String> {
        Payloads::place(self, hash)
    }
}

impl LogPlaces {
    /// File and line of the entry at a place of the session's entries; the first line of a file is its head.
    pub(super) fn line(&self, at: usize) -> String {
        match &self.grading {
            Some((from, file)) if at >= *from => format!("{file}:{}", at - from + 2),
            _ => format!("{}:{}", self.log, at + 2),
        }
    }
}

/// Tells a session.
pub fn story(sources: &StorySources<'_>) -> StoryContext {
    let scenario = sources.scenario;
    let result = sources.result;
    let session = decided(sources);
    let looks = evidence::looks(sources);
    let states = files::States::of(sources);
    let told = turns::turns(sources, &session, &looks, &states);
    let (files, files_more) = files::at_the_end(sources, &states);
    let facts = facts(sources, &session);
    let steps = steps::steps(sources);
    let completion = evidence::completion(sources);
    StoryContext {
        title: format!(
            "{} · repeat {} · attempt {} · {}",
            result.pair, result.repeat, result.attempt, facts.class
        ),
        preface: vec![
            format!("task {}, arm {}", scenario.task, scenario.arm.name()),
            format!("user: {}", scenario.persona.role),
        ],
        facts,
        lanes: lanes::lanes(scenario, result, &session, told.len()),
        turns: told,
        checks: evidence::checks(scenario, &looks),
        seal: looks.into_iter().find(|look| look.is_seal()),
        ending: result.ending.name().to_owned(),
        closing_words: scenario.closing_words(result.ending).map(str::to_owned),
        closing: evidence::closing(result, &steps, completion.as_ref()),
        flags: evidence::flags(result),
        completion,
        steps,
        files,
        files_more,
    }
}

/// The session as its log decides it, as far as this machine follows.
pub(super) fn decided(sources: &StorySources<'_>) -> Session {
    let mut session = Session::new(sources.scenario.clone());
    for entry in sources.entries {
        if session.apply(entry).is_err() {
            break;
        }
    }
    session
}

/// What the agent asked of its model in all.
pub(super) fn model_use(sources: &StorySources<'_>) -> Option<ModelUse> {
    let mut all = ModelUse::default();
    for entry in sources.entries {
        let Event::Observed(Observation::Cut { channel: Channel::Resources, blob, .. }) =
            &entry.event
        else {
            continue;
        };
        match sources.payloads.calls(blob) {
            Some(calls) => all.add(&ModelUse::of(&calls)),
            None => all.unread += 1,
        }
    }
    Some(all).filter(|all| !all.is_empty())
}

fn facts(sources: &StorySources<'_>, session: &Session) -> SessionFacts {
    let (scenario, result) = (sources.scenario, sources.result);
    let limits = &scenario.spec.limits;
    SessionFacts {
        pair: result.pair.to_string(),
        repeat: result.repeat.0,
        attempt: result.attempt.0,
        class: class_name(result.class, scenario.arm.has_persona()).to_owned(),
        task: scenario.task.to_string(),
        persona: scenario.persona.id.to_string(),
        role: scenario.persona.role.clone(),
        suite: scenario.suite.to_string(),
        arm: scenario.arm.name().to_owned(),
        user: scenario.user.name().to_owned(),
        agent: session.agent_identity().map(str::to_owned),
        started_utc: sources.places.started_utc.clone(),
        ended_utc: sources.places.ended_utc.clone(),
        log: sources.places.log.clone(),
        completed: result.completed,
        personalized: result.personalized,
        within_budget: result.within_budget,
        valid: result.valid,
        turns: result.load.turns,
        turns_max: limits.turns_max,
        agent_ms: result.load.agent_ms,
        agent_max_ms: limits.agent_time_ms,
        tokens: result.load.tokens,
        model_use: model_use(sources),
    }
}

#[cfg(test)]
mod tests {
    use super::LogPlaces;

    #[test]
    fn entries_are_found_in_their_files() {
        let check = |grading: Option<(usize, &str)>, at: usize, expect: &str| {
            let places = LogPlaces {
                log: "a/log".to_owned(),
                grading: grading.map(|(from, file)| (from, file.to_owned())),
                started_utc: None,
                ended_utc: None,
            };
            assert_eq!(places.line(at), expect);
        };
        check(None, 0, "a/log:2");
        check(None, 41, "a/log:43");
        check(Some((40, "a/regrade")), 39, "a/log:41");
        check(Some((40, "a/regrade")), 40, "a/regrade:2");
        check(Some((40, "a/regrade")), 43, "a/regrade:5");
    }
}
