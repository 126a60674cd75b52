//! Intervals of the tables.

mod wilson;

pub use wilson::{Interval, wilson};
