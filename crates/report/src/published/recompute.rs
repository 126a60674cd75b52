//! Recomputes published figures from their parts and from other tables ([`recompute`]) and says which differ
//! ([`Difference`]); nothing is corrected.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::data::{BySuite, PersonaCell, Published, TableName};

/// What came of recomputing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recomputed {
    /// How many printed figures were recomputed, by table.
    pub figures: BTreeMap<&'static str, u32>,
    /// Those that differ.
    pub differences: Vec<Difference>,
}

/// A printed figure that is not what its parts give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The table.
    pub table: &'static str,
    /// Its row and column.
    pub place: String,
    /// What is printed there.
    pub printed: String,
    /// What the parts give.
    pub recomputed: String,
    /// The parts.
    pub parts: String,
}

/// Recomputes all that has parts: sums, percentages of counts, and figures that stand in two tables.
pub fn recompute(published: &Published) -> Recomputed {
    let mut all = Recomputed::default();
    composition(published, &mut all);
    leaderboard(published, &mut all);
    observations(published, &mut all);
    personas(published, &mut all);
    ablations(published, &mut all);
    conditional(published, &mut all);
    all
}

impl Recomputed {
    fn compare<T: PartialEq + ToString>(
        &mut self,
        table: TableName,
        place: impl Into<String>,
        printed: T,
        recomputed: T,
        parts: impl Into<String>,
    ) {
        *self.figures.entry(table.name()).or_default() += 1;
        if printed != recomputed {
            self.differences.push(Difference {
                table: table.name(),
                place: place.into(),
                printed: printed.to_string(),
                recomputed: recomputed.to_string(),
                parts: parts.into(),
            });
        }
    }

    /// A printed percentage must be that of a whole number of cases; answers that number.
    fn count(&mut self, table: TableName, place: &str, percent: f64, of: u32) -> Option<u32> {
        let nearest = (percent / 100.0 * f64::from(of)).round();
        let again = one_decimal(100.0 * nearest / f64::from(of));
        let parts = format!("{nearest:.0} of {of} is the nearest count");
        self.compare(table, place, decimal(percent), decimal(again), parts);
        // A count of at most `of`, which fits.
        (decimal(percent) == decimal(again)).then_some(nearest as u32)
    }
}

fn composition(published: &Published, all: &mut Recomputed) {
    let table = &published.composition;
    let sum = |of: fn(&super::SuitePairs) -> u32| table.rows.iter().map(of).sum::<u32>();
    let columns = [
        ("Full", table.pairs.full, sum(|row| row.full)),
        ("Lite", table.pairs.lite, sum(|row| row.lite)),
    ];
    for (column, printed, added) in columns {
        let parts = "sum over the suites";
        let place = format!("pairs, {column}");
        all.compare(TableName::Composition, place, printed, added, parts);
    }
    let assigned: BySuite<u32> =
        table.rows.iter().map(|row| (row.suite.clone(), row.lite)).collect();
    for (suite, printed) in &published.leaderboard.suites_assigned {
        let lite = assigned.get(suite).copied().unwrap_or_default();
        let place = format!("assigned pairs of {suite}");
        all.compare(TableName::Leaderboard, place, *printed, lite, "Lite of the composition");
    }
}

fn leaderboard(published: &Published, all: &mut Recomputed) {
    let table = &published.leaderboard;
    for row in &table.rows {
        let place = format!("{} {}", row.model, row.effort);
        let mut counts = Vec::new();
        for (suite, assigned) in &table.suites_assigned {
            let percent = row.suites_percent.get(suite).copied().unwrap_or_default();
            let place = format!("{place}, {suite}");
            counts.push(all.count(TableName::Leaderboard, &place, percent, *assigned));
        }
        let total = all.count(
            TableName::Leaderboard,
            &format!("{place}, joint"),
            row.joint_percent,
            table.assigned,
        );
        let counts: Option<Vec<u32>> = counts.into_iter().collect();
        if let (Some(counts), Some(total)) = (counts, total) {
            let shown: Vec<String> = counts.iter().map(u32::to_string).collect();
            let suites: Vec<&str> = table.suites_assigned.keys().map(String::as_str).collect();
            let parts = format!("{} in {}", shown.join(" + "), suites.join(", "));
            let sum = counts.iter().sum();
            all.compare(
                TableName::Leaderboard,
                format!("{place}, joint passes"),
                total,
                sum,
                parts,
            );
        }
    }
}

