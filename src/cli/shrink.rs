//! The options of `lsp-soak shrink`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::config::values::{Lenses, ServerText};
use base::units::Span;

use super::options::{ScenarioOptions, Searching, ServerExtras};

/// `lsp-soak shrink`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Shrink {
    /// Scenario, or a record, whose scenario is taken
    #[arg(required_unless_present = "resume", value_name = "SCENARIO|RECORD", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// What must still hold: 'growth in edit > 64KiB per request', 'peak > 2GiB', 'crash'
    #[arg(long, required_unless_present = "resume", value_name = "CONDITION")]
    pub when: Option<String>,
    /// Resume a search; no other option is needed, but --time-budget may give more time
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,
    /// The server: profile, program or path, with optional label and environment
    #[arg(
        long = "server",
        value_name = "[LABEL:] [K=V …] NAME|PATH",
        required_unless_present = "resume",
        value_parser = ServerText,
        hide_possible_values = true,
        help_heading = "Servers"
    )]
    pub server: Option<String>,
    #[command(flatten)]
    pub extra: ServerExtras,
    #[command(flatten)]
    pub options: ScenarioOptions,
    /// End after about this time, with the runs that confirm the result
    #[arg(long, value_name = "TIME", help_heading = "Runs")]
    pub time_budget: Option<Span>,
    /// Measure memory as shipped or purged
    #[arg(long, value_enum, value_name = "LENS", default_value_t, help_heading = "Measuring")]
    pub lens: Lenses,
    /// Directory for shrunk.toml, its workspace and all records [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub searching: Searching,
}

const EXAMPLES: &str = "\
Examples:
  lsp-soak shrink scenarios/leak-hunt.toml --server ty \\
      --when 'growth in edit > 64KiB per request'
  lsp-soak shrink run.jsonl --server ./new/ty --workspace ~/src/shop \\
      --when 'peak > 2GiB' --time-budget 30min
  lsp-soak shrink --resume reports/20261121-120000-leak-hunt

Exit codes:
  0 the least that was found is confirmed      2 bad input, or the condition does not hold at first
  3 it is not confirmed yet: resume it         130 interrupted";
