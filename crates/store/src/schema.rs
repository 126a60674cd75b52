//! JSON Schemas (2020-12) of every format that this crate reads or writes ([`formats`]), so that editors and other
//! programs can complete and check them.

use serde_json::Value;

use crate::{format::v1, release_files};

/// A format with its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// Its name, for instance `pair`.
    pub name: &'static str,
    /// Which files have it.
    pub files: &'static str,
    /// Its JSON Schema.
    pub schema: Value,
}

/// Every format, those that authors write first.
pub fn formats() -> Vec<Format> {
    release_files::formats().into_iter().chain(v1::formats()).collect()
}