fn observations(published: &Published, all: &mut Recomputed) {
    let name = TableName::Observations;
    let printed: BTreeMap<(&str, &str), f64> = published
        .leaderboard
        .rows
        .iter()
        .map(|row| ((row.model.as_str(), row.effort.as_str()), row.joint_percent))
        .collect();
    let opening = published.ablations.rows.iter().find(|row| row.arm == "opening");
    let mut seen = BTreeSet::new();
    for row in &published.observations.rows {
        let place = format!("{} {}, {}", row.model, row.effort, row.protocol);
        let (other, parts) = match row.protocol.as_str() {
            "progressive" => {
                let key = (row.model.as_str(), row.effort.as_str());
                seen.insert(key);
                (printed.get(&key).copied(), "the leaderboard's row")
            }
            _ => (opening.map(|row| row.joint_percent), "the ablation's row"),
        };
        let other = other.map_or_else(|| "no such row".to_owned(), decimal);
        all.compare(name, place, decimal(row.percent), other, parts);
    }
    let missing = printed.keys().filter(|key| !seen.contains(*key)).count();
    let parts = "rows of the leaderboard without an observation";
    all.compare(name, "observations of the leaderboard", 0, missing, parts);
}

fn personas(published: &Published, all: &mut Recomputed) {
    let name = TableName::Personas;
    let table = &published.personas;
    let mut added: BySuite<(u32, u32)> = BySuite::new();
    for row in &table.rows {
        for (suite, cell) in &row.suites {
            persona_cell(all, &format!("{}, {suite}", row.persona), cell);
            let sum = added.entry(suite.clone()).or_default();
            *sum = (sum.0 + cell.joint, sum.1 + cell.assigned);
        }
    }
    for (suite, cell) in &table.total {
        let place = format!("total, {suite}");
        persona_cell(all, &place, cell);
        let (joint, assigned) = added.get(suite).copied().unwrap_or_default();
        let printed = format!("{}/{}", cell.joint, cell.assigned);
        all.compare(name, &place, printed, format!("{joint}/{assigned}"), "sum over the personas");
        let suites = &published.leaderboard.suites_assigned;
        let other = suites.get(suite).copied().unwrap_or_default();
        let parts = "assigned pairs of the leaderboard";
        all.compare(name, format!("{place}, assigned"), cell.assigned, other, parts);
    }
    let row = published
        .leaderboard
        .rows
        .iter()
        .find(|row| row.model == table.model && row.effort == table.effort);
    for (suite, cell) in &table.total {
        let other = row.and_then(|row| row.suites_percent.get(suite).copied());
        let other = other.map_or_else(|| "no such row".to_owned(), decimal);
        let place = format!("total, {suite}, percent");
        all.compare(name, place, decimal(cell.percent), other, "the leaderboard's row");
    }
}

fn persona_cell(all: &mut Recomputed, place: &str, cell: &PersonaCell) {
    let again = one_decimal(100.0 * f64::from(cell.joint) / f64::from(cell.assigned));
    let parts = format!("{}/{}", cell.joint, cell.assigned);
    all.compare(TableName::Personas, place, decimal(cell.percent), decimal(again), parts);
}

fn ablations(published: &Published, all: &mut Recomputed) {
    let name = TableName::Ablations;
    let table = &published.ablations;
    for row in &table.rows {
        let figures = [
            ("joint", Some(row.joint_percent)),
            ("completion", Some(row.completion_percent)),
            ("personalization", row.personalization_percent),
        ];
        for (column, percent) in figures {
            let Some(percent) = percent else { continue };
            all.count(name, &format!("{}, {column}", row.arm), percent, table.assigned);
            // A joint pass needs both, so it is in neither case the larger.
            let bound = row.joint_percent.min(percent);
            let place = format!("{}, joint within {column}", row.arm);
            all.compare(name, place, decimal(row.joint_percent), decimal(bound), column);
        }
    }
    let progressive = table.rows.iter().find(|row| row.arm == "progressive");
    let rows = &published.leaderboard.rows;
    let same = rows.iter().find(|row| row.model == table.model && row.effort == table.effort);
    if let (Some(arm), Some(row)) = (progressive, same) {
        let (printed, other) = (decimal(arm.joint_percent), decimal(row.joint_percent));
        all.compare(name, "progressive, joint", printed, other, "the leaderboard's row");
    }
}

