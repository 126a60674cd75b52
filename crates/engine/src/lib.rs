//! The parts that start, watch and stop sessions. Knows ports, no implementer.

pub mod admission;
pub mod cancel;
pub mod completion;
pub mod drive;
pub mod evidence;
pub mod materialise;
pub mod perform;
pub mod ports;
pub mod regrade;
pub mod run;
pub mod setup;

mod readings;
mod seal;
mod shell;
mod stop;
mod watchdog;
