//! Reads the texts of Linux `/proc`: pure functions from bytes to numbers, compiled and tested on every system.

use crate::record::{Nanos, Rollup};

/// What `/proc/PID/stat` says, as far as it is of use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    /// Process id.
    pub pid: u32,
    /// Short name of the program; any bytes, parentheses and spaces included.
    pub name: &'a [u8],
    /// State letter: `R`, `S`, `Z` and so on.
    pub state: u8,
    /// Process id of the parent.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// Kernel flags, `PF_*`.
    pub flags: u64,
    /// Minor faults of the process.
    pub minor_faults: u64,
    /// Minor faults of the children it has waited for.
    pub reaped_faults: u64,
    /// Major faults of the process.
    pub major_faults: u64,
    /// User time in clock ticks.
    pub user: u64,
    /// System time in clock ticks.
    pub system: u64,
    /// User time of the children it has waited for, in clock ticks.
    pub reaped_user: u64,
    /// System time of the children it has waited for, in clock ticks.
    pub reaped_system: u64,
    /// Threads.
    pub threads: u64,
    /// Start time in clock ticks since boot.
    pub started: u64,
    /// Size of the address space in bytes; 0 once the process has given it up.
    pub virtual_size: u64,
    /// Start of the stack, 0 where it is not ours to know; differs after exec.
    pub stack: u64,
}

/// `PF_FORKNOEXEC`: forked and not exec'd since (include/linux/sched.h).
const FORKED: u64 = 0x40;

impl Stat<'_> {
    /// Whether the process was forked and has not exec'd since.
    pub fn forked(&self) -> bool {
        self.flags & FORKED != 0
    }

    /// Whether the process is over: dead, waiting to be reaped, or past giving up its memory on the way there.
    ///
    /// A main thread that ended before the other threads looks like a zombie too, but its process lives on.
    pub fn ended(&self) -> bool {
        self.threads <= 1 && (matches!(self.state, b'Z' | b'X' | b'x') || self.virtual_size == 0)
    }
}

/// The text of `/proc/PID/stat`; `None` if it is not one.
pub fn stat(text: &[u8]) -> Option<Stat<'_>> {
    // The name stands in parentheses and may contain any of `( ) space newline`: its end is the last parenthesis.
    let open = memchr::memchr(b'(', text)?;
    let close = memchr::memrchr(b')', text)?;
    let name = text.get(open + 1..close)?;
    let rest = text.get(close + 1..)?;
    let mut fields = rest.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    // From field 4 of proc_pid_stat(5) on. Some may be negative; none of those that are used.
    let mut values = [0u64; 25];
    for value in &mut values {
        *value = number(fields.next()?).unwrap_or(0);
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
    })
}

/// What `/proc/PID/status` says, sizes in bytes. A line that the kernel does not write is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `Tgid`: differs from the number asked for when that names a thread.
    pub leader: Option<u32>,
    /// `VmSize`.
    pub virtual_size: Option<u64>,
    /// `VmHWM`.
    pub high_water: Option<u64>,
    /// `VmRSS`.
    pub resident: Option<u64>,
    /// `RssAnon`, since Linux 4.5.
    pub anonymous: Option<u64>,
    /// `RssFile`, since Linux 4.5.
    pub file: Option<u64>,
    /// `RssShmem`, since Linux 4.5.
    pub shared: Option<u64>,
    /// `VmSwap`.
    pub swap: Option<u64>,
    /// `Threads`.
    pub threads: Option<u64>,
}

