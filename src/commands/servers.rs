//! `lsp-soak servers`: the known servers that are installed, with version, allocator and path.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::cli;
use crate::config::Profile;
use crate::progress::Status;
use crate::resolve::{Program, ServerChoice, detector, installed, which};
use allocator::missing_component;
use base::Cancel;
use base::text::table::{self, Column, TableCell};
use base::text::{Paint, fold};
use base::units::UNKNOWN;

use super::{formats, prepare, print};

pub fn run(options: &cli::Servers) -> anyhow::Result<u8> {
    let catalogue = prepare::catalogue(options.file.as_deref(), None)?;
    let which = which(None);
    let mut rows: Vec<[String; 5]> = Vec::new();
    let mut others: Vec<(&str, String)> = Vec::new();
    let mut lacking: Vec<(&str, String)> = Vec::new();
    let status = Status::default();
    for (name, profile) in catalogue.iter() {
        let program = match installed(name, profile, &which) {
            Some(Program::File(program)) => match missing_component(&program) {
                None => program,
                Some(cure) => {
                    lacking.push((name, cure));
                    continue;
                }
            },
            Some(Program::Build(_)) => {
                others.push((name, "built on demand".to_owned()));
                continue;
            }
            None => {
                let how = profile.installed_with();
                others.push((name, how.unwrap_or_else(|| "see its project's site".to_owned())));
                continue;
            }
        };
        status.show(&format!("asking {name} for its version and allocator"));
        let choice = chosen(name, profile, &program);
        let inspected = detector::inspect(&choice, &program, None, &Cancel::default());
        rows.push([
            name.to_owned(),
            inspected.version.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
            inspected.facts.to_string(),
            program.display().to_string(),
            profile.languages.join(", "),
        ]);
    }
    drop(status);
    let mut text = String::new();
    if rows.is_empty() {
        let none = "no known server is installed: name yours by its path, as in --server ./my-server\n";
        text.push_str(&fold(none, width()));
    } else {
        table::draw(&mut text, Paint(false), columns(&rows), width(), "");
    }
    let mut rest = String::new();
    for (name, cure) in &lacking {
        rest.push_str(&format!("{name} is a proxy of rustup without its component: {cure}\n"));
    }
    list_others(&mut rest, &others, options.all);
    text.push_str(&fold(&rest, width()));
    print(&text)?;
    Ok(0)
}

/// The servers that are known and not installed: their number, or how to install each.
fn list_others(text: &mut String, others: &[(&str, String)], all: bool) {
    let count = others.len();
    if count == 0 {
        return;
    }
    if !all {
        text.push_str(&format!(
            "{count} more are known and not installed: lsp-soak servers --all\n"
        ));
        return;
    }
    text.push_str(&format!("\n{count} more known, and how to install each:\n"));
    let wide = others.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, how) in others {
        text.push_str(&format!("  {name:wide$}  {how}\n"));
    }
}

/// The terminal's width; a pipe gets all columns.
fn width() -> usize {
    if io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some() {
        formats::columns()
    } else {
        usize::MAX
    }
}

/// A row for each profile. Version and allocator stay longer than the path, which takes most room.
fn columns(rows: &[[String; 5]]) -> Vec<Column> {
    let heads = [
        ("server", 0),
        ("version", 1),
        ("allocator", 2),
        ("program", 6),
        ("languages", 7),
    ];
    let mut columns = Vec::new();
    for (place, (head, rank)) in heads.into_iter().enumerate() {
        let cells = rows.iter().map(|row| TableCell::plain(&*row[place])).collect();
        columns.push(Column::text(head, rank, cells));
    }
    columns
}

/// The server as a run would choose it.
pub(super) fn chosen(name: &str, profile: &Profile, program: &Path) -> ServerChoice {
    ServerChoice {
        profile_name: Some(name.to_owned()),
        env: profile.env.clone(),
        ..ServerChoice::plain(name, profile.clone(), Program::File(program.to_owned()))
    }
}
