//! Options that several commands share.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};

use crate::config::files::LARGEST;
use crate::config::values::Partition;
use crate::record::HugePages;
use crate::record::Preload;
use crate::units::{Size, Span};

use super::values::{CpuList, Lenses, LookPlan, Runs, ServerText, cpus, interval, looks, partition};

/// What `--lens` chooses between.
pub const LENS: &str = "\
What memory is looked at through: the allocator as the server ships it, which is what people feel; or told to give back \
at once, which leaves little but what is in use and so shows small changes in few runs. Where the allocator is not \
found, the profile must name it, such as `allocator = { linked = \"jemalloc\" }`. It compares versions of one server, never allocators";

/// What `--thp` chooses between.
const THP: &str = "\
Which memory may be in transparent huge pages, for everything that is started: never; madvise, only what a program asks \
for; always, which a system must allow. An allocator that asks for huge pages is given more memory than it touches, so \
two servers are compared better without them [default: as the system says]";

/// What `--preload` does.
const PRELOAD: &str = "\
Run every server under each of these allocators, preloaded: jemalloc, mimalloc, tcmalloc, tbbmalloc, the path of a library, \
or system for the one that it has. Nothing is rebuilt: the library is found where the system keeps it and loaded before all \
others. It is seen to be used before anything runs, and a server that brings an allocator of its own is refused. Labels end \
in the allocator's name, such as clangd-jemalloc; under system they stay as they are. One server by itself is given one as \
in --server 'preload=jemalloc clangd'";

/// What `--purge-shim` does.
const SHIM: &str = "\
Preload the library that gives memory back on a signal into every server, for `release` steps: glibc's malloc_trim, and \
preloaded jemalloc, tcmalloc or TBB. It adds a sleeping thread to each process and is recorded. The purged lens preloads \
it by itself where an allocator has no setting to purge. It is looked for at PATH, LSP_SOAK_PURGE_SHIM and beside \
lsp-soak, and else built in lsp-soak's own sources (Linux)";

/// Which servers, and what they are told.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerOptions {
    /// A server: a profile's name, a program or a path, with an optional label and environment
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required_unless_present = "resume",
        value_parser = ServerText,
        hide_possible_values = true
    )]
    pub servers: Vec<String>,
    /// What every server is told.
    #[command(flatten)]
    pub extra: ServerExtras,
}

/// What every server is told beside its profile.
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
    /// Run every server under each of these allocators, preloaded: jemalloc, mimalloc, tcmalloc, tbbmalloc, the path of a
    /// library, or system for its own
    #[arg(long, value_name = "ALLOC,…", value_delimiter = ',', long_help = PRELOAD)]
    pub preload: Vec<Preload>,
    /// Initialization options, a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub init_options: Option<PathBuf>,
    /// Settings to answer `workspace/configuration` with, a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub settings: Option<PathBuf>,
    /// Preload the library that gives memory back on a signal, for `release` steps and the purged lens (Linux)
    #[arg(
        long,
        value_name = "PATH",
        value_hint = ValueHint::FilePath,
        num_args = 0..=1,
        require_equals = true,
        long_help = SHIM
    )]
    pub purge_shim: Option<Option<PathBuf>>,
    /// Server profiles of your own [default: servers.toml beside the scenario or in the current directory]
    #[arg(long = "servers", value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub file: Option<PathBuf>,
}

/// What of the scenario is set aside.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub struct ScenarioOptions {
    /// Your own project instead of the scenario's workspace
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
    /// Its language
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Which of its files to open
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub files: Option<String>,
    /// Seed of everything that is picked at random
    #[arg(long, value_name = "N", allow_negative_numbers = true, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Files over this size are never opened, such as data and what was generated
    #[arg(long, value_name = "SIZE", default_value_t = LARGEST, hide_short_help = true)]
    pub largest_file: Size,
    /// How the workspace is kept from harm: copy, reflink, overlay or in-place
    #[arg(long, value_name = "MODE", hide_short_help = true)]
    pub isolation: Option<String>,
}

/// How often each server is run, and which part of the plan is played here.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Runs")]
pub struct Repeating {
    /// Runs of each server that count, or `auto`: until a difference from the baseline is shown or ruled out [default:
    /// 1 for one server, 5 for several]
    #[arg(long, value_name = "N|auto")]
    pub runs: Option<Runs>,
    /// After how many runs `auto` looks
    #[arg(long, value_name = "N,N,…", value_parser = looks, default_value = "3,5,8,12", hide_short_help = true)]
    pub looks: LookPlan,
    /// As many runs as fit into this time, whatever else is asked for
    #[arg(long, value_name = "TIME")]
    pub time_budget: Option<Span>,
    /// Play only this part of the plan, such as 2/4: every block stays whole on one machine
    #[arg(long, value_name = "K/N", value_parser = partition, requires = "runs", hide_short_help = true)]
    pub partition: Option<Partition>,
    /// The server that the others are compared with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
}

