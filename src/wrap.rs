//! Stands between an editor and its server: passes bytes, signals and the exit code on, and records what passes by.
//!
//! The relay knows nothing of what it passes. Recording has its own thread, whose failure costs the record and nothing else.

mod departure;
mod header;
mod params;
mod place;
#[cfg_attr(unix, path = "wrap/platform/unix.rs")]
#[cfg_attr(windows, path = "wrap/platform/windows.rs")]
mod platform;
mod private;
mod pump;
mod recorder;
mod tap;
mod traffic;

use std::ffi::OsString;
use std::io;
use std::panic;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use tokio::process::Command;

use proctree::process::Companion;
use record::{Clock, Side};

use departure::Departure;
use platform::{Signals, Streams};
use pump::{Patient, Progress, Pump};
use recorder::Recorder;
use tap::Tap;

pub use platform::end_like;

/// Longest pause without a byte in which the last output of an ended server is waited for: another process may hold the pipe.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait for an editor that takes none of the last output.
const LONGEST_STUCK: Duration = Duration::from_secs(5);
/// Longest wait for the end of the record: the editor waits for this process.
const LONGEST_FINISH: Duration = Duration::from_secs(10);
/// Pause between two looks at what is awaited.
const LOOK: Duration = Duration::from_millis(1);

/// A session to relay.
#[derive(Clone, Debug)]
pub struct WrapPlan {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Directory of the record; `None` for the user's state directory.
    pub out: Option<PathBuf>,
    /// True if messages are recorded as they were sent.
    pub contents: bool,
}

/// Relays until the server ends, and returns how it ended. An error means that it could not be started.
pub async fn relay(plan: WrapPlan) -> io::Result<ExitStatus> {
    // Nothing of ours may stand among the words of the server, and a panic may quote what passed by.
    panic::set_hook(Box::new(|_| {}));
    // Before the start, so that no signal is lost.
    let mut signals = Signals::listen()?;
    let (input, to_server) = io::pipe()?;
    let (from_server, output) = io::pipe()?;
    let (complaints, errors) = io::pipe()?;
    let clock = Clock::start();
    let mut command = Command::new(place::program(&plan.program));
    command.args(&plan.args).stdin(input).stdout(output).stderr(errors);
    let mut companion = Companion::spawn(&mut command)?;
    // Our copies of the server's ends, which would keep its pipes open.
    drop(command);
    let pid = companion.child.id().unwrap_or_default();

    let tap = Arc::new(Tap::new(clock));
    let streams = Streams::take()?;
    let errors = streams.errors.try_clone()?;
    let progress = [Arc::<Progress>::default(), Arc::default(), Arc::default()];
    let [sent, received, said] = &progress;
    Pump::new(sent, &tap, Some(Side::Client)).start("sent", Patient(streams.input), to_server)?;
    Pump::new(received, &tap, Some(Side::Server)).start("received", from_server, Patient(streams.output))?;
    Pump::new(said, &tap, None).start("stderr", complaints, Patient(streams.errors))?;
    let recorder = Recorder::start(&tap, plan, pid, clock, errors);

    let mut forwarded = false;
    let status = loop {
        tokio::select! {
            status = companion.child.wait() => break status?,
            signal = signals.next() => forwarded |= platform::forward(signal, pid),
        }
    };
    let ended = clock.now();
    let input_ended = sent.is_done() && sent.is_source_ended();
    wait_for_rest(received);
    wait_for_rest(said);
    tap.end(Departure {
        at: ended,
        code: status.code(),
        signal: platform::signal_of(status),
        forwarded,
        input_ended,
        sent: sent.bytes.load(Ordering::Relaxed),
        received: received.bytes.load(Ordering::Relaxed),
        stderr: said.bytes.load(Ordering::Relaxed),
    });
    recorder.finish(LONGEST_FINISH);
    Ok(status)
}

/// Waits until what the server wrote before its end has passed.
fn wait_for_rest(progress: &Progress) {
    let mut last = progress.bytes.load(Ordering::Relaxed);
    let mut since = Instant::now();
    while !progress.is_done() {
        thread::sleep(LOOK);
        let now = progress.bytes.load(Ordering::Relaxed);
        if now != last {
            last = now;
            since = Instant::now();
        }
        let longest = if progress.is_writing() {
            LONGEST_STUCK
        } else {
            LONGEST_PAUSE
        };
        if since.elapsed() >= longest {
            return;
        }
    }
}
