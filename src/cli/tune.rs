//! `lsp-soak tune`: which settings are tried on a server, and how the best of them is told.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::config::options::{Exports, Format, Measuring, ScenarioOptions, ServerExtras, Voice};
use crate::config::tune::Preset;
use crate::config::values::{CpuList, RungPlan, ServerText, cpus, rungs, size};
use crate::text::Form;
use crate::units::{Share, Size, Span};

/// `lsp-soak tune`.
#[derive(Debug, Args)]
#[command(after_long_help = TUNING)]
pub struct Tune {
    /// The scenario to play
    #[arg(required_unless_present_any = ["from", "resume"], value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// The server to set, as for `run`
    #[arg(
        long,
        required_unless_present_any = ["from", "resume"],
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        value_parser = ServerText,
        hide_possible_values = true,
        help_heading = "Servers"
    )]
    pub server: Option<String>,
    /// What every cell is told.
    #[command(flatten)]
    pub extra: ServerExtras,
    /// Settings to try, a TOML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Settings")]
    pub grid: Vec<PathBuf>,
    /// Settings to try that come along, for the allocator that the server has
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "NAME",
        help_heading = "Settings"
    )]
    pub preset: Vec<Preset>,
    /// Say what would be tried and how long that takes, and start nothing
    #[arg(long, help_heading = "Settings")]
    pub list: bool,
    /// How the best is chosen.
    #[command(flatten)]
    pub choosing: Choosing,
    /// After how many runs of each it is looked which are still worth more; the last is how many there are [default:
    /// 1,3,5,8; records keep theirs]
    #[arg(long, value_name = "N,N,…", value_parser = rungs, help_heading = "Runs", hide_short_help = true)]
    pub rungs: Option<RungPlan>,
    /// No more runs than fit into this time
    #[arg(long, value_name = "TIME", help_heading = "Runs")]
    pub time_budget: Option<Span>,
    /// What of the scenario is set aside.
    #[command(flatten)]
    pub scenario_options: ScenarioOptions,
    /// How it is measured.
    #[command(flatten)]
    pub measuring: Measuring,
    /// Keep to these processors, such as 0-3,6, with everything that is started: all cells alike (Linux)
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = "Measuring", hide_short_help = true)]
    pub cpus: Option<CpuList>,
    /// Where to write the records, and what came of them as tune.md, tune.json and report.html [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Choose from records that `tune` wrote, and drive nothing
    #[arg(
        long,
        num_args = 1..,
        value_name = "RECORDS",
        conflicts_with_all = ["scenario", "server", "grid", "preset", "list", "out", "time_budget", "cpus"], hide_short_help = true)]
    pub from: Vec<PathBuf>,
    /// Go on with the runs of this directory, which were cut off; of other options only those of the output may be given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub resume: Option<PathBuf>,
    /// What is printed.
    #[command(flatten)]
    pub telling: Telling,
    /// How much is said.
    #[command(flatten)]
    pub voice: Voice,
}

/// By what the best setting is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Choice")]
pub struct Choosing {
    /// The fastest setting whose private memory stays under this, instead of the one with least memory
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_private: Option<Size>,
    /// How much more latency is allowed, as a share of the default's p95
    #[arg(long, value_name = "SHARE", default_value = "10%", hide_short_help = true)]
    pub allow_latency: Share,
    /// How much more processor time is allowed, as a share of the default's
    #[arg(long, value_name = "SHARE", default_value = "5%", hide_short_help = true)]
    pub allow_cpu: Share,
}

/// What is printed of a sweep.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Telling {
    /// What to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_SWEEPS), default_value = "terminal")]
    pub format: Format,
    /// Where else it goes.
    #[command(flatten)]
    pub exports: Exports,
    /// Print nothing but what to ship, ready to be pasted
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORM")]
    pub print: Vec<Form>,
    /// Of this cell instead of the one that is recommended
    #[arg(long, value_name = "LABEL", requires = "print", hide_short_help = true)]
    pub cell: Option<String>,
}

const TUNING: &str = "\
Examples:
  lsp-soak tune scenarios/completions.toml --server ty --preset jemalloc
  lsp-soak tune scenarios/completions.toml --server clangd --preset glibc \\
      --workspace ~/src/myc --language c
  lsp-soak tune scenarios/completions.toml --server ty --grid grid.toml \\
      --max-private '200 MiB'
  lsp-soak tune --from reports/20261121-120000-completions --print vscode

Exit codes:
  0 a setting is recommended, or the default      1 no setting keeps --max-private
  2 bad input or a failure of lsp-soak            3 too few runs to choose by
  4 the server failed the scenario as it is       130 interrupted";
