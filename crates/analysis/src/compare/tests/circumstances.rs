//! Which differing circumstances are reported, and their consequence.

use std::sync::Arc;

use crate::summary::Summary;
use base::lens::Lens;
use record::{Header, Interpreter, OriginFacts, PackageFacts, PreloadFacts};

use super::*;

type Change = fn(&mut Header);

/// Every circumstance, its consequence, a change to it, and its two values.
const CHANGES: [(&str, Weight, Change, [&str; 2]); 36] = [
    (
        "operating system",
        Weight::Quantity,
        |header| header.host.os = "b".to_owned(),
        ["b", "linux"],
    ),
    (
        "architecture",
        Weight::Host,
        |header| header.host.target = "b-linux-gnu".to_owned(),
        ["a", "b"],
    ),
    (
        "kernel",
        Weight::Host,
        |header| header.host.kernel = text("6.2.0-28-amd64"),
        ["6.1.0-28-amd64", "6.2.0-28-amd64"],
    ),
    (
        "kernel",
        Weight::Noted,
        |header| header.host.kernel = text("6.1.9"),
        ["6.1.0-28-amd64", "6.1.9"],
    ),
    (
        "C library",
        Weight::Host,
        |header| header.host.libc = text("b"),
        ["a", "b"],
    ),
    (
        "processor",
        Weight::Host,
        |header| header.host.cpu = text("b"),
        ["a", "b"],
    ),
    (
        "processors",
        Weight::Host,
        |header| header.host.cpus = Some(8),
        ["4", "8"],
    ),
    (
        "usable processors",
        Weight::Host,
        |header| header.host.affinity = text("1-3"),
        ["2", "3"],
    ),
    (
        "CPU quota",
        Weight::Host,
        |header| header.host.cpu_quota = Some(1.5),
        ["1.5", "n/a"],
    ),
    (
        "memory",
        Weight::Host,
        |header| header.host.memory.total = Some(17 << 30),
        ["16.0 GiB", "17.0 GiB"],
    ),
    (
        "memory",
        Weight::Noted,
        |header| header.host.memory.total = Some(33 << 29),
        ["16.0 GiB", "16.5 GiB"],
    ),
    (
        "swap",
        Weight::Host,
        |header| header.host.memory.swap = Some(0),
        ["0 B", "n/a"],
    ),
    (
        "memory limit",
        Weight::Host,
        |header| header.host.memory.cgroup_limit = Some(2 << 30),
        ["1.0 GiB", "2.0 GiB"],
    ),
    (
        "memory throttle",
        Weight::Host,
        |header| header.host.memory.cgroup_high = Some(2 << 30),
        ["2.0 GiB", "n/a"],
    ),
    (
        "swap limit",
        Weight::Host,
        |header| header.host.memory.cgroup_swap = Some(2 << 30),
        ["2.0 GiB", "n/a"],
    ),
    (
        "page size",
        Weight::Host,
        |header| header.host.page_size = Some(16 << 10),
        ["16.0 KiB", "4.0 KiB"],
    ),
    (
        "overcommit",
        Weight::Host,
        |header| header.host.memory.overcommit = Some(2),
        ["0", "2"],
    ),
    (
        "huge pages",
        Weight::Host,
        |header| header.host.memory.huge_pages = text("b"),
        ["a", "b"],
    ),
    (
        "huge page defragmentation",
        Weight::Host,
        |header| header.host.memory.huge_pages_defrag = text("b"),
        ["a", "b"],
    ),
    (
        "distribution",
        Weight::Noted,
        |header| header.host.distribution = text("b"),
        ["a", "b"],
    ),
    (
        "container",
        Weight::Noted,
        |header| header.host.container = text("b"),
        ["b", "n/a"],
    ),
    (
        "virtual machine",
        Weight::Noted,
        |header| header.host.virtual_machine = text("b"),
        ["b", "n/a"],
    ),
    (
        "frequency governor",
        Weight::Noted,
        |header| header.host.governor = text("b"),
        ["b", "n/a"],
    ),
    (
        "build of lsp-soak",
        Weight::Noted,
        |header| header.host.target = "a-linux-musl".to_owned(),
        ["linux-gnu", "linux-musl"],
    ),
    (
        "lsp-soak",
        Weight::Noted,
        |header| header.tool = "b".to_owned(),
        ["a", "b"],
    ),
    (
        "scenario",
        Weight::Measurement,
        |header| header.scenario.sha256 = "b".to_owned(),
        ["a", "b"],
    ),
    (
        "seed",
        Weight::Measurement,
        |header| header.scenario.seed = 2,
        ["1", "2"],
    ),
    (
        "pinned workspace",
        Weight::Quantity,
        |header| {
            header.workspace.origin = Some(OriginFacts {
                sha256: "b".to_owned(),
                ..OriginFacts::default()
            });
        },
        ["b", "none"],
    ),
    (
        "workspace",
        Weight::Measurement,
        |header| header.workspace.sha256 = "b".to_owned(),
        ["a", "b"],
    ),
    (
        "capabilities",
        Weight::Measurement,
        |header| header.settings.capabilities = "b".to_owned(),
        ["a", "b"],
    ),
    (
        "pulled diagnostics",
        Weight::Measurement,
        |header| header.settings.pulls_diagnostics = true,
        ["no", "yes"],
    ),
    (
        "sampling interval",
        Weight::Measurement,
        |header| header.settings.interval = 500_000_000,
        ["50.0 ms", "500 ms"],
    ),
    (
        "resetting of peaks",
        Weight::Measurement,
        |header| header.settings.peak_reset = false,
        ["no", "yes"],
    ),
    (
        "initialization options",
        Weight::Noted,
        |header| header.settings.init_options = text("b"),
        ["a", "b"],
    ),
    (
        "settings",
        Weight::Noted,
        |header| header.settings.settings = text("b"),
        ["a", "b"],
    ),
    (
        "settings",
        Weight::Noted,
        |header| header.settings.settings = None,
        ["a", "n/a"],
    ),
];

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn header() -> Header {
    let mut header = Header {
        tool: "a".to_owned(),
        ..Header::default()
    };
    header.host.os = "linux".to_owned();
    header.host.target = "a-linux-gnu".to_owned();
    header.host.kernel = text("6.1.0-28-amd64");
    header.host.distribution = text("a");
    header.host.libc = text("a");
    header.host.cpu = text("a");
    header.host.cpus = Some(4);
    header.host.affinity = text("0-1");
    header.host.page_size = Some(4 << 10);
    header.host.memory.total = Some(16 << 30);
    header.host.memory.overcommit = Some(0);
    header.host.memory.huge_pages = text("a");
    header.host.memory.huge_pages_defrag = text("a");
    header.host.memory.cgroup_limit = Some(1 << 30);
    header.settings.init_options = text("a");
    header.settings.settings = text("a");
    header.settings.peak_reset = true;
    header.settings.interval = 50_000_000;
    header.scenario.sha256 = "a".to_owned();
    header.scenario.seed = 1;
    header.workspace.sha256 = "a".to_owned();
    header.settings.capabilities = "a".to_owned();
    header
}

