//! `lsp-soak bisect`: the version of a server that changed its memory, or from which on a condition holds.

use std::path::Path;

use crate::campaign::files;
use crate::cli;
use crate::config::values::Format;
use crate::progress::Verbosity;
use crate::soak::Interrupt;
use anyhow::Context;
use base::exit::Exit;
use base::text::quoted;
use report::bisect as told;

use super::exports;
use super::formats::{self, Printable};
use super::plan::OutputPlan;
use super::resume::Place;
use plan::BisectPlan;
use search::Search;

mod plan;
mod search;
mod versions;

/// Searches, or goes on with a search that was interrupted: what its records have is not played again.
pub fn run(options: &cli::Bisect, place: Place) -> anyhow::Result<u8> {
    let interrupt = Interrupt::listen(ended_between_runs).context("cannot listen for ctrl-c")?;
    super::unless_interrupted(bisect(options, place, &interrupt), &interrupt)
}

fn bisect(options: &cli::Bisect, place: Place, interrupt: &Interrupt) -> anyhow::Result<u8> {
    let plan = BisectPlan::from_typed(options, &place)?;
    let out = place.directory(&plan.scenario)?;
    // Exports may go into the new directory.
    let output = OutputPlan::of_search(&options.searching)?;
    let talk = plan.campaign.talk;
    if talk != Verbosity::Quiet {
        for note in &plan.notes {
            super::say(note);
        }
        super::say(&format!("records: {}", out.display()));
    }
    let search = Search {
        plan: &plan,
        out: &out,
        interrupt,
    };
    match search.bisection()? {
        Some(bisection) => report_bisection(&bisection, output, &out),
        None => {
            let directory = quoted(&out.display().to_string());
            super::say(&format!(
                "interrupted: resume with `lsp-soak bisect --resume {directory}`"
            ));
            Ok(Exit::Interrupted.code())
        }
    }
}

/// Prints the result, stores it beside the records, and returns the exit code.
fn report_bisection(bisection: &analysis::bisect::Bisection, output: OutputPlan, out: &Path) -> anyhow::Result<u8> {
    let exit = if bisection.is_answered() {
        Exit::Passed
    } else {
        Exit::OwnFailure
    };
    let result = Printable {
        document: &|| told::document(bisection),
        json: &|| told::json(bisection, exit.code()),
        picture: None,
        suites: None,
        followed: None,
    };
    let print = |format| formats::render(&result, format, output.details);
    for (name, format) in [("bisect.md", Format::Markdown), ("bisect.json", Format::Json)] {
        let cure = "make room, and make it again with `lsp-soak bisect --resume`";
        files::write(&out.join(name), &print(format)?, cure)?;
    }
    exports::print(output.targets, print)?;
    Ok(exit.code())
}

/// Ends at a ctrl-c while no campaign heeds it, with everything that is being installed or built.
fn ended_between_runs() -> ! {
    proctree::host::hang_up();
    super::say("interrupted: `lsp-soak bisect --resume DIR` goes on, where DIR was named as the directory of records");
    std::process::exit(Exit::Interrupted.code().into())
}
