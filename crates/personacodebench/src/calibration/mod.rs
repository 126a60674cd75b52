//! The sessions of a calibration: planned, run at once, and read back ([`runs`], [`sessions`]); bases looked at
//! ([`bases`]); sessions recorded and read again ([`fixtures`]).

pub mod bases;
pub mod fixtures;
pub mod runs;
pub mod sessions;
