//! Determines when a runtime that collects garbage returns memory by itself: by its own clock, or never. Every time is
//! from the runtime's sources. Runtimes that lsp-soak does not recognise (.NET, BEAM, Lua, OCaml) have none here.

use std::collections::BTreeMap;

use record::{AllocatorDecay, Delay, Nanos, Runtime};

const MILLISECOND: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MILLISECOND;

/// Go collects after two minutes without a collection (`forcegcperiod` in runtime/proc.go of Go 1.26), or up to a minute
/// later, since an idle `sysmon` sleeps for half of that. The background scavenger then returns what exceeds the heap
/// goal by a tenth (`retainExtraPercent` in runtime/mgcscavenge.go), in 1 % of the processor time: seconds for hundreds
/// of MiB. So twice this time holds one collection and all of its release.
const GO_FORCED_COLLECTION: Nanos = 120 * SECOND;

/// V8's memory reducer starts 8 s after a full collection by the program, up to three times half a second apart, and
/// tries again as long after if the program still allocates (`kLongDelayMs`, `kMaxNumberOfGCs` and `kShortDelayMs` in
/// src/heap/memory-reducer.cc of V8 11.3; `gc_memory_reducer_start_delay_ms` is as long).
const V8_MEMORY_REDUCER: Nanos = 8 * SECOND;

/// `ZUncommitDelay` (gc/z/z_globals.hpp of OpenJDK 17). Unused memory is there only after a collection, which ZGC itself
/// begins after five minutes without one (`rule_proactive` in gc/z/zDirector.cpp).
const ZGC_UNCOMMIT: Nanos = 300 * SECOND;
const ZGC_PROACTIVE: Nanos = 300 * SECOND;

/// `ShenandoahUncommitDelay`, checked every tenth of it, and `ShenandoahGuaranteedGCInterval`
/// (gc/shenandoah/shenandoah_globals.hpp and shenandoahControlThread.cpp of OpenJDK 17).
const SHENANDOAH_UNCOMMIT: Nanos = 300 * SECOND;
const SHENANDOAH_COLLECTION: Nanos = 300 * SECOND;

/// The settings that a runtime reads when it starts.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeSettings<'t> {
    /// The variables of the process.
    pub env: &'t BTreeMap<String, String>,
    /// The words of its command line, as far as they are known.
    pub words: &'t [String],
}

/// The variables that change when a runtime returns memory.
pub const VARIABLES: [&str; 7] = [
    "GOGC", "GODEBUG", "NODE_OPTIONS", "DENO_V8_FLAGS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
];

/// A runtime that releases nothing by itself.
fn releases_nothing(runtime: Runtime) -> AllocatorDecay {
    AllocatorDecay {
        idle: false,
        delay: Delay::Untimed,
        lazy: false,
        runtime: Some(runtime),
    }
}

/// A runtime that releases memory while it is idle.
fn releases_after(delay: Nanos, runtime: Runtime) -> AllocatorDecay {
    AllocatorDecay {
        idle: true,
        delay: Delay::After(delay),
        lazy: false,
        runtime: Some(runtime),
    }
}

/// An arena is freed as soon as it is empty (Objects/obmalloc.c), and only allocations start a collection (Python/gc.c).
/// The rest is up to the C library, which has no clock either.
pub(super) fn cpython() -> AllocatorDecay {
    releases_nothing(Runtime::Cpython)
}

/// A negative percentage also ends forced collections (`gcTrigger.test` in runtime/mgc.go). The last of two equal settings
/// of `GODEBUG` counts.
pub(super) fn go(told: RuntimeSettings<'_>) -> AllocatorDecay {
    if let Some(percentage) = told.env.get("GOGC")
        && (percentage == "off" || percentage.parse::<i32>().is_ok_and(|number| number < 0))
    {
        return releases_nothing(Runtime::Go);
    }
    let debug = told.env.get("GODEBUG").map_or("", String::as_str);
    let mut advice = debug.split(',').filter_map(|pair| pair.strip_prefix("madvdontneed="));
    AllocatorDecay {
        lazy: cfg!(target_os = "linux") && advice.next_back() == Some("0"),
        ..releases_after(GO_FORCED_COLLECTION, Runtime::Go)
    }
}

