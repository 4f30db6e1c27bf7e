//! The final report of a preloaded allocator: the most memory that it had from the system.

use std::ffi::OsString;

use record::AllocatorFamily;

/// How allocators are made to say it on stderr: nothing in the run changes by that. oneTBB's says nothing.
const ASKED: [(AllocatorFamily, &str, &str); 3] = [
    // Its sums alone.
    (
        AllocatorFamily::Jemalloc,
        "MALLOC_CONF",
        "stats_print:true,stats_print_opts:gmdablxe",
    ),
    (AllocatorFamily::Mimalloc, "MIMALLOC_SHOW_STATS", "1"),
    (AllocatorFamily::Tcmalloc, "MALLOCSTATS", "1"),
];

/// The variable that has an allocator give its account, with its value; `None` of one that gives none.
pub fn asked(family: AllocatorFamily) -> Option<(&'static str, &'static str)> {
    let mut all = ASKED.into_iter();
    all.find_map(|(one, variable, value)| (one == family).then_some((variable, value)))
}

/// How an account begins, each with how it ends.
const FRAMES: [(&str, &str); 4] = [
    ("___ Begin jemalloc statistics", "--- End jemalloc statistics"),
    ("heap stats:", "process:"),
    ("subproc ", "process   :"),
    ("MALLOC: ", "Bytes released to the OS take up"),
];

/// What gperftools draws above its account.
const RULE: &str = "------------------------------------------------\n";

/// Whether a server with these variables is made to give an account.
pub fn is_asked(family: AllocatorFamily, env: &[(OsString, Option<OsString>)]) -> bool {
    let Some((variable, value)) = asked(family) else {
        return false;
    };
    let mut set = env
        .iter()
        .filter_map(|(name, set)| Some((name, set.as_ref()?.to_str()?)));
    // Builds of jemalloc differ in the variable, and there it stands in a list.
    set.any(|(name, set)| match family {
        AllocatorFamily::Jemalloc => set.contains(value),
        _ => name == variable && set == value,
    })
}

/// Extracts the reports from stderr: the most memory of each, in bytes.
pub fn take(stderr: &mut String) -> Vec<u64> {
    let mut held = Vec::new();
    let mut rest = String::new();
    let mut lines = stderr.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let begins = |frame: &&(&str, &str)| line.trim_start().starts_with(frame.0);
        let Some((_, end)) = FRAMES.iter().find(begins) else {
            rest.push_str(line);
            continue;
        };
        let mut ahead = lines.clone();
        let is_last = |line: &&str| line.trim_start().starts_with(end);
        let Some(length) = ahead.by_ref().position(|line| is_last(&line)) else {
            rest.push_str(line);
            continue;
        };
        let account = [line].into_iter().chain(lines.clone().take(length));
        let Some(most) = account.filter_map(most).max() else {
            rest.push_str(line);
            continue;
        };
        held.push(most);
        lines = ahead;
        if let Some(above) = rest.strip_suffix(RULE).map(str::len) {
            rest.truncate(above);
        }
    }
    if !held.is_empty() {
        *stderr = rest;
    }
    held
}

/// What a line of an account says that it had from the system at most.
fn most(line: &str) -> Option<u64> {
    let line = line.trim();
    if let Some(sums) = line.strip_prefix("Allocated: ") {
        // Cached memory was in use before.
        let sum = |name: &str| {
            let (_, rest) = sums.split_once(name)?;
            rest.split([',', ' ']).next()?.parse::<u64>().ok()
        };
        return Some(sum("mapped: ")?.saturating_add(sum("retained: ").unwrap_or(0)));
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
    let is_all = sum.ends_with("Virtual address space used");
    sum.split(' ').next().filter(|_| is_all)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (Vec<u64>, String) {
        let mut rest = text.to_owned();
        (take(&mut rest), rest)
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
            assert_eq!(taken(&text), (vec![held], "before\nafter\n".to_owned()));
            assert_eq!(taken(account), (vec![held], String::new()));
            let twice = format!("{account}{account}");
            assert_eq!(taken(&twice).0, [held, held], "of two processes");
        }
    }

    #[test]
    fn what_is_no_account_stays_as_it_is() {
        for text in [
            "heap stats: none\nmore\n",
            "MALLOC: x\n",
            "___ Begin jemalloc statistics ___\n--- End jemalloc statistics ---\n",
        ] {
            assert_eq!(taken(text), (Vec::new(), text.to_owned()));
        }
    }

    #[test]
    fn what_gives_no_account_is_not_asked() {
        assert_eq!(asked(AllocatorFamily::Tbbmalloc), None);
        assert_eq!(asked(AllocatorFamily::Tcmalloc), Some(("MALLOCSTATS", "1")));
    }
}
