//! Repeats of one pair: pass^k and pass@k over the planned ones, ever and always, and how the variance divides
//! ([`reliability`]). A repeat that is missing failed.

use super::draws::mean;

/// The chance that `k` of the planned repeats, drawn without putting back, all passed (τ-bench, 2406.12045); none if fewer than
/// `k` were planned.
pub fn pass_hat(passed: u32, planned: u32, k: u32) -> Option<f64> {
    if k > planned || k == 0 {
        return None;
    }
    Some((0..k).map(|taken| ratio(passed.saturating_sub(taken), planned - taken)).product())
}

/// The chance that at least one of `k` passed (Codex, 2107.03374, equation 1); none if fewer than `k` were planned.
pub fn pass_at(passed: u32, planned: u32, k: u32) -> Option<f64> {
    pass_hat(planned.saturating_sub(passed), planned, k).map(|none| 1.0 - none)
}

/// What repeats say of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Reliability {
    /// pass^k for k from 1 to the smallest planned number.
    pub pass_hat: Vec<f64>,
    /// pass@k likewise.
    pub pass_at: Vec<f64>,
    /// The share of pairs that passed at least once.
    pub ever: f64,
    /// The share of pairs that passed each time.
    pub always: f64,
    /// The mean variance of a repeat within its pair; none with fewer than two repeats of some pair.
    pub within: Option<f64>,
    /// The variance of the pairs' own rates, free of what repeats add to it; none likewise, or with one pair.
    pub between: Option<f64>,
}

/// Over pairs, each with how many of its planned repeats passed; none without pairs or with a pair for which none was planned.
pub fn reliability(pairs: &[(u32, u32)]) -> Option<Reliability> {
    let planned_min =
        pairs.iter().map(|(_, planned)| *planned).min().filter(|planned| *planned > 0)?;
    let over = |figure: fn(u32, u32, u32) -> Option<f64>| {
        (1..=planned_min)
            .map(|k| {
                mean(pairs.iter().filter_map(|(passed, planned)| figure(*passed, *planned, k)))
            })
            .collect()
    };
    let share_of = |holds: fn(u32, u32) -> bool| {
        mean(pairs.iter().map(|(passed, planned)| f64::from(u8::from(holds(*passed, *planned)))))
    };
    let (within, between) = variances(pairs).unzip();
    Some(Reliability {
        pass_hat: over(pass_hat),
        pass_at: over(pass_at),
        ever: share_of(|passed, _| passed > 0),
        always: share_of(|passed, planned| passed == planned),
        within,
        between,
    })
}

/// Within and between, by the usual analysis of variance with one factor.
fn variances(pairs: &[(u32, u32)]) -> Option<(f64, f64)> {
    if pairs.len() < 2 || pairs.iter().any(|(_, planned)| *planned < 2) {
        return None;
    }
    let own = |(passed, planned): &(u32, u32)| {
        let p = ratio(*passed, *planned);
        p * (1.0 - p) * f64::from(*planned) / f64::from(planned - 1)
    };
    let within = mean(pairs.iter().map(own));
    let rates: Vec<f64> = pairs.iter().map(|(passed, planned)| ratio(*passed, *planned)).collect();
    let centre = mean(rates.iter().copied());
    let spread =
        rates.iter().map(|rate| (rate - centre).powi(2)).sum::<f64>() / (rates.len() - 1) as f64;
    let noise = mean(pairs.iter().map(|pair| own(pair) / f64::from(pair.1)));
    Some((within, (spread - noise).max(0.0)))
}

fn ratio(count: u32, of: u32) -> f64 {
    f64::from(count) / f64::from(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_runs_give_what_is_written() {
        let check = |passed: u32, expect: [f64; 4]| {
            for (k, expect) in (1..).zip(expect) {
                let found = pass_hat(passed, 4, k).unwrap();
                assert!((found - expect).abs() < 0.005, "{passed} of 4, k {k}: {found}");
            }
        };
        check(3, [0.75, 0.50, 0.25, 0.0]);
        check(2, [0.50, 0.17, 0.0, 0.0]);
        check(4, [1.0; 4]);
        check(0, [0.0; 4]);
        assert_eq!(pass_hat(2, 4, 5), None);
        assert_eq!(pass_at(2, 4, 0), None);
        assert!((pass_at(1, 4, 2).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn variance_divides_into_pairs_and_repeats() {
        let decided = reliability(&[(4, 4), (0, 4), (4, 4), (0, 4)]).unwrap();
        assert_eq!((decided.within, decided.between), (Some(0.0), Some(1.0 / 3.0)));
        assert!((decided.ever - 0.5).abs() < 1e-12 && (decided.always - 0.5).abs() < 1e-12);
        let noisy = reliability(&[(2, 4), (2, 4), (2, 4)]).unwrap();
        assert!((noisy.within.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((noisy.between, noisy.always, noisy.pass_hat.len()), (Some(0.0), 0.0, 4));
        assert_eq!(reliability(&[(1, 1), (0, 1)]).unwrap().within, None);
        assert_eq!(reliability(&[(0, 0)]), None);
    }
}