/// The reducer does nothing without incremental marking (`MemoryReducer::Step`). `None` if a time cannot be read.
pub(super) fn v8(told: RuntimeSettings<'_>) -> Option<AllocatorDecay> {
    let mut delay = V8_MEMORY_REDUCER;
    let (mut has_reducer, mut has_marking) = (true, true);
    for flag in v8_flags(told) {
        let flag = flag.replace('_', "-");
        match flag.as_str() {
            "memory-reducer" => has_reducer = true,
            "no-memory-reducer" | "nomemory-reducer" => has_reducer = false,
            "incremental-marking" => has_marking = true,
            "no-incremental-marking" | "noincremental-marking" => has_marking = false,
            _ => {}
        }
        if let Some(millis) = flag.strip_prefix("gc-memory-reducer-start-delay-ms=") {
            let millis: u64 = millis.parse().ok()?;
            delay = millis.saturating_mul(MILLISECOND).max(V8_MEMORY_REDUCER);
        }
    }
    if !has_reducer || !has_marking {
        return Some(releases_nothing(Runtime::V8));
    }
    Some(releases_after(delay, Runtime::V8))
}

/// The flags of V8 without `--`, from the variables and then from the command line.
fn v8_flags(told: RuntimeSettings<'_>) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for name in ["NODE_OPTIONS", "DENO_V8_FLAGS"] {
        if let Some(flags) = told.env.get(name) {
            words.extend(flags.split([' ', ',']));
        }
    }
    for word in told.words {
        words.extend(word.strip_prefix("--v8-flags=").unwrap_or(word).split(','));
    }
    words.into_iter().filter_map(|word| word.strip_prefix("--")).collect()
}

/// Options of a Java virtual machine that decide which collector it has and when that returns memory.
#[derive(Default)]
struct Machine {
    collector: Option<Runtime>,
    /// The values of the options in [`TIMES`].
    numbers: BTreeMap<String, u64>,
    /// The options that are switched off.
    off: Vec<String>,
    least_heap: Option<String>,
    most_heap: Option<String>,
}

/// Reads the options in the order in which a virtual machine does: of two equal ones the last counts. `None` if one cannot
/// be read.
pub(super) fn jvm(told: RuntimeSettings<'_>) -> Option<AllocatorDecay> {
    let mut machine = Machine::default();
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
        machine.read_variable(name, told)?;
    }
    for word in told.words {
        machine.read(word)?;
    }
    machine.read_variable("_JAVA_OPTIONS", told)?;
    Some(machine.decay())
}

impl Machine {
    /// Reads the words of a variable; `None` if one cannot be read.
    fn read_variable(&mut self, name: &str, told: RuntimeSettings<'_>) -> Option<()> {
        for word in told.env.get(name).map_or("", String::as_str).split_whitespace() {
            self.read(word)?;
        }
        Some(())
    }

    /// Reads one word; `None` if it has a number that cannot be read, or names a file with more options.
    fn read(&mut self, word: &str) -> Option<()> {
        if ["@", "-XX:Flags=", "-XX:VMOptionsFile="]
            .iter()
            .any(|start| word.starts_with(start))
        {
            return None;
        }
        if let Some(size) = word.strip_prefix("-Xms") {
            self.least_heap = Some(size.to_ascii_lowercase());
        } else if let Some(size) = word.strip_prefix("-Xmx") {
            self.most_heap = Some(size.to_ascii_lowercase());
        } else if let Some(name) = word.strip_prefix("-XX:+") {
            self.off.retain(|off| off != name);
            self.collector = collector(name).or(self.collector);
        } else if let Some(name) = word.strip_prefix("-XX:-") {
            self.off.push(name.to_owned());
            if collector(name) == self.collector {
                self.collector = None;
            }
        } else if let Some((name, value)) = word.strip_prefix("-XX:").and_then(|option| option.split_once('='))
            && TIMES.contains(&name)
        {
            self.numbers.insert(name.to_owned(), value.parse().ok()?);
        }
        Some(())
    }

    fn is_off(&self, name: &str) -> bool {
        self.off.iter().any(|off| off == name)
    }

    fn time(&self, name: &str, unit: Nanos, default: Nanos) -> Nanos {
        match self.numbers.get(name) {
            Some(number) => number.saturating_mul(unit),
            None => default,
        }
    }