#[test]
fn each_circumstance_is_told_by_itself_with_its_values_and_what_it_means() {
    for (what, weight, change, values) in CHANGES {
        let mut other = header();
        change(&mut other);
        // Whichever comes first, and however many there are of one.
        let headers = [other, header(), header()];
        let expected = Difference {
            what: what.into(),
            values: values.map(str::to_owned).to_vec(),
            weight,
        };
        assert_eq!(differences(headers.iter()), [expected]);
    }
}

#[test]
fn what_is_the_same_everywhere_is_no_difference_and_what_is_not_known_is_one() {
    assert!(differences([header(), header()].iter()).is_empty());
    assert!(differences([].iter()).is_empty());
    let mut unknown = header();
    unknown.host.kernel = None;
    let differences = differences([header(), unknown].iter());
    assert_eq!(differences[0].values, ["6.1.0-28-amd64", "n/a"]);
    assert_eq!(differences[0].weight, Weight::Host);
}

#[test]
fn a_server_and_its_files_may_differ() {
    let mut other = header();
    other.server.label = "b".to_owned();
    other.server.version = text("2");
    other.plan.run = 7;
    other.scenario.path = "elsewhere".to_owned();
    other.workspace.path = "elsewhere".to_owned();
    assert!(differences([header(), other].iter()).is_empty());
}

#[test]
fn runs_of_one_label_are_of_one_server() {
    let changes: [(&str, Change); 10] = [
        ("program of ty", |header| header.server.sha256 = text("b")),
        ("preloaded library of ty", |header| {
            header.server.preload = Some(PreloadFacts {
                sha256: text("b"),
                ..PreloadFacts::default()
            });
        }),
        ("memory settings of ty", |header| {
            header.server.env = [("PYTHONMALLOC".to_owned(), "malloc".to_owned())].into();
        }),
        ("package of ty", |header| {
            header.server.package = Some(PackageFacts {
                sha256: text("b"),
                ..PackageFacts::default()
            });
        }),
        ("interpreter of ty", |header| {
            header.server.interpreter = Some(Interpreter {
                sha256: text("b"),
                ..Interpreter::default()
            });
        }),
        ("version of ty", |header| header.server.version = text("b")),
        ("arguments of ty", |header| header.server.args = vec!["b".to_owned()]),
        ("environment of ty", |header| {
            header.server.env = [("B".to_owned(), "b".to_owned())].into();
        }),
        ("initialization options of ty", |header| {
            header.settings.init_options = text("b")
        }),
        ("settings of ty", |header| header.settings.settings = text("b")),
    ];
    for (what, change) in changes {
        let mut other = header();
        change(&mut other);
        let differences = differences_of("ty", [header(), other, header()].iter());
        assert_eq!(differences.len(), 1, "{what}: {differences:?}");
        assert!(
            differences[0].what == what && differences[0].is_decisive() && differences[0].values.len() == 2,
            "{differences:?}"
        );
    }
    assert!(differences_of("ty", [header(), header()].iter()).is_empty());
}

