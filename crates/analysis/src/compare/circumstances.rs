//! What makes records comparable: every circumstance of a run, and the consequence of a difference.
//!
//! This is the only list. `compare`, `gate`, `calibrate`, `tune` and `--resume` use it, and docs/gate.md prints it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::summary::{CheckpointSummary, Summary};
use base::band;
use base::lens::Lens;
use base::processors;
use base::units;
use record::Header;
use record::variables::sets_memory;

/// How much a difference means, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Noted,
    /// A property of the host that can change memory: a gate decides only with `--allow-different-hosts`.
    Host,
    /// It is another measurement: no gate decides and no sweep chooses.
    Measurement,
    /// The values measure another quantity or another server: they are never compared.
    Quantity,
}

/// A circumstance that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Which.
    pub what: Cow<'static, str>,
    /// Its values, each once.
    pub values: Vec<String>,
    /// Whether it alone can make memory differ.
    #[serde(rename = "decisive", serialize_with = "decisive")]
    #[schemars(with = "bool")]
    pub weight: Weight,
}

fn decisive<S: Serializer>(weight: &Weight, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*weight > Weight::Noted)
}

impl Difference {
    /// Whether it alone can make memory differ, so that a gate refuses to decide.
    pub fn is_decisive(&self) -> bool {
        self.weight > Weight::Noted
    }
}

/// The value of a circumstance in one run.
type Fact = fn(&Header) -> String;

/// The value in a run.
struct Circumstance {
    name: &'static str,
    /// The consequence of a difference.
    weight: Weight,
    /// How far values may be apart and be noted only.
    near: Near,
    fact: Fact,
}

/// How far two values of a circumstance may be apart and be noted only.
#[derive(Clone, Copy)]
enum Near {
    Nowhere,
    /// Sizes within 5 %: machines of one type differ by megabytes.
    Size,
    /// Versions of one major and minor number: machines of one type differ by patches.
    Patch,
}

/// How far sizes of machines of one type may be apart.
const SIZES: f64 = 1.05;

impl Near {
    fn holds(self, values: &BTreeSet<String>) -> bool {
        match self {
            Near::Nowhere => false,
            Near::Size => {
                let sizes: Option<Vec<f64>> = values
                    .iter()
                    .map(|value| Some(value.parse::<units::Size>().ok()?.0 as f64))
                    .collect();
                sizes.is_some_and(|sizes| {
                    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
                    sizes.iter().all(|size| *size <= least * SIZES)
                })
            }
            Near::Patch => {
                let mut releases = values.iter().map(|value| release(value));
                let first = releases.next().flatten();
                first.is_some() && releases.all(|release| release == first)
            }
        }
    }
}

/// A kernel by its major and minor version, where it has them.
pub(super) fn without_patch(version: &str) -> String {
    release(version).map_or_else(|| version.to_owned(), |(major, minor)| format!("{major}.{minor}"))
}

/// `6.1.0-28-amd64` → 6 and 1.
fn release(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (parts.next()?, parts.next()?);
    (!major.is_empty() && !minor.is_empty()).then_some((major, minor))
}

const fn of(name: &'static str, weight: Weight, fact: Fact) -> Circumstance {
    Circumstance {
        name,
        weight,
        near: Near::Nowhere,
        fact,
    }
}

const fn nearly(name: &'static str, near: Near, fact: Fact) -> Circumstance {
    Circumstance {
        name,
        weight: Weight::Host,
        near,
        fact,
    }
}

/// The circumstance of workspaces that were fetched.
const PINNED: &str = "pinned workspace";

/// The circumstance of an editor that pulls diagnostics beside the steps.
const PULLS: &str = "pulled diagnostics";

/// The circumstance of idle windows that wait for a garbage collector.
const FULL_DECAY: &str = "full decay";

/// The circumstance of servers that were installed.
const PACKAGE: &str = "package";

