//! `pcb compare`: runs on the same pairs against each other, folded anew from their logs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use report::{
    context::{Aspect, Incomparable, Pairing, compare_tables},
    render,
};
use store::reader::GroupReader;

use crate::{
    arguments::Format, attempts::read_failure, exit_code::ExitCode, failure::Failure, options,
    tables::Tables,
};

/// Arguments of `pcb compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb compare runs/GROUP
  pcb compare runs/MONDAY/oracle runs/TUESDAY/oracle --despite environment
  pcb compare runs/PROGRESSIVE runs/OPENING --despite arm --with-first --format markdown")]
pub struct CompareArgs {
    /// Folders of runs or of groups.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Compare although the runs differ in it; the difference is printed with the table.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub despite: Vec<DespiteArg>,
    /// Compare each with the first only: a small family declared beforehand, adjusted by Holm.
    #[arg(long)]
    pub with_first: bool,
    /// Seed of the bootstrap and the permutation.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What runs may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DespiteArg {
    /// The digest over the release's files.
    Release,
    /// Whether the release was locked.
    Lock,
    /// The protocol.
    Protocol,
    /// The arm.
    Arm,
    /// The sandbox.
    Sandbox,
    /// Processors, memory and user of the host.
    Environment,
    /// Who words the user.
    User,
    /// The budget multiplier.
    Budget,
    /// Agent time that was set by hand.
    Limit,
    /// Pairs and repeats: those that all runs have are compared.
    Assignments,
}

impl From<DespiteArg> for Aspect {
    fn from(arg: DespiteArg) -> Self {
        match arg {
            DespiteArg::Release => Self::Release,
            DespiteArg::Lock => Self::Lock,
            DespiteArg::Protocol => Self::Protocol,
            DespiteArg::Arm => Self::Arm,
            DespiteArg::Sandbox => Self::Sandbox,
            DespiteArg::Environment => Self::Environment,
            DespiteArg::User => Self::User,
            DespiteArg::Budget => Self::Budget,
            DespiteArg::Limit => Self::Limit,
            DespiteArg::Assignments => Self::Assignments,
        }
    }
}

/// Folds, compares, prints.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let mut runs = Vec::new();
    for folder in &args.runs {
        runs.extend(GroupReader::open(folder).map_err(read_failure)?.runs);
    }
    let tables = Tables::fold(runs)?;
    let despite: Vec<Aspect> = args.despite.iter().copied().map(Aspect::from).collect();
    let pairing = if args.with_first { Pairing::WithFirst } else { Pairing::All };
    let context = tables
        .compare(&despite, pairing, args.seed)
        .map_err(|refused| Failure::input(format!("{refused}{}", remedy(&refused))))?;
    let tables_of = compare_tables(&context);
    print!(
        "{}",
        match args.format {
            Format::Table => render::tables_terminal(&tables_of, options::terminal_width()),
            Format::Markdown => render::tables_markdown(&tables_of),
            Format::Json => render::compare_json(&context).map_err(Failure::input)?,
        }
    );
    Ok(tables.exit_code())
}

fn remedy(refused: &Incomparable) -> String {
    match refused {
        Incomparable::Differs(differences) => {
            let all = DespiteArg::value_variants().iter();
            let names: Vec<String> = all
                .filter(|arg| differences.iter().any(|one| one.what == Aspect::from(**arg)))
                .filter_map(|arg| Some(arg.to_possible_value()?.get_name().to_owned()))
                .collect();
            // A person beside agents is compared by nobody.
            if differences.iter().any(|one| one.what == Aspect::Player) {
                return ": a person who plays the agent is not compared with agents".to_owned();
            }
            format!(
                ": compare runs that share it, or say that the table is to be made nevertheless with --despite {}",
                names.join(",")
            )
        }
        Incomparable::NoPair => ": runs of the same pairs compare".to_owned(),
        Incomparable::TooFew => ": name another run, or the folder of a group".to_owned(),
    }
}
