//! The `lsp-soak` program: reads the command line, runs one command, turns its end into an exit code.

use std::process::ExitCode;

use clap::Parser;

use lsp_soak::cli::Cli;
use lsp_soak::commands;

fn main() -> ExitCode {
    match commands::run(Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) if commands::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::say(&commands::explain(&error));
            ExitCode::from(commands::FAILURE)
        }
    }
}
