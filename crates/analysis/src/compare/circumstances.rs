//! What makes records comparable: every circumstance of a run, and the consequence of a difference.
//!
//! This is the only list. `compare`, `gate`, `calibrate`, `tune` and `--resume` use it, and docs/gate.md prints it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::summary::{CheckpointSummary, Summary};
use base::band;
use base::lens::Lens;
use base::processors;
use base::units;
use record::Header;
use record::variables::sets_memory;

/// The consequence of a difference, the least first.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Which.
    pub what: Cow<'static, str>,
    /// Its values, each once.
    pub values: Vec<String>,
    /// Whether it alone can make memory differ.
    #[serde(rename = "decisive", serialize_with = "decisive")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub weight: Weight,
}

fn decisive<S: Serializer>(weight: &Weight, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*weight > Weight::Noted)
}

impl Difference {
    /// True if this difference alone can make memory differ, so that a gate refuses to decide.
    pub fn is_decisive(&self) -> bool {
        self.weight > Weight::Noted
    }
}

/// The value of a circumstance in one run.
type Fact = fn(&Header) -> String;

/// A property of a run or of its host.
struct Circumstance {
    name: &'static str,
    /// The consequence of a difference.
    weight: Weight,
    /// The largest distance of values that are noted only.
    near: Near,
    fact: Fact,
}

/// The largest distance of two values of a circumstance that are noted only.
#[derive(Clone, Copy)]
enum Near {
    Nowhere,
    /// Sizes within 5 %: machines of one type differ by megabytes.
    Size,
    /// Versions of one major and minor number: machines of one type differ by patches.
    Patch,
}

/// The largest ratio of two sizes of machines of one type.
const SIZES: f64 = 1.05;

impl Near {
    /// True if no two of these values are further apart.
    fn holds(self, values: &BTreeSet<String>) -> bool {
        match self {
            Near::Nowhere => false,
            Near::Size => are_near_sizes(values),
            Near::Patch => are_of_one_release(values),
        }
    }
}

fn are_near_sizes(values: &BTreeSet<String>) -> bool {
    let mut sizes = Vec::new();
    for value in values {
        let Ok(size) = value.parse::<units::Size>() else {
            return false;
        };
        sizes.push(size.0 as f64);
    }
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    sizes.iter().all(|size| *size <= least * SIZES)
}

fn are_of_one_release(values: &BTreeSet<String>) -> bool {
    let mut releases = values.iter().map(|value| release(value));
    let first = releases.next().flatten();
    first.is_some() && releases.all(|release| release == first)
}

/// A kernel by its major and minor version, where it has them.
pub(super) fn without_patch(version: &str) -> String {
    release(version).map_or_else(|| version.to_owned(), |(major, minor)| format!("{major}.{minor}"))
}

/// `6.1.0-28-amd64` → 6 and 1.
fn release(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (parts.next()?, parts.next()?);
    if major.is_empty() || minor.is_empty() {
        None
    } else {
        Some((major, minor))
    }
}

/// A circumstance whose every difference has this weight.
const fn circumstance(name: &'static str, weight: Weight, fact: Fact) -> Circumstance {
    Circumstance {
        name,
        weight,
        near: Near::Nowhere,
        fact,
    }
}

