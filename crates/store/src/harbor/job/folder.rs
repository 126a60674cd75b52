//! Writes a job ([`write_job`]): every file is ours to write or the export is refused, and a second export of the same
//! run leaves the same bytes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use walkdir::WalkDir;

use super::{JobConfig, JobResult, Trajectory, TrialConfig, TrialResult, layout, result::Rewards};
use crate::{blobs::hash_of, layout::is_folder_name, write_once::replace_file};

/// Version of the marker.
const FORMAT: u32 = 1;

/// Files that are named when an export is refused; the rest is counted.
const NAMED_MAX: usize = 5;

/// A job to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What was asked for.
    pub config: JobConfig,
    /// What came of it.
    pub result: JobResult,
    /// Its trials.
    pub trials: Vec<Trial>,
    /// For people who open the folder.
    pub readme: String,
    /// What we say of it, for programs.
    pub facts: Value,
}

/// A trial to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What was asked for, with the trial's name.
    pub config: TrialConfig,
    /// What came of it; absent if it never ran or still does.
    pub result: Option<TrialResult>,
    /// The conversation.
    pub trajectory: Option<Trajectory>,
    /// What the verifier gave.
    pub rewards: Option<Rewards>,
    /// What the verifier printed.
    pub test_stdout: Option<Vec<u8>>,
    /// What was kept beside the result.
    pub artifacts: Artifacts,
    /// Each step of a task that has several.
    pub steps: Vec<StepFiles>,
}

/// What was kept beside a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Artifacts {
    /// Every declared path and what became of it; nothing is written if there is none.
    pub manifest: Vec<ArtifactEntry>,
    /// Files by their path within the artifacts' folder.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A declared path in the list of artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactEntry {
    /// The path inside.
    pub source: String,
    /// Where it is kept, from `artifacts/` on.
    pub destination: String,
    /// `file` or `directory`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `ok`, `empty`, `failed` or `skipped`.
    pub status: &'static str,
    /// The service that holds it.
    pub service: String,
    /// Globs of what was left out.
    pub exclude: Vec<String>,
}

/// What is written of a step, beside what its trial's result says.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFiles {
    /// Its name.
    pub step: String,
    /// The part of the conversation that it is.
    pub trajectory: Option<Trajectory>,
    /// What the verifier gave after it.
    pub rewards: Option<Rewards>,
    /// What the verifier printed.
    pub test_stdout: Option<Vec<u8>>,
    /// What was kept beside the result.
    pub artifacts: Artifacts,
}

/// What an export did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Files that were new or had other bytes.
    pub written: usize,
    /// Files that were as they are.
    pub kept: usize,
    /// Files of an earlier export that this one no longer has.
    pub removed: usize,
}

