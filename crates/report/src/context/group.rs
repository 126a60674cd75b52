//! Runs side by side: [`GroupContext`], one row a run, every figure with its denominator.

use domain::{
    fault::Flag,
    plan::Plan,
    result::{Class, Load, SessionResult},
    score::{Rate, RequirementCounts, RunScore, Stratum, TwoByTwo},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::header::{Aspect, HeaderContext, header};
use super::model_use::ModelUse;
use crate::statistics::wilson;

/// Runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupContext {
    /// What all rows share, or the first row's if they differ (then `differs` says in what).
    pub header: HeaderContext,
    /// In what the rows differ beside the configuration; empty for rows that compare.
    pub differs: Vec<String>,
    /// One row a run.
    pub rows: Vec<RowContext>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowContext {
    /// The run's folder name.
    pub run: String,
    /// Agent with model and effort as asked for.
    pub configuration: String,
    /// The run's own header.
    pub header: HeaderContext,
    /// Pairs that cannot be told in the run's arm: never run, and in the denominator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// Joint passes; absent without persona.
    pub joint: Option<RateContext>,
    /// Completed within budget and valid.
    pub completed_valid: RateContext,
    /// Completed.
    pub completion: RateContext,
    /// Personalized; absent without persona.
    pub personalization: Option<RateContext>,
    /// What the headline could be if every loss that is not the agent's had passed.
    pub upper_bound: RateContext,
    /// Native × personalization over graded sessions.
    pub two_by_two: Option<TwoByTwoContext>,
    /// Classes with their counts; they add up to the denominator.
    pub census: CensusContext,
    /// By suite.
    pub suites: Vec<StratumContext>,
    /// By persona family.
    pub personas: Vec<StratumContext>,
    /// Requirements by area.
    pub areas: Vec<AreaContext>,
    /// Scored sessions whose tests ran in place, beside what the agent had started.
    #[serde(skip_serializing_if = "is_zero")]
    pub in_place: u32,
    /// Requirements in all.
    pub requirements: RequirementsContext,
    /// Flags with the number of attempts.
    pub flags: Vec<NamedCount>,
    /// Re-runs by cause.
    pub reruns: Vec<NamedCount>,
    /// Within budget over graded.
    pub within_budget: RateContext,
    /// Load of the interaction, summed.
    pub load: LoadContext,
    /// What the agent asked of its model, by the gateway; absent if it had none or asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_use: Option<ModelUse>,
    /// Each scored session in one line.
    pub sessions: Vec<SessionLine>,
}

/// A count over its denominator with the Wilson interval in percent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RateContext {
    /// How many.
    pub count: u32,
    /// Out of how many.
    pub of: u32,
    /// Lower end of the 95 % interval in percent.
    pub low_percent: Option<f64>,
    /// Upper end of the 95 % interval in percent.
    pub high_percent: Option<f64>,
}

/// Native × personalization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TwoByTwoContext {
    /// Both.
    pub both: u32,
    /// Completed only.
    pub completed_only: u32,
    /// Personalized only.
    pub personalized_only: u32,
    /// Neither.
    pub neither: u32,
    /// Assigned repeats that are not graded.
    pub ungraded: u32,
}

impl TwoByTwoContext {
    /// Completed, whether personalized or not.
    pub fn completed(&self) -> u32 {
        self.both + self.completed_only
    }

    /// Not completed.
    pub fn not_completed(&self) -> u32 {
        self.personalized_only + self.neither
    }

    /// Personalized, whether completed or not.
    pub fn personalized(&self) -> u32 {
        self.both + self.personalized_only
    }

    /// Not personalized.
    pub fn not_personalized(&self) -> u32 {
        self.completed_only + self.neither
    }

    /// All that are graded.
    pub fn graded(&self) -> u32 {
        self.completed() + self.not_completed()
    }
}

/// Classes of the census.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CensusContext {
    /// The denominator.
    pub assigned: u32,
    /// Every class with its count, in order.
    pub classes: Vec<NamedCount>,
}

/// A name with a count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedCount {
    /// The name.
    pub name: String,
    /// The count.
    pub count: u32,
    /// Who answers for it, where that is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// A row by suite or persona family.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StratumContext {
    /// Its name.
    pub name: String,
    /// Headline: joint passes, without persona completed within budget and valid.
    pub headline: RateContext,
    /// Completed.
    pub completed: u32,
    /// Personalized.
    pub personalized: u32,
}

/// Requirements by outcome.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequirementsContext {
    /// Passed over assigned.
    pub passed: RateContext,
    /// Failed.
    pub failed: u32,
    /// Never told.
    pub not_delivered: u32,
    /// Did not apply.
    pub vacuous: u32,
    /// Could not be told.
    pub undecided: u32,
    /// Not graded or not run.
    pub not_graded: u32,
}

