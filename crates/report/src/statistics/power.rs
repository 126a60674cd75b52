//! How much a comparison can see: the power of the exact test of McNemar ([`Design`]), and the noise of two single runs.

use statrs::distribution::{Binomial, Discrete as _, DiscreteCDF as _};

use super::{Discordant, Z};

/// A comparison of two rows on the same pairs, one repeat each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Pairs.
    pub pairs: u32,
    /// The share of pairs on which the rows differ, 0 to 1.
    pub discordant: f64,
    /// The true difference of the two rates, 0 to 1; at most `discordant`.
    pub difference: f64,
}

impl Design {
    /// The chance that the exact test is significant at two-sided 5 %; none if the difference is above the discordant share
    /// or a share is none.
    pub fn power(&self) -> Option<f64> {
        let is_possible = (0.0..=1.0).contains(&self.discordant)
            && self.discordant > 0.0
            && (0.0..=self.discordant).contains(&self.difference);
        if !is_possible {
            return None;
        }
        let towards = f64::midpoint(1.0, self.difference / self.discordant);
        let split = Binomial::new(self.discordant, self.pairs.into()).ok()?;
        let mut power = 0.0;
        for all in 1..=self.pairs {
            let weight = split.pmf(all.into());
            // What is left out is below what is printed.
            if weight < 1e-12 {
                continue;
            }
            // The most that the smaller side may have.
            let significant = |less: &u32| {
                let counts =
                    Discordant { of: self.pairs, first_only: *less, second_only: all - less };
                counts.exact_p() <= 0.05
            };
            let Some(less) = (0..all.div_ceil(2)).take_while(significant).last() else { continue };
            let one_way = Binomial::new(towards, all.into()).ok()?;
            power += weight * (one_way.cdf(less.into()) + one_way.sf((all - less - 1).into()));
        }
        Some(power)
    }

    /// The fewest pairs, from this design's number on, whose power is at least `wanted` and stays so for the next twenty (the
    /// exact test's power goes up in steps that fall back a little); none up to `pairs_max`.
    pub fn pairs_for(&self, wanted: f64, pairs_max: u32) -> Option<u32> {
        let reaches =
            |pairs: u32| Self { pairs, ..*self }.power().is_some_and(|power| power >= wanted);
        let mut at = self.pairs.max(1);
        while at <= pairs_max {
            match (at..at + 20).rev().find(|pairs| !reaches(*pairs)) {
                None => return Some(at),
                Some(last) => at = last + 1,
            }
        }
        None
    }
}

/// By how many points two single runs of one configuration differ in 95 % of cases, if a share of the pairs flips.
pub fn noise_points(pairs: u32, flipped: f64) -> Option<f64> {
    let is_possible = pairs > 0 && (0.0..=1.0).contains(&flipped);
    is_possible.then(|| 100.0 * Z * (flipped / f64::from(pairs)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the protocol, n = 100.
    #[test]
    fn power_is_what_the_protocol_says() {
        let rows = [
            (0.2, [0.14, 0.54, 0.93, 1.00]),
            (0.3, [0.11, 0.37, 0.75, 0.96]),
            (0.4, [0.09, 0.30, 0.62, 0.88]),
        ];
        for (discordant, powers) in rows {
            for (difference, expect) in [0.05, 0.10, 0.15, 0.20].into_iter().zip(powers) {
                let found = Design { pairs: 100, discordant, difference }.power().unwrap();
                assert!((found - expect).abs() < 0.0051, "{discordant} {difference}: {found}");
            }
        }
    }

    #[test]
    fn pairs_for_a_power_are_found() {
        let design = Design { pairs: 100, discordant: 0.2, difference: 0.1 };
        let found = design.pairs_for(0.8, 400).unwrap();
        assert!(found.abs_diff(155) <= 15, "{found}");
        assert_eq!(design.pairs_for(0.8, 120), None);
        assert_eq!(Design { difference: 0.3, ..design }.power(), None);
    }

    #[test]
    fn noise_is_what_the_protocol_says() {
        for (flipped, expect) in [(0.1, 6.2), (0.2, 8.8), (0.3, 10.7), (0.5, 13.9)] {
            assert!((noise_points(100, flipped).unwrap() - expect).abs() < 0.051);
        }
        assert_eq!(noise_points(0, 0.1), None);
    }
}
