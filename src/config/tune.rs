//! The settings that a sweep tries: a grid file or presets, to cells that are each a server with something changed.

mod cell;
mod file;
mod preset;
mod read;

pub use cell::{Cell, DEFAULT, overlay};
pub use file::GridFile;
pub use preset::Preset;
pub use read::read_grid;

/// More cells than this are a slip: with one run of each a week would not be enough.
const MOST_CELLS: usize = 200;

/// The cells of several grids and presets together, each once, the first of those that are the same.
pub fn joined(all: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for cell in all {
        if cells.iter().any(|known| known.sets_as(&cell)) {
            continue;
        }
        // The server with nothing changed has its name in every sweep.
        let taken = |label: &str| {
            let same = |known: &str| known.eq_ignore_ascii_case(label);
            same(DEFAULT) || cells.iter().any(|known| same(&known.label))
        };
        let label = cell::unlike(&cell.label, &taken);
        cells.push(Cell { label, ..cell });
    }
    cells
}