const OF_RUNS: [Circumstance; 35] = [
    of("operating system", Weight::Quantity, |header| header.host.os.clone()),
    of("architecture", Weight::Host, |header| {
        let target = &header.host.target;
        target
            .split_once('-')
            .map_or(target.as_str(), |(architecture, _)| architecture)
            .to_owned()
    }),
    nearly("kernel", Near::Patch, |header| text(&header.host.kernel)),
    of("C library", Weight::Host, |header| text(&header.host.libc)),
    of("processor", Weight::Host, |header| text(&header.host.cpu)),
    of("processors", Weight::Host, |header| count(header.host.cpus)),
    of("usable processors", Weight::Host, usable),
    of("CPU quota", Weight::Host, |header| {
        units::or_unknown(header.host.cpu_quota, |quota| quota.to_string())
    }),
    nearly("memory", Near::Size, |header| size(header.host.memory.total)),
    nearly("swap", Near::Size, swap),
    of("memory limit", Weight::Host, |header| {
        size(header.host.memory.cgroup_limit)
    }),
    of("memory throttle", Weight::Host, |header| {
        size(header.host.memory.cgroup_high)
    }),
    of("swap limit", Weight::Host, |header| {
        size(header.host.memory.cgroup_swap)
    }),
    of("page size", Weight::Host, |header| size(header.host.page_size)),
    of("overcommit", Weight::Host, |header| {
        count(header.host.memory.overcommit)
    }),
    of("huge pages", Weight::Host, |header| {
        units::or_unknown(header.host.memory.huge_pages(), str::to_owned)
    }),
    of("huge page defragmentation", Weight::Host, defragmentation),
    of("distribution", Weight::Noted, |header| text(&header.host.distribution)),
    of("container", Weight::Noted, |header| text(&header.host.container)),
    of("virtual machine", Weight::Noted, |header| {
        text(&header.host.virtual_machine)
    }),
    of("frequency governor", Weight::Noted, |header| {
        text(&header.host.governor)
    }),
    of("build of lsp-soak", Weight::Noted, |header| {
        let target = &header.host.target;
        target.split_once('-').map_or("", |(_, system)| system).to_owned()
    }),
    of("lsp-soak", Weight::Noted, |header| header.tool.clone()),
    of("scenario", Weight::Measurement, |header| header.scenario.sha256.clone()),
    of("seed", Weight::Measurement, |header| header.scenario.seed.to_string()),
    of(PINNED, Weight::Quantity, pinned),
    of("workspace", Weight::Measurement, |header| {
        header.workspace.sha256.clone()
    }),
    of("capabilities", Weight::Measurement, |header| {
        header.settings.capabilities.clone()
    }),
    of(PULLS, Weight::Measurement, |header| {
        let words = if header.settings.pulls_diagnostics { "yes" } else { "no" };
        words.to_owned()
    }),
    of(FULL_DECAY, Weight::Measurement, |header| {
        let words = if header.settings.full_decay { "yes" } else { "no" };
        words.to_owned()
    }),
    of("page cache", Weight::Measurement, |header| {
        let words = |dropped| if dropped { "dropped" } else { "warm" };
        header.settings.page_cache_dropped.map_or("", words).to_owned()
    }),
    of("sampling interval", Weight::Measurement, |header| {
        units::duration(std::time::Duration::from_nanos(header.settings.interval))
    }),
    of("resetting of peaks", Weight::Measurement, |header| {
        let reset = if header.settings.peak_reset { "yes" } else { "no" };
        reset.to_owned()
    }),
    of("initialization options", Weight::Noted, init_options),
    of("settings", Weight::Noted, settings),
];

/// Circumstances of a protocol that each server defines for itself: other servers have others.
const OF_PROFILES: [&str; 2] = ["initialization options", "settings"];

