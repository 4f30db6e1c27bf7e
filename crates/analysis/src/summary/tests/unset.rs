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
    let taken = |entry: &Entry| matches!(entry.event, Event::Checkpoint(_));
    let place = session.entries.iter().position(taken).unwrap();
    for event in seen {
        let at = session.at;
        session.entries.insert(place, Entry { at, event });
    }
    session
}

fn has(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        given: vec![NAME.to_owned()],
        ..Environment::default()
    })
}

fn lacks(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        missing: vec![NAME.to_owned()],
        ..Environment::default()
    })
}

fn other(process: u32) -> Event {
    Event::Environment(Environment {
        process,
        other: BTreeMap::from([(NAME.to_owned(), "10".to_owned())]),
        ..Environment::default()
    })
}

fn told(summary: &Summary) -> Vec<String> {
    summary.header.server.knobs.iter().map(setting).collect()
}

#[test]
fn a_small_server_under_a_large_wrapper_is_one_without_its_setting() {
    let of_sizes = |wrapper, helper| {
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
        let taken = |entry: &Entry| matches!(entry.event, Event::Checkpoint(_));
        let place = session.entries.iter().position(taken).unwrap();
        for event in [has(0), other(1), lacks(2)] {
            let at = session.at;
            session.entries.insert(place, Entry { at, event });
        }
        let unset = summarised(&session).unset;
        unset
            .into_iter()
            .map(|one| (one.program, one.value))
            .collect::<Vec<_>>()
    };
    let ty = ("ty".to_owned(), Some("10".to_owned()));
    assert_eq!(of_sizes(7, 1), [ty]);
    assert_eq!(of_sizes(7, 8), [("helper".to_owned(), None)]);
    assert_eq!(of_sizes(80, 1), [], "less than a tenth of the memory");
    assert_eq!(of_sizes(80, 6), [("helper".to_owned(), None)], "more, together");
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
        assert_eq!((told(&summary), summary.unset.len()), (vec![seen.clone()], 0));
    }
    let place = "the environment of `ty`, which holds 78.4 of 83.3 MiB";
    let summary = summarised(&session(vec![has(0), lacks(1)]));
    assert_eq!(told(&summary), [format!("{NAME}=0 was set, but is not in {place}")]);
    let summary = summarised(&session(vec![has(0), other(1)]));
    assert_eq!(
        told(&summary),
        [format!("{NAME}=0 was set, but 10 is in force according to {place}")]
    );
}

#[test]
fn a_wrapper_that_only_adds_an_option_leaves_the_setting_in_force() {
    let with = |now: &str| {
        let name = "MALLOC_CONF".to_owned();
        let mut session = session(vec![Event::Environment(Environment {
            process: 1,
            other: BTreeMap::from([(name.clone(), now.to_owned())]),
            ..Environment::default()
        })]);
        let given = "confirm_conf:true,dirty_decay_ms:0".to_owned();
        session.header.server.env = BTreeMap::from([(name, given)]);
        summarised(&session).unset.len()
    };
    assert_eq!(with("confirm_conf:true,dirty_decay_ms:0,narenas:2"), 0);
    assert_eq!(with("confirm_conf:true,dirty_decay_ms:0,dirty_decay_ms:5"), 1);
    assert_eq!(with("narenas:2"), 1);
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
    let unused =
        |held: &str| format!("LD_PRELOAD=/lib/je.so was set, but is not in use by `ty`: it had at most {held}");
    let seen = "LD_PRELOAD=/lib/je.so, seen in its own account: it had at most 70.0 MiB, `ty` 78.4 MiB";
    for (held, family, words) in [
        (Some([4, 70].as_slice()), Jemalloc, seen.to_owned()),
        (Some(&[1, 4]), Jemalloc, unused("4.0 of the 78.4 MiB")),
        // One of two processes did not report, and it may have the memory.
        (Some(&[4]), Jemalloc, unconfirmed.to_owned()),
        (Some(&[]), Jemalloc, unconfirmed.to_owned()),
        (Some(&[]), Tbbmalloc, unconfirmed.to_owned()),
        // No process was asked.
        (None, Jemalloc, bound.to_owned()),
        // It takes 32 MiB at once, used or not: that it had them says nothing, and that it had no more does.
        (Some(&[70, 1]), Mimalloc, bound.to_owned()),
        (Some(&[32, 1]), Mimalloc, bound.to_owned()),
        (Some(&[16, 1]), Mimalloc, unused("16.0 of the 78.4 MiB")),
        // A virtual machine has its own heap, outside of `malloc`.
        (Some(&[1, 4]), V8, bound.to_owned()),
    ] {
        let summary = accounted(held, family, Ending::Completed);
        let server = &summary.header.server;
        assert_eq!(told(&summary), [words.as_str()], "{held:?}");
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
    assert_eq!(told(&crashed), [bound], "it could give none");
}

#[test]
fn what_is_preloaded_and_serves_a_part_is_said_to() {
    let doubts = |held: &[u64], family| {
        let summary = accounted(Some(held), family, Ending::Completed);
        doubts(&summary).into_iter().map(|doubt| doubt.text).collect::<Vec<_>>()
    };
    let part = |held: &str| {
        format!("the preloaded allocator served at most {held} of the 78.4 MiB of `ty`, by its own statistics")
    };
    assert_eq!(doubts(&[36, 1], AllocatorFamily::Jemalloc), [part("36.0")]);
    assert_eq!(doubts(&[32, 1], AllocatorFamily::Mimalloc), [part("32.0")]);
    assert!(doubts(&[70, 1], AllocatorFamily::Jemalloc).is_empty());
    assert!(doubts(&[64, 1], AllocatorFamily::Mimalloc).is_empty());
}

#[test]
fn through_the_purged_lens_memory_counts_where_all_but_a_trifle_was_told() {
    for (events, counts, verified) in [
        (Vec::new(), true, true),
        (vec![has(0), has(1)], true, true),
        (vec![has(0), lacks(1)], false, false),
        (vec![lacks(0), has(1)], false, false),
        (vec![has(0), other(1)], false, false),
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
        let whys = summary.unpurged.iter().flat_map(|one| &one.processes);
        assert!(whys.clone().all(|one| one.why == PurgeFailure::Unset(NAME.to_owned())));
        assert_eq!(whys.count(), usize::from(!counts));
    }
}

#[test]
fn what_is_preloaded_counts_where_the_process_with_the_memory_has_mapped_it() {
    let path = "/lib/je.so";
    let missing = |process| {
        Event::Libraries(Libraries {
            process,
            mapped: Vec::new(),
            missing: vec![path.to_owned()],
        })
    };
    let with = |seen: Vec<Event>| {
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
    };
    assert!(with(Vec::new()).header.server.preload.is_some());
    let summary = with(vec![missing(1)]);
    assert_eq!(summary.header.server.preload, None, "it is no more called preloaded");
    assert_eq!(
        told(&summary),
        ["LD_PRELOAD=/lib/je.so was set, but is not in what `ty` has mapped, which holds 78.4 of 83.3 MiB"]
    );
}
