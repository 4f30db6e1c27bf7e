//! Growth per round: a leak is detected, sized and attributed to its requests; without a leak memory is flat.

use serde_json::Value;

use crate::ground::{PreparedWorkspace, scenario};

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
    PreparedWorkspace::of(&scenario("hunt", "100ms", PHASES), &shop)
        .with(
            "leaky",
            &["--ballast", "20MiB", "--leak", "64KiB-per=textDocument/hover"],
            "",
        )
        .with("tight", &["--ballast", "20MiB"], "")
}

fn record(hunt: &PreparedWorkspace, server: &str, out: &str) -> Value {
    let words = [
        "run", "scenario.toml", "--server", server, "--out", out, "-q", "--format", "json", "--interval", "10ms",
    ];
    serde_json::from_str(&hunt.said(&words)).expect("it is JSON")
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
    let report = hunt.said(&["compare", "1", "2", "3"]);
    assert!(report.contains("leaky: retention growth in hover: +6"), "{report}");
    assert!(report.contains("KiB per request"), "{report}");
    assert!(
        report.contains("leaky: no retention growth in definition, silence"),
        "{report}"
    );
    let report = hunt.said(&["report", "1"]);
    assert!(report.contains("retention growth in hover: +6"), "{report}");
    assert!(report.contains("one run is no verdict"), "{report}");
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
    let workspace = PreparedWorkspace::of(
        &scenario("touch", "100ms", phases),
        "def price(item):\n    return item\n",
    )
    .with("keeps", &["--leak-per-content", "1MiB"], "");
    let report = record(&workspace, "keeps", "1");
    let per_round = slope(&report, "touch")["per_round"].as_f64().expect("it is known");
    assert!(
        (996_147.0..1_101_004.0).contains(&per_round),
        "1 MiB within a twentieth: {per_round}"
    );
}
