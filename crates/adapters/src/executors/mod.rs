//! Executors: where attempts run.

mod local;

pub use local::LocalExecutor;
