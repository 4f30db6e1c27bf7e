//! Parses Linux's `/proc`: pure functions from bytes to numbers, compiled and tested on every system.

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use record::{Nanos, Rollup, Used};

/// The used fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    pub pid: u32,
    /// Short name of the program; any bytes, including parentheses and spaces.
    pub name: &'a [u8],
    /// State letter: `R`, `S`, `Z` and so on.
    pub state: u8,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    pub flags: u64,
    pub minor_faults: u64,
    /// Minor faults of the children that it reaped.
    pub reaped_faults: u64,
    pub major_faults: u64,
    pub user: u64,
    pub system: u64,
    /// User time of the children that it reaped, in clock ticks.
    pub reaped_user: u64,
    /// System time of the children that it reaped, in clock ticks.
    pub reaped_system: u64,
    pub threads: u64,
    /// Start time in clock ticks since boot.
    pub started: u64,
    /// Size of the address space in bytes; 0 once the process has released it.
    pub virtual_size: u64,
    /// Start of the stack, 0 if not readable; differs after exec.
    pub stack: u64,
    /// Wait status of a process that was not reaped, 0 if not readable.
    pub exit_code: u64,
}

/// `PF_FORKNOEXEC`: forked without a later exec (include/linux/sched.h).
const FORKED: u64 = 0x40;

impl Stat<'_> {
    /// True if the process was forked without a later exec.
    pub fn forked(&self) -> bool {
        self.flags & FORKED != 0
    }

    /// Usage so far; `tick` is the length of a clock tick in nanoseconds.
    pub fn used(&self, tick: Nanos) -> Used {
        Used {
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
            user: self.user * tick,
            system: self.system * tick,
            cpu: None,
        }
    }

    /// True if the process has ended and its parent has not reaped it.
    pub fn is_zombie(&self) -> bool {
        self.threads <= 1 && self.state == b'Z'
    }

    /// True if the process has ended: dead, a zombie, or exiting without memory.
    ///
    /// A main thread that ended before other threads looks like a zombie too, but its process still runs.
    pub fn ended(&self) -> bool {
        self.threads <= 1 && (matches!(self.state, b'Z' | b'X' | b'x') || self.virtual_size == 0)
    }
}

/// Parses `/proc/PID/stat`; `None` if malformed.
pub fn stat(text: &[u8]) -> Option<Stat<'_>> {
    // The name in parentheses may contain any of `( ) space newline`: the last parenthesis ends it.
    let open = memchr::memchr(b'(', text)?;
    let close = memchr::memrchr(b')', text)?;
    let name = text.get(open + 1..close)?;
    let rest = text.get(close + 1..)?;
    let mut fields = rest.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    // From field 4 of proc_pid_stat(5) on. Some may be negative, but none that is used.
    let mut values = [0u64; 49];
    for (place, value) in values.iter_mut().enumerate() {
        *value = match fields.next() {
            Some(field) => number(field).unwrap_or(0),
            // Emulated files may end after the stack.
            None if place >= 25 => 0,
            None => return None,
        };
    }
    Some(Stat {
        pid: u32::try_from(number(text.get(..open)?)?).ok()?,
        name,
        state,
        parent: u32::try_from(values[0]).ok()?,
        group: u32::try_from(values[1]).ok()?,
        session: u32::try_from(values[2]).ok()?,
        flags: values[5],
        minor_faults: values[6],
        reaped_faults: values[7],
        major_faults: values[8],
        user: values[10],
        system: values[11],
        reaped_user: values[12],
        reaped_system: values[13],
        threads: values[16],
        started: values[18],
        virtual_size: values[19],
        stack: values[24],
        exit_code: values[48],
    })
}

/// `/proc/PID/status`, sizes in bytes. A missing line is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `Tgid`: differs from the requested id if that is a thread's.
    pub leader: Option<u32>,
    pub virtual_size: Option<u64>,
    pub high_water: Option<u64>,
    pub resident: Option<u64>,
    /// `RssAnon`, since Linux 4.5.
    pub anonymous: Option<u64>,
    /// `RssFile`, since Linux 4.5.
    pub file: Option<u64>,
    /// `RssShmem`, since Linux 4.5.
    pub shared: Option<u64>,
    pub swap: Option<u64>,
    /// `THP_enabled`, since Linux 5.0: whether the process may have huge pages.
    pub huge_pages: Option<bool>,
    pub threads: Option<u64>,
}

