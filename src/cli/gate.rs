//! The options of `lsp-soak gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::config::values::{Format, Lenses, LookPlan, Runs, ServerText, looks, size};
use base::units::{Share, Size, Span};

use super::options::{Exports, Measuring, Processors, ScenarioOptions, ServerExtras, Voice};

/// `lsp-soak gate`.
#[derive(Debug, Args)]
#[command(after_long_help = GATES)]
pub struct Gate {
    /// Scenario to play
    #[arg(required_unless_present_any = ["from", "resume"], value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Server to compare with; with --from its label in the records; limits need none
    #[arg(long, value_name = "SERVER", value_parser = ServerText, hide_possible_values = true)]
    pub baseline: Option<String>,
    /// Server to judge; with --from its label in the records
    #[arg(long, required_unless_present_any = ["from", "resume"], value_name = "SERVER", value_parser = ServerText, hide_possible_values = true)]
    pub candidate: Option<String>,
    /// Older baseline, against slow drift: a server, records, or `LABEL: RECORDS`
    #[arg(long, value_name = "SERVER|RECORDS", value_hint = ValueHint::AnyPath, hide_short_help = true)]
    pub anchor: Option<String>,
    /// Decide from records instead of new runs
    #[arg(
        long,
        num_args = 1..,
        value_name = "RECORDS",
        conflicts_with_all = ["scenario", "out", "time_budget", "lens", "cpus", "jobs"]
    )]
    pub from: Vec<PathBuf>,
    /// Resume an interrupted run; no other option is needed, but --runs may ask for more
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub holding: Holding,
    /// Counted runs of each server, or `auto` to stop once decided
    #[arg(long, value_name = "N|auto", default_value = "auto", help_heading = "Runs")]
    pub runs: Runs,
    /// After how many runs `auto` makes an interim analysis
    #[arg(long, value_name = "N,N,…", value_parser = looks, default_value = "3,5,8,12", help_heading = "Runs", hide_short_help = true)]
    pub looks: LookPlan,
    /// Play no more runs than fit into this time
    #[arg(long, value_name = "TIME", help_heading = "Runs", hide_short_help = true)]
    pub time_budget: Option<Span>,
    /// Measure memory as shipped, purged, or both [default: purged where possible]
    #[arg(long, value_enum, value_name = "LENS", help_heading = "Measuring")]
    pub lens: Option<Lenses>,
    #[command(flatten)]
    pub extra: ServerExtras,
    #[command(flatten)]
    pub scenario_options: ScenarioOptions,
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub processors: Processors,
    /// Directory for records, gate.md, gate.json and gate.xml [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_VERDICTS), default_value = "terminal", help_heading = "Output")]
    pub format: Format,
    #[command(flatten)]
    pub exports: Exports,
    #[command(flatten)]
    pub voice: Voice,
}

const GATES: &str = "\
Examples:
  lsp-soak gate scenarios/completions.toml \\
      --baseline ./old/ty --candidate ./new/ty
  lsp-soak gate scenarios/completions.toml \\
      --baseline ./old/ty --candidate ./new/ty --budget 'peak <= 600 MiB'
  lsp-soak gate scenarios/completions.toml \\
      --candidate ./new/ty --budget 'peak <= 600 MiB'
  lsp-soak gate --from reports/20261121-120000-completions
  lsp-soak gate --from records/v1 records/v2 --gate gate.toml

Exit codes:
  0 passed                                      1 failed: grew more than is tolerated
  2 bad input, no data, or lsp-soak failed      3 inconclusive: more runs are needed
  4 a server failed the scenario, or the candidate did less work
  130 interrupted";

/// What a gate holds the candidate to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
pub struct Holding {
    /// TOML file with endpoints, budgets and limits
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gate: Option<PathBuf>,
    /// Growth that is tolerated [default: 1% purged, 5% as shipped]
    #[arg(long, value_name = "SHARE")]
    pub tol: Option<Share>,
    /// Growth that must be ruled out to pass [default: 5% purged, 10% as shipped]
    #[arg(long, value_name = "SHARE")]
    pub fail: Option<Share>,
    /// Growth in bytes that never matters [default: 2 MiB]
    #[arg(long, value_name = "SIZE", value_parser = size, hide_short_help = true)]
    pub floor: Option<Size>,
    /// Absolute limit, such as 'peak <= 600 MiB' or 'private after decay <= 300 MiB'
    #[arg(long = "budget", value_name = "RULE")]
    pub budgets: Vec<String>,
    /// Exit code of an inconclusive verdict: that of pass or fail, instead of 3
    #[arg(long, value_enum, value_name = "AS", hide_short_help = true)]
    pub inconclusive: Option<Inconclusive>,
    /// Decide although the hosts differ, but never across operating systems
    #[arg(long, hide_short_help = true)]
    pub allow_different_hosts: bool,
}

/// What an inconclusive gate comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Inconclusive {
    /// Exit code 0
    Pass,
    /// Exit code 1
    Fail,
}
