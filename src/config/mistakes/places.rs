//! Mistakes in several places: in files that include each other, on the command line, or both.

use super::{HEAD, START, mistakes};
use crate::config::{Isolation, Overrides};

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
        // A consequence of an unreadable file is no separate mistake.
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
fn a_result_must_be_a_phase_of_the_scenario() {
    let result = |name: &str| format!("result = \"{name}\"\n{HEAD}{START}");
    let diagnostic = format!("{HEAD}{START}diagnostic = true\n");
    for (text, told) in [
        (result("strat"), "did you mean `start`?"),
        (result("nothing-like-it"), "there are start"),
        (diagnostic, "every phase is diagnostic"),
    ] {
        let report = mistakes(&[("bad.toml", &text)], &Overrides::default());
        assert!(report.contains(told), "{report}");
    }
}
