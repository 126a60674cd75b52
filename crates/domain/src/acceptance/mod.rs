//! From readings to verdicts: operators, windows and Kleene logic, and the checks that are pure over evidence.

mod reading;

pub use reading::{Look, Occurrence, Reading, Truth};
