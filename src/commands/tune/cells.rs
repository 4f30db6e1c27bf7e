//! From grid files and presets to servers: each cell the same program with something changed, and verified.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::config::tune::{Cell, Preset, merge_cells, read_grid};
use crate::config::{MistakeReport, read_text};
use crate::resolve::cells::{applied, preset_cells, shared};
use crate::resolve::{Program, ServerChoice};
use allocator::preload::{VARIABLE, by_own_name, compose};
use proctree::host;

use crate::campaign::build;
use crate::commands::prepare;
use crate::resolve::{detector, preload};

/// The cells of grid files, and every mistake in them.
pub fn grids(paths: &[PathBuf]) -> (Vec<Cell>, MistakeReport) {
    let mut mistakes = MistakeReport::default();
    let mut cells = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let read = match read_text(path, "name a TOML file of `[[axis]]` tables with --grid") {
            Ok(text) => read_grid(&shown, &text),
            Err((why, cure)) => {
                mistakes.add_loose(format!("cannot read the grid `{shown}`: {why}"), cure);
                continue;
            }
        };
        match read {
            Ok(more) => cells.extend(more),
            Err(report) => mistakes.merge(report),
        }
    }
    (cells, mistakes)
}

/// The server with its program built.
pub fn built(mut server: ServerChoice, quiet: bool) -> anyhow::Result<ServerChoice> {
    if let Program::Build(command) = &server.program {
        // Once, and not for every run of every cell: they are one program.
        let built = super::super::block_on(build::build(&server.label, command, server.profile.build_time, quiet))?;
        server.program = Program::File(built);
    }
    Ok(server)
}

/// The server with what is known of its allocator.
pub fn looked_at(mut server: ServerChoice) -> ServerChoice {
    detector::look(std::slice::from_mut(&mut server));
    server
}

/// The default and every cell, verified, with notes on those that were dropped. A cell that the server does not accept
/// is a mistake, unless it came with a preset.
pub fn choices(
    server: &ServerChoice,
    presets: &[Preset],
    grids: Vec<Cell>,
) -> anyhow::Result<(Vec<ServerChoice>, Vec<String>)> {
    let mut mistakes = MistakeReport::default();
    let (mut cells, mut notes) = (grids, Vec::new());
    for preset in presets {
        match preset_cells(*preset, server) {
            Ok((preset_cells, preset_notes)) => {
                notes.extend(preset_notes);
                cells.extend(accepted_cells(server, preset_cells, &mut notes));
            }
            Err(error) => mistakes.add_loose(error.to_string(), ""),
        }
    }
    let cells = merge_cells(cells);
    notes.extend(shared(server, &cells));
    let (choices, missing) = find_libraries(applied(server, &cells));
    for mistake in missing.into_iter().chain(crate::resolve::mistakes(&choices)) {
        mistakes.add_loose(mistake, "");
    }
    for cell in &cells {
        if let Err(why) = host::may_keep_to(&cell.cpus) {
            mistakes.add_loose(format!("`{}`: {why}", cell.label), "name others, or leave `cpus` out");
        }
    }
    if mistakes.is_empty() && cells.is_empty() {
        let (title, cure) = nothing_left(&notes);
        mistakes.add_loose(title, cure);
    }
    prepare::refuse_mistakes(mistakes)?;
    Ok((choices, notes))
}

/// The mistake that no cell is left, with the reason for each.
fn nothing_left(notes: &[String]) -> (String, &'static str) {
    let lines = notes.iter().map(|note| format!("\n  {note}"));
    let title = format!("there is no setting to try{}", lines.collect::<String>());
    (title, "name another preset, or write a grid file")
}

/// Every cell with its preloaded library, and mistakes where it is missing.
fn find_libraries(mut choices: Vec<ServerChoice>) -> (Vec<ServerChoice>, Vec<String>) {
    let mut missing = Vec::new();
    for choice in &mut choices {
        let preloads = choice.cell.as_ref().is_some_and(|cell| cell.preload.is_some());
        if preloads && let Err(mistake) = preload::find(choice) {
            missing.push(mistake);
        }
        record_preload(choice);
    }
    (choices, missing)
}

/// Records the preload as the variable to ship, with a path that survives updates of the library.
fn record_preload(choice: &mut ServerChoice) {
    let libraries: Vec<PathBuf> = choice.libraries.iter().map(|path| by_own_name(path)).collect();
    let typed = choice.env.get(VARIABLE).map(OsStr::new);
    let listed = compose(&libraries, typed).ok().flatten();
    if let Some((cell, value)) = choice.cell.as_mut().zip(listed) {
        let is_own = cell.preload.is_some() || cell.env.contains_key(VARIABLE);
        let env = if is_own { &mut cell.env } else { &mut cell.given };
        env.insert(VARIABLE.to_owned(), value.to_string_lossy().into_owned());
    }
}

/// The preset's cells that the server accepts: builds lack features, and the user did not choose these one by one.
fn accepted_cells(server: &ServerChoice, cells: Vec<Cell>, notes: &mut Vec<String>) -> Vec<Cell> {
    let mut accepted = Vec::new();
    for cell in cells {
        // The first choice is the default.
        let (choices, missing) = find_libraries(applied(server, std::slice::from_ref(&cell)));
        let mut wrong = missing.into_iter().chain(crate::resolve::mistakes(&choices[1..]));
        match wrong.next() {
            None => accepted.push(cell),
            Some(mistake) => notes.push(format!("not tried: {mistake}")),
        }
    }
    accepted
}

#[cfg(test)]
mod tests {
    use super::nothing_left;

    #[test]
    fn where_no_cell_is_left_it_is_said_why_each_was_left_out() {
        let notes = ["not tried: a".to_owned(), "not tried: b".to_owned()];
        let (title, _) = nothing_left(&notes);
        assert_eq!(title, "there is no setting to try\n  not tried: a\n  not tried: b");
    }
}
