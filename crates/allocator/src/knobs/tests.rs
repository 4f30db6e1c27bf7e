//! Tests of the variables that fit an allocator, without any process.

use super::*;
use base::Cancel;
use record::{AllocatorFacts, Confidence};

fn inspected(family: AllocatorFamily, variable: Option<&str>) -> Inspected {
    let has_prefix = variable.is_some_and(|name| name.starts_with("_RJEM"));
    Inspected {
        node: family == AllocatorFamily::V8,
        facts: AllocatorFacts {
            family,
            version: Some("1.2".to_owned()),
            variable: variable.map(str::to_owned),
            prefix: if has_prefix { Some("_rjem_".to_owned()) } else { None },
            confidence: Some(Confidence::Certain),
            ..AllocatorFacts::default()
        },
        ..Inspected::default()
    }
}

fn refused(variable: &str, inspected: &Inspected) -> Option<String> {
    let family = reader(variable).expect("a setting of an allocator");
    let result = check_reader(variable, family, inspected, None);
    result.err().map(|error| error.to_string())
}

#[test]
fn a_variable_of_another_allocator_is_refused_with_the_one_that_works() {
    use AllocatorFamily as Family;
    let rust = inspected(Family::Jemalloc, Some("_RJEM_MALLOC_CONF"));
    let plain = inspected(Family::Jemalloc, Some("MALLOC_CONF"));
    for (variable, inspected, ends) in [
        (
            "MALLOC_CONF",
            &rust,
            "with the prefix `_rjem_`; set `_RJEM_MALLOC_CONF`",
        ),
        ("_RJEM_MALLOC_CONF", &plain, "built without a prefix; set `MALLOC_CONF`"),
        (
            "MALLOC_ARENA_MAX",
            &rust,
            "set `_RJEM_MALLOC_CONF`, such as _RJEM_MALLOC_CONF=dirty_decay_ms:1000",
        ),
        ("MIMALLOC_PURGE_DELAY", &rust, "_RJEM_MALLOC_CONF=dirty_decay_ms:1000"),
        (
            "GOGC",
            &inspected(Family::Glibc, None),
            "set `GLIBC_TUNABLES`, or such as `MALLOC_ARENA_MAX`",
        ),
        (
            "NODE_OPTIONS",
            &inspected(Family::Go, None),
            "set `GOGC`, `GOMEMLIMIT` or `GODEBUG`",
        ),
        (
            "MALLOC_CONF",
            &inspected(Family::Snmalloc, None),
            "it reads no variables; remove it",
        ),
        (
            "MALLOC_CONF",
            &inspected(Family::Mimalloc, None),
            "such as `MIMALLOC_PURGE_DELAY`",
        ),
        (
            "TCMALLOC_RELEASE_RATE",
            &inspected(Family::V8, None),
            "set `NODE_OPTIONS`",
        ),
    ] {
        let refused = refused(variable, inspected).unwrap_or_default();
        assert!(refused.ends_with(ends), "{variable}: {refused}");
    }
}

#[test]
fn what_fits_is_not_refused() {
    use AllocatorFamily as Family;
    let mut node = inspected(Family::V8, None);
    node.facts.beside = Some("glibc 2.36".to_owned());
    for (variable, inspected) in [
        (
            "_RJEM_MALLOC_CONF",
            &inspected(Family::Jemalloc, Some("_RJEM_MALLOC_CONF")),
        ),
        ("MALLOC_CONF", &inspected(Family::Jemalloc, None)),
        ("MIMALLOC_ALLOW_THP", &inspected(Family::Mimalloc, None)),
        ("GLIBC_TUNABLES", &inspected(Family::Glibc, None)),
        ("MALLOC_ARENA_MAX", &node),
        ("NODE_OPTIONS", &node),
    ] {
        assert_eq!(refused(variable, inspected), None, "{variable}");
    }
}

#[test]
fn a_setting_of_v8_is_for_the_program_that_holds_it() {
    let mut deno = inspected(AllocatorFamily::V8, Some(DENO));
    deno.node = false;
    assert_eq!(refused(DENO, &deno), None);
    let text = refused("NODE_OPTIONS", &deno).unwrap_or_default();
    assert!(
        text.ends_with("which reads `DENO_V8_FLAGS`; set `DENO_V8_FLAGS`"),
        "{text}"
    );
    let text = refused(DENO, &inspected(AllocatorFamily::V8, None)).unwrap_or_default();
    assert!(text.ends_with("does not read it; set `NODE_OPTIONS`"), "{text}");
    // A Go program's launcher runs in Node.js, without the memory that matters.
    let text = refused("NODE_OPTIONS", &inspected(AllocatorFamily::Go, None)).unwrap_or_default();
    assert!(text.contains("this server uses go 1.2"), "{text}");
    assert_eq!(
        refused("PYTHONMALLOC", &inspected(AllocatorFamily::Pymalloc, None)),
        None
    );
}

#[test]
fn an_allocator_that_nobody_knows_takes_no_setting_unless_a_profile_names_it() {
    let unknown = Inspected::default();
    let refused = refused("MALLOC_CONF", &unknown).unwrap_or_default();
    assert!(refused.contains("name it in a profile"), "{refused}");
    let declared = Some(AllocatorFamily::Jemalloc);
    assert_eq!(
        check_reader("MALLOC_CONF", AllocatorFamily::Jemalloc, &unknown, declared),
        Ok(())
    );
}

