//! The `lsp-soak` program: reads the command line, runs one command, turns its end into an exit code.

use std::process::ExitCode;

use lsp_soak::cli;
use lsp_soak::commands;
use lsp_soak::starter;

fn main() -> ExitCode {
    // First of all, while this process is small and has one thread.
    if let Some(code) = starter::called_as_starter() {
        return code;
    }
    if std::env::args_os().len() < 2 {
        commands::say(cli::FIRST);
        return ExitCode::from(commands::FAILURE);
    }
    let cli = cli::parse().unwrap_or_else(|error| cli::with_similar_command(error).exit());
    match commands::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            commands::say(&commands::explain(&error));
            ExitCode::from(commands::FAILURE)
        }
    }
}