/// Why a job cannot be written; nothing was.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Something cannot be read or written.
    #[error("{file} cannot be read or written: {source}")]
    Io {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder holds what is not ours.
    #[error(
        "{folder} holds files that no export of this run wrote ({files}): name another folder \
         with --out, or move them"
    )]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// Which, the first of them.
        files: String,
    },
    /// The folder holds another export.
    #[error("{folder} holds the export of another run ({run}): name another folder with --out")]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// Its id.
        run: String,
    },
    /// The marker is none.
    #[error("{file} is no marker of an export: name another folder with --out, or move it")]
    NoMarker {
        /// The file.
        file: PathBuf,
    },
    /// Something cannot be said in JSON.
    #[error("{file} cannot be written as JSON: {source}")]
    Json {
        /// Which.
        file: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// Says whose folder it is.
#[derive(Serialize, Deserialize)]
struct Marker {
    format: u32,
    id: String,
    job: Value,
    files: BTreeMap<String, String>,
}

/// Writes a job into a folder that is absent, empty, or an earlier export of the same run.
///
/// # Errors
///
/// [`ExportError`]; files that others put into the folder are never changed. What an interrupted export left is
/// completed by the next.
pub fn write_job(job: &Job, folder: &Path) -> Result<Written, ExportError> {
    let files = files(job)?;
    let hashes: BTreeMap<String, String> =
        files.iter().map(|(path, bytes)| (path.clone(), hash_of(bytes).to_string())).collect();
    let before = marker(folder, &job.result.id)?;
    refuse_foreign(folder, &files, before.as_ref())?;

    let mut done = Written { written: 0, kept: 0, removed: 0 };
    for (path, bytes) in &files {
        if fs::read(folder.join(path)).is_ok_and(|found| found == *bytes) {
            done.kept += 1;
        } else {
            place(folder, path, bytes)?;
            done.written += 1;
        }
    }
    for (path, hash) in before.iter().flat_map(|marker| &marker.files) {
        done.removed += usize::from(!hashes.contains_key(path) && remove(folder, path, hash)?);
    }
    let marker =
        Marker { format: FORMAT, id: job.result.id.clone(), job: job.facts.clone(), files: hashes };
    // Last: a folder whose marker names a file has that file.
    place(folder, layout::MARKER, &json(layout::MARKER, &marker)?)?;
    Ok(done)
}

/// Every file but the marker, by its path within the job.
fn files(job: &Job) -> Result<BTreeMap<String, Vec<u8>>, ExportError> {
    let mut files = BTreeMap::new();
    files.insert(layout::CONFIG.to_owned(), json(layout::CONFIG, &job.config)?);
    files.insert(layout::RESULT.to_owned(), json(layout::RESULT, &job.result)?);
    files.insert(layout::README.to_owned(), job.readme.clone().into_bytes());
    for trial in &job.trials {
        let place = |file: &str| format!("{}/{file}", trial.config.trial_name);
        files.insert(place(layout::CONFIG), json(layout::CONFIG, &trial.config)?);
        if let Some(result) = &trial.result {
            files.insert(place(layout::RESULT), json(layout::RESULT, result)?);
            if let Some(exception) = &result.exception_info {
                let text =
                    format!("{}: {}\n", exception.exception_type, exception.exception_message);
                files.insert(place(layout::EXCEPTION), text.into_bytes());
            }
        }
        let told = (trial.trajectory.as_ref(), trial.rewards.as_ref(), trial.test_stdout.as_ref());
        told_files(&mut files, &place, told)?;
        kept_files(&mut files, &place, &trial.artifacts)?;
        for step in trial.steps.iter().filter(|step| is_folder_name(&step.step)) {
            let place = |file: &str| place(&format!("{}/{}/{file}", layout::STEPS, step.step));
            let told = (step.trajectory.as_ref(), step.rewards.as_ref(), step.test_stdout.as_ref());
            told_files(&mut files, &place, told)?;
            kept_files(&mut files, &place, &step.artifacts)?;
        }
    }
    Ok(files)
}

/// Files that were kept, and the list of them. A name that would lead out of the folder, or stands for the list, is none
/// of a file that was kept.
fn kept_files(
    files: &mut BTreeMap<String, Vec<u8>>,
    place: &dyn Fn(&str) -> String,
    artifacts: &Artifacts,
) -> Result<(), ExportError> {
    if artifacts.manifest.is_empty() {
        return Ok(());
    }
    let is_plain = |path: &str| path.split('/').all(is_folder_name);
    for (path, bytes) in artifacts.files.iter().filter(|(path, _)| is_plain(path)) {
        if path != layout::ARTIFACTS_LIST {
            files.insert(place(&format!("{}/{path}", layout::ARTIFACTS)), bytes.clone());
        }
    }
    let list = format!("{}/{}", layout::ARTIFACTS, layout::ARTIFACTS_LIST);
    files.insert(place(&list), json(&list, &artifacts.manifest)?);
    Ok(())
}

/// What a trial and a step alike leave.
fn told_files(
    files: &mut BTreeMap<String, Vec<u8>>,
    place: &dyn Fn(&str) -> String,
    (trajectory, rewards, stdout): (Option<&Trajectory>, Option<&Rewards>, Option<&Vec<u8>>),
) -> Result<(), ExportError> {
    if let Some(trajectory) = trajectory {
        files.insert(place(layout::TRAJECTORY), json(layout::TRAJECTORY, trajectory)?);
    }
    if let Some(rewards) = rewards {
        files.insert(place(layout::REWARD), json(layout::REWARD, rewards)?);
    }
    if let Some(stdout) = stdout {
        files.insert(place(layout::TEST_STDOUT), stdout.clone());
    }
    Ok(())
}

fn json(file: &str, value: &impl Serialize) -> Result<Vec<u8>, ExportError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|source| ExportError::Json { file: file.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The marker of an earlier export of the same run.
fn marker(folder: &Path, id: &str) -> Result<Option<Marker>, ExportError> {
    let file = folder.join(layout::MARKER);
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ExportError::Io { file, source }),
    };
    let marker: Marker = match serde_json::from_slice(&bytes) {
        Ok(marker) => marker,
        Err(_) => return Err(ExportError::NoMarker { file }),
    };
    if marker.format != FORMAT {
        return Err(ExportError::NoMarker { file });
    }
    if marker.id != id {
        return Err(ExportError::OtherRun { folder: folder.to_owned(), run: marker.id });
    }
    Ok(Some(marker))
}

