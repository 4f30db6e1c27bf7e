//! The options of `lsp-soak wrap`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

const WRAP: &str = "\
It stands in an editor's server command. Bytes, signals and the exit code pass unchanged; messages, times and memory go into a \
record, without anything that the user wrote.

Examples:
  lsp-soak wrap -- ty server
  lsp-soak wrap --out ~/records -- rust-analyzer
  lsp-soak report ~/.local/state/lsp-soak/ty-20261121120000-4242.jsonl";

/// `lsp-soak wrap`.
#[derive(Debug, Args)]
#[command(after_long_help = WRAP)]
pub struct Wrap {
    /// Directory for the record [default: lsp-soak in the user's state directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Also record every message as it was sent, with the text of documents
    #[arg(long)]
    pub contents: bool,
    /// The server's command, after `--`
    #[arg(value_name = "COMMAND", required = true, last = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
