//! Unreadable or truncated files, and projects without files.

use std::path::Path;

use super::{HEAD, START, mistakes};
use crate::config::{Overrides, load_scenario};

#[test]
fn several_mistakes_of_syntax_are_all_told() {
    let report = mistakes(
        &[("bad.toml", "format = \nname = 'x'\n[workspace\npath = shop\n")],
        &Overrides::default(),
    );
    shown!(report);
}

#[test]
fn a_scenario_that_is_not_there_is_named() {
    let report = load_scenario(Path::new("no/such.toml"), &Overrides::default(), &|_| None).unwrap_err();
    let text = report.to_string();
    assert!(text.contains("cannot read the scenario `no/such.toml`"), "{text}");
}

#[test]
fn a_project_of_other_peoples_code_alone_says_what_was_not_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let packages = directory.path().join("lib/python3.11/site-packages/shop");
    std::fs::create_dir_all(&packages).unwrap();
    std::fs::write(packages.join("a.py"), "").unwrap();
    let overrides = Overrides {
        workspace: Some(directory.path().to_owned()),
        ..Overrides::default()
    };
    let report = mistakes(&[("good.toml", &format!("{HEAD}{START}"))], &overrides);
    for words in [
        "a cache or hidden: `lib/python3.11/site-packages`; make it the workspace",
        "--files 'lib/python3.11/site-packages/**/*.py'",
    ] {
        assert!(report.contains(words), "{report}");
    }
}

#[test]
fn a_file_that_is_no_text_is_told_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let latin = write("latin.toml", b"format = 1\n# caf\xe9\n");
    let text = load_scenario(&latin, &Overrides::default(), &|_| None)
        .unwrap_err()
        .to_string();
    assert!(text.contains("latin.toml`: line 2 is not UTF-8"), "{text}");
    assert!(text.contains("save it as UTF-8"), "{text}");
    let outer = write("outer.toml", b"format = 1\nname = 'x'\ninclude = ['latin.toml']\n");
    let text = load_scenario(&outer, &Overrides::default(), &|_| None)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("cannot read the included `latin.toml`: line 2 is not UTF-8"),
        "{text}"
    );
}
