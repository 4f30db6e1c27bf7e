//! The options of `lsp-soak cold`.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum, ValueHint};

use crate::config::values::{Ignored, Lenses, Partition, partition};
use record::Preload;

use super::options::{Measuring, Output, Processors};

const COLD: &str = "\
Each command is run to its end in random order, without a shell unless --shell names one. A program is also run once with \
`--version`, to recognise it and its allocator.

Examples:
  lsp-soak cold 'ty-system check' 'ty-jemalloc check' \\
      --workspace ~/src/myproject
  lsp-soak cold -n one -n two 'MALLOC_ARENA_MAX=1 ty check' 'ty check' -r 20
  lsp-soak cold --preload system,jemalloc,mimalloc \\
      'python3 -c \"list(range(10**6))\"'
  lsp-soak cold -L threads 1,2,4 'make -j {threads}' --prepare 'make clean'";

/// How commands print figures of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrintedFormat {
    Json,
}

/// `lsp-soak cold`.
#[derive(Debug, Args)]
#[command(after_long_help = COLD)]
pub struct Cold {
    /// Commands to run
    #[arg(value_name = "COMMAND", value_hint = ValueHint::CommandString, required_unless_present_any = ["reference", "resume"])]
    pub commands: Vec<String>,
    /// Resume an interrupted campaign; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,
    /// Name of a command, in the order of the commands
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    pub names: Vec<String>,
    /// Command to compare the others with [default: the fastest]
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub reference: Option<String>,
    /// Name of the reference
    #[arg(long, value_name = "NAME", requires = "reference", hide_short_help = true)]
    pub reference_name: Option<String>,
    /// Run every command with each of these values in place of {VAR}
    #[arg(short = 'L', long = "parameter-list", num_args = 2, value_names = ["VAR", "VALUES"], action = clap::ArgAction::Append)]
    pub parameters: Vec<String>,
    /// Run each command through this shell, such as bash
    #[arg(short = 'S', long, value_name = "SHELL", conflicts_with = "no_shell")]
    pub shell: Option<String>,
    /// Run each command without a shell, which is the default
    #[arg(short = 'N', hide_short_help = true)]
    pub no_shell: bool,
    /// Discarded runs of each command
    #[arg(short, long, value_name = "N", default_value_t = 0, help_heading = "Runs")]
    pub warmup: u32,
    /// Counted runs of each command
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Runs")]
    pub runs: u32,
    /// Play part K of N of the plan, to spread it over machines
    #[arg(long, value_name = "K/N", value_parser = partition, help_heading = "Runs", hide_short_help = true)]
    pub partition: Option<Partition>,
    /// Seed of the order of runs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Runs",
        hide_short_help = true
    )]
    pub seed: u64,
    /// Shell command before each run, not measured; given once, or once for each command
    #[arg(short, long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = "Around a run")]
    pub prepare: Vec<String>,
    /// Shell command after each run, not measured
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = "Around a run")]
    pub conclude: Vec<String>,
    /// Shell command before all runs, in the current directory
    #[arg(short, long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = "Around a run")]
    pub setup: Option<String>,
    /// Shell command after all runs, in the current directory
    #[arg(short, long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = "Around a run")]
    pub cleanup: Option<String>,
    /// Accept exit codes other than 0: all, or these
    #[arg(short, long, value_name = "CODE,…", num_args = 0..=1, require_equals = true, default_missing_value = "all-non-zero", help_heading = "Around a run")]
    pub ignore_failure: Option<Ignored>,
    /// Input of each command: null, or a file
    #[arg(long, value_name = "FILE|null", default_value = "null", value_hint = ValueHint::FilePath, help_heading = "Around a run", hide_short_help = true)]
    pub input: String,
    /// Output of each command: null, pipe, inherit or a file
    #[arg(long = "output", value_name = "WHERE", default_value = "null", value_hint = ValueHint::FilePath, help_heading = "Around a run", hide_short_help = true)]
    pub output_to: String,
    /// Read figures from the output: the numbers of its last line that is a JSON object
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FORMAT",
        conflicts_with = "output_to",
        help_heading = "Around a run"
    )]
    pub figures: Option<PrintedFormat>,
    /// Empty the page cache before each run (Linux, as root)
    #[arg(long, help_heading = "Around a run")]
    pub drop_caches: bool,
    /// Project of which each run has a clean copy: a directory, or pinned as pypi:prefect==3.9.1
    #[arg(long, value_name = "DIR|ORIGIN", value_hint = ValueHint::DirPath, help_heading = "Around a run")]
    pub workspace: Vec<PathBuf>,
    /// Command that prepares a pinned workspace, such as 'uv sync'
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = "Around a run", hide_short_help = true)]
    pub workspace_setup: Option<String>,
    /// An environment variable for every command
    #[arg(
        long = "env",
        value_name = "K=V",
        help_heading = "Around a run",
        hide_short_help = true
    )]
    pub env: Vec<String>,
    /// Run every command under each of these allocators, such as jemalloc,mimalloc,system
    #[arg(long, value_name = "ALLOC,…", value_delimiter = ',', help_heading = "Around a run")]
    pub preload: Vec<Preload>,
    /// Measure memory as shipped, purged, or both
    #[arg(
        long,
        value_enum,
        value_name = "LENS",
        default_value_t,
        help_heading = "Measuring",
        hide_short_help = true
    )]
    pub lens: Lenses,
    /// Count memory system calls in one more run of each command (Linux, with strace)
    #[arg(long, help_heading = "Measuring", hide_short_help = true)]
    pub trace_syscalls: bool,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub processors: Processors,
    /// Directory for the records [default: reports/UTC-cold]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Measuring")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl Cold {
    /// This command, with every option at its default.
    pub fn with_defaults(command: &str) -> Result<Cold, clap::Error> {
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            cold: Cold,
        }
        Ok(Alone::try_parse_from(["cold", "--", command])?.cold)
    }
}
