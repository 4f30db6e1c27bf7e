//! One run of one server through one scenario, prepared, played and recorded.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use crate::cli::Measuring;
use crate::config::{Loaded, ServerChoice};
use crate::drive::Job;
use crate::drive::workspace::{self, Workspace};
use crate::host;
use crate::progress::Progress;
use crate::record::{self, Header, ScenarioFacts, ServerFacts, Settings, WorkspaceFacts};
use crate::sample;
use crate::soak::{self, Interrupt};

use super::{prepare, servers};

/// What is to be run.
pub struct Run<'a> {
    /// The scenario and its project.
    pub loaded: &'a Loaded,
    /// The server.
    pub choice: &'a ServerChoice,
    /// Its number in the plan, from 1.
    pub number: u32,
    /// How it is measured.
    pub measuring: &'a Measuring,
    /// Only start the server and see what it offers.
    pub probe: bool,
    /// No progress.
    pub quiet: bool,
}

impl Run<'_> {
    /// Prepares the run, plays it and writes its record to `path`, which must not exist.
    pub async fn record(&self, path: &Path, interrupt: &Interrupt) -> anyhow::Result<()> {
        let Run { loaded, choice, .. } = *self;
        let project = &loaded.project;
        let scratch = workspace::default_scratch();
        let workspace = Workspace::open(&project.root, project.isolation, &scratch)?;
        let caches = scratch.join(format!("lsp-soak-cache-{}", std::process::id()));
        let (launch, scrubbed) = prepare::launch(choice, workspace.root(), &caches, self.quiet)?;
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
            allow_unsupported: self.measuring.allow_unsupported,
            interval: self.measuring.interval.0,
            probe: self.probe,
        };
        let header = self.header(&job, scrubbed);
        let sampling = sample::Options {
            interval: self.measuring.interval.0,
            peak_reset: !self.measuring.no_peak_reset,
            ..sample::Options::default()
        };
        let progress = Arc::new(Progress::new(&choice.label, self.quiet));
        let result = soak::soak(&job, &header, path, sampling, interrupt, Arc::clone(&progress)).await;
        progress.finish();
        // A cache that cannot be removed is in the directory for temporary files, where the system removes it.
        let _ = fs::remove_dir_all(&caches);
        workspace.close()?;
        Ok(result?)
    }

    /// Everything that must be known to trust and to compare the record.
    fn header(&self, job: &Job, scrubbed: Vec<String>) -> Header {
        let Run { loaded, choice, .. } = *self;
        let project = &loaded.project;
        let text = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
        Header {
            format: record::FORMAT,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            run: self.number,
            host: host::fingerprint(),
            server: ServerFacts {
                label: choice.label.clone(),
                profile: choice.profile_name.clone(),
                program: job.launch.program.display().to_string(),
                sha256: host::file_sha256(&job.launch.program).ok(),
                version: servers::version(choice, &job.launch),
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
                interval: record::nanos(self.measuring.interval.0),
                peak_reset: !self.measuring.no_peak_reset,
                capabilities: job.capabilities.clone(),
                init_options: text(&choice.profile.init_options),
                settings: text(&choice.profile.settings),
                command_line: std::env::args().collect(),
            },
        }
    }
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
