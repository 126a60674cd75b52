//! The statistics against what SciPy and statsmodels say (`statistics/vectors.py` writes the vectors).

use domain::score::Rate;
use report::statistics::{
    Cluster, Design, Discordant, Nested, Resampling, holm, reliability, tango, wilson,
};
use serde::de::DeserializeOwned;

fn vectors<T: DeserializeOwned>(of: &str) -> T {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("statistics/vectors.json")).expect("vectors.json");
    T::deserialize(&all[of]).unwrap_or_else(|error| panic!("{of}: {error}"))
}

#[track_caller]
fn near(found: f64, expect: f64, within: f64) {
    assert!((found - expect).abs() <= within, "{found} is not {expect}");
}

#[test]
fn proportions() {
    for (count, of, low, high) in vectors::<Vec<(u32, u32, f64, f64)>>("wilson") {
        let found = wilson(Rate { count, of }).expect("a denominator");
        near(found.low, low, 1e-9);
        near(found.high, high, 1e-9);
    }
}

#[test]
fn paired_rows() {
    for (first_only, second_only, p) in vectors::<Vec<(u32, u32, f64)>>("mcnemar") {
        near(Discordant { of: 200, first_only, second_only }.exact_p(), p, 1e-9);
    }
    // The vectors come from a numerical maximum, which is known to fewer digits than the closed form.
    for (of, first_only, second_only, low, high) in
        vectors::<Vec<(u32, u32, u32, f64, f64)>>("tango")
    {
        let found = tango(Discordant { of, first_only, second_only }).expect("pairs");
        near(found.low, low, 1e-5);
        near(found.high, high, 1e-5);
    }
}

#[test]
fn families() {
    for (p, adjusted) in vectors::<Vec<(Vec<f64>, Vec<f64>)>>("holm") {
        let found = holm(&p);
        assert_eq!(found.len(), adjusted.len());
        found.into_iter().zip(adjusted).for_each(|(found, expect)| near(found, expect, 1e-12));
    }
}

#[test]
fn power() {
    for (pairs, discordant, difference, expect) in vectors::<Vec<(u32, f64, f64, f64)>>("power") {
        let found = Design { pairs, discordant, difference }.power().expect("possible");
        near(found, expect, 1e-9);
    }
}

#[test]
fn percentile_intervals() {
    let (outcomes, low, high): (Vec<u32>, f64, f64) = vectors("bootstrap");
    let pair =
        |passed: u32| Cluster { stratum: 0, persona: 0, repeats: vec![[passed.into(), 1.0]] };
    let clusters: Vec<Cluster<2>> = outcomes.into_iter().map(pair).collect();
    let nested = Nested::new(&clusters, Resampling::Pairs);
    let rate = |[passed, of]: &[f64; 2]| Some(passed / of);
    let found = nested.interval(50_000, 9, 0.0, rate).expect("pairs");
    // Steps of one pair in sixty: the two streams may end one step apart.
    near(found.low, low, 1.0 / 60.0 + 1e-9);
    near(found.high, high, 1.0 / 60.0 + 1e-9);
}

#[test]
fn repeats() {
    let (passed, planned, hat, at): (Vec<u32>, u32, Vec<f64>, Vec<f64>) = vectors("reliability");
    let pairs: Vec<(u32, u32)> = passed.into_iter().map(|passed| (passed, planned)).collect();
    let found = reliability(&pairs).expect("pairs");
    found.pass_hat.iter().zip(hat).for_each(|(found, expect)| near(*found, expect, 1e-12));
    found.pass_at.iter().zip(at).for_each(|(found, expect)| near(*found, expect, 1e-12));
    assert_eq!(found.pass_hat.len(), 4);
}
