//! The lenses that servers are measured through where the command line names none.

use crate::config::values::Lenses;
use crate::resolve::{ServerChoice, detector, shim};

/// The servers that can be played: through the asked lenses, or else through the purged one first, where that is possible, and
/// as shipped. Also why the purged lens is impossible.
pub fn servers_per_lens(asked: Option<Lenses>, mut choices: Vec<ServerChoice>) -> (Vec<ServerChoice>, Vec<String>) {
    if asked.is_some() {
        return (choices, Vec::new());
    }
    detector::look(&mut choices);
    let purged = crate::resolve::purged(&choices, |choice| shim::library_for_lens(choice).ok());
    let refused: Vec<String> = match &purged {
        Ok(purged) => crate::resolve::mistakes(purged),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    };
    match purged {
        Ok(purged) if refused.is_empty() => ([purged, choices].concat(), refused),
        _ => {
            let why = refused.iter().map(|why| format!("as-shipped decides: {why}"));
            (choices, why.collect())
        }
    }
}

/// The servers through the asked lenses, or else through the one that a gate decides by.
pub fn servers_through_deciding(asked: Option<Lenses>, choices: Vec<ServerChoice>) -> (Vec<ServerChoice>, Vec<String>) {
    let (mut choices, notes) = servers_per_lens(asked, choices);
    let first = choices.first().map(|choice| choice.lens.lens);
    choices.retain(|choice| asked.is_some() || Some(choice.lens.lens) == first);
    (choices, notes)
}
