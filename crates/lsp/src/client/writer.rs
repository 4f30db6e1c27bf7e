//! The task that writes to the server's stdin, however slow that is.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::CloseReason;
use super::state::Shared;

/// Time for the end of stdout or of the process to follow a broken stdin: it says more.
const SAY_MORE: Duration = Duration::from_secs(1);

/// Writes queued bytes until the connection is closed. Dropping `stdin` at the end closes it.
pub(super) async fn run<W: AsyncWrite + Unpin>(mut stdin: W, shared: Arc<Shared>) {
    tokio::select! {
        biased;
        () = shared.writing_stopped() => {}
        error = write(&mut stdin, &shared) => {
            shared.stop_writing();
            tokio::time::sleep(SAY_MORE).await;
            shared.close(CloseReason::Input(error.to_string()));
        }
    }
    shared.stop_writing();
}

/// Writes until the pipe breaks.
async fn write<W: AsyncWrite + Unpin>(stdin: &mut W, shared: &Shared) -> io::Error {
    loop {
        let piece = shared.next_piece().await;
        let mut rest = piece.as_slice();
        while !rest.is_empty() {
            match stdin.write(rest).await {
                Ok(0) => return io::ErrorKind::WriteZero.into(),
                Err(error) => return error,
                Ok(taken) => {
                    rest = &rest[taken..];
                    shared.count_written(taken);
                }
            }
        }
        if let Err(error) = stdin.flush().await {
            return error;
        }
    }
}
