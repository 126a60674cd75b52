//! Writes skeletons beside what is there and over nothing of it ([`place`]): whole, or not at all.

use std::{
    collections::BTreeSet,
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
    /// A file could not be written; nothing is left of the others.
    #[error("`{}` cannot be written: {source}; nothing was left there", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes the files of a skeleton below a folder and answers their paths; if one of them is there, none is written.
/// They are written into a hidden folder and moved once all of them are whole, so that neither a full disk nor a kill
/// leaves half of a new folder behind.
pub fn place(folder: &Path, files: &[SkeletonFile]) -> Result<Vec<PathBuf>, PlaceError> {
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.path)).collect();
    if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(PlaceError::Exists(path.clone()));
    }
    let fault = |path: &Path, source| PlaceError::Write { path: path.to_owned(), source };
    let above = topmost_missing(folder);
    let home = above.as_deref().unwrap_or(folder);
    let staging = Staging::beside(home, above.is_some()).map_err(|error| fault(home, error))?;
    let within = folder.strip_prefix(home).unwrap_or(Path::new(""));
    for (file, path) in files.iter().zip(&paths) {
        write(&staging.0.join(within).join(&file.path), file)
            .map_err(|error| fault(path, error))?;
    }
    if above.is_some() {
        return match fs::rename(&staging.0, home) {
            Ok(()) => Ok(paths),
            Err(error) => Err(fault(home, error)),
        };
    }
    move_into(folder, &staging.0, files)?;
    Ok(paths)
}

/// Moves what is new into a folder that is there; what was moved is taken back if the rest cannot follow.
fn move_into(folder: &Path, staging: &Path, files: &[SkeletonFile]) -> Result<(), PlaceError> {
    let units: BTreeSet<PathBuf> = files
        .iter()
        .filter_map(|file| topmost_missing(&folder.join(&file.path)))
        .filter_map(|path| path.strip_prefix(folder).ok().map(Path::to_owned))
        .collect();
    let mut moved: Vec<PathBuf> = Vec::new();
    for unit in &units {
        let target = folder.join(unit);
        if let Err(source) = fs::rename(staging.join(unit), &target) {
            for path in &moved {
                // It goes back to where the hidden folder is removed with it.
                let _ = path
                    .strip_prefix(folder)
                    .map_or(Ok(()), |unit| fs::rename(path, staging.join(unit)));
            }
            return Err(PlaceError::Write { path: target, source });
        }
        moved.push(target);
    }
    Ok(())
}

/// The highest part of a path that is not there; none if all of it is.
fn topmost_missing(path: &Path) -> Option<PathBuf> {
    let is_missing =
        |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err();
    path.ancestors().take_while(is_missing).last().map(Path::to_owned)
}

/// A hidden folder for what is not whole yet; it goes with whatever is left in it.
struct Staging(PathBuf);

impl Staging {
    /// Beside a folder that is to be made, so that it lies in no release; in a folder that is there.
    fn beside(home: &Path, is_new: bool) -> io::Result<Self> {
        let name = format!(".pcb-new.{}", std::process::id());
        let path = if is_new { home.with_file_name(name) } else { home.join(name) };
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // It is gone if it was moved as a whole.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, file: &SkeletonFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    written.write_all(file.text.as_bytes())?;
    written.sync_data()
}
