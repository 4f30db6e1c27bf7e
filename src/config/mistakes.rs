//! Tests every kind of mistake in a scenario, as the user sees it.

use std::fs;
use std::path::MAIN_SEPARATOR;

use super::{Overrides, load_scenario};

/// Compares with the checked-in text, without repeating the expression.
macro_rules! shown {
    ($text:expr $(,)?) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

mod files;
mod places;

/// The report on the first of `files`, with a project of two files beside them.
fn mistakes(files: &[(&str, &str)], overrides: &Overrides) -> String {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("shop")).unwrap();
    fs::write(root.path().join("shop/a.py"), "a = 1\n").unwrap();
    fs::write(root.path().join("shop/b.py"), "b = 1\n").unwrap();
    for (name, text) in files {
        fs::write(root.path().join(name), text).unwrap();
    }
    let report = load_scenario(&root.path().join(files[0].0), overrides, &|_| None).unwrap_err();
    let real = root.path().canonicalize().unwrap();
    report
        .to_string()
        .replace(&format!("{}{MAIN_SEPARATOR}", real.display()), "")
        .replace(&format!("{}{MAIN_SEPARATOR}", root.path().display()), "")
}

const HEAD: &str = "format = 1\nname = \"bad\"\n[workspace]\npath = \"shop\"\nlanguage = \"python\"\n";
const START: &str = "[[phase]]\nname = \"start\"\nsteps = [{ start = {} }, { open = {} }]\n";

/// Reports on scenarios with a valid head and start, each under the name of its mistake.
fn after_start(cases: &[(&str, &str)]) -> String {
    let files = cases.iter().map(|(name, text)| (*name, format!("{HEAD}{START}{text}")));
    sections(files)
}

/// Reports on whole scenarios, each under the name of its mistake.
fn whole(cases: &[(&str, &str)]) -> String {
    sections(cases.iter().map(|(name, text)| (*name, (*text).to_owned())))
}

fn sections<'c>(cases: impl Iterator<Item = (&'c str, String)>) -> String {
    let reports = cases.map(|(name, text)| {
        let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
        format!("## {name}\n\n{report}\n")
    });
    reports.collect::<Vec<_>>().join("\n")
}

#[test]
fn spelling() {
    shown!(after_start(&[
        (
            "a key nearly right",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = { perfile = 3 } }]"
        ),
        (
            "a key nothing like any",
            "[[phase]]\nname = \"a\"\ncolour = \"red\"\nsteps = [{ hover = {} }]"
        ),
        ("a table nobody knows", "[workspce]\npath = \"x\""),
        (
            "a step nearly right",
            "[[phase]]\nname = \"a\"\nsteps = [{ definitoin = {} }]"
        ),
        (
            "a step nothing like any",
            "[[phase]]\nname = \"a\"\nsteps = [{ dance = {} }]"
        ),
        (
            "a mode nobody knows",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { mode = \"quiet\" } }]"
        ),
        (
            "an edit mode nobody knows",
            "[[phase]]\nname = \"a\"\nsteps = [{ edit = { mode = \"ful\" } }]"
        ),
    ]));
}

#[test]
fn types() {
    shown!(after_start(&[
        (
            "text for a number",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = { per-file = \"20\" } }]"
        ),
        (
            "a number for a duration",
            "[[phase]]\nname = \"a\"\nsteps = [{ pause = { for = 30 } }]"
        ),
        (
            "a date for a duration",
            "[[phase]]\nname = \"a\"\nsteps = [{ pause = { for = 2026-01-01 } }]"
        ),
        (
            "a duration without a unit",
            "[[phase]]\nname = \"a\"\nsteps = [{ pause = { for = \"30\" } }]"
        ),
        (
            "a negative duration",
            "[[phase]]\nname = \"a\"\nsteps = [{ type = { cadence = \"-50ms\" } }]"
        ),
        (
            "a negative count",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = { per-file = -1 } }]"
        ),
        (
            "a count of nothing",
            "[[phase]]\nname = \"a\"\nsteps = [{ open = { files = 0 } }]"
        ),
        ("a share without a sign", "[readiness]\ncpu = \"5\""),
        (
            "text for a truth",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = { optional = \"yes\" } }]"
        ),
        ("a step as text", "[[phase]]\nname = \"a\"\nsteps = [\"hover\"]"),
        (
            "a step with a number",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = 20 }]"
        ),
        (
            "two steps in one table",
            "[[phase]]\nname = \"a\"\nsteps = [{ hover = {}, references = {} }]"
        ),
        ("a step without a name", "[[phase]]\nname = \"a\"\nsteps = [{}]"),
        ("steps that are none", "[[phase]]\nname = \"a\"\nsteps = { hover = {} }"),
        (
            "both kinds of repeat",
            "[[phase]]\nname = \"a\"\nrepeat = { times = 2, for = \"1h\" }\nsteps = [{ hover = {} }]"
        ),
        (
            "a repeat that is only a number",
            "[[phase]]\nname = \"a\"\nrepeat = 2\nsteps = [{ hover = {} }]"
        ),
    ]));
}

