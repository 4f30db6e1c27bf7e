//! One run of one server through one scenario, prepared, played and recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::allocator::knobs::Checked;
use crate::config::{Isolation, Loaded, Project};
use crate::drive::Job;
use crate::drive::documents::OpenDocuments;
use crate::drive::workspace::{self, Selection, Workspace, WorkspaceError, tree};
use crate::lsp::process::Launch;
use crate::record::{Event, Header, Warning, WarningKind};
use crate::resolve::{Program, ServerChoice, detector, preload, shim};
use crate::soak::{self, Interrupt};
use crate::text::quoted;
use crate::{findings, sample};

use super::header::{self, Run};
use super::launch::launch;
use super::scratch::Scratch;
use super::{before, build};

/// How long a preparation that was called off may take to remove what it made, such as most of a large copy. The next run
/// removes the rest.
const TIDYING: Duration = Duration::from_secs(10);

/// How long the same may take when the run was to end at once.
const HURRIED: Duration = Duration::from_secs(1);

pub enum Outcome {
    /// It was played, and its record is whole.
    Played,
    /// Something of our own failed; what was seen until then is in the record.
    Failed(anyhow::Error),
    /// It was interrupted before the server was started. There is no record.
    CalledOff,
}

/// The workspace and the place for the server's caches.
struct PreparedWorkspace {
    workspace: Workspace,
    caches: PathBuf,
    /// Holds the caches of a workspace that has no place of its own.
    _scratch: Option<Scratch>,
    /// Where the preloaded library says what it does.
    reports: Option<Scratch>,
}

struct Prepared {
    ground: PreparedWorkspace,
    job: Job,
    documents: OpenDocuments,
    header: Header,
    /// Holds the pipe of a tracer.
    scratch: Option<Scratch>,
}

impl Run {
    /// Prepares the run, plays it and writes its record to `path`, which must not exist.
    pub async fn record(self, path: &Path, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
        let _running = interrupt.running();
        let run = Arc::new(self);
        let prepared = tokio::select! {
            biased;
            prepared = run.prepare(interrupt) => prepared?,
            () = given_up(interrupt) => {
                crate::host::hang_up();
                None
            }
        };
        let Some(prepared) = prepared.filter(|_| !interrupt.is_pressed(1)) else {
            return Ok(Outcome::CalledOff);
        };
        let Prepared {
            ground,
            job,
            documents,
            header,
            scratch,
        } = prepared;
        if let Some(before) = &run.before {
            before::unchanged(before, &header, &run.choice)?;
        }
        let sampling = sample::Options {
            interval: run.measuring.interval.0,
            peak_reset: !run.measuring.no_peak_reset,
            libraries: run.choice.libraries.clone(),
            variables: detector::given(&job.launch.env, &header.server),
            ..sample::Options::default()
        };
        // Of a traced run no memory and no time is used.
        if run.tracer.is_none() {
            run.progress.strained(&findings::beforehand(&header.host));
        }
        run.progress.command(&words(&job.launch));
        let result = soak::soak(&job, documents, header, path, sampling, interrupt, run.progress.clone()).await;
        drop(scratch);
        let closed = tokio::select! {
            biased;
            closed = aside(move || Ok(ground.workspace.close()?)) => closed,
            () = hurried(interrupt) => Ok(()),
        };
        if let Err(error) = closed {
            // What its server left there, or still writes there, is no failure of the run.
            run.progress.on(&Event::Warning(Warning {
                kind: WarningKind::Host,
                text: format!("the copy of the workspace is left to the next run to remove: {error}"),
            }));
        }
        Ok(match result {
            Ok(()) => Outcome::Played,
            Err(error) => Outcome::Failed(error.into()),
        })
    }

