//! `lsp-soak report`: renders records again.

use crate::exit::Exit;
use crate::{cli, summary};

use super::is_broken_pipe;
use super::show::{self, Printer};

/// Runs the command. The exit code is that of the runs which were recorded; a record that cannot be read is told after
/// the others.
pub fn run(options: &cli::Report) -> anyhow::Result<u8> {
    let records = show::records(&options.records)?;
    let one_file = records == options.records && records.len() == 1;
    let mut printer = Printer::new(options.format, !one_file, options.details);
    let (mut worst, mut failed) = (Exit::Passed, Vec::new());
    for path in &records {
        match printer.record(path) {
            Ok(summary) => worst = worst.worse(summary::exit(&summary)),
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) => failed.push(error),
        }
    }
    printer.finish()?;
    let Some(last) = failed.pop() else {
        return Ok(worst.code());
    };
    for error in failed {
        super::say(&super::explain(&error));
    }
    Err(last)
}
