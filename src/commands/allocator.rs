//! `lsp-soak allocator`: which allocator a program has, how that is known, and whether it takes its settings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::campaign::build;
use crate::cli;
use crate::config::MistakeReport;
use crate::config::values::Format;
use crate::resolve::{ChoiceError, Common, Program, ServerChoice, ServerSpec, detector, preload, which};
use allocator::Inspected;
use allocator::knobs::Checked;
use base::Cancel;
use record::{AllocatorFacts, KnobFacts};
use report::document::terminal;
use report::run;

use super::{Mistakes, formats, prepare, print};

pub fn run(options: &cli::AllocatorOptions) -> anyhow::Result<u8> {
    let (shown, detection, knobs) = match (&options.program, options.pid) {
        (_, Some(pid)) => (format!("process {pid}"), live(pid)?.facts, Vec::new()),
        (Some(program), None) => of_program(program, options.file.as_deref())?,
        (None, None) => bail!("nothing is named; name a program, a server or a process"),
    };
    let text = match options.format {
        Format::Terminal => terminal::render(
            &run::allocator::document(&shown, &detection, &knobs),
            formats::look(true),
        ),
        _ => run::allocator::json(&shown, &detection, &knobs)?,
    };
    print(&text)?;
    Ok(0)
}

type Looked = (String, AllocatorFacts, Vec<KnobFacts>);

/// A proxy of rustup can be started, but starts nothing without its component.
fn is_proxy(error: &ChoiceError) -> bool {
    matches!(error, ChoiceError::Component { .. })
}

/// `file` has more profiles.
fn of_program(program: &str, file: Option<&Path>) -> anyhow::Result<Looked> {
    let catalogue = prepare::catalogue(file, None)?;
    let mut mistakes = MistakeReport::default();
    let specs = prepare::install_versions(vec![program.parse()?], &catalogue, &mut mistakes);
    prepare::refuse_mistakes(mistakes)?;
    let spec: ServerSpec = specs.into_iter().next().context("one server was named")?;
    let path = Path::new(&spec.target);
    let which = which(None);
    // A library cannot be started, but it can be looked into.
    let mut choice = match crate::resolve::choose(std::slice::from_ref(&spec), &Common::default(), &catalogue, &which) {
        Ok(choices) => choices.into_iter().next().context("one server was named")?,
        Err(errors) if path.is_file() && !errors.iter().any(is_proxy) => {
            let inspected = allocator::detect_in_file(path, &Cancel::default());
            return Ok((spec.target.clone(), inspected.facts, Vec::new()));
        }
        Err(errors) => {
            let words: Vec<String> = errors.iter().map(|error| format!("error: {error}")).collect();
            return Err(Mistakes(words.join("\n")).into());
        }
    };
    preload::find(&mut choice).map_err(error_text)?;
    let program = built(&choice)?;
    let examined = detector::examine(&choice, &program, None, &Cancel::default());
    // A missing program has no settings and no preloads to check.
    let checked = if choice.env.is_empty() && choice.libraries.is_empty() {
        Checked::default()
    } else {
        examined.settings().map_err(|words| {
            let words: Vec<String> = words.iter().map(|words| format!("error: {words}")).collect();
            Mistakes(words.join("\n"))
        })?
    };
    let facts = detector::facts(&choice, &examined.inspected, &checked);
    Ok((program.display().to_string(), facts, checked.knobs))
}

fn error_text(words: String) -> Mistakes {
    Mistakes(format!("error: {words}"))
}

fn built(choice: &ServerChoice) -> anyhow::Result<PathBuf> {
    match &choice.program {
        Program::File(path) => Ok(path.clone()),
        Program::Build(command) => super::block_on(build::build(&choice.label, command, None, true)),
    }
}

/// Detection on a live process, from its program and mappings.
pub fn live(pid: u32) -> anyhow::Result<Inspected> {
    let cannot_look = format!("cannot look at process {pid}; name one of your own that lives, on Linux");
    let exe = fs::read_link(format!("/proc/{pid}/exe")).context(cannot_look.clone())?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).context(cannot_look)?;
    Ok(allocator::of_process(
        &exe,
        &proctree::mapped_files(&maps),
        &Cancel::default(),
    ))
}