/// A circumstance of the host that machines of one type may differ in.
const fn host_circumstance(name: &'static str, near: Near, fact: Fact) -> Circumstance {
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
    circumstance("operating system", Weight::Quantity, |header| header.host.os.clone()),
    circumstance("architecture", Weight::Host, |header| {
        let target = &header.host.target;
        target
            .split_once('-')
            .map_or(target.as_str(), |(architecture, _)| architecture)
            .to_owned()
    }),
    host_circumstance("kernel", Near::Patch, |header| text(&header.host.kernel)),
    circumstance("C library", Weight::Host, |header| text(&header.host.libc)),
    circumstance("processor", Weight::Host, |header| text(&header.host.cpu)),
    circumstance("processors", Weight::Host, |header| count(header.host.cpus)),
    circumstance("usable processors", Weight::Host, usable_processors),
    circumstance("CPU quota", Weight::Host, |header| {
        units::or_unknown(header.host.cpu_quota, |quota| quota.to_string())
    }),
    host_circumstance("memory", Near::Size, |header| size(header.host.memory.total)),
    host_circumstance("swap", Near::Size, swap),
    circumstance("memory limit", Weight::Host, |header| {
        size(header.host.memory.cgroup_limit)
    }),
    circumstance("memory throttle", Weight::Host, |header| {
        size(header.host.memory.cgroup_high)
    }),
    circumstance("swap limit", Weight::Host, |header| {
        size(header.host.memory.cgroup_swap)
    }),
    circumstance("page size", Weight::Host, |header| size(header.host.page_size)),
    circumstance("overcommit", Weight::Host, |header| {
        count(header.host.memory.overcommit)
    }),
    circumstance("huge pages", Weight::Host, |header| {
        units::or_unknown(header.host.memory.huge_pages(), str::to_owned)
    }),
    circumstance("huge page defragmentation", Weight::Host, defragmentation),
    circumstance("distribution", Weight::Noted, |header| text(&header.host.distribution)),
    circumstance("container", Weight::Noted, |header| text(&header.host.container)),
    circumstance("virtual machine", Weight::Noted, |header| {
        text(&header.host.virtual_machine)
    }),
    circumstance("frequency governor", Weight::Noted, |header| {
        text(&header.host.governor)
    }),
    circumstance("build of lsp-soak", Weight::Noted, |header| {
        let target = &header.host.target;
        target.split_once('-').map_or("", |(_, system)| system).to_owned()
    }),
    circumstance("lsp-soak", Weight::Noted, |header| header.tool.clone()),
    circumstance("scenario", Weight::Measurement, |header| header.scenario.sha256.clone()),
    circumstance("seed", Weight::Measurement, |header| header.scenario.seed.to_string()),
    circumstance(PINNED, Weight::Quantity, pinned),
    circumstance("workspace", Weight::Measurement, |header| {
        header.workspace.sha256.clone()
    }),
    circumstance("capabilities", Weight::Measurement, |header| {
        header.settings.capabilities.clone()
    }),
    circumstance(PULLS, Weight::Measurement, |header| {
        yes_or_no(header.settings.pulls_diagnostics)
    }),
    circumstance(FULL_DECAY, Weight::Measurement, |header| {
        yes_or_no(header.settings.full_decay)
    }),
    circumstance("page cache", Weight::Measurement, |header| {
        let state = match header.settings.page_cache_dropped {
            Some(true) => "dropped",
            Some(false) => "warm",
            None => "",
        };
        state.to_owned()
    }),
    circumstance("sampling interval", Weight::Measurement, |header| {
        units::duration(std::time::Duration::from_nanos(header.settings.interval))
    }),
    circumstance("resetting of peaks", Weight::Measurement, |header| {
        yes_or_no(header.settings.peak_reset)
    }),
    circumstance("initialization options", Weight::Noted, init_options),
    circumstance("settings", Weight::Noted, settings),
];

/// Circumstances of a protocol that each server defines for itself: other servers have others.
const OF_PROFILES: [&str; 2] = ["initialization options", "settings"];

/// Circumstances of the runs of one server. Runs that differ in these are of two servers.
const OF_SERVER: [Circumstance; 11] = [
    circumstance("memory settings", Weight::Quantity, memory_settings),
    circumstance("idle windows", Weight::Quantity, idle_windows),
    circumstance("environment", Weight::Measurement, environment),
    circumstance("version", Weight::Measurement, |header| text(&header.server.version)),
    circumstance("arguments", Weight::Measurement, arguments),
    circumstance("initialization options", Weight::Measurement, init_options),
    circumstance("settings", Weight::Measurement, settings),
    // Each host may have built, or installed, its own.
    circumstance("program", Weight::Host, |header| text(&header.server.sha256)),
    // Of a script the program alone says little.
    circumstance(PACKAGE, Weight::Host, |header| {
        let package = header.server.package.as_ref();
        package.map_or_else(none, |package| text(&package.sha256))
    }),
    circumstance("interpreter", Weight::Host, |header| {
        let interpreter = header.server.interpreter.as_ref();
        text(&interpreter.and_then(|interpreter| interpreter.sha256.clone()))
    }),
    circumstance("preloaded library", Weight::Host, |header| {
        let preload = header.server.preload.as_ref();
        preload.map_or_else(none, |preload| text(&preload.sha256))
    }),
];

/// Circumstances of a server that a lens changes.
const OF_ENVIRONMENT: [&str; 3] = ["memory settings", "environment", "idle windows"];

/// Options of one side of a gate only; sides are meant to be versions of one server.
const OF_SIDES: [Circumstance; 4] = [
    circumstance("idle windows", Weight::Quantity, idle_windows),
    circumstance("memory settings", Weight::Noted, memory_settings),
    circumstance("environment", Weight::Noted, environment),
    circumstance("arguments", Weight::Noted, arguments),
];

