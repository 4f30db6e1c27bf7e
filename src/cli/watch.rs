//! The command line of `lsp-soak watch`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use crate::config::values::interval;
use base::units::Span;

use super::Output;

const EXAMPLES: &str = "\
Examples:
  lsp-soak watch --name ty
  lsp-soak watch --pid 4711 --for 10min --out watched
  lsp-soak watch --name tsserver.js --format json";

/// `lsp-soak watch`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group(ArgGroup::new("process").required(true).args(["pid", "name"])))]
pub struct Watch {
    /// Process id of the server
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Name of the server's program, or of the script that an interpreter runs
    #[arg(long, value_name = "NAME", value_hint = ValueHint::CommandName)]
    pub name: Option<String>,
    /// Stop after this time [default: at ctrl-c, or when the process ends]
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// Time between two samples, 5ms to 10s
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = interval, allow_hyphen_values = true, help_heading = "Measuring")]
    pub interval: Span,
    /// Directory for the record [default: reports/UTC-watch]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}