/// Parses `/proc/PID/status`. The kernel writes the lines in a fixed order; `Threads` is the last one used.
pub fn status(text: &[u8]) -> Status {
    let mut status = Status::default();
    for line in Lines(text) {
        // The first byte rules out most lines.
        match line.first() {
            Some(b'V') => match key(line) {
                b"VmSize" => status.virtual_size = kilobytes(line),
                b"VmHWM" => status.high_water = kilobytes(line),
                b"VmRSS" => status.resident = kilobytes(line),
                b"VmSwap" => status.swap = kilobytes(line),
                _ => {}
            },
            Some(b'R') => match key(line) {
                b"RssAnon" => status.anonymous = kilobytes(line),
                b"RssFile" => status.file = kilobytes(line),
                b"RssShmem" => status.shared = kilobytes(line),
                _ => {}
            },
            Some(b'T') => match key(line) {
                b"Tgid" => status.leader = value(line).and_then(|leader| u32::try_from(leader).ok()),
                b"THP_enabled" => status.huge_pages = value(line).map(|enabled| enabled != 0),
                b"Threads" => {
                    status.threads = value(line);
                    break;
                }
                _ => {}
            },
            _ => {}
        }
    }
    status
}

/// Parses `/proc/PID/smaps_rollup` for process number `process`; `None` without `Rss`, for example after the process
/// ended.
pub fn rollup(text: &[u8], process: u32, cost: Nanos) -> Option<Rollup> {
    let mut rollup = Rollup {
        process,
        cost,
        ..Rollup::default()
    };
    let mut resident = None;
    for line in Lines(text) {
        let size = kilobytes(line);
        match key(line) {
            b"Rss" => resident = size,
            b"Pss" => rollup.proportional = size?,
            b"Pss_Anon" => rollup.proportional_anonymous = size,
            b"Pss_File" => rollup.proportional_file = size,
            b"Pss_Shmem" => rollup.proportional_shared = size,
            b"Private_Clean" | b"Private_Dirty" => rollup.unique += size?,
            b"Anonymous" => rollup.anonymous = size?,
            b"LazyFree" => rollup.lazy_free = size?,
            b"AnonHugePages" => rollup.huge_pages = size?,
            b"Swap" => rollup.swap = size?,
            b"SwapPss" => rollup.swap_proportional = size?,
            _ => {}
        }
    }
    rollup.resident = resident?;
    Some(rollup)
}

/// Sums over the mappings of a process that hold shared memory of its own, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnShared {
    /// `Pss` less anonymous pages.
    pub proportional: u64,
    /// `Rss` less anonymous pages.
    pub resident: u64,
    /// `Swap`, once for each part of a file, however often that is mapped.
    pub swap: u64,
}

/// One mapping while its lines are read.
#[derive(Default)]
struct Mapping {
    proportional: u64,
    resident: u64,
    anonymous: u64,
    swap: u64,
}

/// The devices of all tmpfs in `/proc/PID/mountinfo`, as `smaps` writes them.
///
/// `24 29 0:25 / /dev/shm rw,nosuid,nodev shared:12 - tmpfs tmpfs rw`; the kernel's own, of memfds, is never mounted.
pub fn tmpfs_devices(text: &[u8]) -> Vec<Vec<u8>> {
    let mut devices = Vec::new();
    for line in Lines(text) {
        let Some(end) = memchr::memmem::find(line, b" - tmpfs ") else {
            continue;
        };
        let field = line[..end].split(|&byte| byte == b' ').nth(2).unwrap_or_default();
        let mut numbers = field.split(|&byte| byte == b':').map(number);
        if let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) {
            devices.push(format!("{major:02x}:{minor:02x}").into_bytes());
        }
    }
    devices
}

/// Sums `/proc/PID/smaps`, which has thousands of mappings and is therefore read line by line; `tmpfs` are devices of
/// mounted ones. `inode_at` returns the inode of the file at a path: a file may be named `x (deleted)`, which is also what
/// the kernel writes for a removed file `x`.
pub fn own_shared(
    mut text: impl BufRead,
    tmpfs: &[Vec<u8>],
    inode_at: impl Fn(&[u8]) -> Option<u64>,
) -> io::Result<OwnShared> {
    let mut sums = OwnShared::default();
    let mut swapped = BTreeSet::new();
    let mut line = Vec::new();
    // The part of a file that the mapping shows, and its sizes so far; `None` in mappings of other kinds.
    let mut open: Option<(Vec<u8>, Mapping)> = None;
    loop {
        line.clear();
        let is_over = text.read_until(b'\n', &mut line)? == 0;
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        // Addresses are in lower case, names of fields begin in upper case.
        let is_mapping = line.first().is_some_and(|byte| !byte.is_ascii_uppercase());
        if is_over || is_mapping {
            if let Some((part, mapping)) = open.take() {
                sums.proportional += mapping.proportional.saturating_sub(mapping.anonymous);
                sums.resident += mapping.resident.saturating_sub(mapping.anonymous);
                let is_first = swapped.insert(part);
                if is_first {
                    sums.swap += mapping.swap;
                }
            }
            if is_over {
                return Ok(sums);
            }
            open = own_part(line, tmpfs, &inode_at).map(|part| (part, Mapping::default()));
        } else if let Some((_, mapping)) = &mut open {
            let size = kilobytes(line).unwrap_or(0);
            match key(line) {
                b"Pss" => mapping.proportional = size,
                b"Rss" => mapping.resident = size,
                b"Anonymous" => mapping.anonymous = size,
                b"Swap" => mapping.swap = size,
                _ => {}
            }
        }
    }
}

