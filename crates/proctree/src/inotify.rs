//! The files and directories that processes watch by inotify, from `/proc/PID/fdinfo`: a server that watches by itself sees a
//! change of which no client told it.

use std::collections::BTreeSet;
use std::path::Path;

/// A file or directory: its device as the kernel numbers it (`major << 20 | minor`), and its inode.
pub type WatchedInode = (u64, u64);

/// The files and directories that any of these processes watches; empty where the system has no inotify, and for processes that are gone.
pub fn watched_inodes(pids: impl IntoIterator<Item = u32>) -> BTreeSet<WatchedInode> {
    let mut watched = BTreeSet::new();
    for pid in pids {
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        for descriptor in descriptors {
            let is_inotify = std::fs::read_link(descriptor.path())
                .is_ok_and(|target| target.as_os_str().as_encoded_bytes() == b"anon_inode:inotify");
            if !is_inotify {
                continue;
            }
            let name = descriptor.file_name();
            let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", name.display()));
            watched.extend(inodes(&text.unwrap_or_default()));
        }
    }
    watched
}

/// The lines `inotify wd:3 ino:9e7e sdev:800013 mask:…` of a descriptor; the numbers are hexadecimal.
fn inodes(fdinfo: &str) -> Vec<WatchedInode> {
    let mut inodes = Vec::new();
    for line in fdinfo.lines().filter(|line| line.starts_with("inotify ")) {
        inodes.extend(number(line, "sdev:").zip(number(line, "ino:")));
    }
    inodes
}

fn number(line: &str, name: &str) -> Option<u64> {
    let word = line.split(' ').find_map(|word| word.strip_prefix(name))?;
    u64::from_str_radix(word, 16).ok()
}

/// The file or directory at a path; `None` if there is none.
#[cfg(unix)]
pub fn inode_at(path: &Path) -> Option<WatchedInode> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::symlink_metadata(path).ok()?;
    let device = kernel_device(meta.dev());
    Some((device, meta.ino()))
}

#[cfg(target_os = "linux")]
fn kernel_device(device: u64) -> u64 {
    u64::from(rustix::fs::major(device)) << 20 | u64::from(rustix::fs::minor(device))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn kernel_device(device: u64) -> u64 {
    device
}

#[cfg(not(unix))]
pub fn inode_at(_: &Path) -> Option<WatchedInode> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_are_read_as_the_kernel_writes_them() {
        let text = "pos:\t0\nflags:\t00\nmnt_id:\t15\ninotify wd:3 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 \
                    fhandle-bytes:8 fhandle-type:1 f_handle:7e9e0000640d1b6d\ninotify wd:2 ino:a111 sdev:800013 mask:2";
        assert_eq!(inodes(text), [(0x0080_0013, 0x9e7e), (0x0080_0013, 0xa111)]);
        assert_eq!(inodes("pos:\t0\n"), []);
    }
}
