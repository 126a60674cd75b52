//! Bytes between a program and the host that it may reach: counted, and cut when the policy changes.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::book::Line;

const PIECE: usize = 32 << 10;

/// Carries both directions until both have ended.
pub(super) async fn both_ways(
    inner: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    outer: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    line: &Line,
) {
    let ((inner_read, inner_write), (outer_read, outer_write)) = (inner, outer);
    // An end that breaks ends its direction; the other one finds out by itself.
    let _ = tokio::join!(
        one_way(inner_read, outer_write, &line.sent),
        one_way(outer_read, inner_write, &line.received),
    );
}

/// Carries one direction to its end, and tells the receiver of it.
pub(super) async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut piece = vec![0_u8; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        put(&mut to, &piece[..length], count).await?;
    }
}

/// Writes and counts.
pub(super) async fn put(
    to: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    count: &AtomicU64,
) -> io::Result<()> {
    // Counted before: what a broken end took of it cannot be told.
    count.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    to.write_all(bytes).await
}