/// A file may be replaced if it is as an earlier export left it or already as this one wants it. Without a marker there
/// may be nothing else: the folder is somebody's.
fn refuse_foreign(
    folder: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    before: Option<&Marker>,
) -> Result<(), ExportError> {
    let mut foreign = BTreeSet::new();
    for entry in WalkDir::new(folder).min_depth(1).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if is_absent(&error) => break,
            Err(error) => {
                let file = error.path().unwrap_or(folder).to_owned();
                return Err(ExportError::Io { file, source: error.into() });
            }
        };
        let inner = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let path = inner.to_string_lossy().into_owned();
        let (is_folder, is_file) = (entry.file_type().is_dir(), entry.file_type().is_file());
        if path == layout::MARKER && is_file && before.is_some() {
            continue;
        }
        let is_in_the_way = files.contains_key(&path)
            || files.keys().any(|ours| ours.starts_with(&format!("{path}/")));
        let is_ours = match files.get(&path) {
            Some(_) if !is_file => false,
            Some(wanted) => {
                let found = fs::read(entry.path())
                    .map_err(|source| ExportError::Io { file: entry.path().to_owned(), source })?;
                let left = before.and_then(|marker| marker.files.get(&path));
                found == *wanted || left.is_some_and(|hash| *hash == hash_of(&found).as_str())
            }
            None => is_folder,
        };
        if !is_ours && (is_in_the_way || before.is_none()) {
            foreign.insert(path);
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = foreign.iter().take(NAMED_MAX).cloned().collect();
    if foreign.len() > NAMED_MAX {
        named.push(format!("and {} more", foreign.len() - NAMED_MAX));
    }
    Err(ExportError::Foreign { folder: folder.to_owned(), files: named.join(", ") })
}

fn is_absent(error: &walkdir::Error) -> bool {
    error.depth() == 0
        && error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn place(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), ExportError> {
    let file = folder.join(path);
    let parent = file.parent().unwrap_or(folder);
    fs::create_dir_all(parent)
        .and_then(|()| replace_file(&file, bytes))
        .map_err(|source| ExportError::Io { file: file.clone(), source })
}

/// Takes away a file of an earlier export, and the folders that it leaves empty; one that was changed since is somebody's.
fn remove(folder: &Path, path: &str, hash: &str) -> Result<bool, ExportError> {
    let file = folder.join(path);
    let is_within =
        Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let is_ours = is_within
        && fs::symlink_metadata(&file).is_ok_and(|found| found.is_file())
        && fs::read(&file).is_ok_and(|bytes| hash_of(&bytes).as_str() == hash);
    if !is_ours {
        return Ok(false);
    }
    fs::remove_file(&file).map_err(|source| ExportError::Io { file: file.clone(), source })?;
    for parent in file.ancestors().skip(1).take_while(|parent| *parent != folder) {
        // A folder that still holds something stays.
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(true)
}
