//! Determines from the options in force when an allocator returns freed memory.

mod runtime;

use std::collections::BTreeMap;
use std::time::Duration;

use record::{AllocatorDecay, AllocatorFamily, Delay, nanos};

pub use runtime::{RuntimeSettings, VARIABLES};

/// jemalloc's default `dirty_decay_ms`; its muzzy time is 0.
const JEMALLOC_DIRTY: f64 = 10_000.0;

/// `None` if unknown, also for an unreadable option. `options` are those that the allocator prints; the others have their
/// defaults. `told` is what a runtime reads when it starts.
pub fn decay(
    family: AllocatorFamily,
    options: &BTreeMap<String, String>,
    told: RuntimeSettings<'_>,
) -> Option<AllocatorDecay> {
    let untimed = AllocatorDecay {
        idle: false,
        delay: Delay::Untimed,
        lazy: false,
        runtime: None,
    };
    match family {
        AllocatorFamily::Jemalloc => jemalloc(options),
        // It purges only when some thread of the program calls it.
        AllocatorFamily::Mimalloc => Some(AllocatorDecay {
            delay: mimalloc(options)?,
            ..untimed
        }),
        AllocatorFamily::Glibc if cfg!(target_os = "linux") => Some(untimed),
        AllocatorFamily::Go => Some(runtime::go(told)),
        AllocatorFamily::V8 => runtime::v8(told),
        AllocatorFamily::Jvm => runtime::jvm(told),
        AllocatorFamily::Pymalloc => Some(runtime::cpython()),
        AllocatorFamily::Musl
        | AllocatorFamily::Tcmalloc
        | AllocatorFamily::Tbbmalloc
        | AllocatorFamily::Snmalloc
        | AllocatorFamily::Rpmalloc => Some(untimed),
        AllocatorFamily::Glibc | AllocatorFamily::Scudo | AllocatorFamily::Unknown => None,
    }
}

/// Dirty pages become muzzy (`MADV_FREE`) and then clean. A muzzy time of 0 skips the second stage; a negative one
/// leaves the pages to the kernel, which reclaims them when memory is short: they are released, though resident until
/// then.
fn jemalloc(options: &BTreeMap<String, String>) -> Option<AllocatorDecay> {
    let dirty = match options.get("dirty_decay_ms") {
        Some(value) => value.parse().ok()?,
        None => JEMALLOC_DIRTY,
    };
    let muzzy: f64 = match options.get("muzzy_decay_ms") {
        Some(value) => value.parse().ok()?,
        None => 0.0,
    };
    let has_thread = options.get("background_thread").is_some_and(|value| value == "true");
    let delay = if dirty < 0.0 { dirty } else { dirty + muzzy.max(0.0) };
    Some(AllocatorDecay {
        idle: has_thread || delay == 0.0,
        delay: delay_of_millis(delay),
        lazy: dirty >= 0.0 && muzzy < 0.0,
        runtime: None,
    })
}

/// The delay of a whole arena, which is longer than that of a page. Versions before 2.1 have other names for both.
fn mimalloc(options: &BTreeMap<String, String>) -> Option<Delay> {
    if let Some(delay) = first_number("purge_delay", options) {
        let factor = first_number("arena_purge_mult", options).unwrap_or(1.0);
        return Some(delay_of_millis(delay * factor));
    }
    let delay = first_number("segment_decommit_delay", options).or_else(|| first_number("decommit_delay", options))?;
    Some(delay_of_millis(delay))
}

/// The number at the beginning of an option's value.
fn first_number(option: &str, options: &BTreeMap<String, String>) -> Option<f64> {
    options.get(option)?.split_whitespace().next()?.parse().ok()
}

