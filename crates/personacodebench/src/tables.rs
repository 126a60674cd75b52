//! Runs folded into the tables that a report prints ([`Tables`]).

use std::{collections::BTreeMap, fmt::Display};

use domain::{
    ids::{Attempt, Hash, PairId, Repeat, SuiteId},
    plan::scored,
    result::{Class, SessionResult},
    score::RunScore,
};
use report::{
    context::{
        Aspect, CompareContext, ComparedRun, GroupContext, Incomparable, ModelUse, Pairing,
        RunView, compare, group,
    },
    render,
};
use store::{derived, reader::RunReader, run::HostRecord};

use crate::{
    arguments::Format,
    attempts::{Attempts, read_failure},
    conduct::run_name,
    exit_code::ExitCode,
    failure::Failure,
    options,
};

/// Runs side by side, folded from their logs.
pub struct Tables {
    group: GroupContext,
    runs: Vec<RunReader>,
    folded: Vec<Folded>,
    lost_by_others: u32,
}

/// What one run comes to.
struct Folded {
    results: Vec<SessionResult>,
    score: RunScore,
    model_use: ModelUse,
    suites: BTreeMap<PairId, SuiteId>,
}

impl Tables {
    /// Reads, replays and folds every log of the runs, and renews what is derived of each.
    pub fn fold(runs: Vec<RunReader>) -> Result<Self, Failure> {
        let mut folded = Vec::new();
        for run in &runs {
            let release = run.release().map_err(read_failure)?.release;
            let Attempts { results, calls, .. } = Attempts::read(run, &release)?;
            // A sum that does not hold is a fault of this program, and nothing may be printed then.
            let score = RunScore::of(&run.plan, &release, &results).map_err(|error| {
                Failure::mismatch(format!("the figures do not add up: {error}"))
            })?;
            let suites =
                release.pairs.iter().map(|(id, pair)| (id.clone(), pair.suite.clone())).collect();
            let results = scored_of(run, &results);
            let model_use = model_use(run, &results, &calls);
            folded.push(Folded { results, score, model_use, suites });
        }
        let group = group(&views(&runs, &folded))
            .ok_or_else(|| Failure::input("there is no run to report"))?;
        let lost_by_others = folded
            .iter()
            .flat_map(|one| one.score.census.entries())
            .filter(|(class, _)| *class == Class::NotRun || class.is_lost_by_others())
            .map(|(_, count)| count)
            .sum();
        let tables = Self { group, runs, folded, lost_by_others };
        if let Err(why) = tables.renew() {
            // Everything that is derived can be made again; a full or read-only disk hides no table.
            eprintln!("{why}: `pcb report` makes it again");
        }
        Ok(tables)
    }

    /// The tables in a format.
    pub fn text(&self, format: Format) -> Result<String, Failure> {
        Ok(match format {
            Format::Table => render::group_terminal(&self.group, options::terminal_width()),
            Format::Markdown => render::group_markdown(&self.group),
            Format::Json => render::group_json(&self.group).map_err(Failure::input)?,
        })
    }

    /// What the tables are made of.
    pub fn group(&self) -> &GroupContext {
        &self.group
    }

    /// The runs against each other.
    ///
    /// # Errors
    /// [`Incomparable`] if they differ in more than the caller allows.
    pub fn compare(
        &self,
        despite: &[Aspect],
        pairing: Pairing,
        seed: u64,
    ) -> Result<CompareContext, Incomparable> {
        let runs: Vec<ComparedRun<'_>> = self
            .runs
            .iter()
            .zip(&self.folded)
            .zip(&self.group.rows)
            .map(|((run, folded), row)| ComparedRun {
                name: row.run.clone(),
                header: &row.header,
                plan: &run.plan,
                results: &folded.results,
                suites: &folded.suites,
            })
            .collect();
        compare(&runs, despite, pairing, seed)
    }

    /// The runs, in the order of the rows.
    pub fn runs(&self) -> &[RunReader] {
        &self.runs
    }

    /// Whether repeats are not scored for reasons that are not the agent's.
    pub fn exit_code(&self) -> ExitCode {
        if self.lost_by_others > 0 { ExitCode::NotScored } else { ExitCode::Done }
    }

    /// Writes results and tables of each run into what can be deleted and derived again.
    fn renew(&self) -> Result<(), String> {
        for (at, (run, Folded { results, .. })) in self.runs.iter().zip(&self.folded).enumerate() {
            let unwritten = |name: &str, error: &dyn Display| {
                let folder = run.layout().derived();
                format!("{} cannot be written: {error}", folder.join(name).display())
            };
            let own = self.group.of_row(at);
            let lines = derived::results_to_lines(results)
                .map_err(|error| unwritten("results.jsonl", &error))?;
            let json =
                render::group_json(&own).map_err(|error| unwritten("report.json", &error))?;
            let markdown = render::group_markdown(&own);
            let files = [
                ("results.jsonl", &lines[..]),
                ("report.json", json.as_bytes()),
                ("report.md", markdown.as_bytes()),
            ];
            for (name, bytes) in files {
                derived::write(run.layout(), name, bytes)
                    .map_err(|error| unwritten(name, &error))?;
            }
        }
        Ok(())
    }
}

fn views<'a>(runs: &'a [RunReader], folded: &'a [Folded]) -> Vec<RunView<'a>> {
    runs.iter()
        .zip(folded)
        .map(|(run, folded)| RunView {
            name: run_name(run),
            plan: &run.plan,
            protocol: run.record.protocol,
            shortfalls: run.record.host.shortfalls.clone(),
            environment: environment(&run.record.host),
            results: &folded.results,
            score: &folded.score,
            model_use: folded.model_use.clone(),
        })
        .collect()
}

/// The scored attempt of every repeat that has one, in order of the plan.
fn scored_of(run: &RunReader, results: &[SessionResult]) -> Vec<SessionResult> {
    run.plan
        .specs
        .iter()
        .filter_map(|spec| {
            let own: Vec<SessionResult> = results
                .iter()
                .filter(|result| result.pair == spec.pair && result.repeat == spec.repeat)
                .cloned()
                .collect();
            scored(&own).cloned()
        })
        .collect()
}

/// What the scored attempts asked of their models.
fn model_use(
    run: &RunReader,
    results: &[SessionResult],
    calls: &BTreeMap<(PairId, Repeat, Attempt), Vec<Hash>>,
) -> ModelUse {
    let payloads = run.payloads();
    let mut all = ModelUse::default();
    for result in results {
        let of = (result.pair.clone(), result.repeat, result.attempt);
        for hash in calls.get(&of).into_iter().flatten() {
            match payloads.calls(hash) {
                Ok(calls) => all.add(&ModelUse::of(&calls)),
                Err(_) => all.unread += 1,
            }
        }
    }
    all
}

/// What rows must share to be compared.
fn environment(host: &HostRecord) -> String {
    let who = if host.is_root { "root" } else { "an ordinary user" };
    format!("{who}, {} processors, {:?} MB", host.cpus, host.memory_mb)
}