/// Of the runs of one server. Where they differ in these, they are runs of two.
const OF_SERVER: [Circumstance; 11] = [
    of("memory settings", Weight::Quantity, memory_settings),
    of("idle windows", Weight::Quantity, windows),
    of("environment", Weight::Measurement, environment),
    of("version", Weight::Measurement, |header| text(&header.server.version)),
    of("arguments", Weight::Measurement, arguments),
    of("initialization options", Weight::Measurement, init_options),
    of("settings", Weight::Measurement, settings),
    // Each host may have built, or installed, its own.
    of("program", Weight::Host, |header| text(&header.server.sha256)),
    // Of a script the program alone says little.
    of(PACKAGE, Weight::Host, |header| {
        let package = header.server.package.as_ref();
        package.map_or_else(none, |package| text(&package.sha256))
    }),
    of("interpreter", Weight::Host, |header| {
        let interpreter = header.server.interpreter.as_ref();
        text(&interpreter.and_then(|interpreter| interpreter.sha256.clone()))
    }),
    of("preloaded library", Weight::Host, |header| {
        let preload = header.server.preload.as_ref();
        preload.map_or_else(none, |preload| text(&preload.sha256))
    }),
];

/// Of them, those that a lens changes.
const OF_ENVIRONMENT: [&str; 3] = ["memory settings", "environment", "idle windows"];

/// Options of one side of a gate only; sides are meant to be versions of one server.
const OF_SIDES: [Circumstance; 4] = [
    of("idle windows", Weight::Quantity, windows),
    of("memory settings", Weight::Noted, memory_settings),
    of("environment", Weight::Noted, environment),
    of("arguments", Weight::Noted, arguments),
];

impl Circumstance {
    /// The difference between these values; `None` where there is none.
    fn differing(&self, what: Cow<'static, str>, values: impl Iterator<Item = String>) -> Option<Difference> {
        let values: BTreeSet<String> = values.collect();
        (values.len() > 1).then(|| Difference {
            what,
            weight: match self.near.holds(&values) {
                true => Weight::Noted,
                false => self.weight,
            },
            values: values.into_iter().collect(),
        })
    }

    /// Whether two values differ by more than is noted only.
    fn differs(&self, a: &str, b: &str) -> bool {
        let values = [a, b].map(str::to_owned).into_iter();
        self.differing(self.name.into(), values)
            .is_some_and(|difference| difference.is_decisive())
    }
}

/// The circumstance of runs some of which count shared memory as private. It shows in summaries alone: records from before
/// format 1.9 count none, which matters only where there is some.
pub const SHARED_MEMORY: &str = "shared memory";

/// The difference between runs that count shared memory as private and runs that do not, if any of them has more than the
/// band.
pub fn shared_memory<'s>(runs: impl Iterator<Item = &'s Summary> + Clone) -> Option<Difference> {
    let is_counted = runs
        .clone()
        .any(|run| most_shared(run, |taken| taken.own_shared).is_some());
    let uncounted = runs
        .clone()
        .filter(|run| most_shared(run, |taken| taken.uncounted_shared).is_some());
    let uncounted = uncounted.count() as u64;
    let matters = runs.clone().any(|run| {
        let counted = most_shared(run, |taken| taken.own_shared);
        let most = counted.max(most_shared(run, |taken| taken.uncounted_shared));
        most.is_some_and(|(is_much, _)| is_much)
    });
    if !is_counted || uncounted == 0 || !matters {
        return None;
    }
    Some(Difference {
        what: SHARED_MEMORY.into(),
        values: vec![
            "private".to_owned(),
            format!(
                "not counted in {} from before format 1.9",
                units::counted(uncounted, "record")
            ),
        ],
        weight: Weight::Quantity,
    })
}

/// The most shared memory of this kind at a checkpoint in bytes, and before that whether any exceeds the band.
fn most_shared(run: &Summary, kind: fn(&CheckpointSummary) -> Option<u64>) -> Option<(bool, u64)> {
    let taken = run.phases.iter().filter_map(|phase| phase.checkpoint.as_ref());
    taken
        .filter_map(|taken| {
            let shared = kind(taken)?;
            let private = taken.private_exact.or(taken.private_sampled).unwrap_or(0);
            Some((shared > band::around(private), shared))
        })
        .max()
}

