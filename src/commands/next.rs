//! The command that follows an answer, as it can be pasted.

use std::path::Path;

use crate::campaign::invocation::Invocation;
use crate::cli::shared_options;
use crate::resolve::ServerChoice;
use base::lens::Lens;
use base::text::quoted;

/// Stands for a server that a message cannot know.
pub const NEW: &str = "NEW";

/// Options that a message sets by itself, or that change only what is printed.
const OWN: [&str; 8] = [
    "resume", "servers", "preload", "runs", "out", "quiet", "verbose", "details",
];

/// The options with which the records of `out` were made, for a calibration of the same servers; empty where they are not known.
pub fn calibration_options(out: &Path) -> String {
    options_for("calibrate", out, &["lens"])
}

/// The options with which the records of `out` were made, for a gate of the same servers.
fn gate_options(out: &Path) -> String {
    options_for(
        "gate",
        out,
        &["export_html", "export_json", "export_markdown", "format"],
    )
}

fn options_for(command: &str, out: &Path, without: &[&str]) -> String {
    match Invocation::read(out) {
        Ok(called) => shared_options(&called.command_line, command, &[&OWN[..], without].concat()),
        Err(_) => String::new(),
    }
}

/// The command that calibrates what a gate of these servers needs: the first one, and the second one if it is of another
/// profile, through the lenses of the gate.
pub fn calibration_of(choices: &[ServerChoice], scenario: &Path, out: &Path) -> Option<String> {
    let servers: Vec<TypedServer<'_>> = choices
        .iter()
        .map(|choice| TypedServer {
            text: choice.typed.clone(),
            profile: choice.profile_name.as_deref(),
        })
        .collect();
    calibration(&servers, choices.iter().map(|choice| choice.lens.lens), scenario, out)
}

/// A server as it was typed, but for its label.
pub struct TypedServer<'s> {
    pub text: String,
    pub profile: Option<&'s str>,
}

/// The calibration of servers whose records were made through these lenses.
pub fn calibration(
    servers: &[TypedServer<'_>],
    mut lenses: impl Iterator<Item = Lens>,
    scenario: &Path,
    out: &Path,
) -> Option<String> {
    let first = servers.first()?;
    let mut named = vec![first.text.as_str()];
    for server in servers {
        let is_version = server.profile.is_some() && server.profile == first.profile;
        if !is_version && !named.contains(&server.text.as_str()) {
            named.push(&server.text);
        }
    }
    let servers: String = named
        .iter()
        .map(|server| format!(" --server {}", quoted(server)))
        .collect();
    let first_lens = lenses.next()?;
    let is_one = lenses.all(|lens| lens == first_lens);
    let lens = if is_one { first_lens.name() } else { "both" };
    let scenario = quoted(&scenario.display().to_string());
    let options = calibration_options(out);
    Some(format!("lsp-soak calibrate {scenario}{servers} --lens {lens}{options}"))
}

/// The command that compares calibrated servers, which were measured through these lenses.
pub fn gate_of(choices: &[ServerChoice], scenario: &Path, out: &Path) -> Option<String> {
    let first = choices.first()?;
    let mut others = choices.iter().filter(|choice| choice.typed != first.typed);
    let candidate = others.next().map_or(NEW, |other| other.typed.as_str());
    Some(format!(
        "lsp-soak gate {} --baseline {} --candidate {}{}",
        quoted(&scenario.display().to_string()),
        quoted(&first.typed),
        quoted(candidate),
        gate_options(out)
    ))
}