/// Requirements of one area.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AreaContext {
    /// The area.
    pub area: String,
    /// By outcome.
    pub requirements: RequirementsContext,
}

/// Load of the interaction, summed over scored attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadContext {
    /// Turns.
    pub turns: u32,
    /// Agent time in milliseconds.
    pub agent_ms: u64,
    /// Tokens; absent if nobody counted.
    pub tokens: Option<u64>,
    /// Known cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// Reports of use without a price.
    pub unpriced: u32,
    /// Requirements delivered.
    pub delivered: u32,
    /// Corrections.
    pub corrections: u32,
    /// Hand-offs refused.
    pub refusals: u32,
    /// Nudges.
    pub nudges: u32,
    /// Open questions of the agent.
    pub questions: u32,
    /// Permission requests by ending a turn, which every agent can make.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests_in_words: u32,
    /// Permission requests inside a turn, which an agent makes that runs in a mode that asks.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests_inside: u32,
    /// Words that the user had to read.
    pub words_read: u32,
}

/// One scored session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionLine {
    /// The pair.
    pub pair: String,
    /// The repeat.
    pub repeat: u32,
    /// The attempt that is scored.
    pub attempt: u32,
    /// Its class.
    pub class: String,
    /// How it ended.
    pub ending: String,
    /// Whether the task was completed.
    pub completed: Option<bool>,
    /// Mandatory and other requirements that passed.
    pub passed: u32,
    /// Requirements in all.
    pub requirements: u32,
    /// Turns.
    pub turns: u32,
    /// Flags.
    pub flags: Vec<String>,
}

/// What a row is made from.
pub struct RunView<'a> {
    /// The run's folder name.
    pub name: String,
    /// Its plan.
    pub plan: &'a Plan,
    /// Protocol version that it was run with.
    pub protocol: u32,
    /// What the host could not enforce.
    pub shortfalls: Vec<String>,
    /// Class of the environment, in words.
    pub environment: String,
    /// The scored attempts.
    pub results: &'a [SessionResult],
    /// Their fold.
    pub score: &'a RunScore,
    /// What they asked of their model, by the gateway.
    pub model_use: ModelUse,
}

