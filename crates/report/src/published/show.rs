//! The published tables as plain tables of text ([`published_tables`]), with the intervals that the paper does not give.

use domain::score::Rate;

use super::data::{Published, TableName};
use crate::{
    context::Table,
    statistics::{Interval, wilson},
};

/// A published table, or two where its protocols need one of their own.
pub fn published_tables(published: &Published, name: TableName) -> Vec<Table> {
    let (head, rows, source, notes, title) = match name {
        TableName::Composition => {
            let t = &published.composition;
            let mut rows: Vec<Vec<String>> = t
                .rows
                .iter()
                .map(|row| vec![row.suite.clone(), row.full.to_string(), row.lite.to_string()])
                .collect();
            let totals = [
                ("pairs in all", t.pairs),
                ("requirements", t.requirements),
                ("persona ids", t.persona_ids),
            ];
            for (what, of) in totals {
                rows.push(vec![what.to_owned(), of.full.to_string(), of.lite.to_string()]);
            }
            (strings(&["", "Full", "Lite"]), rows, t.source(), &t.notes, &t.title)
        }
        TableName::Leaderboard => return leaderboard(published),
        TableName::Observations => return observations(published),
        TableName::Personas => return personas(published),
        TableName::Ablations => {
            let t = &published.ablations;
            let rows = t.rows.iter().map(|row| {
                let figures = [
                    Some(row.joint_percent),
                    Some(row.completion_percent),
                    row.personalization_percent,
                ];
                let figures = figures.map(|figure| figure.map_or("–".to_owned(), percent));
                [vec![row.arm.clone()], figures.to_vec()].concat()
            });
            let head = strings(&["arm", "joint %", "completion %", "personalization %"]);
            (head, rows.collect(), t.source(), &t.notes, &t.title)
        }
        TableName::Conditional => {
            let t = &published.conditional;
            let rows = t.rows.iter().map(|row| {
                vec![
                    row.model.clone(),
                    row.effort.clone(),
                    format!("{}x", row.budget_multiplier),
                    row.common_tasks.to_string(),
                    percent(row.conditional_percent),
                ]
            });
            let head = strings(&["model", "effort", "budget", "common tasks", "conditional %"]);
            (head, rows.collect(), t.source(), &t.notes, &t.title)
        }
        TableName::Watchdogs => {
            let t = &published.watchdogs;
            let rows = t.rows.iter().map(|row| {
                let limit = match (row.limit_sec, row.at_least_sec, row.beyond_verifier_timeout_sec)
                {
                    (Some(limit), ..) => format!("{limit} s"),
                    (None, Some(least), Some(beyond)) => {
                        format!("max({least}, verifier timeout + {beyond}) s")
                    }
                    _ => "the task's own".to_owned(),
                };
                vec![row.phase.clone(), limit, row.exhaustion.clone(), row.grades.clone()]
            });
            let head = strings(&["phase", "limit", "exhaustion is", "grades"]);
            (head, rows.collect(), t.source(), &t.notes, &t.title)
        }
    };
    vec![table(title, head, rows, &source, notes)]
}

fn leaderboard(published: &Published) -> Vec<Table> {
    let t = &published.leaderboard;
    let suites: Vec<&String> = t.suites_assigned.keys().collect();
    let mut head = strings(&["model", "effort", "joint %", "95 % interval"]);
    head.extend(t.suites_assigned.iter().map(|(suite, of)| format!("{suite} % of {of}")));
    let mut notes = t.notes.clone();
    let rows = t.rows.iter().map(|row| {
        let mut cells = vec![
            row.model.clone(),
            row.effort.clone(),
            percent(row.joint_percent),
            interval(row.joint_percent, t.assigned),
        ];
        cells.extend(suites.iter().map(|suite| {
            row.suites_percent.get(*suite).map_or("–".to_owned(), |figure| percent(*figure))
        }));
        cells
    });
    let rows = rows.collect();
    notes.extend(t.rows.iter().filter_map(|row| {
        row.note.as_ref().map(|note| format!("{} {}: {note}", row.model, row.effort))
    }));
    notes.push(format!(
        "the intervals are ours: Wilson over the {} assigned pairs; they are not in the document",
        t.assigned
    ));
    vec![table(&t.title, head, rows, &t.source(), &notes)]
}

fn observations(published: &Published) -> Vec<Table> {
    let t = &published.observations;
    let rows = t.rows.iter().map(|row| {
        vec![
            row.model.clone(),
            row.effort.clone(),
            row.protocol.clone(),
            percent(row.percent),
            row.note.clone().unwrap_or_default(),
        ]
    });
    let head = strings(&["model", "effort", "protocol", "joint %", "apart by"]);
    let mut tables = vec![table(&t.title, head, rows.collect(), &t.source(), &t.notes)];
    for (name, facts) in &t.protocols {
        let rows = facts.iter().map(|(what, value)| vec![what.replace('_', " "), value.clone()]);
        let title = format!("Protocol `{name}`");
        let head = strings(&["", "value"]);
        tables.push(Table { title, head, rows: rows.collect(), notes: Vec::new() });
    }
    tables
}

fn personas(published: &Published) -> Vec<Table> {
    let t = &published.personas;
    let suites: Vec<&String> = t.total.keys().collect();
    let mut head = strings(&["persona", "all"]);
    head.extend(suites.iter().map(|suite| (*suite).clone()));
    let all = t.rows.iter().map(|row| (&row.persona, &row.suites));
    let total = "total".to_owned();
    let rows = all.chain([(&total, &t.total)]).map(|(persona, cells)| {
        let sum = cells
            .values()
            .fold((0, 0), |(joint, assigned), cell| (joint + cell.joint, assigned + cell.assigned));
        let mut row = vec![persona.clone(), format!("{}/{}", sum.0, sum.1)];
        row.extend(suites.iter().map(|suite| {
            cells
                .get(*suite)
                .map_or("–".to_owned(), |cell| format!("{}/{}", cell.joint, cell.assigned))
        }));
        row
    });
    let mut notes = t.notes.clone();
    notes.push("the column `all` is our sum over the suites".to_owned());
    vec![table(&t.title, head, rows.collect(), &t.source(), &notes)]
}

fn table(
    title: &str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    source: &super::Source,
    notes: &[String],
) -> Table {
    let mut notes = notes.to_vec();
    notes.push(format!(
        "{}, published {}; {}; compared {}",
        source.document, source.published, source.table, source.reviewed
    ));
    Table { title: title.to_owned(), head, rows, notes }
}

fn strings(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|&cell| cell.to_owned()).collect()
}

fn percent(figure: f64) -> String {
    format!("{figure:.1}")
}

fn interval(percent: f64, of: u32) -> String {
    // A percentage of at most 100 of a `u32`, which fits.
    let count = (percent / 100.0 * f64::from(of)).round() as u32;
    wilson(Rate { count, of }).map_or("–".to_owned(), |Interval { low, high }| {
        format!("{:.1}–{:.1}", low * 100.0, high * 100.0)
    })
}