fn conditional(published: &Published, all: &mut Recomputed) {
    for row in &published.conditional.rows {
        let place = format!("{} {} {}x", row.model, row.effort, row.budget_multiplier);
        all.count(TableName::Conditional, &place, row.conditional_percent, row.common_tasks);
    }
}

fn one_decimal(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

fn decimal(percent: f64) -> String {
    format!("{percent:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(found: &Recomputed) -> Vec<String> {
        let one = |d: &Difference| {
            format!("{}: {}: {} but {}", d.table, d.place, d.printed, d.recomputed)
        };
        found.differences.iter().map(one).collect()
    }

    #[test]
    fn two_rows_of_the_paper_do_not_add_up() {
        let found = recompute(&Published::bundled().expect("the files read"));
        assert_eq!(
            places(&found),
            [
                "leaderboard: Claude Opus 5.5 medium, joint passes: 40 but 35",
                "leaderboard: Claude Opus 5.5 high, joint passes: 39 but 34",
            ]
        );
        let figures: Vec<(&str, u32)> = found.figures.iter().map(|(t, n)| (*t, *n)).collect();
        let expect = [
            ("ablations", 17),
            ("composition", 2),
            ("conditional", 13),
            ("leaderboard", 5 + 28 * 7),
            ("observations", 30),
            ("personas", 32 + 5 * 4),
        ];
        assert_eq!(figures, expect);
    }

    #[test]
    fn the_tables_are_whole() {
        let all = Published::bundled().expect("the files read");
        let rows = [
            all.composition.rows.len(),
            all.leaderboard.rows.len(),
            all.observations.rows.len(),
            all.personas.rows.len(),
            all.ablations.rows.len(),
            all.conditional.rows.len(),
            all.watchdogs.rows.len(),
        ];
        assert_eq!(rows, [5, 28, 29, 10, 3, 13, 3]);
        for row in &all.observations.rows {
            assert!(all.observations.protocols.contains_key(&row.protocol), "{}", row.model);
        }
        for row in &all.leaderboard.rows {
            assert!(row.suites_percent.keys().eq(all.leaderboard.suites_assigned.keys()));
        }
    }

    type Change = fn(&mut Published);

    /// Each kind of figure, once changed, is found.
    #[test]
    fn a_changed_figure_is_found() {
        let cases: [(Change, &str); 8] = [
            (|p| p.composition.rows[0].full += 1, "composition: pairs, Full: 231 but 232"),
            (
                |p| p.leaderboard.rows[0].joint_percent = 18.0,
                "leaderboard: Gemini 4 Argon medium, joint passes: 18 but 19",
            ),
            (
                |p| {
                    p.leaderboard.rows[0].suites_percent.insert("deepswe".to_owned(), 11.0);
                },
                "leaderboard: Gemini 4 Argon medium, deepswe: 11.0 but 10.7",
            ),
            (
                |p| p.observations.rows[0].percent = 21.0,
                "observations: GPT-6 Luna medium, opening: 21.0 but 20.0",
            ),
            (
                |p| {
                    p.observations.rows.pop();
                },
                "observations: observations of the leaderboard: 0 but 1",
            ),
            (
                |p| {
                    let cells = &mut p.personas.rows[0].suites;
                    cells.get_mut("deepswe").expect("a cell").joint = 2;
                },
                "personas: total, deepswe: 2/28 but 3/28",
            ),
            (
                |p| p.ablations.rows[0].completion_percent = 18.0,
                "ablations: progressive, joint within completion: 19.0 but 18.0",
            ),
            (
                |p| p.conditional.rows[1].conditional_percent = 85.0,
                "conditional: Claude Opus 5.5 max 1x: 85.0 but 85.7",
            ),
        ];
        for (change, expect) in cases {
            let mut published = Published::bundled().expect("the files read");
            change(&mut published);
            let found = places(&recompute(&published));
            assert!(found.iter().any(|one| one == expect), "{expect}: {found:#?}");
        }
    }
}