    /// Everything that comes before the server. It takes seconds to minutes, so it leaves this thread free to see that
    /// it is called off, which gives `None`.
    async fn prepare(self: &Arc<Run>, interrupt: &Interrupt) -> anyhow::Result<Option<Prepared>> {
        let (run, pressed) = (Arc::clone(self), interrupt.clone());
        let Some(ground) = aside(move || run.ground(&pressed)).await? else {
            return Ok(None);
        };
        let program = match &self.choice.program {
            Program::File(path) => path.clone(),
            Program::Build(command) => {
                let _hidden = self.progress.hide();
                tokio::select! {
                    biased;
                    () = interrupt.pressed(1) => return discard(ground).await,
                    built = build::build(&self.choice.label, command, self.choice.profile.build_time, self.progress.is_silent()) => built?,
                }
            }
        };
        let library = match &self.choice.shim {
            None => None,
            Some(shim) => {
                let _hidden = self.progress.hide();
                tokio::select! {
                    biased;
                    () = interrupt.pressed(1) => return discard(ground).await,
                    file = build::library(shim, self.progress.is_silent()) => Some(file?),
                }
            }
        };
        if interrupt.is_pressed(1) {
            return discard(ground).await;
        }
        let (run, interrupt) = (Arc::clone(self), interrupt.clone());
        aside(move || run.resolve(ground, program, library, &interrupt)).await
    }

    /// Makes the workspace, unless it is interrupted. Caches go beside it, where they are removed with it.
    fn ground(&self, interrupt: &Interrupt) -> anyhow::Result<Option<PreparedWorkspace>> {
        let project = &self.loaded.project;
        let stop = || interrupt.is_pressed(1);
        let workspace = match Workspace::open(&project.root, project.isolation, &workspace::default_scratch(), &stop) {
            Err(WorkspaceError::Stopped) => return Ok(None),
            opened => opened?,
        };
        let (caches, scratch) = if project.isolation != Isolation::InPlace {
            (workspace.root().with_file_name("cache"), None)
        } else if self.choice.profile.cache_env.is_empty()
            && !self.choice.args.iter().any(|arg| arg.contains("${cache}"))
        {
            (PathBuf::new(), None)
        } else {
            let scratch = Scratch::claim("cache")?;
            (scratch.path().to_owned(), Some(scratch))
        };
        Ok(Some(PreparedWorkspace {
            workspace,
            caches,
            _scratch: scratch,
            reports: None,
        }))
    }