/// Everything that is not the same in all these runs.
pub fn differences<'h>(headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for one in &OF_RUNS {
        if !OF_PROFILES.contains(&one.name) {
            differences.extend(one.differing(one.name.into(), headers.clone().map(one.fact)));
            continue;
        }
        let profiles: BTreeSet<Option<&str>> = headers.clone().map(profile).collect();
        for own in profiles {
            let runs = headers.clone().filter(|header| profile(header) == own);
            differences.extend(one.differing(one.name.into(), runs.map(one.fact)));
        }
    }
    differences
}

fn profile(header: &Header) -> Option<&str> {
    header.server.profile.as_deref()
}

/// Circumstances of one server that differ between its runs; `name` is the server's.
pub fn differences_of<'h>(name: &str, headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for one in &OF_SERVER {
        let what = || format!("{} of {name}", one.name).into();
        // A lens sets variables, and adds to those that the user sets; runs of two lenses are never compared.
        for runs in by_lens(one, headers.clone()) {
            differences.extend(one.differing(what(), runs.into_iter().map(one.fact)));
        }
    }
    differences.dedup();
    differences
}

/// The runs in which a circumstance must be the same: those through each lens of what a lens changes, or all.
fn by_lens<'h>(one: &Circumstance, headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Vec<&'h Header>> {
    if !OF_ENVIRONMENT.contains(&one.name) {
        return vec![headers.collect()];
    }
    let through = |lens: Lens| headers.clone().filter(move |header| header.server.lens.name == lens);
    Lens::ALL.map(|lens| through(lens).collect()).into()
}

/// Options of some sides of a gate and not of others. A side that differs within itself is reported alone.
pub fn differences_between(sides: &[(&str, Vec<&Header>)]) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for one in &OF_SIDES {
        for lens in Lens::ALL {
            let of_side = |headers: &Vec<&Header>| -> BTreeSet<String> {
                let own = headers.iter().filter(|header| header.server.lens.name == lens);
                own.map(|header| (one.fact)(header)).collect()
            };
            let sides: Vec<(&str, String)> = sides
                .iter()
                .filter_map(|(name, headers)| Some((*name, of_side(headers).into_iter().next()?)))
                .collect();
            if sides.iter().any(|(_, value)| *value != sides[0].1) {
                differences.push(Difference {
                    what: format!("{} of the sides", one.name).into(),
                    values: sides.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
                    weight: one.weight,
                });
            }
        }
    }
    differences.dedup();
    differences
}

/// The names of all circumstances that a calibration depends on.
pub fn circumstances(header: &Header) -> BTreeMap<String, String> {
    let all = deciding().map(|one| (one.name.to_owned(), (one.fact)(header)));
    all.collect()
}

/// The names of the circumstances in which this run differs from a calibration's.
pub fn unlike(then: &BTreeMap<String, String>, now: &Header) -> Vec<&'static str> {
    let differ = |one: &&Circumstance| {
        let now = (one.fact)(now);
        // An older calibration does not name what did not exist then.
        match then.get(one.name) {
            Some(then) => one.differs(then, &now),
            None if [PULLS, FULL_DECAY].contains(&one.name) => one.differs("no", &now),
            None => ![PINNED, PACKAGE].contains(&one.name) || now != none(),
        }
    };
    deciding().filter(differ).map(|one| one.name).collect()
}

/// True if runs that differ in these circumstances alone can be of two versions of one server.
pub fn are_versions(unlike: &[&str]) -> bool {
    unlike.iter().all(|name| ["version", "program", PACKAGE].contains(name))
}

