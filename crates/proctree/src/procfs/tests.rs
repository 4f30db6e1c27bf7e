//! Texts as kernels write them, and malformed ones.

use super::*;

const STAT: &[u8] = b"21123 (cat) R 21119 21119 17313 0 -1 4194304 100 7 2 0 31 32 5 6 20 -3 4 0 211166 3133440 414 \
    18446744073709551615 93906988294144 93906988314025 140726287492640 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 \
    93906988330032 93906988331648 93907195854848 140726287497909 140726287497929 140726287497929 140726287499243 0\n";

/// From Linux 6.18, shortened.
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
        huge_pages: Some(true),
        threads: Some(12),
    };
    assert_eq!(status, expected);
}

#[test]
fn a_line_that_is_missing_is_unknown_and_not_zero() {
    // Before Linux 4.5 the resident size is not split; a zombie has no `Vm` line.
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

#[test]
fn a_program_is_called_what_the_kernel_calls_it_unless_it_renamed_itself() {
    for (called, command, name) in [
        ("ty", "/usr/bin/ty server", "ty"),
        ("MainThread", "/usr/bin/node server.js", "node"),
        (
            "rust-analyzer-p",
            "/usr/libexec/rust-analyzer-proc-macro-srv",
            "rust-analyzer-proc-macro-srv",
        ),
        (
            "basedpyright-la",
            "/opt/node /venv/bin/basedpyright-langserver --stdio",
            "basedpyright-langserver",
        ),
        ("clangd", "/usr/bin/clangd-19", "clangd"),
        ("pylsp", "/venv/bin/python /venv/bin/pylsp", "pylsp"),
        ("kworker", "", "kworker"),
    ] {
        let arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        assert_eq!(program(called, &arguments), name);
    }
}

#[test]
fn an_environment_is_read_and_one_that_was_written_over_is_not_known() {
    assert_eq!(environment(b""), Some(Vec::new()), "it was started with none");
    let own = vec![b"A=1".to_vec(), b"B=".to_vec(), b"C=\xff=2".to_vec()];
    assert_eq!(environment(b"A=1\0B=\0C=\xff=2\0"), Some(own));
    assert_eq!(environment(b"server: idle\0\0\0"), None);
    assert_eq!(environment(b"\0\0\0"), None);
}

fn kib(size: u64) -> u64 {
    size << 10
}

/// Mappings as Linux 6.18 writes them, cut to the lines that matter.
const SMAPS: &str = "\
55d0c2a00000-55d0c2a02000 r-xp 00000000 00:19 4                          /dev/shm/server
Rss:                   8 kB
Pss:                   8 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
7f0000000000-7f0000400000 rw-s 00000000 00:01 1029                       /memfd:java heap (deleted)
Rss:                4096 kB
Pss:                2048 kB
Anonymous:             0 kB
Swap:                100 kB
7f0001000000-7f0001400000 rw-s 00000000 00:01 1029                       /memfd:java heap (deleted)
Rss:                4096 kB
Pss:                2048 kB
Anonymous:             0 kB
Swap:                100 kB
7f0002000000-7f0002400000 rw-s 00000000 00:01 3                          /SYSV00000000 (deleted)
Rss:                  40 kB
Pss:                  40 kB
Swap:                 60 kB
7f0003000000-7f0003400000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
Rss:                  20 kB
Pss:                  20 kB
7f0003500000-7f0003600000 rw-s 00000000 00:01 8                          [anon_shmem:cache]
Rss:                  10 kB
Pss:                  10 kB
7f0004000000-7f0004400000 rw-p 00000000 00:01 9                          /memfd:code (deleted)
Rss:                  30 kB
Pss:                  30 kB
Anonymous:            24 kB
7f0005000000-7f0005400000 rw-p 00000000 00:00 0
Rss:                 999 kB
Pss:                 999 kB
Anonymous:           999 kB
7f0006000000-7f0006400000 rw-s 00000000 00:19 11                         /dev/shm/gone (deleted)
Rss:                 500 kB
Pss:                 500 kB
Swap:                  5 kB
7f0007000000-7f0007400000 r-xp 00000000 00:19 12                         /dev/shm/program (deleted)
Rss:                 600 kB
Pss:                 600 kB
7f0008000000-7f0008400000 rw-s 00000000 00:01 13                         /i915 (deleted)
Rss:                 700 kB
Pss:                 700 kB
7f0009000000-7f0009400000 rw-s 00000000 fe:00 14                         /var/gone (deleted)
Rss:                 800 kB
Pss:                 800 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Rss:                   0 kB
";

#[test]
fn own_shared_memory_is_that_of_mappings_without_a_named_file() {
    let own = own_shared(SMAPS.as_bytes(), &[], |_| None).unwrap();
    assert_eq!(own.proportional, kib(4096 + 40 + 20 + 10 + 6));
    assert_eq!(own.resident, kib(8192 + 40 + 20 + 10 + 6));
    assert_eq!(own.swap, kib(100 + 60), "swapped pages of one file count once");
    assert_eq!(own_shared(&b""[..], &[], |_| None).unwrap(), OwnShared::default());
}

#[test]
fn a_removed_file_that_is_mapped_shared_has_no_name_and_a_program_text_is_not_one() {
    let mounts = b"22 29 0:5 / /dev rw shared:2 - devtmpfs udev rw\n\
        24 29 0:25 / /dev/shm rw,nosuid,nodev shared:12 - tmpfs tmpfs rw\n\
        30 1 254:0 / / rw - ext4 /dev/vda rw\n";
    let tmpfs = tmpfs_devices(mounts);
    assert_eq!(tmpfs, [b"00:19".to_vec()]);
    let (without, with) = (
        own_shared(SMAPS.as_bytes(), &[], |_| None).unwrap(),
        own_shared(SMAPS.as_bytes(), &tmpfs, |_| None).unwrap(),
    );
    assert_eq!(with.proportional - without.proportional, kib(500));
    assert_eq!(with.resident - without.resident, kib(500));
    assert_eq!(with.swap - without.swap, kib(5));
    for (inode, proportional, reason) in [
        (11, without.proportional, "a file may have such a name"),
        (12, with.proportional, "another file has it now"),
    ] {
        let own = own_shared(SMAPS.as_bytes(), &tmpfs, |path| {
            assert_eq!(path, b"/dev/shm/gone (deleted)");
            Some(inode)
        });
        assert_eq!(own.unwrap().proportional, proportional, "{reason}");
    }
}
