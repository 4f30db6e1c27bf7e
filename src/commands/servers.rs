//! `lsp-soak servers`: which profiles there are, which of them are installed, where, which version, on which allocator.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::cli;
use crate::config::Profile;
use crate::resolve::{Program, ServerChoice, detector, installed, which};
use crate::text::Paint;
use crate::text::table::{self, Cell, Column};
use crate::units::UNKNOWN;

use super::{formats, prepare, print};

pub fn run(options: &cli::Servers) -> anyhow::Result<u8> {
    let catalogue = prepare::catalogue(options.file.as_deref(), None)?;
    let which = which(None);
    let mut rows: Vec<[String; 5]> = Vec::new();
    for (name, profile) in catalogue.iter() {
        let unknown = || UNKNOWN.to_owned();
        let (version, allocator, program) = match installed(name, profile, &which) {
            Some(Program::File(program)) => {
                let version = detector::version_of(profile, &program, (Path::new("."), &[]), &|| false);
                let detected = detector::detection(&chosen(name, profile, &program), &program, &|| false);
                (version, detected.facts.to_string(), program.display().to_string())
            }
            Some(Program::Build(_)) => (None, unknown(), "built on demand".to_owned()),
            None => (None, unknown(), "not installed".to_owned()),
        };
        let version = version.unwrap_or_else(unknown);
        rows.push([
            name.to_owned(),
            version,
            allocator,
            program,
            profile.languages.join(", "),
        ]);
    }
    let mut text = String::new();
    table::draw(&mut text, Paint(false), columns(&rows), width(), "");
    print(&text)?;
    Ok(0)
}

/// As wide as the terminal; what is read by another program keeps all of its columns.
fn width() -> usize {
    match io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some() {
        true => formats::columns(),
        false => usize::MAX,
    }
}

/// A row for each profile: whether it is installed stays longest.
fn columns(rows: &[[String; 5]]) -> Vec<Column> {
    let heads = [
        ("server", 0),
        ("version", 3),
        ("allocator", 2),
        ("program", 1),
        ("languages", 4),
    ];
    let column = |(place, (head, rank)): (usize, (&'static str, u8))| {
        Column::text(head, rank, rows.iter().map(|row| Cell::plain(&*row[place])).collect())
    };
    heads.into_iter().enumerate().map(column).collect()
}

/// The server as a run would choose it.
pub(super) fn chosen(name: &str, profile: &Profile, program: &Path) -> ServerChoice {
    ServerChoice {
        profile_name: Some(name.to_owned()),
        ..ServerChoice::plain(name, profile.clone(), Program::File(program.to_owned()))
    }
}
