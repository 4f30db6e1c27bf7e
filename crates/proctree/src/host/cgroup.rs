//! Limits of control groups, both versions: pure functions of the kernel's texts.

use std::path::{Path, PathBuf};

/// A control group without a limit reports a number near the maximum, rounded to pages.
const NO_LIMIT: u64 = 1 << 60;

/// The strictest limits of a group and its ancestors. Unlimited and unknown are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub memory: Option<u64>,
    /// Bytes of memory above which the kernel reclaims.
    pub high: Option<u64>,
    pub swap: Option<u64>,
    pub processors: Option<f64>,
}

/// The limits of the groups in `/proc/self/cgroup`; `read` returns the text of a file.
pub fn limits(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Limits {
    let memory_groups = directories(groups, "memory");
    Limits {
        memory: least(&memory_groups, "memory.max", Some("memory.limit_in_bytes"), &read),
        high: least(&memory_groups, "memory.high", None, &read),
        swap: least(&memory_groups, "memory.swap.max", None, &read),
        processors: directories(groups, "cpu")
            .iter()
            .filter_map(|group| group_quota(group, &read))
            .reduce(f64::min),
    }
}

/// The smallest limit of these groups, in bytes. Groups of version 1 have it in `old_file`, if at all.
fn least(groups: &[Group], file: &str, old_file: Option<&str>, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let limits = groups.iter().filter_map(|group| {
        let file = match group.version {
            Version::One => old_file?,
            Version::Two => file,
        };
        bytes(&read(&group.directory.join(file))?)
    });
    limits.min()
}

/// The processors that a group may use.
fn group_quota(group: &Group, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
    match group.version {
        Version::One => {
            let quota_time = read(&group.directory.join("cpu.cfs_quota_us"))?;
            let period = read(&group.directory.join("cpu.cfs_period_us"))?;
            quota(&format!("{quota_time} {period}"))
        }
        Version::Two => quota(&read(&group.directory.join("cpu.max"))?),
    }
}

/// Out-of-memory kills that the kernel counted in the innermost of these groups that counts them.
pub fn out_of_memory_kills(groups: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    directories(groups, "memory").iter().find_map(|group| {
        let file = match group.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        kills(&read(&group.directory.join(file))?)
    })
}

/// The number in the line `oom_kill 3`, which `memory.events`, `memory.oom_control` and `/proc/vmstat` have.
pub fn kills(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Version of the control group interface: each controller has a tree in version 1, all share one in version 2.
#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// The directory of a control group.
struct Group {
    directory: PathBuf,
    version: Version,
}

/// The directories of these groups and their ancestors; of version 1 only those of `controller`.
///
/// In a container the path is often the host's, and only the topmost directory exists: all are tried.
fn directories(groups: &str, controller: &str) -> Vec<Group> {
    let mut directories = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let roots = if controllers.is_empty() {
            vec![
                (PathBuf::from("/sys/fs/cgroup"), Version::Two),
                (PathBuf::from("/sys/fs/cgroup/unified"), Version::Two),
            ]
        } else if controllers.split(',').any(|name| name == controller) {
            vec![(Path::new("/sys/fs/cgroup").join(controller), Version::One)]
        } else {
            continue;
        };
        let path = Path::new(path.trim_start_matches('/'));
        for (root, version) in roots {
            directories.extend(path.ancestors().map(|group| Group {
                directory: root.join(group),
                version,
            }));
        }
    }
    directories
}

fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().filter(|limit| *limit < NO_LIMIT)
}

/// `150000 100000` → 1.5.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    if quota > 0.0 && period > 0.0 {
        Some(quota / period)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of groups in a system with these files below `/sys/fs/cgroup`.
    fn limits_in(groups: &str, files: &[(&str, &str)]) -> Limits {
        limits(groups, |path| {
            let below = path.strip_prefix("/sys/fs/cgroup").ok()?.to_str()?;
            let (_, text) = files.iter().find(|(name, _)| *name == below)?;
            Some((*text).to_owned())
        })
    }

    #[test]
    fn the_strictest_group_up_to_the_root_decides() {
        let files = [
            ("a/memory.max", "max"),
            ("a/memory.high", "3000"),
            ("a/memory.swap.max", "0"),
            ("a/b/memory.max", "2147483648"),
            ("a/b/memory.high", "4000"),
            ("a/b/cpu.max", "max 100000"),
            ("a/cpu.max", "150000 100000"),
            ("memory.max", "8589934592"),
        ];
        let limits = Limits {
            memory: Some(2 << 30),
            high: Some(3_000),
            swap: Some(0),
            processors: Some(1.5),
        };
        assert_eq!(limits_in("0::/a/b\n", &files), limits);
    }

    #[test]
    fn the_first_version_names_its_controllers() {
        let files = [
            ("memory/a/memory.limit_in_bytes", "9223372036854771712"),
            ("memory/memory.limit_in_bytes", "1073741824"),
            ("cpu/a/cpu.cfs_quota_us", "50000"),
            ("cpu/a/cpu.cfs_period_us", "100000"),
            ("cpu/cpu.cfs_quota_us", "-1"),
            ("cpu/cpu.cfs_period_us", "100000"),
        ];
        let limits = limits_in("8:pids:/a\n4:cpu,cpuacct:/a\n3:memory:/a\n", &files);
        assert_eq!((limits.memory, limits.processors), (Some(1 << 30), Some(0.5)));
        assert_eq!((limits.high, limits.swap), (None, None));
    }

    #[test]
    fn kills_are_those_of_the_innermost_group_that_counts_them() {
        assert_eq!(out_of_memory_kills("0::/a/b\n", kill_counts), Some(3));
        assert_eq!(out_of_memory_kills("4:memory:/a\n", kill_counts), Some(7));
        assert_eq!(out_of_memory_kills("0::/\n", kill_counts), None);
    }

    fn kill_counts(file: &Path) -> Option<String> {
        match file.to_str()? {
            "/sys/fs/cgroup/a/memory.events" => Some("low 0\noom 4\noom_kill 3\n".to_owned()),
            "/sys/fs/cgroup/memory/memory.oom_control" => Some("under_oom 0\noom_kill 7".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn no_limit_is_not_a_limit() {
        assert_eq!(
            limits_in("0::/\n", &[("memory.max", "max"), ("cpu.max", "max 100000")]),
            Limits::default()
        );
    }
}
