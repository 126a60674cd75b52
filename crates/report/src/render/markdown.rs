//! A group as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use crate::{
    context::{GroupContext, Table, tables},
    render::terminal::header_lines,
};

/// The tables of a group.
pub fn group_markdown(group: &GroupContext) -> String {
    let mut text = String::new();
    for line in header_lines(group) {
        let _ = writeln!(text, "{}  ", escaped(&line));
    }
    text.push_str(&tables_markdown(&tables(group)));
    text
}

/// Tables one after the other.
pub fn tables_markdown(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        write_table(&mut text, table);
    }
    text
}

pub(super) fn write_table(text: &mut String, table: &Table) {
    let _ = writeln!(text, "\n### {}\n", table.title);
    let heads: Vec<String> = table.head.iter().map(|cell| escaped(cell)).collect();
    let _ = writeln!(text, "| {} |", heads.join(" | "));
    let rule = std::iter::once("---").chain(std::iter::repeat_n("---:", table.head.len() - 1));
    let _ = writeln!(text, "| {} |", rule.collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for note in &table.notes {
        let _ = writeln!(text, "\n*{}*", escaped(note));
    }
}

/// Names come from users: what Markdown or HTML would read is taken literally.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '*' | '_' | '`' | '\\' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(character);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}
