//! Writes skeletons beside what is there and over nothing of it ([`place`]).

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::SkeletonFile;

/// Why a skeleton was not placed.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Something stands there already; nothing was written.
    #[error("`{}` is there already, and nothing is written over: choose another name, or move it away", .0.display())]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes the files of a skeleton below a folder and answers their paths; if one of them is there, none is written.
pub fn place(folder: &Path, files: &[SkeletonFile]) -> Result<Vec<PathBuf>, PlaceError> {
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.path)).collect();
    if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(PlaceError::Exists(path.clone()));
    }
    for (file, path) in files.iter().zip(&paths) {
        write(path, file).map_err(|source| PlaceError::Write { path: path.clone(), source })?;
    }
    Ok(paths)
}

fn write(path: &Path, file: &SkeletonFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    written.write_all(file.text.as_bytes())
}
