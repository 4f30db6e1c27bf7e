//! Growth per round: a leak is detected, sized and attributed to its requests; without a leak memory is flat.

use serde_json::Value;

use crate::ground::{LINKED_SYSTEM, PreparedWorkspace, scenario};

const PHASES: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }, { open = { files = 1 } }]
[[phase]]
name = "hover"
repeat = { times = 20 }
steps = [{ hover = { per-file = 24 } }]
[[phase]]
name = "definition"
repeat = { times = 20 }
steps = [{ definition = { per-file = 24 } }]
[[phase]]
name = "silence"
repeat = { times = 20 }
steps = [{ idle = { for = "50ms" } }]
"#;

/// Two servers; `leaky` leaks 64 KiB per hover.
fn hunt() -> PreparedWorkspace {
    let function = |number: u32| format!("def price_{number}(item):\n    return item\n\n\nprice_{number}({number})\n");
    let shop = (0..10).map(function).collect::<Vec<String>>().join("\n\n");
    PreparedWorkspace::new(&scenario("hunt", "100ms", PHASES), &shop)
        .with_server(
            "leaky",
            &["--ballast", "20MiB", "--leak", "64KiB-per=textDocument/hover"],
            "",
        )
        .with_server("tight", &["--ballast", "20MiB"], "")
}

fn record(hunt: &PreparedWorkspace, server: &str, out: &str) -> Value {
    let words = [
        "run", "scenario.toml", "--server", server, "--out", out, "-q", "--format", "json", "--interval", "10ms",
    ];
    serde_json::from_str(&hunt.stdout(&words)).expect("it is JSON")
}

fn slope<'r>(report: &'r Value, name: &str) -> &'r Value {
    let growth = report["growth"].as_array().expect("it is a list");
    let arm = growth.iter().find(|arm| arm["name"] == name).expect("it was repeated");
    &arm["slope"]
}

#[test]
fn a_leak_is_found_sized_and_put_down_to_its_method_and_the_same_work_without_it_is_flat() {
    let hunt = hunt();
    for out in ["1", "2", "3"] {
        let report = record(&hunt, "leaky", out);
        let per_request = slope(&report, "hover")["per_message"].as_f64().expect("it is known");
        assert!(
            (58_982.0..72_090.0).contains(&per_request),
            "64 KiB within a tenth: {per_request}"
        );
        assert_eq!(slope(&report, "hover")["grows"], "yes", "{report:#}");
        assert_eq!(slope(&report, "definition")["grows"], "no", "{report:#}");
        assert_eq!(slope(&report, "silence")["shape"], "flat", "{report:#}");
    }
    let report = hunt.stdout(&["compare", "1", "2", "3"]);
    assert!(report.contains("leaky: retention growth in hover: +6"), "{report}");
    assert!(report.contains("KiB per request"), "{report}");
    assert!(
        report.contains("leaky: no retention growth in definition, silence"),
        "{report}"
    );
    let report = hunt.stdout(&["report", "1"]);
    assert!(report.contains("retention growth in hover: +6"), "{report}");
    assert!(report.contains("one run is no verdict"), "{report}");
    assert!(!report.contains("no retention growth"), "{report}");
    assert!(
        report.contains("this run does not show growth in definition, silence"),
        "{report}"
    );
    let report = record(&hunt, "tight", "4");
    for name in ["hover", "definition", "silence"] {
        assert_eq!(slope(&report, name)["grows"], "no", "{report:#}");
    }
}

#[test]
fn a_touched_file_has_new_content_each_time_for_a_server_that_compares_it() {
    let phases = r#"
[[phase]]
name = "start"
steps = [{ start = {} }, { open = { files = 1 } }]
[[phase]]
name = "touch"
repeat = { times = 12 }
steps = [{ touch = { files = 1 } }]
"#;
    let workspace = PreparedWorkspace::new(
        &scenario("touch", "100ms", phases),
        "def price(item):\n    return item\n",
    )
    .with_server("keeps", &["--leak-per-content", "1MiB"], "");
    let report = record(&workspace, "keeps", "1");
    let per_round = slope(&report, "touch")["per_round"].as_f64().expect("it is known");
    assert!(
        (996_147.0..1_101_004.0).contains(&per_round),
        "1 MiB within a twentieth: {per_round}"
    );
}

const UNASKED: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }, { open = { files = 1 } }]
[[phase]]
name = "hover"
repeat = { times = 20 }
steps = [{ hover = { per-file = 4 } }]
[[phase]]
name = "rename"
repeat = { times = 20 }
steps = [{ rename = { optional = true } }]
[[phase]]
name = "both"
repeat = { times = 20 }
steps = [{ hover = { per-file = 4 } }, { inlay-hint = { optional = true } }]
[[phase]]
name = "short"
repeat = { times = 5 }
steps = [{ hover = { per-file = 4 } }]
"#;

/// Growth decides, and nothing else.
const GATE: &str = r#"
format = 1
[[endpoint]]
metric = "private"
advisory = true
[leak]
slope = "64 KiB"
"#;

#[test]
fn growth_is_denied_only_of_what_was_asked() {
    let shop = "def price(item):\n    return item\n\n\nprice(1)\n";
    let ground = PreparedWorkspace::new(&scenario("unasked", "100ms", UNASKED), shop)
        .with_server("old", &["--ballast", "20MiB"], LINKED_SYSTEM)
        .with_server("new", &["--ballast", "20MiB"], LINKED_SYSTEM);
    ground.write("gate.toml", GATE);
    let gate = [
        "gate", "scenario.toml", "--baseline", "old", "--candidate", "new", "--lens", "as-shipped", "--gate",
        "gate.toml", "--runs", "3", "--out", "out", "-q",
    ];
    // No run has enough rounds of `short`, which more runs would not change.
    let (said, _) = ground.ends(2, &gate);
    let said = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    for part in [
        "PASS: retention growth over hover",
        "retention growth over rename is not decided, not asked: `rename` (the server does not offer it)",
        "retention growth over both is not decided, not asked: `inlay-hint` (the server does not offer it)",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    ground.write("gate.toml", &format!("{GATE}phase = \"hover\"\n"));
    ground.ends(0, &["gate", "--from", "out", "--gate", "gate.toml", "--runs", "3"]);
    let said = ground.stdout(&["compare", "out"]);
    for part in [
        "candidate: no retention growth in hover: ",
        "candidate: not decided in short: 5 rounds, the rule needs 20",
        "candidate: not asked: rename, `inlay-hint` in both (the server does not offer it)",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}