/// A server with one environment variable.
fn with_variable(name: &str, value: &str) -> Header {
    let mut header = header();
    header.server.env = [(name.to_owned(), value.to_owned())].into();
    header
}

/// A server whose allocator the purged lens set.
fn purged(malloc_conf: &str) -> Header {
    let mut header = with_variable("MALLOC_CONF", malloc_conf);
    header.server.lens.name = Lens::Purged;
    header.server.lens.env.clone_from(&header.server.env);
    header
}

#[test]
fn what_the_lens_sets_and_where_caches_are_is_the_same_server() {
    let caches = ["0", "1"].map(|slot| with_variable("CACHE", &format!("/tmp/lsp-soak-1000/0123abcd-{slot}/cache/ty")));
    assert!(differences_of("ty", caches.iter()).is_empty());
    let homes = ["a/b", "c/b"].map(|place| with_variable("HOME", &format!("/home/lsp-soak/{place}/cache")));
    assert_eq!(differences_of("ty", homes.iter()).len(), 1);
    // What the user sets too stands before it.
    let own = with_variable("MALLOC_CONF", "narenas:1");
    let one = purged("narenas:1,dirty_decay_ms:0");
    assert!(differences_of("ty", [&own, &one, &own].into_iter()).is_empty());
    let differences = differences_of("ty", [&own, &one, &purged("narenas:2,dirty_decay_ms:0")].into_iter());
    assert_eq!(differences.len(), 1, "{differences:?}");
}

#[test]
fn a_comparison_tells_when_runs_of_a_label_are_of_two_servers() {
    let mut all = runs(&[100, 100], &[100, 100]);
    all[3].summary_mut().header.server.args = vec!["--other".to_owned()];
    let differences = compare(&all, None).differences;
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert!(differences[0].what == "arguments of b" && differences[0].is_decisive());
}

/// The names and values of the differences between a baseline and a candidate, all of which are only noted.
fn noted_between(baseline: &Header, candidate: &Header) -> Vec<(String, Vec<String>)> {
    let differences = differences_between(&[("baseline", vec![baseline]), ("candidate", vec![candidate])]);
    let mut noted = Vec::new();
    for difference in differences {
        assert_eq!(difference.weight, Weight::Noted);
        noted.push((difference.what.into_owned(), difference.values));
    }
    noted
}

#[test]
fn what_was_typed_for_one_side_of_a_gate_is_noted_with_the_side() {
    let (plain, set) = (header(), with_variable("MALLOC_ARENA_MAX", "1"));
    let mut flagged = header();
    flagged.server.args = vec!["--flag".to_owned()];
    assert_eq!(noted_between(&plain, &plain), []);
    assert_eq!(
        noted_between(&plain, &set),
        [(
            "memory settings of the sides".to_owned(),
            vec!["baseline: none".to_owned(), "candidate: MALLOC_ARENA_MAX=1".to_owned()]
        )]
    );
    assert_eq!(
        noted_between(&flagged, &plain)[0].1,
        ["baseline: --flag", "candidate: none"]
    );
    assert_eq!(
        noted_between(&plain, &with_variable("RUST_LOG", "debug"))[0].0,
        "environment of the sides"
    );
}

#[test]
fn a_calibration_holds_for_machines_of_one_type_and_for_nothing_else() {
    let then = circumstances(&header());
    let mut near = header();
    near.host.kernel = text("6.1.0-29-amd64");
    near.host.memory.total = Some((16 << 30) - (3 << 20));
    near.host.distribution = text("b");
    assert_eq!(differing_circumstances(&then, &near), [] as [&str; 0]);
    let mut other = near.clone();
    other.host.page_size = Some(16 << 10);
    other.settings.init_options = text("b");
    assert_eq!(
        differing_circumstances(&then, &other),
        ["page size", "initialization options"]
    );
    // One that was made when less was written down may have been made under any.
    let mut less = then;
    less.remove("overcommit");
    assert_eq!(differing_circumstances(&less, &near), ["overcommit"]);
}