/// A name in `smaps`, where a line end is `\012`.
pub fn unescaped(name: &[u8]) -> Vec<u8> {
    const LINE_END: &[u8] = b"\\012";
    let (mut text, mut rest) = (Vec::new(), name);
    while let Some(at) = memchr::memmem::find(rest, LINE_END) {
        text.extend_from_slice(&rest[..at]);
        text.push(b'\n');
        rest = &rest[at + LINE_END.len()..];
    }
    text.extend_from_slice(rest);
    text
}

/// Offset, device and inode of a mapping whose memory ends with its processes; `None` for other mappings.
///
/// `7f03…-7f0f… rw-s 00000000 00:01 1029    /memfd:heap (deleted)`; the name may contain spaces.
///
/// A removed file of a tmpfs is one if it is mapped shared: no name leads to it any more. Text and data of a program that
/// was started from it are mapped privately.
fn own_part(line: &[u8], tmpfs: &[Vec<u8>], inode_at: impl Fn(&[u8]) -> Option<u64>) -> Option<Vec<u8>> {
    let mut fields = line.splitn(6, |&byte| byte == b' ').skip(1);
    let is_shared = fields.next()?.ends_with(b"s");
    let part = [fields.next()?, fields.next()?, fields.next()?];
    let name = fields.next()?.trim_ascii();
    let is_own = if let Some(file) = name.strip_suffix(b" (deleted)") {
        let is_unnamed = file.starts_with(b"/memfd:") || file.starts_with(b"/SYSV") || file == b"/dev/zero";
        let is_on_tmpfs = tmpfs.iter().any(|device| device == part[1]);
        is_unnamed || (is_shared && is_on_tmpfs && inode_at(name).is_none_or(|inode| Some(inode) != number(part[2])))
    } else {
        name.starts_with(b"[anon_shmem:")
    };
    if is_own { Some(part.join(&b' ')) } else { None }
}

/// The last assigned process or thread id, from `/proc/loadavg`; `None` if the file is emulated.
pub fn last_pid(text: &[u8]) -> Option<u32> {
    let field = text.trim_ascii_end().rsplit(|&byte| byte == b' ').next()?;
    let pid = u32::try_from(number(field)?).ok()?;
    if pid > 0 { Some(pid) } else { None }
}

/// Parses `/proc/PID/cmdline`: at most `most` arguments.
pub fn arguments(text: &[u8], most: usize) -> Vec<String> {
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == 0)
        .take(most)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// Parses `/proc/PID/environ`; `None` if the text has no variable, as after a process overwrote it with its title.
pub fn environment(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let entries: Vec<Vec<u8>> = text
        .split(|&byte| byte == 0)
        .filter(|entry| entry.contains(&b'='))
        .map(<[u8]>::to_vec)
        .collect();
    if entries.is_empty() && !text.is_empty() {
        return None;
    }
    Some(entries)
}

/// Bytes of a program's name that the kernel keeps, `TASK_COMM_LEN` without its final zero (include/linux/sched.h).
const KEPT: usize = 15;

/// The name of a program: the kernel's, unless the program set another (Node: `MainThread`). The kernel keeps the first
/// 15 bytes of the name of the file or script; the arguments have the rest.
pub fn program(called: &str, arguments: &[String]) -> String {
    let mut files = arguments.iter().take(3).map(|path| file_name(path));
    if let Some(whole) = files.find(|file| file.starts_with(called)) {
        let name = if called.len() >= KEPT { whole } else { called };
        return name.to_owned();
    }
    match arguments.first().map(|path| file_name(path)) {
        Some(file) if !file.is_empty() => file.to_owned(),
        Some(_) | None => called.to_owned(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.0).unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        Some(line)
    }
}

fn key(line: &[u8]) -> &[u8] {
    // Keys are short; the first line of the rollup may have no colon near its start.
    let end = line.iter().take(24).position(|&byte| byte == b':');
    line.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The first number after the colon.
fn value(line: &[u8]) -> Option<u64> {
    let colon = memchr::memchr(b':', line)?;
    let text = line.get(colon + 1..)?.trim_ascii();
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    number(text.get(..end)?)
}

/// The value in bytes of a line that ends in `kB` (1,024 bytes).
fn kilobytes(line: &[u8]) -> Option<u64> {
    if !line.ends_with(b" kB") {
        return None;
    }
    value(line)?.checked_mul(1024)
}

/// A whole decimal number, surrounded by spaces at most.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return None;
    }
    let mut number = 0u64;
    for byte in text {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests;
