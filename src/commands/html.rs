//! Reports that show all runs at once. The page for a browser is also left beside the records of every `run`.

use std::collections::HashSet;
use std::path::Path;

use crate::campaign::files;
use crate::compare::{Played, by_target, report, run};
use crate::config::options::Format;
use crate::document::{Document, markdown, page};
use crate::export::svg;

const FILE: &str = "report.html";

/// One page of these runs: of one by itself, or of several side by side.
pub fn page(runs: &[Played], baseline: Option<&str>) -> String {
    documented(runs, baseline, page::render)
}

/// The same for a pull request.
pub fn pasted(runs: &[Played], baseline: Option<&str>) -> String {
    documented(runs, baseline, markdown::render)
}

fn documented(runs: &[Played], baseline: Option<&str>, render: fn(&Document) -> String) -> String {
    match runs {
        [only] => render(&run::document(&only.summary, &file_name(&only.record))),
        several => {
            let several = without_directories(several);
            let scenarios = by_target(several.clone(), baseline);
            render(&report::document(&scenarios, &several))
        }
    }
}

/// The timeline of these runs as a picture, in the same way.
pub fn picture(runs: &[Played], baseline: Option<&str>) -> String {
    match runs {
        [only] => svg::run(&only.summary, &file_name(&only.record)),
        several => {
            let several = without_directories(several);
            svg::comparison(&by_target(several.clone(), baseline), &several)
        }
    }
}

/// What shows all runs at once, where the format is of that kind and there are any.
pub fn of(format: Format, runs: &[Played], baseline: Option<&str>) -> Option<String> {
    match format {
        Format::Html if !runs.is_empty() => Some(page(runs, baseline)),
        Format::Svg if !runs.is_empty() => Some(picture(runs, baseline)),
        Format::Markdown if !runs.is_empty() => Some(pasted(runs, baseline)),
        Format::Junit if !runs.is_empty() => {
            let scenarios = by_target(without_directories(runs), baseline);
            Some(report::junit(&report::suites(&scenarios)))
        }
        Format::Html
        | Format::Svg
        | Format::Markdown
        | Format::Junit
        | Format::Terminal
        | Format::Json
        | Format::Csv
        | Format::Perfetto => None,
    }
}

/// The runs under the names of their files, as far as these tell them apart.
fn without_directories(runs: &[Played]) -> Vec<Played> {
    let names: HashSet<String> = runs.iter().map(|run| file_name(&run.record)).collect();
    let mut runs = runs.to_vec();
    if names.len() == runs.len() {
        runs.iter_mut().for_each(|run| run.record = file_name(&run.record));
    }
    runs
}

/// Writes the page beside the records, in place of the one of a campaign that is gone on with: it is a function of the
/// records, so that nothing is lost. Says where it is, or nothing where there is nothing to show.
pub fn save(out: &Path, runs: &[Played], baseline: Option<&str>) -> anyhow::Result<Option<String>> {
    if runs.is_empty() {
        return Ok(None);
    }
    let path = out.join(FILE);
    let cure = "make room, and make it again with `lsp-soak compare --format html`";
    files::write(&path, &page(runs, baseline), cure)?;
    Ok(Some(path.display().to_string()))
}

/// Directories of the machine where the record was made tell nothing to whom the page is sent.
fn file_name(record: &str) -> String {
    let name = Path::new(record).file_name();
    name.map_or_else(|| record.to_owned(), |name| name.to_string_lossy().into_owned())
}
