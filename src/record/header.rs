//! The first line of a journal: everything that must be known to trust and to compare the rest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, ser};

use crate::lens::Lens;

use super::{AllocatorFacts, CellFacts, FORMAT, KnobFacts, Nanos, PreloadFacts, ShimFacts, TracerFacts};

/// The record format's version: a reader reads every minor version of its own major one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Changes when an old reader would misread.
    pub major: u32,
    /// Changes when something was added.
    pub minor: u32,
}

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of the format.
    pub format: Version,
    /// Version of lsp-soak that wrote it.
    pub tool: String,
    /// Wall-clock time of the first spawn, to the millisecond, RFC 3339 in UTC.
    pub started: String,
    /// Its place in the plan.
    pub plan: PlanFacts,
    /// The machine.
    pub host: Host,
    /// The program under test.
    pub server: ServerFacts,
    /// What was played.
    pub scenario: ScenarioFacts,
    /// What it was played on.
    pub workspace: WorkspaceFacts,
    /// How it was measured.
    pub settings: Settings,
}

impl Default for Header {
    /// Of a run of which nothing is known.
    fn default() -> Header {
        Header {
            format: FORMAT,
            tool: String::new(),
            started: String::new(),
            plan: PlanFacts::default(),
            host: Host::default(),
            server: ServerFacts::default(),
            scenario: ScenarioFacts::default(),
            workspace: WorkspaceFacts::default(),
            settings: Settings::default(),
        }
    }
}

/// The place of a run in the plan of an invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFacts {
    /// Its number, from 1, in the order of the whole plan, whatever part of it this machine plays.
    pub run: u32,
    /// Its block, from 0: each block has every server once.
    pub block: u32,
    /// Whether it only warms caches up, so that no comparison counts it.
    pub warm_up: bool,
    /// Which part of the plan this machine plays, as `2/4`.
    pub partition: Option<String>,
    /// What traced the system calls of the run. Its memory and latencies are then not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracerFacts>,
    /// After how many runs of each server it was asked whether they show enough, so that the answer decided how many there
    /// are; empty where their number was fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Which cell of a sweep it is of; `None` of a run that is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellFacts>,
}

/// What about the machine of a run makes its figures less sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strain {
    /// Its kernel keeps resident counters per processor; how much is the error in bytes.
    Counters,
    /// Something waited for memory; how much is the share of the time.
    Short,
    /// More was to run than it has processors; how much is the load for each of them.
    Busy,
}

/// The machine and its state when the run began. Unknown is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Target triple that lsp-soak was built for.
    pub target: String,
    /// `linux`, `macos`, `windows`.
    pub os: String,
    /// Distribution and version.
    pub distribution: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// C library and version, such as `glibc 2.36`.
    pub libc: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Logical processors of the machine.
    pub cpus: Option<u64>,
    /// Processors that this run may use, as a list such as `0-1`.
    pub affinity: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Memory of the machine.
    pub memory: Memory,
    /// Processors' worth of time that the control group may use.
    #[serde(serialize_with = "finite")]
    pub cpu_quota: Option<f64>,
    /// Page size in bytes.
    pub page_size: Option<u64>,
    /// Kind of container, when in one.
    pub container: Option<String>,
    /// Kind of virtual machine, when in one.
    pub virtual_machine: Option<String>,
    /// Load average over one minute when the run began.
    #[serde(serialize_with = "finite")]
    pub load: Option<f64>,
    /// `some` of memory pressure over ten seconds, in percent.
    #[serde(serialize_with = "finite")]
    pub memory_pressure: Option<f64>,
}

/// Refuses what JSON cannot say: serde_json would write NaN and infinity as `null`, which means unknown.
fn finite<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(number) if !number.is_finite() => Err(ser::Error::custom(format!("{number} is not a finite number"))),
        _ => value.serialize(serializer),
    }
}

/// Memory of the machine and how the kernel hands it out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Installed, in bytes.
    pub total: Option<u64>,
    /// Available, in bytes.
    pub available: Option<u64>,
    /// Swap, in bytes.
    pub swap: Option<u64>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// Their defragmentation mode.
    pub huge_pages_defrag: Option<String>,
    /// Whether huge pages are disabled for lsp-soak and what it starts, through `prctl`.
    pub huge_pages_disabled: Option<bool>,
    /// Whether memory for which they were asked is exempt from that.
    pub huge_pages_exempt: Option<bool>,
    /// `vm.overcommit_memory`.
    pub overcommit: Option<u64>,
    /// Limit of the control group, in bytes.
    pub cgroup_limit: Option<u64>,
    /// From where on the control group is slowed down and has to give back, in bytes: `memory.high`.
    pub cgroup_high: Option<u64>,
    /// Swap that the control group may use, in bytes.
    pub cgroup_swap: Option<u64>,
}

impl Memory {
    /// Which memory of the server may be in huge pages: the system's mode, and what is left of it.
    pub fn huge_pages(&self) -> Option<&str> {
        let system = self.huge_pages.as_deref()?;
        match (self.huge_pages_disabled, self.huge_pages_exempt) {
            (Some(true), Some(true)) if system == "always" => Some("madvise"),
            (Some(true), None | Some(false)) => Some("never"),
            _ => Some(system),
        }
    }
}

