//! Reads a run directory: [`RunReader`] for one run, [`GroupReader`] for a folder of runs, [`AttemptLog`] for a log.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use domain::{
    evidence::ChannelSet,
    ids::{Attempt, Hash, PairId, Repeat},
    plan::Plan,
    session::{Command, Entry, Event},
};
use thiserror::Error;
use walkdir::WalkDir;

use crate::{
    blobs::{Blobs, hash_of},
    claim::{self, Liveness},
    end::EndRecord,
    format::{
        FormatError,
        v1::{self, Wire as _},
    },
    layout::{AttemptLayout, RunLayout, is_folder_name},
    lock::{LockState, ReleaseLock},
    payload::Payloads,
    release_files::{LoadedRelease, Problems, ReleaseTree, SourceFile, open_tree},
    run::{AttemptHead, RunRecord},
    seal::Seal,
};

/// Why something of a run cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The folder is no run.
    #[error("{0} holds no run (no run.json)")]
    NoRun(PathBuf),
    /// A file cannot be read.
    #[error("{file} cannot be read")]
    Io {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{file}, line {line} cannot be read")]
    Format {
        /// Which.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Why.
        source: FormatError,
    },
    /// The kept release is not the one that the run was planned with.
    #[error("the release kept in {file} has digest {found}, the run was planned with {planned}")]
    OtherRelease {
        /// The run's folder.
        file: PathBuf,
        /// Digest of what is kept.
        found: Hash,
        /// Digest in `run.json`.
        planned: Hash,
    },
    /// The kept release cannot be read.
    #[error("the release kept in {file} cannot be read")]
    Release {
        /// The run's folder.
        file: PathBuf,
        /// Why.
        source: Problems,
    },
    /// A seal is not the one that the log names.
    #[error("{file} has hash {found}, the log names {logged}")]
    OtherSeal {
        /// The seal's file.
        file: PathBuf,
        /// Hash of what is there.
        found: Hash,
        /// Hash in the log.
        logged: Hash,
    },
    /// A pair's id cannot name a folder.
    #[error("{file}: `{pair}` cannot be a pair's id")]
    UnfitName {
        /// The plan's file.
        file: PathBuf,
        /// The id.
        pair: PairId,
    },
}

/// One run.
#[derive(Clone, Debug)]
pub struct RunReader {
    layout: RunLayout,
    /// What the run says of itself.
    pub record: RunRecord,
    /// What was planned, all specs included.
    pub plan: Plan,
}

/// One attempt that has a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFound {
    /// The pair.
    pub pair: PairId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Which attempt.
    pub attempt: Attempt,
    /// Its paths.
    pub layout: AttemptLayout,
}

/// How an attempt stands on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its log has an end entry.
    Ended,
    /// It has none, and somebody works on it.
    Running,
    /// It has none, and nobody works on it.
    Lost,
}