/// Puts runs side by side.
pub fn group(runs: &[RunView<'_>]) -> Option<GroupContext> {
    let rows: Vec<RowContext> = runs.iter().map(row).collect();
    let header = rows.first()?.header.clone();
    let differs = Aspect::ALL
        .into_iter()
        .filter(|aspect| rows.iter().any(|row| row.header.of(*aspect) != header.of(*aspect)))
        .map(|aspect| aspect.name().to_owned())
        .collect();
    Some(GroupContext { header, differs, rows })
}

impl GroupContext {
    /// How a row is called among the others: its configuration, with the arm where the rows are of several.
    pub fn row_name(&self, row: &RowContext) -> String {
        let arm = &row.header.arm;
        match self.rows.iter().any(|other| &other.header.arm != arm) {
            true => format!("{} · {arm}", row.configuration),
            false => row.configuration.clone(),
        }
    }

    /// The group of one row alone; rows of several groups may share a name.
    pub fn of_row(&self, at: usize) -> GroupContext {
        let rows: Vec<RowContext> = self.rows.get(at).cloned().into_iter().collect();
        let header = rows.first().map_or_else(|| self.header.clone(), |row| row.header.clone());
        GroupContext { header, differs: Vec::new(), rows }
    }
}

fn row(run: &RunView<'_>) -> RowContext {
    let score = run.score;
    let has_persona = run.plan.arm.has_persona();
    RowContext {
        run: run.name.clone(),
        configuration: configuration(run.plan),
        header: header(run),
        excluded: run.plan.excluded.iter().map(ToString::to_string).collect(),
        joint: score.joint.map(RateContext::from),
        completed_valid: score.completed_valid.into(),
        completion: score.completion.into(),
        personalization: score.personalization.map(RateContext::from),
        upper_bound: score.upper_bound.into(),
        two_by_two: has_persona.then(|| two_by_two(score.two_by_two, score.assigned)),
        census: CensusContext {
            assigned: score.assigned,
            classes: score
                .census
                .entries()
                .iter()
                .filter(|(class, _)| has_persona || !needs_persona(*class))
                .map(|(class, count)| named(class_name(*class, has_persona), *count))
                .collect(),
        },
        suites: score.suites.iter().map(stratum).collect(),
        personas: score.families.iter().map(stratum).collect(),
        areas: score
            .areas
            .iter()
            .map(|area| AreaContext {
                area: area.area.name().to_owned(),
                requirements: area.counts.into(),
            })
            .collect(),
        in_place: count(run.results.iter().filter(|result| result.survivors.is_some()).count()),
        requirements: score.requirements.into(),
        flags: score.flags.iter().map(|(flag, n)| flagged(*flag, *n)).collect(),
        reruns: score.reruns.iter().map(|(flag, n)| flagged(*flag, *n)).collect(),
        within_budget: score.within_budget.into(),
        load: score.load.into(),
        model_use: Some(run.model_use.clone()).filter(|all| !all.is_empty()),
        sessions: run.results.iter().map(|result| session_line(result, has_persona)).collect(),
    }
}

fn count(sessions: usize) -> u32 {
    u32::try_from(sessions).unwrap_or(u32::MAX)
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn named(name: &str, count: u32) -> NamedCount {
    NamedCount { name: name.to_owned(), count, owner: None }
}

fn flagged(flag: Flag, count: u32) -> NamedCount {
    NamedCount { owner: Some(flag.owner().name().to_owned()), ..named(flag.name(), count) }
}

/// Agent with model and effort as asked for.
pub(super) fn configuration(plan: &Plan) -> String {
    let asked = &plan.configuration;
    let mut text = asked.agent.to_string();
    if let Some(model) = &asked.model {
        text.push(':');
        text.push_str(model);
    }
    if let Some(effort) = &asked.effort {
        text.push('@');
        text.push_str(effort);
    }
    text
}

fn two_by_two(counts: TwoByTwo, assigned: u32) -> TwoByTwoContext {
    let graded = counts.both + counts.completed_only + counts.personalized_only + counts.neither;
    TwoByTwoContext {
        both: counts.both,
        completed_only: counts.completed_only,
        personalized_only: counts.personalized_only,
        neither: counts.neither,
        ungraded: assigned.saturating_sub(graded),
    }
}

fn stratum(stratum: &Stratum) -> StratumContext {
    StratumContext {
        name: stratum.name.clone(),
        headline: Rate { count: stratum.headline, of: stratum.assigned }.into(),
        completed: stratum.completed,
        personalized: stratum.personalized,
    }
}

/// The name of a class; without a persona nothing is personalized, and the task alone is asked for.
pub(super) fn class_name(class: Class, has_persona: bool) -> &'static str {
    match class {
        Class::JointPass if !has_persona => "completed",
        Class::Neither if !has_persona => "not completed",
        class => class.name(),
    }
}

fn needs_persona(class: Class) -> bool {
    matches!(class, Class::CompletionOnly | Class::PersonalizationOnly)
}

fn session_line(result: &SessionResult, has_persona: bool) -> SessionLine {
    let passed = result
        .requirements
        .iter()
        .filter(|r| r.outcome == domain::verdict::Outcome::Passed)
        .count();
    SessionLine {
        pair: result.pair.to_string(),
        repeat: result.repeat.0,
        attempt: result.attempt.0,
        class: class_name(result.class, has_persona).to_owned(),
        ending: result.ending.name().to_owned(),
        completed: result.completed,
        passed: passed as u32,
        requirements: result.requirements.len() as u32,
        turns: result.load.turns,
        flags: result.flags.iter().map(|(flag, _)| flag.name().to_owned()).collect(),
    }
}

impl From<Rate> for RateContext {
    fn from(rate: Rate) -> Self {
        let interval = wilson(rate);
        let percent = |share: f64| (share * 1000.0).round() / 10.0;
        Self {
            count: rate.count,
            of: rate.of,
            low_percent: interval.map(|i| percent(i.low)),
            high_percent: interval.map(|i| percent(i.high)),
        }
    }
}

impl From<RequirementCounts> for RequirementsContext {
    fn from(counts: RequirementCounts) -> Self {
        Self {
            passed: Rate { count: counts.passed, of: counts.assigned }.into(),
            failed: counts.failed,
            not_delivered: counts.not_delivered,
            vacuous: counts.vacuous,
            undecided: counts.undecided,
            not_graded: counts.not_graded,
        }
    }
}

impl From<Load> for LoadContext {
    fn from(load: Load) -> Self {
        Self {
            turns: load.turns,
            agent_ms: load.agent_ms,
            tokens: load.tokens,
            cost_microusd: load.cost_microusd,
            unpriced: load.unpriced,
            delivered: load.delivered,
            corrections: load.corrections,
            refusals: load.refusals,
            nudges: load.nudges,
            questions: load.questions,
            requests_in_words: load.permission_requests.saturating_sub(load.requests_inside),
            requests_inside: load.requests_inside,
            words_read: load.words_read,
        }
    }
}
