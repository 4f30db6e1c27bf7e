//! `lsp-soak report`: renders records again.

use crate::analyse::{self, Exit};
use crate::cli;

use super::show;

/// Runs the command. The exit code is that of the runs which were recorded.
pub fn run(options: &cli::Report) -> anyhow::Result<u8> {
    let mut worst = Exit::Passed;
    for path in show::records(&options.records)? {
        let summary = show::summary(&path)?;
        worst = worst.worse(analyse::exit(&summary));
        show::print(&path, &summary, options.format)?;
    }
    Ok(worst.code())
}
