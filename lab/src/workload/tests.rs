//! Every workload, briefly.

use std::ops::RangeInclusive;

use clap::{Parser, ValueEnum};

use super::{Workload, alloc_test, cache_scratch, larson, mpsc, redis_like, sh6, sh8, spawn, xmalloc};
use crate::options::Options;

fn run(line: &str) -> (Options, crate::trial::Outcome) {
    let options = Options::parse_from(line.split(' '));
    let outcome = options.workload.run(&options);
    (options, outcome)
}

/// The bytes that one thread may hold at the end, as its description has it.
fn live_bytes(workload: Workload) -> RangeInclusive<usize> {
    let batch = sh6::LARGEST * sh6::BATCH;
    match workload {
        Workload::Spawn => spawn::BATCH * spawn::RESULT.0..=spawn::BATCH * spawn::RESULT.1,
        Workload::Mpsc => 0..=mpsc::ROUND.1,
        Workload::Larson => larson::SLOTS * larson::SIZE.0..=larson::SLOTS * larson::SIZE.1,
        Workload::Xmalloc => 0..=(xmalloc::ROOM + 1) * (xmalloc::BATCH << xmalloc::POWERS.1),
        Workload::Sh6 => sh6::KEPT..=sh6::KEPT * sh6::LARGEST + 2 * batch,
        Workload::Sh8 => 1..=(sh8::ROOM + 2) * batch,
        Workload::AllocTest => 1 << alloc_test::SLOT_POWER..=1 << (alloc_test::SLOT_POWER + alloc_test::POWERS.1),
        Workload::CacheScratch => cache_scratch::OBJECT..=cache_scratch::OBJECT,
        Workload::RedisLike => redis_like::LIMIT / 4..=redis_like::LIMIT,
    }
}

#[test]
fn every_workload_works_and_holds_what_its_description_says() {
    for workload in Workload::value_variants() {
        for threads in [1, 2] {
            let (_, outcome) = run(&format!("lab {workload} --seconds 0.05 --threads {threads}"));
            let name = format!("{workload} with {threads} threads");
            assert!(outcome.operations > 0, "{name}");
            assert!(outcome.seconds > 0.0, "{name}");
            let one = live_bytes(*workload);
            let all = one.start() * threads..=one.end() * threads;
            assert!(
                all.contains(&outcome.live_bytes),
                "{name}: {} not in {all:?}",
                outcome.live_bytes
            );
        }
    }
}

#[test]
fn a_bounded_channel_holds_no_more_than_it_has_room_for() {
    let (options, outcome) = run("lab mpsc --bounded --payload 64KiB --seconds 0.05 --threads 3");
    assert!(outcome.operations > 0);
    assert!(
        outcome.live_bytes <= (mpsc::ROOM + options.threads() + 1) * 65_536,
        "{}",
        outcome.live_bytes
    );
}

#[test]
fn the_smallest_message_has_its_round() {
    let (_, outcome) = run("lab mpsc --payload 8B --seconds 0.02 --threads 1");
    assert!(outcome.operations > 0);
    assert!(outcome.live_bytes <= 8 * mpsc::round(8), "{}", outcome.live_bytes);
}
