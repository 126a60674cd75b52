//! What a page of runs shows beside the tables ([`PageContext`]): what was run, and where each session is told.

use domain::{
    ids::{PairId, Repeat},
    plan::Plan,
    result::{Class, SessionResult},
};
use serde::Serialize;
use store::run::RunRecord;

use super::group::{GroupContext, class_name};

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageContext {
    /// The tables' data.
    pub group: GroupContext,
    /// Each run, in the order of the tables' rows.
    pub runs: Vec<RunFacts>,
    /// Every assigned repeat.
    pub sessions: Vec<SessionRow>,
    /// Each pair as its author wrote it.
    pub pairs: Vec<DeclaredPair>,
    /// Marks that keep the content out of training data.
    pub canaries: Vec<String>,
}

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunFacts {
    /// Its folder, with the group's before it.
    pub folder: String,
    /// The configuration asked for.
    pub configuration: String,
    /// Names with their values, in order.
    pub facts: Vec<(String, String)>,
    /// What its host could not enforce.
    pub shortfalls: Vec<String>,
}

/// One assigned repeat in every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRow {
    /// The pair.
    pub pair: String,
    /// Which repeat.
    pub repeat: u32,
    /// In each run its attempts; a run that was not assigned the repeat has none.
    pub runs: Vec<Option<Vec<SessionEntry>>>,
}

/// One attempt in a table of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionEntry {
    /// Its name within the page: `s2-14` is the fourteenth attempt of the second run.
    pub id: String,
    /// Which attempt.
    pub attempt: u32,
    /// Whether it is the one that is scored.
    pub scored: bool,
    /// Its class; `still running` if it has none.
    pub class: String,
    /// How it ended.
    pub ending: String,
    /// Whether its class is a pass.
    pub passed: bool,
    /// Whether its story is told.
    pub is_told: bool,
}

/// A pair as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeclaredPair {
    /// The pair.
    pub pair: String,
    /// Its file.
    pub source: String,
}

impl RunFacts {
    /// What a run says of itself. `folder` is how the page names it, `ended_utc` when its last attempt ended.
    pub fn of(folder: String, record: &RunRecord, plan: &Plan, ended_utc: Option<&str>) -> Self {
        let host = &record.host;
        let side = &plan.side;
        let asked = &plan.configuration;
        let set = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        let settings: Vec<String> =
            asked.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let memory =
            host.memory_mb.map_or_else(|| "unknown memory".to_owned(), |mb| format!("{mb} MB"));
        let who = if host.is_root { "root" } else { "an ordinary user" };
        let mut facts: Vec<(&str, String)> = vec![
            ("release", format!("{} {}", plan.release, plan.release_version)),
            ("digest", plan.digest.to_string()),
            ("lock", if plan.locked { "locked" } else { "not locked" }.to_owned()),
            ("protocol", record.protocol.to_string()),
            ("agent", asked.agent.to_string()),
            ("model", set(&asked.model)),
            ("effort", set(&asked.effort)),
            ("settings", list(&settings)),
            ("arm", plan.arm.name().to_owned()),
            ("user", side.user.name().to_owned()),
            ("sandbox", side.sandbox.clone()),
            ("environment class", format!("{who}, {} processors, {memory}", host.cpus)),
            ("budget multiplier", format!("{}×", side.budget_multiplier)),
            (
                "interaction limit",
                side.interaction_limit_sec
                    .map_or_else(|| "each pair's own".to_owned(), |sec| format!("{sec} s")),
            ),
            ("repeats", plan.repeats.to_string()),
            ("sessions at once", side.jobs.to_string()),
            ("seed", plan.seed.to_string()),
            ("limits enforced", list(&host.enforced)),
            ("kernel", host.kernel.clone()),
        ];
        let toolchains: Vec<String> =
            host.toolchains.iter().map(|(name, version)| format!("{name} {version}")).collect();
        facts.push(("toolchains", list(&toolchains)));
        facts.push(("tool", record.tool.clone()));
        facts.push(("started (UTC)", record.started_utc.clone()));
        facts.push(("last session ended (UTC)", ended_utc.unwrap_or("not yet").to_owned()));
        Self {
            folder,
            configuration: super::group::configuration(plan),
            facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            shortfalls: host.shortfalls.clone(),
        }
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

impl SessionEntry {
    /// An attempt by its result; none while it runs. `run` and `at` count from 1.
    pub fn of(
        (run, at): (usize, usize),
        attempt: u32,
        result: Option<&SessionResult>,
        plan: &Plan,
    ) -> Self {
        let class = result.map(|result| result.class);
        Self {
            id: format!("s{run}-{at}"),
            attempt,
            scored: false,
            class: class.map_or_else(
                || "still running".to_owned(),
                |class| class_name(class, plan.arm.has_persona()).to_owned(),
            ),
            ending: result.map_or_else(String::new, |result| result.ending.name().to_owned()),
            passed: class == Some(Class::JointPass),
            is_told: result.is_some(),
        }
    }
}

impl SessionRow {
    /// Rows of several runs: every assigned repeat once, in the order in which the plans name them.
    /// `attempts` gives those of a run's repeat.
    pub fn of(
        plans: &[&Plan],
        mut attempts: impl FnMut(usize, &PairId, Repeat) -> Vec<SessionEntry>,
    ) -> Vec<SessionRow> {
        let mut places = std::collections::BTreeMap::new();
        let mut rows: Vec<SessionRow> = Vec::new();
        for (run, plan) in plans.iter().enumerate() {
            for spec in &plan.specs {
                let key = (spec.pair.clone(), spec.repeat);
                let at = *places.entry(key).or_insert_with(|| {
                    rows.push(SessionRow {
                        pair: spec.pair.to_string(),
                        repeat: spec.repeat.0,
                        runs: vec![None; plans.len()],
                    });
                    rows.len() - 1
                });
                rows[at].runs[run] = Some(attempts(run, &spec.pair, spec.repeat));
            }
        }
        rows
    }
}
