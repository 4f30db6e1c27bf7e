//! From a record on disk to text: the one way to every report.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::analyse::{self, Summary};
use crate::cli::Format;
use crate::locale;
use crate::record;
use crate::report::{self, terminal::Look};

/// Width of a report that is not printed to a terminal.
const WIDTH: usize = 100;

/// Reads and summarises one record.
pub fn summary(path: &Path) -> anyhow::Result<Summary> {
    let about = || format!("cannot read the record `{}`", path.display());
    let reader = record::open(path).with_context(about)?;
    analyse::read(reader).with_context(about)
}

/// The records that were named, those in a directory in the order of their names.
pub fn records(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in named {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let about = || format!("cannot read the directory `{}`", path.display());
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).with_context(about)? {
            let file = entry.with_context(about)?.path();
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            bail!(
                "`{}` holds no record: name a directory that `lsp-soak run` wrote",
                path.display()
            );
        }
        inside.sort();
        found.append(&mut inside);
    }
    Ok(found)
}

/// Prints one record in a format.
pub fn print(path: &Path, summary: &Summary, format: Format) -> anyhow::Result<()> {
    match format {
        Format::Terminal => super::print(&report::terminal::render(summary, look()))?,
        Format::Json => super::print(&report::json::render(summary)?)?,
        Format::Csv => {
            let mut out = BufWriter::new(io::stdout().lock());
            report::csv::samples(record::open(path)?, &mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}

/// As wide as the terminal; `anstream` takes the colours away where they are not wanted.
fn look() -> Look {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = columns.unwrap_or_else(|| comfy_table::Table::new().width().map_or(WIDTH, usize::from));
    Look {
        columns,
        color: true,
        ascii: !locale::is_utf8(),
    }
}
