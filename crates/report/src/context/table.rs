//! A [`GroupContext`] as plain tables, the same for terminal and Markdown.

use std::collections::BTreeSet;

use super::{
    group::{
        GroupContext, NamedCount, RateContext, RequirementsContext, RowContext, StratumContext,
    },
    model_use::{self, UseSum, usd_words},
};

/// Below so many cases a percentage says more than is known: only counts and the interval are shown.
const PERCENT_FROM: u32 = 20;

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// The leaderboard.
    Results,
    /// Completion by personalization.
    TwoByTwo,
    /// Classes that add up to the denominator.
    Census,
    /// Parts of the above, validity, load.
    Detail,
}

/// A titled table of text cells; the first column is a name, the others are figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows as long as the head.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// All tables of a group, the leaderboard first.
pub fn tables(group: &GroupContext) -> Vec<Table> {
    tables_by_kind(group).into_iter().map(|(_, table)| table).collect()
}

/// The same, each with what it is about.
pub(crate) fn tables_by_kind(group: &GroupContext) -> Vec<(TableKind, Table)> {
    let mut all = vec![(TableKind::Results, leaderboard(group))];
    if group.rows.iter().any(|row| row.two_by_two.is_some()) {
        all.push((TableKind::TwoByTwo, two_by_two(group)));
    }
    let mut details = vec![
        strata(group, "Headline by suite", |row| &row.suites),
        strata(group, "Headline by persona", |row| &row.personas),
    ];
    if group.rows.iter().any(|row| !row.areas.is_empty()) {
        details.push(areas(group));
    }
    all.extend(details.into_iter().map(|table| (TableKind::Detail, table)));
    all.push((TableKind::Census, census(group)));
    all.push((TableKind::Detail, flags(group)));
    all.push((TableKind::Detail, budgets(group)));
    if group.rows.iter().any(|row| row.model_use.is_some()) {
        all.push((TableKind::Detail, model_calls(group)));
    }
    all
}

fn leaderboard(group: &GroupContext) -> Table {
    let has_persona = group.rows.iter().any(|row| row.joint.is_some());
    let mut head = vec!["configuration"];
    if has_persona {
        head.extend(["joint pass", "completion", "personalization", "requirements passed"]);
    } else {
        head.extend(["completed, within budget, valid", "completion"]);
    }
    let rows = group.rows.iter().map(|row| {
        let mut cells = vec![group.row_name(row)];
        if has_persona {
            cells.push(row.joint.as_ref().map_or_else(dash, rate));
            cells.push(rate(&row.completion));
            cells.push(row.personalization.as_ref().map_or_else(dash, rate));
            cells.push(rate(&row.requirements.passed));
        } else {
            cells.push(rate(&row.completed_valid));
            cells.push(rate(&row.completion));
        }
        cells
    });
    let mut notes = vec![
        "count/denominator with the Wilson 95 % interval in percent; every repeat that did not \
              pass, run or finish counts as not passed"
            .to_owned(),
    ];
    if group.rows.iter().any(|row| row.upper_bound.count > headline(row).count) {
        let bounds: Vec<String> = group
            .rows
            .iter()
            .map(|row| {
                format!("{} {}/{}", group.row_name(row), row.upper_bound.count, row.upper_bound.of)
            })
            .collect();
        notes.push(format!(
            "if every loss that is not the agent's had passed: {}",
            bounds.join(", ")
        ));
    }
    let excluded: BTreeSet<&str> =
        group.rows.iter().flat_map(|row| &row.excluded).map(String::as_str).collect();
    if !excluded.is_empty() {
        let pairs: Vec<&str> = excluded.into_iter().collect();
        notes.push(format!(
            "never run in the opening arm, because what they ask refers to its telling or to a permission, and counted as not \
             passed: {}",
            pairs.join(", ")
        ));
    }
    let in_place: Vec<String> = group
        .rows
        .iter()
        .filter(|row| row.in_place > 0)
        .map(|row| format!("{} {}", group.row_name(row), row.in_place))
        .collect();
    if !in_place.is_empty() {
        notes.push(format!(
            "sessions verified in place, beside what the agent had started: {}",
            in_place.join(", ")
        ));
    }
    let played: Vec<String> = group
        .rows
        .iter()
        .filter(|row| row.header.is_a_person)
        .map(|row| group.row_name(row))
        .collect();
    if !played.is_empty() {
        notes.push(format!(
            "played by a person, which is no result of an agent and is ranked with none: {}",
            played.join(", ")
        ));
    }
    if !group.differs.is_empty() {
        notes.push(format!(
            "these rows do not compare: they differ in {}",
            group.differs.join(", ")
        ));
    }
    table("Results", head, rows, notes)
}