impl Repeating {
    /// Whether servers are run more than once, so that caches are warmed up first.
    pub fn repeats(&self, servers: usize) -> bool {
        match (self.runs, self.time_budget) {
            (Some(Runs::Fixed(runs)), _) => runs > 1,
            (Some(Runs::Auto), _) | (None, Some(_)) => true,
            (None, None) => servers > 1,
        }
    }
}

/// How it is recorded: through what, how often it is looked, on what, and where that is written.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Recording {
    /// What memory is looked at through.
    #[arg(long, value_enum, value_name = "LENS", default_value_t, long_help = LENS)]
    pub lens: Lenses,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
    /// Keep to these processors, such as 0-3,6, with everything that is started: all servers alike (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, hide_short_help = true)]
    pub cpus: Option<CpuList>,
    /// Where to write the records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

/// How it is measured.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Measuring {
    /// Time between two samples, 5ms to 10s
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = interval, allow_hyphen_values = true, hide_short_help = true)]
    pub interval: Span,
    /// Which memory may be in transparent huge pages, for everything that is started [default: as the system says]
    #[arg(long, value_enum, value_name = "MODE", hide_possible_values = true, long_help = THP, hide_short_help = true)]
    pub thp: Option<HugePages>,
    /// Leave the kernel's high-water marks alone, to compare one process with `/usr/bin/time -v`
    #[arg(long, hide_short_help = true)]
    pub no_peak_reset: bool,
    /// Play on without the steps that the server does not offer
    #[arg(long, hide_short_help = true)]
    pub allow_unsupported: bool,
}

/// How much is said, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// What to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_RECORDS), default_value = "terminal")]
    pub format: Format,
    /// Where else it goes.
    #[command(flatten)]
    pub exports: Exports,
    /// Also write every sample to a CSV file; `-` is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub export_csv: Option<PathBuf>,
    /// How much is said meanwhile.
    #[command(flatten)]
    pub voice: Voice,
}

/// Files that a result is written to beside what is printed; `-` is standard output.
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

/// How much is said while runs go on.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Voice {
    /// Also print what the answer rests on: every table, what words mean, how it is made again
    #[arg(long, hide_short_help = true)]
    pub details: bool,
    /// Nothing but the report and errors
    #[arg(long, short, overrides_with = "verbose")]
    pub quiet: bool,
    /// Every phase and step, every command that is started, and the end of each server's stderr
    #[arg(long, short, overrides_with = "quiet")]
    pub verbose: bool,
}

/// What can be printed of a result, of several records side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and a timeline for people
    #[default]
    Terminal,
    /// Tables for a pull request
    Markdown,
    /// One page for a browser that loads nothing: charts, tables and facts
    Html,
    /// The timeline as one picture, for a README or a pull request
    Svg,
    /// Everything, for programs
    Json,
    /// Cases for CI systems, in JUnit's XML
    Junit,
    /// Every sample
    Csv,
    /// A trace for Perfetto or Chrome: counters of every process, phases, steps and requests
    Perfetto,
    /// Bencher's metric format
    Bencher,
    /// github-action-benchmark's `customSmallerIsBetter`
    GithubActionBenchmark,
}

impl Format {
    pub const OF_RECORDS: [Format; 10] = {
        use Format::{Bencher, Csv, GithubActionBenchmark, Html, Json, Junit, Markdown, Perfetto, Svg, Terminal};
        [
            Terminal, Markdown, Html, Svg, Json, Junit, Csv, Perfetto, Bencher, GithubActionBenchmark,
        ]
    };
    pub const OF_VERDICTS: [Format; 8] = {
        use Format::{Bencher, GithubActionBenchmark, Html, Json, Junit, Markdown, Svg, Terminal};
        [
            Terminal, Markdown, Html, Svg, Json, Junit, Bencher, GithubActionBenchmark,
        ]
    };
    pub const OF_SWEEPS: [Format; 4] = [Format::Terminal, Format::Markdown, Format::Html, Format::Json];
    pub const OF_FACTS: [Format; 2] = [Format::Terminal, Format::Json];

    /// Takes the name of one of these.
    pub fn among(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
        let names = formats.iter().filter_map(Format::to_possible_value);
        PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
    }
}
