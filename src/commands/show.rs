//! From a record on disk to text: the one way to every report.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::{open, played, summary};
use crate::compare::{self, Played, run};
use crate::config::options::Format;
use crate::document::terminal;
use crate::export::csv;
use crate::export::trace::Trace;
use crate::findings::{self, Severity};
use crate::record::is_record;
use crate::summary::{self, Summary};
use crate::units;

use super::{UNPRINTED, formats};

/// Reads the records that were named, see [`records`], each run once.
pub fn all_played(named: &[PathBuf]) -> anyhow::Result<Vec<Played>> {
    let runs: anyhow::Result<Vec<Played>> = records(named)?.iter().map(|path| played(path)).collect();
    runs.map(once)
}

/// Each run once, however many records there are of it, and says so: a copy is no second run.
pub fn once(runs: Vec<Played>) -> Vec<Played> {
    let (runs, copies) = compare::once(runs);
    if let [(copy, first), others @ ..] = copies.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(", and so for {} more", units::count(more as u64)),
        };
        super::say(&format!(
            "warning: `{copy}` is of the same run as `{first}`{more}: each run is counted once"
        ));
    }
    runs
}

/// The records that were named, those in a directory and below it in the order of their names.
pub fn records(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in named {
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let before = paths.len();
        below(path, &mut paths)?;
        if paths.len() == before {
            bail!(
                "`{}` holds no record: name a directory that `lsp-soak run` wrote",
                path.display()
            );
        }
        paths[before..].sort();
    }
    Ok(paths)
}

fn below(directory: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let about = || {
        format!(
            "cannot read the directory `{}`, make it readable or name another",
            directory.display()
        )
    };
    for entry in fs::read_dir(directory).with_context(about)? {
        let entry = entry.with_context(about)?;
        let path = entry.path();
        if entry.file_type().with_context(about)?.is_dir() {
            below(&path, paths)?;
        } else if is_record(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Prints records one after the other in one format, each read once.
pub struct Printer {
    format: Format,
    details: bool,
    list: bool,
    printed: u64,
    /// What is shown together in the end.
    kept: Vec<Played>,
    /// What events are numbered by over all records.
    trace: Trace,
}

impl Printer {
    /// Nothing is printed yet. A `list` stays one however many records there are.
    pub fn new(format: Format, list: bool, details: bool) -> Printer {
        Printer {
            format,
            details,
            list,
            printed: 0,
            kept: Vec::new(),
            trace: Trace::default(),
        }
    }

    /// Prints the record at `path`, `-` for standard input.
    pub fn record(&mut self, path: &Path) -> anyhow::Result<Summary> {
        match self.format {
            Format::Csv => return self.samples(path),
            Format::Perfetto => return self.events(path),
            _ => {}
        }
        let summary = summary(path)?;
        if formats::is_of_all(self.format) {
            let record = path.display().to_string();
            self.kept.push(Played {
                record,
                summary: summary.clone(),
            });
            return Ok(summary);
        }
        let text = match self.format {
            Format::Json if self.list => {
                let text = run::json::render(&summary)?;
                format!("{}{}", self.between("[\n", ",\n"), text.trim_end())
            }
            Format::Json => run::json::render(&summary)?,
            _ => {
                let record = path.display().to_string();
                let document = run::document(&summary, &record);
                let text = terminal::render(&document, formats::look(self.details));
                format!("{}{text}", self.between("", "\n"))
            }
        };
        self.printed += 1;
        super::print(&text)?;
        Ok(summary)
    }

    pub fn finish(self) -> anyhow::Result<()> {
        match self.format {
            Format::Json if self.list && self.printed == 0 => super::print("[]\n"),
            Format::Json if self.list => super::print("\n]\n"),
            Format::Perfetto => self.trace.finish(&mut io::stdout().lock()).context(UNPRINTED),
            format => super::print(&formats::together(&self.kept, None, format)?),
        }
    }

    fn between(&self, first: &'static str, later: &'static str) -> &'static str {
        if self.printed == 0 { first } else { later }
    }

    /// Prints every sample while the summary is made.
    fn samples(&mut self, path: &Path) -> anyhow::Result<Summary> {
        let name = path.display();
        let reader = open(path)?;
        let mut out = BufWriter::new(io::stdout().lock());
        if self.printed == 0 {
            csv::head(&mut out).context(UNPRINTED)?;
        }
        self.printed += 1;
        let mut samples = csv::Samples::of(name.to_string(), reader.header());
        let summary = summary::read_with(reader, |entry| samples.write(entry, &mut out).context(UNPRINTED))?;
        out.flush().context(UNPRINTED)?;
        Self::tell(path, &summary);
        Ok(summary)
    }

    /// Writes the record into the trace while the summary is made.
    fn events(&mut self, path: &Path) -> anyhow::Result<Summary> {
        let reader = open(path)?;
        let record = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let trace = &mut self.trace;
        let mut run = trace
            .run(reader.header(), &record, self.list, &mut out)
            .context(UNPRINTED)?;
        let summary = summary::read_with(reader, |entry| run.write(trace, entry, &mut out).context(UNPRINTED))?;
        run.finish(trace, &summary, &mut out).context(UNPRINTED)?;
        out.flush().context(UNPRINTED)?;
        Self::tell(path, &summary);
        Ok(summary)
    }

    /// Says on stderr what a person should know of a record whose format has no place for it.
    fn tell(path: &Path, summary: &Summary) {
        let name = path.display();
        if let Some(why) = summary::held_up(&summary.header) {
            super::say(&format!("note: `{name}`: {why}"));
        }
        for finding in findings::findings(summary) {
            match finding.severity {
                Severity::Note => {}
                Severity::Warning => super::say(&format!("warning: `{name}`: {}", finding.text)),
                Severity::Failure => super::say(&format!("failure: `{name}`: {}", finding.text)),
            }
        }
    }
}
