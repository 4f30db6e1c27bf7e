use super::*;

fn context(lenses: &[Lens]) -> GateContext {
    GateContext {
        phases: ["start", "goto", "decay"].map(str::to_owned).to_vec(),
        methods: ["textDocument/hover", "textDocument/completion"]
            .map(str::to_owned)
            .to_vec(),
        lenses: lenses.to_vec(),
        ..GateContext::default()
    }
}

#[test]
fn the_purged_lens_decides_and_the_other_advises_when_nobody_says() {
    let rules = context(&Lens::ALL).rules(None).unwrap();
    let named = |rules: &[Rule]| rules.iter().map(|rule| rule.subject.to_string()).collect::<Vec<_>>();
    assert_eq!(named(&rules.primaries), ["purged private"]);
    assert_eq!(named(&rules.advisory), ["as-shipped private", "as-shipped peak"]);
    assert_eq!(rules.primaries[0].tolerance, Tolerance::PURGED);
    let shipped = context(&[Lens::AsShipped]).rules(None).unwrap();
    assert_eq!(named(&shipped.primaries), ["as-shipped private", "as-shipped peak"]);
    assert!(shipped.advisory.is_empty());
}

#[test]
fn live_memory_decides_where_the_server_reports_it_and_nowhere_else_can_a_rule_name_it() {
    let collected = GateContext {
        is_collected: true,
        ..context(&[Lens::Purged])
    };
    let rules = collected.rules(None).unwrap();
    let named = |rules: &[Rule]| rules.iter().map(|rule| rule.subject.to_string()).collect::<Vec<_>>();
    assert_eq!(named(&rules.primaries), ["purged live"]);
    assert_eq!(named(&rules.advisory), ["purged private"]);
    let limited = |context: GateContext| GateContext {
        budgets: vec!["live after goto <= 9 MiB".to_owned()],
        ..context
    };
    assert!(limited(collected).rules(None).is_ok());
    let refused = limited(context(&[Lens::Purged])).rules(None).unwrap_err().to_string();
    assert!(refused.contains("reports its live memory"), "{refused}");
}

#[test]
fn the_peak_and_the_time_of_commands_decide_and_nothing_that_only_servers_have() {
    let command = GateContext {
        is_command: true,
        ..context(&[Lens::AsShipped])
    };
    let rules = command.rules(None).unwrap();
    let named = rules.primaries.iter().map(|rule| rule.subject.to_string());
    assert_eq!(named.collect::<Vec<_>>(), ["as-shipped peak", "as-shipped wall"]);
    let limited = |context: &GateContext, budget: &str| {
        let context = GateContext {
            budgets: vec![budget.to_owned()],
            ..context.clone()
        };
        context.rules(None).map_err(|report| report.to_string())
    };
    for budget in ["wall <= 2 s", "cpu <= 2 s", "faults <= 9000", "written <= 1 MiB"] {
        assert!(limited(&command, budget).is_ok(), "{budget}");
    }
    let refused = limited(&command, "private <= 9 MiB").unwrap_err();
    assert!(refused.contains("a command has no private memory"), "{refused}");
    let refused = limited(&context(&[Lens::AsShipped]), "wall <= 2 s").unwrap_err();
    assert!(refused.contains("only commands that `lsp-soak cold` ran"), "{refused}");
}

#[test]
fn a_gate_file_says_what_decides() {
    let text = r#"
format = 1
budgets = ["peak <= 600 MiB", "p95 of textDocument/completion <= 50ms"]
[[endpoint]]
metric = "private"
phase = "goto"
tol = "2%"
floor = "1 MiB"
[[endpoint]]
metric = "p95"
method = "textDocument/hover"
lens = "as-shipped"
advisory = true
[work]
hits = "10%"
"#;
    let rules = context(&Lens::ALL).rules(Some(("gate.toml", text))).unwrap();
    assert_eq!(rules.primaries.len(), 1);
    assert_eq!(
        rules.primaries[0].subject.to_string(),
        "private in goto".replace(" in ", " after ")
    );
    assert_eq!(
        rules.primaries[0].tolerance,
        Tolerance::new(0.02, 0.05, 1_048_576.0).unwrap()
    );
    assert_eq!(rules.advisory[0].tolerance, Tolerance::new(0.05, 0.1, 0.0).unwrap());
    let limits: Vec<f64> = rules.budgets.iter().map(|budget| budget.limit).collect();
    assert_eq!(limits, [629_145_600.0, 50_000_000.0]);
    assert_eq!(rules.work.hits, 0.1);
}

