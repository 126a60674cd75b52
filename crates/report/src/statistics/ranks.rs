//! Ranks as ranges: how high and low a row comes when pairs and repeats are drawn anew, and which rows cannot be told from the
//! best ([`standings`]).

use super::{
    draws::{Draws, grouped, mean, redrawn, share},
    family::max_t,
    quantile,
};

/// The ranks that a row takes in 95 % of the draws, 1 the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRange {
    /// The best of them.
    pub best: u32,
    /// The worst of them.
    pub worst: u32,
}

/// Where a row stands among the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The mean over pairs of the share of repeats that passed.
    pub rate: f64,
    /// Its ranks.
    pub ranks: RankRange,
    /// Whether it cannot be told from the row with the highest rate, at 5 % over all comparisons.
    pub is_with_best: bool,
}

/// The standing of each row. `passes` holds for each row, for each pair in the same order, whether each planned repeat passed;
/// `strata` the suite of each pair. Equal rows share the better rank.
pub fn standings(
    passes: &[Vec<Vec<bool>>],
    strata: &[usize],
    draws: u32,
    seed: u64,
) -> Vec<Standing> {
    let rates: Vec<f64> =
        passes.iter().map(|row| mean(row.iter().map(|pair| share(pair)))).collect();
    let best = (0..rates.len()).max_by(|a, b| rates[*a].total_cmp(&rates[*b]).then(b.cmp(a)));
    let by_pair: Vec<Vec<f64>> = (0..strata.len())
        .map(|pair| passes.iter().map(|row| share(&row[pair])).collect())
        .collect();
    let adjusted = max_t(&by_pair, draws, seed);
    let ranks = ranges(passes, strata, draws, seed);
    let standing = |(row, ranks): (usize, RankRange)| Standing {
        rate: rates[row],
        ranks,
        is_with_best: best.is_none_or(|best| adjusted.p(row, best) >= 0.05),
    };
    ranks.into_iter().enumerate().map(standing).collect()
}

fn ranges(passes: &[Vec<Vec<bool>>], strata: &[usize], draws: u32, seed: u64) -> Vec<RankRange> {
    let groups = grouped(strata.iter().copied());
    let mut stream = Draws::new(seed);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); passes.len()];
    for _ in 0..draws {
        let mut sums = vec![0.0; passes.len()];
        for group in &groups {
            for _ in 0..group.len() {
                // The same pairs for every row: a hard pair is hard for all of them.
                let Some(pair) = stream.one(group).copied() else { continue };
                for (sum, row) in sums.iter_mut().zip(passes) {
                    *sum += redrawn(&row[pair], &mut stream);
                }
            }
        }
        for (row, ranks) in drawn.iter_mut().enumerate() {
            // Sums of shares differ in their last bits by the order of adding alone.
            let better = sums.iter().filter(|sum| **sum > sums[row] + 1e-9).count();
            ranks.push(1.0 + better as f64);
        }
    }
    let range = |mut ranks: Vec<f64>| {
        ranks.sort_by(f64::total_cmp);
        let at = |share| quantile(&ranks, share).unwrap_or(1.0);
        RankRange { best: at(0.025).floor() as u32, worst: at(0.975).ceil() as u32 }
    };
    drawn.into_iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(passed: usize, of: usize) -> Vec<Vec<bool>> {
        (0..of).map(|pair| vec![pair < passed]).collect()
    }

    #[test]
    fn what_is_far_apart_is_ranked_and_what_is_near_is_not() {
        let passes = [row(48, 100), row(45, 100), row(5, 100)];
        let found = standings(&passes, &[0; 100], 2_000, 3);
        assert_eq!(
            found.iter().map(|row| row.is_with_best).collect::<Vec<_>>(),
            [true, true, false]
        );
        assert_eq!(found[0].ranks.best, 1);
        assert_eq!(found[2].ranks, RankRange { best: 3, worst: 3 });
    }

    #[test]
    fn equal_rows_share_their_rank() {
        let found = standings(&[row(3, 10), row(3, 10)], &[0; 10], 500, 1);
        assert!(found.iter().all(|row| row.ranks == RankRange { best: 1, worst: 1 }), "{found:?}");
        assert!(standings(&[], &[], 10, 1).is_empty());
    }
}
