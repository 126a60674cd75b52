//! Files that are whole or absent: written beside, synced, renamed ([`replace_file`], [`Beside`]).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes a file, in place of what was there.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Beside::write(path, bytes)?.replace()
}

/// New bytes of a file, whole on the disk beside it; dropped without [`Beside::replace`] they are gone.
pub(crate) struct Beside {
    path: PathBuf,
    temporary: PathBuf,
}

impl Beside {
    /// Writes the bytes; the file itself stays as it is.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let temporary = write_beside(path, bytes)?;
        Ok(Self { path: path.to_owned(), temporary })
    }

    /// Puts them in place of what was there.
    pub(crate) fn replace(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.path)?;
        sync_folder_of(&self.path)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After the renaming there is nothing of that name.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // What is left behind is hidden and harmless; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(temporary)
}

/// Makes the entry of a new file survive the host.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
