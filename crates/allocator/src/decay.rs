//! When an allocator returns freed memory, by the options in force.

mod runtime;

use std::collections::BTreeMap;
use std::time::Duration;

use record::{AllocatorDecay, AllocatorFamily, Delay, nanos};

pub use runtime::{Told, VARIABLES};

/// jemalloc's default `dirty_decay_ms`; its muzzy time is 0.
const JEMALLOC_DIRTY: f64 = 10_000.0;

/// `None` if unknown, also for an unreadable option. `options` are those that the allocator prints; the others have their
/// defaults. `told` is what a runtime reads when it starts.
pub fn decay(family: AllocatorFamily, options: &BTreeMap<String, String>, told: Told<'_>) -> Option<AllocatorDecay> {
    let option = |name: &str| options.get(name).map(String::as_str);
    let untimed = AllocatorDecay {
        idle: false,
        delay: Delay::Untimed,
        lazy: false,
        runtime: None,
    };
    match family {
        AllocatorFamily::Jemalloc => jemalloc(&option),
        // It purges only when some thread of the program calls it.
        AllocatorFamily::Mimalloc => Some(AllocatorDecay {
            delay: mimalloc(&option)?,
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
fn jemalloc<'o>(option: &dyn Fn(&str) -> Option<&'o str>) -> Option<AllocatorDecay> {
    let time = |name, otherwise: f64| option(name).map_or(Some(otherwise), |value| value.parse::<f64>().ok());
    let (dirty, muzzy) = (time("dirty_decay_ms", JEMALLOC_DIRTY)?, time("muzzy_decay_ms", 0.0)?);
    let delay = if dirty < 0.0 { dirty } else { dirty + muzzy.max(0.0) };
    Some(AllocatorDecay {
        idle: option("background_thread") == Some("true") || delay == 0.0,
        delay: after(delay),
        lazy: dirty >= 0.0 && muzzy < 0.0,
        runtime: None,
    })
}

/// The delay of a whole arena, which is longer than that of a page. Versions before 2.1 have other names for both.
fn mimalloc<'o>(option: &dyn Fn(&str) -> Option<&'o str>) -> Option<Delay> {
    let number = |name| option(name)?.split_whitespace().next()?.parse::<f64>().ok();
    match number("purge_delay") {
        Some(delay) => Some(after(delay * number("arena_purge_mult").unwrap_or(1.0))),
        None => Some(after(number("segment_decommit_delay").or(number("decommit_delay"))?)),
    }
}

/// A time in milliseconds; negative is for ever.
fn after(milliseconds: f64) -> Delay {
    if milliseconds < 0.0 {
        return Delay::Never;
    }
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0);
    time.map_or(Delay::Never, |time| Delay::After(nanos(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(family: AllocatorFamily, options: &[(&str, &str)]) -> Option<AllocatorDecay> {
        let options = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env = BTreeMap::new();
        decay(family, &options.collect(), Told { env: &env, words: &[] })
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
        let told = |options: &[(&str, &str)]| of(AllocatorFamily::Jemalloc, options);
        let thread = ("background_thread", "true");
        assert_eq!(told(&[]), millis(false, 10_000));
        assert_eq!(told(&[thread, ("dirty_decay_ms", "1000")]), millis(true, 1_000));
        assert_eq!(told(&[thread, ("muzzy_decay_ms", "5000")]), millis(true, 15_000));
        assert_eq!(told(&[("dirty_decay_ms", "0")]), millis(true, 0));
        assert_eq!(told(&[("dirty_decay_ms", "soon")]), None);
        let never = told(&[thread, ("dirty_decay_ms", "-1")]);
        assert_eq!(never.map(|decay| decay.delay), Some(Delay::Never));
    }

    #[test]
    fn jemalloc_that_leaves_muzzy_pages_to_the_kernel_gives_back_lazily() {
        let told = |options: &[(&str, &str)]| of(AllocatorFamily::Jemalloc, options).expect("it is known");
        let (thread, muzzy) = (("background_thread", "true"), ("muzzy_decay_ms", "-1"));
        let second = told(&[thread, muzzy, ("dirty_decay_ms", "1000")]);
        assert_eq!((second.idle, second.lazy), (true, true));
        assert_eq!(second.delay, Delay::After(1_000_000_000));
        let without = told(&[muzzy]);
        assert_eq!((without.idle, without.lazy), (false, true));
        let at_once = told(&[muzzy, ("dirty_decay_ms", "0")]);
        assert_eq!((at_once.idle, at_once.delay), (true, Delay::After(0)));
        let never = told(&[muzzy, ("dirty_decay_ms", "-1")]);
        assert_eq!((never.delay, never.lazy), (Delay::Never, false));
        assert!(!told(&[("muzzy_decay_ms", "5000")]).lazy);
    }

    #[test]
    fn mimalloc_waits_as_long_as_its_arenas_and_for_a_call() {
        let told = |options: &[(&str, &str)]| of(AllocatorFamily::Mimalloc, options);
        assert_eq!(
            told(&[("purge_delay", "1000"), ("arena_purge_mult", "1")]),
            millis(false, 1_000)
        );
        assert_eq!(
            told(&[("purge_delay", "10"), ("arena_purge_mult", "10")]),
            millis(false, 100)
        );
        assert_eq!(
            told(&[("decommit_delay", "25"), ("segment_decommit_delay", "500")]),
            millis(false, 500)
        );
        let never = told(&[("purge_delay", "-1")]);
        assert_eq!(never.map(|decay| decay.delay), Some(Delay::Never));
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn what_has_no_clock_is_not_waited_for_and_a_runtime_has_its_own() {
        for family in [
            AllocatorFamily::Snmalloc,
            AllocatorFamily::Tcmalloc,
            AllocatorFamily::Musl,
        ] {
            let decay = of(family, &[]).expect("it is known");
            assert_eq!((decay.idle, decay.delay), (false, Delay::Untimed), "{}", family.name());
        }
        for family in [AllocatorFamily::Scudo, AllocatorFamily::Unknown] {
            assert_eq!(of(family, &[]), None, "{}", family.name());
        }
        for family in [AllocatorFamily::Go, AllocatorFamily::V8, AllocatorFamily::Pymalloc] {
            let decay = of(family, &[]).expect("it is known");
            assert!(decay.runtime.is_some(), "{}", family.name());
        }
    }
}
