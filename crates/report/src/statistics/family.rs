//! Several comparisons at once: Holm's step-down for a small declared family ([`holm`]), and the permutation of rows within
//! pairs with the largest statistic for all pairs of rows ([`max_t`]).

use super::Draws;

/// p-values adjusted for their number, in the order given (S. Holm, Scandinavian Journal of Statistics 6, 1979).
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        largest = largest.max(((p.len() - rank) as f64 * p[place]).min(1.0));
        adjusted[place] = largest;
    }
    adjusted
}

/// Adjusted p-values of all pairs of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxT {
    rows: usize,
    adjusted: Vec<f64>,
}

impl MaxT {
    /// The adjusted p-value of two rows; 1 for a row and itself.
    pub fn p(&self, one: usize, other: usize) -> f64 {
        let (one, other) = (one.min(other), one.max(other));
        if one == other || other >= self.rows {
            return 1.0;
        }
        self.adjusted.get(place(self.rows, one, other)).copied().unwrap_or(1.0)
    }
}

/// Single-step max-T over all pairs of rows (P. Westfall and S. Young, Resampling-Based Multiple Testing, 1993): within each
/// pair of the release the rows' outcomes are put in a new order, which keeps how hard the pair is; the statistic of
/// two rows is the sum of their differences over the root of the sum of squares, which is McNemar's for one repeat.
///
/// `outcomes` holds for each pair the outcome of each row, a share of its repeats; every pair must have every row.
pub fn max_t(outcomes: &[Vec<f64>], permutations: u32, seed: u64) -> MaxT {
    let rows = outcomes.first().map_or(0, Vec::len);
    let observed = statistics(outcomes, rows);
    let mut beyond = vec![0_u32; observed.len()];
    let mut stream = Draws::new(seed);
    let mut shuffled = outcomes.to_vec();
    for _ in 0..permutations {
        shuffled.iter_mut().for_each(|pair| stream.shuffle(pair));
        let largest = statistics(&shuffled, rows).into_iter().fold(0.0, f64::max);
        for (count, seen) in beyond.iter_mut().zip(&observed) {
            *count += u32::from(largest >= seen - 1e-12);
        }
    }
    // What was seen is itself one of the orders, so no p-value is 0.
    let p = |count: u32| (f64::from(count) + 1.0) / (f64::from(permutations) + 1.0);
    MaxT { rows, adjusted: beyond.into_iter().map(p).collect() }
}

fn statistics(outcomes: &[Vec<f64>], rows: usize) -> Vec<f64> {
    let count = rows * rows.saturating_sub(1) / 2;
    let (mut sums, mut squares) = (vec![0.0; count], vec![0.0; count]);
    for pair in outcomes {
        let mut at = 0;
        for one in 0..rows {
            for other in one + 1..rows {
                let difference = pair[one] - pair[other];
                sums[at] += difference;
                squares[at] += difference * difference;
                at += 1;
            }
        }
    }
    let root =
        |(sum, square): (f64, f64)| if square > 0.0 { sum.abs() / square.sqrt() } else { 0.0 };
    sums.into_iter().zip(squares).map(root).collect()
}

/// Where the statistic of two rows stands, the first below the second.
fn place(rows: usize, one: usize, other: usize) -> usize {
    one * (2 * rows - one - 1) / 2 + other - one - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_alone_are_tested_as_by_signs() {
        // Nine discordant pairs, eight one way: the exact two-sided p of the signs is 20/512.
        let mut outcomes = vec![vec![1.0, 0.0]; 8];
        outcomes.push(vec![0.0, 1.0]);
        outcomes.extend(vec![vec![1.0, 1.0]; 30]);
        let found = max_t(&outcomes, 50_000, 11).p(1, 0);
        assert!((found - 20.0 / 512.0).abs() < 0.004, "{found}");
    }

    #[test]
    fn a_family_costs_more_than_one_comparison() {
        let row =
            |n: usize| vec![f64::from(u8::from(n < 30)), f64::from(u8::from(n < 21)), 0.5, 0.5];
        let outcomes: Vec<Vec<f64>> = (0..40).map(row).collect();
        let two: Vec<Vec<f64>> = outcomes.iter().map(|pair| pair[..2].to_vec()).collect();
        let (all, one) = (max_t(&outcomes, 5_000, 1), max_t(&two, 5_000, 1));
        assert!(all.p(0, 1) > one.p(0, 1), "{all:?} {one:?}");
        assert!((all.p(2, 3) - 1.0).abs() < 1e-12 && (all.p(2, 2) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn each_two_rows_have_a_place_of_their_own() {
        let places: Vec<usize> =
            (0..5).flat_map(|one| (one + 1..5).map(move |other| place(5, one, other))).collect();
        assert_eq!(places, (0..10).collect::<Vec<_>>());
    }
}
