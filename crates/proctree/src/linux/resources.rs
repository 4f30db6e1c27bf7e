//! Descriptors and zombies, from `/proc`.

use std::fs::{self, File};
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, OFlags, fstat, openat};

use super::super::procfs;
use super::read_whole;

/// Descriptors that a process has open; `None` if they cannot be read. `path` is that of `fd` below the process's
/// directory: once the main thread has ended, only that of a living thread lists them.
pub(super) fn descriptors(directory: &OwnedFd, path: &str) -> Option<u64> {
    let opened = openat(directory, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // Linux 6.2 gives their number as the size of the directory; before it was 0.
    let size = u64::try_from(fstat(&opened).ok()?.st_size).ok()?;
    if size > 0 {
        return Some(size);
    }
    let mut count = 0;
    for entry in Dir::read_from(&opened).ok()? {
        if !entry.ok()?.file_name().to_bytes().starts_with(b".") {
            count += 1;
        }
    }
    Some(count)
}

/// Zombies whose parent is one of `parents`; `None` if the processes cannot be listed.
pub(super) fn zombies(parents: &[u32], buffer: &mut Vec<u8>) -> Option<u64> {
    let mut count = 0;
    for entry in fs::read_dir("/proc").ok()? {
        let name = entry.ok()?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that is gone by now is no zombie.
        let Ok(file) = File::open(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let Ok(text) = read_whole(&file, buffer) else {
            continue;
        };
        if procfs::stat(text).is_some_and(|stat| stat.is_zombie() && parents.contains(&stat.parent)) {
            count += 1;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_that_nobody_waited_for_is_a_zombie_until_it_is_reaped() {
        let mut child = Command::new("true").spawn().unwrap();
        let own = std::process::id();
        let mut buffer = vec![0; 4096];
        let stat = format!("/proc/{}/stat", child.id());
        while !fs::read_to_string(&stat).unwrap().contains(") Z") {
            std::thread::yield_now();
        }
        let seen = zombies(&[own], &mut buffer).unwrap();
        assert!(seen >= 1);
        assert_eq!(zombies(&[], &mut buffer), Some(0), "a zombie of somebody else");
        child.wait().unwrap();
    }

    #[test]
    fn descriptors_are_those_that_the_directory_lists() {
        let listed = fs::read_dir("/proc/1/fd").map(Iterator::count);
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open("/proc/1", flags, Mode::empty()).unwrap();
        // Another user's process tells neither.
        assert_eq!(descriptors(&directory, "fd").is_some(), listed.is_ok());
        let own = rustix::fs::open("/proc/self", flags, Mode::empty()).unwrap();
        assert!(descriptors(&own, "fd") > Some(3));
        let thread = format!("task/{}/fd", rustix::thread::gettid().as_raw_nonzero());
        assert!(descriptors(&own, &thread) > Some(3));
    }
}
