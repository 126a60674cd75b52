//! Runs on the same pairs against each other ([`CompareContext`]): how far they differ, with what certainty, and what flipped
//! and why. Runs that differ beside the configuration are refused unless the caller allows it by name.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    ids::{PairId, SuiteId},
    plan::Plan,
    result::{Class, SessionResult},
    verdict::Outcome,
};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

use super::{
    Aspect, HeaderContext, RateContext, Table,
    group::{class_name, configuration},
};
use crate::statistics::{
    Discordant, Interval, Standing, holm, max_t, paired_bootstrap, standings, tango,
};

/// How often a bootstrap or a permutation is drawn.
const DRAWS: u32 = 10_000;

/// Which rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Each two of them; p-values are adjusted for all by the largest statistic of a permutation.
    All,
    /// Each of them with the first, a family declared beforehand; p-values are adjusted by Holm's step-down.
    WithFirst,
}

/// A run to compare.
pub struct ComparedRun<'a> {
    /// The run's folder name.
    pub name: String,
    /// Release, protocol and benchmark side.
    pub header: &'a HeaderContext,
    /// Its plan.
    pub plan: &'a Plan,
    /// The scored attempts.
    pub results: &'a [SessionResult],
    /// Suite of each pair of its release.
    pub suites: &'a BTreeMap<PairId, SuiteId>,
}

/// Why runs are not compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incomparable {
    /// They differ in what comparisons rest on.
    #[error("the runs differ in {}", list(.0))]
    Differs(Vec<DifferenceContext>),
    /// They have no pair in common.
    #[error("the runs have no pair in common")]
    NoPair,
    /// There are too few.
    #[error("a comparison needs at least two runs")]
    TooFew,
}

fn list(differences: &[DifferenceContext]) -> String {
    let one = |difference: &DifferenceContext| {
        let values: BTreeSet<&str> = difference.values.iter().map(|value| short(value)).collect();
        let values: Vec<&str> = values.into_iter().collect();
        format!("{} ({})", difference.what.name(), values.join(", "))
    };
    differences.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Digests are told from each other by their beginnings.
fn short(value: &str) -> &str {
    let is_digest = value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { &value[..12] } else { value }
}

/// Runs against each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CompareContext {
    /// Of the first run.
    pub header: HeaderContext,
    /// In what the rows differ beside the configuration, which the caller allowed.
    pub differs: Vec<DifferenceContext>,
    /// Pairs that every run was assigned.
    pub pairs: usize,
    /// One row a run, in the order given.
    pub rows: Vec<ComparedRow>,
    /// Two rows each.
    pub comparisons: Vec<Comparison>,
    /// Pairs on which some rows differ.
    pub flips: Vec<ReasonLine>,
    /// Seed of the bootstrap and of the permutation.
    pub seed: u64,
    /// How often each was drawn.
    pub draws: u32,
    /// How p-values are adjusted.
    pub adjusted_by: String,
    /// Why there are no ranks, if there are none.
    pub ranks_withheld: Option<String>,
}

/// In what runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DifferenceContext {
    /// In what.
    pub what: Aspect,
    /// What each row has, in order.
    pub values: Vec<String>,
}

/// One run among the others.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// Folder of the run.
    pub run: String,
    /// Its configuration, with whatever the rows differ in.
    pub name: String,
    /// Repeats that passed, of those planned for the common pairs.
    pub passed: RateContext,
    /// The mean over pairs of the share that passed, in percent.
    pub percent: f64,
    /// The best rank in 95 % of the draws; none if ranks are withheld.
    pub rank_best: Option<u32>,
    /// The worst rank in 95 % of the draws.
    pub rank_worst: Option<u32>,
    /// Whether it cannot be told from the best row at 5 %, over all comparisons.
    pub with_best: Option<bool>,
}

/// Two rows on the same pairs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Name of the first row.
    pub first: String,
    /// Name of the second row.
    pub second: String,
    /// Pairs on which the first row passed more repeats.
    pub first_more: u32,
    /// Pairs on which the second row passed more repeats.
    pub second_more: u32,
    /// First less second, in points.
    pub points: f64,
    /// Lower end of its 95 % interval.
    pub low_points: f64,
    /// Upper end of its 95 % interval.
    pub high_points: f64,
    /// Two-sided p-value of the comparison alone.
    pub p: f64,
    /// Adjusted for the family.
    pub adjusted_p: f64,
}

