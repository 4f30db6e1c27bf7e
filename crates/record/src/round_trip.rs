//! Property test: a journal reads back exactly as written.

use std::time::Duration;

use proptest::prelude::*;

use super::read::Reader;
use super::tests::{Disk, header, warning};
use super::{
    Checkpoint, Clock, CommandEnd, Counters, Ending, Environment, Event, Journal, Libraries, Outcome, PhaseRef,
    Release, ReleasedBy, Releaser, Request, Rollup, Sample, SelfReport, StepEnd, WindowStart,
};

fn number() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(any::<u64>())
}

fn counters() -> impl Strategy<Value = Counters> {
    (
        (number(), number(), number(), number()),
        (number(), number(), number()),
        proptest::option::of(any::<bool>()),
    )
        .prop_map(
            |((resident, private, file, shared), (high_water, user, threads), forked)| Counters {
                resident,
                private,
                file,
                shared,
                high_water,
                user,
                threads,
                forked,
                ..Counters::default()
            },
        )
}

fn sample() -> impl Strategy<Value = Sample> {
    (any::<u32>(), counters()).prop_map(|(process, counters)| Sample { process, counters })
}

fn rollup() -> impl Strategy<Value = Rollup> {
    (any::<u32>(), any::<u64>(), proptest::option::of(any::<u64>())).prop_map(|(process, size, anonymous)| Rollup {
        process,
        resident: size,
        proportional_anonymous: anonymous,
        cost: size,
        ..Rollup::default()
    })
}

fn phase() -> impl Strategy<Value = PhaseRef> {
    (any::<u32>(), any::<u32>(), any::<String>()).prop_map(|(phase, cycle, name)| PhaseRef { phase, cycle, name })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Hit),
        Just(Outcome::Null),
        Just(Outcome::Lost),
        (any::<i64>(), any::<String>()).prop_map(|(code, message)| Outcome::Error { code, message }),
    ]
}

fn release() -> impl Strategy<Value = Release> {
    let used = (any::<String>(), any::<u64>()).prop_map(|(what, took)| Releaser {
        by: ReleasedBy::Allocator,
        answer: what.clone(),
        what,
        pid: u32::try_from(took).ok(),
        accounted: took.checked_sub(1),
        took,
    });
    let used = proptest::collection::vec(used, 0..3);
    (used, any::<String>(), number(), number()).prop_map(|(used, why, before, after)| Release {
        used,
        missing: vec![why],
        before,
        after,
        took: 3,
    })
}

fn step_end() -> impl Strategy<Value = StepEnd> {
    let release = proptest::option::of(release());
    (phase(), any::<String>(), any::<u64>(), any::<bool>(), release).prop_map(
        |(phase, name, requests, skipped, release)| StepEnd {
            phase,
            step: 1,
            requests,
            hits: 0,
            notifications: 2,
            cancelled: 0,
            parked: 0,
            files_written: 0,
            files_watched: None,
            pulls_open: 0,
            skipped,
            looked_for: None,
            idle: None,
            left_open: None,
            self_report: release.as_ref().map(|release| SelfReport {
                asked: Some(name.clone()),
                accounted: release.before,
                ..SelfReport::default()
            }),
            name,
            release,
        },
    )
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(any::<String>(), 0..3)
}

fn environment() -> impl Strategy<Value = Environment> {
    let other = proptest::collection::btree_map(any::<String>(), any::<String>(), 0..3);
    (any::<u32>(), names(), other, names()).prop_map(|(process, given, other, missing)| Environment {
        process,
        given,
        other,
        missing,
    })
}

fn libraries() -> impl Strategy<Value = Libraries> {
    (any::<u32>(), names(), names()).prop_map(|(process, mapped, missing)| Libraries {
        process,
        mapped,
        missing,
    })
}

fn request() -> impl Strategy<Value = Event> {
    (
        any::<String>(),
        proptest::option::of(any::<u64>()),
        outcome(),
        any::<u32>(),
    )
        .prop_map(|(method, latency, outcome, retries)| {
            Event::Request(Request {
                method,
                latency,
                outcome,
                bytes: 1,
                items: None,
                editor: retries % 2 == 1,
                retries,
            })
        })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        sample().prop_map(Event::Sample),
        rollup().prop_map(Event::Rollup),
        phase().prop_map(Event::PhaseStarted),
        step_end().prop_map(|end| Event::StepEnded(Box::new(end))),
        (phase(), any::<u32>()).prop_map(|(phase, step)| Event::WindowBegan(WindowStart { phase, step })),
        phase().prop_map(Event::ReleaseBegan),
        environment().prop_map(Event::Environment),
        libraries().prop_map(Event::Libraries),
        request(),
        (
            phase(),
            proptest::collection::vec(proptest::collection::vec(sample(), 0..3), 0..3),
            rollup()
        )
            .prop_map(|(phase, rounds, rollup)| {
                let unsettled = String::new();
                let rollups = vec![rollup];
                Event::Checkpoint(Checkpoint {
                    phase,
                    settled: true,
                    waited: 1,
                    unsettled,
                    rounds,
                    rollups,
                    resources: None,
                    released: None,
                })
            }),
        (proptest::option::of(any::<i32>()), any::<String>()).prop_map(|(code, during)| Event::Ended(
            Ending::Crashed {
                code,
                signal: None,
                during
            }
        )),
        any::<(Option<i32>, u64, Option<u64>)>().prop_map(|(code, wall, read)| Event::Command(CommandEnd {
            code,
            wall,
            read,
            floor: read,
            ..CommandEnd::default()
        })),
        any::<String>().prop_map(|text| warning(&text)),
    ]
}

proptest! {
    #[test]
    fn entries_come_back_as_they_were_written(
        entries in proptest::collection::vec((any::<u64>(), event()), 0..20)
    ) {
        let disk = Disk::with_room(usize::MAX);
        let (journal, end) = Journal::with_storage(disk.clone(), &header(), Clock::start(), Duration::from_secs(60)).unwrap();
        for (at, event) in &entries {
            journal.write_at(*at, event.clone());
        }
        end.finish().unwrap();
        let bytes = disk.content();
        let mut reader = Reader::new(&bytes[..]).unwrap();
        prop_assert_eq!(reader.header(), &header());
        let read: Vec<(u64, Event)> = reader.by_ref().map(|entry| entry.unwrap()).map(|entry| (entry.at, entry.event)).collect();
        prop_assert_eq!(read, entries);
        prop_assert!(!reader.is_truncated());
    }
}
