//! The result of a sweep, printed and stored beside the records.

use std::path::Path;

use anyhow::bail;

use crate::campaign::files;
use crate::commands::exports;
use crate::commands::formats::{self, Printable};
use crate::commands::{github, say};
use crate::config::values::Format;
use analysis::compare::Played;
use analysis::tune::{CellResult, KeepReason, Recommendation, Sweep};
use base::exit::Exit;
use report::sweep::ship::Form;

use super::plan::{TellPlan, unknown};

/// Prints the sweep, stores it `beside` its records, and returns the exit code.
pub fn report_sweep(
    telling: TellPlan,
    sweep: &Sweep,
    runs: &[Played],
    notes: &[String],
    beside: Option<&Path>,
) -> anyhow::Result<u8> {
    let exit = exit(sweep);
    let result = Printable {
        document: &|| report::sweep::document(sweep, runs, notes),
        json: &|| report::sweep::json::render(sweep, notes, exit.code()),
        picture: None,
        suites: None,
        followed: None,
    };
    let print = |format| formats::render(&result, format, telling.output.details);
    let files = [
        ("tune.md", Format::Markdown),
        ("tune.json", Format::Json),
        ("report.html", Format::Html),
    ];
    for (name, format) in files {
        if let Some(path) = beside.map(|directory| directory.join(name)) {
            let cure = "make room, and make it again with `lsp-soak tune --from`";
            files::write(&path, &print(format)?, cure)?;
            if format == Format::Html && !telling.output.is_quiet {
                say(&format!("report: {}", path.display()));
            }
        }
    }
    let mut targets = telling.output.targets;
    if !telling.forms.is_empty() {
        targets.remove(0);
        print_forms(&telling.forms, telling.cell.as_deref(), sweep)?;
    }
    exports::print(targets, print)?;
    github::report_to_workflow(&print(Format::Markdown)?, &[]);
    Ok(exit.code())
}

/// A sweep succeeds if the server works with its default: that a setting breaks it is a result.
fn exit(sweep: &Sweep) -> Exit {
    match sweep.choice {
        // Also if time ran out: the sweep is complete, with too few runs.
        Recommendation::Default(KeepReason::TooFew) => Exit::Inconclusive,
        Recommendation::Use(_) | Recommendation::Default(_) => Exit::Passed,
        Recommendation::None(_) => Exit::GateFailed,
        Recommendation::Unknown => Exit::ServerFailed,
    }
}

/// Prints only the wanted forms, ready to paste. Caveats go to stderr.
fn print_forms(forms: &[Form], label: Option<&str>, sweep: &Sweep) -> anyhow::Result<()> {
    let Some(cell) = wanted_cell(label, sweep)? else {
        say(&report::sweep::headline(sweep));
        return Ok(());
    };
    for text in report::sweep::reservations(sweep, cell) {
        say(&text);
    }
    let (mut text, mut refused) = (String::new(), Vec::new());
    for form in forms {
        match report::sweep::ship::text(*form, &sweep.server, &cell.sets) {
            Ok(form_text) if text.is_empty() => text = form_text,
            Ok(form_text) => text.push_str(&format!("\n{form_text}")),
            Err(why) => refused.push(format!("`--print {}` of `{}`: {why}", form.name(), cell.label)),
        }
    }
    crate::commands::print(&text)?;
    if refused.is_empty() {
        return Ok(());
    }
    bail!("{}", refused.join("\n"))
}

/// The cell that was asked for, or the one that is recommended; `None` where nothing is.
fn wanted_cell<'s>(label: Option<&str>, sweep: &'s Sweep) -> anyhow::Result<Option<&'s CellResult>> {
    let Some(label) = label else {
        return Ok(report::sweep::chosen_cell(sweep));
    };
    let asked = sweep.cells.iter().find(|cell| cell.label == label);
    let Some(asked) = asked else {
        let (title, cure) = unknown(label, sweep.cells.iter().map(|cell| cell.label.as_str()));
        bail!("{title}: {cure}");
    };
    Ok(Some(asked))
}