#[test]
fn an_allocator_that_cpython_does_not_have_is_refused_whatever_starts_it() {
    for (value, is_known) in [
        ("malloc", true),
        ("pymalloc_debug", true),
        ("", true),
        ("foo", false),
        ("Malloc", false),
    ] {
        let error = runtime::unknown_allocator(PYTHON, value);
        assert_eq!(error.is_none(), is_known, "{value}");
    }
    let text = runtime::unknown_allocator(PYTHON, "foo").unwrap().to_string();
    assert!(
        text.contains("PYTHONMALLOC=foo") && text.ends_with("write malloc, pymalloc or mimalloc (since 3.13)"),
        "{text}"
    );
}

#[test]
fn what_only_a_guess_speaks_against_is_not_refused() {
    let mut inspected = inspected(AllocatorFamily::Glibc, None);
    inspected.facts.confidence = Some(Confidence::Guess);
    for variable in ["GOGC", "_RJEM_MALLOC_CONF", "NODE_OPTIONS"] {
        let checked = check_one(variable, "50", &inspected).unwrap();
        assert_eq!((checked.knobs.len(), checked.knobs[0].taken), (1, None));
    }
    inspected.facts.confidence = Some(Confidence::Likely);
    let error = check_one("GOGC", "50", &inspected).unwrap_err();
    assert!(
        error.contains("unless its profile says `allocator = { linked = \"go\" }`"),
        "{error}"
    );
}

/// Checks one setting. An error is the text of the first mistake.
fn check_one(variable: &str, value: &str, inspected: &Inspected) -> Result<Checked, String> {
    let env = BTreeMap::from([(variable.to_owned(), value.to_owned())]);
    let result = check(&env, &Subject::default(), inspected, None, &Cancel::default());
    result.map_err(|errors| errors[0].to_string())
}

#[test]
fn settings_of_java_are_refused_by_other_runtimes_and_passed_on_by_what_may_start_it() {
    use AllocatorFamily as Family;
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        for (family, is_refused) in [
            (Family::Pymalloc, true),
            (Family::V8, true),
            (Family::Go, true),
            (Family::Jvm, false),
            (Family::Glibc, false),
            (Family::Unknown, false),
        ] {
            let text = refused(variable, &inspected(family, None));
            assert_eq!(text.is_some(), is_refused, "{variable} {family}: {text:?}");
        }
    }
}

#[test]
fn python_takes_its_objects_from_where_it_is_told_to() {
    use AllocatorFamily as Family;
    let mut python = inspected(Family::Pymalloc, None).facts;
    python.beside = Some("glibc 2.36".to_owned());
    for (value, family, version) in [
        ("malloc", Family::Glibc, Some("2.36")),
        ("malloc_debug", Family::Glibc, Some("2.36")),
        ("mimalloc", Family::Mimalloc, None),
        ("pymalloc_debug", Family::Pymalloc, Some("1.2")),
        ("", Family::Pymalloc, Some("1.2")),
    ] {
        let env = BTreeMap::from([(PYTHON.to_owned(), value.to_owned())]);
        let facts = facts_under_variables(&env, python.clone());
        assert_eq!((facts.family, facts.version.as_deref()), (family, version), "{value}");
    }
    let env = BTreeMap::from([(PYTHON.to_owned(), "malloc".to_owned())]);
    assert_eq!(
        facts_under_variables(&env, inspected(Family::V8, None).facts).family,
        Family::V8
    );
}

#[test]
fn variables_of_other_things_are_no_settings() {
    for variable in ["PATH", "RUST_LOG", "LD_PRELOAD", "CONF"] {
        assert_eq!(reader(variable), None, "{variable}");
    }
}

#[test]
fn only_what_is_near_by_its_own_part_is_suggested() {
    let tunables = ["glibc.malloc.check", "glibc.malloc.arena_max", "glibc.rtld.nns"];
    for (written, text) in [
        ("glibc.malloc.nosuch", "none"),
        ("glibc.malloc.chek", "did you mean `glibc.malloc.check`?"),
        ("glibc.maloc.arena_max", "did you mean `glibc.malloc.arena_max`?"),
    ] {
        assert_eq!(suggestion(written, tunables.into_iter(), "none"), text);
    }
    let options = ["MIMALLOC_VERBOSE", "MIMALLOC_PURGE_DELAY"];
    assert_eq!(suggestion("MIMALLOC_NOSUCH", options.into_iter(), "none"), "none");
    assert_eq!(
        suggestion("MIMALLOC_PURGE_DELY", options.into_iter(), "none"),
        "did you mean `MIMALLOC_PURGE_DELAY`?"
    );
    assert_eq!(
        suggestion("dirty_dekay_ms", ["dirty_decay_ms"].into_iter(), ""),
        "did you mean `dirty_decay_ms`?"
    );
}

#[test]
fn what_sets_nothing_of_memory_is_no_setting() {
    assert!(!concerns("MALLOC_TRACE"));
    assert!(concerns("MALLOC_TRACE_"), "nobody has that");
}

#[cfg(unix)]
#[test]
fn what_node_goes_on_without_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let node = directory.path().join("node");
    let text = "#!/bin/sh\ncase $NODE_OPTIONS in *=-3) echo Error: out of bounds >&2;; esac\n";
    std::fs::write(&node, text).unwrap();
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut inspected = inspected(AllocatorFamily::V8, None);
    (inspected.file, inspected.node) = (node, true);
    let checked = check_one("NODE_OPTIONS", "--max-old-space-size=300", &inspected).unwrap();
    assert_eq!(checked.knobs[0].taken, Some(true));
    for (value, why) in [
        ("--max-semi-space-size=-3", "Node.js says `Error: out of bounds`"),
        (
            "--expose-gc --max-old-space-size=",
            "`--max-old-space-size=` has no value",
        ),
    ] {
        let error = check_one("NODE_OPTIONS", value, &inspected).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
