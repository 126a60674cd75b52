//! The files of a release read once into memory: [`ReleaseTree`]; what is hashed is what is parsed.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use walkdir::WalkDir;

use super::problem::Problems;
use crate::layout::LOCK_FILE;

/// Every file of a release by its path, relative to the release's folder, with forward slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseTree {
    pub(crate) files: BTreeMap<String, SourceFile>,
}

/// One file of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) is_executable: bool,
}

/// One file of a tree that is placed in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Path relative to where the tree is placed, forward slashes, no `..`.
    pub path: String,
    /// Permission bits: 0o755 if the owner may execute it, else 0o644, whatever the umask of the checkout was.
    pub mode: u32,
    /// Its bytes.
    pub content: Vec<u8>,
}

impl ReleaseTree {
    /// Reads a folder; everything that must not be in a release is a problem.
    pub(crate) fn read(root: &Path, problems: &mut Problems) -> ReleaseTree {
        let mut tree = ReleaseTree::default();
        for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().map_or(PathBuf::new(), Path::to_owned);
                    let name = relative(root, &path).unwrap_or_else(|| "?".to_owned());
                    let why =
                        error.io_error().map_or_else(|| error.to_string(), io::Error::to_string);
                    problems.add_whole_file(name, why, "make the file readable");
                    continue;
                }
            };
            let Some(name) = relative(root, entry.path()) else {
                let shown = entry.path().to_string_lossy().into_owned();
                let remedy = "name files in printable Unicode without backslash";
                problems.add_whole_file(shown, "the file's name cannot stand in a lock", remedy);
                continue;
            };
            let kind = entry.file_type();
            if kind.is_dir() || name == LOCK_FILE {
                continue;
            }
            if !kind.is_file() {
                let what = if kind.is_symlink() { "a symbolic link" } else { "no regular file" };
                let remedy = "put the file itself there: a release holds regular files alone";
                problems.add_whole_file(name, format!("{what} in a release"), remedy);
                continue;
            }
            match read_file(entry.path()) {
                Ok(file) => drop(tree.files.insert(name, file)),
                Err(error) => {
                    problems.add_whole_file(name, error.to_string(), "make the file readable");
                }
            }
        }
        tree
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(|file| &*file.bytes)
    }

    /// The same with other bytes in a file; one that is not there yet is added.
    #[must_use]
    pub fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        let is_executable = self.files.get(path).is_some_and(|file| file.is_executable);
        self.files.insert(path.to_owned(), SourceFile { bytes: bytes.into(), is_executable });
        self
    }

    /// The bytes of every file.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.files.values().map(|file| &*file.bytes)
    }

    /// Everything below a folder (`a/b/`, with the slash), paths relative to it.
    pub(crate) fn below(&self, folder: &str) -> Vec<TreeFile> {
        self.files
            .range(folder.to_owned()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .map(|(path, file)| TreeFile {
                path: path[folder.len()..].to_owned(),
                mode: if file.is_executable { 0o755 } else { 0o644 },
                content: file.bytes.to_vec(),
            })
            .collect()
    }

    /// Names of the folders directly below a folder (`a/`, with the slash).
    pub(crate) fn folders(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .files
            .range(folder.to_owned()..)
            .take_while(|(path, _)| path.starts_with(folder))
            .filter_map(|(path, _)| path[folder.len()..].split_once('/'))
            .map(|(name, _)| name.to_owned())
            .collect();
        names.dedup();
        names
    }
}

fn read_file(path: &Path) -> io::Result<SourceFile> {
    let is_executable = fs::symlink_metadata(path)?.permissions().mode() & 0o100 != 0;
    Ok(SourceFile { bytes: fs::read(path)?.into(), is_executable })
}

/// The path below `root` as it stands in locks; none if it cannot.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let name = path.strip_prefix(root).ok()?.to_str()?;
    let is_plain = !name.contains('\\') && !name.chars().any(char::is_control);
    is_plain.then(|| name.to_owned())
}
