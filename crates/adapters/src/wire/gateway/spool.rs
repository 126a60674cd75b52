//! The bytes of an answer that is to be recorded ([`Spool`]): in memory while they are few, else in a file without a name,
//! so that many long answers at once cost no memory.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
};

/// More than this goes into the file.
const MEMORY_BYTES_MAX: usize = 64 << 10;

/// Bytes on their way into a record.
#[derive(Debug)]
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    bytes: usize,
    bytes_max: usize,
    is_whole: bool,
}

impl Spool {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { memory: Vec::new(), file: None, bytes: 0, bytes_max, is_whole: true }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        if !self.is_whole || self.bytes > self.bytes_max {
            *self = Self { is_whole: false, ..Self::new(self.bytes_max) };
            return;
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > MEMORY_BYTES_MAX {
            self.is_whole = self.spill().is_ok();
        }
    }

    /// All bytes; none if they were too many, or the host has no place for them.
    pub(super) fn whole(&mut self) -> Option<Vec<u8>> {
        if !self.is_whole {
            return None;
        }
        let Some(mut file) = self.file.take() else {
            return Some(std::mem::take(&mut self.memory));
        };
        let mut whole = Vec::with_capacity(self.bytes);
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_end(&mut whole).ok()?;
        whole.append(&mut self.memory);
        Some(whole)
    }

    fn spill(&mut self) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.write_all(&self.memory)?;
        self.memory.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_whole_or_not_at_all() {
        let check = |pieces: usize, bytes_max: usize, is_kept: bool| {
            let mut spool = Spool::new(bytes_max);
            let mut expected = Vec::new();
            for piece in 0..pieces {
                let bytes = vec![u8::try_from(piece % 251).expect("small"); 10_007];
                spool.push(&bytes);
                expected.extend(bytes);
            }
            assert_eq!(spool.whole(), is_kept.then_some(expected), "{pieces} {bytes_max}");
        };
        check(0, 10, true);
        check(3, 1 << 20, true);
        check(50, 1 << 20, true);
        check(50, 100_000, false);
    }
}
