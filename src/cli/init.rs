//! `lsp-soak init`: where, and of which language.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `lsp-soak init`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Init {
    /// The project [default: the current directory]
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true, value_hint = ValueHint::DirPath)]
    pub project: PathBuf,
    /// Its language, where the files of several are there [default: by its files]
    #[arg(long, value_name = "ID")]
    pub language: Option<String>,
    /// Replace what is there
    #[arg(long)]
    pub force: bool,
}

const EXAMPLES: &str = "\
It writes into lsp-soak/ below the project:
  soak.toml       a scenario: what is done with a server, explained step by step
  servers.toml    the servers that were found here, and how to add your own
  schemas/        what editors complete both by

Examples:
  lsp-soak init
  lsp-soak init ~/src/mycrate --language rust";
