//! `lsp-soak servers`: which profiles there are, which of them are installed, where, which version, on which allocator.

use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};

use crate::cli;
use crate::config::{Preload, Profile, Program, ServerChoice, Setting, installed};
use crate::host;
use crate::lsp::process::Launch;
use crate::units::UNKNOWN;

use super::{detector, prepare, print};

/// Runs the command.
pub fn run(options: &cli::Servers) -> anyhow::Result<u8> {
    let catalogue = prepare::catalogue(options.file.as_deref(), None)?;
    let which = prepare::which(None);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["server", "languages", "version", "allocator", "program"]);
    for (name, profile) in catalogue.iter() {
        let unknown = || UNKNOWN.to_owned();
        let (version, allocator, program) = match installed(name, profile, &which) {
            Some(Program::File(program)) => {
                let version = version_of(profile, &program, &|| false);
                let found = detector::detection(&chosen(name, profile, &program), &program, &|| false);
                (version, found.facts.to_string(), program.display().to_string())
            }
            Some(Program::Build(_)) => (None, unknown(), "built on demand".to_owned()),
            None => (None, unknown(), "not installed".to_owned()),
        };
        let version = version.unwrap_or_else(unknown);
        table.add_row([
            name.to_owned(),
            profile.languages.join(", "),
            version,
            allocator,
            program,
        ]);
    }
    print(&format!("{}\n", table.trim_fmt()))?;
    Ok(0)
}

/// The server as a run would choose it.
fn chosen(name: &str, profile: &Profile, program: &Path) -> ServerChoice {
    ServerChoice {
        label: name.to_owned(),
        typed: name.to_owned(),
        profile_name: Some(name.to_owned()),
        profile: profile.clone(),
        program: Program::File(program.to_owned()),
        args: profile.args.clone(),
        env: profile.env.clone(),
        preload: Preload::System,
        libraries: Vec::new(),
        lens: Setting::default(),
        found: None,
        cpus: Vec::new(),
        cell: None,
        shim: None,
    }
}

/// What the server that a run starts prints as its version; `None` when it is to `stop` before that.
pub fn version(choice: &ServerChoice, launch: &Launch, stop: &dyn Fn() -> bool) -> Option<String> {
    version_of(&choice.profile, &launch.program, stop)
}

/// Asks the program, or the one beside it that knows.
fn version_of(profile: &Profile, program: &Path, stop: &dyn Fn() -> bool) -> Option<String> {
    let teller = match &profile.version_program {
        Some(name) => program.with_file_name(name),
        None => program.to_owned(),
    };
    host::version_of(&teller, &profile.version_args(), profile.env.clone(), stop)
}
