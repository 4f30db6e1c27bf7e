//! Checks the wanted output before any start: a sweep of an hour should not end in a typo.

use std::path::Path;

use clap::ValueEnum;

use crate::cli::{Telling, Tune};
use crate::config::Report;
use crate::config::options::Format;
use crate::config::options::ServerExtras;
use crate::config::tune::Preset;
use crate::resolve::{Program, ServerChoice, detector};
use analysis::tune::Server;
use base::text::nearest;
use record::CellFacts;
use report::sweep::ship::Form;
use report::sweep::ship::text;

/// Mistakes in options for every cell.
pub fn of_one_server(extra: &ServerExtras, mistakes: &mut Report) {
    if extra.preload.len() > 1 {
        let all: Vec<String> = extra.preload.iter().map(ToString::to_string).collect();
        let title = format!(
            "`--preload {}` names several, and a sweep has one server",
            all.join(",")
        );
        mistakes.add_loose(
            title,
            "try them as settings, with --preset preloads or a `preload` axis in a grid, or name one for all settings",
        );
    }
}

/// The least of a cost is best.
pub fn of_cost(options: &Tune, mistakes: &mut Report) {
    const RATES: [&str; 3] = ["per_second", "per_sec", "/s"];
    let rate = options
        .cost
        .iter()
        .find(|cost| RATES.iter().any(|end| cost.ends_with(end)));
    if let Some(rate) = rate {
        mistakes.add_loose(
            format!("`--cost {rate}` is a rate, of which more is better"),
            "name a time in nanoseconds that the command prints, such as nanoseconds_per_operation",
        );
    }
}

/// Runs that are played at once tell nothing of latency, by which the fastest is chosen.
pub fn of_memory(options: &Tune, is_shared: bool, mistakes: &mut Report) {
    if is_shared && options.choosing.max_private.is_some() {
        mistakes.add_loose(
            "`--max-private` chooses the fastest setting, and latencies of runs that are played at once decide nothing",
            "omit `--max-private`, or play the runs without `--jobs`",
        );
    }
}

/// Forms to paste are the whole output: beside a list or another format one of the two would be dropped silently.
pub fn of_one_kind(options: &Tune, mistakes: &mut Report) {
    let Some(form) = options.telling.print.first() else {
        return;
    };
    let print = format!("`--print {}`", form.name());
    if options.list {
        let title = format!("{print} cannot be used with `--list`: nothing is recommended before a run");
        mistakes.add_loose(title, "omit one of the two");
    }
    if options.telling.format != Format::Terminal {
        let format = options.telling.format.to_possible_value();
        let format = format.map_or_else(String::new, |value| format!(" {}", value.get_name()));
        let title = format!("{print} cannot be used with `--format{format}`: the text to paste has its own format");
        mistakes.add_loose(
            title,
            "omit one of the two, and take the other with --from from the records",
        );
    }
}

/// The cure for a sweep without settings. It names the preset for the server's allocator, if that is found without a build.
pub fn cure_without_settings(server: Option<ServerChoice>) -> String {
    let fitting = server.and_then(|mut server| {
        detector::look(std::slice::from_mut(&mut server));
        Preset::fitting(server.found?.family)
    });
    match fitting {
        Some(preset) => format!("write --preset {preset}, for the allocator that the server has, or --grid FILE"),
        None => {
            let all: Vec<&str> = Preset::value_variants().iter().map(|preset| preset.name()).collect();
            format!(
                "write --preset NAME or --grid FILE; there are the presets {}",
                all.join(", ")
            )
        }
    }
}

/// Checks the forms of `--print`. One that no setting has is a mistake; one that only some have is a note.
pub fn check_forms(telling: &Telling, server: &ServerChoice, choices: &[ServerChoice]) -> (Report, Vec<String>) {
    let (mut mistakes, mut notes) = (Report::default(), Vec::new());
    let server = described(server);
    let cells: Vec<(&str, &CellFacts)> = choices
        .iter()
        .filter_map(|choice| Some((choice.label.as_str(), choice.cell.as_ref()?)))
        .collect();
    let tried: Vec<(&str, &CellFacts)> = match &telling.cell {
        Some(label) => cells.iter().filter(|(own, _)| own == label).copied().collect(),
        None => cells.into_iter().filter(|(_, cell)| !cell.default).collect(),
    };
    if let (Some(label), []) = (&telling.cell, tried.as_slice()) {
        let (title, cure) = unknown(label, choices.iter().map(|choice| choice.label.as_str()));
        mistakes.add_loose(title, cure);
        return (mistakes, notes);
    }
    for form in &telling.print {
        let refused: Vec<(&str, String)> = tried
            .iter()
            .filter_map(|(label, cell)| Some((*label, text(*form, &server, cell).err()?)))
            .collect();
        let Some((label, why)) = refused.first() else { continue };
        if telling.cell.is_some() {
            mistakes.add_loose(format!("`--print {}` of `{label}`: {why}", form.name()), "");
        } else if refused.len() == tried.len() {
            mistakes.add_loose(none_at_all(*form, why), "");
        } else {
            let labels: Vec<&str> = refused.iter().map(|(label, _)| *label).collect();
            notes.push(format!(
                "`--print {}` is possible unless one of these is recommended: {}",
                form.name(),
                labels.join(", ")
            ));
        }
    }
    (mistakes, notes)
}

fn none_at_all(form: Form, why: &str) -> String {
    format!(
        "`--print {}` is possible for no setting of this sweep: {why}",
        form.name()
    )
}

/// The mistake that no setting has this label, and its cure.
pub fn unknown<'l>(label: &str, labels: impl Iterator<Item = &'l str> + Clone) -> (String, String) {
    let cure = match nearest(label, labels.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("give --cell one of {}", labels.collect::<Vec<&str>>().join(", ")),
    };
    (format!("no setting is called `{label}`"), cure)
}

/// The server as the records will tell of it, as far as forms need it.
fn described(choice: &ServerChoice) -> Server {
    let program = match &choice.program {
        Program::File(path) => path.file_name().map(Path::new),
        Program::Build(_) => None,
    };
    let program = program.map(|name| name.display().to_string()).unwrap_or_default();
    Server {
        name: choice.profile_name.clone().unwrap_or_else(|| program.clone()),
        version: None,
        program,
        // Which forms there are does not depend on it.
        path: None,
        is_command: choice.command.is_some(),
        args: choice.args.clone(),
        allocator: choice.found.clone(),
    }
}