/// Which memory may be in transparent huge pages.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HugePages {
    /// None.
    Never,
    /// What a program, or its allocator, asks for.
    Madvise,
    /// All of it.
    Always,
}

impl HugePages {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The program under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// Label: names files and rows.
    pub label: String,
    /// The profile it was run with.
    pub profile: Option<String>,
    /// The program's path as resolved.
    pub program: String,
    /// SHA-256 of the program's file.
    pub sha256: Option<String>,
    /// What runs the program, when it is a script.
    pub interpreter: Option<Interpreter>,
    /// What it prints for `--version`.
    pub version: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables that were set for it, those that keep its caches apart among them.
    pub env: BTreeMap<String, String>,
    /// Variables of its surroundings that decide what it finds, such as `PATH`, as it sees them.
    #[serde(default)]
    pub inherited: BTreeMap<String, String>,
    /// Variables that its surroundings had and that were taken away.
    pub scrubbed: Vec<String>,
    /// Its allocator as detected; `None` in records of before there was a detector.
    pub allocator: Option<AllocatorFacts>,
    /// The allocator that was preloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<PreloadFacts>,
    /// The settings that its allocator was given, each as it was seen before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knobs: Vec<KnobFacts>,
    /// What its memory is looked at through.
    #[serde(default)]
    pub lens: LensFacts,
    /// The library that was preloaded to give memory back on a signal; `None` where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<ShimFacts>,
}

/// The lens of a run, and what the server was told for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LensFacts {
    /// Which.
    pub name: Lens,
    /// The allocator that the settings are for, as the profile names it; `None` where nothing is set.
    pub allocator: Option<String>,
    /// The variables that the lens set or added to.
    pub env: BTreeMap<String, String>,
    /// Whether the allocator has no setting for this, so that they only come near.
    pub approximate: bool,
    /// Whether memory was given back by force before each checkpoint, through the preloaded library.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Whether the server was seen to have taken the settings over; `None` where that cannot be seen.
    pub verified: Option<bool>,
}

/// What runs a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interpreter {
    /// Its path.
    pub program: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// What it prints for `--version`.
    pub version: Option<String>,
}

/// What was played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioFacts {
    /// Its name.
    pub name: String,
    /// Its file as given.
    pub path: String,
    /// SHA-256 of its text with everything it includes.
    pub sha256: String,
    /// Its text.
    pub text: String,
    /// Seed of everything that is picked at random.
    pub seed: u64,
    /// Phase names in order.
    pub phases: Vec<String>,
    /// The phase whose checkpoint is the result; `None` in records of before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// What it was played on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceFacts {
    /// The original directory.
    pub path: String,
    /// How it was isolated: `copy`, `reflink`, `overlay`, `in-place`.
    pub isolation: String,
    /// Language id.
    pub language: String,
    /// Files that the scenario's pattern selects.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// SHA-256 over their paths and contents.
    pub sha256: String,
    /// Everything that the server sees there; `None` if something of it could not be read.
    pub tree: Option<TreeFacts>,
    /// The commit that the original is checked out from, when it is a git checkout.
    pub revision: Option<Revision>,
}

/// All files of a workspace but those that a copy leaves out: histories and caches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeFacts {
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// SHA-256 over paths, lengths and contents. Of a file over 1 MiB the first and the last 512 KiB count.
    pub sha256: String,
    /// Files of which only path and length count, because 1 GiB of contents had been read before them.
    pub unread: u64,
}

/// A commit of a git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// Its hash.
    pub commit: String,
    /// Whether what is served differs from it; `None` when git did not say in time.
    pub dirty: Option<bool>,
}

/// How it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Sampling interval.
    pub interval: Nanos,
    /// Whether high-water marks are reset at each phase.
    pub peak_reset: bool,
    /// What huge pages were limited to; `None` leaves them as the system has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<HugePages>,
    /// Name of the client capability profile.
    pub capabilities: String,
    /// Initialization options sent, as JSON text.
    pub init_options: Option<String>,
    /// Settings answered to `workspace/configuration`, as JSON text.
    pub settings: Option<String>,
    /// The lsp-soak command line.
    pub command_line: Vec<String>,
    /// The directory that it was called in; `None` in records of before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_huge_pages_is_the_systems_mode_without_what_is_disabled() {
        for (system, disabled, exempt, left) in [
            (Some("always"), Some(false), Some(false), Some("always")),
            (Some("always"), Some(true), Some(false), Some("never")),
            (Some("always"), Some(true), None, Some("never")),
            (Some("always"), Some(true), Some(true), Some("madvise")),
            (Some("madvise"), Some(true), Some(true), Some("madvise")),
            (Some("madvise"), None, None, Some("madvise")),
            (Some("never"), Some(true), Some(true), Some("never")),
            (None, Some(true), Some(false), None),
        ] {
            let memory = Memory {
                huge_pages: system.map(str::to_owned),
                huge_pages_disabled: disabled,
                huge_pages_exempt: exempt,
                ..Memory::default()
            };
            assert_eq!(memory.huge_pages(), left, "{system:?} {disabled:?} {exempt:?}");
        }
    }
}
