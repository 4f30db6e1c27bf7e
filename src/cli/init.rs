//! The options of `lsp-soak init`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `lsp-soak init`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Init {
    /// Project directory [default: the current one]
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true, value_hint = ValueHint::DirPath)]
    pub project: PathBuf,
    /// Language of the project [default: detected from its files]
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
Files written to lsp-soak/ in the project:
  soak.toml       a scenario, with comments
  servers.toml    the installed servers, and how to add your own
  schemas/        schemas for editors

Examples:
  lsp-soak init
  lsp-soak init ~/src/mycrate --language rust";
