//! The verdict, printed, kept beside the records, and told to a workflow.

use std::path::Path;

use anyhow::bail;

use crate::campaign::files;
use crate::cli::{self, CompareFormat, Inconclusive};
use crate::commands::{github, show};
use crate::compare::{Difference, Weight, by_target, report};
use crate::document::{markdown, page, terminal};
use crate::exit::Exit;
use crate::export::svg;
use crate::gate::{self, Judgement, Sides};

/// A verdict and the runs that it is of.
pub struct Verdict<'v> {
    pub sides: &'v Sides,
    pub judgement: &'v Judgement,
    /// What is to be known besides.
    pub notes: &'v [String],
}

/// Prints the verdict, keeps it `beside` the records that were made for it, and says what it comes to.
pub fn tell(options: &cli::Gate, verdict: &Verdict<'_>, beside: Option<&Path>) -> anyhow::Result<u8> {
    let Verdict { judgement, notes, .. } = verdict;
    refuse(&judgement.differences, options)?;
    let inconclusive = options.holding.inconclusive;
    let exit = match (judgement.exit(), inconclusive) {
        (Exit::Inconclusive, Some(Inconclusive::Pass)) => Exit::Passed,
        (Exit::Inconclusive, Some(Inconclusive::Fail)) => Exit::GateFailed,
        (exit, _) => exit,
    };
    // What has no data is no skipped case of a gate that ends with an error.
    let strict = inconclusive == Some(Inconclusive::Fail) || !judgement.missing.is_empty();
    let suites = gate::report::suites(judgement, strict);
    let document = gate::report::document(judgement, verdict.sides, notes);
    let markdown = markdown::render(&document);
    let json = gate::report::json::render(judgement, notes, exit.code())?;
    let junit = report::junit(&suites);
    let page = || page::render(&document);
    // What is followed over many commits is what the candidate needs.
    let followed = || by_target(verdict.sides.candidate.clone(), None);
    let text = match options.format {
        CompareFormat::Terminal => terminal::render(&document, show::look(options.voice.details)),
        CompareFormat::Markdown => markdown.clone(),
        CompareFormat::Html => page(),
        CompareFormat::Svg => svg::gate(judgement, verdict.sides),
        CompareFormat::Json => json.clone(),
        CompareFormat::Junit => junit.clone(),
        CompareFormat::Bencher => report::bencher(&followed())?,
        CompareFormat::GithubActionBenchmark => report::benchmark_action(&followed())?,
    };
    crate::commands::print(&text)?;
    let html = beside.map_or_else(String::new, |_| page());
    for (name, text) in [
        ("gate.md", &markdown),
        ("gate.json", &json),
        ("gate.xml", &junit),
        ("report.html", &html),
    ] {
        if let Some(path) = beside.map(|directory| directory.join(name)) {
            files::write(&path, text, "make room, and decide again with `lsp-soak gate --from`")?;
        }
    }
    github::tell_of(&markdown, &suites);
    Ok(exit.code())
}

/// Refuses to decide between runs whose circumstances alone can make memory differ. What is not the hosts' is refused
/// whatever is allowed.
pub fn refuse(differences: &[Difference], options: &cli::Gate) -> anyhow::Result<()> {
    let least = match options.holding.allow_different_hosts {
        true => Weight::Measurement,
        false => Weight::Host,
    };
    let refused: Vec<&Difference> = differences.iter().filter(|one| one.weight >= least).collect();
    let Some(worst) = refused.iter().map(|one| one.weight).max() else {
        return Ok(());
    };
    let listed = refused
        .iter()
        .map(|one| format!("{} ({})", one.what, one.values.join(", ")));
    let listed = listed.collect::<Vec<String>>().join("; ");
    match worst {
        Weight::Quantity | Weight::Measurement => bail!(
            "the runs differ in {listed}: what they measured is not the same thing, and no option makes it so; name runs \
             that agree in it, or make them anew"
        ),
        Weight::Host | Weight::Noted => bail!(
            "the runs differ in {listed}, which alone can make memory differ: make them under the same circumstances, or \
             decide within each machine with --allow-different-hosts"
        ),
    }
}
