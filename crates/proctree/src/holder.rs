//! The programs that use the private memory of a tree now; Linux only, empty elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// The executable, with links resolved.
    pub program: PathBuf,
    /// `RssAnon + RssShmem + VmSwap`, in bytes.
    pub private: u64,
}

/// The processes whose program and memory are readable.
pub fn holders(pids: impl IntoIterator<Item = u32>) -> Vec<Holder> {
    pids.into_iter().filter_map(holder).collect()
}

/// Private memory in bytes: of the processes that run `program`, and of all.
pub fn share(holders: &[Holder], program: &Path) -> (u64, u64) {
    let (mut own, mut all) = (0_u64, 0_u64);
    for holder in holders {
        all = all.saturating_add(holder.private);
        if holder.program == program {
            own = own.saturating_add(holder.private);
        }
    }
    (own, all)
}

/// The largest process of the program with the most memory.
pub fn leader(holders: &[Holder]) -> Option<&Holder> {
    holders
        .iter()
        .max_by_key(|holder| (share(holders, &holder.program).0, holder.private))
}

fn holder(pid: u32) -> Option<Holder> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let private = private(&status)?;
    Some(Holder { pid, program, private })
}

/// Private memory in bytes, from `/proc/PID/status`; `None` for a process without memory.
fn private(status: &str) -> Option<u64> {
    let anonymous = kib(status, "RssAnon:")?;
    let shared = kib(status, "RssShmem:").unwrap_or(0);
    let swap = kib(status, "VmSwap:").unwrap_or(0);
    Some((anonymous + shared + swap) << 10)
}

/// The number in the line that begins with `name`.
fn kib(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_is_of_the_program_that_holds_the_most_together() {
        let tree = [(1, "/bin/sh", 50), (2, "/node", 30), (3, "/node", 40)].map(|(pid, program, private)| Holder {
            pid,
            program: program.into(),
            private,
        });
        assert_eq!(leader(&tree), Some(&tree[2]));
        assert_eq!(share(&tree, Path::new("/node")), (70, 120));
        assert_eq!(leader(&[]), None);
    }

    #[test]
    fn private_memory_is_what_is_anonymous_shared_and_swapped_out() {
        let status = "Name:\tx\nRssAnon:\t 12 kB\nRssFile:\t 7 kB\nRssShmem:\t 5 kB\nVmSwap:\t 3 kB\n";
        assert_eq!(private(status), Some(20 << 10));
        assert_eq!(private("Name:\tkthreadd\n"), None);
    }
}
