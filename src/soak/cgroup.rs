//! A control group for processes to kill: all forks of its members are in it, so one write ends them together.
//!
//! It is created only after a server left processes behind, so no server is measured in it: runtimes read memory
//! limits from their own group.

use std::fs;
use std::path::{Path, PathBuf};

use proctree::Living;

/// A child of lsp-soak's own group; removed when it is dropped.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
}

impl Group {
    /// `None` where there is no cgroup v2, or it is not delegated to this user, or its kernel (before 5.14) cannot kill.
    pub fn new() -> Option<Group> {
        let path = own_group()?.join(format!("lsp-soak-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Group { path };
        if group.path.join("cgroup.kill").exists() {
            Some(group)
        } else {
            None
        }
    }

    /// Kills these, and all that they forked since they were found.
    pub fn kill(&self, processes: &[Living]) {
        let mut moved = Vec::new();
        for &(pid, begun, _) in processes {
            // An ended process is the goal; one that may not be moved is killed alone.
            let is_there = proctree::start_time(pid) == Some(begun);
            if is_there && fs::write(self.path.join("cgroup.procs"), pid.to_string()).is_ok() {
                moved.push((pid, begun));
            }
        }
        // A process that ended between listing and moving may have left its number to a stranger, who must not be
        // killed.
        let has_stranger = moved
            .iter()
            .any(|&(pid, begun)| proctree::start_time(pid).is_some_and(|started| started != begun));
        if !has_stranger {
            let _ = fs::write(self.path.join("cgroup.kill"), "1");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A failure to kill is reported, and the group stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The directory of the group that lsp-soak is in.
fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, mounted) = (fields.next()?, fields.next()?);
        let inside = Path::new(group).strip_prefix(root).ok()?;
        if kind.starts_with("cgroup2 ") {
            Some(Path::new(mounted).join(inside))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_a_process_forked_meanwhile_goes_with_it() {
        let Some(group) = Group::new() else {
            let directory = own_group().map(|own| own.join("lsp-soak-test"));
            assert!(
                directory.is_none_or(|directory| fs::create_dir(directory).is_err()),
                "a group could be made"
            );
            return;
        };
        let mut forking = Command::new("sh")
            .args(["-c", "while :; do sleep 100 & sleep 0.01; done"])
            .spawn()
            .unwrap();
        let pid = forking.id();
        let moved = Some((pid, proctree::start_time(pid).unwrap(), "sh".to_owned()));
        fs::write(group.path.join("cgroup.procs"), pid.to_string()).unwrap();
        let members = || {
            fs::read_to_string(group.path.join("cgroup.procs"))
                .unwrap()
                .lines()
                .count()
        };
        let begun = Instant::now();
        while members() < 5 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not fork");
            std::thread::sleep(Duration::from_millis(5));
        }
        group.kill(moved.as_slice());
        forking.wait().unwrap();
        while members() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "its children live on");
            std::thread::sleep(Duration::from_millis(5));
        }
        let path = group.path.clone();
        drop(group);
        assert!(!path.exists());
    }
}
