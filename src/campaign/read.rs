//! Reads records from files or stdin.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, anyhow};

use crate::compare::Played;
use crate::record::{self, Reader};
use crate::summary;
use crate::summary::Summary;

/// The path that means stdin.
pub const STDIN: &str = "-";

pub fn summary(path: &Path) -> anyhow::Result<Summary> {
    let about = || format!("cannot read the record `{}`", path.display());
    summary::read(open(path)?).with_context(about)
}

/// Reads a record for a comparison, under its file name.
pub fn played(path: &Path) -> anyhow::Result<Played> {
    Ok(Played {
        record: path.display().to_string(),
        summary: summary(path)?,
    })
}

/// Opens a record. A pipe can be read only once.
pub fn open(path: &Path) -> anyhow::Result<Reader<Box<dyn BufRead>>> {
    let source: Box<dyn BufRead> = if path == Path::new(STDIN) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = File::open(path).map_err(|error| {
            let reason = crate::text::reason(&error);
            anyhow!(
                "cannot read the record `{}`: {reason}; name a record, or a directory that `lsp-soak run` wrote",
                path.display()
            )
        })?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let about = || format!("cannot read the record `{}`", path.display());
    Reader::new(record::plain(source).with_context(about)?).with_context(about)
}
