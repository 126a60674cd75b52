//! The disk quota: [`watch`] measures a sandbox's own layers from time to time and kills its processes when they hold
//! more than allowed.
//!
//! One mechanism for root and ordinary users, on every file system. It is not exact: between two looks a sandbox can
//! write past the quota, and files that are open but deleted are not seen; no single file can pass the quota, because
//! the kernel limits the size of each.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{capture::disk_bytes, connection::Connection};
use crate::sandboxes::supervision::{directory::Directory, protocol::Request};

/// Shortest time between two looks.
const PERIOD: Duration = Duration::from_millis(500);
/// The next look is at least so many times the last one's length away, so that looking costs at most a twentieth.
const REST: u32 = 20;

/// Watches until the connection is gone; `is_breached` is set at each breach.
pub(super) async fn watch(
    connection: Weak<Connection>,
    layers: Vec<PathBuf>,
    quota_bytes: u64,
    is_breached: Arc<AtomicBool>,
) {
    let mut rest = PERIOD;
    loop {
        tokio::time::sleep(rest).await;
        let begun = Instant::now();
        let paths = layers.clone();
        let used = tokio::task::spawn_blocking(move || used_bytes(&paths)).await;
        let Some(connection) = connection.upgrade() else { return };
        // A tree that changes while it is walked is measured again at the next look.
        if matches!(used, Ok(Ok(used)) if used > quota_bytes) {
            is_breached.store(true, Ordering::Relaxed);
            // A sandbox that is lost has no processes left to kill.
            let _ = connection.ask(|id| Request::KillAll { id }, &[]).await;
        }
        rest = PERIOD.max(begun.elapsed() * REST);
    }
}

/// Bytes that layers take on disk.
pub(super) fn used_bytes(layers: &[PathBuf]) -> io::Result<u64> {
    let mut total = 0;
    for path in layers {
        if let Some(layer) = Directory::open(path)? {
            total += disk_bytes(&layer)?;
        }
    }
    Ok(total)
}
