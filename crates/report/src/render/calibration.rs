//! A calibration for a terminal, as Markdown and as JSON.

use std::fmt::Write as _;

use super::{
    markdown::{escaped, write_table as write_markdown_table},
    terminal::{plain, write_table},
};
use crate::context::{CalibrationContext, matrix_table};

/// The matrix, and below it what is not as it must be, for a terminal at most so wide.
pub fn calibration_terminal(context: &CalibrationContext, width: Option<u16>) -> String {
    let mut text = String::new();
    write_table(&mut text, &matrix_table(context), width);
    let _ = writeln!(text, "\n{}", plain(&verdict(context)));
    for breach in &context.breaches {
        let _ = writeln!(text, "\n✗ {}", plain(&breach.place));
        for (what, words) in
            [("must be", &breach.expected), ("is", &breach.found), ("mend", &breach.remedy)]
        {
            let _ = writeln!(text, "  {what:8} {}", plain(words));
        }
    }
    text
}

/// The same as GitHub-flavoured Markdown.
pub fn calibration_markdown(context: &CalibrationContext) -> String {
    let mut text = String::new();
    write_markdown_table(&mut text, &matrix_table(context));
    let _ = writeln!(text, "\n{}", escaped(&verdict(context)));
    if !context.breaches.is_empty() {
        text.push_str("\n| where | must be | is | mend |\n| --- | --- | --- | --- |\n");
    }
    for breach in &context.breaches {
        let cells = [&breach.place, &breach.expected, &breach.found, &breach.remedy];
        let cells = cells.map(|cell| escaped(cell));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// The same as pretty JSON with a final newline.
pub fn calibration_json(context: &CalibrationContext) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(context)? + "\n")
}

fn verdict(context: &CalibrationContext) -> String {
    match context.breaches.len() {
        0 => "Everything is as it must be.".to_owned(),
        1 => "One thing is not as it must be:".to_owned(),
        many => format!("{many} things are not as they must be:"),
    }
}
