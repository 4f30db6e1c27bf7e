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

/// Puts a program into a group of its own; on Linux also into a session, so that nothing that it starts can join our group,
/// and it dies when the thread that starts it ends.
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

/// Asks the kernel for SIGKILL when the parent's thread ends; if that already happened, nobody will send it.
#[cfg(target_os = "linux")]
fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// From now on orphans of what is started come to us instead of to init, so that they can be seen and ended.
pub fn adopt_orphans() {
    // Without it they go to init as elsewhere.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills a program with its helpers, which are in its group.
pub fn kill_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // It fails when all of them are gone, which is what is wanted.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// Children, ended ones included, that are none of `own` and not in our own process group: orphans of the server that
/// were handed to us.
#[cfg(target_os = "linux")]
pub(super) fn orphans(own: &BTreeSet<u32>) -> Vec<u32> {
    let group = rustix::process::getpgrp();
    let ours = |child: &Pid| rustix::process::getpgid(Some(*child)).is_ok_and(|of_child| of_child == group);
    let orphans = children().into_iter().filter(|child| !ours(child));
    orphans
        .map(|child| child.as_raw_nonzero().get().unsigned_abs())
        .filter(|pid| !own.contains(pid))
        .collect()
}

/// Reaps one that has ended.
#[cfg(target_os = "linux")]
pub(super) fn reap(pid: u32) {
    // One that lives on, or was reaped meanwhile, is nothing to be done about.
    let _ = rustix::process::waitpid(Pid::from_raw(pid.cast_signed()), rustix::process::WaitOptions::NOHANG);
}

/// Kills one child. Until it is reaped nobody else has its id.
#[cfg(target_os = "linux")]
pub(super) fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // It fails where it may not be killed, which is seen by that it stays.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let parse = |list: String| {
        list.split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect::<Vec<i32>>()
    };
    lists.flat_map(parse).filter_map(Pid::from_raw).collect()
}

/// Orphans go to launchd here, which reaps them.
#[cfg(not(target_os = "linux"))]
pub(super) fn orphans(_own: &BTreeSet<u32>) -> Vec<u32> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reap(_pid: u32) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill(_pid: u32) {}
