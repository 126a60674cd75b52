//! `pcb schema`: JSON Schemas of every format, for editors and other programs.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::Value;
use store::schema::Format;

use crate::{exit_code::ExitCode, failure::Failure, options};

/// Arguments of `pcb schema`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb schema
  pcb schema pair > pair.json
  pcb schema --all schemas")]
pub struct SchemaArgs {
    /// The format; without it the formats are listed.
    #[arg(conflicts_with = "all")]
    pub name: Option<String>,
    /// Folder in which every schema is written, in place of older ones, as NAME.json.
    #[arg(long, value_name = "FOLDER")]
    pub all: Option<PathBuf>,
}

/// Every format: what authors write, what a run leaves, what is printed for programs.
fn formats() -> Vec<Format> {
    let mut formats = store::schema::formats();
    formats.push(options::config_format());
    formats.extend(report::schema::formats());
    formats
}

/// Lists, prints or writes.
pub fn run(args: &SchemaArgs) -> Result<ExitCode, Failure> {
    let formats = formats();
    match (&args.name, &args.all) {
        (Some(name), _) => print(name, &formats)?,
        (None, Some(folder)) => write(folder, &formats)?,
        (None, None) => {
            for format in &formats {
                println!("{:14} {}", format.name, format.files);
            }
        }
    }
    Ok(ExitCode::Done)
}

fn print(name: &str, formats: &[Format]) -> Result<(), Failure> {
    let Some(format) = formats.iter().find(|format| format.name == name) else {
        let known: Vec<&str> = formats.iter().map(|format| format.name).collect();
        return Err(Failure::input(format!(
            "there is no format `{name}`: take one of {}",
            known.join(", ")
        )));
    };
    io::stdout().write_all(text(&format.schema)?.as_bytes()).map_err(Failure::input)
}

fn write(folder: &Path, formats: &[Format]) -> Result<(), Failure> {
    let unwritten = |path: &Path, error: io::Error| {
        Failure::input(format!("`{}` cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
    for format in formats {
        let path = folder.join(format!("{}.json", format.name));
        fs::write(&path, text(&format.schema)?).map_err(|error| unwritten(&path, error))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

fn text(schema: &Value) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(schema).map_err(Failure::input)? + "\n")
}
