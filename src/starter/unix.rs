//! A child by `fork`, and its `wait4`.
#![expect(
    unsafe_code,
    reason = "no safe wrapper waits for a child with its usage, and only a hook makes the standard library fork"
)]

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use rustix::time::{ClockId, clock_gettime};

use record::{CommandEnd, Nanos};

/// Bytes in a unit of `ru_maxrss`.
const UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1 << 10 };

pub fn part(word: &OsStr, range: Range<usize>) -> OsString {
    OsStr::from_bytes(&word.as_bytes()[range]).to_owned()
}

/// Runs the command to its end; `started` gets its process id. Its wall time begins where the command replaces the fork.
pub fn run(command: &mut Command, started: impl FnOnce(u32) -> io::Result<()>) -> io::Result<CommandEnd> {
    let floor = floor();
    let (mut reader, mut writer) = io::pipe()?;
    // SAFETY: the hook runs between fork and exec; it makes system calls and neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            die_with_parent()?;
            writer.write_all(&now().to_ne_bytes())
        });
    }
    let child = command.spawn()?;
    let pid = child.id();
    let soon = ends_soon(pid).then(now);
    started(pid)?;
    ended(pid)?;
    let ended = soon.unwrap_or_else(now);
    let mut start = [0; size_of::<Nanos>()];
    reader.read_exact(&mut start)?;
    let wall = ended.saturating_sub(Nanos::from_ne_bytes(start));
    let moved = moved(pid);
    let (status, usage) = reap(pid)?;
    let count = |value: i64| u64::try_from(value).unwrap_or_default();
    Ok(CommandEnd {
        code: status.code(),
        signal: status.signal(),
        wall,
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        peak: count(usage.ru_maxrss).saturating_mul(UNIT),
        floor,
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        read: moved.map(|(read, _)| read),
        written: moved.map(|(_, written)| written),
        printed: None,
    })
}

/// The command ends with this process, as this process ends with lsp-soak. The hook also makes the standard library fork:
/// a child that shares memory until it executes would begin with this process's peak.
fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

/// Reading of a clock that all processes share.
fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// Whether the process ends in a moment. What watches it from then on reads its memory map, which holds up its start.
#[cfg(target_os = "linux")]
fn ends_soon(pid: u32) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 2_000_000,
    };
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(process) = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return false;
    };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&MOMENT)).is_ok_and(|ready| ready > 0)
}

#[cfg(not(target_os = "linux"))]
fn ends_soon(_: u32) -> bool {
    false
}

/// Waits for the end and leaves the process unreaped, so that its counters stay readable.
fn ended(pid: u32) -> io::Result<()> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    loop {
        // SAFETY: `info` outlives the call, which writes nothing else.
        let failed = unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), libc::WEXITED | libc::WNOWAIT) } != 0;
        match failed.then(io::Error::last_os_error) {
            None => return Ok(()),
            Some(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(error) => return Err(error),
        }
    }
}

fn reap(pid: u32) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both outlive the call, which writes nothing else.
    if unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeroes is a valid `rusage`, and the call has written it.
    Ok((ExitStatus::from_raw(status), unsafe { usage.assume_init() }))
}

fn nanos(time: libc::timeval) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    seconds * 1_000_000_000 + micros * 1_000
}

/// The peak in bytes with which every child of this process begins: that of one that has nothing to execute. What the
/// standard library does before is a large part of it.
fn floor() -> Option<u64> {
    let mut command = Command::new("/");
    // SAFETY: the hook runs between fork and exec, and makes one system call.
    unsafe {
        command.pre_exec(die_with_parent);
    }
    let _not_a_program = command.spawn();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` outlives the call, which writes nothing else.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) } < 0 {
        return None;
    }
    // SAFETY: all zeroes is a valid `rusage`, and the call has written it.
    let usage = unsafe { usage.assume_init() };
    u64::try_from(usage.ru_maxrss).ok()?.checked_mul(UNIT)
}

/// Bytes that a process and its reaped children read from and wrote to disks.
fn moved(pid: u32) -> Option<(u64, u64)> {
    let path = format!("/proc/{pid}/io");
    Some((field(&path, "read_bytes:")?, field(&path, "write_bytes:")?))
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
