//! Counts a server's memory calls by phase, with strace.
//!
//! The tracer delays the server at each of these calls, so a traced run's memory and latencies are not used. `-DDD`
//! makes the tracer a separate process: the server stays lsp-soak's child, with its own process id, group and pipes.

mod line;
mod tally;
mod tracer;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

pub use tracer::{Tracer, Untraceable};

use line::{Line, Lines};
use record::{Clock, PhaseRef, SystemCalls};
use tally::Tally;

/// How long the tracer may take to start.
const BEGIN: Duration = Duration::from_secs(5);

/// How long to wait for the tracer's remaining output after all traced processes ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Trace {
    tally: Arc<Mutex<Tally>>,
    clock: Clock,
    /// Keeps the pipe open while there is no tracer, as between two servers.
    holder: Mutex<Option<File>>,
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Trace {
    /// Creates a named pipe at `path`, which must not exist, and counts what tracers write to it.
    pub fn listen(path: &Path, clock: Clock) -> io::Result<Trace> {
        let (reader, holder) = pipe(path)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let wall = since.map_err(io::Error::other)?.as_nanos() as u64;
        let tally = Arc::new(Mutex::new(Tally::new(wall.saturating_sub(clock.now()))));
        let (sender, ended) = mpsc::channel();
        let shared = Arc::clone(&tally);
        thread::Builder::new().name("trace".to_owned()).spawn(move || {
            count(BufReader::with_capacity(1 << 18, reader), &shared);
            // The receiver is gone if the run was interrupted.
            let _ = sender.send(());
        })?;
        Ok(Trace {
            tally,
            clock,
            holder: Mutex::new(Some(holder)),
            ended: Mutex::new(ended),
        })
    }

    /// Counts later calls for `phase`.
    pub fn begin(&self, phase: Option<PhaseRef>) {
        // The lock is held while the clock is read: calls counted before are earlier.
        let mut tally = lock(&self.tally);
        let now = self.clock.now();
        tally.begin(now, phase);
    }

    /// Waits for the end of the tracer's output. Returns the calls by phase, and what is missing, for people.
    pub fn finish(&self) -> (Vec<SystemCalls>, Option<String>) {
        lock(&self.holder).take();
        let whole = lock(&self.ended).recv_timeout(LAST_WORDS).is_ok();
        let tally = lock(&self.tally);
        let missing = match (whole, tally.garbled) {
            (true, 0) => None,
            (false, _) => Some("the tracer had not ended when the run had: some calls may be missing".to_owned()),
            (true, lines) => Some(format!(
                "{} of the tracer were not understood: some calls are missing",
                base::units::count_of(lines, "line")
            )),
        };
        (tally.counts(), missing)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(mut reader: impl BufRead, tally: &Mutex<Tally>) {
    let mut lines = Lines::default();
    let mut bytes = Vec::new();
    while let Ok(1..) = reader.read_until(b'\n', &mut bytes) {
        let read = lines.read(String::from_utf8_lossy(&bytes).trim_end());
        match read {
            Line::Call(call) => lock(tally).add(&call),
            Line::Garbled => lock(tally).garbled += 1,
            Line::Other => {}
        }
        bytes.clear();
    }
}

/// The process that traces `pid`, once it does; `None` if `pid` has ended.
pub fn tracer_of(pid: u32) -> io::Result<Option<u32>> {
    let deadline = Instant::now() + BEGIN;
    loop {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
            return Ok(None);
        };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        // 0 until it is traced.
        if let Some(tracer @ 1..) = field("TracerPid:").and_then(|text| text.parse().ok()) {
            return Ok(Some(tracer));
        }
        let is_zombie = field("State:").is_some_and(|state| state.starts_with('Z'));
        if is_zombie {
            return Ok(None);
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other("strace did not begin to trace it"));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A named pipe: its reading end, and a writing end that keeps it open.
#[cfg(target_os = "linux")]
fn pipe(path: &Path) -> io::Result<(File, File)> {
    use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // Only a non-blocking open succeeds without a writer. Reads are then made blocking.
    let reader = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let holder = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    fcntl_setfl(&reader, OFlags::empty())?;
    // Fails above the user's limit; the default size works too.
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, 1 << 20);
    Ok((reader.into(), holder.into()))
}

#[cfg(not(target_os = "linux"))]
fn pipe(_path: &Path) -> io::Result<(File, File)> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;
    use record::CallKind;

    #[test]
    fn what_several_tracers_write_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls");
        let trace = Trace::listen(&path, Clock::start()).unwrap();
        for tracer in 1..=2 {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            writeln!(pipe, "{tracer} 1.000000 munmap(0x7f00, 4096) = 0").unwrap();
        }
        let (calls, missing) = trace.finish();
        assert_eq!(missing, None);
        assert_eq!(calls[0].calls[&CallKind::Munmap].calls, 2);
        assert_eq!(calls[0].calls[&CallKind::Munmap].bytes, 8192);
    }
}
