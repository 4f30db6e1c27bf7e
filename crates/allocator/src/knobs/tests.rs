//! Which variables fit which allocators, without any process.

use super::*;
use record::{AllocatorFacts, Confidence};

fn found(family: AllocatorFamily, variable: Option<&str>) -> Detection {
    Detection {
        node: family == AllocatorFamily::V8,
        facts: AllocatorFacts {
            family,
            version: Some("1.2".to_owned()),
            variable: variable.map(str::to_owned),
            prefix: variable
                .filter(|name| name.starts_with("_RJEM"))
                .map(|_| "_rjem_".to_owned()),
            confidence: Some(Confidence::Certain),
            ..AllocatorFacts::default()
        },
        ..Detection::default()
    }
}

fn refused(variable: &str, detection: &Detection) -> Option<String> {
    let family = reader(variable).expect("a setting of an allocator");
    let fits = fits(variable, family, detection, None);
    fits.err().map(|error| error.to_string())
}

#[test]
fn a_variable_of_another_allocator_is_refused_with_the_one_that_works() {
    use AllocatorFamily as Family;
    let rust = found(Family::Jemalloc, Some("_RJEM_MALLOC_CONF"));
    let plain = found(Family::Jemalloc, Some("MALLOC_CONF"));
    for (variable, detection, ends) in [
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
            &found(Family::Glibc, None),
            "set `GLIBC_TUNABLES`, or such as `MALLOC_ARENA_MAX`",
        ),
        (
            "NODE_OPTIONS",
            &found(Family::Go, None),
            "set `GOGC`, `GOMEMLIMIT` or `GODEBUG`",
        ),
        (
            "MALLOC_CONF",
            &found(Family::Snmalloc, None),
            "it reads no variables; remove it",
        ),
        (
            "MALLOC_CONF",
            &found(Family::Mimalloc, None),
            "such as `MIMALLOC_PURGE_DELAY`",
        ),
        ("TCMALLOC_RELEASE_RATE", &found(Family::V8, None), "set `NODE_OPTIONS`"),
    ] {
        let refused = refused(variable, detection).unwrap_or_default();
        assert!(refused.ends_with(ends), "{variable}: {refused}");
    }
}

#[test]
fn what_fits_is_not_refused() {
    use AllocatorFamily as Family;
    let mut node = found(Family::V8, None);
    node.facts.beside = Some("glibc 2.36".to_owned());
    for (variable, detection) in [
        ("_RJEM_MALLOC_CONF", &found(Family::Jemalloc, Some("_RJEM_MALLOC_CONF"))),
        ("MALLOC_CONF", &found(Family::Jemalloc, None)),
        ("MIMALLOC_ALLOW_THP", &found(Family::Mimalloc, None)),
        ("GLIBC_TUNABLES", &found(Family::Glibc, None)),
        ("MALLOC_ARENA_MAX", &node),
        ("NODE_OPTIONS", &node),
    ] {
        assert_eq!(refused(variable, detection), None, "{variable}");
    }
}

#[test]
fn a_setting_of_v8_is_for_the_program_that_holds_it() {
    let mut deno = found(AllocatorFamily::V8, Some(DENO));
    deno.node = false;
    assert_eq!(refused(DENO, &deno), None);
    let said = refused("NODE_OPTIONS", &deno).unwrap_or_default();
    assert!(
        said.ends_with("which reads `DENO_V8_FLAGS`; set `DENO_V8_FLAGS`"),
        "{said}"
    );
    let said = refused(DENO, &found(AllocatorFamily::V8, None)).unwrap_or_default();
    assert!(said.ends_with("does not read it; set `NODE_OPTIONS`"), "{said}");
    // A Go program's launcher runs in Node.js, without the memory that matters.
    let said = refused("NODE_OPTIONS", &found(AllocatorFamily::Go, None)).unwrap_or_default();
    assert!(said.contains("this server uses go 1.2"), "{said}");
    assert_eq!(refused("PYTHONMALLOC", &found(AllocatorFamily::Pymalloc, None)), None);
}

