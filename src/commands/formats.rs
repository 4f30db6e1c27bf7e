//! What commands print: every result in every format that it has. What `run` prints is also left beside its records.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::campaign::files;
use crate::config::values::Format;
use crate::progress;
use analysis::compare::{Played, Scenarios, are_unlike, compare_by_target};
use report::comparison::Suite;
use report::document::{Document, Look, markdown, page, terminal};
use report::export::svg;
use report::{comparison, run};

/// Width of a report that is not printed to a terminal.
const WIDTH: usize = 100;

/// The reports that lie beside the records of a run; the page is first.
const FILES: [(&str, Format); 3] = [
    ("report.html", Format::Html),
    ("report.md", Format::Markdown),
    ("summary.json", Format::Json),
];

/// A result's forms, each made when a format asks for it.
pub struct Printable<'p> {
    pub document: &'p dyn Fn() -> Document,
    pub json: &'p dyn Fn() -> serde_json::Result<String>,
    /// Its timeline.
    pub picture: Option<&'p dyn Fn() -> String>,
    pub suites: Option<&'p dyn Fn() -> Vec<Suite>>,
    /// Benchmarks to follow over commits.
    pub followed: Option<&'p dyn Fn() -> Scenarios>,
}

/// The result in this format; empty if it has none, which no command offers.
pub fn render(result: &Printable<'_>, format: Format, details: bool) -> serde_json::Result<String> {
    Ok(match format {
        Format::Terminal => terminal::render(&(result.document)(), look(details)),
        Format::Markdown => markdown::render(&(result.document)()),
        Format::Html => page::render(&(result.document)()),
        Format::Svg => result.picture.map(|picture| picture()).unwrap_or_default(),
        Format::Json => (result.json)()?,
        Format::Junit => comparison::junit(&result.suites.map(|suites| suites()).unwrap_or_default()),
        Format::Bencher => comparison::bencher(&followed(result))?,
        Format::GithubActionBenchmark => comparison::benchmark_action(&followed(result))?,
        // Made entry by entry, see `show`.
        Format::Csv | Format::Perfetto => String::new(),
    })
}

fn followed(result: &Printable<'_>) -> Scenarios {
    result.followed.map(|followed| followed()).unwrap_or_default()
}

/// Runs side by side.
pub fn comparison(
    runs: &[Played],
    baseline: Option<&str>,
    format: Format,
    details: bool,
) -> serde_json::Result<String> {
    let scenarios = compare_by_target(runs.to_vec(), baseline);
    let result = Printable {
        document: &|| comparison::document(&scenarios, runs),
        json: &|| comparison::json::render(&scenarios, runs),
        picture: Some(&|| svg::comparison(&scenarios, runs)),
        suites: Some(&|| comparison::suites(&scenarios)),
        followed: Some(&|| scenarios.clone()),
    };
    render(&result, format, details)
}

/// Formats in which all runs are shown at once, and which leave this machine.
pub fn is_of_all(format: Format) -> bool {
    matches!(format, Format::Html | Format::Svg | Format::Markdown | Format::Junit)
}

/// One run, several side by side, or a list of runs without a common scenario, in this format; empty if there is none.
pub fn render_together(runs: &[Played], baseline: Option<&str>, format: Format) -> serde_json::Result<String> {
    match without_directories(runs).as_slice() {
        [] => Ok(String::new()),
        [played] if format != Format::Junit => {
            let result = Printable {
                document: &|| run::document(played),
                json: &|| run::json::render(&played.summary),
                picture: Some(&|| svg::run(&played.summary, &played.record)),
                suites: None,
                followed: None,
            };
            render(&result, format, false)
        }
        runs if is_listed(runs, format) => {
            let document = run::list::document(runs);
            Ok(match format {
                Format::Html => page::render(&document),
                _ => markdown::render(&document),
            })
        }
        runs => comparison(runs, baseline, format, false),
    }
}

/// True for a document about runs that have nothing to compare.
fn is_listed(runs: &[Played], format: Format) -> bool {
    let names = runs.iter().map(|run| run.summary.header.scenario.name.as_str());
    matches!(format, Format::Html | Format::Markdown) && are_unlike(names)
}

/// The runs under the names of their files, of several campaigns each with its directory, as far as these tell them apart.
fn without_directories(runs: &[Played]) -> Vec<Played> {
    let mut runs = runs.to_vec();
    for parts in [1, 2] {
        let names: Vec<String> = runs.iter().map(|run| last_parts(&run.record, parts)).collect();
        let unlike: HashSet<&String> = names.iter().collect();
        if unlike.len() == names.len() {
            for (run, name) in runs.iter_mut().zip(names) {
                run.record = name;
            }
            break;
        }
    }
    runs
}

/// Writes the reports beside the records, over those of an interrupted campaign: they are functions of the records.
/// Returns the page's path; `None` without a result.
pub fn save(out: &Path, runs: &[Played], baseline: Option<&str>) -> anyhow::Result<Option<String>> {
    if runs.is_empty() {
        return Ok(None);
    }
    for (name, format) in FILES {
        let cure = "make room, and make it again with `lsp-soak report`";
        files::write(&out.join(name), &render_together(runs, baseline, format)?, cure)?;
    }
    Ok(Some(out.join(FILES[0].0).display().to_string()))
}

/// The end of a path. Directories of the machine where the record was made tell nothing to whom the page is sent.
fn last_parts(record: &str, parts: usize) -> String {
    let all: Vec<_> = Path::new(record).components().collect();
    let path: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
    path.to_string_lossy().into_owned()
}

/// The width of the output: the terminal's.
pub fn columns() -> usize {
    let known = std::env::var_os("COLUMNS").is_some() || io::stdout().is_terminal();
    if known { progress::columns() } else { WIDTH }
}

/// `anstream` takes the colours away where they are not wanted.
pub fn look(details: bool) -> Look {
    Look {
        columns: columns(),
        details,
        color: true,
        ascii: !progress::is_utf8(),
    }
}