fn headline(row: &RowContext) -> &RateContext {
    row.joint.as_ref().unwrap_or(&row.completed_valid)
}

fn two_by_two(group: &GroupContext) -> Table {
    let rows = group.rows.iter().filter_map(|row| {
        let counts = row.two_by_two.as_ref()?;
        Some(vec![
            group.row_name(row),
            counts.both.to_string(),
            counts.completed_only.to_string(),
            counts.personalized_only.to_string(),
            counts.neither.to_string(),
            counts.ungraded.to_string(),
        ])
    });
    let head = vec![
        "configuration",
        "both",
        "completed only",
        "personalized only",
        "neither",
        "not graded",
    ];
    let note = "over all graded sessions, those over budget included".to_owned();
    table("Completion × personalization", head, rows, vec![note])
}

fn strata(
    group: &GroupContext,
    title: &str,
    of: impl Fn(&RowContext) -> &Vec<StratumContext>,
) -> Table {
    let mut names: Vec<String> = Vec::new();
    for stratum in group.rows.iter().flat_map(&of) {
        if !names.contains(&stratum.name) {
            names.push(stratum.name.clone());
        }
    }
    let rows = group.rows.iter().map(|row| {
        let mut cells = vec![group.row_name(row)];
        cells.extend(names.iter().map(|name| {
            let found = of(row).iter().find(|stratum| &stratum.name == name);
            found.map_or_else(dash, |stratum| rate(&stratum.headline))
        }));
        cells
    });
    let mut head = vec!["configuration"];
    head.extend(names.iter().map(String::as_str));
    table(title, head, rows, Vec::new())
}

fn areas(group: &GroupContext) -> Table {
    let mut rows = Vec::new();
    for row in &group.rows {
        let all = [("all", &row.requirements)];
        let areas = row.areas.iter().map(|area| (area.area.as_str(), &area.requirements));
        for (name, counts) in areas.chain(all) {
            rows.push(requirement_cells(&group.row_name(row), name, counts));
        }
    }
    let head = vec![
        "configuration",
        "area",
        "passed",
        "failed",
        "not delivered",
        "vacuous",
        "undecided",
        "not graded",
    ];
    table("Requirements by area", head, rows.into_iter(), Vec::new())
}

fn requirement_cells(configuration: &str, area: &str, counts: &RequirementsContext) -> Vec<String> {
    vec![
        configuration.to_owned(),
        area.to_owned(),
        rate(&counts.passed),
        counts.failed.to_string(),
        counts.not_delivered.to_string(),
        counts.vacuous.to_string(),
        counts.undecided.to_string(),
        counts.not_graded.to_string(),
    ]
}

/// Classes down, configurations across: there are more classes than a line holds.
fn census(group: &GroupContext) -> Table {
    let row_names: Vec<String> = group.rows.iter().map(|row| group.row_name(row)).collect();
    let mut head = vec!["class"];
    head.extend(row_names.iter().map(String::as_str));
    let names = group.rows.iter().flat_map(|row| &row.census.classes).map(|class| &class.name);
    let mut classes: Vec<&String> = Vec::new();
    for name in names {
        if !classes.contains(&name) {
            classes.push(name);
        }
    }
    let count = |row: &RowContext, name: &String| {
        let found = row.census.classes.iter().find(|class| &class.name == name);
        found.map_or_else(dash, |class| class.count.to_string())
    };
    let mut rows: Vec<Vec<String>> = classes
        .iter()
        .map(|name| {
            let counts = group.rows.iter().map(|row| count(row, name));
            std::iter::once((*name).clone()).chain(counts).collect()
        })
        .collect();
    let assigned = group.rows.iter().map(|row| row.census.assigned.to_string());
    rows.push(std::iter::once("assigned".to_owned()).chain(assigned).collect());
    let note = "every assigned repeat is in exactly one class; the classes add up".to_owned();
    table("Census", head, rows.into_iter(), vec![note])
}

fn flags(group: &GroupContext) -> Table {
    let rows = group
        .rows
        .iter()
        .map(|row| vec![group.row_name(row), counts(&row.flags), counts(&row.reruns)]);
    table("Validity", vec!["configuration", "flags", "re-runs by cause"], rows, Vec::new())
}