impl Circumstance {
    /// The difference between these values; `None` where there is none.
    fn differing(&self, what: Cow<'static, str>, values: impl Iterator<Item = String>) -> Option<Difference> {
        let values: BTreeSet<String> = values.collect();
        if values.len() < 2 {
            return None;
        }
        let weight = if self.near.holds(&values) {
            Weight::Noted
        } else {
            self.weight
        };
        Some(Difference {
            what,
            weight,
            values: values.into_iter().collect(),
        })
    }

    /// True if two values differ by more than is noted only.
    fn differs(&self, a: &str, b: &str) -> bool {
        let values = [a, b].map(str::to_owned).into_iter();
        self.differing(self.name.into(), values)
            .is_some_and(|difference| difference.is_decisive())
    }

    /// True if a run differs from a calibration with these circumstances.
    fn differs_from_calibration(&self, calibration: &BTreeMap<String, String>, run: &Header) -> bool {
        let now = (self.fact)(run);
        // An older calibration does not name what did not exist then.
        match calibration.get(self.name) {
            Some(then) => self.differs(then, &now),
            None if [PULLS, FULL_DECAY].contains(&self.name) => self.differs("no", &now),
            None => ![PINNED, PACKAGE].contains(&self.name) || now != none(),
        }
    }
}

/// The circumstance of runs some of which count shared memory as private. It shows in summaries alone: records from before
/// format 1.9 count none, which matters only where there is some.
const SHARED_MEMORY: &str = "shared memory";

/// The difference between runs that count shared memory as private and runs that do not, if any of them has more than the
/// band.
pub fn shared_memory<'s>(runs: impl Iterator<Item = &'s Summary>) -> Option<Difference> {
    let mut is_counted = false;
    let mut uncounted_runs = 0;
    let mut is_much = false;
    for run in runs {
        let counted = much_shared(run, |taken| taken.own_shared);
        let uncounted = much_shared(run, |taken| taken.uncounted_shared);
        is_counted |= !counted.is_empty();
        uncounted_runs += u64::from(!uncounted.is_empty());
        is_much |= counted.contains(&true) || uncounted.contains(&true);
    }
    if !is_counted || uncounted_runs == 0 || !is_much {
        return None;
    }
    Some(Difference {
        what: SHARED_MEMORY.into(),
        values: vec![
            "private".to_owned(),
            format!(
                "not counted in {} from before format 1.9",
                units::count_of(uncounted_runs, "record")
            ),
        ],
        weight: Weight::Quantity,
    })
}

/// Of each checkpoint at which shared memory of this kind is known: true if that is more than the band around private memory.
fn much_shared(run: &Summary, kind: fn(&CheckpointSummary) -> Option<u64>) -> Vec<bool> {
    let mut known = Vec::new();
    for taken in run.phases.iter().filter_map(|phase| phase.checkpoint.as_ref()) {
        if let Some(shared) = kind(taken) {
            let private = taken.private_exact.or(taken.private_sampled).unwrap_or(0);
            known.push(shared > band::tolerated_difference(private));
        }
    }
    known
}

/// Everything that is not the same in all these runs.
pub fn differences<'h>(headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for circumstance in &OF_RUNS {
        if !OF_PROFILES.contains(&circumstance.name) {
            differences
                .extend(circumstance.differing(circumstance.name.into(), headers.clone().map(circumstance.fact)));
            continue;
        }
        let profiles: BTreeSet<Option<&str>> = headers.clone().map(profile).collect();
        for name in profiles {
            let of_profile = headers.clone().filter(|header| profile(header) == name);
            differences.extend(circumstance.differing(circumstance.name.into(), of_profile.map(circumstance.fact)));
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
    for circumstance in &OF_SERVER {
        // A lens sets variables, and adds to those that the user sets; runs of two lenses are never compared.
        for runs in by_lens(circumstance, headers.clone()) {
            let what = format!("{} of {name}", circumstance.name);
            differences.extend(circumstance.differing(what.into(), runs.into_iter().map(circumstance.fact)));
        }
    }
    differences.dedup();
    differences
}

/// The runs in which a circumstance must be the same: those through each lens of what a lens changes, or all.
fn by_lens<'h>(circumstance: &Circumstance, headers: impl Iterator<Item = &'h Header> + Clone) -> Vec<Vec<&'h Header>> {
    if !OF_ENVIRONMENT.contains(&circumstance.name) {
        return vec![headers.collect()];
    }
    let mut groups = Vec::new();
    for lens in Lens::ALL {
        let through_lens = headers.clone().filter(|header| header.server.lens.name == lens);
        groups.push(through_lens.collect());
    }
    groups
}

