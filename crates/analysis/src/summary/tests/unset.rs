//! Settings that the server was given, and processes that did not have them.

use std::collections::BTreeMap;

use crate::findings::{doubts, setting};
use crate::summary::{PurgeFailure, Summary, is_denied};
use base::lens::Lens;
use record::golden::Session;
use record::{
    AllocatorFacts, AllocatorFamily, Close, Confidence, Ending, Entry, Environment, Event, KnobFacts, LensFacts,
    Libraries, PreloadFacts,
};

use crate::golden::summarised;

const NAME: &str = "MIMALLOC_PURGE_DELAY";

/// A wrapper of 5 MiB and a server of 80 MiB under it, that were looked at like this before the only checkpoint.
fn session(seen: Vec<Event>) -> Session {
    let mut session = Session::new("server");
    session.header.server.knobs = vec![KnobFacts {
        variable: NAME.to_owned(),
        requested: "0".to_owned(),
        effective: Some("0".to_owned()),
        seen: Some("its list".to_owned()),
        taken: Some(true),
        ..KnobFacts::default()
    }];
    session.spawn(0, "sh", None, 5, 0);
    session.spawn(1, "ty", Some(0), 80, 4);
    session.phase("start");
    session.settle(true);
    put_before_checkpoint(&mut session, seen);
    session
}

fn put_before_checkpoint(session: &mut Session, events: Vec<Event>) {
    let place = session
        .entries
        .iter()
        .position(|entry| matches!(entry.event, Event::Checkpoint(_)))
        .unwrap();
    for event in events {
        let at = session.at;
        session.entries.insert(place, Entry { at, event });
    }
}

/// The process has the variable with its value.
fn has(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        given: vec![NAME.to_owned()],
        ..Environment::default()
    })
}

/// The process does not have the variable.
fn lacks(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        missing: vec![NAME.to_owned()],
        ..Environment::default()
    })
}

/// The process has the variable with another value.
fn differs(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        other: BTreeMap::from([(NAME.to_owned(), "10".to_owned())]),
        ..Environment::default()
    })
}

/// The sentences about all settings of a run.
fn settings(summary: &Summary) -> Vec<String> {
    summary.header.server.knobs.iter().map(setting).collect()
}

/// The programs without the setting, each with its value, in a tree of a wrapper, a server of 4 MiB and a helper.
fn programs_without(wrapper: u64, helper: u64) -> Vec<(String, Option<String>)> {
    let mut session = Session::new("server");
    session.header.server.knobs = vec![KnobFacts {
        variable: NAME.to_owned(),
        requested: "0".to_owned(),
        taken: Some(true),
        ..KnobFacts::default()
    }];
    session.spawn(0, "python3", None, wrapper, 0);
    session.spawn(1, "ty", Some(0), 4, 0);
    session.spawn(2, "helper", Some(0), helper, 0);
    session.phase("start");
    session.settle(true);
    put_before_checkpoint(&mut session, vec![has(0), differs(1), lacks(2)]);
    summarised(&session)
        .allocator
        .unset
        .into_iter()
        .map(|unset| (unset.program, unset.value))
        .collect()
}

#[test]
fn a_small_server_under_a_large_wrapper_is_one_without_its_setting() {
    let ty = ("ty".to_owned(), Some("10".to_owned()));
    assert_eq!(programs_without(7, 1), [ty]);
    assert_eq!(programs_without(7, 8), [("helper".to_owned(), None)]);
    assert_eq!(programs_without(80, 1), [], "less than a tenth of the memory");
    assert_eq!(programs_without(80, 6), [("helper".to_owned(), None)], "more, together");
}

#[test]
fn a_setting_is_in_force_where_the_process_with_the_memory_has_it() {
    let seen = format!("{NAME}=0, seen in its list");
    for events in [
        Vec::new(),
        vec![has(0), has(1)],
        // The process with the memory matters, and in the second case it is unknown.
        vec![lacks(0), has(1)],
        vec![lacks(0)],
    ] {
        let summary = summarised(&session(events));
        assert_eq!(
            (settings(&summary), summary.allocator.unset.len()),
            (vec![seen.clone()], 0)
        );
    }
    let place = "the environment of `ty`, which holds 78.4 of 83.3 MiB";
    let summary = summarised(&session(vec![has(0), lacks(1)]));
    assert_eq!(settings(&summary), [format!("{NAME}=0 was set, but is not in {place}")]);
    let summary = summarised(&session(vec![has(0), differs(1)]));
    assert_eq!(
        settings(&summary),
        [format!("{NAME}=0 was set, but 10 is in force according to {place}")]
    );
}

