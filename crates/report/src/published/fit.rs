//! What a table of figures must be before anything is counted in it ([`fit`]): percentages that are such, denominators
//! that count something, rows that stand once and speak of the same suites.

use std::collections::BTreeSet;

use super::{
    Published, PublishedError, TableName,
    data::{BySuite, PersonaCell},
};

/// Refuses figures that nothing can be recomputed from.
///
/// # Errors
/// The first place, with what must stand there.
pub(super) fn fit(published: &Published) -> Result<(), PublishedError> {
    names(published)?;
    let board = &published.leaderboard;
    let name = TableName::Leaderboard;
    counts(name, "assigned", board.assigned)?;
    for (suite, assigned) in &board.suites_assigned {
        counts(name, suite, *assigned)?;
    }
    let mut seen = BTreeSet::new();
    for row in &board.rows {
        let place = format!("{} {}", row.model, row.effort);
        if !seen.insert(place.clone()) {
            return unfit(name, place, "this configuration stands there twice; keep one row");
        }
        percent(name, &place, row.joint_percent)?;
        if !row.suites_percent.keys().eq(board.suites_assigned.keys()) {
            return unfit(name, place, "its suites are not those of `suites_assigned`");
        }
        for (suite, figure) in &row.suites_percent {
            percent(name, &format!("{place}, {suite}"), *figure)?;
        }
    }
    for row in &published.observations.rows {
        let place = format!("{} {}, {}", row.model, row.effort, row.protocol);
        percent(TableName::Observations, &place, row.percent)?;
        if !published.observations.protocols.contains_key(&row.protocol) {
            return unfit(TableName::Observations, place, "its protocol is not among `protocols`");
        }
    }
    for row in &published.personas.rows {
        cells(&row.persona, &row.suites)?;
    }
    cells("total", &published.personas.total)?;
    counts(TableName::Ablations, "assigned", published.ablations.assigned)?;
    for row in &published.ablations.rows {
        let figures =
            [Some(row.joint_percent), Some(row.completion_percent), row.personalization_percent];
        for figure in figures.into_iter().flatten() {
            percent(TableName::Ablations, &row.arm, figure)?;
        }
    }
    for row in &published.conditional.rows {
        let place = format!("{} {} {}x", row.model, row.effort, row.budget_multiplier);
        counts(TableName::Conditional, &place, row.common_tasks)?;
        percent(TableName::Conditional, &place, row.conditional_percent)?;
    }
    Ok(())
}

fn names(published: &Published) -> Result<(), PublishedError> {
    let ids = [
        (TableName::Composition, &published.composition.id),
        (TableName::Leaderboard, &published.leaderboard.id),
        (TableName::Observations, &published.observations.id),
        (TableName::Personas, &published.personas.id),
        (TableName::Ablations, &published.ablations.id),
        (TableName::Conditional, &published.conditional.id),
        (TableName::Watchdogs, &published.watchdogs.id),
    ];
    match ids.into_iter().find(|(name, id)| name.name() != id.as_str()) {
        Some((name, id)) => unfit(name, format!("id `{id}`"), "the id must be the file's name"),
        None => Ok(()),
    }
}

fn cells(row: &str, suites: &BySuite<PersonaCell>) -> Result<(), PublishedError> {
    for (suite, cell) in suites {
        let place = format!("{row}, {suite}");
        counts(TableName::Personas, &place, cell.assigned)?;
        percent(TableName::Personas, &place, cell.percent)?;
        if cell.joint > cell.assigned {
            return unfit(TableName::Personas, place, "more joint passes than assigned pairs");
        }
    }
    Ok(())
}

fn counts(table: TableName, place: &str, of: u32) -> Result<(), PublishedError> {
    if of > 0 { Ok(()) } else { unfit(table, place.to_owned(), "a denominator must be at least 1") }
}

fn percent(table: TableName, place: &str, figure: f64) -> Result<(), PublishedError> {
    if (0.0..=100.0).contains(&figure) {
        return Ok(());
    }
    unfit(table, place.to_owned(), "a percentage must lie between 0 and 100")
}

fn unfit(table: TableName, place: String, what: &'static str) -> Result<(), PublishedError> {
    Err(PublishedError::Unfit { table: table.name(), place, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Published);

    #[test]
    fn what_counts_nothing_is_refused_with_its_place() {
        let cases: [(Change, &str); 8] = [
            (|p| p.leaderboard.assigned = 0, "leaderboard.json: assigned: a denominator"),
            (
                |p| p.leaderboard.rows[0].joint_percent = -5.0,
                "leaderboard.json: Gemini 4 Argon medium: a percentage",
            ),
            (
                |p| p.leaderboard.rows[1].effort = "medium".to_owned(),
                "leaderboard.json: Gemini 4 Argon medium: this configuration stands there twice",
            ),
            (
                |p| {
                    p.leaderboard.rows[0].suites_percent.remove("deepswe");
                },
                "leaderboard.json: Gemini 4 Argon medium: its suites",
            ),
            (|p| p.personas.id = "leaderboard".to_owned(), "personas.json: id `leaderboard`"),
            (
                |p| p.personas.rows[0].suites.get_mut("deepswe").expect("a cell").joint = 6,
                "personas.json: student requiring explanations, deepswe: more joint",
            ),
            (
                |p| p.observations.rows[0].protocol = "other".to_owned(),
                "observations.json: GPT-6 Luna medium, other: its protocol",
            ),
            (
                |p| p.conditional.rows[0].common_tasks = 0,
                "conditional.json: Claude Fable 5.1 max 1x: a denominator",
            ),
        ];
        for (change, expect) in cases {
            let mut published = Published::bundled().expect("the files read");
            change(&mut published);
            let found = fit(&published).expect_err(expect).to_string();
            assert!(found.starts_with(expect), "{found}");
        }
    }
}
