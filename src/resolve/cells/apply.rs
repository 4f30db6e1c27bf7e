//! A cell put onto a server: the same program, with what the cell changes.

use sha2::{Digest, Sha256};

use crate::config::tune::{Cell, DEFAULT, overlay};
use crate::resolve::ServerChoice;
use record::variables::with_added_entries;
use record::{CellFacts, SweepFacts};

/// The default first, then one server for each cell.
pub fn applied(server: &ServerChoice, cells: &[Cell]) -> Vec<ServerChoice> {
    let default = Cell {
        label: DEFAULT.to_owned(),
        ..Cell::default()
    };
    let count = u32::try_from(cells.len() + 1).unwrap_or(u32::MAX);
    std::iter::once(&default)
        .chain(cells)
        .map(|cell| apply(server, cell, count))
        .collect()
}

/// Writes the facts of the sweep into every cell.
pub fn of_sweep(choices: &mut [ServerChoice], mut sweep: SweepFacts) {
    let cells = choices.iter().map(|choice| {
        let CellFacts {
            of,
            default,
            cpus,
            preload,
            ..
        } = choice.cell.clone().unwrap_or_default();
        let profile = &choice.profile;
        let given = (&choice.args, &choice.env, &profile.settings, &profile.init_options);
        format!("{:?}\n", (&choice.label, of, default, cpus, preload, given))
    });
    let digest = Sha256::digest(cells.collect::<String>().as_bytes());
    sweep.cells = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let notes = std::mem::take(&mut sweep.notes);
    for cell in choices.iter_mut().filter_map(|choice| choice.cell.as_mut()) {
        cell.sweep = Some(SweepFacts {
            notes: if cell.default { notes.clone() } else { Vec::new() },
            ..sweep.clone()
        });
    }
}

/// The server under one of `count` cells.
fn apply(server: &ServerChoice, cell: &Cell, count: u32) -> ServerChoice {
    let mut choice = server.clone();
    choice.label.clone_from(&cell.label);
    let mut env = cell.env.clone();
    for (name, value) in &mut env {
        // What the user set anyway stays; of an option that is set twice the later wins.
        if let Some(both) = choice
            .env
            .get(name)
            .and_then(|own| with_added_entries(name, own, value))
        {
            *value = both;
        }
    }
    choice.env.extend(env.clone());
    choice.args.extend(cell.args.iter().cloned());
    for (own, over) in [
        (&mut choice.profile.settings, &cell.settings),
        (&mut choice.profile.init_options, &cell.init_options),
    ] {
        match (own.as_mut(), over) {
            (Some(own), Some(over)) => overlay(own, over, "", &mut |_| {}),
            (None, Some(over)) => *own = Some(over.clone()),
            (_, None) => {}
        }
    }
    choice.cpus.clone_from(&cell.cpus);
    if let Some(preload) = &cell.preload {
        // Where its library is, is found later.
        choice.preload = preload.clone();
        choice.preload_asked = true;
        choice.libraries = Vec::new();
    }
    let cpus = if cell.cpus.is_empty() {
        None
    } else {
        Some(base::processors::ranges(&cell.cpus))
    };
    choice.cell = Some(CellFacts {
        of: count,
        default: cell.is_default(),
        env,
        given: server.env.clone(),
        args: cell.args.clone(),
        settings: cell.settings.as_ref().map(ToString::to_string),
        init_options: cell.init_options.as_ref().map(ToString::to_string),
        cpus,
        preload: cell.preload.as_ref().map(ToString::to_string),
        // What the sweep is, is known when all of its cells are.
        sweep: None,
    });
    choice
}
