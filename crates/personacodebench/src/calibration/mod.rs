//! The sessions of a calibration: planned, run at once, and read back ([`runs`], [`sessions`]); bases ([`bases`]).

pub mod bases;
pub mod runs;
pub mod sessions;