/// Options of some sides of a gate and not of others. A side that differs within itself is reported alone.
pub fn differences_between(sides: &[(&str, Vec<&Header>)]) -> Vec<Difference> {
    let mut differences: Vec<Difference> = Vec::new();
    for circumstance in &OF_SIDES {
        for lens in Lens::ALL {
            let mut values: Vec<(&str, String)> = Vec::new();
            for (name, headers) in sides {
                let through_lens = headers.iter().filter(|header| header.server.lens.name == lens);
                let value = through_lens.map(|header| (circumstance.fact)(header)).min();
                values.extend(value.map(|value| (*name, value)));
            }
            if values.iter().any(|(_, value)| *value != values[0].1) {
                differences.push(Difference {
                    what: format!("{} of the sides", circumstance.name).into(),
                    values: values.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
                    weight: circumstance.weight,
                });
            }
        }
    }
    differences.dedup();
    differences
}

/// Every circumstance that a calibration depends on, by its name.
pub fn circumstances(header: &Header) -> BTreeMap<String, String> {
    deciding()
        .map(|circumstance| (circumstance.name.to_owned(), (circumstance.fact)(header)))
        .collect()
}

/// The names of the circumstances in which this run differs from a calibration's.
pub fn differing_circumstances(then: &BTreeMap<String, String>, now: &Header) -> Vec<&'static str> {
    deciding()
        .filter(|circumstance| circumstance.differs_from_calibration(then, now))
        .map(|circumstance| circumstance.name)
        .collect()
}

/// True if runs that differ in these circumstances alone can be of two versions of one server.
pub fn are_versions(unlike: &[&str]) -> bool {
    unlike.iter().all(|name| ["version", "program", PACKAGE].contains(name))
}

/// Differences that mean another server or another measurement: name, old and new value. Hosts may differ.
pub fn changes(then: &Header, now: &Header) -> Vec<(&'static str, String, String)> {
    let of_measurement = OF_RUNS
        .iter()
        .filter(|circumstance| circumstance.weight >= Weight::Measurement);
    let mut changes = Vec::new();
    for circumstance in of_measurement.chain(&OF_SERVER) {
        let (old, new) = ((circumstance.fact)(then), (circumstance.fact)(now));
        if circumstance.differs(&old, &new) {
            changes.push((circumstance.name, old, new));
        }
    }
    changes
}

fn deciding() -> impl Iterator<Item = &'static Circumstance> {
    OF_RUNS
        .iter()
        .filter(|circumstance| circumstance.weight > Weight::Noted)
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

/// The number of processors that the run could use, whichever they were.
fn usable_processors(header: &Header) -> String {
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

fn idle_windows(header: &Header) -> String {
    let left_out = header.server.lens.without_windows;
    if left_out { "left out" } else { "played" }.to_owned()
}

/// Variables that do not change how much memory the server takes, without the directories of its caches.
fn environment(header: &Header) -> String {
    let others = header
        .server
        .env
        .iter()
        .filter(|(name, value)| !sets_memory(name) && !is_cache(value));
    listed(others.map(|(name, value)| format!("{name}={value}")))
}

fn arguments(header: &Header) -> String {
    listed(header.server.args.iter().cloned())
}

fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { none() } else { words.join(" ") }
}

fn none() -> String {
    "none".to_owned()
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

fn init_options(header: &Header) -> String {
    text(&header.settings.init_options)
}

fn settings(header: &Header) -> String {
    text(&header.settings.settings)
}

/// Installed swap; other systems than Linux make theirs as they need it, so that it differs from run to run.
fn swap(header: &Header) -> String {
    let swap = if header.host.os == "linux" {
        header.host.memory.swap
    } else {
        None
    };
    size(swap)
}

/// The kernel's effort to give huge pages; none where it gives none.
fn defragmentation(header: &Header) -> String {
    let memory = &header.host.memory;
    match memory.huge_pages() {
        Some("never") => none(),
        _ => text(&memory.huge_pages_defrag),
    }
}

/// True if a value is a directory of ours for caches, `…/lsp-soak-1000/0123abcd-0/cache/…`: places differ from run to run.
fn is_cache(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['/', '\\']).collect();
    let Some(place) = parts.iter().position(|part| is_own_directory(part)) else {
        return false;
    };
    parts[place + 1..].iter().take(2).any(|part| part.starts_with("cache"))
}

/// `lsp-soak-1000`.
fn is_own_directory(name: &str) -> bool {
    match name.strip_prefix("lsp-soak") {
        Some(suffix) => suffix.chars().all(|c| c == '-' || c.is_ascii_digit()),
        None => false,
    }
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
