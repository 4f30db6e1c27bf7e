//! The command line of `lsp-soak replay`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Output, Recording, Repeating, Run, ScenarioOptions, ServerOptions};

const EXAMPLES: &str = "\
Examples:
  lsp-soak replay session.jsonl --server ty --workspace ~/src/myproject
  lsp-soak replay trace.log --server 'old: ./old/ty' --server ./new/ty \\
      --workspace ~/src/myproject --runs 5 --speed 10x
  lsp-soak replay session.jsonl --to-scenario mine.toml
  lsp-soak replay --resume reports/20261121-120000-session-replay";

/// `lsp-soak replay`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Replay {
    /// Recorded session: of `wrap`, VS Code's verbose trace, typescript-go or lsp-devtools
    #[arg(required_unless_present = "resume", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub session: Option<PathBuf>,
    /// Resume an interrupted replay; no other option is needed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub resume: Option<PathBuf>,
    /// Write the scenario that the session amounts to, and play nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub to_scenario: Option<PathBuf>,
    #[command(flatten)]
    pub servers: ServerOptions,
    #[command(flatten)]
    pub scenario: ScenarioOptions,
    #[command(flatten)]
    pub repeating: Repeating,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub output: Output,
}

impl Replay {
    /// The run of the session as a scenario.
    pub fn into_run(self) -> Run {
        Run {
            scenarios: self.session.into_iter().collect(),
            resume: self.resume,
            servers: self.servers,
            scenario: self.scenario,
            repeating: self.repeating,
            recording: self.recording,
            trace_syscalls: false,
            output: self.output,
        }
    }
}
