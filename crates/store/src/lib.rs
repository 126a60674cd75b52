//! Files: releases read and locked, and the run directory written and read. The only crate that knows a file name.

pub mod blobs;
pub mod claim;
pub mod derived;
pub mod end;
pub mod format;
pub mod harbor;
pub mod journal;
pub mod layout;
pub mod lock;
pub mod models_file;
pub mod payload;
pub mod reader;
pub mod release_files;
pub mod run;
pub mod schema;
pub mod seal;
pub mod skeletons;
pub mod utc;
mod write_once;
pub mod writer;
