//! `pcb power`: what a number of pairs can show, before a run is paid for.

use clap::Args;
use report::{
    context::Table,
    render,
    statistics::{Design, noise_points},
};

use crate::{arguments::Format, exit_code::ExitCode, failure::Failure, options};

/// The most pairs for which a power is computed.
const PAIRS_MAX: u32 = 5_000;

/// The power that a comparison should have.
const WANTED: f64 = 0.8;

/// Arguments of `pcb power`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Two rows are compared on the same pairs, one repeat each, by the exact test of McNemar at two-sided 5 %.

Examples:
  pcb power --pairs 100
  pcb power --pairs 231 --discordant 25 --points 10
  pcb power --pairs 14 --format json")]
pub struct PowerArgs {
    /// How many pairs both rows are run on.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(PAIRS_MAX)))]
    pub pairs: u32,
    /// On how many pairs of a hundred the rows differ.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_values_t = [20.0, 30.0, 40.0])]
    pub discordant: Vec<f64>,
    /// True difference in points.
    #[arg(long, value_name = "POINTS", value_delimiter = ',', default_values_t = [5.0, 10.0, 15.0, 20.0])]
    pub points: Vec<f64>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Computes and prints.
pub fn run(args: &PowerArgs) -> Result<ExitCode, Failure> {
    for (name, values) in [("--discordant", &args.discordant), ("--points", &args.points)] {
        if let Some(wrong) = values.iter().find(|value| !(0.0..=100.0).contains(*value)) {
            return Err(Failure::input(format!("{name} {wrong}: expected 0 to 100")));
        }
    }
    if args.format == Format::Json {
        let text = serde_json::to_string_pretty(&json(args)).map_err(Failure::input)?;
        println!("{text}");
        return Ok(ExitCode::Done);
    }
    let table = [table(args)];
    let text = match args.format {
        Format::Markdown => render::tables_markdown(&table),
        _ => render::tables_terminal(&table, options::terminal_width()),
    };
    print!("{text}");
    Ok(ExitCode::Done)
}

fn design(args: &PowerArgs, discordant: f64, points: f64) -> Design {
    Design { pairs: args.pairs, discordant: discordant / 100.0, difference: points / 100.0 }
}

/// The fewest pairs with the wanted power.
fn enough(design: Design) -> Option<u32> {
    design.power()?;
    Design { pairs: 1, ..design }.pairs_for(WANTED, PAIRS_MAX)
}

fn table(args: &PowerArgs) -> Table {
    let mut head = vec!["rows differ on".to_owned()];
    head.extend(args.points.iter().map(|points| format!("{points} points")));
    head.push("same row twice, 95 %".to_owned());
    let row = |discordant: &f64| {
        let mut cells = vec![format!("{discordant} % of the pairs")];
        cells.extend(args.points.iter().map(|points| {
            let design = design(args, *discordant, *points);
            let Some(power) = design.power() else { return "–".to_owned() };
            match enough(design) {
                Some(pairs) => format!("{power:.2} ({pairs} pairs for {WANTED})"),
                None => format!("{power:.2} (above {PAIRS_MAX} pairs for {WANTED})"),
            }
        }));
        let noise = noise_points(args.pairs, discordant / 100.0);
        cells.push(noise.map_or_else(|| "–".to_owned(), |points| format!("±{points:.1} points")));
        cells
    };
    Table {
        title: format!("Power of a comparison on {} pairs", args.pairs),
        head,
        rows: args.discordant.iter().map(row).collect(),
        notes: vec![
            "the chance that the exact test of McNemar finds the difference at two-sided 5 %, one repeat of each pair; – where the difference is above what can differ".to_owned(),
            "the last column: how far two runs of one configuration lie apart, if so many pairs flip".to_owned(),
        ],
    }
}

fn json(args: &PowerArgs) -> serde_json::Value {
    let cell = |discordant: f64, points: f64| {
        let design = design(args, discordant, points);
        serde_json::json!({
            "pairs": args.pairs,
            "discordant_percent": discordant,
            "points": points,
            "power": design.power(),
            "pairs_for_power_0_8": enough(design),
            "noise_points": noise_points(args.pairs, discordant / 100.0),
        })
    };
    let cells = args
        .discordant
        .iter()
        .flat_map(|discordant| args.points.iter().map(move |points| cell(*discordant, *points)));
    cells.collect()
}