    fn decay(&self) -> AllocatorDecay {
        // A heap of one size is never made smaller.
        let is_fixed = self.least_heap.is_some() && self.least_heap == self.most_heap;
        match self.collector.unwrap_or(Runtime::Jvm) {
            // Its periodic collection is off by default (`G1PeriodicGCInterval` in gc/g1/g1_globals.hpp).
            Runtime::G1 | Runtime::Jvm if self.time("G1PeriodicGCInterval", MILLISECOND, 0) > 0 => {
                releases_after(self.time("G1PeriodicGCInterval", MILLISECOND, 0), Runtime::G1)
            }
            Runtime::Zgc if !is_fixed && !self.is_off("ZUncommit") => {
                let uncommit = self.time("ZUncommitDelay", SECOND, ZGC_UNCOMMIT);
                let collection = if self.is_off("ZProactive") { 0 } else { ZGC_PROACTIVE };
                releases_after(half_of_sum(collection, uncommit), Runtime::Zgc)
            }
            Runtime::Shenandoah if !is_fixed && !self.is_off("ShenandoahUncommit") => {
                let uncommit = self.time("ShenandoahUncommitDelay", MILLISECOND, SHENANDOAH_UNCOMMIT);
                let interval = "ShenandoahGuaranteedGCInterval";
                let collection = self.time(interval, MILLISECOND, SHENANDOAH_COLLECTION);
                let release = uncommit.saturating_add(uncommit / 10);
                releases_after(half_of_sum(collection, release), Runtime::Shenandoah)
            }
            runtime => releases_nothing(runtime),
        }
    }
}

/// Numbers that the decay depends on.
const TIMES: [&str; 4] = [
    "G1PeriodicGCInterval",
    "ZUncommitDelay",
    "ShenandoahUncommitDelay",
    "ShenandoahGuaranteedGCInterval",
];

/// The delay for a window that lasts until a collection, and from there until the release: a window is as long as twice
/// the delay.
fn half_of_sum(collection: Nanos, release: Nanos) -> Nanos {
    collection.saturating_add(release) / 2
}

