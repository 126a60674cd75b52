//! Files under `derived/`: made from logs, deletable, and the only ones of a run that are ever rewritten.

use std::{fs, io};

use domain::result::SessionResult;

use crate::{
    format::{
        FormatError,
        v1::{self, Wire as _},
    },
    layout::RunLayout,
    write_once::replace_file,
};

/// Writes one file under `derived/`, in place of what was there.
pub fn write(layout: &RunLayout, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = layout.derived().join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    replace_file(&path, bytes)
}

/// Results as lines of JSON.
pub fn results_to_lines(results: &[SessionResult]) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    for result in results {
        serde_json::to_writer(&mut bytes, &v1::SessionResult::from_domain(result))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Reads what [`results_to_lines`] wrote, for programs that compare results; a run's truth is in its logs.
pub fn results_from_lines(bytes: &[u8]) -> Result<Vec<SessionResult>, FormatError> {
    serde_json::Deserializer::from_slice(bytes)
        .into_iter::<v1::SessionResult>()
        .map(|result| Ok(result?.into_domain()))
        .collect()
}
