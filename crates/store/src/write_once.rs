//! Files that are whole or absent: written beside, synced, renamed ([`replace_file`]).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Writes a file, in place of what was there.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = write_beside(path, bytes)?;
    let renamed = fs::rename(&temporary, path);
    finish(renamed, &temporary, path)
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

fn finish(placed: io::Result<()>, temporary: &Path, path: &Path) -> io::Result<()> {
    if let Err(error) = placed {
        let _ = fs::remove_file(temporary);
        return Err(error);
    }
    sync_folder_of(path)
}

/// Makes the entry of a new file survive the host.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
