//! What a sealed end state is made of, so that it can be graded again: [`Seal`].

use std::collections::BTreeMap;

use domain::{evidence::Manifest, ids::Hash};

/// A sealed state on top of its base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seal {
    /// Digest of the base.
    pub base: Option<Hash>,
    /// Every path that differs from the base; contents of regular files are blobs under their hashes.
    pub manifest: Manifest,
    /// Regular files whose content was not kept, by path, and why.
    pub unkept: BTreeMap<String, String>,
}
