//! When a runtime that collects garbage returns memory by itself: by its own clock, or never. Every time has its place in
//! the runtime's sources. Runtimes that lsp-soak does not recognise (.NET, BEAM, Lua, OCaml) have none here.

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

/// What a runtime is told when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Told<'t> {
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
fn never(runtime: Runtime) -> AllocatorDecay {
    AllocatorDecay {
        idle: false,
        delay: Delay::Untimed,
        lazy: false,
        runtime: Some(runtime),
    }
}

fn after(runtime: Runtime, delay: Nanos) -> AllocatorDecay {
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
    never(Runtime::Cpython)
}

/// A negative percentage also ends forced collections (`gcTrigger.test` in runtime/mgc.go). The last of two equal settings
/// of `GODEBUG` counts.
pub(super) fn go(told: Told<'_>) -> AllocatorDecay {
    let percentage = told.env.get("GOGC").map(String::as_str);
    let is_off = percentage.is_some_and(|text| text == "off" || text.parse::<i32>().is_ok_and(|number| number < 0));
    if is_off {
        return never(Runtime::Go);
    }
    let debug = told.env.get("GODEBUG").map_or("", String::as_str);
    let mut advice = debug.split(',').filter_map(|pair| pair.strip_prefix("madvdontneed="));
    AllocatorDecay {
        lazy: cfg!(target_os = "linux") && advice.next_back() == Some("0"),
        ..after(Runtime::Go, GO_FORCED_COLLECTION)
    }
}

/// The reducer does nothing without incremental marking (`MemoryReducer::Step`). `None` if a time cannot be read.
pub(super) fn v8(told: Told<'_>) -> Option<AllocatorDecay> {
    let mut delay = V8_MEMORY_REDUCER;
    let (mut reduces, mut marks) = (true, true);
    let variables = ["NODE_OPTIONS", "DENO_V8_FLAGS"]
        .iter()
        .filter_map(|name| told.env.get(*name));
    let words = told
        .words
        .iter()
        .flat_map(|word| word.strip_prefix("--v8-flags=").unwrap_or(word).split(','));
    for word in variables.flat_map(|text| text.split([' ', ','])).chain(words) {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let flag = flag.replace('_', "-");
        match flag.as_str() {
            "memory-reducer" => reduces = true,
            "no-memory-reducer" | "nomemory-reducer" => reduces = false,
            "incremental-marking" => marks = true,
            "no-incremental-marking" | "noincremental-marking" => marks = false,
            _ => {}
        }
        if let Some(time) = flag.strip_prefix("gc-memory-reducer-start-delay-ms=") {
            delay = time
                .parse::<u64>()
                .ok()?
                .saturating_mul(MILLISECOND)
                .max(V8_MEMORY_REDUCER);
        }
    }
    if !reduces || !marks {
        return Some(never(Runtime::V8));
    }
    Some(after(Runtime::V8, delay))
}

/// Options of a Java virtual machine that decide which collector it has and when that returns memory.
#[derive(Default)]
struct Machine {
    collector: Option<Runtime>,
    numbers: BTreeMap<String, u64>,
    off: Vec<String>,
    least: Option<String>,
    most: Option<String>,
}

/// The words of a virtual machine, in the order in which it reads them: of two equal ones the last counts. `None` if one
/// cannot be read.
pub(super) fn jvm(told: Told<'_>) -> Option<AllocatorDecay> {
    let variable = |name: &str| told.env.get(name).map_or("", String::as_str).split_whitespace();
    let first = variable("JAVA_TOOL_OPTIONS").chain(variable("JDK_JAVA_OPTIONS"));
    let words = told.words.iter().map(String::as_str);
    let mut machine = Machine::default();
    for word in first.chain(words).chain(variable("_JAVA_OPTIONS")) {
        let is_file = ["-XX:Flags=", "-XX:VMOptionsFile="]
            .iter()
            .any(|start| word.starts_with(start));
        // More options are in a file.
        if is_file || word.starts_with('@') {
            return None;
        }
        machine.read(word)?;
    }
    Some(machine.decay())
}

