//! Parses the tracer's output line by line.

use std::collections::HashMap;

use record::CallKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Start of the call, in nanoseconds of the wall clock.
    pub wall: u64,
    pub kind: CallKind,
    /// `None` if the call failed.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Call(Call),
    /// A line without a finished memory call: a first half, the start or the end of a process.
    Other,
    Garbled,
}

/// The state between lines.
#[derive(Debug, Default)]
pub struct Lines {
    /// First halves of calls that other threads interrupted, by thread.
    started_calls: HashMap<u32, String>,
    /// Address space of each thread.
    spaces: HashMap<u32, usize>,
    /// Break of each address space; `None` until it is known.
    breaks: Vec<Option<u64>>,
}

const UNFINISHED: &str = " <unfinished ...>";
const SUPERSEDED: &str = "+++ superseded by execve in pid ";

impl Lines {
    pub fn read(&mut self, line: &str) -> Line {
        match self.line(line) {
            Some(Some(call)) => Line::Call(call),
            Some(None) => Line::Other,
            None => Line::Garbled,
        }
    }

    /// `TID SECONDS.MICROS NAME(ARGUMENTS) = RESULT`; `None` for other text.
    fn line(&mut self, line: &str) -> Option<Option<Call>> {
        let (thread, rest) = line.split_once(' ')?;
        let thread: u32 = thread.parse().ok()?;
        let (time, rest) = rest.trim_start().split_once(' ')?;
        if rest.starts_with("+++ ") || rest.starts_with("--- ") {
            self.started_calls.remove(&thread);
            // After an exec in a thread, the process continues under the first thread's id.
            let superseded = rest.strip_prefix(SUPERSEDED).and_then(|rest| rest.strip_suffix(" +++"));
            if let Some(started_calls) = superseded.and_then(|by| self.started_calls.remove(&by.parse().ok()?)) {
                self.started_calls.insert(thread, started_calls);
            }
            return Some(None);
        }
        let wall = nanoseconds(time)?;
        if let Some(started_calls) = rest.strip_suffix(UNFINISHED) {
            // A call counts from its start, however long it takes.
            self.started_calls.insert(thread, format!("{wall} {started_calls}"));
            return Some(None);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, end) = resumed.split_once(" resumed>")?;
            let started_calls = self.started_calls.remove(&thread)?;
            let (wall, started_calls) = started_calls.split_once(' ')?;
            return self.call(thread, wall.parse().ok()?, &format!("{started_calls}{end}"));
        }
        self.call(thread, wall, rest)
    }

    fn call(&mut self, thread: u32, wall: u64, text: &str) -> Option<Option<Call>> {
        let (name, rest) = text.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        let result = result.split(' ').next()?;
        // A process killed during a call has no result.
        if result == "?" {
            return Some(None);
        }
        // A failed `brk` returns the unchanged break.
        let asked = if name == "brk" {
            number(arguments).unwrap_or(0)
        } else {
            0
        };
        let succeeded = result != "-1" && (asked == 0 || number(result) == Some(asked));
        match name {
            "clone" | "clone3" | "fork" | "vfork" => {
                if succeeded {
                    let shares = name == "vfork" || arguments.contains("CLONE_VM");
                    self.started(thread, result.parse().ok()?, shares);
                }
                return Some(None);
            }
            "execve" | "execveat" => {
                if succeeded {
                    self.breaks.push(None);
                    self.spaces.insert(thread, self.breaks.len() - 1);
                }
                return Some(None);
            }
            _ => {}
        }
        let mut parts = arguments.split(", ");
        let mut part = |place: usize| parts.nth(place);
        let (kind, bytes) = match name {
            "mmap" | "mmap2" => (CallKind::Mmap, number(part(1)?)?),
            "munmap" => (CallKind::Munmap, number(part(1)?)?),
            "mremap" => (CallKind::Mremap, number(part(2)?)?),
            "madvise" => {
                let bytes = number(part(1)?)?;
                (advice(part(0)?), bytes)
            }
            // `process_madvise` returns the number of bytes.
            "process_madvise" => {
                let name = arguments.rsplit(", ").find(|part| part.starts_with("MADV_"));
                let bytes = if succeeded { number(result)? } else { 0 };
                (advice(name.unwrap_or_default()), bytes)
            }
            "brk" => self.moved(thread, number(result)?),
            _ => return None,
        };
        let bytes = if succeeded { Some(bytes) } else { None };
        Some(Some(Call { wall, kind, bytes }))
    }

    /// A new thread or process has its parent's break, and shares it if it shares memory.
    fn started(&mut self, parent: u32, child: u32, shares: bool) {
        let space = self.space(parent);
        let own = if shares {
            space
        } else {
            self.breaks.push(self.breaks[space]);
            self.breaks.len() - 1
        };
        // The child's own lines may come first; an exec among them takes precedence.
        self.spaces.entry(child).or_insert(own);
    }

    fn space(&mut self, thread: u32) -> usize {
        if let Some(space) = self.spaces.get(&thread) {
            return *space;
        }
        self.breaks.push(None);
        self.spaces.insert(thread, self.breaks.len() - 1);
        self.breaks.len() - 1
    }

    /// Updates the break of a thread's address space.
    fn moved(&mut self, thread: u32, now: u64) -> (CallKind, u64) {
        let space = self.space(thread);
        match self.breaks[space].replace(now) {
            Some(before) if before > now => (CallKind::BrkLowered, before - now),
            before => (CallKind::Brk, now - before.unwrap_or(now)),
        }
    }
}

