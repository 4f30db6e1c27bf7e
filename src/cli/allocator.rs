//! The command line of `lsp-soak allocator`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::config::values::Format;

const EXAMPLES: &str = "\
Examples:
  lsp-soak allocator rust-analyzer
  lsp-soak allocator '_RJEM_MALLOC_CONF=dirty_decay_ms:0 ty'
  lsp-soak allocator --pid 4711";

/// `lsp-soak allocator`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct AllocatorOptions {
    /// Program, library, or server as for `run`
    #[arg(value_name = "[K=V …] NAME|PATH", value_hint = ValueHint::AnyPath, required_unless_present = "pid")]
    pub program: Option<String>,
    /// Inspect a running process instead (Linux)
    #[arg(long, value_name = "PID", conflicts_with = "program")]
    pub pid: Option<u32>,
    /// Format to print
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(&Format::OF_FACTS), default_value = "terminal")]
    pub format: Format,
    /// Your own server profiles [default: servers.toml in the current directory]
    #[arg(long = "servers", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}
