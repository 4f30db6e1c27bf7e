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
pub fn limits(groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> Limits {
    let least = |file, old: Option<(&str, &str)>| {
        let limits = around(groups, old).into_iter().filter_map(|(group, version)| {
            let file = if version == 2 { file } else { old?.1 };
            bytes(&read(&group.join(file))?)
        });
        limits.min()
    };
    let quotas = around(groups, Some(("cpu", "")))
        .into_iter()
        .filter_map(|(group, version)| {
            if version == 2 {
                return quota(&read(&group.join("cpu.max"))?);
            }
            let [quota_of, period] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map(|file| read(&group.join(file)));
            quota(&format!("{} {}", quota_of?, period?))
        });
    Limits {
        memory: least("memory.max", Some(("memory", "memory.limit_in_bytes"))),
        high: least("memory.high", None),
        swap: least("memory.swap.max", None),
        processors: quotas.reduce(f64::min),
    }
}

/// Out-of-memory kills that the kernel counted in the innermost of these groups that counts them.
pub fn out_of_memory_kills(groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let around = around(groups, Some(("memory", "")));
    around.into_iter().find_map(|(group, version)| {
        let file = if version == 2 {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        kills(&read(&group.join(file))?)
    })
}

/// The number in the line `oom_kill 3`, which `memory.events`, `memory.oom_control` and `/proc/vmstat` have.
pub fn kills(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The directories of these groups and their ancestors, each with its version; for version 1 those of one controller.
///
/// In a container the path is often the host's, and only the topmost directory exists: all are tried.
fn around(groups: &str, old: Option<(&str, &str)>) -> Vec<(PathBuf, u8)> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let of_controller = |name: &&str| controllers.split(',').any(|one| one == *name);
        let roots = match old.map(|(name, _)| name).filter(of_controller) {
            _ if controllers.is_empty() => {
                vec![
                    (PathBuf::from("/sys/fs/cgroup"), 2),
                    (PathBuf::from("/sys/fs/cgroup/unified"), 2),
                ]
            }
            Some(name) => vec![(Path::new("/sys/fs/cgroup").join(name), 1)],
            None => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        for (root, version) in roots {
            limits.extend(path.ancestors().map(|group| (root.join(group), version)));
        }
    }
    limits
}

fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().filter(|limit| *limit < NO_LIMIT)
}

/// `150000 100000` → 1.5.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of groups in a system with these files below `/sys/fs/cgroup`.
    fn of(groups: &str, files: &[(&str, &str)]) -> Limits {
        let read = |path: &Path| {
            let below = path.strip_prefix("/sys/fs/cgroup").ok()?.to_str()?;
            let limits = files.iter().find(|(name, _)| *name == below)?;
            Some(limits.1.to_owned())
        };
        limits(groups, &read)
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
        assert_eq!(of("0::/a/b\n", &files), limits);
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
        let limits = of("8:pids:/a\n4:cpu,cpuacct:/a\n3:memory:/a\n", &files);
        assert_eq!((limits.memory, limits.processors), (Some(1 << 30), Some(0.5)));
        assert_eq!((limits.high, limits.swap), (None, None));
    }

    #[test]
    fn kills_are_those_of_the_innermost_group_that_counts_them() {
        let read = |path: &Path| match path.to_str()? {
            "/sys/fs/cgroup/a/memory.events" => Some("low 0\noom 4\noom_kill 3\n".to_owned()),
            "/sys/fs/cgroup/memory/memory.oom_control" => Some("under_oom 0\noom_kill 7".to_owned()),
            _ => None,
        };
        assert_eq!(out_of_memory_kills("0::/a/b\n", &read), Some(3));
        assert_eq!(out_of_memory_kills("4:memory:/a\n", &read), Some(7));
        assert_eq!(out_of_memory_kills("0::/\n", &read), None);
    }

    #[test]
    fn no_limit_is_not_a_limit() {
        assert_eq!(
            of("0::/\n", &[("memory.max", "max"), ("cpu.max", "max 100000")]),
            Limits::default()
        );
    }
}
