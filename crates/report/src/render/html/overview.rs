//! The first part of a page: what was run, the tables, where each session is told, how to reproduce it.

use maud::{Markup, html};

use super::{
    Place, tables,
    text::{message, shown},
};
use crate::context::{
    self, DeclaredPair, GroupContext, PageContext, RunFacts, SessionEntry, SessionRow, TableKind,
};

/// The page's title.
pub(super) fn title(context: &PageContext) -> String {
    let runs = context.runs.len();
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    format!("{}: {runs} · PersonaCodeBench", context.group.header.release)
}

pub(super) fn overview(context: &PageContext, place: Place) -> Markup {
    let all = context::tables_by_kind(&context.group);
    let (details, leading): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(kind, _)| *kind == TableKind::Detail);
    html! {
        h1 { (shown(&context.group.header.release)) }
        (lead(&context.group))
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#table-0" { "Results" } }
                li { a href="#sessions" { "Sessions" } }
                li { a href="#detail-0" { "Details" } }
                li { a href="#runs" { "What was run" } }
                li { a href="#pairs" { "What the pairs ask" } }
                li { a href="#again" { "Reproduce it" } }
            }
        }
        @for (at, table) in leading.iter().enumerate() {
            (tables::section(&context.group, table, &format!("table-{at}")))
        }
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions" }
            p.note { "Each entry leads to the session's story: what was said, run and changed, and the way of each requirement." }
            (left_out(&context.sessions))
            (sessions(&context.group, &context.sessions, place))
        }
        @for (at, table) in details.iter().enumerate() {
            (tables::section(&context.group, table, &format!("detail-{at}")))
        }
        section aria-labelledby="runs" {
            h2 #runs { "What was run" }
            (runs(&context.runs))
        }
        section aria-labelledby="pairs" {
            h2 #pairs { "What the pairs ask" }
            p.note { "Fixed before any session: what each person asks, when they say it, and what must hold for it." }
            @for pair in &context.pairs { (declared(pair)) }
        }
        section aria-labelledby="again" {
            h2 #again { "Reproduce it" }
            (again(&context.runs))
        }
    }
}

fn lead(group: &GroupContext) -> Markup {
    let header = &group.header;
    let lock = if header.locked { "locked" } else { "not locked" };
    html! {
        ul.lead {
            li { span.key { "release" } " " (lock) ", " code title=(header.digest) { (header.digest.get(..12).unwrap_or(&header.digest)) } }
            li { span.key { "protocol" } " " (header.protocol) }
            li { span.key { "arm" } " " (shown(&header.arm)) }
            li { span.key { "sandbox" } " " (shown(&header.sandbox)) }
            li { span.key { "user" } " " (shown(&header.user)) }
            li { span.key { "budget" } " " (header.budget_multiplier) "×" }
            li { span.key { "assigned" } " " (header.pairs) " × " (header.repeats) }
        }
        @if !group.differs.is_empty() {
            p.warning { strong { "These runs do not compare." } " They differ in "
                (shown(&group.differs.join(", "))) "; the line above is of the first." }
        }
    }
}

/// A session that is over has an ending; one file does not hold the stories of thousands.
fn left_out(rows: &[SessionRow]) -> Markup {
    let entries = rows.iter().flat_map(|row| row.runs.iter().flatten().flatten());
    let count = entries.filter(|entry| !entry.is_told && !entry.ending.is_empty()).count();
    html! {
        @if count > 0 {
            p.warning { "Stories left out, so that this file stays small: " (count) ". "
                code { "pcb report RUN --format html --out FOLDER/" } " tells all of them." }
        }
    }
}

fn sessions(group: &GroupContext, rows: &[SessionRow], place: Place) -> Markup {
    tables::scrolling(
        "Sessions",
        html! {
            table.sessions {
                thead {
                    tr {
                        th scope="col" { "pair" }
                        th scope="col" { "repeat" }
                        @for row in &group.rows { th scope="col" { (shown(&group.row_name(row))) } }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (shown(&row.pair)) }
                            td.figure { (row.repeat) }
                            @for attempts in &row.runs { td { (cell(attempts.as_deref(), place)) } }
                        }
                    }
                }
            }
        },
    )
}

fn cell(attempts: Option<&[SessionEntry]>, place: Place) -> Markup {
    html! {
        @match attempts {
            None => span.quiet { "not assigned" },
            Some([]) => span.quiet { "not run" },
            Some(attempts) => @for attempt in attempts { (entry(attempt, attempts.len(), place)) },
        }
    }
}

fn entry(entry: &SessionEntry, of: usize, place: Place) -> Markup {
    let mark = if entry.passed { "✓" } else { "✕" };
    html! {
        p.entry {
            @if entry.is_told {
                a href=(place.of_story(&entry.id)) {
                    span class=(if entry.passed { "mark good" } else { "mark bad" }) aria-hidden="true" { (mark) }
                    " " (entry.class)
                }
            } @else { (entry.class) }
            @if !entry.ending.is_empty() { " " span.quiet { (entry.ending) } }
            @if of > 1 {
                " " span.quiet { "attempt " (entry.attempt) (if entry.scored { ", scored" } else { ", not scored" }) }
            }
        }
    }
}

fn runs(runs: &[RunFacts]) -> Markup {
    let names: Vec<&str> = runs
        .first()
        .map(|run| run.facts.iter().map(|(name, _)| name.as_str()).collect())
        .unwrap_or_default();
    html! {
        (tables::scrolling("What was run", html! {
            table.facts {
                thead {
                    tr {
                        th scope="col" { "run" }
                        @for run in runs { th scope="col" { (shown(&run.folder)) } }
                    }
                }
                tbody {
                    @for (at, name) in names.iter().enumerate() {
                        tr {
                            th scope="row" { (name) }
                            @for run in runs {
                                td { (shown(run.facts.get(at).map_or("", |(_, value)| value))) }
                            }
                        }
                    }
                }
            }
        }))
        @for run in runs {
            @if !run.shortfalls.is_empty() {
                p.note { "The host of " code { (shown(&run.folder)) } " does not enforce: "
                    (shown(&run.shortfalls.join("; "))) }
            }
        }
    }
}

fn declared(pair: &DeclaredPair) -> Markup {
    html! {
        details {
            summary { code { (shown(&pair.pair)) } }
            (message(&pair.source, "the pair's file in the release"))
        }
    }
}

fn again(runs: &[RunFacts]) -> Markup {
    html! {
        p { "From the folder that holds the group: decide every log again, fold the table anew, and tell one session." }
        pre.output {
            @for run in runs {
                "pcb replay " (shown(&run.folder)) "\n"
                "pcb report " (shown(&run.folder)) "\n"
                "pcb show " (shown(&run.folder)) " PAIR --repeat 1\n"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_which_stories_it_leaves_out() {
        let entry = |is_told: bool, ending: &str| SessionEntry {
            id: "s1-1".to_owned(),
            attempt: 1,
            scored: true,
            class: "neither".to_owned(),
            ending: ending.to_owned(),
            passed: false,
            is_told,
        };
        let check = |attempts: Vec<SessionEntry>, expect: &str| {
            let row =
                SessionRow { pair: "a--b".to_owned(), repeat: 1, runs: vec![None, Some(attempts)] };
            let said = left_out(&[row]).into_string();
            assert!(said.contains(expect) && said.is_empty() == expect.is_empty(), "{said}");
        };
        check(vec![entry(true, "silent")], "");
        check(vec![entry(false, "")], "");
        check(vec![entry(true, "silent"), entry(false, "silent")], "this file stays small: 1. ");
    }
}