#[test]
fn swap_of_about_one_size_is_noted_and_where_the_system_makes_it_as_it_goes_it_is_not_looked_at() {
    for (os, swaps, expected) in [
        ("linux", [4_000, 4_100], Some(Weight::Noted)),
        ("linux", [4_000, 0], Some(Weight::Host)),
        ("macos", [1_024, 3_072], None),
    ] {
        let headers = swaps.map(|mib| with_swap(os, mib));
        let weight = differences(headers.iter()).first().map(|difference| difference.weight);
        assert_eq!(weight, expected, "{os}: {swaps:?}");
    }
}

fn with_swap(os: &str, mib: u64) -> Header {
    let mut header = header();
    header.host.os = os.to_owned();
    header.host.memory.swap = Some(mib << 20);
    header
}

#[test]
fn machines_of_one_type_are_one_machine() {
    const GIB_16: u64 = 16 << 30;
    assert_eq!(
        machine_with("6.12.41", GIB_16),
        machine_with("6.12.57+deb13-amd64", GIB_16 + (3 << 20))
    );
    assert_ne!(machine_with("6.12.41", GIB_16), machine_with("6.16.1", GIB_16));
    // The kernel keeps more on one of them: 15.64 and 15.66 GiB are no two machines, 16 and 24 GiB are.
    let less = machine_with("6.12.41", GIB_16 - (369 << 20));
    assert_eq!(less, machine_with("6.12.41", GIB_16 - (348 << 20)));
    assert_ne!(less, machine_with("6.12.41", GIB_16 + (7 << 30)));
}

/// The machine of a run with this kernel and so many bytes of memory.
fn machine_with(kernel: &str, memory: u64) -> String {
    let mut run = run("a", 1, 100);
    run.summary_mut().header.host.kernel = text(kernel);
    run.summary_mut().header.host.memory.total = Some(memory);
    run.machine()
}

#[test]
fn a_campaign_goes_on_on_another_host_and_not_with_another_server() {
    let mut other = header();
    other.host.cpu = text("b");
    assert_eq!(changes(&header(), &other), []);
    other.server.sha256 = text("b");
    other.scenario.seed = 2;
    assert_eq!(
        changes(&header(), &other),
        [
            ("seed", "1".to_owned(), "2".to_owned()),
            ("program", "n/a".to_owned(), "b".to_owned())
        ]
    );
}

#[test]
fn the_document_about_gates_has_every_circumstance_in_its_table() {
    let document = include_str!("../../../../../docs/gate.md");
    let (_, table) = document.split_once("## Comparable runs").unwrap();
    let named = CHANGES.iter().map(|(name, ..)| (*name).to_owned());
    let named = named.chain(circumstances(&header()).into_keys());
    for name in named {
        assert!(table.contains(&name), "`{name}` is not in the table of docs/gate.md");
    }
}

/// A run whose checkpoints have so much shared memory, counted as private or not.
fn with_shared(label: &str, counted: Option<u64>, uncounted: Option<u64>) -> Summary {
    let mut summary = Arc::unwrap_or_clone(run(label, 1, 100).summary);
    for taken in summary.phases.iter_mut().filter_map(|phase| phase.checkpoint.as_mut()) {
        taken.own_shared = counted;
        taken.uncounted_shared = uncounted;
    }
    summary
}

fn older(uncounted: u64) -> Summary {
    with_shared("older", None, Some(uncounted))
}

fn newer(counted: u64) -> Summary {
    with_shared("newer", Some(counted), None)
}

#[test]
fn an_older_record_is_compared_unless_shared_memory_exceeds_the_band() {
    const MIB: u64 = 1 << 20;
    assert_eq!(shared_memory([older(0), newer(MIB / 4)].iter()), None);
    assert_eq!(
        shared_memory([older(200 * MIB), older(0)].iter()),
        None,
        "both count none"
    );
    assert_eq!(
        shared_memory([newer(200 * MIB), newer(0)].iter()),
        None,
        "both count all"
    );
    for runs in [[older(0), newer(200 * MIB)], [older(200 * MIB), newer(0)]] {
        let difference = shared_memory(runs.iter()).unwrap();
        assert_eq!(difference.weight, Weight::Quantity);
        assert!(
            difference.values[1].contains("1 record from before format 1.9"),
            "{difference:?}"
        );
    }
}

#[test]
fn settings_of_servers_with_other_profiles_are_no_difference() {
    let mut headers = [header(), header()];
    headers[0].settings.init_options = text("{\"a\":1}");
    headers[0].settings.settings = text("{\"a\":1}");
    assert_eq!(differences(headers.iter()).len(), 2);
    headers[0].server.profile = text("pyright");
    headers[1].server.profile = text("ty");
    assert_eq!(differences(headers.iter()), []);
}
