//! `lsp-soak run`: drives each server through each scenario, then reports what was recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::analyse::{self, Exit};
use crate::cli::{self, Format};
use crate::config::{Loaded, ServerChoice};
use crate::drive::Job;
use crate::drive::workspace::{self, Workspace};
use crate::host;
use crate::progress::Progress;
use crate::record::{self, Header, ScenarioFacts, ServerFacts, Settings, WorkspaceFacts};
use crate::sample;
use crate::soak::{self, Interrupt};

use super::{prepare, print, show};

/// Runs the command.
pub fn run(options: &cli::Run) -> anyhow::Result<u8> {
    let scenarios = prepare::scenarios(&options.scenarios, &options.scenario)?;
    let first = options.scenarios.first().map(PathBuf::as_path);
    let catalogue = prepare::catalogue(options.servers.extra.file.as_deref(), first)?;
    let choices = prepare::servers(&options.servers.servers, &options.servers.extra, &catalogue)?;
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let interrupt = Interrupt::listen().context("cannot listen for ctrl-c")?;
        let mut worst = Exit::Passed;
        for scenario in &scenarios {
            let out = directory(options, scenario)?;
            for (index, choice) in choices.iter().enumerate() {
                let path = out.join(format!("run-{:03}-{}.jsonl", index + 1, choice.label));
                one(options, scenario, choice, index as u32 + 1, &path, &interrupt).await?;
                let summary = show::summary(&path)?;
                print(&show::render(&[(path, summary.clone())], options.output.format)?)?;
                worst = worst.worse(analyse::exit(&summary));
                if interrupt.is_pressed(1) {
                    return Ok(worst.code());
                }
            }
            if options.output.format == Format::Terminal {
                print(&format!("records: {}\n", out.display()))?;
            }
        }
        Ok(worst.code())
    })
}

/// Makes the directory for the records of one scenario. It must be new: nothing is ever overwritten.
fn directory(options: &cli::Run, scenario: &Loaded) -> anyhow::Result<PathBuf> {
    let name = &scenario.scenario.name;
    let out = match (&options.out, options.scenarios.len()) {
        (Some(out), 1) => out.clone(),
        (Some(out), _) => out.join(name),
        (None, _) => {
            let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
            PathBuf::from("reports").join(format!("{now}-{name}"))
        }
    };
    if fs::read_dir(&out).is_ok_and(|mut entries| entries.next().is_some()) {
        anyhow::bail!(
            "`{}` is not empty, and records are never overwritten: name a new directory",
            out.display()
        );
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot create `{}`", out.display()))?;
    Ok(out)
}

/// Prepares, plays and records one run.
async fn one(
    options: &cli::Run,
    loaded: &Loaded,
    choice: &ServerChoice,
    number: u32,
    path: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let project = &loaded.project;
    let scratch = workspace::default_scratch();
    let workspace = Workspace::open(&project.root, project.isolation, &scratch)?;
    let caches = scratch.join(format!("lsp-soak-cache-{}", std::process::id()));
    let (launch, scrubbed) = prepare::launch(choice, workspace.root(), &caches, options.output.quiet)?;
    let exclude = loaded
        .scenario
        .workspace
        .as_ref()
        .map_or(&[][..], |workspace| &workspace.exclude);
    let pattern = project
        .pattern
        .parse()
        .context("the pattern was checked when the scenario was read")?;
    let selection = workspace::select(workspace.root(), &pattern, exclude, &project.language)?;
    let job = Job {
        scenario: loaded.scenario.clone(),
        choice: choice.clone(),
        launch,
        root: workspace.root().to_owned(),
        selection,
        capabilities: capabilities(loaded, choice),
        seed: loaded.scenario.seed(),
        allow_unsupported: options.measuring.allow_unsupported,
        interval: options.measuring.interval.0,
    };
    let header = header(options, loaded, &job, number, scrubbed);
    let sampling = sample::Options {
        interval: options.measuring.interval.0,
        peak_reset: !options.measuring.no_peak_reset,
        ..sample::Options::default()
    };
    let progress = Arc::new(Progress::new(&choice.label, options.output.quiet));
    let result = soak::soak(&job, &header, path, sampling, interrupt, Arc::clone(&progress)).await;
    progress.finish();
    // A cache that cannot be removed is in the directory for temporary files, where the system removes it.
    let _ = fs::remove_dir_all(&caches);
    workspace.close()?;
    Ok(result?)
}

/// The editor that is imitated: the scenario's choice, the server profile's, or the default.
fn capabilities(loaded: &Loaded, choice: &ServerChoice) -> String {
    let given = loaded
        .scenario
        .capabilities
        .clone()
        .or_else(|| choice.profile.capabilities.clone());
    given.unwrap_or_else(|| "default".to_owned())
}

fn header(options: &cli::Run, loaded: &Loaded, job: &Job, number: u32, scrubbed: Vec<String>) -> Header {
    let project = &loaded.project;
    let choice = &job.choice;
    let text = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    Header {
        format: record::FORMAT,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        run: number,
        host: host::fingerprint(),
        server: ServerFacts {
            label: choice.label.clone(),
            profile: choice.profile_name.clone(),
            program: job.launch.program.display().to_string(),
            sha256: host::file_sha256(&job.launch.program).ok(),
            version: super::servers::version(choice, &job.launch),
            args: choice.args.clone(),
            env: choice.env.clone(),
            scrubbed,
            allocator: None,
        },
        scenario: ScenarioFacts {
            name: loaded.scenario.name.clone(),
            path: loaded.path.display().to_string(),
            sha256: loaded.sha256.clone(),
            text: loaded.text.clone(),
            seed: job.seed,
            phases: loaded.scenario.phases.iter().map(|phase| phase.name.clone()).collect(),
        },
        workspace: WorkspaceFacts {
            path: project.root.display().to_string(),
            isolation: project.isolation.name().to_owned(),
            language: project.language.clone(),
            files: job.selection.files.len() as u64,
            bytes: job.selection.bytes,
            sha256: job.selection.sha256.clone(),
        },
        settings: Settings {
            interval: record::nanos(options.measuring.interval.0),
            peak_reset: !options.measuring.no_peak_reset,
            capabilities: job.capabilities.clone(),
            init_options: text(&choice.profile.init_options),
            settings: text(&choice.profile.settings),
            command_line: std::env::args().collect(),
        },
    }
}
