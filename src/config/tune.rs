//! Turns a grid file or presets into cells: a server with changed settings.

mod cell;
mod file;
mod preset;
mod read;

pub use cell::{Cell, DEFAULT, overlay};
pub use file::GridFile;
pub use preset::Preset;
pub use read::read_grid;

/// Most cells: more are a mistake, because one run of each would take over a week.
const MOST_CELLS: usize = 200;

/// The cells of several grids and presets; of equal cells only the first.
pub fn merge_cells(all: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for cell in all {
        if cells.iter().any(|known| known.sets_as(&cell)) {
            continue;
        }
        // The unchanged server has its own name in every sweep.
        let taken = |label: &str| {
            let same = |known: &str| known.eq_ignore_ascii_case(label);
            same(DEFAULT) || cells.iter().any(|known| same(&known.label))
        };
        let label = cell::unlike(&cell.label, taken);
        cells.push(Cell { label, ..cell });
    }
    cells
}
