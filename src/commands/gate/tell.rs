//! The verdict: printed, stored beside the records, and reported to a workflow.

use std::path::Path;

use anyhow::bail;

use crate::campaign::files;
use crate::commands::exports;
use crate::commands::formats::{self, Printable};
use crate::commands::github;
use crate::config::values::Format;
use analysis::compare::{Difference, Weight, compare_by_target};
use analysis::gate::{Judgement, Sides};
use base::exit::Exit;
use report::document::NextCommand;
use report::export::svg;
use report::verdict;

use super::plan::TellPlan;

/// A verdict and the runs that it is of.
pub struct Verdict<'v> {
    pub sides: &'v Sides,
    pub judgement: &'v Judgement,
    /// Notes to the verdict.
    pub notes: &'v [String],
    pub next: Option<NextCommand>,
}

/// Prints the verdict, stores it `beside` its records, and returns the exit code.
pub fn report_verdict(
    verdict: &Verdict<'_>,
    refused: Weight,
    telling: TellPlan,
    beside: Option<&Path>,
) -> anyhow::Result<u8> {
    let judgement = verdict.judgement;
    refuse(&judgement.differences, refused)?;
    let exit = match judgement.exit() {
        Exit::Inconclusive => telling.inconclusive,
        exit => exit,
    };
    // A rule without data is no skipped case of a gate that ends with an error.
    let strict = telling.inconclusive == Exit::GateFailed || !judgement.missing.is_empty();
    let suites = verdict::suites(judgement, strict);
    let (sides, notes, next) = (verdict.sides, verdict.notes, verdict.next.as_ref());
    let result = Printable {
        document: &|| verdict::document(judgement, sides, notes, next),
        json: &|| verdict::json::render(judgement, notes, next, exit.code()),
        picture: Some(&|| svg::gate(judgement, sides)),
        suites: Some(&|| suites.clone()),
        // Of many commits it is what the candidate needs.
        followed: Some(&|| compare_by_target(sides.candidate.clone(), None)),
    };
    let print = |format| formats::render(&result, format, telling.output.details);
    exports::print(telling.output.targets, print)?;
    for (name, format) in [
        ("gate.md", Format::Markdown),
        ("gate.json", Format::Json),
        ("gate.xml", Format::Junit),
        ("report.html", Format::Html),
    ] {
        if let Some(path) = beside.map(|directory| directory.join(name)) {
            let cure = "make room, and decide again with `lsp-soak gate --from`";
            files::write(&path, &print(format)?, cure)?;
            if format == Format::Html && !telling.output.is_quiet {
                crate::commands::say(&format!("report: {}", path.display()));
            }
        }
    }
    github::report_to_workflow(&print(Format::Markdown)?, &suites);
    Ok(exit.code())
}

/// Refuses runs whose circumstances alone can change memory: by differences of this weight or more.
pub fn refuse(differences: &[Difference], least: Weight) -> anyhow::Result<()> {
    let refused: Vec<&Difference> = differences
        .iter()
        .filter(|difference| difference.weight >= least)
        .collect();
    let Some(worst) = refused.iter().map(|difference| difference.weight).max() else {
        return Ok(());
    };
    let listed: Vec<String> = refused
        .iter()
        .map(|difference| format!("{} ({})", difference.what, difference.values.join(", ")))
        .collect();
    let listed = listed.join("; ");
    match worst {
        Weight::Quantity | Weight::Measurement => bail!(
            "the runs differ in {listed}, so they measured different quantities (no option changes that): name runs \
             that agree, or record them anew"
        ),
        Weight::Host | Weight::Noted => bail!(
            "the runs differ in {listed}, which alone changes memory: record them under the same conditions, or use \
             --allow-different-hosts to compare within each machine"
        ),
    }
}
