//! House tasks: simulation and benchmarks.

fn main() {}
