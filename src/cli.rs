//! The command line: exactly what can be typed, before it means anything.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::analyse::stats::Looks;
use crate::lens::Lens;
use crate::plan::Partition;
use crate::units::Span;

mod gate;

pub use gate::{Gate, Holding, Inconclusive};

/// Measure what a language server does with memory.
///
/// lsp-soak drives a language server through a scripted session, samples the memory of its whole process tree, and
/// says what each step cost, what peaked and what came back.
#[derive(Debug, Parser)]
#[command(name = "lsp-soak", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lsp-soak run scenarios/completions.toml --server ty
  lsp-soak run scenarios/completions.toml --server rust-analyzer --workspace ~/src/mycrate --language rust
  lsp-soak run scenarios/goto.toml --server 'one-arena: MALLOC_ARENA_MAX=1 clangd'
  lsp-soak calibrate scenarios/completions.toml --server ty
  lsp-soak report reports/20261121-120000-completions --format csv

Exit codes:
  0 passed                                      1 a gate failed
  2 bad input or a failure of lsp-soak          3 a gate could not be decided
  4 the server failed the scenario, or did less work than the baseline          130 interrupted";

const LENS: &str = "\
What memory is looked at through: the allocator as the server ships it, which is what people feel; or told to give back \
at once, which leaves little but what is in use and so shows small changes in few runs. The profile must name the \
allocator, such as `allocator = { linked = \"jemalloc\" }`. It compares versions of one server, never allocators";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Drive a server through a scenario and report its memory
    Run(Run),
    /// Render records again
    Report(Report),
    /// Compare servers by records, of one machine or of several
    Compare(Compare),
    /// Run a server against itself, to know its noise before it is compared
    Calibrate(Calibrate),
    /// Decide whether a candidate needs more than a baseline, and say so by the exit code
    Gate(Gate),
    /// Validate a scenario and show what it would do
    Check(Check),
    /// List server profiles: which are installed, where, which version
    Servers(Servers),
}

/// `lsp-soak run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The scenarios to play, in order
    #[arg(required_unless_present = "resume", value_name = "SCENARIO")]
    pub scenarios: Vec<PathBuf>,
    /// Go on with the runs of this directory, which were cut off; nothing else needs to be said again
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub resume: Option<PathBuf>,
    /// Which servers.
    #[command(flatten)]
    pub servers: ServerOptions,
    /// What of the scenario is set aside.
    #[command(flatten)]
    pub scenario: ScenarioOptions,
    /// How often.
    #[command(flatten)]
    pub repeating: Repeating,
    /// What memory is looked at through.
    #[arg(
        long,
        value_enum,
        value_name = "LENS",
        default_value_t,
        help_heading = "Measuring",
        long_help = LENS
    )]
    pub lens: Lenses,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
    /// Keep to these processors, such as 0-3,6, with everything that is started: all servers alike (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = "Measuring")]
    pub cpus: Option<CpuList>,
    /// Where to write the records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub output: Output,
}

/// Which servers, and what they are told.
#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerOptions {
    /// A server: a profile's name, a program or a path, with an optional label and environment
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required_unless_present = "resume"
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
    #[arg(long = "server-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub server_args: Vec<String>,
    /// An environment variable for every server
    #[arg(long = "env", value_name = "K=V")]
    pub env: Vec<String>,
    /// Initialization options, a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE")]
    pub init_options: Option<PathBuf>,
    /// Settings to answer `workspace/configuration` with, a JSON or TOML file, instead of the profile's
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Server profiles of your own [default: servers.toml beside the scenario or in the current directory]
    #[arg(long = "servers", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What of the scenario is set aside.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub struct ScenarioOptions {
    /// Your own project instead of the scenario's workspace
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Its language
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Which of its files to open
    #[arg(long, value_name = "GLOB")]
    pub files: Option<String>,
    /// Seed of everything that is picked at random
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How the workspace is kept from harm: copy, reflink, overlay or in-place
    #[arg(long, value_name = "MODE")]
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
    #[arg(long, value_name = "N,N,…", value_parser = looks, default_value = "3,5,8,12")]
    pub looks: LookPlan,
    /// As many runs as fit into this time, whatever else is asked for
    #[arg(long, value_name = "TIME")]
    pub time_budget: Option<Span>,
    /// Play only this part of the plan, such as 2/4: every block stays whole on one machine
    #[arg(long, value_name = "K/N", value_parser = partition, requires = "runs")]
    pub partition: Option<Partition>,
    /// The server that the others are compared with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
}

/// How many runs of each server count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// So many.
    Fixed(u32),
    /// As many as it takes.
    Auto,
}

/// After how many runs it is looked whether everything is decided.
#[derive(Clone, Debug)]
pub struct LookPlan(pub Looks);

/// Numbers of processors, each once, in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Runs, String> {
        match text.parse() {
            _ if text == "auto" => Ok(Runs::Auto),
            Ok(runs @ 1..=10_000) => Ok(Runs::Fixed(runs)),
            Ok(_) | Err(_) => Err("write a number of runs from 1 to 10000, or auto".to_owned()),
        }
    }
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

/// Lenses, as they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Lenses {
    /// The allocator as it is
    #[default]
    AsShipped,
    /// The allocator told to give back at once
    Purged,
    /// Every server under each
    Both,
}

