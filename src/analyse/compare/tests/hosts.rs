//! Which circumstances are told when they differ, and which of them keep a gate from deciding.

use super::*;
use crate::record::Header;

/// What changes one circumstance.
type Change = fn(&mut Header);

/// Every circumstance, whether it is decisive, what changes it, and its two values then.
const CHANGES: [(&str, bool, Change, [&str; 2]); 14] = [
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
            what,
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
