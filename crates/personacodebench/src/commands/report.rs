//! `pcb report`: the table of runs, folded anew from their logs, or the page that tells every session.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use store::reader::GroupReader;

use crate::{
    arguments::Format, attempts::read_failure, exit_code::ExitCode, failure::Failure, pages,
    tables::Tables,
};

/// Arguments of `pcb report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb report runs/GROUP
  pcb report runs/GROUP/oracle --format json
  pcb report runs/MONDAY runs/TUESDAY --format markdown
  pcb report runs/GROUP --format html --out report.html
  pcb report runs/GROUP --format html --out report/")]
pub struct ReportArgs {
    /// Folders of runs or of groups.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Write it there instead of printing it. For HTML a name that ends in `.html` makes one file with
    /// everything, another name a folder with an index and a page for each session.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub out: Option<PathBuf>,
}

/// Output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For a terminal.
    #[default]
    Table,
    /// GitHub-flavoured Markdown.
    Markdown,
    /// For programs.
    Json,
    /// A page that opens in any browser, with the story of each session; no script, no request.
    Html,
}

/// Folds and prints or writes.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let mut runs = Vec::new();
    for folder in &args.runs {
        runs.extend(GroupReader::open(folder).map_err(read_failure)?.runs);
    }
    let tables = Tables::fold(runs)?;
    let text = match args.format {
        ReportFormat::Html => {
            if let Some(folder) = args.out.as_deref().filter(|out| !is_page(out)) {
                let index = pages::folder(&tables, folder)?;
                eprintln!("{}", index.display());
                return Ok(tables.exit_code());
            }
            pages::one_file(&tables)?
        }
        ReportFormat::Table => tables.text(Format::Table)?,
        ReportFormat::Markdown => tables.text(Format::Markdown)?,
        ReportFormat::Json => tables.text(Format::Json)?,
    };
    match &args.out {
        Some(file) => {
            pages::write(file, &text)?;
            eprintln!("{}", file.display());
        }
        None => print!("{text}"),
    }
    Ok(tables.exit_code())
}

fn is_page(out: &Path) -> bool {
    out.extension().is_some_and(|ending| ending == "html" || ending == "htm")
}
