//! `lsp-soak cache`: the servers that were installed for `NAME@VERSION`, and pinned workspaces.

use std::time::SystemTime;

use anyhow::Context;

use crate::cli::{self, CacheAction};
use crate::config::Catalogue;
use crate::resolve::{Entry, Store};
use base::exit::Exit;
use base::text::Paint;
use base::text::table::{self, Column, TableCell};
use base::units;

use super::{formats, print};

pub fn run(options: &cli::Cache) -> anyhow::Result<u8> {
    let store = Store::usual().context("there is no home directory: set LSP_SOAK_CACHE_DIR")?;
    let entries = store
        .entries()
        .with_context(|| format!("cannot read the cache `{}`", store.root().display()))?;
    match &options.action {
        None => list(&store, &entries)?,
        Some(CacheAction::Clear { names }) => return clear(&store, &entries, names),
    }
    Ok(Exit::Passed.code())
}

fn list(store: &Store, entries: &[Entry]) -> anyhow::Result<()> {
    if entries.is_empty() {
        return print(&format!("the cache `{}` is empty\n", store.root().display()));
    }
    let columns = vec![
        Column::text("name", 0, entries.iter().map(name).collect()),
        Column::text("kind", 0, plain_cells(entries, kind)),
        Column::number("size", 1, plain_cells(entries, |entry| units::bytes(entry.size()))),
        Column::number("last used", 2, plain_cells(entries, last_used)),
    ];
    let mut text = String::new();
    table::draw(&mut text, Paint(false), columns, formats::columns(), "");
    let size = units::bytes(entries.iter().map(Entry::size).sum());
    print(&format!("{text}{size} in `{}`\n", store.root().display()))
}

fn plain_cells(entries: &[Entry], text: impl Fn(&Entry) -> String) -> Vec<TableCell> {
    entries.iter().map(|entry| TableCell::plain(text(entry))).collect()
}

fn name(entry: &Entry) -> TableCell {
    let (name, version) = entry.parts();
    TableCell::plain(name).with_tail(version)
}

fn kind(entry: &Entry) -> String {
    match &entry.setup {
        _ if entry.incomplete => format!("{}, incomplete", entry.kind),
        Some(setup) => format!("{}, {setup}", entry.kind),
        None => entry.kind.clone(),
    }
}

fn last_used(entry: &Entry) -> String {
    let age = entry.used.and_then(|used| SystemTime::now().duration_since(used).ok());
    units::or_unknown(age, |age| format!("{} ago", units::duration(age)))
}

/// Removes the named entries, each by its name, its title, as it is listed or as a server is named, or all.
fn clear(store: &Store, entries: &[Entry], names: &[String]) -> anyhow::Result<u8> {
    // Profiles of projects are not known here.
    let known = Catalogue::built_in();
    for name in names {
        if !entries.iter().any(|entry| is_meant(entry, name, &known)) {
            anyhow::bail!("the cache has no `{name}`: `lsp-soak cache` lists what it has");
        }
    }
    let mut exit = Exit::Passed;
    for entry in entries
        .iter()
        .filter(|entry| names.is_empty() || names.iter().any(|name| is_meant(entry, name, &known)))
    {
        let size = entry.size();
        let removed = store
            .remove(entry)
            .with_context(|| format!("cannot remove `{}`", entry.directory.display()))?;
        let name = entry.title();
        if removed {
            print(&format!("removed {name}, {}\n", units::bytes(size)))?;
        } else {
            exit = Exit::OwnFailure;
            print(&format!("kept {name}: a running lsp-soak uses it\n"))?;
        }
    }
    Ok(exit.code())
}

fn is_meant(entry: &Entry, name: &str, known: &Catalogue) -> bool {
    entry.is_named(name) || server_package(name, known).is_some_and(|package| entry.is_named(&package))
}

/// The package of a server that is named as for `--server`: `gopls@0.17.1` is `golang.org/x/tools/gopls@0.17.1`.
fn server_package(name: &str, known: &Catalogue) -> Option<String> {
    let end = name.find('@').unwrap_or(name.len());
    let (server, version) = name.split_at(end);
    let package = known.get(server)?.package.as_ref()?;
    Some(format!("{}{version}", package.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_as_it_was_typed() {
        let known = Catalogue::built_in();
        for (name, package) in [
            ("gopls@0.17.1", Some("golang.org/x/tools/gopls@0.17.1")),
            ("ty", Some("ty")),
            ("pypi:prefect==3.9.1", None),
        ] {
            assert_eq!(server_package(name, &known).as_deref(), package);
        }
    }
}
