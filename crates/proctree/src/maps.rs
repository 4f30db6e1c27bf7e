//! The libraries mapped by a live process, from its `/proc/PID/maps`, including those that it loaded itself.

use std::path::PathBuf;

/// The files mapped as code, each once, sorted by address; deleted files are excluded.
pub fn mapped_files(maps: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        // `7f03… r-xp 00028000 fe:00 1234  /lib/x86_64-linux-gnu/libc.so.6`; the path may contain spaces.
        let mut fields = line.splitn(6, ' ');
        let code = fields.nth(1).is_some_and(|rights| rights.contains('x'));
        let path = fields.nth(3).map(str::trim_start).unwrap_or_default();
        if code
            && path.starts_with('/')
            && !path.ends_with(" (deleted)")
            && !files.iter().any(|one| one.as_os_str() == path)
        {
            files.push(PathBuf::from(path));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_as_code_is_a_library() {
        let maps = "\
557c5b0f0000-557c5b0f2000 r--p 00000000 fe:00 131 /usr/bin/my server
557c5b0f2000-557c5b0f7000 r-xp 00002000 fe:00 131 /usr/bin/my server
557c5d000000-557c5d021000 rw-p 00000000 00:00 0                          [heap]
7f0329c00000-7f0329c26000 r--p 00000000 fe:00 1717                       /usr/lib/x86_64-linux-gnu/libc.so.6
7f0329c26000-7f0329d7b000 r-xp 00026000 fe:00 1717                       /usr/lib/x86_64-linux-gnu/libc.so.6
7f0329e00000-7f0329e10000 r-xp 00000000 fe:00 9                          /tmp/gone.so (deleted)
7f032a000000-7f032a001000 r-xp 00000000 00:00 0
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]
";
        let files = mapped_files(maps);
        assert_eq!(
            files,
            [
                PathBuf::from("/usr/bin/my server"),
                PathBuf::from("/usr/lib/x86_64-linux-gnu/libc.so.6")
            ]
        );
    }
}
