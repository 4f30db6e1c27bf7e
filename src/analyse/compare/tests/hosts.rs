//! Which circumstances are told when they differ, and which of them keep a gate from deciding.

use super::*;
use crate::lens::Lens;
use crate::record::{Header, Interpreter};

/// What changes one circumstance.
type Change = fn(&mut Header);

/// Every circumstance, whether it is decisive, what changes it, and its two values then.
const CHANGES: [(&str, bool, Change, [&str; 2]); 18] = [
    ("target", true, |header| header.host.target = "b".to_owned(), ["a", "b"]),
    ("kernel", true, |header| header.host.kernel = text("b"), ["a", "b"]),
    (
        "distribution",
        false,
        |header| header.host.distribution = text("b"),
        ["a", "b"],
    ),
    ("C library", false, |header| header.host.libc = text("b"), ["a", "b"]),
    ("processor", true, |header| header.host.cpu = text("b"), ["a", "b"]),
    ("processors", true, |header| header.host.cpus = Some(8), ["4", "8"]),
    ("affinity", true, |header| header.host.affinity = text("b"), ["a", "b"]),
    (
        "memory",
        false,
        |header| header.host.memory.total = Some(2 << 30),
        ["1.0 GiB", "2.0 GiB"],
    ),
    (
        "memory limit",
        true,
        |header| header.host.memory.cgroup_limit = Some(2 << 30),
        ["1.0 GiB", "2.0 GiB"],
    ),
    (
        "initialization options",
        false,
        |header| header.settings.init_options = text("b"),
        ["a", "b"],
    ),
    (
        "settings",
        false,
        |header| header.settings.settings = text("b"),
        ["a", "b"],
    ),
    (
        "resetting of peaks",
        true,
        |header| header.settings.peak_reset = false,
        ["no", "yes"],
    ),
    (
        "huge pages",
        true,
        |header| header.host.memory.huge_pages = text("b"),
        ["a", "b"],
    ),
    (
        "scenario",
        true,
        |header| header.scenario.sha256 = "b".to_owned(),
        ["a", "b"],
    ),
    ("seed", true, |header| header.scenario.seed = 2, ["1", "2"]),
    (
        "workspace",
        true,
        |header| header.workspace.sha256 = "b".to_owned(),
        ["a", "b"],
    ),
    (
        "capabilities",
        true,
        |header| header.settings.capabilities = "b".to_owned(),
        ["a", "b"],
    ),
    ("lsp-soak", false, |header| header.tool = "b".to_owned(), ["a", "b"]),
];

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn header() -> Header {
    let mut header = Header {
        tool: "a".to_owned(),
        ..Header::default()
    };
    header.host.target = "a".to_owned();
    header.host.kernel = text("a");
    header.host.distribution = text("a");
    header.host.libc = text("a");
    header.host.cpu = text("a");
    header.host.cpus = Some(4);
    header.host.affinity = text("a");
    header.host.memory.total = Some(1 << 30);
    header.host.memory.huge_pages = text("a");
    header.host.memory.cgroup_limit = Some(1 << 30);
    header.settings.init_options = text("a");
    header.settings.settings = text("a");
    header.settings.peak_reset = true;
    header.scenario.sha256 = "a".to_owned();
    header.scenario.seed = 1;
    header.workspace.sha256 = "a".to_owned();
    header.settings.capabilities = "a".to_owned();
    header
}

#[test]
fn each_circumstance_is_told_by_itself_with_its_values_and_whether_it_decides() {
    for (what, decisive, change, values) in CHANGES {
        let mut other = header();
        change(&mut other);
        // Whichever comes first, and however many there are of one.
        let headers = [other, header(), header()];
        let told = Difference {
            what: what.into(),
            values: values.map(str::to_owned).to_vec(),
            decisive,
        };
        assert_eq!(differences(headers.iter()), [told]);
    }
}

#[test]
fn what_is_the_same_everywhere_is_no_difference_and_what_is_not_known_is_one() {
    assert!(differences([header(), header()].iter()).is_empty());
    assert!(differences([].iter()).is_empty());
    let mut unknown = header();
    unknown.host.kernel = None;
    let told = differences([header(), unknown].iter());
    assert_eq!(told[0].values, ["a", "n/a"]);
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
    let changes: [(&str, Change); 7] = [
        ("program of ty", |header| header.server.sha256 = text("b")),
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
        let told = differences_of("ty", [header(), other, header()].iter());
        assert_eq!(told.len(), 1, "{what}: {told:?}");
        assert!(
            told[0].what == what && told[0].decisive && told[0].values.len() == 2,
            "{told:?}"
        );
    }
    assert!(differences_of("ty", [header(), header()].iter()).is_empty());
}

#[test]
fn what_the_lens_sets_and_where_caches_are_is_the_same_server() {
    let with = |name: &str, value: &str| {
        let mut header = header();
        header.server.env = [(name.to_owned(), value.to_owned())].into();
        header
    };
    let cache = |slot: &str| with("CACHE", &format!("/tmp/lsp-soak-1000/0123abcd-{slot}/cache/ty"));
    assert!(differences_of("ty", [cache("0"), cache("1")].iter()).is_empty());
    let elsewhere = |place: &str| with("HOME", &format!("/home/lsp-soak/{place}/cache"));
    assert_eq!(
        differences_of("ty", [elsewhere("a/b"), elsewhere("c/b")].iter()).len(),
        1
    );
    // What the user sets too stands before it.
    let own = with("MALLOC_CONF", "narenas:1");
    let purged = |value: &str| {
        let mut purged = with("MALLOC_CONF", value);
        purged.server.lens.name = Lens::Purged;
        purged.server.lens.env.clone_from(&purged.server.env);
        purged
    };
    let one = purged("narenas:1,dirty_decay_ms:0");
    assert!(differences_of("ty", [&own, &one, &own].into_iter()).is_empty());
    let told = differences_of("ty", [&own, &one, &purged("narenas:2,dirty_decay_ms:0")].into_iter());
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_comparison_tells_when_runs_of_a_label_are_of_two_servers() {
    let mut all = runs(&[100, 100], &[100, 100]);
    all[3].summary.header.server.args = vec!["--other".to_owned()];
    let told = compare(&all, None).differences;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].what == "arguments of b" && told[0].decisive);
}