impl Lenses {
    /// Which they are.
    pub fn list(self) -> &'static [Lens] {
        match self {
            Lenses::AsShipped => &[Lens::AsShipped],
            Lenses::Purged => &[Lens::Purged],
            Lenses::Both => &Lens::ALL,
        }
    }
}

/// How it is measured.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Measuring {
    /// Time between two samples, 5ms to 10s
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Span,
    /// Leave the kernel's high-water marks alone, to compare one process with `/usr/bin/time -v`
    #[arg(long)]
    pub no_peak_reset: bool,
    /// Play on without the steps that the server does not offer
    #[arg(long)]
    pub allow_unsupported: bool,
}

/// How much is said, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What a report is printed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and a timeline for people
    #[default]
    Terminal,
    /// The summary for programs: a list unless one record is named by itself, and the comparison of several runs
    Json,
    /// Every sample
    Csv,
}

/// `lsp-soak calibrate`.
#[derive(Clone, Debug, Args)]
pub struct Calibrate {
    /// The scenario to play
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// A server, as for `run`
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required = true,
        help_heading = "Servers"
    )]
    pub servers: Vec<String>,
    /// What every server is told.
    #[command(flatten)]
    pub extra: ServerExtras,
    /// Runs of each server that count; fewer know too little of the noise
    #[arg(
        long,
        value_name = "N",
        default_value_t = 6,
        value_parser = clap::value_parser!(u32).range(6..=10_000),
        help_heading = "Runs"
    )]
    pub runs: u32,
    /// What of the scenario is set aside.
    #[command(flatten)]
    pub options: ScenarioOptions,
    /// What memory is looked at through.
    #[arg(
        long,
        value_enum,
        value_name = "LENS",
        default_value_t,
        help_heading = "Measuring",
        long_help = LENS
    )]
    pub lens: Lenses,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
    /// Keep to these processors, such as 0-3,6, with everything that is started: all servers alike (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = "Measuring")]
    pub cpus: Option<CpuList>,
    /// Where to write the records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No progress
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

/// `lsp-soak report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Records, `-` for one on standard input, or directories that hold them
    #[arg(required = true, value_name = "RECORD|DIR")]
    pub records: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `lsp-soak compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Records, or directories that hold them
    #[arg(required = true, value_name = "RECORD|DIR")]
    pub records: Vec<PathBuf>,
    /// The server that the others are compared with [default: the first]
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: CompareFormat,
}

/// What a comparison is printed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables for people
    #[default]
    Terminal,
    /// Tables for a pull request
    Markdown,
    /// Everything, for programs
    Json,
    /// Cases for CI systems, in JUnit's XML
    Junit,
    /// Bencher's metric format
    Bencher,
    /// github-action-benchmark's `customSmallerIsBetter`
    GithubActionBenchmark,
}

/// `lsp-soak check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The scenarios to check
    #[arg(required = true, value_name = "SCENARIO")]
    pub scenarios: Vec<PathBuf>,
    /// Also start this server and see whether it offers what the steps need
    #[arg(long = "server", value_name = "[LABEL:] [K=V …] NAME|PATH")]
    pub servers: Vec<String>,
    /// What every server is told.
    #[command(flatten)]
    pub extra: ServerExtras,
    /// What of the scenario is set aside.
    #[command(flatten)]
    pub scenario: ScenarioOptions,
    /// How often it would be run.
    #[command(flatten)]
    pub repeating: Repeating,
}

/// `lsp-soak servers`.
#[derive(Debug, Args)]
pub struct Servers {
    /// Server profiles of your own [default: servers.toml in the current directory]
    #[arg(long = "servers", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// The chance that a comparison of two equal servers calls them different, over all looks together.
const ALPHA: f64 = 0.05;

fn looks(text: &str) -> Result<LookPlan, String> {
    let runs: Result<Vec<usize>, _> = text.split(',').map(|runs| runs.trim().parse()).collect();
    let runs = runs.map_err(|_| "write numbers of runs, such as 3,5,8,12")?;
    Looks::new(runs, ALPHA).map(LookPlan).map_err(|error| error.to_string())
}

fn cpus(text: &str) -> Result<CpuList, String> {
    let wrong = || "write numbers and ranges of processors, such as 0-3,6".to_owned();
    let mut list: BTreeSet<usize> = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse().ok().filter(|number: &usize| *number < 65_536);
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first > last {
            return Err(wrong());
        }
        list.extend(first..=last);
    }
    Ok(CpuList(list.into_iter().collect()))
}

fn partition(text: &str) -> Result<Partition, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let (part, of) = numbers.ok_or("write K/N, such as 2/4")?;
    Partition::new(part, of).map_err(|error| error.to_string())
}

fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text
        .parse()
        .map_err(|error: crate::units::UnitError| error.to_string())?;
    match span.0.as_millis() {
        5..=10_000 => Ok(span),
        _ => Err("an interval is 5ms to 10s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(cpus("2,0-1"), Ok(CpuList(vec![0, 1, 2])));
        for wrong in ["", "a", "3-1", "1,", "-1", "99999999"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interval_is_between_five_milliseconds_and_ten_seconds() {
        assert!(interval("5ms").is_ok());
        assert!(interval("10s").is_ok());
        assert!(interval("4ms").is_err());
        assert!(interval("11s").is_err());
    }
}
