//! The nested bootstrap: pairs within their suite, then repeats within their pair ([`Nested`]); and the one that draws
//! whole personas, because pairs share them.

use super::{
    Interval,
    draws::{Draws, grouped},
    middle,
};

/// One pair with the figures of each planned repeat. A repeat that was not executed is a row of zeros (but for what
/// counts it): it is never left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster<const N: usize> {
    /// The suite: pairs are drawn within it, so that each draw has as many of it as the release.
    pub stratum: usize,
    /// The persona, which several pairs share.
    pub persona: usize,
    /// Figures of each repeat, which are summed.
    pub repeats: Vec<[f64; N]>,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resampling {
    /// Pairs within their suite, repeats within their pair.
    Pairs,
    /// Personas with all their pairs, repeats within their pair. Few personas give a rough interval.
    Personas,
}

/// A bootstrap of sums over all repeats of all pairs.
#[derive(Clone, Debug)]
pub struct Nested<'a, const N: usize> {
    clusters: &'a [Cluster<N>],
    /// Places of the clusters by stratum or persona.
    groups: Vec<Vec<usize>>,
    resampling: Resampling,
}

impl<'a, const N: usize> Nested<'a, N> {
    /// Over these pairs.
    pub fn new(clusters: &'a [Cluster<N>], resampling: Resampling) -> Self {
        let key = |cluster: &Cluster<N>| match resampling {
            Resampling::Pairs => cluster.stratum,
            Resampling::Personas => cluster.persona,
        };
        Self { clusters, groups: grouped(clusters.iter().map(key)), resampling }
    }

    /// The sums of all repeats as they are.
    pub fn sums(&self) -> [f64; N] {
        let mut sums = [0.0; N];
        self.clusters
            .iter()
            .flat_map(|cluster| &cluster.repeats)
            .for_each(|row| add(&mut sums, row));
        sums
    }

    /// The sums of one draw.
    pub fn draw(&self, draws: &mut Draws) -> [f64; N] {
        let mut sums = [0.0; N];
        for group in &self.groups {
            match self.resampling {
                Resampling::Pairs => {
                    for _ in 0..group.len() {
                        let place = draws.one(group).copied();
                        self.repeats(place, draws, &mut sums);
                    }
                }
                Resampling::Personas => {
                    for place in draws.one(&self.groups).into_iter().flatten() {
                        self.repeats(Some(*place), draws, &mut sums);
                    }
                }
            }
        }
        sums
    }

    /// The percentile interval of a statistic of the sums; a draw for which it has no value (a ratio over nothing)
    /// counts as the worst, `undefined`, so that what is rare does not make an interval narrow.
    pub fn interval(
        &self,
        draws: u32,
        seed: u64,
        undefined: f64,
        statistic: impl Fn(&[f64; N]) -> Option<f64>,
    ) -> Option<Interval> {
        statistic(&self.sums())?;
        let mut stream = Draws::new(seed);
        let values =
            (0..draws).map(|_| statistic(&self.draw(&mut stream)).unwrap_or(undefined)).collect();
        middle(values)
    }

    fn repeats(&self, place: Option<usize>, draws: &mut Draws, sums: &mut [f64; N]) {
        let Some(cluster) = place.and_then(|place| self.clusters.get(place)) else { return };
        if let [only] = cluster.repeats.as_slice() {
            return add(sums, only);
        }
        for _ in 0..cluster.repeats.len() {
            if let Some(row) = draws.one(&cluster.repeats) {
                add(sums, row);
            }
        }
    }
}

fn add<const N: usize>(sums: &mut [f64; N], row: &[f64; N]) {
    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(stratum: usize, persona: usize, passes: &[bool]) -> Cluster<2> {
        let row = |passed: &bool| [f64::from(u8::from(*passed)), 1.0];
        Cluster { stratum, persona, repeats: passes.iter().map(row).collect() }
    }

    fn rate([passed, of]: &[f64; 2]) -> Option<f64> {
        (*of > 0.0).then(|| passed / of)
    }

    /// A release whose every suite is decided has no spread between suites: drawing within them keeps each one's share.
    #[test]
    fn suites_keep_their_share() {
        let clusters: Vec<_> = (0..40).map(|n| pair(n % 2, n, &[n % 2 == 0])).collect();
        let nested = Nested::new(&clusters, Resampling::Pairs);
        let found = nested.interval(2_000, 1, 0.0, rate).unwrap();
        assert_eq!(found, Interval { low: 0.5, high: 0.5 });
        let clusters: Vec<_> = (0..40).map(|n| pair(0, n, &[n % 2 == 0])).collect();
        let found =
            Nested::new(&clusters, Resampling::Pairs).interval(2_000, 1, 0.0, rate).unwrap();
        assert!(found.high - found.low > 0.25, "{found:?}");
    }

    /// Repeats of a pair are alike, so many of them must not narrow the interval as independent ones would.
    #[test]
    fn repeats_are_not_pooled() {
        let width = |repeats: usize, resampling| {
            let clusters: Vec<_> =
                (0..40).map(|n| pair(0, n % 4, &vec![n % 4 < 2; repeats])).collect();
            let found = Nested::new(&clusters, resampling).interval(4_000, 5, 0.0, rate).unwrap();
            found.high - found.low
        };
        assert!((width(1, Resampling::Pairs) - width(8, Resampling::Pairs)).abs() < 0.02);
        // Ten pairs of a persona that are all alike say no more than one.
        assert!(width(1, Resampling::Personas) > 2.0 * width(1, Resampling::Pairs));
    }

    #[test]
    fn a_ratio_over_nothing_counts_as_the_worst() {
        let clusters = [pair(0, 0, &[true]), pair(0, 1, &[false]), pair(0, 2, &[false])];
        let cost = |[passed, of]: &[f64; 2]| (*passed > 0.0).then(|| of / passed);
        let nested = Nested::new(&clusters, Resampling::Pairs);
        let found = nested.interval(2_000, 1, f64::INFINITY, cost).unwrap();
        assert!(found.low.is_finite() && found.high.is_infinite(), "{found:?}");
        let none = [pair(0, 0, &[false])];
        assert_eq!(Nested::new(&none, Resampling::Pairs).interval(10, 1, 0.0, cost), None);
    }
}
