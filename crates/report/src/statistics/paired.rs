//! Two rows on the same pairs: the discordant counts with the exact test of McNemar ([`Discordant`]), and Tango's interval of
//! the difference ([`tango`]).

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::{
    Interval, Z,
    draws::{Draws, grouped, redrawn},
    middle,
};

/// How two rows differ on the same pairs, one repeat each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discordant {
    /// Pairs in all.
    pub of: u32,
    /// Passed by the first row only.
    pub first_only: u32,
    /// Passed by the second row only.
    pub second_only: u32,
}

impl Discordant {
    /// Counts over the outcomes of each pair.
    pub fn of(outcomes: impl IntoIterator<Item = (bool, bool)>) -> Self {
        outcomes.into_iter().fold(Self::default(), |counts, (first, second)| Self {
            of: counts.of + 1,
            first_only: counts.first_only + u32::from(first && !second),
            second_only: counts.second_only + u32::from(!first && second),
        })
    }

    /// The two-sided p-value of the exact test (Q. McNemar, Psychometrika 12, 1947, with the binomial distribution); 1 if
    /// no pair is discordant.
    pub fn exact_p(&self) -> f64 {
        let (less, all) =
            (self.first_only.min(self.second_only), self.first_only + self.second_only);
        match Binomial::new(0.5, all.into()) {
            Ok(tails) if all > 0 => (2.0 * tails.cdf(less.into())).min(1.0),
            _ => 1.0,
        }
    }

    /// First row less second row, as a share of all pairs; none without pairs.
    pub fn difference(&self) -> Option<f64> {
        let difference = f64::from(self.first_only) - f64::from(self.second_only);
        (self.of > 0).then(|| difference / f64::from(self.of))
    }
}

/// The score interval of the paired difference, 95 % (T. Tango, Statistics in Medicine 17, 1998); none without pairs.
pub fn tango(counts: Discordant) -> Option<Interval> {
    let difference = counts.difference()?;
    let end = |towards: f64| {
        let is_inside = |at: f64| score(counts, at).abs() <= Z;
        if is_inside(towards) {
            return towards;
        }
        let (mut inside, mut outside) = (difference, towards);
        for _ in 0..80 {
            let half = f64::midpoint(inside, outside);
            if is_inside(half) { inside = half } else { outside = half }
        }
        inside
    };
    Some(Interval { low: end(-1.0), high: end(1.0) })
}

/// The interval of the difference of two rows with several repeats, 95 %: pairs are drawn within their suite, the same for
/// both rows, then repeats within each row's own. None without pairs.
pub fn paired_bootstrap(
    rows: [&[Vec<bool>]; 2],
    strata: &[usize],
    draws: u32,
    seed: u64,
) -> Option<Interval> {
    let groups = grouped(strata.iter().copied());
    let mut stream = Draws::new(seed);
    let mut one = || {
        let mut sum = 0.0;
        for group in &groups {
            for _ in 0..group.len() {
                let Some(pair) = stream.one(group).copied() else { continue };
                let [first, second] = rows.map(|row| redrawn(&row[pair], &mut stream));
                sum += first - second;
            }
        }
        sum / strata.len() as f64
    };
    if groups.is_empty() {
        return None;
    }
    middle((0..draws).map(|_| one()).collect())
}

/// How far, in standard errors under a true difference of `at`, what was seen lies from it.
fn score(counts: Discordant, at: f64) -> f64 {
    let (n, first, second) =
        (f64::from(counts.of), f64::from(counts.first_only), f64::from(counts.second_only));
    let distance = first - second - n * at;
    // The most likely share of pairs that only the second row passes, if the difference were `at`.
    let (a, b) = (2.0 * n, -first - second + (2.0 * n - first + second) * at);
    let c = -second * at * (1.0 - at);
    let share = ((b * b - 4.0 * a * c).max(0.0).sqrt() - b) / (2.0 * a);
    let variance = n * (2.0 * share + at * (1.0 - at));
    if distance.abs() < 1e-12 {
        0.0
    } else if variance <= 1e-12 {
        f64::INFINITY
    } else {
        distance / variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: u32, first_only: u32, second_only: u32) -> Discordant {
        Discordant { of, first_only, second_only }
    }

    /// The smallest splits that are significant at two-sided 5 %.
    #[test]
    fn splits_are_significant_from_here_on() {
        let splits =
            [(6, 0), (8, 0), (9, 1), (10, 2), (13, 3), (15, 5), (18, 6), (21, 9), (27, 13)];
        for (more, less) in splits {
            let p = counts(100, more, less).exact_p();
            assert!(p <= 0.05, "{more}-{less}: {p}");
            // The next split of as many pairs.
            assert!(counts(100, more - 1, less + 1).exact_p() > 0.05, "{more}-{less}");
        }
        assert!((counts(9, 0, 0).exact_p() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn outcomes_are_counted_by_who_passed() {
        let found = Discordant::of([(true, false), (true, true), (false, true), (true, false)]);
        assert_eq!(found, counts(4, 2, 1));
        assert_eq!(found.difference(), Some(0.25));
        assert_eq!(tango(Discordant::default()), None);
    }

    #[test]
    fn repeats_of_a_pair_are_drawn_with_it() {
        let row = |passed: usize, repeats: usize| -> Vec<Vec<bool>> {
            (0..60).map(|pair| vec![pair < passed; repeats]).collect()
        };
        let of = |repeats| {
            let (first, second) = (row(30, repeats), row(18, repeats));
            paired_bootstrap([&first, &second], &[0; 60], 4_000, 3).unwrap()
        };
        let (single, several) = (of(1), of(5));
        assert!(single.low > 0.05 && single.high < 0.35, "{single:?}");
        assert!((single.low - several.low).abs() < 0.04, "{single:?} {several:?}");
        assert_eq!(paired_bootstrap([&[], &[]], &[], 10, 1), None);
    }

    #[test]
    fn an_interval_turns_with_its_rows() {
        let (there, back) = (tango(counts(50, 12, 2)).unwrap(), tango(counts(50, 2, 12)).unwrap());
        assert!((there.low + back.high).abs() < 1e-9 && (there.high + back.low).abs() < 1e-9);
    }
}
