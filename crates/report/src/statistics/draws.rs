//! The only random source of the statistics ([`Draws`]): ChaCha8 from a stored seed, the same on every platform.

use std::collections::BTreeMap;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

/// A stream of draws that a seed decides. The seed stands beside every figure that was drawn.
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream of that seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`, each as likely as any other (D. Lemire, ACM TOMACS 29, 2019); 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u32::try_from(bound).unwrap_or(u32::MAX);
        let mut wide = u64::from(self.0.next_u32()) * u64::from(bound);
        if (wide as u32) < bound {
            let unfair = bound.wrapping_neg() % bound.max(1);
            while (wide as u32) < unfair {
                wide = u64::from(self.0.next_u32()) * u64::from(bound);
            }
        }
        (wide >> 32) as usize
    }

    /// One of several things.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.below(of.len());
        of.get(at)
    }

    /// Every order of the things is as likely (R. Durstenfeld, CACM 7, 1964).
    pub(super) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}

/// The share of a pair's repeats that passed, with the repeats drawn anew.
pub(super) fn redrawn(repeats: &[bool], stream: &mut Draws) -> f64 {
    if repeats.len() < 2 {
        return share(repeats);
    }
    let passed = (0..repeats.len()).filter(|_| stream.one(repeats).is_some_and(|passed| *passed));
    passed.count() as f64 / repeats.len() as f64
}

/// The share that passed; nothing planned passed nothing.
pub(super) fn share(repeats: &[bool]) -> f64 {
    mean(repeats.iter().map(|passed| f64::from(u8::from(*passed))))
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

/// Places by what they belong to.
pub(super) fn grouped(keys: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, key) in keys.into_iter().enumerate() {
        groups.entry(key).or_default().push(place);
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of ChaCha8 for this seed: another stream would change every interval ever printed.
    #[test]
    fn a_seed_means_the_same_stream_for_ever() {
        let mut draws = Draws::new(7);
        let first: Vec<usize> = (0..8).map(|_| draws.below(1000)).collect();
        assert_eq!(first, FIRST);
    }

    #[test]
    fn each_number_is_as_likely() {
        let mut draws = Draws::new(1);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[draws.below(6)] += 1;
        }
        // Five standard deviations of a binomial count.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 460), "{counts:?}");
        assert_eq!(draws.below(0), 0);
        assert_eq!(draws.below(1), 0);
    }

    #[test]
    fn an_order_holds_everything_once() {
        let mut things: Vec<u32> = (0..50).collect();
        Draws::new(3).shuffle(&mut things);
        assert_ne!(things, (0..50).collect::<Vec<_>>());
        things.sort_unstable();
        assert_eq!(things, (0..50).collect::<Vec<_>>());
    }

    const FIRST: [usize; 8] = [140, 157, 182, 167, 270, 704, 36, 726];
}
