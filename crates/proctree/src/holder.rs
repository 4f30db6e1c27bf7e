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
    let sum = |of: &mut dyn Iterator<Item = &Holder>| of.map(|one| one.private).fold(0_u64, u64::saturating_add);
    (
        sum(&mut holders.iter().filter(|one| one.program == program)),
        sum(&mut holders.iter()),
    )
}

/// The largest process of the program with the most memory.
pub fn leader(holders: &[Holder]) -> Option<&Holder> {
    holders
        .iter()
        .max_by_key(|one| (share(holders, &one.program).0, one.private))
}

fn holder(pid: u32) -> Option<Holder> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let private = private(&status)?;
    Some(Holder { pid, program, private })
}

fn private(status: &str) -> Option<u64> {
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let kib = |name: &str| line(name)?.split_ascii_whitespace().next()?.parse::<u64>().ok();
    let shared = kib("RssShmem:").unwrap_or(0);
    Some((kib("RssAnon:")? + shared + kib("VmSwap:").unwrap_or(0)) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_is_of_the_program_that_holds_the_most_together() {
        let one = |pid, program: &str, private| Holder {
            pid,
            program: program.into(),
            private,
        };
        let tree = [one(1, "/bin/sh", 50), one(2, "/node", 30), one(3, "/node", 40)];
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