/// The text of `/proc/PID/status`. The kernel writes the lines in a fixed order and `Threads` is the last of interest.
pub fn status(text: &[u8]) -> Status {
    let mut status = Status::default();
    for line in Lines(text) {
        // Most lines are passed over by their first byte.
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

/// The text of `/proc/PID/smaps_rollup` for our process number; `None` if it has no `Rss`, as when the process is over.
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

/// The id given last to a process or thread, from the text of `/proc/loadavg`; `None` where that is made up.
pub fn last_pid(text: &[u8]) -> Option<u32> {
    let field = text.trim_ascii_end().rsplit(|&byte| byte == b' ').next()?;
    let pid = u32::try_from(number(field)?).ok()?;
    (pid > 0).then_some(pid)
}

/// The arguments in the text of `/proc/PID/cmdline`, at most `most` of them.
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

/// Lines without their ends.
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

/// What stands before the colon.
fn key(line: &[u8]) -> &[u8] {
    // Keys are short; a line such as the rollup's head may have no colon near.
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

/// The value in bytes of a line that ends in `kB`, by which the kernel means 1024.
fn kilobytes(line: &[u8]) -> Option<u64> {
    line.ends_with(b" kB").then(|| value(line)).flatten()?.checked_mul(1024)
}

/// A whole decimal number and nothing else but spaces around it.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &[u8] = b"21123 (cat) R 21119 21119 17313 0 -1 4194304 100 7 2 0 31 32 5 6 20 -3 4 0 211166 3133440 414 \
        18446744073709551615 93906988294144 93906988314025 140726287492640 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 \
        93906988330032 93906988331648 93907195854848 140726287497909 140726287497929 140726287497929 140726287499243 0\n";

    /// As Linux 6.18 writes it, some lines left out.
    const STATUS: &[u8] = b"Name:\tVmRSS: 9 kB\nUmask:\t0022\nState:\tR (running)\nTgid:\t21122\nNgid:\t0\nPid:\t21122\n\
        TracerPid:\t0\nUid:\t0\t0\t0\t0\nGroups:\t4 20 24 \nVmPeak:\t    3060 kB\nVmSize:\t    3064 kB\nVmLck:\t       0 kB\n\
        VmHWM:\t    1616 kB\nVmRSS:\t    1612 kB\nRssAnon:\t     112 kB\nRssFile:\t    1496 kB\nRssShmem:\t       4 kB\n\
        VmData:\t     360 kB\nVmSwap:\t       8 kB\nHugetlbPages:\t       0 kB\nTHP_enabled:\t1\nThreads:\t12\nSigQ:\t0/96365\n";

    const ROLLUP: &[u8] = b"55ac23e56000-7ffe6d0cc000 ---p 00000000 00:00 0                          [rollup]\n\
        Rss:                1640 kB\nPss:                 361 kB\nPss_Dirty:           112 kB\nPss_Anon:            112 kB\n\
        Pss_File:            249 kB\nPss_Shmem:             0 kB\nShared_Clean:       1468 kB\nShared_Dirty:          0 kB\n\
        Private_Clean:        60 kB\nPrivate_Dirty:       112 kB\nReferenced:         1640 kB\nAnonymous:           113 kB\n\
        LazyFree:             16 kB\nAnonHugePages:      2048 kB\nSwap:                  4 kB\nSwapPss:               3 kB\n";

    #[test]
    fn stat_is_read_field_by_field() {
        let stat = stat(STAT).unwrap();
        assert_eq!((stat.pid, stat.name, stat.state), (21123, b"cat".as_slice(), b'R'));
        assert_eq!((stat.parent, stat.group, stat.session), (21119, 21119, 17313));
        assert_eq!((stat.minor_faults, stat.reaped_faults, stat.major_faults), (100, 7, 2));
        assert_eq!(
            (stat.user, stat.system, stat.reaped_user, stat.reaped_system),
            (31, 32, 5, 6)
        );
        assert_eq!((stat.threads, stat.started, stat.virtual_size), (4, 211_166, 3_133_440));
        assert_eq!(stat.stack, 140_726_287_492_640);
        assert!(!stat.forked() && !stat.ended());
    }

    #[test]
    fn a_name_may_hold_spaces_parentheses_and_even_a_forged_state() {
        for name in ["a b", "a) Z 1 (b", "))((", " ", "tmux: server", "x\ny", ""] {
            let text = String::from_utf8_lossy(STAT).replace("(cat)", &format!("({name})"));
            let stat = stat(text.as_bytes()).unwrap();
            assert_eq!(
                (stat.name, stat.state, stat.parent),
                (name.as_bytes(), b'R', 21119),
                "{name:?}"
            );
        }
    }

    #[test]
    fn what_is_cut_or_no_stat_is_none() {
        let last_used = memchr::memmem::find(STAT, b"140726287492640").unwrap();
        for length in 0..last_used {
            assert_eq!(stat(&STAT[..length]), None, "{length}");
        }
        assert_eq!(stat(b"cat 1 2 3"), None);
        assert_eq!(stat(b")1(2"), None);
    }

    #[test]
    fn a_fork_without_exec_is_told_by_its_flag() {
        let text = String::from_utf8_lossy(STAT).replace("4194304", "4194368");
        assert!(stat(text.as_bytes()).unwrap().forked());
    }

    #[test]
    fn a_zombie_is_over_unless_other_threads_live() {
        let zombie = String::from_utf8_lossy(STAT).replace(") R", ") Z");
        assert!(!stat(zombie.as_bytes()).unwrap().ended());
        let single = zombie.replace("-3 4 0", "-3 1 0");
        assert!(stat(single.as_bytes()).unwrap().ended());
        let without_memory = String::from_utf8_lossy(STAT)
            .replace("-3 4 0", "-3 1 0")
            .replace("3133440", "0");
        assert!(stat(without_memory.as_bytes()).unwrap().ended());
    }

    #[test]
    fn status_gives_bytes_and_is_not_fooled_by_a_name() {
        let status = status(STATUS);
        let expected = Status {
            leader: Some(21122),
            virtual_size: Some(3064 << 10),
            high_water: Some(1616 << 10),
            resident: Some(1612 << 10),
            anonymous: Some(112 << 10),
            file: Some(1496 << 10),
            shared: Some(4 << 10),
            swap: Some(8 << 10),
            threads: Some(12),
        };
        assert_eq!(status, expected);
    }

    #[test]
    fn a_line_that_is_missing_is_unknown_and_not_zero() {
        // Before Linux 4.5 there is no split of the resident size; a zombie has no `Vm` line at all.
        let old = status(b"Name:\tx\nTgid:\t7\nVmRSS:\t    1612 kB\nThreads:\t1\n");
        assert_eq!((old.resident, old.anonymous, old.swap), (Some(1612 << 10), None, None));
        assert_eq!(status(b"Name:\tx\nState:\tZ (zombie)\n"), Status::default());
        assert_eq!(
            status(b"VmRSS:\t kB\nVmSwap:\t12\nVmSize:\t99999999999999999999 kB"),
            Status::default()
        );
    }

    #[test]
    fn a_rollup_is_read_whole() {
        let rollup = rollup(ROLLUP, 3, 99).unwrap();
        let kib = |n: u64| n << 10;
        assert_eq!((rollup.process, rollup.cost), (3, 99));
        assert_eq!(
            (rollup.resident, rollup.proportional, rollup.unique),
            (kib(1640), kib(361), kib(172))
        );
        assert_eq!(rollup.proportional_anonymous, Some(kib(112)));
        assert_eq!(
            (rollup.anonymous, rollup.lazy_free, rollup.huge_pages),
            (kib(113), kib(16), kib(2048))
        );
        assert_eq!((rollup.swap, rollup.swap_proportional), (kib(4), kib(3)));
        assert_eq!(rollup.private(), Some(kib(112 + 3 - 16)));
    }

    #[test]
    fn a_rollup_of_an_old_kernel_does_not_split_pss() {
        let old: String = String::from_utf8_lossy(ROLLUP)
            .lines()
            .filter(|line| !line.starts_with("Pss_"))
            .map(|line| format!("{line}\n"))
            .collect();
        let rollup = rollup(old.as_bytes(), 0, 0).unwrap();
        assert_eq!((rollup.proportional, rollup.proportional_anonymous), (361 << 10, None));
        assert_eq!(rollup.private(), None);
    }

    #[test]
    fn an_empty_rollup_is_that_of_a_process_that_is_over() {
        assert_eq!(rollup(b"", 0, 0), None);
    }

    #[test]
    fn the_last_id_is_the_fifth_field_unless_it_is_made_up() {
        assert_eq!(last_pid(b"0.20 0.13 0.27 1/92 21121\n"), Some(21121));
        assert_eq!(last_pid(b"0.00 0.00 0.00 0/0 0\n"), None);
        assert_eq!(last_pid(b""), None);
    }

    #[test]
    fn a_command_line_is_split_at_its_zero_bytes_and_bounded() {
        assert_eq!(arguments(b"sh\0-c\0\0x y\0", 8), ["sh", "-c", "", "x y"]);
        assert_eq!(arguments(b"sh\0-c\0x\0", 2), ["sh", "-c"]);
        assert_eq!(arguments(b"", 8), Vec::<String>::new());
    }
}