/// A negative time is for ever.
fn delay_of_millis(milliseconds: f64) -> Delay {
    if milliseconds < 0.0 {
        return Delay::Never;
    }
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0);
    time.map_or(Delay::Never, |time| Delay::After(nanos(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decay_with(family: AllocatorFamily, options: &[(&str, &str)]) -> Option<AllocatorDecay> {
        let options = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = BTreeMap::new();
        decay(family, &options.collect(), RuntimeSettings { env: &env, words: &[] })
    }

    fn jemalloc_with(options: &[(&str, &str)]) -> Option<AllocatorDecay> {
        decay_with(AllocatorFamily::Jemalloc, options)
    }

    fn mimalloc_with(options: &[(&str, &str)]) -> Option<AllocatorDecay> {
        decay_with(AllocatorFamily::Mimalloc, options)
    }

    fn millis(idle: bool, millis: u64) -> Option<AllocatorDecay> {
        Some(AllocatorDecay {
            idle,
            delay: Delay::After(millis * 1_000_000),
            lazy: false,
            runtime: None,
        })
    }

    #[test]
    fn jemalloc_gives_back_in_silence_only_with_its_thread_or_at_once() {
        let thread = ("background_thread", "true");
        for (options, decay) in [
            (&[][..], millis(false, 10_000)),
            (&[thread, ("dirty_decay_ms", "1000")], millis(true, 1_000)),
            (&[thread, ("muzzy_decay_ms", "5000")], millis(true, 15_000)),
            (&[("dirty_decay_ms", "0")], millis(true, 0)),
            (&[("dirty_decay_ms", "soon")], None),
        ] {
            assert_eq!(jemalloc_with(options), decay, "{options:?}");
        }
        let never = jemalloc_with(&[thread, ("dirty_decay_ms", "-1")]);
        assert_eq!(never.map(|decay| decay.delay), Some(Delay::Never));
    }

    #[test]
    fn jemalloc_that_leaves_muzzy_pages_to_the_kernel_gives_back_lazily() {
        let (thread, muzzy) = (("background_thread", "true"), ("muzzy_decay_ms", "-1"));
        let second = jemalloc_with(&[thread, muzzy, ("dirty_decay_ms", "1000")]).expect("it is known");
        assert_eq!((second.idle, second.lazy), (true, true));
        assert_eq!(second.delay, Delay::After(1_000_000_000));
        let no_thread = jemalloc_with(&[muzzy]).expect("it is known");
        assert_eq!((no_thread.idle, no_thread.lazy), (false, true));
        let at_once = jemalloc_with(&[muzzy, ("dirty_decay_ms", "0")]).expect("it is known");
        assert_eq!((at_once.idle, at_once.delay), (true, Delay::After(0)));
        let never = jemalloc_with(&[muzzy, ("dirty_decay_ms", "-1")]).expect("it is known");
        assert_eq!((never.delay, never.lazy), (Delay::Never, false));
        let eager = jemalloc_with(&[("muzzy_decay_ms", "5000")]).expect("it is known");
        assert!(!eager.lazy);
    }

    #[test]
    fn mimalloc_waits_as_long_as_its_arenas_and_for_a_call() {
        for (options, delay) in [
            ([("purge_delay", "1000"), ("arena_purge_mult", "1")], 1_000),
            ([("purge_delay", "10"), ("arena_purge_mult", "10")], 100),
            ([("decommit_delay", "25"), ("segment_decommit_delay", "500")], 500),
        ] {
            assert_eq!(mimalloc_with(&options), millis(false, delay), "{options:?}");
        }
        let never = mimalloc_with(&[("purge_delay", "-1")]);
        assert_eq!(never.map(|decay| decay.delay), Some(Delay::Never));
        assert_eq!(mimalloc_with(&[]), None);
    }

    #[test]
    fn what_has_no_clock_is_not_waited_for_and_a_runtime_has_its_own() {
        for family in [
            AllocatorFamily::Snmalloc,
            AllocatorFamily::Tcmalloc,
            AllocatorFamily::Musl,
        ] {
            let decay = decay_with(family, &[]).expect("it is known");
            assert_eq!((decay.idle, decay.delay), (false, Delay::Untimed), "{}", family.name());
        }
        for family in [AllocatorFamily::Scudo, AllocatorFamily::Unknown] {
            assert_eq!(decay_with(family, &[]), None, "{}", family.name());
        }
        for family in [AllocatorFamily::Go, AllocatorFamily::V8, AllocatorFamily::Pymalloc] {
            let decay = decay_with(family, &[]).expect("it is known");
            assert!(decay.runtime.is_some(), "{}", family.name());
        }
    }
}
