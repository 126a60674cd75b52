//! Tables of a group as HTML: the same cells as every other format, and completion by personalization as a square.

use maud::{Markup, html};

use super::text::shown;
use crate::context::{GroupContext, RowContext, Table, TableKind, TwoByTwoContext};

/// A table as a section with a heading, named by its anchor.
pub(super) fn section(
    group: &GroupContext,
    (kind, table): &(TableKind, Table),
    anchor: &str,
) -> Markup {
    html! {
        section aria-labelledby=(anchor) {
            h2 id=(anchor) { (table.title) }
            @if *kind == TableKind::TwoByTwo { (squares(group)) } @else { (grid(table)) }
            @for note in &table.notes { p.note { (shown(note)) } }
        }
    }
}

fn grid(table: &Table) -> Markup {
    scrolling(
        &table.title,
        html! {
            table {
                thead { tr { @for cell in &table.head { th scope="col" { (shown(cell)) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 { th scope="row" { (shown(cell)) } }
                                @else { td.figure[is_figure(cell)] { (shown(cell)) } }
                            }
                        }
                    }
                }
            }
        },
    )
}

fn is_figure(cell: &str) -> bool {
    cell == "–" || cell.starts_with(|first: char| first.is_ascii_digit())
}

/// What is wider than the page scrolls for itself, also by keyboard.
pub(super) fn scrolling(label: &str, content: Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" { (content) }
    }
}

fn squares(group: &GroupContext) -> Markup {
    html! {
        div.squares {
            @for row in &group.rows {
                @if let Some(counts) = &row.two_by_two { (square(&group.row_name(row), row, counts)) }
            }
        }
    }
}

fn square(name: &str, row: &RowContext, counts: &TwoByTwoContext) -> Markup {
    html! {
        table.square {
            caption { (shown(name)) }
            thead {
                tr {
                    td {}
                    th scope="col" { "personalized" }
                    th scope="col" { "not" }
                    th scope="col" { "sum" }
                }
            }
            tbody {
                tr {
                    th scope="row" { "completed" }
                    td.figure.both { strong { (counts.both) } }
                    td.figure { (counts.completed_only) }
                    td.figure.sum { (counts.completed()) }
                }
                tr {
                    th scope="row" { "not" }
                    td.figure { (counts.personalized_only) }
                    td.figure { (counts.neither) }
                    td.figure.sum { (counts.not_completed()) }
                }
                tr {
                    th scope="row" { "sum" }
                    td.figure.sum { (counts.personalized()) }
                    td.figure.sum { (counts.not_personalized()) }
                    td.figure.sum { (counts.graded()) }
                }
            }
            tfoot {
                tr { td colspan="4" { "not graded: " (counts.ungraded) " of " (row.census.assigned) } }
            }
        }
    }
}
