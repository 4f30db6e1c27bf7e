//! The options of `lsp-soak completions`, `man` and `schema`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use clap_complete::Shell;

/// `lsp-soak completions`.
#[derive(Debug, Args)]
#[command(after_long_help = COMPLETIONS)]
pub struct Completions {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  lsp-soak completions bash \\
      > ~/.local/share/bash-completion/completions/lsp-soak
  # with fpath+=~/.zfunc before compinit:
  lsp-soak completions zsh > ~/.zfunc/_lsp-soak
  lsp-soak completions fish > ~/.config/fish/completions/lsp-soak.fish
  lsp-soak completions powershell >> $PROFILE";

/// `lsp-soak man`.
#[derive(Debug, Args)]
#[command(after_long_help = MAN)]
pub struct Man {
    /// Write one page per command into this directory, instead of printing the first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

const MAN: &str = "\
Examples:
  lsp-soak man | man -l -
  lsp-soak man --out ~/.local/share/man/man1";

/// `lsp-soak schema`.
#[derive(Debug, Args)]
#[command(after_long_help = SCHEMA)]
pub struct Schema {
    /// File format
    #[arg(value_enum, value_name = "FILE")]
    pub of: SchemaOf,
}

const SCHEMA: &str = "\
Editors with Taplo (VS Code: Even Better TOML) complete a file whose first line names its schema:
  #:schema ./schemas/scenario.json

Examples:
  lsp-soak schema scenario > schemas/scenario.json
  lsp-soak schema servers > schemas/servers.json";

/// Files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A scenario: what is done with a server
    Scenario,
    /// A `servers.toml`: profiles of servers
    Servers,
    /// A gate file: rules for a candidate
    Gate,
    /// A grid: settings for `tune` to try
    Grid,
}
