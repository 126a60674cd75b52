//! The fold of results into the score of a run ([`RunScore`]), with the [`Census`] whose identity
//! is asserted.

mod census;
mod fold;
mod tables;

pub use census::{Census, ScoreError, adds_up};
pub use tables::{AreaRow, Rate, RequirementCounts, RunScore, Stratum, TwoByTwo};
