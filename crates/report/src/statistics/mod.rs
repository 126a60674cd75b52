//! The statistics of the tables: intervals, comparisons on the same pairs, families of comparisons, ranks, reliability,
//! power. Nothing here knows of a run; callers hand over numbers, and a seed where something is drawn.

mod draws;
mod family;
mod nested;
mod paired;
mod power;
mod ranks;
mod reliability;
mod wilson;

pub use draws::Draws;
pub use family::{MaxT, holm, max_t};
pub use nested::{Cluster, Nested, Resampling};
pub use paired::{Discordant, paired_bootstrap, tango};
pub use power::{Design, noise_points};
pub use ranks::{RankRange, Standing, standings};
pub use reliability::{Reliability, pass_at, pass_hat, reliability};
pub use wilson::{Interval, wilson};

/// The 97.5 % quantile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A quantile of sorted values, linear between neighbours (R type 7, the usual one of NumPy).
fn quantile(sorted: &[f64], at: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = at.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    // Between two infinities there is no number.
    if low.total_cmp(&high).is_eq() {
        return Some(low);
    }
    Some(low + (high - low) * (place - place.floor()))
}

/// The middle 95 % of what was drawn.
fn middle(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, 0.025)?, high: quantile(&values, 0.975)? })
}
