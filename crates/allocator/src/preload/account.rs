//! The final report of a preloaded allocator: the most memory that it had from the system.

use std::ffi::OsString;

use record::AllocatorFamily;

/// Settings that make allocators print their report on stderr. They change nothing else in the run. oneTBB's allocator
/// has no report.
const REPORT_SETTINGS: [(AllocatorFamily, &str, &str); 3] = [
    // Its sums alone.
    (
        AllocatorFamily::Jemalloc,
        "MALLOC_CONF",
        "stats_print:true,stats_print_opts:gmdablxe",
    ),
    (AllocatorFamily::Mimalloc, "MIMALLOC_SHOW_STATS", "1"),
    (AllocatorFamily::Tcmalloc, "MALLOCSTATS", "1"),
];

/// The variable, with its value, that makes an allocator print its report; `None` if it has none.
pub fn report_setting(family: AllocatorFamily) -> Option<(&'static str, &'static str)> {
    let mut settings = REPORT_SETTINGS.into_iter();
    let (_, variable, value) = settings.find(|(known, _, _)| *known == family)?;
    Some((variable, value))
}

/// The first and the last line of each kind of report.
const FRAMES: [(&str, &str); 4] = [
    ("___ Begin jemalloc statistics", "--- End jemalloc statistics"),
    ("heap stats:", "process:"),
    ("subproc ", "process   :"),
    ("MALLOC: ", "Bytes released to the OS take up"),
];

/// The line that gperftools prints above its report.
const RULE: &str = "------------------------------------------------\n";

/// True if these variables make a server print the report of its allocator.
pub fn is_asked(family: AllocatorFamily, env: &[(OsString, Option<OsString>)]) -> bool {
    let Some((variable, value)) = report_setting(family) else {
        return false;
    };
    env.iter().any(|(name, own)| {
        let own = own.as_ref().and_then(|own| own.to_str());
        match (family, own) {
            // Builds of jemalloc differ in the variable, and its value is a list.
            (AllocatorFamily::Jemalloc, Some(own)) => own.contains(value),
            (_, Some(own)) => name == variable && own == value,
            (_, None) => false,
        }
    })
}

/// Extracts the reports from stderr. Returns the most memory of each, in bytes.
pub fn extract_reports(stderr: &mut String) -> Vec<u64> {
    let lines: Vec<&str> = stderr.split_inclusive('\n').collect();
    let mut peaks = Vec::new();
    let mut rest = String::new();
    let mut index = 0;
    while index < lines.len() {
        if let Some((length, peak)) = report_at_start(&lines[index..]) {
            peaks.push(peak);
            index += length;
            if rest.ends_with(RULE) {
                rest.truncate(rest.len() - RULE.len());
            }
        } else {
            rest.push_str(lines[index]);
            index += 1;
        }
    }
    if !peaks.is_empty() {
        *stderr = rest;
    }
    peaks
}

/// The number of lines of the report with which these lines begin, and its most memory.
fn report_at_start(lines: &[&str]) -> Option<(usize, u64)> {
    let first = lines.first()?.trim_start();
    let (_, end) = FRAMES.iter().find(|(start, _)| first.starts_with(start))?;
    let last = 1 + lines[1..].iter().position(|line| line.trim_start().starts_with(end))?;
    let peak = lines[..last].iter().filter_map(|line| most_memory(line)).max()?;
    Some((last + 1, peak))
}

/// The most memory from the system, if a line of a report states it.
fn most_memory(line: &str) -> Option<u64> {
    let line = line.trim();
    if let Some(sums) = line.strip_prefix("Allocated: ") {
        // Retained memory was mapped before.
        let retained = sum_after("retained: ", sums).unwrap_or(0);
        return Some(sum_after("mapped: ", sums)?.saturating_add(retained));
    }
    if let Some(sums) = line.strip_prefix("committed") {
        let mut words = sums.trim_start().strip_prefix(':')?.split_ascii_whitespace();
        let number: f64 = words.next()?.parse().ok()?;
        let unit = match words.next() {
            Some("KiB") => 1 << 10,
            Some("MiB") => 1 << 20,
            Some("GiB") => 1 << 30,
            _ => 1,
        };
        return Some((number * f64::from(unit)) as u64);
    }
    let sum = line.strip_prefix("MALLOC: =")?.trim_start();
    if !sum.ends_with("Virtual address space used") {
        return None;
    }
    sum.split(' ').next()?.parse().ok()
}

/// The number after a name in jemalloc's line of sums.
fn sum_after(name: &str, sums: &str) -> Option<u64> {
    let (_, rest) = sums.split_once(name)?;
    rest.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most memory of each report, and the rest of the text.
    fn split_reports(text: &str) -> (Vec<u64>, String) {
        let mut rest = text.to_owned();
        (extract_reports(&mut rest), rest)
    }

    #[test]
    fn what_each_allocator_had_is_read_and_leaves_the_rest_of_stderr() {
        for (account, held) in [
            (
                "___ Begin jemalloc statistics ___\nAllocated: 68896768, active: 68911104, metadata: 4881648 (n_thp 0), \
                 resident: 73699328, mapped: 75202560, retained: 11829248\nBackground threads: 0\n\
                 --- End jemalloc statistics ---\n",
                75_202_560 + 11_829_248,
            ),
            (
                "heap stats:    peak      total      freed    current       unit      count   \n  reserved:   96.0 MiB   \
                 96.0 MiB      0       96.0 MiB\n committed:   96.5 MiB   96.0 MiB      0       96.0 MiB\n   elapsed:       \
                 0.094 s\n   process: user: 0.009 s, system: 0.022 s, faults: 1\n",
                96 << 20 | 1 << 19,
            ),
            (
                "subproc 0\n arenas          peak       total\n  reserved  :     1.0 GiB     1.0 GiB\n  committed :     \
                 2.0 KiB     4.7 MiB\n\n  process   : user: 0.006 s\n",
                2048,
            ),
            (
                "------------------------------------------------\nMALLOC:       68808728 (   65.6 MiB) Bytes in use by \
                 application\nMALLOC: =     70000000 (   68.8 MiB) Actual memory used (physical + swap)\nMALLOC: =     \
                 72089600 (   68.8 MiB) Virtual address space used\nMALLOC:\n\
                 ------------------------------------------------\nBytes released to the OS take up virtual address space \
                 but no physical memory.\n",
                72_089_600,
            ),
        ] {
            let text = format!("before\n{account}after\n");
            assert_eq!(split_reports(&text), (vec![held], "before\nafter\n".to_owned()));
            assert_eq!(split_reports(account), (vec![held], String::new()));
            let twice = format!("{account}{account}");
            assert_eq!(split_reports(&twice).0, [held, held], "of two processes");
        }
    }

    #[test]
    fn what_is_no_account_stays_as_it_is() {
        for text in [
            "heap stats: none\nmore\n",
            "MALLOC: x\n",
            "___ Begin jemalloc statistics ___\n--- End jemalloc statistics ---\n",
        ] {
            assert_eq!(split_reports(text), (Vec::new(), text.to_owned()));
        }
    }

    #[test]
    fn what_gives_no_account_is_not_asked() {
        assert_eq!(report_setting(AllocatorFamily::Tbbmalloc), None);
        assert_eq!(report_setting(AllocatorFamily::Tcmalloc), Some(("MALLOCSTATS", "1")));
    }
}
