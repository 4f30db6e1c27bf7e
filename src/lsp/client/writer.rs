//! The task that writes to the server's stdin, however slow that is.

use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::state::Shared;

/// Writes queued bytes until the connection is closed. Dropping `stdin` at the end closes it.
pub(super) async fn run<W: AsyncWrite + Unpin>(mut stdin: W, shared: Arc<Shared>) {
    tokio::select! {
        biased;
        () = shared.writing_stopped() => {}
        () = write(&mut stdin, &shared) => {}
    }
    shared.stop_writing();
}

/// Returns when the pipe breaks. This sends no event: the end of stdout is more informative.
async fn write<W: AsyncWrite + Unpin>(stdin: &mut W, shared: &Shared) {
    loop {
        let piece = shared.next_piece().await;
        let mut rest = piece.as_slice();
        while !rest.is_empty() {
            match stdin.write(rest).await {
                Ok(0) | Err(_) => return,
                Ok(taken) => {
                    rest = &rest[taken..];
                    shared.took(taken);
                }
            }
        }
        if stdin.flush().await.is_err() {
            return;
        }
    }
}
