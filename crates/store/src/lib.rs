//! Files: releases read, linted and locked, and the run directory. The only crate that knows a file name.

pub mod blobs;
mod harbor;
pub mod layout;
pub mod lock;
pub mod release_files;
mod write_once;
