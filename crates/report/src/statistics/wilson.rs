//! The Wilson score interval of one proportion (E. B. Wilson, JASA 22, 1927), 95 %, without continuity correction.

use domain::score::Rate;

use super::Z;

/// A two-sided 95 % interval of a proportion, both ends between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The Wilson interval of a rate; none if nothing was counted.
pub fn wilson(rate: Rate) -> Option<Interval> {
    if rate.of == 0 {
        return None;
    }
    let n = f64::from(rate.of);
    let p = f64::from(rate.count) / n;
    let z2 = Z * Z;
    let centre = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    // Rounding must not push an end past what a proportion can be.
    let low = if rate.count == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
    let high = if rate.count == rate.of { 1.0 } else { ((centre + half) / scale).min(1.0) };
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors from `statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")`, in percent.
    #[test]
    fn agrees_with_published_vectors() {
        let cases = [
            (48, 100, 38.5, 57.7),
            (45, 100, 35.6, 54.8),
            (19, 100, 12.5, 27.8),
            (5, 100, 2.2, 11.2),
            (1, 100, 0.2, 5.4),
            (0, 23, 0.0, 14.3),
            (4, 4, 51.0, 100.0),
            (6, 7, 48.7, 97.4),
        ];
        for (count, of, low, high) in cases {
            let found = wilson(Rate { count, of }).expect("a denominator");
            assert!((found.low * 100.0 - low).abs() < 0.05, "{count}/{of}: {found:?}");
            assert!((found.high * 100.0 - high).abs() < 0.05, "{count}/{of}: {found:?}");
        }
    }

    #[test]
    fn has_no_interval_without_a_denominator() {
        assert_eq!(wilson(Rate { count: 0, of: 0 }), None);
    }
}