fn budgets(group: &GroupContext) -> Table {
    let head = vec![
        "configuration",
        "within budget",
        "turns",
        "agent time",
        "tokens",
        "told",
        "corrections",
        "refusals",
        "questions",
        "words read",
    ];
    let rows = group.rows.iter().map(|row| {
        let load = &row.load;
        vec![
            group.row_name(row),
            rate(&row.within_budget),
            load.turns.to_string(),
            format!("{:.1} s", load.agent_ms as f64 / 1000.0),
            load.tokens.map_or_else(dash, |tokens| tokens.to_string()),
            load.delivered.to_string(),
            load.corrections.to_string(),
            load.refusals.to_string(),
            load.questions.to_string(),
            load.words_read.to_string(),
        ]
    });
    let mut notes = vec!["summed over scored sessions".to_owned()];
    let asked: Vec<String> = group
        .rows
        .iter()
        .filter(|row| row.load.requests_inside + row.load.requests_in_words > 0)
        .map(|row| {
            let (inside, words) = (row.load.requests_inside, row.load.requests_in_words);
            format!("{} {inside} and {words}", group.row_name(row))
        })
        .collect();
    if !asked.is_empty() {
        notes.push(format!(
            "permission asked for inside a turn, which the table answers, and by ending one: {}",
            asked.join(", ")
        ));
    }
    table("Budget and load", head, rows, notes)
}

/// What agents asked of their models: main and side apart, what is unknown beside what is known.
fn model_calls(group: &GroupContext) -> Table {
    let head = vec![
        "configuration",
        "for",
        "calls",
        "input",
        "cached",
        "output",
        "reasoning",
        "tokens unknown",
        "cost",
        "unpriced",
    ];
    let mut rows = Vec::new();
    let mut notes = vec![
        "as the gateway saw it, over scored sessions; tokens and cost are those that are known: calls whose tokens or price \
         nobody told are counted beside them; output holds reasoning, input what was cached"
            .to_owned(),
    ];
    for row in &group.rows {
        let name = group.row_name(row);
        let Some(used) = &row.model_use else { continue };
        rows.push(use_cells(&name, "main", &used.main));
        rows.push(use_cells(&name, "side", &used.side));
        let mut told = vec![
            format!("effective model {}", model_use::counts(&used.models)),
            format!("effort {}", model_use::counts(&used.efforts)),
        ];
        if used.retries > 0 {
            told.push(format!("asked again {} times", used.retries));
            told.push(format!("clock stood still {:.1} s", used.paused_ms as f64 / 1000.0));
        }
        if !used.hosted.is_empty() {
            told.push(format!("hosted tools {}", counts(&used.hosted)));
        }
        if !used.not_answered.is_empty() {
            told.push(format!("not answered {}", counts(&used.not_answered)));
        }
        if used.unread > 0 {
            told.push(format!("{} records cannot be read and are in no sum", used.unread));
        }
        notes.push(format!("{name}: {}", told.join("; ")));
    }
    table("Model calls", head, rows.into_iter(), notes)
}

fn use_cells(configuration: &str, purpose: &str, sum: &UseSum) -> Vec<String> {
    let is_known = |unknown: u32| sum.calls == 0 || unknown < sum.calls;
    let tokens = |count: u64| match is_known(sum.uncounted) {
        true => count.to_string(),
        false => dash(),
    };
    vec![
        configuration.to_owned(),
        purpose.to_owned(),
        sum.calls.to_string(),
        tokens(sum.input),
        tokens(sum.cached_input),
        tokens(sum.output),
        tokens(sum.reasoning),
        sum.uncounted.to_string(),
        if is_known(sum.unpriced) { usd_words(sum.cost_microusd) } else { dash() },
        sum.unpriced.to_string(),
    ]
}

fn table(
    title: &str,
    head: Vec<&str>,
    rows: impl Iterator<Item = Vec<String>>,
    notes: Vec<String>,
) -> Table {
    Table {
        title: title.to_owned(),
        head: head.into_iter().map(str::to_owned).collect(),
        rows: rows.collect(),
        notes,
    }
}

fn dash() -> String {
    "–".to_owned()
}

fn counts(list: &[NamedCount]) -> String {
    if list.is_empty() {
        return "none".to_owned();
    }
    let each = list.iter().map(|one| match &one.owner {
        Some(owner) => format!("{} ({owner}) {}", one.name, one.count),
        None => format!("{} {}", one.name, one.count),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn rate(rate: &RateContext) -> String {
    let Some((low, high)) = rate.low_percent.zip(rate.high_percent) else {
        return format!("{}/{}", rate.count, rate.of);
    };
    if rate.of < PERCENT_FROM {
        return format!("{}/{} [{low:.0}–{high:.0}]", rate.count, rate.of);
    }
    let percent = f64::from(rate.count) / f64::from(rate.of) * 100.0;
    format!("{}/{} {percent:.1} % [{low:.1}–{high:.1}]", rate.count, rate.of)
}