/// A pair on which rows differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReasonLine {
    /// The pair.
    pub pair: String,
    /// What became of it in each row, in order.
    pub cells: Vec<Cell>,
}

/// What became of a pair in one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cell {
    /// Repeats that passed.
    pub passed: u32,
    /// Repeats that were planned.
    pub planned: u32,
    /// Why the others did not, each reason once.
    pub reasons: Vec<String>,
}

/// Compares runs on the pairs that all of them were assigned. A repeat passes if it is a joint pass; in an arm without a
/// persona, if it is completed, within budget and valid. A repeat that was not executed did not pass.
///
/// # Errors
/// [`Incomparable`] if the runs differ in something that is not among `despite`, or there is nothing to compare.
pub fn compare(
    runs: &[ComparedRun<'_>],
    despite: &[Aspect],
    pairing: Pairing,
    seed: u64,
) -> Result<CompareContext, Incomparable> {
    let [first, _, ..] = runs else { return Err(Incomparable::TooFew) };
    let differs = differences(runs);
    let refused: Vec<DifferenceContext> =
        differs.iter().filter(|difference| !despite.contains(&difference.what)).cloned().collect();
    if !refused.is_empty() {
        return Err(Incomparable::Differs(refused));
    }
    let assigned: Vec<BTreeMap<&PairId, Outcomes<'_>>> = runs.iter().map(outcomes).collect();
    let pairs: Vec<&PairId> = assigned[0]
        .keys()
        .copied()
        .filter(|pair| assigned.iter().all(|row| row.contains_key(pair)))
        .collect();
    if pairs.is_empty() {
        return Err(Incomparable::NoPair);
    }
    let suites: BTreeSet<Option<&SuiteId>> =
        pairs.iter().map(|pair| first.suites.get(*pair)).collect();
    let place = |pair: &&PairId| suites.iter().position(|suite| *suite == first.suites.get(*pair));
    let strata: Vec<usize> = pairs.iter().map(|pair| place(pair).unwrap_or_default()).collect();
    let passes: Vec<Vec<Vec<bool>>> =
        assigned.iter().map(|row| pairs.iter().map(|pair| row[pair].passes()).collect()).collect();
    let names = names(runs, &differs);
    let ranks_withheld = withheld(&names, &assigned, &pairs);
    let standings: Vec<Standing> = standings(&passes, &strata, DRAWS, seed);
    let rows = standings
        .into_iter()
        .enumerate()
        .map(|(at, standing)| {
            let standing = ranks_withheld.is_none().then_some(standing);
            row(runs[at].name.clone(), names[at].clone(), &passes[at], standing)
        })
        .collect();
    let comparisons = comparisons(&names, &passes, &strata, pairing, seed);
    let flips = pairs
        .iter()
        .enumerate()
        .filter(|(at, _)| passes.iter().any(|row| count(&row[*at]) != count(&passes[0][*at])))
        .map(|(_, pair)| ReasonLine {
            pair: pair.to_string(),
            cells: assigned.iter().map(|row| row[*pair].cell()).collect(),
        })
        .collect();
    Ok(CompareContext {
        header: first.header.clone(),
        differs,
        pairs: pairs.len(),
        rows,
        comparisons,
        flips,
        seed,
        draws: DRAWS,
        adjusted_by: match pairing {
            Pairing::All => "the largest statistic of a permutation within pairs (max-T)",
            Pairing::WithFirst => "Holm's step-down",
        }
        .to_owned(),
        ranks_withheld,
    })
}

/// Losses that are not the agent's are not spread by chance: rows that lost more than so many points, or differ by as
/// much in what they lost or ran again, are not ranked.
const LOST_POINTS_MAX: f64 = 3.0;

/// Why the rows are not ranked, if they are not.
fn withheld(
    names: &[String],
    assigned: &[BTreeMap<&PairId, Outcomes<'_>>],
    pairs: &[&PairId],
) -> Option<String> {
    let share = |row: &BTreeMap<&PairId, Outcomes<'_>>,
                 counts: fn(&Option<&SessionResult>) -> bool| {
        let repeats: Vec<_> = pairs.iter().flat_map(|pair| &row[*pair].repeats).collect();
        let found = repeats.iter().filter(|repeat| counts(repeat)).count();
        100.0 * found as f64 / repeats.len().max(1) as f64
    };
    let is_lost = |repeat: &Option<&SessionResult>| {
        repeat.is_none_or(|result| result.class.is_lost_by_others())
    };
    let is_again =
        |repeat: &Option<&SessionResult>| repeat.is_some_and(|result| result.attempt.0 > 1);
    let lost: Vec<f64> = assigned.iter().map(|row| share(row, is_lost)).collect();
    let again: Vec<f64> = assigned.iter().map(|row| share(row, is_again)).collect();
    let spread = |values: &[f64]| {
        values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(100.0, f64::min)
    };
    let much = names.iter().zip(&lost).find(|(_, lost)| **lost > LOST_POINTS_MAX);
    if let Some((name, lost)) = much {
        return Some(format!("{name} lost {lost:.1} points for reasons that are not the agent's"));
    }
    let apart = [("lost", spread(&lost)), ("ran again", spread(&again))];
    let (what, points) = apart.into_iter().find(|(_, points)| *points > LOST_POINTS_MAX)?;
    Some(format!(
        "the rows differ by {points:.1} points in what they {what} for reasons that are not the agent's"
    ))
}

fn differences(runs: &[ComparedRun<'_>]) -> Vec<DifferenceContext> {
    let of = |what: Aspect| DifferenceContext {
        what,
        values: runs.iter().map(|run| run.header.of(what)).collect(),
    };
    let is_one = |difference: &DifferenceContext| {
        difference.values.iter().all(|value| *value == difference.values[0])
    };
    Aspect::ALL.into_iter().map(of).filter(|difference| !is_one(difference)).collect()
}

/// Configuration, what the rows differ in, and the folder where that is not enough to tell rows apart.
fn names(runs: &[ComparedRun<'_>], differs: &[DifferenceContext]) -> Vec<String> {
    let mut names: Vec<String> = runs
        .iter()
        .map(|run| {
            let mut name = configuration(run.plan);
            for difference in differs {
                let value = run.header.of(difference.what);
                name.push_str(&format!(" · {}", short(&value)));
            }
            name
        })
        .collect();
    for (at, run) in runs.iter().enumerate() {
        if names.iter().filter(|name| **name == names[at]).count() > 1 {
            let own = format!("{} ({})", names[at], run.name);
            names[at] = own;
        }
    }
    names
}

/// Every planned repeat of a pair with its scored attempt.
struct Outcomes<'a> {
    repeats: Vec<Option<&'a SessionResult>>,
    has_persona: bool,
}

impl Outcomes<'_> {
    fn passes(&self) -> Vec<bool> {
        self.repeats.iter().map(|result| result.is_some_and(passed)).collect()
    }

    fn cell(&self) -> Cell {
        let mut reasons = Vec::new();
        for result in &self.repeats {
            let reason = match result {
                None => "not run".to_owned(),
                Some(result) if passed(result) => continue,
                Some(result) => why(result, self.has_persona),
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let passes = self.passes();
        Cell { passed: count(&passes), planned: passes.len() as u32, reasons }
    }
}

fn outcomes<'a>(run: &ComparedRun<'a>) -> BTreeMap<&'a PairId, Outcomes<'a>> {
    let has_persona = run.plan.arm.has_persona();
    let mut all: BTreeMap<&PairId, Outcomes<'_>> = BTreeMap::new();
    for spec in &run.plan.specs {
        let is_own =
            |result: &&SessionResult| result.pair == spec.pair && result.repeat == spec.repeat;
        let repeats = &mut all
            .entry(&spec.pair)
            .or_insert(Outcomes { repeats: Vec::new(), has_persona })
            .repeats;
        repeats.push(run.results.iter().find(is_own));
    }
    all
}

fn passed(result: &SessionResult) -> bool {
    let alone = result.completed == Some(true) && result.within_budget && result.valid;
    result.joint.unwrap_or(alone)
}

fn count(passes: &[bool]) -> u32 {
    passes.iter().filter(|passed| **passed).count() as u32
}

/// Why a repeat did not pass, in few words: its class, and what made it.
fn why(result: &SessionResult, has_persona: bool) -> String {
    let mut parts = vec![class_name(result.class, has_persona).to_owned()];
    if result.completed == Some(false) && result.class != Class::PersonalizationOnly {
        parts.push("tests".to_owned());
    }
    let missed = result.requirements.iter().filter(|requirement| {
        requirement.mandatory
            && !matches!(
                requirement.outcome,
                Outcome::Passed | Outcome::Vacuous | Outcome::NotGraded
            )
    });
    parts.extend(missed.map(|requirement| match requirement.outcome {
        Outcome::NotDelivered => format!("{} not told", requirement.id),
        Outcome::Undecided(_) => format!("{} undecided", requirement.id),
        _ => requirement.id.to_string(),
    }));
    if !result.within_budget {
        parts.push(format!("over budget ({})", result.ending.name()));
    }
    parts.extend(result.counting_flags().map(|flag| flag.name().to_owned()));
    match parts.split_first() {
        Some((class, [])) => class.clone(),
        Some((class, rest)) => format!("{class}: {}", rest.join(", ")),
        None => String::new(),
    }
}

fn row(run: String, name: String, passes: &[Vec<bool>], standing: Option<Standing>) -> ComparedRow {
    let all: Vec<bool> = passes.iter().flatten().copied().collect();
    let shares = passes.iter().map(|repeats| f64::from(count(repeats)) / repeats.len() as f64);
    ComparedRow {
        run,
        name,
        passed: domain::score::Rate { count: count(&all), of: all.len() as u32 }.into(),
        percent: points(shares.sum::<f64>() / passes.len() as f64),
        rank_best: standing.map(|standing| standing.ranks.best),
        rank_worst: standing.map(|standing| standing.ranks.worst),
        with_best: standing.map(|standing| standing.is_with_best),
    }
}

/// Hundredths of a share, to a tenth.
fn points(share: f64) -> f64 {
    let rounded = (share * 1000.0).round() / 10.0;
    // No minus before a zero.
    if rounded == 0.0 { 0.0 } else { rounded }
}

fn comparisons(
    names: &[String],
    passes: &[Vec<Vec<bool>>],
    strata: &[usize],
    pairing: Pairing,
    seed: u64,
) -> Vec<Comparison> {
    let shares = |rows: &[usize]| -> Vec<Vec<f64>> {
        let share = |repeats: &Vec<bool>| f64::from(count(repeats)) / repeats.len().max(1) as f64;
        (0..strata.len())
            .map(|pair| rows.iter().map(|row| share(&passes[*row][pair])).collect())
            .collect()
    };
    let firsts = match pairing {
        Pairing::All => 0..names.len(),
        Pairing::WithFirst => 0..1,
    };
    let twos: Vec<(usize, usize)> = firsts
        .flat_map(|first| (first + 1..names.len()).map(move |second| (first, second)))
        .collect();
    let mut all: Vec<Comparison> = twos
        .iter()
        .map(|(first, second)| {
            let (a, b) = (&passes[*first], &passes[*second]);
            let more = |a: &[Vec<bool>], b: &[Vec<bool>]| {
                a.iter()
                    .zip(b)
                    .filter(|(a, b)| count(a) * b.len() as u32 > count(b) * a.len() as u32)
                    .count() as u32
            };
            let both = shares(&[*first, *second]);
            let difference =
                both.iter().map(|pair| pair[0] - pair[1]).sum::<f64>() / both.len() as f64;
            let is_single = a.iter().chain(b).all(|repeats| repeats.len() == 1);
            let counts = Discordant {
                of: both.len() as u32,
                first_only: more(a, b),
                second_only: more(b, a),
            };
            let (interval, p) = if is_single {
                (tango(counts), counts.exact_p())
            } else {
                (paired_bootstrap([a, b], strata, DRAWS, seed), max_t(&both, DRAWS, seed).p(0, 1))
            };
            let interval = interval.unwrap_or(Interval { low: -1.0, high: 1.0 });
            Comparison {
                first: names[*first].clone(),
                second: names[*second].clone(),
                first_more: counts.first_only,
                second_more: counts.second_only,
                points: points(difference),
                low_points: points(interval.low),
                high_points: points(interval.high),
                p,
                adjusted_p: p,
            }
        })
        .collect();
    let adjusted: Vec<f64> = match pairing {
        // One comparison is a family of itself.
        _ if all.len() < 2 => return all,
        Pairing::WithFirst => holm(&all.iter().map(|one| one.p).collect::<Vec<_>>()),
        Pairing::All => {
            let every: Vec<usize> = (0..names.len()).collect();
            let family = max_t(&shares(&every), DRAWS, seed);
            twos.iter().map(|(first, second)| family.p(*first, *second)).collect()
        }
    };
    all.iter_mut().zip(adjusted).for_each(|(one, p)| one.adjusted_p = p.max(one.p));
    all
}

/// The comparison as plain tables.
pub fn compare_tables(context: &CompareContext) -> Vec<Table> {
    let strings = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut notes = vec![format!(
        "{} pairs that every row was assigned; ranks are those of 95 % of {} draws (seed {}); rows that cannot be told from the best at 5 % are marked",
        context.pairs, context.draws, context.seed
    )];
    notes.extend(context.ranks_withheld.iter().map(|why| format!("ranks are withheld: {why}")));
    notes.extend(context.differs.iter().map(|difference| {
        format!(
            "the rows differ in {}: this compares more than configurations",
            difference.what.name()
        )
    }));
    let rows = Table {
        title: "Rows".to_owned(),
        head: strings(&["row", "run", "passed", "ranks", "with the best"]),
        rows: context
            .rows
            .iter()
            .map(|row| {
                let ranks = match (row.rank_best, row.rank_worst) {
                    (Some(best), Some(worst)) if best == worst => best.to_string(),
                    (Some(best), Some(worst)) => format!("{best}–{worst}"),
                    _ => "–".to_owned(),
                };
                let mark = row.with_best.map_or("–", |with| if with { "yes" } else { "no" });
                let passed = format!("{}/{}", row.passed.count, row.passed.of);
                vec![row.name.clone(), row.run.clone(), passed, ranks, mark.to_owned()]
            })
            .collect(),
        notes,
    };
    let adjusted = context.comparisons.len() > 1;
    let mut head = strings(&["first − second", "more passed", "points", "95 % interval", "p"]);
    if adjusted {
        head.push("adjusted p".to_owned());
    }
    let comparisons = Table {
        title: "Differences".to_owned(),
        head,
        rows: context
            .comparisons
            .iter()
            .map(|one| {
                let mut cells = vec![
                    format!("{} − {}", one.first, one.second),
                    format!("{} – {}", one.first_more, one.second_more),
                    format!("{:+.1}", one.points),
                    format!("{:+.1} to {:+.1}", one.low_points, one.high_points),
                    p_text(one.p),
                ];
                if adjusted {
                    cells.push(p_text(one.adjusted_p));
                }
                cells
            })
            .collect(),
        notes: if adjusted {
            vec![format!("adjusted by {}", context.adjusted_by)]
        } else {
            Vec::new()
        },
    };
    let flips = Table {
        title: "What flipped".to_owned(),
        head: std::iter::once("pair".to_owned())
            .chain(context.rows.iter().map(|row| row.name.clone()))
            .collect(),
        rows: context
            .flips
            .iter()
            .map(|line| {
                let cell = |cell: &Cell| {
                    let counts = format!("{}/{}", cell.passed, cell.planned);
                    match cell.reasons.as_slice() {
                        [] => counts,
                        reasons => format!("{counts} {}", reasons.join("; ")),
                    }
                };
                std::iter::once(line.pair.clone()).chain(line.cells.iter().map(cell)).collect()
            })
            .collect(),
        notes: vec!["`pcb show RUN PAIR` tells a session; RUN is in the first table".to_owned()],
    };
    vec![rows, comparisons, flips]
}

fn p_text(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}
