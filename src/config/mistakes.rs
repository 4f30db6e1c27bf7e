//! Every kind of mistake in a scenario, as the person who made it sees it.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

use super::{Isolation, Overrides, load_scenario};

/// Compares with the checked-in text; the expression would only repeat it.
macro_rules! shown {
    ($text:expr $(,)?) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}

/// The report on the first of `files`, with a project of two files beside them.
fn mistakes(files: &[(&str, &str)], overrides: &Overrides) -> String {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("shop")).unwrap();
    fs::write(root.path().join("shop/a.py"), "a = 1\n").unwrap();
    fs::write(root.path().join("shop/b.py"), "b = 1\n").unwrap();
    for (name, text) in files {
        fs::write(root.path().join(name), text).unwrap();
    }
    let report = load_scenario(&root.path().join(files[0].0), overrides).unwrap_err();
    let real = root.path().canonicalize().unwrap();
    report
        .to_string()
        .replace(&format!("{}{MAIN_SEPARATOR}", real.display()), "")
        .replace(&format!("{}{MAIN_SEPARATOR}", root.path().display()), "")
}

const HEAD: &str = "format = 1\nname = \"bad\"\n[workspace]\npath = \"shop\"\nlanguage = \"python\"\n";
const START: &str = "[[phase]]\nname = \"start\"\nsteps = [{ start = {} }, { open = {} }]\n";

/// The reports on scenarios with a good head and start, each under the name of its mistake.
fn after_start(cases: &[(&str, &str)]) -> String {
    let files = cases.iter().map(|(name, text)| (*name, format!("{HEAD}{START}{text}")));
    sections(files)
}

/// The reports on whole scenarios, each under the name of its mistake.
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
fn several_mistakes_of_syntax_are_all_told() {
    let report = mistakes(
        &[("bad.toml", "format = \nname = 'x'\n[workspace\npath = shop\n")],
        &Overrides::default(),
    );
    shown!(report);
}

#[test]
fn includes() {
    let day = format!("include = [\"a.toml\", \"none.toml\"]\n{HEAD}");
    let other = HEAD.replace("shop", "elsewhere");
    let a = format!("include = [\"bad.toml\"]\n{other}[[phase]]\nname = \"x\"\nsteps = [{{ hovr = {{}} }}]");
    let b = format!("repeat = {{ times = 2 }}\n{HEAD}{START}");
    shown!(
        [
            mistakes(&[("bad.toml", &day), ("a.toml", &a)], &Overrides::default()),
            mistakes(
                &[("bad.toml", &day.replace(", \"none.toml\"", "")), ("a.toml", &b)],
                &Overrides::default()
            ),
        ]
        .join("\n\n")
    );
}

#[test]
fn the_command_line() {
    let good = format!("{HEAD}{START}");
    let cases = [
        Overrides {
            workspace: Some("/no/such/place".into()),
            ..Overrides::default()
        },
        Overrides {
            language: Some("rust".to_owned()),
            ..Overrides::default()
        },
        Overrides {
            language: Some("klingon".to_owned()),
            ..Overrides::default()
        },
        Overrides {
            files: Some("[".to_owned()),
            ..Overrides::default()
        },
        Overrides {
            files: Some("*.txt".to_owned()),
            ..Overrides::default()
        },
        Overrides {
            isolation: Some(Isolation::InPlace),
            ..Overrides::default()
        },
    ];
    let good = format!("{good}[[phase]]\nname = \"a\"\nsteps = [{{ save = {{}} }}]\n");
    let reports = cases.map(|overrides| mistakes(&[("bad.toml", &good)], &overrides));
    shown!(reports.join("\n\n"));
}

#[test]
fn what_the_command_line_gets_wrong_is_told_beside_what_the_file_gets_wrong() {
    let place = |workspace: &str, language: Option<&str>, files: Option<&str>| Overrides {
        workspace: Some(workspace.into()),
        language: language.map(str::to_owned),
        files: files.map(str::to_owned),
        ..Overrides::default()
    };
    let here = env!("CARGO_MANIFEST_DIR");
    let broken = START.replace("open = {}", "opne = {}");
    let head = |workspace: &str| format!("format = 1\nname = \"bad\"\n{workspace}");
    let own = "[workspace]\npath = \"shop\"\n";
    let unknown_step = format!("{HEAD}{broken}");
    let no_text = "format = 1\nname = \"bad\"\nsteps = [".to_owned();
    let no_language = format!("{}{broken}", head(own));
    let bad_language = format!("{}{START}", head(&format!("{own}language = 5\n")));
    let phase = "[[phase]]\nname = \"a\"\nsteps = [{ hover = {} }]\n";
    let included = format!("{}include = [\"none.toml\"]\n{phase}", head(""));

    for (text, overrides, told) in [
        (
            &unknown_step,
            place("/no/such", None, None),
            Some("no directory `/no/such`"),
        ),
        (&no_text, place("/no/such", None, None), Some("no directory `/no/such`")),
        (
            &included,
            place("/no/such", None, None),
            Some("no directory `/no/such`"),
        ),
        (
            &unknown_step,
            place(here, None, Some("*.none")),
            Some("matches `*.none`"),
        ),
        (&no_text, place(here, None, Some("*.none")), Some("matches `*.none`")),
        (&no_text, place(here, Some("klingon"), None), Some("language `klingon`")),
        (
            &no_language,
            place(here, None, None),
            Some("the workspace has no language"),
        ),
        // What follows from what could not be read is no mistake of its own.
        (&no_text, place(here, None, None), None),
        (&included, place(here, None, None), None),
        (&bad_language, place(here, None, None), None),
    ] {
        let report = mistakes(&[("bad.toml", text)], &overrides);
        let expected = 1 + usize::from(told.is_some());
        assert_eq!(report.matches("error: ").count(), expected, "{report}");
        assert!(report.contains(told.unwrap_or_default()), "{report}");
    }
}

#[test]
fn a_step_with_a_single_key_is_told_in_the_singular() {
    let text = format!("{HEAD}{}", START.replace("start = {}", "start = { cadence = \"1s\" }"));
    let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
    assert!(report.contains("there is only `deadline`"), "{report}");
}

#[test]
fn steps_that_write_are_refused_wherever_it_is_said_that_the_workspace_is_used_in_place() {
    let part = "format = 1\nname = \"part\"\n[workspace]\npath = \"shop\"\nlanguage = \"python\"\nisolation = \"in-place\"\n\
                [[phase]]\nname = \"b\"\nsteps = [{ start = {} }, { touch = {} }]\n";
    let writes = "format = 1\nname = \"writes\"\n[[phase]]\nname = \"a\"\nsteps = [{ open = {} }, { save = {} }]\n";
    let outer = "format = 1\nname = \"outer\"\ninclude = [\"part.toml\", \"writes.toml\"]\n";
    let files = [("outer.toml", outer), ("writes.toml", writes), ("part.toml", part)];
    let told = mistakes(&files, &Overrides::default());
    for place in ["writes.toml:5:25", "part.toml:9:26"] {
        assert!(told.contains(place), "{told}");
    }
}

#[test]
fn a_scenario_that_is_not_there_is_named() {
    let report = load_scenario(Path::new("no/such.toml"), &Overrides::default()).unwrap_err();
    let text = report.to_string();
    assert!(text.contains("cannot read the scenario `no/such.toml`"), "{text}");
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
