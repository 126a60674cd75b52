//! A calibration for a terminal, as Markdown and as JSON.

use std::fmt::Write as _;

use super::{
    markdown::{escaped, write_table as write_markdown_table},
    terminal::{plain, write_table},
};
use crate::context::{BreachLine, CalibrationContext, RereadingContext, counted, matrix_table};

/// The matrix, and below it what is not as it must be, for a terminal at most so wide.
pub fn calibration_terminal(context: &CalibrationContext, width: Option<u16>) -> String {
    let mut text = String::new();
    write_table(&mut text, &matrix_table(context), width);
    let _ = writeln!(text, "\n{}", plain(&verdict(context.breaches.len())));
    text.push_str(&terminal_breaches(&context.breaches));
    text
}

/// The same as GitHub-flavoured Markdown.
pub fn calibration_markdown(context: &CalibrationContext) -> String {
    let mut text = String::new();
    write_markdown_table(&mut text, &matrix_table(context));
    let _ = writeln!(text, "\n{}", escaped(&verdict(context.breaches.len())));
    text.push_str(&markdown_breaches(&context.breaches));
    text
}

/// The same as pretty JSON with a final newline.
pub fn calibration_json(context: &CalibrationContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(context)? + "\n")
}

/// What recorded sessions say now, for a terminal.
pub fn rereading_terminal(context: &RereadingContext) -> String {
    let closing = format!("{}\n{}\n", read_again(context), verdict(context.differences.len()));
    closing + &terminal_breaches(&context.differences)
}

/// The same as GitHub-flavoured Markdown.
pub fn rereading_markdown(context: &RereadingContext) -> String {
    let count = context.differences.len();
    let closing = format!("{}\n\n{}\n", read_again(context), escaped(&verdict(count)));
    closing + &markdown_breaches(&context.differences)
}

/// The same as pretty JSON with a final newline.
pub fn rereading_json(context: &RereadingContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(context)? + "\n")
}

fn read_again(context: &RereadingContext) -> String {
    format!("{} read again from the record", counted(context.sessions))
}

fn terminal_breaches(breaches: &[BreachLine]) -> String {
    let mut text = String::new();
    for breach in breaches {
        let _ = writeln!(text, "\n✗ {}", plain(&breach.place));
        for (what, words) in
            [("must be", &breach.expected), ("is", &breach.found), ("mend", &breach.remedy)]
        {
            let _ = writeln!(text, "  {what:8} {}", plain(words));
        }
        if let Some(show) = &breach.show {
            let _ = writeln!(text, "  {:8} {}", "see", plain(show));
        }
    }
    text
}

fn markdown_breaches(breaches: &[BreachLine]) -> String {
    let mut text = String::new();
    if !breaches.is_empty() {
        text.push_str("\n| where | must be | is | mend | see |\n| --- | --- | --- | --- | --- |\n");
    }
    for breach in breaches {
        let show = breach.show.as_deref().unwrap_or_default();
        let cells = [&breach.place, &breach.expected, &breach.found, &breach.remedy, show];
        let cells = cells.map(escaped);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn verdict(breaches: usize) -> String {
    match breaches {
        0 => "Everything is as it must be.".to_owned(),
        1 => "One thing is not as it must be:".to_owned(),
        many => format!("{many} things are not as they must be:"),
    }
}