#[test]
fn mistakes_in_a_gate_file_are_all_told() {
    let text = r#"format = 1
budgets = ["peak < 600 MiB", "peek <= 1 GiB", "private after dcay <= 1 GiB", "purged peak <= 1 GiB", "peak <= 3 s", \
            "peak <= 600", "private <= 0"]
thresholds = 3
[[endpoint]]
metric = "privte"
[[endpoint]]
metric = "private"
phase = "gto"
lens = "prged"
[[endpoint]]
metric = "p95"
[[endpoint]]
metric = "peak"
method = "textDocument/hover"
[[endpoint]]
metric = "private"
tol = "5%"
fail = "1%"
[[endpoint]]
phase = "goto"
[[endpoint]]
metric = "p50"
method = "textDocument/compltion"
[[endpoint]]
metric = "p50"
phase = "nope"
method = "textDocument/hover"
[[endpoint]]
metric = "peak"
tol = 5
[leak]
phase = "goto"
"#;
    let mistakes = GateContext {
        budgets: ["peak", "peak after gto <= 1 GiB", "p50 of textDocument/hoover <= 1s"]
            .map(str::to_owned)
            .to_vec(),
        ..context(&[Lens::AsShipped])
    };
    let report = mistakes.rules(Some(("gate.toml", text))).unwrap_err();
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(report) });
}

#[test]
fn a_method_that_nobody_asked_for_is_a_mistake_only_where_all_are_known() {
    let far = |all_methods| GateContext {
        all_methods,
        budgets: vec!["p50 of workspace/symbol <= 1 s".to_owned()],
        ..context(&[Lens::AsShipped])
    };
    assert!(far(false).rules(None).is_ok());
    let report = far(true).rules(None).unwrap_err().to_string();
    assert!(
        report.contains("there are textDocument/hover, textDocument/completion"),
        "{report}"
    );
}

#[test]
fn no_time_decides_among_runs_that_are_played_at_once() {
    let text = "format = 1\n[[endpoint]]\nmetric = \"p95\"\nmethod = \"textDocument/hover\"\n";
    let shared = |budget: &str| GateContext {
        is_shared: true,
        budgets: vec![budget.to_owned()],
        ..context(&[Lens::AsShipped])
    };
    let report = shared("cpu <= 9s")
        .rules(Some(("gate.toml", text)))
        .unwrap_err()
        .to_string();
    for title in [
        "95th percentile of latency decides nothing",
        "CPU time decides nothing",
        "leave `--jobs` out",
    ] {
        assert!(report.contains(title), "{report}");
    }
    assert!(shared("peak <= 1 GiB").rules(None).is_ok());
}

#[test]
fn more_than_three_endpoints_cannot_decide() {
    let text = format!("format = 1\n{}", "[[endpoint]]\nmetric = \"private\"\n".repeat(4));
    let report = context(&Lens::ALL).rules(Some(("gate.toml", &text))).unwrap_err();
    assert!(report.to_string().contains("advisory = true"), "{report}");
    let newer = context(&Lens::ALL)
        .rules(Some(("gate.toml", "format = 2\n")))
        .unwrap_err();
    assert!(newer.to_string().contains("format 2 is newer"), "{newer}");
}

#[test]
fn the_gate_files_of_the_documents_are_understood() {
    let documents = [
        ("docs/gate.md", include_str!("../../../docs/gate.md")),
        ("docs/ci.md", include_str!("../../../docs/ci.md")),
    ];
    let repeated = GateContext {
        repeated: vec!["goto".to_owned()],
        ..context(&Lens::ALL)
    };
    for (name, text) in documents {
        let files = text
            .split("```toml\n")
            .skip(1)
            .filter_map(|part| part.split("```").next());
        let gates: Vec<&str> = files.filter(|file| file.contains("[[endpoint]]")).collect();
        assert_eq!(gates.len(), 1, "{name}");
        let rules = repeated.rules(Some((name, gates[0])));
        assert!(rules.is_ok(), "{}", rules.unwrap_err());
    }
}

#[test]
fn endpoints_that_only_advise_gain_none_that_decides() {
    let advises = "format = 1\n[[endpoint]]\nmetric = \"peak\"\nadvisory = true\n";
    let report = context(&Lens::ALL)
        .rules(Some(("gate.toml", advises)))
        .unwrap_err()
        .to_string();
    assert!(
        report.contains("every endpoint is advisory, so nothing decides"),
        "{report}"
    );
    let budget = format!("budgets = [\"peak <= 1 GiB\"]\n{advises}");
    let rules = context(&Lens::ALL).rules(Some(("gate.toml", &budget))).unwrap();
    assert_eq!(
        (rules.primaries.len(), rules.advisory.len(), rules.budgets.len()),
        (0, 1, 1)
    );
}

#[test]
fn growth_that_is_tolerated_needs_its_unit() {
    let mut context = context(&[Lens::AsShipped]);
    context.repeated = vec!["edit".to_owned()];
    for (slope, wrong) in [("64", true), ("64 KiB", false), ("0", false)] {
        let text = format!("format = 1\n[leak]\nslope = \"{slope}\"\n");
        match context.rules(Some(("gate.toml", &text))) {
            Ok(rules) => assert!(!wrong && rules.leak.is_some(), "{slope}"),
            Err(report) => {
                let said = report.to_string();
                assert!(
                    wrong && said.contains("`64` is a size without a unit") && said.contains("write `64 MiB`"),
                    "{said}"
                );
            }
        }
    }
}

