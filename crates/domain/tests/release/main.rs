//! Tests of what surrounds a session: lints of a release, plans, results and scores.

mod build;
mod faults;
mod lints;
mod plans;
mod results;
mod scores;
