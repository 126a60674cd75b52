//! What the local sandboxes keep on disk: [`StateDirectory`] with bases and the [`SessionDirectory`] of each sandbox.
//!
//! A session's directory lives as long as somebody holds it and is locked by its process, so that a later run can
//! tell what a dead one has left.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::cgroups;
use crate::sandboxes::supervision::protocol::realtime_ns;

/// The directory of all local sandboxes of a state directory.
#[derive(Debug)]
pub(super) struct StateDirectory {
    root: PathBuf,
    next: AtomicU64,
    removals: Mutex<Vec<JoinHandle<()>>>,
}

impl StateDirectory {
    /// Opens or makes the directory and removes what dead processes left in it.
    pub(super) fn open(root: &Path) -> io::Result<Arc<Self>> {
        for part in ["bases", "sandboxes", "trash"] {
            fs::create_dir_all(root.join(part))?;
        }
        let root = root.canonicalize()?;
        let state = Arc::new(Self { root, next: AtomicU64::new(0), removals: Mutex::default() });
        state.reap()?;
        Ok(state)
    }

    /// Where a base stands once it is complete.
    pub(super) fn base(&self, digest: &str) -> PathBuf {
        self.root.join("bases").join(digest)
    }

    /// A new directory for a base in the making; [`StateDirectory::publish`] gives it its name.
    pub(super) fn new_base(&self) -> io::Result<PathBuf> {
        let path = self.root.join("trash").join(format!("base-{}", self.unique()));
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Moves a complete base to its place; one that another maker put there first wins.
    pub(super) fn publish(&self, made: &Path, digest: &str) -> io::Result<()> {
        match fs::rename(made, self.base(digest)) {
            Ok(()) => Ok(()),
            Err(_) if self.base(digest).is_dir() => remove_tree(made),
            Err(error) => Err(error),
        }
    }

    /// A new session directory, locked by this process.
    pub(super) fn new_session(self: &Arc<Self>) -> io::Result<SessionDirectory> {
        loop {
            let name = self.unique();
            let path = self.root.join("sandboxes").join(&name);
            let lock_path = path.with_extension("lock");
            let lock = File::create_new(&lock_path)?;
            // A reaper may have taken the file in the instant before it was locked; then it is gone.
            if lock.try_lock().is_err() || lock.metadata()?.nlink() == 0 {
                continue;
            }
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(0o700))?;
            return Ok(SessionDirectory {
                state: Arc::clone(self),
                path,
                name,
                lock_path,
                _lock: lock,
            });
        }
    }

    fn unique(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{:x}-{number}", std::process::id(), realtime_ns())
    }

    /// Moves a directory out of the way at once and removes it in the background.
    fn discard(&self, path: &Path) {
        let grave = self.root.join("trash").join(self.unique());
        if fs::rename(path, &grave).is_err() {
            return;
        }
        // What cannot be removed now is removed by the next run.
        let removal = thread::spawn(move || drop(remove_tree(&grave)));
        if let Ok(mut removals) = self.removals.lock() {
            removals.retain(|removal| !removal.is_finished());
            removals.push(removal);
        }
    }

    /// Kills and removes what belongs to nobody any more.
    fn reap(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join("sandboxes"))? {
            let lock_path = entry?.path();
            if lock_path.extension().is_none_or(|extension| extension != "lock") {
                continue;
            }
            let Ok(lock) = File::open(&lock_path) else { continue };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let path = lock_path.with_extension("");
            if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                cgroups::remove_leftovers(name);
            }
            if path.is_dir() {
                self.discard(&path);
            }
            fs::remove_file(&lock_path)?;
        }
        self.empty_trash()
    }

    fn empty_trash(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join("trash"))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let owner = name.trim_start_matches("base-").split('-').next().unwrap_or_default();
            // What a living process has put there it also removes.
            if !Path::new("/proc").join(owner).is_dir() {
                self.discard(&path);
            }
        }
        Ok(())
    }
}

impl Drop for StateDirectory {
    fn drop(&mut self) {
        if let Ok(removals) = self.removals.get_mut() {
            for removal in removals.drain(..) {
                // A removal that panicked leaves its directory to the next run.
                let _ = removal.join();
            }
        }
    }
}

/// The directory of one sandbox; removed when its last holder lets go.
#[derive(Debug)]
pub(super) struct SessionDirectory {
    state: Arc<StateDirectory>,
    path: PathBuf,
    name: String,
    lock_path: PathBuf,
    _lock: File,
}

impl SessionDirectory {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, unique on this host.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for SessionDirectory {
    fn drop(&mut self) {
        self.state.discard(&self.path);
        // A lock file that stays is taken away by the next run.
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Removes a directory with everything in it, unreadable directories included.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        result => result,
    }
}

/// Gives the owner every right on each directory below; overlay leaves some without any.
fn open_up(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}
