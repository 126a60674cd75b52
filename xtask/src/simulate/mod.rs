//! `xtask simulate`: whole sessions over simulated parts, random releases × random agents × planned faults.
//!
//! A seed decides everything, so a bad one is a reproduction by itself; [`run`] also leaves a folder that shows it.

mod invariants;
mod parts;
mod random;
mod world;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use invariants::violated;
use world::{Simulated, simulate};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulate {
    /// How many seeds.
    pub seeds: u64,
    /// The first.
    pub from: u64,
    /// Where bad seeds leave their folders.
    pub out: PathBuf,
}

impl Default for Simulate {
    fn default() -> Self {
        Self { seeds: 200, from: 0, out: PathBuf::from("target/simulate") }
    }
}

impl Simulate {
    /// Reads `--seeds N`, `--from S` and `--out DIR`.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut asked = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{word} needs a number"));
            match word.as_str() {
                "--seeds" => asked.seeds = number()?,
                "--from" => asked.from = number()?,
                "--out" => asked.out = PathBuf::from(value),
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(asked)
    }
}

/// Runs the seeds and prints what came of them.
pub fn run(asked: &Simulate) -> ExitCode {
    let began = Instant::now();
    let (mut bad, mut passed) = (0, 0);
    let mut endings = std::collections::BTreeMap::new();
    for seed in asked.from..asked.from.saturating_add(asked.seeds) {
        let simulated = simulate(seed);
        *endings.entry(simulated.outcome.ending).or_insert(0_u32) += 1;
        passed += u32::from(simulated.has_passed());
        let why = violated(&simulated);
        if !why.is_empty() {
            bad += 1;
            println!("seed {seed}: {}", why.join("; "));
            match keep(asked, seed, &simulated, &why) {
                Ok(folder) => println!("  kept in {}", folder.display()),
                Err(error) => println!("  could not be kept: {error}"),
            }
        }
    }
    for (ending, times) in endings {
        println!("{times:>6} {}", ending.name());
    }
    let took_s = began.elapsed().as_secs_f64();
    println!("{} seeds in {took_s:.1} s: {passed} accepted and completed, {bad} bad", asked.seeds);
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The folder that reproduces a bad seed: what was drawn, what happened, what is wrong and the command.
fn keep(
    asked: &Simulate,
    seed: u64,
    simulated: &Simulated,
    why: &[String],
) -> std::io::Result<PathBuf> {
    let folder = asked.out.join(format!("seed-{seed}"));
    std::fs::create_dir_all(&folder)?;
    let log: Vec<String> = simulated.entries.iter().map(|entry| format!("{entry:?}\n")).collect();
    std::fs::write(folder.join("log.txt"), log.concat())?;
    std::fs::write(folder.join("drawn.txt"), simulated.drawn.shown())?;
    std::fs::write(folder.join("wrong.txt"), why.join("\n") + "\n")?;
    let command = format!("cargo run -p xtask -- simulate --seeds 1 --from {seed}\n");
    std::fs::write(folder.join("reproduce.txt"), command)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One pass over the seeds serves both questions: whether each keeps the rules, and whether together they
    /// reach enough to be worth running.
    #[test]
    fn two_hundred_seeds_keep_every_invariant() {
        let mut wrong = Vec::new();
        let mut endings = std::collections::BTreeSet::new();
        let (mut struck, mut passed) = (0, 0);
        for seed in 0..200 {
            let simulated = simulate(seed);
            let why = violated(&simulated);
            if !why.is_empty() {
                wrong.push(format!("seed {seed}: {}", why.join("; ")));
            }
            endings.insert(simulated.outcome.ending);
            struck += u32::from(simulated.has_struck);
            passed += u32::from(simulated.has_passed());
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(endings.len() >= 12, "only {endings:?}");
        assert!(struck >= 60, "only {struck} faults struck");
        assert!(passed >= 10, "only {passed} sessions passed");
    }

    #[test]
    fn a_seed_decides_everything() {
        for seed in [1, 17, 42] {
            assert_eq!(simulate(seed).entries, simulate(seed).entries, "seed {seed}");
        }
    }
}
