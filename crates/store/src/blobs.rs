//! Content by its hash, written once: [`Blobs`].

use std::{
    collections::HashSet,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use domain::ids::Hash;
use thiserror::Error;

use crate::write_once::replace_file;

/// A store of content by hash, in folders of two hexadecimal digits.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
    /// Some of what this process has kept or found, so that the file system is not asked again.
    known: Arc<Mutex<HashSet<blake3::Hash>>>,
}

/// Contents that are remembered: the ones that many sessions share come first and often.
const KNOWN_MAX: usize = 4_096;

/// Why a blob cannot be read.
#[derive(Debug, Error)]
pub enum BlobError {
    /// It is not there or cannot be read.
    #[error("blob {hash} cannot be read")]
    Unreadable {
        /// Which.
        hash: Hash,
        /// Why.
        source: io::Error,
    },
    /// Its content is not what its name says.
    #[error("blob {0} does not hold what its name says")]
    Altered(Hash),
    /// The hash that names it is none.
    #[error("`{0}` is no content hash")]
    NoHash(Hash),
}

/// The hash of a content: BLAKE3 in lower-case hexadecimal.
pub fn hash_of(bytes: &[u8]) -> Hash {
    Hash::new(blake3::hash(bytes).to_hex().as_str())
}

impl Blobs {
    /// A store in a folder; the folder is made with the first blob.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, known: Arc::default() }
    }

    /// Keeps a content and answers its hash. What is there already is not written again.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Hash> {
        let digest = blake3::hash(bytes);
        let hash = Hash::new(digest.to_hex().as_str());
        if self.known().contains(&digest) {
            return Ok(hash);
        }
        let path = self.path(&hash).ok_or(io::ErrorKind::InvalidInput)?;
        if !path.exists() {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            replace_file(&path, bytes)?;
        }
        let mut known = self.known();
        if known.len() < KNOWN_MAX {
            known.insert(digest);
        }
        Ok(hash)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<blake3::Hash>> {
        // An insertion that panicked leaves a set that holds nothing wrong.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content of a hash, proved to be it.
    pub fn get(&self, hash: &Hash) -> Result<Vec<u8>, BlobError> {
        let path = self.path(hash).ok_or_else(|| BlobError::NoHash(hash.clone()))?;
        let bytes = fs::read(path)
            .map_err(|source| BlobError::Unreadable { hash: hash.clone(), source })?;
        if hash_of(&bytes) != *hash {
            return Err(BlobError::Altered(hash.clone()));
        }
        Ok(bytes)
    }

    /// Where a content lies; none if the hash is not one (it may come from a log that was tampered with).
    pub fn path(&self, hash: &Hash) -> Option<PathBuf> {
        let text = hash.as_str();
        let is_hash =
            text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then(|| self.folder.join(&text[..2]).join(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_by_its_hash_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(folder.path().join("blobs"));
        let hash = blobs.put(b"content").unwrap();
        assert_eq!(blobs.put(b"content").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap(), b"content");

        fs::write(blobs.path(&hash).unwrap(), b"other").unwrap();
        assert!(matches!(blobs.get(&hash), Err(BlobError::Altered(_))));
        fs::remove_file(blobs.path(&hash).unwrap()).unwrap();
        assert!(matches!(blobs.get(&hash), Err(BlobError::Unreadable { .. })));
        for wrong in ["", "../../etc/passwd", &"A".repeat(64), &"0".repeat(63)] {
            assert!(matches!(blobs.get(&Hash::new(wrong)), Err(BlobError::NoHash(_))));
        }
    }
}
