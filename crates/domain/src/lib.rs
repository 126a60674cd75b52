//! The words and rules of the benchmark: releases, the pure session machine, verdicts, results and scores.
//!
//! Nothing in here can reach a clock, a file, a process, the network, a random source or a hash map.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod acceptance;
pub mod calibration;
pub mod controller;
pub mod evidence;
pub mod fault;
pub mod ids;
pub mod interpret;
pub mod plan;
pub mod release;
pub mod result;
pub mod score;
pub mod seed;
pub mod session;
pub mod usage;
pub mod verdict;
pub mod wording;