impl RunReader {
    /// Reads `run.json` and the plan.
    pub fn open(folder: &Path) -> Result<RunReader, ReadError> {
        let layout = RunLayout::new(folder);
        let file = layout.run_file();
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadError::NoRun(folder.to_owned()));
            }
            Err(source) => return Err(ReadError::Io { file, source }),
        };
        let run = v1::read_run_file(&bytes).map_err(|source| format_error(&file, 1, source))?;
        let (record, mut plan) = run.into_domain();
        let file = layout.plan();
        let text = String::from_utf8(read(&file)?)
            .map_err(|error| format_error(&file, 1, FormatError::NotText(error.utf8_error())))?;
        for (line, text) in numbered_lines(&text) {
            let spec: v1::SessionSpec = serde_json::from_str(text)
                .map_err(|error| format_error(&file, line, error.into()))?;
            plan.specs.push(spec.into_domain());
        }
        let mut pairs = plan.specs.iter().map(|spec| &spec.pair);
        if let Some(pair) = pairs.find(|pair| !is_folder_name(pair.as_str())) {
            return Err(ReadError::UnfitName { file, pair: pair.clone() });
        }
        Ok(RunReader { layout, record, plan })
    }

    /// The paths of the run.
    pub fn layout(&self) -> &RunLayout {
        &self.layout
    }

    /// Every attempt of the plan that has a folder, in order of the plan.
    pub fn attempts(&self) -> Result<Vec<AttemptFound>, ReadError> {
        let mut found = Vec::new();
        for spec in &self.plan.specs {
            let attempts = self
                .layout
                .attempts(&spec.pair, spec.repeat)
                .map_err(|source| ReadError::Io { file: self.layout.sessions(), source })?;
            for attempt in attempts {
                let layout = self.layout.attempt(&spec.pair, spec.repeat, attempt);
                let (pair, repeat) = (spec.pair.clone(), spec.repeat);
                found.push(AttemptFound { pair, repeat, attempt, layout });
            }
        }
        Ok(found)
    }

    /// The release that the run keeps, proved to be the planned one.
    pub fn release(&self) -> Result<LoadedRelease, ReadError> {
        let file = self.layout.release_lock();
        let bytes = read(&file)?;
        let folder = || self.layout.root().to_owned();
        let mut problems = Problems::default();
        let lock = std::str::from_utf8(&bytes).ok().and_then(ReleaseLock::read);
        let Some(lock) = lock else {
            problems.add_whole_file("release.lock", "it is no lock", "restore the run");
            return Err(ReadError::Release { file: folder(), source: problems });
        };
        if lock.digest() != self.plan.digest {
            let (found, planned) = (lock.digest(), self.plan.digest.clone());
            return Err(ReadError::OtherRelease { file: folder(), found, planned });
        }
        let blobs = Blobs::new(self.layout.release());
        let mut files = BTreeMap::new();
        for (path, hash, is_executable) in lock.files() {
            match blobs.get(hash) {
                Ok(bytes) => {
                    files
                        .insert(path.to_owned(), SourceFile { bytes: bytes.into(), is_executable });
                }
                Err(error) => problems.add_whole_file(path, error.to_string(), "restore the run"),
            }
        }
        if !problems.is_empty() {
            return Err(ReadError::Release { file: folder(), source: problems });
        }
        let state = if self.plan.locked { LockState::Locked } else { LockState::Unlocked };
        open_tree(ReleaseTree { files }, state)
            .map_err(|source| ReadError::Release { file: folder(), source })
    }

    /// Copies the run to a folder that is absent or empty, without what can be derived again.
    ///
    /// # Errors
    ///
    /// The folder holds something already, or cannot be written.
    pub fn copy_to(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
        }
        let derived = self.layout.derived();
        let own = WalkDir::new(self.layout.root()).min_depth(1).sort_by_file_name();
        for entry in own.into_iter().filter_entry(|entry| entry.path() != derived) {
            let entry = entry?;
            let Ok(path) = entry.path().strip_prefix(self.layout.root()) else { continue };
            if entry.file_type().is_dir() {
                fs::create_dir(folder.join(path))?;
            } else {
                fs::copy(entry.path(), folder.join(path))?;
            }
        }
        Ok(())
    }

    /// The payloads of the run's logs.
    pub fn payloads(&self) -> Payloads {
        Payloads::new(Blobs::new(self.layout.blobs()))
    }
}

impl AttemptFound {
    /// The attempt's log; none if its writer died before the head was whole.
    pub fn log(&self) -> Result<Option<AttemptLog>, ReadError> {
        AttemptLog::open(&self.layout.log())
    }

    /// The logs of later gradings, in order, without those whose writer died before the head was whole.
    pub fn regrades(&self) -> Result<Vec<AttemptLog>, ReadError> {
        let file = self.layout.root().to_owned();
        let numbers = self.layout.regrades().map_err(|source| ReadError::Io { file, source })?;
        let logs = numbers.into_iter().map(|nth| AttemptLog::open(&self.layout.regrade(nth)));
        logs.filter_map(Result::transpose).collect()
    }

    /// How the attempt stands; `log` is its own.
    pub fn standing(&self, log: Option<&AttemptLog>) -> Result<Standing, ReadError> {
        for entry in log.iter().flat_map(|log| log.entries()) {
            if matches!(entry?.event, Event::Decided(_, Command::End(_))) {
                return Ok(Standing::Ended);
            }
        }
        let file = self.layout.claim();
        match claim::liveness(&file) {
            Ok(Liveness::Live) => Ok(Standing::Running),
            Ok(Liveness::Dead | Liveness::Unclaimed) => Ok(Standing::Lost),
            Err(source) => Err(ReadError::Io { file, source }),
        }
    }