#[test]
fn idle_windows() {
    shown!(after_start(&[
        (
            "two ends of an idle",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { for = \"1s\", at-most = \"2s\" } }]"
        ),
        (
            "an idle too short to settle",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { until = \"settled\", at-most = \"5s\" } }]"
        ),
        (
            "traffic in silence",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { every = \"1s\" } }]"
        ),
        (
            "light traffic in silence",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { methods = [\"hover\"], control = true } }]"
        ),
        (
            "nothing to simmer with",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { mode = \"simmer\", methods = [] } }]"
        ),
        (
            "a dwell of a fixed time",
            "[[phase]]\nname = \"a\"\nsteps = [{ idle = { for = \"9s\", dwell = \"2s\" } }]"
        ),
    ]));
}

#[test]
fn forced_releases() {
    shown!(after_start(&[
        (
            "a report that frees what it counts before the end",
            "[[phase]]\nname = \"a\"\nsteps = [{ self-report = { destructive = true } }, { hover = {} }]"
        ),
        (
            "a request that does",
            "[[phase]]\nname = \"a\"\nsteps = [{ request = { method = \"rust-analyzer/memoryUsage\" } }]\n\
             [[phase]]\nname = \"b\"\nsteps = [{ hover = {} }]"
        ),
        (
            "a report that frees what it counts again and again",
            "[[phase]]\nname = \"a\"\nrepeat = { times = 2 }\nsteps = [{ self-report = { destructive = true } }]"
        ),
        (
            "nothing to release by",
            "[[phase]]\nname = \"a\"\nsteps = [{ release = { by = [] } }]"
        ),
        (
            "something else to release by",
            "[[phase]]\nname = \"a\"\nsteps = [{ release = { by = [\"kernel\"] } }]"
        ),
    ]));
}

#[test]
fn meaning() {
    shown!(after_start(&[
        ("a phase twice", "[[phase]]\nname = \"start\"\nsteps = [{ hover = {} }]"),
        ("a phase without steps", "[[phase]]\nname = \"a\"\nsteps = []"),
        ("a phase without a name", "[[phase]]\nsteps = [{ hover = {} }]"),
        (
            "a phase with an empty name",
            "[[phase]]\nname = \" \"\nsteps = [{ hover = {} }]"
        ),
        (
            "never repeated",
            "[[phase]]\nname = \"a\"\nrepeat = { times = 0 }\nsteps = [{ hover = {} }]"
        ),
        (
            "no time to settle",
            "[[phase]]\nname = \"a\"\nsettle = { at-most = \"500ms\" }\nsteps = [{ hover = {} }]"
        ),
        ("started twice", "[[phase]]\nname = \"a\"\nsteps = [{ start = {} }]"),
        (
            "nothing open",
            "[[phase]]\nname = \"a\"\nsteps = [{ close = {} }, { hover = {} }]"
        ),
        (
            "no queries",
            "[[phase]]\nname = \"a\"\nsteps = [{ workspace-symbol = { queries = [] } }]"
        ),
        (
            "a request without a method",
            "[[phase]]\nname = \"a\"\nsteps = [{ request = {} }]"
        ),
        (
            "a request of the lifecycle",
            "[[phase]]\nname = \"a\"\nsteps = [{ request = { method = \"shutdown\" } }]"
        ),
        (
            "a placeholder nobody knows",
            "[[phase]]\nname = \"a\"\nsteps = [{ notification = { method = \"x/y\", params = { at = \"${line}\" } } }]",
        ),
        (
            "a command without a name",
            "[[phase]]\nname = \"a\"\nsteps = [{ execute-command = {} }]"
        ),
    ]));
}

#[test]
fn the_whole_file() {
    let phase = START;
    shown!(whole(&[
        ("not TOML", "format = 1\nname = \"bad\n[workspace]\npath = shop\n"),
        ("a newer format", "format = 2\nname = \"bad\"\nnew-thing = true\n"),
        (
            "no format",
            &HEAD
                .replace("format = 1\n", "")
                .replace("\n[", &format!("\n{phase}["))
                .to_owned()
        ),
        ("nothing at all", ""),
        (
            "a name that leaves its directory",
            &format!("{HEAD}{phase}").replace("\"bad\"", "\"../../evil x\"")
        ),
        ("no phases", HEAD),
        (
            "one bracket too few",
            &format!("{HEAD}[phase]\nname = \"start\"\nsteps = []")
        ),
        (
            "steps before the start",
            &format!("{HEAD}[[phase]]\nname = \"a\"\nsteps = [{{ open = {{}} }}]")
        ),
        (
            "no such directory",
            &format!("{HEAD}{phase}").replace("\"shop\"", "\"shops\"")
        ),
        ("no workspace", &format!("format = 1\nname = \"bad\"\n{phase}")),
        (
            "no language",
            &format!("{HEAD}{phase}").replace("language = \"python\"\n", "")
        ),
        (
            "a language nobody knows",
            &format!("{HEAD}{phase}").replace("python", "klingon")
        ),
        ("a pattern that is none", &format!("{HEAD}files = \"**/[\"\n{phase}")),
        (
            "a pattern without a match",
            &format!("{HEAD}files = \"**/*.rs\"\n{phase}")
        ),
        (
            "an isolation nobody knows",
            &format!("{HEAD}isolation = \"inplace\"\n{phase}")
        ),
        (
            "writing in place",
            &format!(
                "{HEAD}isolation = \"in-place\"\n{phase}[[phase]]\nname = \"a\"\nsteps = [{{ touch = {{}} }}, {{ save = {{}} }}]"
            ),
        ),
    ]));
}

#[test]
fn several_at_once() {
    let text = r#"
format = 1
name = ""
sed = 3
[workspace]
path = "nowhere"
language = "python"
isolation = "inplace"
[[phase]]
name = "a"
steps = [{ opne = {} }, { hover = { per-file = "20", fils = 3, deadline = "soon" } }]
[[phase]]
name = "a"
repeat = { times = 0 }
steps = [{ pause = { for = "-1s" } }, { definition = {} }, { idle = { mode = "loud", for = "1s" } }]
[[phase]]
nam = "b"
steps = []
"#;
    let report = mistakes(&[("bad.toml", text)], &Overrides::default());
    assert_eq!(report.matches("error: ").count(), 15, "{report}");
    shown!(report);
}

#[test]
fn a_step_with_a_single_key_is_told_in_the_singular() {
    let text = format!("{HEAD}{}", START.replace("start = {}", "pause = { cadence = \"1s\" }"));
    let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
    assert!(report.contains("there is only `for`"), "{report}");
}

#[test]
fn a_number_too_long_for_any_type_is_told_as_it_was_written() {
    let text =
        format!("{HEAD}{START}[[phase]]\nname = \"a\"\nsteps = [{{ hover = {{ per-file = 99999999999999999999 }} }}]");
    let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
    assert!(
        report.contains("`per-file` cannot be `99999999999999999999`"),
        "{report}"
    );
    assert!(!report.contains("i128"), "{report}");
}

#[test]
fn a_list_of_patterns_has_a_cure_of_its_own() {
    let head = HEAD.replace("[workspace]\n", "[workspace]\nfiles = [\"a.py\", \"b.py\"]\n");
    let report = mistakes(&[("bad.toml", &format!("{head}{START}"))], &Overrides::default());
    assert_eq!(report.matches("error: ").count(), 1, "{report}");
    assert!(report.contains("`files` must be one pattern, not an array"), "{report}");
    assert!(
        report.contains("braces join several: files = \"**/*.{ts,tsx}\""),
        "{report}"
    );
    let cured = head.replace("[\"a.py\", \"b.py\"]", "\"{a,b}.py\"");
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("shop")).unwrap();
    for file in ["a.py", "b.py"] {
        fs::write(root.path().join("shop").join(file), "a = 1\n").unwrap();
    }
    let scenario = root.path().join("good.toml");
    fs::write(&scenario, format!("{cured}{START}")).unwrap();
    assert!(load_scenario(&scenario, &Overrides::default(), &|_| None).is_ok());
}

#[test]
fn a_phase_may_be_called_what_no_file_can_be() {
    let text = format!(
        "{HEAD}{}",
        START
            .replace("\"start\"", "\"first: open / look\"")
            .replace("open = {}", "opne = {}")
    );
    let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
    assert_eq!(report.matches("error: ").count(), 1, "{report}");
}
