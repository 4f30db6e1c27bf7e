//! The processor time that this process itself has used.

use std::io;
use std::time::Duration;

/// The time of all threads so far; children are not counted.
#[cfg(unix)]
pub fn cpu() -> io::Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    ))
}

/// The time of all threads so far; children are not counted.
#[cfg(not(unix))]
pub fn cpu() -> io::Result<Duration> {
    use proctree::{System, source::Source};

    let mut system = System::new()?;
    let (mut process, _) = system.open(std::process::id())?;
    let counters = system
        .read(&mut process, &mut Vec::new())
        .map(|reading| reading.counters);
    let used = counters.and_then(|counters| counters.user.zip(counters.system));
    let used = used.map(|(user, system)| Duration::from_nanos(user + system));
    used.ok_or_else(|| io::ErrorKind::Unsupported.into())
}