    /// Looks into the workspace and at the program.
    fn resolve(
        &self,
        mut ground: PreparedWorkspace,
        program: PathBuf,
        library: Option<PathBuf>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<Prepared>> {
        let Run { loaded, choice, .. } = self;
        ground.reports = library.is_some().then(|| Scratch::claim("shim")).transpose()?;
        let root = ground.workspace.root();
        let stop = || interrupt.is_pressed(1);
        // Before the server is asked for its version there: it may leave files.
        let (selection, tree) = (selection(loaded, root, &stop), tree::facts(root, &stop));
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        let selection = selection?;
        let checked = self.checked(&program, &stop)?;
        let (mut launch, scrubbed) = launch(choice, program, root, &ground.caches)?;
        let found = detector::detection_in(root, &launch.env, choice, &launch.program, &stop);
        detector::confirm(&mut launch.env, &checked);
        let scratch = self.tracer.as_ref().map(|_| Scratch::claim("trace")).transpose()?;
        let trace = scratch.as_ref().map(|scratch| scratch.path().join("calls"));
        if let (Some(tracer), Some(pipe)) = (&self.tracer, &trace) {
            launch.before = tracer.words(pipe);
        }
        let reports = ground.reports.as_ref().map(Scratch::path);
        let library = library.zip(reports).map(|(path, reports)| shim::library(path, reports));
        let mut job = Job {
            scenario: loaded.scenario.clone(),
            choice: choice.clone(),
            decay: detector::decay(choice, &found.facts, &checked),
            native: if found.is_launcher {
                PathBuf::new()
            } else {
                found.file.clone()
            },
            launch,
            library,
            no_library: shim::missing(&loaded.scenario, &found),
            root: root.to_owned(),
            selection,
            capabilities: capabilities(loaded, choice),
            seed: loaded.scenario.seed(),
            allow_unsupported: self.measuring.allow_unsupported,
            probe: self.probe,
            trace,
        };
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        let documents = OpenDocuments::new(&job, &stop);
        let header = header::header(self, &job, tree, scrubbed, &found, checked, &stop);
        // Not before: what the library is told differs from run to run, and is nothing that the server is told.
        if let Some(library) = &job.library {
            shim::preload(&mut job.launch.env, library)?;
        }
        // Nor this, which sets no memory: runs with and without it are runs of one server.
        preload::ask(&mut job.launch.env, choice, &found, &stop);
        let prepared = Prepared {
            ground,
            job,
            documents,
            header,
            scratch,
        };
        // One that is not wanted any more is removed here, not on the thread that listens.
        Ok(Some(prepared).filter(|_| !interrupt.is_pressed(1)))
    }

    /// The settings of the allocator, and what is preloaded as one of them, as far as the program is seen to take them.
    fn checked(&self, program: &Path, stop: &dyn Fn() -> bool) -> anyhow::Result<Checked> {
        let choice = &self.choice;
        let label = |words: String| anyhow!("`{}`: {words}", choice.label);
        if let Some(missing) = detector::missing(choice, program, stop) {
            return Err(label(missing));
        }
        let mut checked = detector::knobs(choice, program, stop).map_err(|errors| {
            let words = errors.iter().map(ToString::to_string);
            label(words.collect::<Vec<String>>().join("; "))
        })?;
        let preloaded = preload::verified(choice, program, stop).map_err(|error| label(error.to_string()))?;
        checked.knobs.extend(preloaded.map(|seen| preload::knob(choice, seen)));
        Ok(checked)
    }
}

/// The files of the project that are opened.
fn selection(loaded: &Loaded, root: &Path, stop: &dyn Fn() -> bool) -> anyhow::Result<Selection> {
    let workspace = loaded.scenario.workspace.as_ref();
    let exclude = workspace.map_or(&[][..], |workspace| &workspace.exclude);
    let pattern = loaded
        .project
        .pattern
        .parse()
        .context("the pattern was checked when the scenario was read")?;
    let Project {
        language, largest_file, ..
    } = &loaded.project;
    Ok(workspace::select(
        root, &pattern, exclude, language, largest_file.0, stop,
    )?)
}

/// The editor that is imitated: the scenario's choice, the server profile's, or the default.
pub fn capabilities(loaded: &Loaded, choice: &ServerChoice) -> String {
    let given = loaded
        .scenario
        .capabilities
        .clone()
        .or_else(|| choice.profile.capabilities.clone());
    given.unwrap_or_else(|| "default".to_owned())
}

/// A program as it is started, to be typed again.
fn words(launch: &Launch) -> String {
    let set = launch.env.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some(format!("{}={}", name.display(), quoted(&value.to_string_lossy())))
    });
    let program = quoted(&launch.program.to_string_lossy());
    let args = launch.args.iter().map(|arg| quoted(&arg.to_string_lossy()));
    let words: Vec<String> = set.chain([program]).chain(args).collect();
    format!("{} in {}", words.join(" "), launch.cwd.display())
}

/// Removes what was made for a run that was called off.
async fn discard(ground: PreparedWorkspace) -> anyhow::Result<Option<Prepared>> {
    aside(move || {
        drop(ground);
        Ok(None)
    })
    .await
}

/// Does slow work on a thread of its own.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> anyhow::Result<T> + Send + 'static) -> anyhow::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("the run could not be prepared")?
}

/// Waits until nobody waits for a preparation any more: a while after the first interrupt, at once after the second.
async fn given_up(interrupt: &Interrupt) {
    interrupt.pressed(1).await;
    tokio::select! {
        () = interrupt.pressed(2) => {}
        () = tokio::time::sleep(TIDYING) => {}
    }
}

/// Waits until a person has asked twice to stop, and a moment more: the next run removes what is left.
async fn hurried(interrupt: &Interrupt) {
    interrupt.pressed(2).await;
    tokio::time::sleep(HURRIED).await;
}
