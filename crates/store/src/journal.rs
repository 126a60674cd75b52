//! The append-only log of one attempt: [`Journal`] writes each entry before anything follows from it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use domain::{ids::Hash, session::Entry};

use crate::{
    format::v1::{self, Wire as _},
    run::AttemptHead,
    write_once::sync_folder_of,
};

/// Appends entries to a log that it made itself; an old log is never appended to.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Bytes that are known to be whole lines.
    length: u64,
    entries: u64,
    hasher: blake3::Hasher,
    line: Vec<u8>,
    /// Whether something may stand behind `length` that a failed write left.
    torn: bool,
}

impl Journal {
    /// Makes the log with its head; `AlreadyExists` if there is one.
    pub fn create(path: &Path, head: &AttemptHead) -> io::Result<Journal> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        let mut journal = Journal::over(file);
        journal.line =
            v1::write_record(head, v1::AttemptHead::from_domain).map_err(io::Error::other)?;
        journal.write_line()?;
        journal.sync()?;
        sync_folder_of(path)?;
        Ok(journal)
    }

    fn over(file: File) -> Journal {
        let (hasher, line) = (blake3::Hasher::new(), Vec::new());
        Journal { file, length: 0, entries: 0, hasher, line, torn: false }
    }

    /// Writes an entry; on return it survives this process. After an error the log is as it was before.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &v1::Entry::from_domain(entry))?;
        self.write_line()?;
        self.entries += 1;
        Ok(())
    }

    /// On return everything appended survives the host.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Entries written, and the hash of the whole log.
    pub fn digest(&self) -> (u64, Hash) {
        (self.entries, Hash::new(self.hasher.finalize().to_hex().as_str()))
    }

    fn write_line(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        self.line.push(b'\n');
        if let Err(error) = self.file.write_all(&self.line) {
            self.torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.hasher.update(&self.line);
        self.length += self.line.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use domain::session::{Answer, Event};

    use super::*;

    #[test]
    fn a_full_disk_is_said() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut journal = Journal::over(full);
        let event = Event::Answered(domain::ids::CommandId(1), Answer::SandboxReady);
        let entry = Entry { seq: 1, elapsed_ms: 0, event };
        let error = journal.append(&entry).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        journal.append(&entry).unwrap_err();
        assert_eq!(journal.digest().0, 0);
    }
}
