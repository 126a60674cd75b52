//! Tests of what surrounds a session: lints of a release, plans, results and scores.

mod build;
mod calibration;
mod faults;
mod folds;
mod lints;
mod plans;
mod results;
mod sandboxes;
mod scores;
mod verifications;