impl Machine {
    /// Reads one word; `None` if it has a number that cannot be read.
    fn read(&mut self, word: &str) -> Option<()> {
        if let Some(size) = word.strip_prefix("-Xms") {
            self.least = Some(size.to_ascii_lowercase());
        } else if let Some(size) = word.strip_prefix("-Xmx") {
            self.most = Some(size.to_ascii_lowercase());
        } else if let Some(name) = word.strip_prefix("-XX:+") {
            self.off.retain(|one| one != name);
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
        self.off.iter().any(|one| one == name)
    }

    fn time(&self, name: &str, unit: Nanos, otherwise: Nanos) -> Nanos {
        let number = self.numbers.get(name);
        number.map_or(otherwise, |number| number.saturating_mul(unit))
    }

    fn decay(&self) -> AllocatorDecay {
        // A heap of one size is never made smaller.
        let is_fixed = self.least.is_some() && self.least == self.most;
        match self.collector.unwrap_or(Runtime::Jvm) {
            // Its periodic collection is off by default (`G1PeriodicGCInterval` in gc/g1/g1_globals.hpp).
            Runtime::G1 | Runtime::Jvm if self.time("G1PeriodicGCInterval", MILLISECOND, 0) > 0 => {
                after(Runtime::G1, self.time("G1PeriodicGCInterval", MILLISECOND, 0))
            }
            Runtime::Zgc if !is_fixed && !self.is_off("ZUncommit") => {
                let uncommit = self.time("ZUncommitDelay", SECOND, ZGC_UNCOMMIT);
                let collection = if self.is_off("ZProactive") { 0 } else { ZGC_PROACTIVE };
                after(Runtime::Zgc, half_of(collection, uncommit))
            }
            Runtime::Shenandoah if !is_fixed && !self.is_off("ShenandoahUncommit") => {
                let uncommit = self.time("ShenandoahUncommitDelay", MILLISECOND, SHENANDOAH_UNCOMMIT);
                let interval = "ShenandoahGuaranteedGCInterval";
                let collection = self.time(interval, MILLISECOND, SHENANDOAH_COLLECTION);
                after(
                    Runtime::Shenandoah,
                    half_of(collection, uncommit.saturating_add(uncommit / 10)),
                )
            }
            runtime => never(runtime),
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

/// A window is as long as twice the delay: until a collection, and from there until the release.
fn half_of(collection: Nanos, release: Nanos) -> Nanos {
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

    /// What a runtime of this family does; `None` of an allocator.
    fn told(family: AllocatorFamily, env: &[(&str, &str)], words: &[&str]) -> Option<AllocatorDecay> {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: BTreeMap<String, String> = env.collect();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let known = decay(
            family,
            &BTreeMap::new(),
            Told {
                env: &env,
                words: &words,
            },
        );
        known.filter(|known| known.runtime.is_some())
    }

    /// The runtime, and the seconds that a window needs; `None` where it releases nothing by itself.
    fn needs(decay: Option<AllocatorDecay>) -> (Runtime, Option<u64>) {
        let decay = decay.expect("it is known");
        let needed = decay.needed().map(|needed| needed / SECOND);
        assert_eq!(decay.idle, needed.is_some(), "{decay:?}");
        (decay.runtime.expect("it is a runtime"), needed)
    }

    #[test]
    fn go_needs_four_minutes_unless_its_collector_is_off() {
        let go = |env: &[(&str, &str)]| told(AllocatorFamily::Go, env, &[]);
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
        let lazy = |debug: &str| go(&[("GODEBUG", debug)]).expect("it is known").lazy;
        assert_eq!(lazy("gctrace=1,madvdontneed=0"), cfg!(target_os = "linux"));
        assert!(!lazy("madvdontneed=0,madvdontneed=1"));
    }

    #[test]
    fn v8_needs_its_memory_reducer() {
        let v8 = |env: &[(&str, &str)], words: &[&str]| told(AllocatorFamily::V8, env, words);
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
        let java = |words: &[&str]| told(AllocatorFamily::Jvm, &[], words);
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
        let last = told(
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
            needs(told(AllocatorFamily::Pymalloc, &[], &[])),
            (Runtime::Cpython, None)
        );
        assert_eq!(told(AllocatorFamily::Jemalloc, &[], &[]), None);
        assert_eq!(told(AllocatorFamily::Unknown, &[], &[]), None);
    }
}
