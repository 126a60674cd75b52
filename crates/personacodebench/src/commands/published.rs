//! `pcb published`: the tables of the benchmark's paper, printed and recomputed.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use report::{
    context::Table,
    published::{Published, Recomputed, TableName, published_tables, recompute},
    render,
};

use crate::{arguments::Format, exit_code::ExitCode, failure::Failure, options};

/// Arguments of `pcb published`.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct PublishedArgs {
    /// Recomputes instead of printing.
    #[command(subcommand)]
    pub action: Option<Action>,
    /// One table; all without it.
    #[arg(value_enum)]
    pub table: Option<TableArgument>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

const EXAMPLES: &str = "\
Examples:
  pcb published leaderboard
  pcb published --format json
  pcb published check";

/// What can be done beside printing.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Recompute every figure that has parts, and report those that differ; nothing is corrected.
    Check(CheckArgs),
}

/// Arguments of `pcb published check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb published check
  pcb published check ./published --format markdown")]
pub struct CheckArgs {
    /// A folder with such files; without it those that came with this build.
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The tables by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArgument {
    /// Pairs and requirements of Full and Lite.
    Composition,
    /// 28 configurations by suite.
    Leaderboard,
    /// 29 reported results with their protocol.
    Observations,
    /// One configuration by persona and suite.
    Personas,
    /// One configuration in each arm.
    Ablations,
    /// Results over chosen sets of tasks.
    Conditional,
    /// Limits of the phases of a session.
    Watchdogs,
}

/// Prints or recomputes; figures that differ are findings.
pub fn run(args: &PublishedArgs) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(Action::Check(check)) => run_check(check),
        None => print_tables(args),
    }
}

fn print_tables(args: &PublishedArgs) -> Result<ExitCode, Failure> {
    let published = Published::bundled().map_err(Failure::input)?;
    if args.format == Format::Json {
        let text = match args.table {
            Some(table) => table.name().bundled().to_owned(),
            None => pretty(&published)?,
        };
        print!("{text}");
        return Ok(ExitCode::Done);
    }
    let names = args.table.map_or(TableName::ALL.to_vec(), |table| vec![table.name()]);
    let tables: Vec<Table> =
        names.into_iter().flat_map(|name| published_tables(&published, name)).collect();
    match args.format {
        Format::Markdown => print!("{}", render::tables_markdown(&tables)),
        _ => print!("{}", render::tables_terminal(&tables, options::terminal_width())),
    }
    Ok(ExitCode::Done)
}

fn run_check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let published = match &args.folder {
        Some(folder) => read(folder)?,
        None => Published::bundled().map_err(Failure::input)?,
    };
    let found = recompute(&published);
    match args.format {
        Format::Json => print!("{}", pretty(&found)?),
        Format::Markdown => print!("{}", render::tables_markdown(&[differences(&found)])),
        Format::Table => {
            let tables = [differences(&found)];
            print!("{}", render::tables_terminal(&tables, options::terminal_width()));
        }
    }
    Ok(if found.differences.is_empty() { ExitCode::Done } else { ExitCode::Findings })
}

fn read(folder: &Path) -> Result<Published, Failure> {
    let mut texts = Vec::new();
    for name in TableName::ALL {
        let path = folder.join(name.name()).with_extension("json");
        let text = fs::read_to_string(&path).map_err(|error| {
            Failure::input(format!(
                "{}: {error}; the folder needs every table as JSON in UTF-8",
                path.display()
            ))
        })?;
        texts.push((name, text));
    }
    let text_of =
        |wanted| texts.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.clone());
    Published::read(|name| text_of(name).unwrap_or_default()).map_err(Failure::input)
}

fn differences(found: &Recomputed) -> Table {
    let rows = found.differences.iter().map(|one| {
        let cells = [one.table, &one.place, &one.printed, &one.recomputed, &one.parts];
        cells.map(str::to_owned).to_vec()
    });
    let mut by_table = String::new();
    for (table, figures) in &found.figures {
        let _ =
            write!(by_table, "{}{table} {figures}", if by_table.is_empty() { "" } else { ", " });
    }
    let all: u32 = found.figures.values().sum();
    Table {
        title: format!("{} of {all} recomputed figures differ", found.differences.len()),
        head: ["table", "place", "printed", "recomputed", "parts"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            format!("recomputed: {by_table}"),
            "the files keep what is printed; nothing is corrected".to_owned(),
        ],
    }
}

fn pretty(value: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::input)?;
    text.push('\n');
    Ok(text)
}

impl TableArgument {
    fn name(self) -> TableName {
        match self {
            TableArgument::Composition => TableName::Composition,
            TableArgument::Leaderboard => TableName::Leaderboard,
            TableArgument::Observations => TableName::Observations,
            TableArgument::Personas => TableName::Personas,
            TableArgument::Ablations => TableName::Ablations,
            TableArgument::Conditional => TableName::Conditional,
            TableArgument::Watchdogs => TableName::Watchdogs,
        }
    }
}