#[test]
fn a_wrapper_that_only_adds_an_option_leaves_the_setting_in_force() {
    for (value, is_in_force) in [
        ("confirm_conf:true,dirty_decay_ms:0,narenas:2", true),
        ("confirm_conf:true,dirty_decay_ms:0,dirty_decay_ms:5", false),
        ("narenas:2", false),
    ] {
        let name = "MALLOC_CONF".to_owned();
        let mut session = session(vec![Event::Environment(Environment {
            process: 1,
            other: BTreeMap::from([(name.clone(), value.to_owned())]),
            ..Environment::default()
        })]);
        let requested = "confirm_conf:true,dirty_decay_ms:0".to_owned();
        session.header.server.env = BTreeMap::from([(name, requested)]);
        let unset = summarised(&session).allocator.unset;
        assert_eq!(unset.len(), usize::from(!is_in_force), "{value}");
    }
}

/// The run of a server with a preloaded library, and the reports of two processes in MiB.
fn accounted(held: Option<&[u64]>, family: AllocatorFamily, ending: Ending) -> Summary {
    let path = "/lib/je.so";
    let mut session = session(Vec::new());
    session.header.server.preload = Some(PreloadFacts {
        path: path.to_owned(),
        ..PreloadFacts::default()
    });
    session.header.server.allocator = Some(AllocatorFacts {
        family,
        confidence: Some(Confidence::Certain),
        ..AllocatorFacts::default()
    });
    session.header.server.knobs[0] = KnobFacts {
        variable: "LD_PRELOAD".to_owned(),
        requested: path.to_owned(),
        effective: Some(path.to_owned()),
        seen: Some("what the loader bound".to_owned()),
        taken: Some(true),
        ..KnobFacts::default()
    };
    session.put(Event::Closed(Close {
        held: held.map(|held| held.iter().map(|mib| mib << 20).collect()),
        ..Close::default()
    }));
    session.put(Event::Ended(ending));
    summarised(&session)
}

#[test]
fn what_is_preloaded_serves_where_it_had_the_memory_by_its_own_account() {
    use AllocatorFamily::{Jemalloc, Mimalloc, Tbbmalloc, V8};
    let bound = "LD_PRELOAD=/lib/je.so, seen in what the loader bound";
    let unconfirmed = "LD_PRELOAD=/lib/je.so was set; whether it is in force is not known, only its loading (no allocator gave an \
                       account of its memory when the server ended) was checked";
    let unused_4 = "LD_PRELOAD=/lib/je.so was set, but is not in use by `ty`: it had at most 4.0 of the 78.4 MiB";
    let unused_16 = "LD_PRELOAD=/lib/je.so was set, but is not in use by `ty`: it had at most 16.0 of the 78.4 MiB";
    let seen = "LD_PRELOAD=/lib/je.so, seen in its own account: it had at most 70.0 MiB, `ty` 78.4 MiB";
    for (held, family, words) in [
        (Some([4, 70].as_slice()), Jemalloc, seen),
        (Some(&[1, 4]), Jemalloc, unused_4),
        // One of two processes did not report, and it may have the memory.
        (Some(&[4]), Jemalloc, unconfirmed),
        (Some(&[]), Jemalloc, unconfirmed),
        (Some(&[]), Tbbmalloc, unconfirmed),
        // No process was asked.
        (None, Jemalloc, bound),
        // It takes 32 MiB at once, used or not: that it had them says nothing, and that it had no more does.
        (Some(&[70, 1]), Mimalloc, bound),
        (Some(&[32, 1]), Mimalloc, bound),
        (Some(&[16, 1]), Mimalloc, unused_16),
        // A virtual machine has its own heap, outside of `malloc`.
        (Some(&[1, 4]), V8, bound),
    ] {
        let summary = accounted(held, family, Ending::Completed);
        let server = &summary.header.server;
        assert_eq!(settings(&summary), [words], "{held:?}");
        assert_eq!(server.preload.is_some(), !words.contains("is not in use"), "{held:?}");
        let knob = &server.knobs[0];
        assert_eq!(is_denied(knob), knob.taken != Some(true), "{held:?}");
        let certain = server
            .allocator
            .as_ref()
            .is_some_and(|one| one.confidence == Some(Confidence::Certain));
        assert_eq!(certain, knob.taken == Some(true), "{held:?}");
    }
    let crashed = Ending::Crashed {
        code: Some(1),
        signal: None,
        during: String::new(),
    };
    let crashed = accounted(Some(&[]), Jemalloc, crashed);
    assert_eq!(settings(&crashed), [bound], "it could give none");
}

