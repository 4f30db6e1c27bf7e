//! Processes on Linux and macOS: groups, signals, and ending with lsp-soak.
#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "a hook between fork and exec is the only way to keep the server to processors, and no safe wrapper \
                  signals one thread"
    )
)]

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};

use crate::child;

/// Capacity of pipes in bytes, where the system allows it.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// The server's process group. The server leads it, so both have the same id.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    /// A handle that stays valid even if the id is reused.
    #[cfg(target_os = "linux")]
    handle: Option<std::os::fd::OwnedFd>,
}

/// Puts the server into its own group, and ties its life to lsp-soak.
pub(super) fn prepare(command: &mut Command) -> io::Result<()> {
    child::adopt_orphans();
    child::tie(command.as_std_mut());
    Ok(())
}

/// Restricts a program and its children to some processors.
#[cfg(target_os = "linux")]
pub(super) fn keep_to(command: &mut std::process::Command, cpus: &[usize]) {
    use rustix::thread::{CpuSet, sched_setaffinity};
    use std::os::unix::process::CommandExt;
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        if *cpu < CpuSet::MAX_CPU {
            set.set(*cpu);
        }
    }
    // SAFETY: the hook runs between fork and exec; it makes one system call, on a value that was made before.
    unsafe {
        command.pre_exec(move || Ok(sched_setaffinity(None, &set)?));
    }
}

/// Takes over the group of a new child.
pub(super) fn adopt(child: &mut Child) -> io::Result<Group> {
    let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let leader = pid.ok_or_else(|| io::Error::other("the server was gone before it had a process id"))?;
    Ok(Group {
        leader,
        #[cfg(target_os = "linux")]
        handle: rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok(),
    })
}

/// The kernel ends a companion with lsp-soak; elsewhere it sees the end of its input.
#[derive(Debug)]
pub(super) struct Bond;

pub(super) fn prepare_companion(command: &mut Command) {
    child::end_with_parent(command.as_std_mut());
}

#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Windows")]
pub(super) fn bond(_child: &mut Child) -> io::Result<Bond> {
    Ok(Bond)
}

impl Group {
    pub(super) fn terminate(&self, leader_gone: bool) {
        self.send(Signal::TERM, leader_gone);
    }

    pub(super) fn kill(&self, leader_gone: bool) {
        self.send(Signal::KILL, leader_gone);
    }

    /// Ignores failure: then no process is left.
    ///
    /// A group id stays reserved while it has members. Afterwards it could in theory belong to another group, but its
    /// leader would not be a child of lsp-soak.
    fn send(&self, signal: Signal, leader_gone: bool) {
        let _ = rustix::process::kill_process_group(self.leader, signal);
        if leader_gone {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            let _ = rustix::process::pidfd_send_signal(handle, signal);
            return;
        }
        let _ = rustix::process::kill_process(self.leader, signal);
    }
}

/// Enlarges a pipe, so that a burst causes fewer wake-ups. Above the user's limit it stays unchanged.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: &impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn widen(_pipe: &impl AsFd) {}

/// The signal that ended a process.
pub(super) fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Waits for the end of a child and returns its exit code and signal, without reaping it; `None` if unsupported. Uses a
/// thread, because the runtime's own wait reaps.
#[cfg(target_os = "linux")]
pub(super) async fn wait_unreaped(child: Option<u32>) -> Option<(Option<i32>, Option<i32>)> {
    use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
    let pid = child.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("exit".to_owned()).spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let end = rustix::io::retry_on_intr(|| waitid(WaitId::PidFd(handle.as_fd()), options));
        // The receiver is gone if the server was dropped.
        let _ = sender.send(end);
    });
    thread.ok()?;
    let end = receiver.await.ok()?.ok()??;
    Some((end.exit_status(), end.terminating_signal()))
}

/// This system does not report on unreaped processes.
#[cfg(not(target_os = "linux"))]
pub(super) fn wait_unreaped(_child: Option<u32>) -> impl Future<Output = Option<(Option<i32>, Option<i32>)>> {
    std::future::ready(None)
}

/// Kills one process if `is_meant`, which is checked while its id cannot be reused. Returns whether it was.
#[cfg(target_os = "linux")]
pub fn kill_pid(pid: u32, is_meant: impl FnOnce() -> bool) -> io::Result<bool> {
    let Some(target) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(false);
    };
    let handle = match rustix::process::pidfd_open(target, rustix::process::PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if !is_meant() {
        return Ok(false);
    }
    match rustix::process::pidfd_send_signal(&handle, Signal::KILL) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Kills one process if `is_meant`, which is checked just before. Returns whether it was.
#[cfg(target_os = "macos")]
pub fn kill_pid(pid: u32, is_meant: impl FnOnce() -> bool) -> io::Result<bool> {
    let Some(target) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return Ok(false);
    };
    if !is_meant() {
        return Ok(false);
    }
    match rustix::process::kill_process(target, Signal::KILL) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Sends a signal to one thread of a process; other threads are not interrupted.
#[cfg(target_os = "linux")]
pub fn signal_thread(process: u32, thread: u32, signal: i32) -> io::Result<()> {
    // SAFETY: the system call takes three numbers and touches no memory of ours.
    match unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// True if the parent process wants lsp-soak to outlive the terminal, as `nohup` does.
#[expect(unsafe_code, reason = "no safe wrapper asks what a signal does now")]
pub fn ignores_signal(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action this only writes the present one to `now`, which outlives the call.
    let failed = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) } != 0;
    // SAFETY: all zeroes is a valid `sigaction` (the default action), should the call not have written one.
    let now = unsafe { now.assume_init() };
    !failed && now.sa_sigaction == libc::SIG_IGN
}
