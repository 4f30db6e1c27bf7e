//! `lsp-soak replay`: plays a recorded session as a scenario, or writes the scenario that it amounts to.

use std::path::Path;

use crate::campaign::files;
use crate::cli;
use crate::config::as_file_name;
use crate::config::recorded::{self, Recorded};
use crate::soak::Interrupt;
use base::exit::Exit;

use super::Mistakes;
use super::resume::Place;

pub fn run(options: cli::Replay, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    if let Some(file) = &options.session {
        if let Some(scenario) = &options.to_scenario {
            return write_scenario(&read(file)?, scenario);
        }
        // Its other mistakes are told with those of the command line.
        if !recorded::is_recorded(file) {
            read(file)?;
        }
    }
    super::run::play_as("replay", &options.into_run(), place, interrupt)
}

/// The recorded session of a file, or its mistake with a cure.
pub(super) fn read(file: &Path) -> anyhow::Result<Recorded> {
    recorded::read(file).map_err(|mistake| {
        let words = mistake.words(&file.display().to_string());
        Mistakes(format!("error: {words}: {}", mistake.cure)).into()
    })
}

/// Writes the scenario of a session. A file that is there is not overwritten.
fn write_scenario(recorded: &Recorded, scenario: &Path) -> anyhow::Result<u8> {
    if scenario.exists() {
        let title = format!("`{}` is there already", scenario.display());
        return Err(Mistakes(format!("error: {title}: name another file with --to-scenario")).into());
    }
    let name = as_file_name(&scenario.file_stem().unwrap_or_default().to_string_lossy());
    let text = recorded::outline::text(&name, recorded);
    files::write(scenario, &text, "name another file with --to-scenario")?;
    super::say(&format!("scenario: {}", scenario.display()));
    Ok(Exit::Passed.code())
}
