//! The options of `lsp-soak bisect`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use crate::config::values::{Lenses, LookPlan, ServerText, looks};
use base::units::Share;

use super::options::{ScenarioOptions, Searching, ServerExtras};

/// `lsp-soak bisect`.
#[derive(Debug, Args)]
#[command(after_long_help = BISECTS, group(ArgGroup::new("question").args(["when", "by", "resume"]).required(true)))]
pub struct Bisect {
    /// Scenario to play
    #[arg(required_unless_present = "resume", value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// Versions of a server; with --git its program in the checkout
    #[arg(
        long,
        value_name = "NAME@FIRST..LAST|PATH",
        required_unless_present = "resume",
        value_parser = ServerText,
        hide_possible_values = true,
        help_heading = "Versions"
    )]
    pub server: Option<String>,
    /// Commits to build instead, first parents only; the checkout itself is not touched
    #[arg(
        long,
        num_args = 2,
        value_names = ["DIR", "GOOD..BAD"],
        value_hint = ValueHint::DirPath,
        requires = "build",
        help_heading = "Versions"
    )]
    pub git: Vec<String>,
    /// Shell command that builds the server of a commit
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, requires = "git", help_heading = "Versions")]
    pub build: Option<String>,
    /// Find the version from which on this holds, such as 'growth in edit > 64KiB per request'
    #[arg(long, value_name = "CONDITION", help_heading = "Question")]
    pub when: Option<String>,
    /// Find the version that changed a figure, if the ends differ by more than this share
    #[arg(long, value_name = "SHARE", help_heading = "Question")]
    pub by: Option<Share>,
    /// Figure of --by, such as 'peak' or 'private after goto' [default: as a gate]
    #[arg(
        long,
        value_name = "FIGURE",
        requires = "by",
        help_heading = "Question",
        hide_short_help = true
    )]
    pub figure: Option<String>,
    /// Resume an interrupted search; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub resume: Option<PathBuf>,
    /// After how many runs a version is judged, if it was not before
    #[arg(long, value_name = "N,N,…", value_parser = looks, default_value = "3,5,8,12", help_heading = "Runs", hide_short_help = true)]
    pub looks: LookPlan,
    /// Measure memory as shipped or purged [default: purged where possible, peaks as shipped]
    #[arg(long, value_enum, value_name = "LENS", help_heading = "Measuring")]
    pub lens: Option<Lenses>,
    #[command(flatten)]
    pub extra: ServerExtras,
    #[command(flatten)]
    pub scenario_options: ScenarioOptions,
    /// Directory for the records and the result [default: reports/UTC-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub searching: Searching,
}

const BISECTS: &str = "\
Examples:
  lsp-soak bisect scenarios/diagnostics.toml \\
      --server 'ruff@0.4.0..0.12.0' --by 3%
  lsp-soak bisect scenarios/leak-hunt.toml \\
      --server 'ty@0.0.40..0.0.60' --when 'growth > 64KiB per round'
  lsp-soak bisect scenarios/completions.toml --by 5% --figure peak \\
      --server ./target/release/my-server \\
      --build 'cargo build --release' --git ~/src/my-server v1.2..main
  lsp-soak bisect --resume reports/20261121-120000-diagnostics

Exit codes: 0 the version was found, or the change is gradual; 2 the ends do not differ, or nothing can be said";
