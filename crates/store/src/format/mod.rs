//! Formats of the run directory, one module for each major version; [`v1`] is the one that is written.

pub(crate) mod v1;

use thiserror::Error;

/// The major version that this version writes and reads.
pub const FORMAT: u32 = 1;

/// Why stored data cannot be read.
#[derive(Debug, Error)]
pub enum FormatError {
    /// Another major version wrote it.
    #[error(
        "it has format {found}, this version reads format {FORMAT}; read it with a version of pcb that writes \
         format {found}"
    )]
    OtherVersion {
        /// The version found.
        found: u32,
    },
    /// It is not what the format says.
    #[error("it is no data of format {FORMAT}")]
    Malformed(#[from] serde_json::Error),
    /// It is not UTF-8.
    #[error("it is no text")]
    NotText(#[source] std::str::Utf8Error),
}

impl FormatError {
    pub(crate) fn check(found: u32) -> Result<(), FormatError> {
        if found == FORMAT { Ok(()) } else { Err(FormatError::OtherVersion { found }) }
    }
}
