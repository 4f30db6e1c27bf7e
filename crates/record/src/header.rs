//! The first line of a journal: what a reader needs to trust and compare the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer, ser};

use base::lens::Lens;

use super::{
    AddressSpaceRule, AllocatorFacts, CellFacts, FORMAT, KnobFacts, Nanos, PreloadFacts, ShimFacts, TracerFacts,
    Wrapped,
};

/// Version of the record format. A reader reads every minor version of its own major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Version {
    /// Changes when an older reader would misread the record.
    pub major: u32,
    /// Changes when the format gains members.
    pub minor: u32,
}

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of the format.
    pub format: Version,
    /// Version of lsp-soak that wrote it.
    pub tool: String,
    /// Wall-clock time of the first spawn, to the millisecond, RFC 3339 in UTC.
    pub started: String,
    /// Contents of the record of a relayed session (`lsp-soak wrap`); `None` of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrapped: Option<Wrapped>,
    /// Place of the run in the plan.
    pub plan: PlanFacts,
    /// The machine.
    pub host: Host,
    /// The program under test.
    pub server: ServerFacts,
    /// The scenario.
    pub scenario: ScenarioFacts,
    /// The workspace.
    pub workspace: WorkspaceFacts,
    /// How the run was measured.
    pub settings: Settings,
}

impl Default for Header {
    /// The header of an unknown run.
    fn default() -> Header {
        Header {
            format: FORMAT,
            tool: String::new(),
            started: String::new(),
            wrapped: None,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanFacts {
    /// Number of the run, from 1, in the whole plan, whichever part this machine plays.
    pub run: u32,
    /// Block of the run, from 0; each block has every server once.
    pub block: u32,
    /// Whether this is a warm-up run, which no comparison counts.
    pub warm_up: bool,
    /// Part of the plan that this machine plays, as `2/4`.
    pub partition: Option<String>,
    /// Tracer of the run's system calls. The memory and latencies of a traced run are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracerFacts>,
    /// Runs per server at each interim analysis; empty when the number of runs was fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Cell of the sweep; `None` outside a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellFacts>,
    /// Runs that were played at once, each on its own processors; `None` if this one had the machine to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
}

/// Conditions of the machine that make figures less precise. Each comes with an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strain {
    /// The kernel keeps resident counters per processor; the amount is the error in bytes.
    Counters,
    /// Processes waited for memory; the amount is a share of the time.
    Short,
    /// The machine was overloaded; the amount is the load per processor.
    Busy,
    /// Runs were played at once; the amount is their number.
    Shared,
}

/// The machine and its state when the run began. Unknown is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Processors that the run may use, as a list such as `0-1`.
    pub affinity: Option<String>,
    /// Frequency governor of the first processor.
    pub governor: Option<String>,
    /// Memory of the machine.
    pub memory: Memory,
    /// Processor quota of the control group, in processors.
    #[serde(serialize_with = "finite")]
    pub cpu_quota: Option<f64>,
    /// Page size in bytes.
    pub page_size: Option<u64>,
    /// Kind of container, if any.
    pub container: Option<String>,
    /// Kind of virtual machine, if any.
    pub virtual_machine: Option<String>,
    /// Load average over one minute at the start of the run.
    #[serde(serialize_with = "finite")]
    pub load: Option<f64>,
    /// Memory pressure (`some`) over ten seconds, in percent.
    #[serde(serialize_with = "finite")]
    pub memory_pressure: Option<f64>,
}

/// Refuses NaN and infinity: serde_json writes them as `null`, which means unknown.
fn finite<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(number) if !number.is_finite() => Err(ser::Error::custom(format!("{number} is not a finite number"))),
        _ => value.serialize(serializer),
    }
}

/// Memory of the machine and the kernel's settings for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Installed, in bytes.
    pub total: Option<u64>,
    /// Available, in bytes.
    pub available: Option<u64>,
    /// Swap, in bytes.
    pub swap: Option<u64>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// Defragmentation mode of huge pages.
    pub huge_pages_defrag: Option<String>,
    /// Whether `prctl` disables huge pages for lsp-soak and its child processes.
    pub huge_pages_disabled: Option<bool>,
    /// Whether memory that asks for huge pages is exempt from `huge_pages_disabled`.
    pub huge_pages_exempt: Option<bool>,
    /// `vm.overcommit_memory`.
    pub overcommit: Option<u64>,
    /// Limit of the control group, in bytes.
    pub cgroup_limit: Option<u64>,
    /// Threshold where the kernel throttles and reclaims from the control group, in bytes: `memory.high`.
    pub cgroup_high: Option<u64>,
    /// Swap that the control group may use, in bytes.
    pub cgroup_swap: Option<u64>,
}

impl Memory {
    /// The huge page mode that applies to the server: the system's mode, reduced by `prctl`.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::EnumString, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum HugePages {
    /// No huge pages
    Never,
    /// Only where the program or its allocator asks for them
    Madvise,
    /// Wherever the kernel can
    Always,
}

