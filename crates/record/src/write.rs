//! Writes a journal during the run: a header, then one JSON line per event.
//!
//! The reporting thread serialises its event into a shared buffer; a writer thread moves the buffer to the file. The
//! kernel keeps written data when lsp-soak dies, so `SIGKILL` loses only the events since the last write.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Clock, Entry, Event, Header, Nanos};

/// Bytes that may wait for the disk: about ten minutes of a busy run, and little beside lsp-soak's own 32 MiB.
const QUEUE: usize = 4 << 20;

/// Longest wait of an event for room; then the journal fails. After a longer wait the timeline is wrong, and a
/// waiting sampler looks like a hung server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Destination of a journal: a file, or in tests a disk that fails.
pub trait Storage: Write + Send + 'static {
    /// Makes all written data survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// The journal could not be created or is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("`{0}` exists and a record is never overwritten: choose another `--out`")]
    Exists(PathBuf),
    #[error("cannot create the record `{path}`: {error}")]
    Create { path: PathBuf, error: io::Error },
    #[error("cannot start the thread that writes the record: {0}")]
    Thread(io::Error),
    /// For example a number that is not finite.
    #[error("the record cannot hold this: {0}")]
    Unwritable(serde_json::Error),
    /// The data before the failure is readable.
    #[error("the record ends early, because a write failed: {0}; free some space or choose another `--out`")]
    Disk(io::Error),
    #[error(
        "the record ends early, because the disk accepted no data for {PATIENCE:?}: choose a faster disk with `--out`"
    )]
    Stalled,
}

/// The writing end of a journal. Clones write to the same file.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    clock: Clock,
}

/// The owner of a journal's end. Dropping it ends the journal too, but reports no failure.
pub struct JournalEnd {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when there is data to write, and at the end.
    filled: Condvar,
    /// Signalled when the writer has emptied the queue.
    drained: Condvar,
    patience: Duration,
}

#[derive(Default)]
struct State {
    queue: Vec<u8>,
    closed: bool,
    failed: bool,
    /// The first failure, until `finish` returns it.
    error: Option<WriteError>,
}

impl Journal {
    pub fn create(path: &Path, header: &Header, clock: Clock) -> Result<(Journal, JournalEnd), WriteError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
            _ => WriteError::Create {
                path: path.to_owned(),
                error,
            },
        })?;
        Journal::with_storage(file, header, clock, PATIENCE)
    }

    /// Writes to any storage. An event waits at most `patience` for room.
    pub fn with_storage(
        mut storage: impl Storage,
        header: &Header,
        clock: Clock,
        patience: Duration,
    ) -> Result<(Journal, JournalEnd), WriteError> {
        let mut line = serde_json::to_vec(header).map_err(WriteError::Unwritable)?;
        line.push(b'\n');
        storage
            .write_all(&line)
            .and_then(|()| storage.flush())
            .map_err(WriteError::Disk)?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            filled: Condvar::new(),
            drained: Condvar::new(),
            patience,
        });
        let for_thread = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || drain(&for_thread, storage))
            .map_err(WriteError::Thread)?;
        let end = JournalEnd {
            shared: Arc::clone(&shared),
            writer: Some(writer),
        };
        Ok((Journal { shared, clock }, end))
    }

    pub fn write(&self, event: Event) {
        self.write_at(self.clock.now(), event);
    }

    /// Writes an event that happened at `at`. After a failure or the end it is dropped.
    ///
    /// Waits for the disk only when 4 MiB are queued, and then for five seconds at most; after that the journal
    /// fails. A journal that dropped samples instead would look complete.
    pub fn write_at(&self, at: Nanos, event: Event) {
        let entry = Entry { at, event };
        let state = self.shared.lock();
        let waited = self
            .shared
            .drained
            .wait_timeout_while(state, self.shared.patience, |state| {
                state.queue.len() >= QUEUE && !state.failed && !state.closed
            });
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.failed || state.closed {
            return;
        }
        if timeout.timed_out() {
            state.fail(WriteError::Stalled);
            return;
        }
        let before = state.queue.len();
        match serde_json::to_writer(&mut state.queue, &entry) {
            Ok(()) => state.queue.push(b'\n'),
            Err(error) => {
                state.queue.truncate(before);
                state.fail(WriteError::Unwritable(error));
            }
        }
        drop(state);
        self.shared.filled.notify_one();
    }

    /// True if the journal failed: it records nothing more, and the run should stop.
    pub fn failed(&self) -> bool {
        self.shared.lock().failed
    }
}

impl JournalEnd {
    /// Writes the queued events, syncs the file, and returns the first failure of the run.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.close();
        match self.shared.lock().error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn close(&mut self) {
        self.shared.lock().closed = true;
        self.shared.filled.notify_all();
        if let Some(writer) = self.writer.take() {
            writer
                .join()
                .expect("the writer thread returns its errors and never panics");
        }
    }
}

impl Drop for JournalEnd {
    fn drop(&mut self) {
        if self.writer.is_some() && !thread::panicking() {
            self.close();
        }
    }
}

impl Shared {
    /// Every statement leaves the state consistent, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, error: WriteError) {
        self.failed = true;
        self.error.get_or_insert(error);
    }
}

/// The writer thread: takes the whole queue, writes it in one call, waits for more.
fn drain(shared: &Shared, mut storage: impl Storage) {
    let mut batch = Vec::new();
    loop {
        let state = shared.lock();
        let waited = shared
            .filled
            .wait_while(state, |state| state.queue.is_empty() && !state.closed);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.queue.is_empty() {
            break;
        }
        std::mem::swap(&mut state.queue, &mut batch);
        drop(state);
        shared.drained.notify_all();
        if let Err(error) = storage.write_all(&batch).and_then(|()| storage.flush()) {
            shared.lock().fail(WriteError::Disk(error));
            shared.drained.notify_all();
            return;
        }
        batch.clear();
    }
    if let Err(error) = storage.sync() {
        shared.lock().fail(WriteError::Disk(error));
    }
}
