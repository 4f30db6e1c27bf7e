//! `lsp-soak cache`: the servers that were installed for `NAME@VERSION`, and pinned workspaces.

use std::time::SystemTime;

use anyhow::Context;

use crate::cli::{self, CacheAction};
use crate::config::Catalogue;
use crate::resolve::{Entry, Store};
use base::exit::Exit;
use base::text::Paint;
use base::text::table::{self, Cell, Column};
use base::units;

use super::{formats, print};

pub fn run(options: &cli::Cache) -> anyhow::Result<u8> {
    let store = Store::usual().context("there is no home directory: set LSP_SOAK_CACHE_DIR")?;
    let entries = || format!("cannot read the cache `{}`", store.root().display());
    let entries = store.entries().with_context(entries)?;
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
    let cells = |cell: &dyn Fn(&Entry) -> String| entries.iter().map(|entry| Cell::plain(cell(entry))).collect();
    let columns = vec![
        Column::text("name", 0, entries.iter().map(name).collect()),
        Column::text("kind", 0, cells(&kind)),
        Column::number("size", 1, cells(&|entry| units::bytes(entry.size()))),
        Column::number("last used", 2, cells(&last_used)),
    ];
    let mut text = String::new();
    table::draw(&mut text, Paint(false), columns, formats::columns(), "");
    let size = units::bytes(entries.iter().map(Entry::size).sum());
    print(&format!("{text}{size} in `{}`\n", store.root().display()))
}

fn name(entry: &Entry) -> Cell {
    let (name, version) = entry.parts();
    Cell::plain(name).ending(version)
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
    let is_meant = |entry: &Entry, name: &String| {
        entry.is_named(name) || of_server(name, &known).is_some_and(|package| entry.is_named(&package))
    };
    let unknown = names
        .iter()
        .find(|name| !entries.iter().any(|entry| is_meant(entry, name)));
    if let Some(name) = unknown {
        anyhow::bail!("the cache has no `{name}`: `lsp-soak cache` lists what it has");
    }
    let mut exit = Exit::Passed;
    for entry in entries
        .iter()
        .filter(|entry| names.is_empty() || names.iter().any(|name| is_meant(entry, name)))
    {
        let size = entry.size();
        let removed = store.remove(entry);
        let removed = removed.with_context(|| format!("cannot remove `{}`", entry.directory.display()))?;
        let name = entry.title();
        print(&match removed {
            true => format!("removed {name}, {}\n", units::bytes(size)),
            false => {
                exit = Exit::OwnFailure;
                format!("kept {name}: a running lsp-soak uses it\n")
            }
        })?;
    }
    Ok(exit.code())
}

/// The package of a server that is named as for `--server`: `gopls@0.17.1` is `golang.org/x/tools/gopls@0.17.1`.
fn of_server(name: &str, known: &Catalogue) -> Option<String> {
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
        let of = |name: &str| of_server(name, &known);
        assert_eq!(of("gopls@0.17.1").as_deref(), Some("golang.org/x/tools/gopls@0.17.1"));
        assert_eq!(of("ty").as_deref(), Some("ty"));
        assert_eq!(of("pypi:prefect==3.9.1"), None);
    }
}
