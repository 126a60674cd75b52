//! Makes a run directory and its attempts: [`RunWriter`] and [`SessionWriter`].

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use domain::{ids::Hash, plan::Plan, session::Entry};
use thiserror::Error;

use crate::{
    blobs::Blobs,
    claim::{Claim, ClaimError},
    end::EndRecord,
    format::{
        FormatError,
        v1::{self, Wire as _},
    },
    journal::Journal,
    layout::{AttemptLayout, RunLayout, is_folder_name},
    payload::Payload,
    release_files::LoadedRelease,
    run::{AttemptHead, RunRecord},
    seal::Seal,
    utc,
    write_once::replace_file,
};

/// Why something of a run could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The folder holds something already.
    #[error("the run's folder is not empty")]
    Occupied,
    /// The pair's id cannot name a folder.
    #[error("`{0}` cannot name a folder")]
    UnfitName(String),
    /// The operating system refused.
    #[error("the run could not be written")]
    Io(#[from] io::Error),
    /// Something has no written form.
    #[error("a record has no written form")]
    Format(#[from] FormatError),
}

/// Why an attempt could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It is claimed by somebody else.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Writes into one run directory.
#[derive(Clone, Debug)]
pub struct RunWriter {
    layout: RunLayout,
    blobs: Blobs,
}

impl RunWriter {
    /// Makes a run in a folder that is absent or empty; `run.json` comes last and makes it one.
    pub fn create(
        folder: &Path,
        record: &RunRecord,
        plan: &Plan,
        release: &LoadedRelease,
    ) -> Result<RunWriter, WriteError> {
        for spec in &plan.specs {
            if !is_folder_name(spec.pair.as_str()) {
                return Err(WriteError::UnfitName(spec.pair.to_string()));
            }
        }
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(WriteError::Occupied);
        }
        let layout = RunLayout::new(folder);
        for folder in [layout.sessions(), layout.blobs(), layout.release()] {
            fs::create_dir(folder)?;
        }
        let files = Blobs::new(layout.release());
        for file in release.tree.contents() {
            files.put(file)?;
        }
        let lock = release.lock.text(&release.release);
        replace_file(&layout.release_lock(), lock.as_bytes())?;
        let mut specs = Vec::new();
        for spec in &plan.specs {
            serde_json::to_writer(&mut specs, &v1::SessionSpec::from_domain(spec))
                .map_err(FormatError::from)?;
            specs.push(b'\n');
        }
        replace_file(&layout.plan(), &specs)?;
        let mut run = serde_json::to_vec_pretty(&v1::RunFile::new(record, plan))
            .map_err(FormatError::from)?;
        run.push(b'\n');
        replace_file(&layout.run_file(), &run)?;
        Ok(RunWriter::over(layout))
    }

    /// Writes further attempts into a run that exists; that it can be read is for
    /// [`crate::reader::RunReader::open`] to say.
    pub fn resume(folder: &Path) -> RunWriter {
        RunWriter::over(RunLayout::new(folder))
    }

    fn over(layout: RunLayout) -> RunWriter {
        let blobs = Blobs::new(layout.blobs());
        RunWriter { layout, blobs }
    }

    /// The paths of the run.
    pub fn layout(&self) -> &RunLayout {
        &self.layout
    }

    /// Claims an attempt and begins its log.
    pub fn open_attempt(&self, head: &AttemptHead) -> Result<SessionWriter, OpenError> {
        if !is_folder_name(head.pair.as_str()) {
            return Err(WriteError::UnfitName(head.pair.to_string()).into());
        }
        let layout = self.layout.attempt(&head.pair, head.repeat, head.attempt);
        fs::create_dir_all(layout.root()).map_err(WriteError::from)?;
        let claim = Claim::make(layout.claim())?;
        let journal = Journal::create(&layout.log(), head).map_err(WriteError::from)?;
        let blobs = self.blobs.clone();
        Ok(SessionWriter { layout, claim: Some(claim), journal: Mutex::new(journal), blobs })
    }

    /// Begins the log of a later grading of an attempt, beside the earlier ones under the next free number; it
    /// needs no claim, because of two that begin at once each gets a number of its own.
    pub fn open_regrade(&self, head: &AttemptHead) -> Result<SessionWriter, WriteError> {
        let layout = self.layout.attempt(&head.pair, head.repeat, head.attempt);
        let mut nth = layout.regrades()?.last().map_or(1, |last| last.saturating_add(1));
        let journal = loop {
            match Journal::create(&layout.regrade(nth), head) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && nth < u32::MAX => {
                    nth += 1;
                }
                made => break made?,
            }
        };
        let blobs = self.blobs.clone();
        Ok(SessionWriter { layout, claim: None, journal: Mutex::new(journal), blobs })
    }
}

/// Writes one attempt: its log, its payloads and its seal. Shared between the session and its watchers.
#[derive(Debug)]
pub struct SessionWriter {
    layout: AttemptLayout,
    claim: Option<Claim>,
    journal: Mutex<Journal>,
    blobs: Blobs,
}

impl SessionWriter {
    /// The paths of the attempt.
    pub fn layout(&self) -> &AttemptLayout {
        &self.layout
    }

    /// Writes an entry; on return it survives this process. After an error the log is as it was before.
    pub fn append(&self, entry: &Entry) -> io::Result<()> {
        self.lock().append(entry)
    }

    /// On return everything appended survives the host.
    pub fn sync(&self) -> io::Result<()> {
        self.lock().sync()
    }

    /// Keeps a payload and names it.
    pub fn put(&self, payload: Payload<'_>) -> Result<Hash, WriteError> {
        Ok(self.blobs.put(&payload.bytes()?)?)
    }

    /// Keeps the attempt's seal, as `seal.json` and as a blob.
    pub fn put_seal(&self, seal: &Seal) -> Result<Hash, WriteError> {
        let mut bytes = v1::write_record(seal, v1::Seal::from_domain)?;
        bytes.push(b'\n');
        let hash = self.blobs.put(&bytes)?;
        replace_file(&self.layout.seal(), &bytes)?;
        Ok(hash)
    }

    /// Says that the owner lives; to be called every [`crate::claim::HEARTBEAT`].
    pub fn beat(&self) -> io::Result<()> {
        self.claim.as_ref().map_or(Ok(()), Claim::beat)
    }

    /// Closes an attempt after its last entry: syncs the log and says what it is.
    pub fn finish(&self, ended: SystemTime) -> Result<(), WriteError> {
        let journal = self.lock();
        journal.sync()?;
        let (entries, log) = journal.digest();
        if self.claim.is_some() {
            let record = EndRecord { ended_utc: utc::text(ended), entries, log };
            let mut bytes = v1::write_record(&record, v1::End::from_domain)?;
            bytes.push(b'\n');
            replace_file(&self.layout.end(), &bytes)?;
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Journal> {
        // A writer that panicked left either a whole line or one that the next append cuts off.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