#[test]
fn what_is_preloaded_and_serves_a_part_is_said_to() {
    for (held, family, served) in [
        (36, AllocatorFamily::Jemalloc, Some("36.0")),
        (32, AllocatorFamily::Mimalloc, Some("32.0")),
        (70, AllocatorFamily::Jemalloc, None),
        (64, AllocatorFamily::Mimalloc, None),
    ] {
        let summary = accounted(Some(&[held, 1]), family, Ending::Completed);
        let texts: Vec<String> = doubts(&summary).into_iter().map(|doubt| doubt.text).collect();
        let expected = served.map(|served| {
            format!("the preloaded allocator served at most {served} of the 78.4 MiB of `ty`, by its own statistics")
        });
        assert_eq!(texts, expected.into_iter().collect::<Vec<String>>(), "{held}");
    }
}

#[test]
fn through_the_purged_lens_memory_counts_where_all_but_a_trifle_was_told() {
    for (events, counts, verified) in [
        (Vec::new(), true, true),
        (vec![has(0), has(1)], true, true),
        (vec![has(0), lacks(1)], false, false),
        (vec![lacks(0), has(1)], false, false),
        (vec![has(0), differs(1)], false, false),
    ] {
        let mut session = session(events);
        session.header.server.lens = LensFacts {
            name: Lens::Purged,
            env: BTreeMap::from([(NAME.to_owned(), "0".to_owned())]),
            verified: Some(true),
            ..LensFacts::default()
        };
        let summary = summarised(&session);
        assert_eq!(summary.phases[0].private.is_some(), counts);
        assert_eq!(summary.header.server.lens.verified, Some(verified));
        let whys = summary.allocator.unpurged.iter().flat_map(|one| &one.processes);
        assert!(whys.clone().all(|one| one.why == PurgeFailure::Unset(NAME.to_owned())));
        assert_eq!(whys.count(), usize::from(!counts));
    }
}

/// A run with a preloaded library, before whose checkpoint this was seen.
fn run_with_preload(path: &str, seen: Vec<Event>) -> Summary {
    let mut session = session(seen);
    session.header.server.preload = Some(PreloadFacts {
        path: path.to_owned(),
        ..PreloadFacts::default()
    });
    session.header.server.knobs[0] = KnobFacts {
        variable: "LD_PRELOAD".to_owned(),
        requested: path.to_owned(),
        taken: Some(true),
        ..KnobFacts::default()
    };
    summarised(&session)
}

#[test]
fn what_is_preloaded_counts_where_the_process_with_the_memory_has_mapped_it() {
    let path = "/lib/je.so";
    assert!(run_with_preload(path, Vec::new()).header.server.preload.is_some());
    let missing = Event::Libraries(Libraries {
        process: 1,
        mapped: Vec::new(),
        missing: vec![path.to_owned()],
    });
    let summary = run_with_preload(path, vec![missing]);
    assert_eq!(summary.header.server.preload, None, "it is no more called preloaded");
    assert_eq!(
        settings(&summary),
        ["LD_PRELOAD=/lib/je.so was set, but is not in what `ty` has mapped, which holds 78.4 of 83.3 MiB"]
    );
}
