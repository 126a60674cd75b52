//! What is made once for all who ask for it at the same time: [`Making`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OwnedMutexGuard;

/// Bases that are being made, by their digests.
#[derive(Debug, Default)]
pub(super) struct Making(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Making {
    /// Waits until nobody makes this base; while the guard lives, nobody else does.
    pub(super) async fn turn(&self, digest: &str) -> OwnedMutexGuard<()> {
        let gate = {
            let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(gates.entry(digest.to_owned()).or_default())
        };
        gate.lock_owned().await
    }
}