/// The collector that an option switches on.
fn collector(option: &str) -> Option<Runtime> {
    Some(match option {
        "UseG1GC" => Runtime::G1,
        "UseSerialGC" => Runtime::Serial,
        "UseParallelGC" | "UseParallelOldGC" => Runtime::Parallel,
        "UseEpsilonGC" => Runtime::Epsilon,
        "UseZGC" => Runtime::Zgc,
        "UseShenandoahGC" => Runtime::Shenandoah,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decay;
    use record::AllocatorFamily;

    /// The decay of a runtime with these settings; `None` for an allocator.
    fn runtime_decay(family: AllocatorFamily, env: &[(&str, &str)], words: &[&str]) -> Option<AllocatorDecay> {
        let env: BTreeMap<String, String> = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let told = RuntimeSettings {
            env: &env,
            words: &words,
        };
        decay(family, &BTreeMap::new(), told).filter(|decay| decay.runtime.is_some())
    }

    fn go(env: &[(&str, &str)]) -> Option<AllocatorDecay> {
        runtime_decay(AllocatorFamily::Go, env, &[])
    }

    fn v8(env: &[(&str, &str)], words: &[&str]) -> Option<AllocatorDecay> {
        runtime_decay(AllocatorFamily::V8, env, words)
    }

    fn java(words: &[&str]) -> Option<AllocatorDecay> {
        runtime_decay(AllocatorFamily::Jvm, &[], words)
    }

    /// The runtime, and the seconds that a window needs; `None` if it releases nothing by itself.
    fn needs(decay: Option<AllocatorDecay>) -> (Runtime, Option<u64>) {
        let decay = decay.expect("it is known");
        let needed = decay.needed().map(|needed| needed / SECOND);
        assert_eq!(decay.idle, needed.is_some(), "{decay:?}");
        (decay.runtime.expect("it is a runtime"), needed)
    }

    #[test]
    fn go_needs_four_minutes_unless_its_collector_is_off() {
        for env in [
            &[][..],
            &[("GOGC", "50")],
            &[("GODEBUG", "gctrace=1")],
            &[("GOMEMLIMIT", "1GiB")],
        ] {
            assert_eq!(needs(go(env)), (Runtime::Go, Some(241)), "{env:?}");
            assert!(!go(env).expect("it is known").lazy);
        }
        for off in ["off", "-1"] {
            assert_eq!(needs(go(&[("GOGC", off)])), (Runtime::Go, None));
        }
        for (debug, is_lazy) in [
            ("gctrace=1,madvdontneed=0", cfg!(target_os = "linux")),
            ("madvdontneed=0,madvdontneed=1", false),
        ] {
            let decay = go(&[("GODEBUG", debug)]).expect("it is known");
            assert_eq!(decay.lazy, is_lazy, "{debug}");
        }
    }

    #[test]
    fn v8_needs_its_memory_reducer() {
        assert_eq!(
            needs(v8(&[], &["node", "server.js", "--stdio"])),
            (Runtime::V8, Some(17))
        );
        let slow = "--gc-memory-reducer-start-delay-ms=20000";
        assert_eq!(needs(v8(&[("NODE_OPTIONS", slow)], &[])), (Runtime::V8, Some(41)));
        let quick = "--gc_memory_reducer_start_delay_ms=10";
        assert_eq!(
            needs(v8(&[], &["node", quick])),
            (Runtime::V8, Some(17)),
            "not after a collection"
        );
        for off in ["--no-memory-reducer", "--nomemory_reducer", "--no-incremental-marking"] {
            assert_eq!(needs(v8(&[("NODE_OPTIONS", off)], &[])), (Runtime::V8, None), "{off}");
            let deno = format!("--max-heap-size=100,{off}");
            assert_eq!(
                needs(v8(&[("DENO_V8_FLAGS", &deno)], &[])),
                (Runtime::V8, None),
                "{off}"
            );
            let argument = format!("--v8-flags={off}");
            assert_eq!(
                needs(v8(&[], &["deno", "lsp", &argument])),
                (Runtime::V8, None),
                "{off}"
            );
        }
        assert_eq!(
            v8(&[("NODE_OPTIONS", "--gc-memory-reducer-start-delay-ms=soon")], &[]),
            None
        );
    }

    #[test]
    fn collectors_of_java_have_their_own_delays_or_none() {
        for (words, expected) in [
            (&["java", "-jar", "a.jar"][..], (Runtime::Jvm, None)),
            (&["java", "-XX:+UseG1GC"], (Runtime::G1, None)),
            (&["java", "-XX:+UseParallelGC"], (Runtime::Parallel, None)),
            (&["java", "-XX:+UseSerialGC"], (Runtime::Serial, None)),
            (&["java", "-XX:+UseEpsilonGC"], (Runtime::Epsilon, None)),
            (&["java", "-XX:G1PeriodicGCInterval=60000"], (Runtime::G1, Some(121))),
            (
                &["java", "-XX:+UseSerialGC", "-XX:G1PeriodicGCInterval=60000"],
                (Runtime::Serial, None),
            ),
            (&["java", "-XX:+UseZGC"], (Runtime::Zgc, Some(601))),
            (
                &["java", "-XX:+UseZGC", "-XX:ZUncommitDelay=20"],
                (Runtime::Zgc, Some(321)),
            ),
            (&["java", "-XX:+UseZGC", "-XX:-ZProactive"], (Runtime::Zgc, Some(301))),
            (&["java", "-XX:+UseZGC", "-XX:-ZUncommit"], (Runtime::Zgc, None)),
            (&["java", "-XX:+UseZGC", "-Xms1G", "-Xmx1g"], (Runtime::Zgc, None)),
            (&["java", "-XX:+UseShenandoahGC"], (Runtime::Shenandoah, Some(631))),
            (
                &["java", "-XX:+UseShenandoahGC", "-XX:-ShenandoahUncommit"],
                (Runtime::Shenandoah, None),
            ),
            (
                &["java", "-XX:+UseZGC", "-XX:-UseZGC", "-XX:+UseG1GC"],
                (Runtime::G1, None),
            ),
        ] {
            assert_eq!(needs(java(words)), expected, "{words:?}");
        }
        for unread in [
            "@options",
            "-XX:Flags=f",
            "-XX:VMOptionsFile=f",
            "-XX:ZUncommitDelay=long",
        ] {
            assert_eq!(java(&["java", unread]), None, "{unread}");
        }
        let last = runtime_decay(
            AllocatorFamily::Jvm,
            &[
                ("_JAVA_OPTIONS", "-XX:ZUncommitDelay=30"),
                ("JAVA_TOOL_OPTIONS", "-XX:+UseZGC -XX:ZUncommitDelay=10"),
            ],
            &["java", "-XX:ZUncommitDelay=20"],
        );
        assert_eq!(needs(last), (Runtime::Zgc, Some(331)), "the last counts");
    }

    #[test]
    fn python_releases_nothing_by_itself_and_an_allocator_is_no_runtime() {
        assert_eq!(
            needs(runtime_decay(AllocatorFamily::Pymalloc, &[], &[])),
            (Runtime::Cpython, None)
        );
        assert_eq!(runtime_decay(AllocatorFamily::Jemalloc, &[], &[]), None);
        assert_eq!(runtime_decay(AllocatorFamily::Unknown, &[], &[]), None);
    }
}
