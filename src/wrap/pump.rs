//! Passes the bytes of one stream on.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread;

use record::Side;

use super::platform;
use super::tap::Tap;

/// Bytes per read; as many as a pipe of Linux holds.
const READ: usize = 64 * 1024;

const READING: u8 = 0;
const WRITING: u8 = 1;
const DONE: u8 = 2;

/// The state of a pump, for other threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes that were passed on.
    pub bytes: AtomicU64,
    state: AtomicU8,
    source_ended: AtomicBool,
}

impl Progress {
    pub fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// True while it waits for its destination to take bytes.
    pub fn is_writing(&self) -> bool {
        self.state.load(Ordering::Acquire) == WRITING
    }

    /// True if the source ended, and not the destination.
    pub fn is_source_ended(&self) -> bool {
        self.source_ended.load(Ordering::Acquire)
    }
}

/// A stream of the editor, which may have made it one that does not block.
pub struct Patient(pub File);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_until_ready(&self.0, false)?,
                read => return read,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => platform::wait_until_ready(&self.0, true)?,
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One direction of the relay; without a side nothing of it is recorded but its bytes.
pub struct Pump {
    progress: Arc<Progress>,
    tap: Arc<Tap>,
    side: Option<Side>,
}

impl Pump {
    pub fn new(progress: &Arc<Progress>, tap: &Arc<Tap>, side: Option<Side>) -> Pump {
        Pump {
            progress: Arc::clone(progress),
            tap: Arc::clone(tap),
            side,
        }
    }

    /// Starts the thread that passes bytes on. Both ends are closed when either is.
    pub fn start<R, W>(self, name: &str, source: R, destination: W) -> io::Result<()>
    where
        R: Read + Send + 'static,
        W: Write + Send + 'static,
    {
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn(move || self.run(source, destination)).map(drop)
    }

    pub fn run(&self, mut source: impl Read, mut destination: impl Write) {
        let mut buffer = vec![0; READ];
        loop {
            let bytes = match source.read(&mut buffer) {
                Ok(0) => {
                    self.progress.source_ended.store(true, Ordering::Release);
                    break;
                }
                Ok(read) => &buffer[..read],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    self.progress.source_ended.store(true, Ordering::Release);
                    break;
                }
            };
            self.progress.state.store(WRITING, Ordering::Release);
            // Copied before it is sent, so that no answer is recorded before its request.
            if let Some(side) = self.side {
                self.tap.copy(side, bytes);
            }
            if destination.write_all(bytes).and_then(|()| destination.flush()).is_err() {
                break;
            }
            self.progress.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            self.progress.state.store(READING, Ordering::Release);
        }
        drop(source);
        drop(destination);
        self.progress.state.store(DONE, Ordering::Release);
    }
}