#[test]
fn an_allocator_that_nobody_knows_takes_no_setting_unless_a_profile_names_it() {
    let unknown = Detection::default();
    let refused = refused("MALLOC_CONF", &unknown).unwrap_or_default();
    assert!(refused.contains("name it in a profile"), "{refused}");
    let declared = Some(AllocatorFamily::Jemalloc);
    assert_eq!(
        fits("MALLOC_CONF", AllocatorFamily::Jemalloc, &unknown, declared),
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
    let said = runtime::unknown_allocator(PYTHON, "foo").unwrap().to_string();
    assert!(
        said.contains("PYTHONMALLOC=foo") && said.ends_with("write malloc, pymalloc or mimalloc (since 3.13)"),
        "{said}"
    );
}

#[test]
fn what_only_a_guess_speaks_against_is_not_refused() {
    let of = |confidence, variable: &str| {
        let mut detection = found(AllocatorFamily::Glibc, None);
        detection.facts.confidence = Some(confidence);
        let env = BTreeMap::from([(variable.to_owned(), "50".to_owned())]);
        check(&env, &Subject::default(), &detection, None, &|| false)
    };
    for variable in ["GOGC", "_RJEM_MALLOC_CONF", "NODE_OPTIONS"] {
        let checked = of(Confidence::Guess, variable).unwrap();
        assert_eq!((checked.knobs.len(), checked.knobs[0].taken), (1, None));
    }
    let said = of(Confidence::Likely, "GOGC").unwrap_err()[0].to_string();
    assert!(
        said.contains("unless its profile says `allocator = { linked = \"go\" }`"),
        "{said}"
    );
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
            let said = refused(variable, &found(family, None));
            assert_eq!(said.is_some(), is_refused, "{variable} {family}: {said:?}");
        }
    }
}

#[test]
fn python_takes_its_objects_from_where_it_is_told_to() {
    use AllocatorFamily as Family;
    let mut python = found(Family::Pymalloc, None).facts;
    python.beside = Some("glibc 2.36".to_owned());
    for (value, family, version) in [
        ("malloc", Family::Glibc, Some("2.36")),
        ("malloc_debug", Family::Glibc, Some("2.36")),
        ("mimalloc", Family::Mimalloc, None),
        ("pymalloc_debug", Family::Pymalloc, Some("1.2")),
        ("", Family::Pymalloc, Some("1.2")),
    ] {
        let env = BTreeMap::from([(PYTHON.to_owned(), value.to_owned())]);
        let facts = under(&env, python.clone());
        assert_eq!((facts.family, facts.version.as_deref()), (family, version), "{value}");
    }
    let env = BTreeMap::from([(PYTHON.to_owned(), "malloc".to_owned())]);
    assert_eq!(under(&env, found(Family::V8, None).facts).family, Family::V8);
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
    for (written, said) in [
        ("glibc.malloc.nosuch", "none"),
        ("glibc.malloc.chek", "did you mean `glibc.malloc.check`?"),
        ("glibc.maloc.arena_max", "did you mean `glibc.malloc.arena_max`?"),
    ] {
        assert_eq!(near(written, tunables.into_iter(), "none"), said);
    }
    let options = ["MIMALLOC_VERBOSE", "MIMALLOC_PURGE_DELAY"];
    assert_eq!(near("MIMALLOC_NOSUCH", options.into_iter(), "none"), "none");
    assert_eq!(
        near("MIMALLOC_PURGE_DELY", options.into_iter(), "none"),
        "did you mean `MIMALLOC_PURGE_DELAY`?"
    );
    assert_eq!(
        near("dirty_dekay_ms", ["dirty_decay_ms"].into_iter(), ""),
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
    let mut detection = found(AllocatorFamily::V8, None);
    (detection.file, detection.node) = (node, true);
    let of = |value: &str| {
        let env = BTreeMap::from([("NODE_OPTIONS".to_owned(), value.to_owned())]);
        check(&env, &Subject::default(), &detection, None, &|| false).map_err(|errors| errors[0].to_string())
    };
    assert_eq!(of("--max-old-space-size=300").unwrap().knobs[0].taken, Some(true));
    for (value, why) in [
        ("--max-semi-space-size=-3", "Node.js says `Error: out of bounds`"),
        (
            "--expose-gc --max-old-space-size=",
            "`--max-old-space-size=` has no value",
        ),
    ] {
        let said = of(value).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}
