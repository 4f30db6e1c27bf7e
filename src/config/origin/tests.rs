//! Where a workspace comes from, as it is written.

use super::*;

const SHA: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The origin of `--workspace`, in a directory where every file has the same hash.
fn named(text: &str) -> Result<Origin, OriginError> {
    origin_of(&Workspace::default(), Some(text), None, Isolation::Copy)
}

fn origin_of(
    workspace: &Workspace,
    text: Option<&str>,
    setup: Option<&str>,
    isolation: Isolation,
) -> Result<Origin, OriginError> {
    let context = Context {
        workspace: text.map(Path::new),
        setup,
        isolation,
        directory: Path::new("here"),
        absolute: Path::new("/here"),
        sum: &|path| path.starts_with("/here").then(|| SHA.to_owned()),
    };
    origin(workspace, &context)
}

fn pin(origin: Result<Origin, OriginError>) -> Pin {
    match origin {
        Ok(Origin::Pinned(pin)) => pin,
        other => panic!("it is not pinned: {other:?}"),
    }
}

#[test]
fn a_short_text_is_an_origin_and_anything_else_is_a_path() {
    for (text, shown) in [
        ("pypi:prefect==3.9.1", "pypi:prefect==3.9.1"),
        ("pypi:prefect@3.9.1rc1", "pypi:prefect==3.9.1rc1"),
        ("crate:ripgrep@14.1.0", "crate:ripgrep@14.1.0"),
        ("crate:ripgrep==14.1.0", "crate:ripgrep@14.1.0"),
        ("npm:@scope/server@1.2.3-rc.1", "npm:@scope/server@1.2.3-rc.1"),
        (
            "git:https://example.org/a.git#ABCDEF0",
            "git:https://example.org/a.git#abcdef0",
        ),
        ("git:git@example.org:a.git#abcdef0", "git:git@example.org:a.git#abcdef0"),
        ("git://example.org/a.git#abcdef0", "git:git://example.org/a.git#abcdef0"),
        ("git:../a#abcdef0", "git:/here/../a#abcdef0"),
    ] {
        assert_eq!(pin(named(text)).source.to_string(), shown, "{text}");
    }
    for place in ["https://example.org/a.zip", "file:///tmp/a.tgz", "/tmp/a.tgz"] {
        let text = format!("archive:{place}#sha256={SHA}");
        assert_eq!(pin(named(&text)).source.to_string(), text);
    }
    for path in ["shop", "./pypi:prefect", "C:\\shop", "a:b", ""] {
        let directory = Origin::Directory(Path::new("here").join(path));
        assert_eq!(named(path), Ok(directory), "{path}");
    }
}

/// Each of these texts is refused with this title and this cure.
fn refused(texts: &[(&str, &str, &str)]) {
    for (text, title, cure) in texts {
        let error = named(text).expect_err(text);
        assert!(error.title.contains(title), "{text}: {}", error.title);
        assert!(error.cure.contains(cure), "{text}: {}", error.cure);
        assert!(!error.title.contains("secret"), "{}", error.title);
    }
}

#[test]
fn a_package_without_one_exact_version_is_refused_with_a_cure() {
    refused(&[
        ("pypi:prefect>=3", "is no name of a package", "`pypi:NAME==VERSION`"),
        (
            "pypi:prefect==3.*",
            "`3.*` in `pypi:prefect==3.*` is no exact version",
            "`pypi:prefect==3.9.1`",
        ),
        ("pypi:-r==1", "`-r` is no name", "`pypi:NAME==VERSION`"),
        ("pypi:../x==1", "`../x` is no name", "`pypi:NAME==VERSION`"),
        ("npm:express@latest", "`latest` in", "`npm:express@14.1.0`"),
        ("crate:ripgrep@14.1", "`14.1` in", "`crate:ripgrep@14.1.0`"),
        ("npm:express@4.18.x", "`4.18.x` in", "write one version in full"),
    ]);
}

#[test]
fn a_version_may_be_left_open_where_it_is_typed_and_not_in_a_file() {
    for text in ["pypi:prefect", "npm:@scope/server", "crate:ripgrep"] {
        assert_eq!(pin(named(text)).source.to_string(), text);
        let file = Workspace {
            path: text.to_owned(),
            ..Workspace::default()
        };
        let error = origin_of(&file, None, None, Isolation::Copy).expect_err(text);
        assert_eq!(
            error.title,
            format!("`{text}` has no version, so its files change from time to time")
        );
    }
    assert!(is_version_of("pypi:prefect==3.9.1", "pypi:prefect"));
    for typed in ["pypi:prefect==3.9.1", "pypi:pre", "pypi:django", "prefect"] {
        assert!(!is_version_of("pypi:prefect==3.9.1", typed), "{typed}");
    }
}