    /// What the sealed state is made of; none if the attempt was never sealed.
    pub fn seal(&self) -> Result<Option<Seal>, ReadError> {
        let file = self.layout.seal();
        let Some(bytes) = read_if_there(&file)? else { return Ok(None) };
        let seal = v1::read_record(&bytes, v1::Seal::into_domain);
        seal.map(Some).map_err(|source| format_error(&file, 1, source))
    }

    /// The same, proved to be what the log names by `digest`.
    pub fn seal_of(&self, digest: &Hash) -> Result<Option<Seal>, ReadError> {
        let file = self.layout.seal();
        let Some(bytes) = read_if_there(&file)? else { return Ok(None) };
        let found = hash_of(&bytes);
        if found != *digest {
            return Err(ReadError::OtherSeal { file, found, logged: digest.clone() });
        }
        self.seal()
    }

    /// What was written when the log was closed; none if the writer died before.
    pub fn end(&self) -> Result<Option<EndRecord>, ReadError> {
        let file = self.layout.end();
        let Some(bytes) = read_if_there(&file)? else { return Ok(None) };
        let end = v1::read_record(&bytes, v1::End::into_domain);
        end.map(Some).map_err(|source| format_error(&file, 1, source))
    }
}

/// A log in memory; its entries are parsed as they are asked for.
#[derive(Clone, Debug)]
pub struct AttemptLog {
    file: PathBuf,
    text: String,
    /// The log's first line.
    pub head: AttemptHead,
    /// Where the entries begin.
    body: usize,
    /// Whether a last line without its end was dropped.
    pub was_torn: bool,
}

impl AttemptLog {
    /// Reads a log; none if it is absent or its head is not whole.
    pub fn open(file: &Path) -> Result<Option<AttemptLog>, ReadError> {
        let Some(mut bytes) = read_if_there(file)? else { return Ok(None) };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let was_torn = whole < bytes.len();
        bytes.truncate(whole);
        let text = String::from_utf8(bytes)
            .map_err(|error| format_error(file, 1, FormatError::NotText(error.utf8_error())))?;
        let Some(end) = text.find('\n') else { return Ok(None) };
        let head = v1::read_record(&text.as_bytes()[..end], v1::AttemptHead::into_domain)
            .map_err(|source| format_error(file, 1, source))?;
        let file = file.to_owned();
        Ok(Some(AttemptLog { file, text, head, body: end + 1, was_torn }))
    }

    /// The entries in order; a line that is no entry is an error with its number.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry, ReadError>> + '_ {
        numbered_lines(&self.text[self.body..]).map(|(line, text)| {
            serde_json::from_str::<v1::Entry>(text)
                .map(v1::Entry::into_domain)
                .map_err(|error| format_error(&self.file, line + 1, error.into()))
        })
    }

    /// The hash of the whole log, to compare with [`EndRecord::log`].
    pub fn hash(&self) -> Hash {
        hash_of(self.text.as_bytes())
    }

    /// The file that it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Bytes of the log.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.body == self.text.len()
    }

    /// Channels that sandbox and driver gave.
    pub fn channels(&self) -> &ChannelSet {
        &self.head.channels
    }
}

/// A folder of runs, or one run.
#[derive(Clone, Debug)]
pub struct GroupReader {
    /// The runs, in order of their folders.
    pub runs: Vec<RunReader>,
}

impl GroupReader {
    /// Reads the run in a folder, or every run directly below it.
    pub fn open(folder: &Path) -> Result<GroupReader, ReadError> {
        if RunLayout::new(folder).run_file().exists() {
            return Ok(GroupReader { runs: vec![RunReader::open(folder)?] });
        }
        let io_error = |source| ReadError::Io { file: folder.to_owned(), source };
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder).map_err(io_error)? {
            let path = entry.map_err(io_error)?.path();
            if RunLayout::new(&path).run_file().exists() {
                folders.push(path);
            }
        }
        folders.sort();
        if folders.is_empty() {
            return Err(ReadError::NoRun(folder.to_owned()));
        }
        let runs =
            folders.iter().map(|folder| RunReader::open(folder)).collect::<Result<_, _>>()?;
        Ok(GroupReader { runs })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(file).map_err(|source| ReadError::Io { file: file.to_owned(), source })
}

fn read_if_there(file: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReadError::Io { file: file.to_owned(), source }),
    }
}

fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.split_terminator('\n'))
}

fn format_error(file: &Path, line: u64, source: FormatError) -> ReadError {
    ReadError::Format { file: file.to_owned(), line, source }
}