#[test]
fn without_a_baseline_limits_decide_and_what_compares_is_refused_with_a_cure() {
    let alone = GateContext {
        is_alone: true,
        repeated: vec!["goto".to_owned()],
        ..context(&Lens::ALL)
    };
    let limited = GateContext {
        budgets: vec!["private <= 300 MiB".to_owned()],
        ..alone.clone()
    };
    let rules = limited.rules(None).unwrap();
    assert_eq!(
        (rules.primaries.len(), rules.advisory.len(), rules.budgets.len()),
        (0, 0, 1)
    );
    let leak = alone.rules(Some(("gate.toml", "format = 1\n[leak]\nphase = \"goto\"\n")));
    assert!(leak.unwrap().leak.is_some());
    let refused = |context: &GateContext, file: Option<&str>| {
        let file = file.map(|text| ("gate.toml", text));
        context.rules(file).unwrap_err().to_string()
    };
    assert!(refused(&alone, None).contains("without a baseline nothing decides"));
    let file = "format = 1\n[[endpoint]]\nmetric = \"private\"\n[[endpoint]]\nmetric = \"peak\"\nadvisory = true\n\
                [work]\nhits = \"5%\"\n";
    let report = refused(&limited, Some(file));
    for told in [
        "an endpoint compares `private` with a baseline",
        "an endpoint compares `peak` with a baseline",
        "`[work]` compares the candidate with a baseline",
        "name one with --baseline",
    ] {
        assert!(report.contains(told), "{told} is not in\n{report}");
    }
    let tolerant = GateContext {
        tol: Some(Share(0.02)),
        ..limited
    };
    let report = refused(&tolerant, None);
    assert!(
        report.contains("`--tol` is about the difference from a baseline"),
        "{report}"
    );
}

fn repeating() -> GateContext {
    GateContext {
        repeated: vec!["goto".to_owned()],
        ..context(&[Lens::AsShipped])
    }
}

#[test]
fn a_condition_that_is_understood_prints_as_text_that_is_understood_again() {
    for (typed, printed) in [
        (
            "growth in goto > 64KiB per request",
            "growth in goto > 64 KiB per request",
        ),
        ("growth > 0 B", "growth > 0 B per round"),
        (
            "as-shipped growth <= 1 MiB per notification",
            "as-shipped growth <= 1 MiB per notification",
        ),
        ("peak > 2GiB", "peak > 2 GiB"),
        ("private after decay<=300 MiB", "private after decay <= 300 MiB"),
        (
            "p95 of textDocument/hover >= 50ms",
            "p95 of textDocument/hover >= 50.0 ms",
        ),
        (" crash ", "crash"),
    ] {
        let when = repeating().when("--when", typed).unwrap();
        let text = when.to_string();
        assert_eq!(text, printed);
        assert_eq!(repeating().when("--when", &text).unwrap(), when, "{text}");
    }
}

#[test]
fn mistakes_in_a_condition_have_their_place_and_a_cure() {
    let mut reports = String::new();
    for text in [
        "",
        "peak",
        "> 2 GiB",
        "peak = 2 GiB",
        "peak => 2 GiB",
        "groth in goto > 64 KiB",
        "growth of goto > 64 KiB",
        "growth in gto > 64 KiB",
        "growth in decay > 64 KiB",
        "growth in goto > 64",
        "growth in goto > 64 KiB per hover",
        "purged growth in goto > 64 KiB",
        "peak in gto > 2 GiB",
        "peak > 0 MiB",
        "peak > 3 s",
        "crash in goto",
    ] {
        let report = repeating().when("--when", text).unwrap_err();
        reports.push_str(&format!("{report}\n\n"));
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(reports) });
}

/// A candidate with these budgets and no baseline.
fn alone(budgets: &[&str]) -> GateContext {
    GateContext {
        budgets: budgets.iter().map(|budget| (*budget).to_owned()).collect(),
        is_alone: true,
        ..repeating()
    }
}

#[test]
fn a_budget_is_a_condition_that_a_gate_can_keep() {
    let leak = alone(&["growth in goto <= 64 KiB per request"])
        .rules(None)
        .unwrap()
        .leak
        .unwrap();
    assert_eq!((leak.phase.as_deref(), leak.per), (Some("goto"), Per::Request));
    assert_eq!(leak.limit, LeakLimit::from_slope(65_536.0));
    for (budget, part) in [
        ("crash", "a gate fails on every crash by itself"),
        ("peak > 1 GiB", "write `peak <= 1 GiB`"),
        ("peak < 1 GiB", "write `peak <= 1 GiB`"),
        ("as-shipped growth <= 1 MiB", "leave `as-shipped` out"),
    ] {
        let report = alone(&[budget]).rules(None).unwrap_err().to_string();
        assert!(report.contains(part), "{report}");
    }
    let both = alone(&["growth <= 1 MiB", "growth in goto <= 1 MiB"]);
    let report = both.rules(None).unwrap_err().to_string();
    assert!(report.contains("a gate has one limit of growth"), "{report}");
}
