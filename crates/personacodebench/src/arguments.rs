//! The command line as typed ([`Arguments`]); the doc comments are its help texts.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;

/// Evaluates coding agents in sessions with a simulated user: correct software, and the person respected.
#[derive(Debug, Parser)]
#[command(name = "pcb", version, about, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: CommandLine,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done (whatever the scores), 1 findings, 2 bad usage or input, 3 ended with repeats not \
scored, 4 replay or lock mismatch, 130 interrupted.

Examples:
  pcb run starter --agent oracle --agent eager --agent nop
  pcb new release my-release
  pcb help run";

/// One file a command.
#[derive(Debug, Subcommand)]
pub enum CommandLine {
    /// Run agents on a release and print the table.
    Run(commands::run::RunArgs),
    /// Finish what is missing of a run or a group as new attempts.
    Resume(commands::resume::ResumeArgs),
    /// Print the table of runs from their logs.
    Report(commands::report::ReportArgs),
    /// Compare runs on the same pairs: differences, intervals, what flipped and why.
    Compare(commands::compare::CompareArgs),
    /// Say how large a difference a number of pairs can show.
    Power(commands::power::PowerArgs),
    /// Decide every log again and compare.
    Replay(commands::replay::ReplayArgs),
    /// Tell one session as a story.
    Show(commands::show::ShowArgs),
    /// Write a run for programs of others.
    Export(commands::export::ExportArgs),
    /// Prove a release: run who must pass and who must fail, and print what is not as it must be.
    Calibrate(commands::calibrate::CalibrateArgs),
    /// Check a release and print every problem with file, line and remedy.
    Lint(commands::lint::LintArgs),
    /// Lock a release by a digest over all its files.
    Lock(commands::lock::LockArgs),
    /// Say how tasks in Harbor's layout will be read.
    Task(commands::task::TaskArgs),
    /// Install an agent that is known by name, or say what of it works here.
    Agent(commands::agent::AgentArgs),
    /// Serve a scripted model, or ask a configured one.
    Model(commands::model::ModelArgs),
    /// Say what this host can run and what to change.
    Doctor(commands::doctor::DoctorArgs),
    /// Take away what dead runs left on a Docker engine.
    Clean(commands::clean::CleanArgs),
    /// List what there is.
    List(commands::list::ListArgs),
    /// Print the tables of the benchmark's paper, or recompute them.
    Published(commands::published::PublishedArgs),
    /// Begin a release, or a part of one, with commented files.
    New(commands::new::NewArgs),
    /// Print the JSON Schema of a format, so that editors complete and check it.
    Schema(commands::schema::SchemaArgs),
    /// Print what completes `pcb` in a shell.
    Completions(commands::completions::CompletionsArgs),
    /// Print the manual, or write a page for each command.
    Man(commands::man::ManArgs),
}

/// Output format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    #[default]
    Table,
    /// GitHub-flavoured Markdown.
    Markdown,
    /// For programs.
    Json,
}

/// A run or a group.
#[derive(Clone, Debug, clap::Args)]
pub struct RunFolder {
    /// Folder of a run or of a group of runs.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_has_examples_that_parse() {
        let mut tool = Arguments::command();
        tool.build();
        for command in commands::man::commands(tool) {
            let name = command.get_display_name().unwrap_or("pcb");
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help
                .lines()
                .filter_map(|line| line.strip_prefix("  "))
                .filter_map(|line| line.find("pcb ").map(|at| &line[at..]))
                .map(|line| line.split(['|', '>', '#']).next().unwrap_or(line).trim())
                .collect();
            assert!(examples.len() >= 2, "`{name}` shows {} examples in its help", examples.len());
            for example in examples {
                let words = example.split_whitespace().map(|word| word.trim_matches('\''));
                match Arguments::try_parse_from(words) {
                    Ok(_) => {}
                    Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {}
                    Err(error) => panic!("`{name}` shows `{example}`: {error}"),
                }
            }
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
