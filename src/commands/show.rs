//! From a record on disk to text: the one way to every report.

use std::fs;
use std::io::{BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};

use crate::campaign::{open, read_played};
use crate::config::values::Format;
use analysis::compare::{self, Played};
use analysis::findings::{self, Severity};
use analysis::summary::{self, Summary};
use base::exit::Exit;
use base::units;
use record::{Entry, Header, is_record};
use report::document::terminal;
use report::export::csv;
use report::export::trace::{self, Trace};
use report::run;

use super::exports::Target;
use super::formats;

/// Reads the records that were named, see [`records`], each run once.
pub fn all_played(named: &[PathBuf]) -> anyhow::Result<Vec<Played>> {
    let runs: anyhow::Result<Vec<Played>> = records(named)?.iter().map(|path| read_played(path)).collect();
    runs.map(drop_copies)
}

/// Each run once, however many records there are of it, and says so: a copy is no second run.
pub fn drop_copies(runs: Vec<Played>) -> Vec<Played> {
    let (runs, copies) = compare::distinct_runs(runs);
    if let [(copy, first), others @ ..] = copies.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(", and so for {} more", units::count(more as u64)),
        };
        super::say(&format!(
            "warning: `{copy}` is a copy of `{first}`{more}: each run counts once"
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
    for entry in fs::read_dir(directory).with_context(|| cannot_read(directory))? {
        let entry = entry.with_context(|| cannot_read(directory))?;
        let path = entry.path();
        if entry.file_type().with_context(|| cannot_read(directory))?.is_dir() {
            below(&path, paths)?;
        } else if is_record(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

fn cannot_read(directory: &Path) -> String {
    format!(
        "cannot read the directory `{}`, make it readable or name another",
        directory.display()
    )
}

/// The shape of several records in a format that can show them one by one or side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One record alone.
    One,
    /// Each record alone, always as a list.
    List,
    /// A comparison.
    Compared,
}

/// Records on their way to every place that wants them, each read once.
pub struct Outputs {
    outputs: Vec<Output>,
    baseline: Option<String>,
    details: bool,
    /// Runs for the common report.
    runs: Vec<Played>,
    /// Number of `runs` that were shown in the terminal.
    shown: usize,
}

struct Output {
    shape: Shape,
    target: BufWriter<Target>,
    format: Format,
    printed: u64,
    /// Numbers the events over all records.
    trace: Trace,
    stream: Option<Stream>,
}

/// A record that is written while it is read.
enum Stream {
    Samples(csv::Samples),
    Events(trace::Run),
}

impl Outputs {
    /// Nothing is printed yet.
    pub fn new(
        targets: Vec<Target>,
        shape: impl Fn(Format) -> Shape,
        baseline: Option<&str>,
        details: bool,
    ) -> Outputs {
        let outputs = targets.into_iter().map(|target| Output {
            shape: shape(target.format),
            format: target.format,
            target: BufWriter::with_capacity(1 << 16, target),
            printed: 0,
            trace: Trace::default(),
            stream: None,
        });
        Outputs {
            outputs: outputs.collect(),
            baseline: baseline.map(str::to_owned),
            details,
            runs: Vec::new(),
            shown: 0,
        }
    }

    /// Reads and shows the record at `path`, `-` for standard input.
    pub fn record(&mut self, path: &Path) -> anyhow::Result<Arc<Summary>> {
        let reader = open(path)?;
        for output in &mut self.outputs {
            output.begin_record(path, reader.header())?;
        }
        let outputs = &mut self.outputs;
        let summary = summary::read_with(reader, |entry| {
            outputs.iter_mut().try_for_each(|output| output.write_entry(entry))
        })?;
        let played = Played::new(path.display().to_string(), summary);
        for output in &mut self.outputs {
            output.end_record(&played, self.details)?;
        }
        let summary = Arc::clone(&played.summary);
        if self.outputs.iter().any(Output::is_of_all_runs) {
            self.runs.push(played);
        }
        Ok(summary)
    }

    /// Shows the runs of one scenario that were played just now; the terminal is not kept waiting for the next one.
    pub fn add(&mut self, runs: &[Played]) -> anyhow::Result<()> {
        if self.outputs.iter().all(Output::is_of_all_runs) {
            self.runs.extend_from_slice(runs);
        } else {
            for run in runs {
                self.record(Path::new(&run.record))?;
            }
        }
        self.compare_in_terminal()
    }

    /// The runs that are compared; empty where none are.
    pub fn compared(&self) -> &[Played] {
        &self.runs
    }

    fn compare_in_terminal(&mut self) -> anyhow::Result<()> {
        let runs = &self.runs[self.shown..];
        let mut terminals = self.outputs.iter_mut();
        let Some(output) = terminals.find(|output| output.format == Format::Terminal && output.is_of_all_runs()) else {
            return Ok(());
        };
        if runs.is_empty() {
            return Ok(());
        }
        // Where no run counts, how a server failed is all there is to know.
        let none_counts = !runs.iter().any(|run| compare::is_counted(&run.summary));
        let mut text = String::new();
        for run in runs {
            if none_counts && summary::exit_of_run(&run.summary) == Exit::ServerFailed {
                let document = run::document(run);
                text.push_str(&terminal::render(&document, formats::look(self.details)));
                text.push('\n');
            }
        }
        let baseline = self.baseline.as_deref();
        text.push_str(&formats::comparison(runs, baseline, Format::Terminal, self.details)?);
        self.shown = self.runs.len();
        output.target.get_mut().print(&text)
    }

    /// Shows what waits for the end.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.runs = drop_copies(self.runs);
        self.compare_in_terminal()?;
        for output in self.outputs {
            output.finish(&self.runs, self.baseline.as_deref(), self.details)?;
        }
        Ok(())
    }
}

impl Output {
    /// True if it is made of all runs at once, so that it waits for the last one.
    fn is_of_all_runs(&self) -> bool {
        match self.format {
            Format::Csv | Format::Perfetto => false,
            Format::Terminal | Format::Json => self.shape == Shape::Compared,
            _ => true,
        }
    }

    fn begin_record(&mut self, path: &Path, header: &Header) -> anyhow::Result<()> {
        let (failure, name) = (self.target.get_ref().failure(), path.display().to_string());
        self.stream = match self.format {
            Format::Csv => {
                if self.printed == 0 {
                    csv::write_header(&mut self.target).context(failure)?;
                }
                Some(Stream::Samples(csv::Samples::new(name, header)))
            }
            Format::Perfetto => {
                let record = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let several = self.shape != Shape::One;
                let run = self
                    .trace
                    .run(header, &record.unwrap_or(name), several, &mut self.target);
                Some(Stream::Events(run.context(failure)?))
            }
            _ => None,
        };
        Ok(())
    }

    fn write_entry(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let written = match &mut self.stream {
            Some(Stream::Samples(samples)) => samples.write(entry, &mut self.target),
            Some(Stream::Events(run)) => run.write(&mut self.trace, entry, &mut self.target),
            None => return Ok(()),
        };
        written.with_context(|| self.target.get_ref().failure())
    }

    /// Writes the report of one record, once it was read to its end.
    fn end_record(&mut self, played: &Played, details: bool) -> anyhow::Result<()> {
        let summary = &*played.summary;
        let failure = self.target.get_ref().failure();
        match (self.stream.take(), self.format) {
            (Some(stream), _) => {
                if let Stream::Events(run) = stream {
                    run.finish(&mut self.trace, summary, &mut self.target)
                        .context(failure)?;
                }
                warn(played);
            }
            _ if self.is_of_all_runs() => return Ok(()),
            (None, Format::Json) => {
                let text = run::json::render(summary)?;
                let text = match (self.shape, self.printed) {
                    (Shape::List, 0) => format!("[\n{}", text.trim_end()),
                    (Shape::List, _) => format!(",\n{}", text.trim_end()),
                    _ => text,
                };
                self.target.get_mut().print(&text)?;
            }
            (None, _) => {
                let document = run::document(played);
                let between = if self.printed == 0 { "" } else { "\n" };
                let text = terminal::render(&document, formats::look(details));
                self.target.get_mut().print(&format!("{between}{text}"))?;
            }
        }
        self.printed += 1;
        Ok(())
    }

    fn finish(mut self, runs: &[Played], baseline: Option<&str>, details: bool) -> anyhow::Result<()> {
        let failure = self.target.get_ref().failure();
        let text = match self.format {
            Format::Csv | Format::Terminal => String::new(),
            Format::Perfetto => {
                self.trace.finish(&mut self.target).context(failure.clone())?;
                String::new()
            }
            format if formats::is_of_all(format) => formats::render_together(runs, baseline, format)?,
            format if self.is_of_all_runs() => formats::comparison(runs, baseline, format, details)?,
            _ if self.shape == Shape::One => String::new(),
            _ if self.printed == 0 => "[]\n".to_owned(),
            _ => "\n]\n".to_owned(),
        };
        self.target.get_mut().print(&text)?;
        let target = self.target.into_inner();
        target.map_err(IntoInnerError::into_error).context(failure)?.finish()
    }
}

/// Warns on stderr if the format has no place for a record's problems.
fn warn(played: &Played) {
    let Played { record: name, summary } = played;
    if let Some(why) = summary::why_unmeasured(&summary.header) {
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
