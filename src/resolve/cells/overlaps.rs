//! Settings that a server has beside those of the cells, reported before any start.

use record::variables::has_equal_tunable;

use crate::config::tune::Cell;
use crate::resolve::ServerChoice;
use record::variables::{separator, with_added_entries};

/// Cells that are named in a sentence, at most.
const NAMED: usize = 4;

/// True if a cell sets nothing but variables that the server is given just so.
pub fn is_given(server: &ServerChoice, cell: &Cell) -> bool {
    let only_env = Cell {
        label: cell.label.clone(),
        env: cell.env.clone(),
        ..Cell::default()
    };
    // The C library has two names for the same, and follows the tunable.
    let tunables = server.env.get("GLIBC_TUNABLES").map_or("", String::as_str);
    if *cell != only_env || cell.env.is_empty() {
        return false;
    }
    for (name, value) in &cell.env {
        if has_equal_tunable(tunables, name, value) {
            continue;
        }
        let Some(own) = server.env.get(name) else { return false };
        if with_added_entries(name, own, value).as_ref().unwrap_or(value) != own {
            return false;
        }
    }
    true
}

/// A sentence for each variable that both the user and cells set, with its effective value.
pub fn shared(server: &ServerChoice, cells: &[Cell]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (name, own) in &server.env {
        let setting: Vec<&str> = cells
            .iter()
            .filter(|cell| cell.env.get(name).is_some_and(|value| value != own))
            .map(|cell| cell.label.as_str())
            .collect();
        if setting.is_empty() {
            continue;
        }
        let cells = named(&setting);
        sentences.push(match separator(name) {
            Some(_) => format!("`{name}={own}` is already set: {cells} add to it, and their own options win"),
            None => format!("`{name}={own}` is already set: {cells} replace it"),
        });
    }
    sentences
}

fn named(labels: &[&str]) -> String {
    match labels.len() {
        0..=NAMED => labels.join(", "),
        all => format!("{} and {} more", labels[..NAMED].join(", "), all - NAMED),
    }
}
