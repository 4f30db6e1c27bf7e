//! Sessions, groups and orphans on Linux and macOS.
#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "a hook between fork and exec is the only way to tie a program's life to ours"
    )
)]

use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::io;

use rustix::process::{Pid, Signal};

/// Puts a program into its own group. On Linux also into its own session, so that its children cannot join lsp-soak's
/// group, and it ends with the thread that starts it.
pub fn tie(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    #[cfg(not(target_os = "linux"))]
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let parent = rustix::process::getpid();
        // SAFETY: the hook runs between fork and exec; it makes three system calls through functions that
        // neither allocate nor lock.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                die_with(parent)
            });
        }
    }
}

/// Lets a program end with the thread that starts it, on Linux. It stays in lsp-soak's group and session, so that whatever
/// signals those reaches it too.
pub fn end_with_parent(command: &mut std::process::Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        let parent = rustix::process::getpid();
        // SAFETY: the hook runs between fork and exec; it makes two system calls through functions that neither
        // allocate nor lock.
        unsafe {
            command.pre_exec(move || die_with(parent));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Asks the kernel for SIGKILL when the parent's thread ends; if it has already ended, no signal follows.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// From now on, lsp-soak adopts orphans instead of init, so that it can see and end them.
pub fn adopt_orphans() {
    // On failure, orphans go to init.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Asks a program to end, as ctrl-c does.
pub fn interrupt(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Fails if it has ended.
        let _ = rustix::process::kill_process(pid, Signal::INT);
    }
}

/// Kills a program with its helpers, which are in its group.
pub fn kill_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // Fails if all of them are gone, as intended.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// Adopted orphans of the server: children, including ended ones, that are not in `awaited` and not in lsp-soak's process
/// group.
#[cfg(target_os = "linux")]
pub(super) fn orphans(awaited: &BTreeSet<u32>) -> Vec<u32> {
    let own_group = rustix::process::getpgrp();
    let mut orphans = Vec::new();
    for child in children() {
        let is_in_own_group = rustix::process::getpgid(Some(child)).is_ok_and(|group| group == own_group);
        let pid = child.as_raw_nonzero().get().unsigned_abs();
        if !is_in_own_group && !awaited.contains(&pid) {
            orphans.push(pid);
        }
    }
    orphans
}

/// Reaps an ended process.
#[cfg(target_os = "linux")]
pub(super) fn reap(pid: u32) {
    // Nothing to do if it still runs, or was already reaped.
    let _ = rustix::process::waitpid(Pid::from_raw(pid.cast_signed()), rustix::process::WaitOptions::NOHANG);
}

/// Kills one child. Its id stays reserved until it is reaped.
#[cfg(target_os = "linux")]
pub(super) fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // Fails without permission; then the process remains visible.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        if let Ok(list) = std::fs::read_to_string(thread.path().join("children")) {
            let pids = list.split_ascii_whitespace();
            children.extend(pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
        }
    }
    children
}

/// launchd adopts and reaps orphans.
#[cfg(not(target_os = "linux"))]
pub(super) fn orphans(_awaited: &BTreeSet<u32>) -> Vec<u32> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reap(_pid: u32) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_pid: u32) {}