/// `1795290800.803916` to nanoseconds.
fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, fraction) = time.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let fraction: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Decimal, or hexadecimal after `0x`; `NULL` is 0.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text == "NULL" => Some(0),
        None => text.parse().ok(),
    }
}

fn advice(name: &str) -> CallKind {
    match name {
        "MADV_DONTNEED" | "MADV_DONTNEED_LOCKED" => CallKind::MadviseDontneed,
        "MADV_FREE" => CallKind::MadviseFree,
        "MADV_HUGEPAGE" | "MADV_COLLAPSE" => CallKind::MadviseHugepage,
        _ => CallKind::MadviseOther,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls in these lines: kinds and bytes.
    #[track_caller]
    fn calls(text: &str) -> Vec<(CallKind, Option<u64>)> {
        let mut lines = Lines::default();
        let read = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let read = lines.read(line.trim());
            assert_ne!(read, Line::Garbled, "{line}");
            read
        });
        let read: Vec<Line> = read.collect();
        let calls = read.into_iter().filter_map(|line| match line {
            Line::Call(call) => Some((call.kind, call.bytes)),
            Line::Other | Line::Garbled => None,
        });
        calls.collect()
    }

    #[test]
    fn a_break_that_could_not_be_moved_has_failed() {
        let text = "
            7 1795290800.000001 brk(NULL) = 0x10000
            7 1795290800.000002 brk(0x11000) = 0x11000
            7 1795290800.000003 brk(0x9000000000000000) = 0x11000
            7 1795290800.000004 brk(0x10000) = 0x10000
        ";
        assert_eq!(
            calls(text),
            [
                (CallKind::Brk, Some(0)),
                (CallKind::Brk, Some(0x1000)),
                (CallKind::Brk, None),
                (CallKind::BrkLowered, Some(0x1000)),
            ]
        );
    }

    #[test]
    fn a_thread_that_calls_exec_goes_on_as_the_first_one() {
        let text = r#"
            7 1795290800.000001 brk(0x10000) = 0x10000
            9 1795290800.000002 execve("/bin/true", ["true"], 0x7ffc /* 1 var */ <unfinished ...>
            7 1795290800.000003 munmap(0x7f65ba1fb000, 4096 <unfinished ...>
            7 1795290800.000004 +++ superseded by execve in pid 9 +++
            7 1795290800.000005 <... execve resumed>) = 0
            7 1795290800.000006 brk(NULL) = 0x50000
            7 1795290800.000007 brk(0x51000) = 0x51000
        "#;
        let brk = |bytes| (CallKind::Brk, Some(bytes));
        assert_eq!(calls(text), [brk(0), brk(0), brk(0x1000)], "its memory is new");
    }

    #[test]
    fn every_call_has_its_kind_and_its_bytes() {
        let text = r#"
            7 1795290800.000001 mmap(NULL, 8392704, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_STACK, -1, 0) = 0x7f65ba1fb000
            7 1795290800.000002 munmap(0x7f65ba1fb000, 4096) = 0
            7 1795290800.000003 mremap(0x7f65ba1fb000, 4096, 16384, MREMAP_MAYMOVE) = 0x7f65ba2fb000
            7 1795290800.000004 madvise(0x7f65ba1fb000, 65536, MADV_DONTNEED) = 0
            7 1795290800.000005 madvise(0x7f65ba1fb000, 8192, MADV_FREE) = 0
            7 1795290800.000006 madvise(0x7f65ba1fb000, 2097152, MADV_HUGEPAGE) = 0
            7 1795290800.000007 madvise(0x7f65ba1fb000, 12288, MADV_NOHUGEPAGE) = 0
            7 1795290800.000008 process_madvise(3, [{iov_base=0x7f0000000000, iov_len=4096}, ...], 2, MADV_DONTNEED, 0) = 20480
            7 1795290800.000009 madvise(0x7f65ba1fb000, 4096, MADV_FREE) = -1 EINVAL (Invalid argument)
            7 1795290800.000010 mmap(NULL, 1<<40, PROT_NONE, MAP_PRIVATE, -1, 0 <unfinished ...>
            7 1795290800.000011 +++ killed by SIGKILL +++
        "#;
        let counted = calls(text);
        let expected = [
            (CallKind::Mmap, Some(8_392_704)),
            (CallKind::Munmap, Some(4096)),
            (CallKind::Mremap, Some(16_384)),
            (CallKind::MadviseDontneed, Some(65_536)),
            (CallKind::MadviseFree, Some(8192)),
            (CallKind::MadviseHugepage, Some(2_097_152)),
            (CallKind::MadviseOther, Some(12_288)),
            (CallKind::MadviseDontneed, Some(20_480)),
            (CallKind::MadviseFree, None),
        ];
        assert_eq!(counted, expected);
    }

    #[test]
    fn the_break_is_that_of_its_memory_whoever_moves_it() {
        let text = "
            1 1795290800.000001 execve(\"/usr/bin/server\", [...], 0x7ffd /* 3 vars */) = 0
            1 1795290800.000002 brk(NULL) = 0x10000
            1 1795290800.000003 brk(0x31000) = 0x31000
            1 1795290800.000004 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD, child_tid=0x7f}, 88) = 2
            2 1795290800.000005 brk(0x41000) = 0x41000
            1 1795290800.000006 brk(0x40000) = 0x40000
            1 1795290800.000007 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 3
            3 1795290800.000008 brk(0x48000) = 0x48000
            1 1795290800.000009 brk(0x42000) = 0x42000
            1 1795290800.000010 vfork( <unfinished ...>
            4 1795290800.000011 execve(\"/usr/bin/child\", [...], 0x7ffd /* 3 vars */) = 0
            1 1795290800.000012 <... vfork resumed>) = 4
            4 1795290800.000013 brk(NULL) = 0x90000
            4 1795290800.000014 brk(0x91000) = 0x91000
            1 1795290800.000015 brk(0x43000) = 0x43000
        ";
        let counted = calls(text);
        let moved: Vec<u64> = counted.iter().filter_map(|(_, bytes)| *bytes).collect();
        assert_eq!(moved, [0, 0x21000, 0x10000, 0x1000, 0x8000, 0x2000, 0, 0x1000, 0x1000]);
        let lowered = counted.iter().filter(|(kind, _)| *kind == CallKind::BrkLowered);
        assert_eq!(lowered.count(), 1);
    }

    #[test]
    fn a_call_in_two_halves_counts_once_from_its_first() {
        let mut lines = Lines::default();
        let first = "9 1795290800.000100 madvise(0x7f65ba1fb000, 4096, MADV_DONTNEED <unfinished ...>";
        assert_eq!(lines.read(first), Line::Other);
        let other = "8 1795290800.000200 munmap(0x7f65ba1fb000, 4096) = 0";
        assert!(matches!(lines.read(other), Line::Call(_)));
        let call = Call {
            wall: 1_795_290_800_000_100_000,
            kind: CallKind::MadviseDontneed,
            bytes: Some(4096),
        };
        assert_eq!(
            lines.read("9 1795290800.000300 <... madvise resumed>) = 0"),
            Line::Call(call)
        );
    }

    #[test]
    fn what_is_no_line_of_a_tracer_is_told() {
        let mut lines = Lines::default();
        for text in [
            "",
            "nonsense",
            "9 soon munmap(0x7f, 4096) = 0",
            "9 1795290800.000300 munmap(0x7f, lots) = 0",
            "9 1795290800.000300 <... madvise resumed>) = 0",
            "9 1795290800.000300 write(1, \"\", 3) = 3",
        ] {
            assert_eq!(lines.read(text), Line::Garbled, "{text}");
        }
    }
}