impl HugePages {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The program under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerFacts {
    /// Label: names files and rows.
    pub label: String,
    /// Profile of the server.
    pub profile: Option<String>,
    /// Resolved path of the program.
    pub program: String,
    /// SHA-256 of the program's file.
    pub sha256: Option<String>,
    /// Bytes of the program's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// Interpreter, when the program is a script.
    pub interpreter: Option<Interpreter>,
    /// Output of `--version`.
    pub version: Option<String>,
    /// The package that lsp-soak installed it from; `None` for programs of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageFacts>,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment variables that lsp-soak sets for the server, including those that isolate its caches.
    pub env: BTreeMap<String, String>,
    /// Inherited variables that decide which files and programs the server finds, such as `PATH`.
    #[serde(default)]
    pub inherited: BTreeMap<String, String>,
    /// Inherited variables that lsp-soak removed.
    pub scrubbed: Vec<String>,
    /// Detected allocator; `None` in older records.
    pub allocator: Option<AllocatorFacts>,
    /// Preloaded allocator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<PreloadFacts>,
    /// Allocator settings, each with the value in force before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knobs: Vec<KnobFacts>,
    /// Lens that the memory is measured through.
    #[serde(default)]
    pub lens: LensFacts,
    /// Preloaded library that releases memory on a signal; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<ShimFacts>,
}

/// An installed package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackageFacts {
    /// `pypi`, `npm`, `crate` or `go`.
    pub ecosystem: String,
    /// Name of the package.
    pub name: String,
    /// Version that was asked for.
    pub version: String,
    /// SHA-256 of the package manager's lists of installed files or packages with their hashes, dependencies included, or of the
    /// program of a crate or a Go module.
    pub sha256: Option<String>,
}

/// The lens of a run and the settings it made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LensFacts {
    /// Name of the lens.
    pub name: Lens,
    /// Allocator that the settings are for, as the profile names it; `None` without settings.
    pub allocator: Option<String>,
    /// Variables that the lens set or extended.
    pub env: BTreeMap<String, String>,
    /// Whether the settings only approximate the lens, because the allocator has no exact one.
    pub approximate: bool,
    /// Whether the preloaded library forced a release before each checkpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Command that collected the server's garbage before each checkpoint, and reported the live memory unless
    /// `without_live`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_by: Option<String>,
    /// True if that command reports no live memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_live: bool,
    /// Whether idle windows that wait for releases were left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_windows: bool,
    /// Whether the allocator confirmed the settings; `None` where it cannot.
    pub verified: Option<bool>,
}

impl LensFacts {
    /// True if live memory was reported at each checkpoint, which then counts instead of private memory.
    pub fn reports_live(&self) -> bool {
        self.collected_by.is_some() && !self.without_live
    }
}

/// The interpreter of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interpreter {
    /// Path of the interpreter.
    pub program: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// Output of `--version`.
    pub version: Option<String>,
}

/// The scenario of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioFacts {
    /// Name of the scenario.
    pub name: String,
    /// Scenario file, as given.
    pub path: String,
    /// SHA-256 of the text and all includes.
    pub sha256: String,
    /// Text of the scenario.
    pub text: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Phase names in order.
    pub phases: Vec<String>,
    /// Phase whose checkpoint is the result; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The workspace of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkspaceFacts {
    /// The original directory.
    pub path: String,
    /// Where the original was fetched from; `None` for a directory of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginFacts>,
    /// Isolation: `copy`, `reflink`, `overlay`, `in-place`.
    pub isolation: String,
    /// Language id.
    pub language: String,
    /// Files that the scenario's pattern selects.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// SHA-256 over the paths and contents of these files.
    pub sha256: String,
    /// All files that the server sees; `None` if one could not be read.
    pub tree: Option<TreeFacts>,
    /// Checked-out commit of the original; `None` outside a git checkout.
    pub revision: Option<Revision>,
}

impl WorkspaceFacts {
    /// True if the server saw the original and no copy.
    pub fn is_original(&self) -> bool {
        self.isolation == "in-place"
    }
}

/// The origin of a pinned workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginFacts {
    /// Origin as `--workspace` takes it, such as `pypi:prefect==3.9.1`.
    pub origin: String,
    /// Command that prepared the files.
    pub setup: Option<String>,
    /// SHA-256 over the fetched files, as that of a tree, before the command.
    pub sha256: String,
}

/// All files of a workspace except histories and caches, which a copy leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeFacts {
    /// Number of files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// SHA-256 over paths, lengths and contents. Of a file over 1 MiB only the first and last 512 KiB count.
    pub sha256: String,
    /// Files that count by path and length only, because 1 GiB of contents was read before them.
    pub unread: u64,
}

/// A commit of a git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Revision {
    /// Hash of the commit.
    pub commit: String,
    /// Whether the workspace differs from the commit; `None` when git did not answer in time.
    pub dirty: Option<bool>,
}

/// Measurement settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Sampling interval.
    pub interval: Nanos,
    /// Whether high-water marks are reset at each phase.
    pub peak_reset: bool,
    /// Private memory of the tree, in bytes, above which the run is ended; `None` without a limit, and in records
    /// before format 1.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// The rule by which processes in one address space are known; `None` where none can be, and in records before
    /// format 1.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_spaces: Option<AddressSpaceRule>,
    /// Limit on huge pages; `None` leaves the system's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<HugePages>,
    /// Whether the page cache was emptied before the run of a command; `None` for a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_dropped: Option<bool>,
    /// Whether idle windows waited for as long as the server's runtime may keep freed memory (`--full-decay`); false in
    /// records before format 1.9.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_decay: bool,
    /// Name of the client capability profile.
    pub capabilities: String,
    /// Whether diagnostics are pulled as the imitated editor does; false in records before format 1.9.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pulls_diagnostics: bool,
    /// Initialization options sent, as JSON text.
    pub init_options: Option<String>,
    /// Settings answered to `workspace/configuration`, as JSON text.
    pub settings: Option<String>,
    /// The lsp-soak command line.
    pub command_line: Vec<String>,
    /// Working directory of lsp-soak; `None` in older records.
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