#[test]
fn a_repository_without_a_commit_and_an_archive_without_a_sum_are_refused_with_a_cure() {
    let found = format!("the file has `sha256={SHA}`");
    refused(&[
        (
            "git:https://example.org/a",
            "has no revision",
            "git ls-remote https://example.org/a",
        ),
        (
            "git:https://example.org/a#main",
            "`main` is no hash",
            "git ls-remote https://example.org/a main",
        ),
        (
            "git:https://example.org/a#abcdef",
            "`abcdef` is no hash",
            "at least 7 digits",
        ),
        ("git:--upload-pack=x#abcdef0", "git has no URL", "write `git = "),
        (
            "git:https://me:secret@example.org/a#abcdef0",
            "has a password",
            "credential helper",
        ),
        ("archive:a.tgz", "`a.tgz` has no SHA-256", found.as_str()),
        (
            "archive:/other/a.tgz",
            "has no SHA-256",
            "`sha256sum /other/a.tgz` prints it",
        ),
        (
            "archive:https://example.org/a.tgz",
            "has no SHA-256",
            "`curl -L https://example.org/a.tgz | sha256sum`",
        ),
        (
            "archive:a.tgz#sha256=12",
            "`12` is no SHA-256, which has 64 digits",
            found.as_str(),
        ),
        (
            "archive:ftp://example.org/a.tgz",
            "is no archive",
            "file, http or https",
        ),
    ]);
}

#[test]
fn a_table_names_one_origin_and_nothing_that_belongs_to_another() {
    let text = |text: &str| Some(text.to_owned());
    let git = Workspace {
        git: text("https://example.org/a"),
        rev: text("abcdef0"),
        setup: text("make"),
        ..Workspace::default()
    };
    let pinned = pin(origin_of(&git, None, None, Isolation::Overlay));
    assert_eq!((pinned.source.key(), pinned.setup.as_deref()), ("git", Some("make")));
    assert_eq!(
        pin(origin_of(&git, None, Some("true"), Isolation::Copy))
            .setup
            .as_deref(),
        Some("true")
    );
    // `--workspace` replaces it with its setup.
    assert_eq!(
        pin(origin_of(&git, Some("pypi:a==1"), None, Isolation::Copy)).setup,
        None
    );
    let wrong = |workspace: Workspace| origin_of(&workspace, None, None, Isolation::Copy).expect_err("it is wrong");
    let two = wrong(Workspace {
        npm: text("express@4.18.2"),
        ..git.clone()
    });
    assert_eq!(
        (two.key, two.title.as_str()),
        ("git", "the workspace has two origins, `npm` and `git`")
    );
    let stray = wrong(Workspace {
        path: "shop".to_owned(),
        rev: text("abcdef0"),
        ..Workspace::default()
    });
    assert!(
        stray.key == "rev" && stray.title.contains("belongs to `git`"),
        "{stray:?}"
    );
    let setup = wrong(Workspace {
        path: "shop".to_owned(),
        setup: text("make"),
        ..Workspace::default()
    });
    assert!(
        setup.key == "setup" && setup.title.contains("needs a pinned workspace"),
        "{setup:?}"
    );
    let branch = wrong(Workspace {
        rev: text("main"),
        ..git.clone()
    });
    assert_eq!(branch.key, "rev");
    let in_place = origin_of(&git, None, None, Isolation::InPlace).expect_err("it would be changed");
    assert_eq!(in_place.key, "isolation");
    assert_eq!(wrong(Workspace::default()).title, "the workspace has no path");
}

#[test]
fn a_pinned_workspace_has_a_short_name() {
    for (written, name) in [
        ("pypi:black==26.10.1", Some("black-26.10.1")),
        ("npm:@vue/shared@3.5.0", Some("@vue/shared-3.5.0")),
        ("git:https://example.org/shop.git#abc", Some("shop")),
        ("archive:/tmp/shop.tar.gz#sha256=00", Some("shop.tar.gz")),
        ("some/where", None),
    ] {
        assert_eq!(short_name(written).as_deref(), name);
    }
}
