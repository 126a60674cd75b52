//! The parts that start, watch and stop sessions. Knows ports, no implementer.

pub mod ports;