/// Differences that mean another server or another measurement: name, old and new value. Hosts may differ.
pub fn changes(then: &Header, now: &Header) -> Vec<(&'static str, String, String)> {
    let own = OF_RUNS
        .iter()
        .filter(|one| one.weight >= Weight::Measurement)
        .chain(&OF_SERVER);
    let values = own.map(|one| (one, (one.fact)(then), (one.fact)(now)));
    let changed = values.filter(|(one, then, now)| one.differs(then, now));
    changed.map(|(one, then, now)| (one.name, then, now)).collect()
}

fn deciding() -> impl Iterator<Item = &'static Circumstance> {
    OF_RUNS
        .iter()
        .filter(|one| one.weight > Weight::Noted)
        .chain(&OF_SERVER)
}

/// Variables that were set for the server and that change how much memory it takes.
fn memory_settings(header: &Header) -> String {
    let preload = header.server.preload.as_ref();
    let set = header.server.env.iter().filter(|(name, _)| sets_memory(name));
    listed(set.map(|(name, value)| match preload {
        // A library's path differs between hosts; its content is compared separately.
        Some(preload) => format!("{name}={}", value.replace(&preload.path, &preload.name)),
        None => format!("{name}={value}"),
    }))
}

/// How many processors the run could use, whichever they were.
fn usable(header: &Header) -> String {
    let affinity = header.host.affinity.as_deref();
    count(affinity.and_then(|list| Some(processors::list(list)?.len() as u64)))
}

/// The content of a fetched workspace, and what prepared it. Equal files may have several origins.
fn pinned(header: &Header) -> String {
    let origin = header.workspace.origin.as_ref();
    origin.map_or_else(none, |origin| match &origin.setup {
        Some(setup) => format!("{} after `{setup}`", origin.sha256),
        None => origin.sha256.clone(),
    })
}

fn windows(header: &Header) -> String {
    let left_out = header.server.lens.without_windows;
    if left_out { "left out" } else { "played" }.to_owned()
}

/// What else was set for the server, but for what keeps its caches apart.
fn environment(header: &Header) -> String {
    let set = header.server.env.iter();
    let own = set.filter(|(name, value)| !sets_memory(name) && !is_cache(value));
    listed(own.map(|(name, value)| format!("{name}={value}")))
}

fn arguments(header: &Header) -> String {
    listed(header.server.args.iter().cloned())
}

fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => none(),
        false => words.join(" "),
    }
}

fn none() -> String {
    "none".to_owned()
}

fn init_options(header: &Header) -> String {
    text(&header.settings.init_options)
}

fn settings(header: &Header) -> String {
    text(&header.settings.settings)
}

/// Installed swap; other systems than Linux make theirs as they need it, so that it differs from run to run.
fn swap(header: &Header) -> String {
    size(header.host.memory.swap.filter(|_| header.host.os == "linux"))
}

/// How hard the kernel tries to give huge pages; nothing where there are none.
fn defragmentation(header: &Header) -> String {
    let memory = &header.host.memory;
    match memory.huge_pages() {
        Some("never") => none(),
        _ => text(&memory.huge_pages_defrag),
    }
}

/// Whether a value is a directory of ours for caches, `…/lsp-soak-1000/0123abcd-0/cache/…`: places differ from run to run.
fn is_cache(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['/', '\\']).collect();
    let ours = parts.iter().position(|part| {
        part.strip_prefix("lsp-soak")
            .is_some_and(|rest| rest.chars().all(|c| c == '-' || c.is_ascii_digit()))
    });
    ours.is_some_and(|place| parts[place + 1..].iter().take(2).any(|part| part.starts_with("cache")))
}

fn text(value: &Option<String>) -> String {
    units::or_unknown(value.as_deref(), str::to_owned)
}

fn count(value: Option<u64>) -> String {
    units::or_unknown(value, units::count)
}

fn size(value: Option<u64>) -> String {
    units::or_unknown(value, units::bytes)
}
