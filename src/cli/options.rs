//! Options that several commands share.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};

use crate::config::files::LARGEST;
use crate::config::step::Speed;
use crate::config::values::{
    CpuList, Format, Job, Lenses, LookPlan, Partition, Runs, ServerText, cpus, interval, job, looks, partition,
};
use base::units::{Size, Span};
use record::HugePages;
use record::Preload;

/// The servers, and their options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerOptions {
    /// A server: profile, program or path, with optional label and environment
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required_unless_present = "resume",
        value_parser = ServerText,
        hide_possible_values = true
    )]
    pub servers: Vec<String>,
    /// Options of every server.
    #[command(flatten)]
    pub extra: ServerExtras,
}

/// Options of every server besides its profile.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerExtras {
    /// One more argument for every server
    #[arg(
        long = "server-arg",
        value_name = "ARG",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub server_args: Vec<String>,
    /// An environment variable for every server
    #[arg(long = "env", value_name = "K=V", hide_short_help = true)]
    pub env: Vec<String>,
    /// Run every server under each of these allocators, such as jemalloc,mimalloc,system
    #[arg(long, value_name = "ALLOC,…", value_delimiter = ',')]
    pub preload: Vec<Preload>,
    /// Initialization options from a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub init_options: Option<PathBuf>,
    /// Answers to `workspace/configuration` from a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub settings: Option<PathBuf>,
    /// Preload a library that releases memory on a signal, for `release` steps (Linux)
    #[arg(
        long,
        value_name = "PATH",
        value_hint = ValueHint::FilePath,
        num_args = 0..=1,
        require_equals = true
    )]
    pub purge_shim: Option<Option<PathBuf>>,
    /// Your own server profiles [default: servers.toml beside the scenario or here]
    #[arg(long = "servers", value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub file: Option<PathBuf>,
}

/// Options that replace parts of the scenario.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub struct ScenarioOptions {
    /// Your own project instead of the scenario's: a directory, or pinned as pypi:prefect==3.9.1
    #[arg(long, value_name = "DIR|ORIGIN", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
    /// Command that prepares a pinned workspace, such as 'uv sync'
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, hide_short_help = true)]
    pub setup: Option<String>,
    /// Language of the project
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Which files of the project to open
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub files: Option<String>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Never open files above this size
    #[arg(long, value_name = "SIZE", default_value_t = LARGEST, hide_short_help = true)]
    pub largest_file: Size,
    /// Wait in idle windows until garbage collectors release memory: minutes for Go and Java
    #[arg(long, hide_short_help = true)]
    pub full_decay: bool,
    /// How fast recorded sessions are played: 1x, 10x or max [default: the scenario's, or 1x]
    #[arg(long, value_name = "SPEED", hide_short_help = true)]
    pub speed: Option<Speed>,
    /// Let steps of the scenario run commands; `check` prints them
    #[arg(long, hide_short_help = true)]
    pub allow_shell: bool,
    /// How the project is protected: copy, reflink, overlay or in-place
    #[arg(long, value_name = "MODE", hide_short_help = true)]
    pub isolation: Option<String>,
}

/// The runs of each server, and the part of the plan that is played here.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Runs")]
pub struct Repeating {
    /// Counted runs per server, or `auto` to stop once decided [default: 1, 5 of several servers]
    #[arg(long, value_name = "N|auto")]
    pub runs: Option<Runs>,
    /// After how many runs `auto` makes an interim analysis
    #[arg(long, value_name = "N,N,…", value_parser = looks, default_value = "3,5,8,12", hide_short_help = true)]
    pub looks: LookPlan,
    /// Play as many runs as fit into this time
    #[arg(long, value_name = "TIME")]
    pub time_budget: Option<Span>,
    /// Play part K of N of the plan, to spread it over machines
    #[arg(long, value_name = "K/N", value_parser = partition, requires = "runs", hide_short_help = true)]
    pub partition: Option<Partition>,
    /// Server to compare with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
}

/// The options of recording: lens, interval, processors, directory.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Recording {
    /// Measure memory as shipped, purged, or both
    #[arg(long, value_enum, value_name = "LENS", default_value_t)]
    pub lens: Lenses,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub processors: Processors,
    /// Directory for the records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

/// The processors that runs use, and how many runs share them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Processors {
    /// Restrict everything that is started to these processors, such as 0-3,6 (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, hide_short_help = true)]
    pub cpus: Option<CpuList>,
    /// Play N runs at once, each on an equal share of the processors (Linux)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), hide_short_help = true)]
    pub jobs: u32,
    /// The run that this process plays for the one that started it
    #[arg(long, value_name = "RUN@LIST", value_parser = job, hide = true)]
    pub job: Option<Job>,
}

/// Measuring and printing of a command that searches, one run after the other.
#[derive(Clone, Debug, Args)]
pub struct Searching {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Restrict everything that is started to these processors, such as 0-3,6 (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, hide_short_help = true, help_heading = "Measuring")]
    pub cpus: Option<CpuList>,
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_SWEEPS), default_value = "terminal", help_heading = "Output")]
    pub format: Format,
    #[command(flatten)]
    pub exports: Exports,
    #[command(flatten)]
    pub voice: Voice,
}

impl Searching {
    pub fn processors(&self) -> Processors {
        Processors {
            cpus: self.cpus.clone(),
            jobs: 1,
            job: None,
        }
    }
}

fn huge_pages() -> impl TypedValueParser<Value = HugePages> {
    let modes = [
        ("never", "No huge pages"),
        ("madvise", "Only where the program or its allocator asks for them"),
        ("always", "Wherever the kernel can"),
    ];
    let values = modes.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| HugePages::from_str(&name))
}

/// The options of measuring.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Measuring {
    /// Time between two samples, 5ms to 10s
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = interval, allow_hyphen_values = true, hide_short_help = true)]
    pub interval: Span,
    /// Allow transparent huge pages: never, madvise or always [default: the system's setting]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = huge_pages(),
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub thp: Option<HugePages>,
    /// Do not reset the kernel's peaks, to compare with `/usr/bin/time -v`
    #[arg(long, hide_short_help = true)]
    pub no_peak_reset: bool,
    /// End a run whose private memory exceeds this [default: what the machine has left]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<Size>,
    /// Skip steps that the server does not offer, instead of failing
    #[arg(long, hide_short_help = true)]
    pub allow_unsupported: bool,
}

/// The amount and form of messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_RECORDS), default_value = "terminal")]
    pub format: Format,
    /// Files that get a copy.
    #[command(flatten)]
    pub exports: Exports,
    /// Also write every sample to a CSV file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_csv: Option<PathBuf>,
    /// The amount of messages.
    #[command(flatten)]
    pub voice: Voice,
}

/// Files for a result besides the printed one; `-` is standard output.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Exports {
    /// Also write the result to a Markdown file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_markdown: Option<PathBuf>,
    /// Also write the result to a JSON file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_json: Option<PathBuf>,
    /// Also write the page for a browser to a file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_html: Option<PathBuf>,
}

/// The extent of the report, and of messages while runs go on.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Voice {
    /// Also print the evidence: every table, definitions, how to reproduce it
    #[arg(long, hide_short_help = true)]
    pub details: bool,
    /// Print only the report and errors
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
    /// Print every phase, step and started command, and the end of each server's stderr
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
}
