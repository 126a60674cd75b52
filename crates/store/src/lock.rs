//! The lock of a release: every file with its hash, and the digest over all of them ([`ReleaseLock`]).

use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::Path};

use domain::{ids::Hash, release::Release};

use crate::{
    blobs::hash_of,
    layout::LOCK_FILE,
    release_files::{Problems, ReleaseTree},
    write_once::replace_file,
};

const HEADER: &str = "pcb-release-lock 1";

/// Names every file of a release with its hash. The digest is the BLAKE3 of all its file lines, in order of path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseLock {
    /// Path → (hash, whether the owner may execute it).
    files: BTreeMap<String, (Hash, bool)>,
}

/// Whether a release is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// A lock was there and agreed with every file.
    Locked,
    /// There was none; its rows say so.
    Unlocked,
}

impl ReleaseLock {
    /// The lock that fits these files.
    pub(crate) fn of(tree: &ReleaseTree) -> Self {
        let entry = |(path, file): (&String, &crate::release_files::SourceFile)| {
            (path.clone(), (hash_of(&file.bytes), file.is_executable))
        };
        Self { files: tree.files.iter().map(entry).collect() }
    }

    /// The digest of the release.
    pub fn digest(&self) -> Hash {
        hash_of(self.file_lines().as_bytes())
    }

    /// The files with their hashes and whether they are executable, in order of path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Hash, bool)> {
        self.files.iter().map(|(path, (hash, executable))| (path.as_str(), hash, *executable))
    }

    /// Writes `release.lock` into the release's folder.
    pub fn write(&self, folder: &Path, release: &Release) -> io::Result<()> {
        replace_file(&folder.join(LOCK_FILE), self.text(release).as_bytes())
    }

    /// The text of a lock file.
    pub(crate) fn text(&self, release: &Release) -> String {
        format!(
            "{HEADER}\nrelease {} {}\ndigest {}\n{}",
            release.id,
            release.version,
            self.digest(),
            self.file_lines()
        )
    }

    /// Reads the text of a lock file; none if it is none. Its own digest is recomputed, not believed.
    pub(crate) fn read(text: &str) -> Option<ReleaseLock> {
        parse(text).map(|(lock, _)| lock)
    }

    fn file_lines(&self) -> String {
        let mut lines = String::new();
        for (path, (hash, executable)) in &self.files {
            let mark = if *executable { 'x' } else { '-' };
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{hash} {mark} {path}");
        }
        lines
    }

    /// Reads the lock at a path and says where the files differ from it.
    pub(crate) fn compare_with(&self, lock: &Path, problems: &mut Problems) -> LockState {
        const REMEDY: &str = "restore the file, or lock the release anew with `pcb lock`";
        let text = match fs::read_to_string(lock) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Unlocked,
            Err(error) => {
                problems.add_whole_file(LOCK_FILE, error.to_string(), "make the lock readable");
                return LockState::Unlocked;
            }
        };
        let Some((locked, digest)) = parse(&text) else {
            let message = "the lock cannot be read by this version";
            problems.add_whole_file(LOCK_FILE, message, "lock the release anew with `pcb lock`");
            return LockState::Unlocked;
        };
        for (path, entry) in &self.files {
            match locked.files.get(path) {
                None => {
                    problems.add_whole_file(path.clone(), "the lock does not know the file", REMEDY)
                }
                Some((hash, _)) if *hash != entry.0 => {
                    problems.add_whole_file(
                        path.clone(),
                        "the file was changed after locking",
                        REMEDY,
                    );
                }
                Some((_, executable)) if *executable != entry.1 => {
                    let message = "the file's executable bit was changed after locking";
                    problems.add_whole_file(path.clone(), message, REMEDY);
                }
                Some(_) => {}
            }
        }
        for path in locked.files.keys().filter(|path| !self.files.contains_key(*path)) {
            problems.add_whole_file(path.clone(), "the lock names a file that is gone", REMEDY);
        }
        if locked.digest() != digest {
            let message = "the digest in the lock is not that of its own lines";
            problems.add_whole_file(LOCK_FILE, message, "lock the release anew with `pcb lock`");
        }
        LockState::Locked
    }
}

fn parse(text: &str) -> Option<(ReleaseLock, Hash)> {
    let mut lines = text.lines();
    if lines.next()? != HEADER || !lines.next()?.starts_with("release ") {
        return None;
    }
    let digest = Hash::new(lines.next()?.strip_prefix("digest ")?);
    let mut files = BTreeMap::new();
    for line in lines {
        let (hash, rest) = line.split_once(' ')?;
        let (mark, path) = rest.split_once(' ')?;
        let executable = match mark {
            "x" => true,
            "-" => false,
            _ => return None,
        };
        files.insert(path.to_owned(), (Hash::new(hash), executable));
    }
    Some((ReleaseLock { files }, digest))
}
