//! One run of one server through one scenario: prepared, played and recorded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::config::recorded::Recorded;
use crate::config::{Isolation, Loaded, Project};
use crate::drive::Job;
use crate::drive::documents::OpenDocuments;
use crate::drive::repository;
use crate::drive::workspace::{self, Selection, Workspace, WorkspaceError, tree};
use crate::resolve::{Env, Program, ServerChoice, detector, preload, shim, tail};
use crate::soak::{self, Interrupt};
use allocator::Inspected;
use analysis::findings;
use base::Cancel;
use base::text::quoted;
use proctree::host;
use proctree::process::Launch;
use record::{Event, Header, TreeFacts, Warning, WarningKind};

use super::header::{self, RunSetup};
use super::launch::launch;
use super::scratch::Scratch;
use super::{build, earlier_runs};

/// How long a cancelled preparation may take to remove its files, such as a large copy. The next run removes the
/// rest.
const TIDYING: Duration = Duration::from_secs(10);

/// The same after a second interrupt.
const HURRIED: Duration = Duration::from_secs(1);

/// What empties the page cache when it is written to.
pub const PAGE_CACHE: &str = "/proc/sys/vm/drop_caches";

/// The name of the capabilities that a recorded editor announced, which no profile has.
const RECORDED: &str = "recorded";

/// Sentences about the machine that were said, for the lifetime of lsp-soak.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

pub enum Outcome {
    /// The run was played, and its record is complete.
    Played,
    /// lsp-soak failed; the record ends early.
    Failed(anyhow::Error),
    /// The run was interrupted before the server started. It has no record.
    CalledOff,
}

struct PreparedWorkspace {
    workspace: Workspace,
    caches: PathBuf,
    /// Holds the caches of a workspace that is used in place.
    _scratch: Option<Scratch>,
    /// Where the preloaded library writes its reports.
    reports: Option<Scratch>,
}

struct Prepared {
    prepared_workspace: PreparedWorkspace,
    job: Job,
    documents: OpenDocuments,
    header: Header,
    /// Holds the tracer's pipe.
    scratch: Option<Scratch>,
}

/// The file of the program itself; empty for one that only starts it.
fn native_program(inspected: &Inspected) -> PathBuf {
    if inspected.is_launcher {
        return PathBuf::new();
    }
    inspected.file.clone()
}

impl RunSetup {
    /// Prepares the run, plays it and writes its record to `path`, which must not exist.
    pub async fn record(self, path: &Path, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
        let _running = interrupt.running();
        let run = Arc::new(self);
        let prepared = tokio::select! {
            biased;
            prepared = run.prepare(interrupt) => prepared?,
            () = cancelled(interrupt) => {
                host::hang_up();
                None
            }
        };
        let prepared = match prepared {
            Some(prepared) if !interrupt.is_pressed(1) => prepared,
            _ => return Ok(Outcome::CalledOff),
        };
        let Prepared {
            prepared_workspace,
            job,
            documents,
            mut header,
            scratch,
        } = prepared;
        header.settings.memory_limit = run.memory_limit(&header);
        if let Some(before) = &run.before {
            earlier_runs::require_unchanged(before, &header, &run.choice)?;
        }
        let sampling = run.sampling_options(&job, &header);
        // A traced run's memory and times are not used.
        if run.tracer.is_none() {
            run.progress.warn_of_strains(&findings::beforehand(&header.host));
        }
        run.progress.command(&words(&job.launch));
        let plan = job.choice.command.as_ref();
        let made_ready = around(
            plan.and_then(|plan| plan.prepare.as_deref()),
            &job,
            interrupt.first_press(),
        )
        .await;
        if interrupt.is_pressed(1) {
            return Ok(Outcome::CalledOff);
        }
        made_ready?;
        if plan.is_some_and(|plan| plan.drop_caches) {
            blocking(drop_caches).await?;
        }
        let result = soak::soak(&job, documents, header, path, sampling, interrupt, run.progress.clone()).await;
        around(
            plan.and_then(|plan| plan.conclude.as_deref()),
            &job,
            interrupt.second_press(),
        )
        .await?;
        drop(scratch);
        run.close(prepared_workspace, interrupt).await;
        Ok(match result {
            Ok(()) => Outcome::Played,
            Err(error) => Outcome::Failed(error.into()),
        })
    }

    fn sampling_options(&self, job: &Job, header: &Header) -> proctree::Options {
        proctree::Options {
            interval: self.measuring.interval,
            peak_reset: self.measuring.resets_peaks,
            memory_limit: header.settings.memory_limit,
            libraries: self.choice.libraries.clone(),
            variables: detector::settings_at_start(&job.launch.env, &header.server),
            ..proctree::Options::default()
        }
    }

    /// The private memory above which the run is ended: what was asked for, else what the machine has left for it.
    fn memory_limit(&self, header: &Header) -> Option<u64> {
        let asked = self.measuring.memory_limit;
        asked.or_else(|| host::memory_left(&header.host.memory, header.plan.jobs.unwrap_or(1)))
    }

    /// Removes the copy of the workspace, or keeps it for the next run.
    async fn close(&self, prepared_workspace: PreparedWorkspace, interrupt: &Interrupt) {
        let kept = if interrupt.is_pressed(1) {
            None
        } else {
            Some(self.copy.clone())
        };
        let close = move |workspace: Workspace| match kept {
            Some(kept) => kept.close(workspace),
            None => workspace.close(),
        };
        let closed = tokio::select! {
            biased;
            closed = blocking(move || Ok(close(prepared_workspace.workspace)?)) => closed,
            () = hurried(interrupt) => Ok(()),
        };
        if let Err(error) = closed {
            // Files that the server leaves, or still writes, are not an error of the run.
            self.say_once(format!("the copy of the workspace stays: {error}"));
        }
    }

    /// Says a sentence about the machine, unless a run of this process said it.
    fn say_once(&self, text: String) {
        let is_new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone());
        if is_new {
            self.progress.show_event(&Event::Warning(Warning {
                kind: WarningKind::Host,
                text,
            }));
        }
    }

    /// Prepares the run before the server starts; `None` if interrupted. Takes seconds to minutes, so it runs on
    /// other threads.
    async fn prepare(self: &Arc<RunSetup>, interrupt: &Interrupt) -> anyhow::Result<Option<Prepared>> {
        let (run, pressed) = (Arc::clone(self), interrupt.clone());
        let Some(prepared_workspace) = blocking(move || run.prepared_workspace(&pressed)).await? else {
            return Ok(None);
        };
        let program = match &self.choice.program {
            Program::File(path) => path.clone(),
            Program::Build(command) => {
                let _hidden = self.progress.hide();
                tokio::select! {
                    biased;
                    () = interrupt.pressed(1) => return discard(prepared_workspace).await,
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
                    () = interrupt.pressed(1) => return discard(prepared_workspace).await,
                    file = build::library(shim, self.progress.is_silent()) => file?,
                }
            }
        };
        if interrupt.is_pressed(1) {
            return discard(prepared_workspace).await;
        }
        let (run, interrupt) = (Arc::clone(self), interrupt.clone());
        blocking(move || run.resolve(prepared_workspace, program, library, &interrupt)).await
    }

    /// Creates the workspace, and the caches beside it, which are removed with it; `None` if interrupted.
    fn prepared_workspace(&self, interrupt: &Interrupt) -> anyhow::Result<Option<PreparedWorkspace>> {
        let project = &self.loaded.project;
        let cancel = interrupt.first_press();
        let scratch = workspace::default_scratch();
        let workspace = match self.copy.open(&project.root, project.isolation, &scratch, cancel) {
            Err(WorkspaceError::Stopped) => return Ok(None),
            opened => opened?,
        };
        if self.loaded.scenario.checks_out_commits() && repository::problem(&project.root).is_none() {
            workspace.copy_history(cancel)?;
        }
        for leftover in workspace.leftovers() {
            self.say_once(format!("the copy of the workspace stays: {leftover}"));
        }
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

    /// Inspects the workspace and the program; `None` if interrupted.
    fn resolve(
        &self,
        mut prepared_workspace: PreparedWorkspace,
        program: PathBuf,
        library: Option<PathBuf>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<Prepared>> {
        let RunSetup { loaded, choice, .. } = self;
        prepared_workspace.reports = self.reports()?;
        let root = prepared_workspace.workspace.root();
        let cancel = interrupt.first_press();
        let (selection, tree) = self.files(root, cancel);
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        let examined = detector::examine(choice, &program, Some(root), cancel);
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        let checked = examined.settings();
        let checked = checked.map_err(|words| anyhow!("`{}`: {}", choice.label, words.join("; ")))?;
        let (mut launch, scrubbed) = launch(choice, program, root, &prepared_workspace.caches)?;
        launch.cwd = loaded.start_directory(root);
        detector::confirm(&mut launch.env, &checked);
        let (scratch, trace) = self.traced(&mut launch)?;
        let (preloaded, report) = written_beside(choice, library, prepared_workspace.reports.as_ref());
        let mut job = Job {
            scenario: header::scenario_as_played(&loaded.scenario, choice),
            choice: choice.clone(),
            decay: examined.decay(choice),
            runtime_settings: detector::runtime_settings(choice),
            native: native_program(&examined.inspected),
            launch,
            library: preloaded,
            no_library: shim::missing(&loaded.scenario, &examined.inspected),
            root: root.to_owned(),
            folders: loaded.project.folders.clone(),
            selection: selection?,
            capabilities: capabilities(loaded, choice),
            seed: loaded.scenario.seed(),
            allow_unsupported: self.measuring.allows_unsupported,
            probe: self.probe,
            trace,
            report,
        };
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        let documents = OpenDocuments::new(&job, cancel);
        let header = header::header(self, &job, tree, scrubbed, &examined, checked, cancel);
        // After the header: the library's settings differ in every run and are not the server's.
        if let Some(library) = &job.library {
            shim::preload(&mut job.launch.env, library)?;
        }
        // Also after the header: this does not change memory, so runs with and without it are comparable. Of a command it
        // would change the time.
        if choice.command.is_none() {
            preload::ask(&mut job.launch.env, &examined);
        }
        let prepared = Prepared {
            prepared_workspace,
            job,
            documents,
            header,
            scratch,
        };
        // A preparation that is no longer needed is removed on this thread, which does not listen for interrupts.
        if interrupt.is_pressed(1) {
            return Ok(None);
        }
        Ok(Some(prepared))
    }

    /// The files that may be opened, and the whole tree. A directory that a command runs in need not be a project.
    fn files(&self, root: &Path, cancel: &Cancel) -> (anyhow::Result<Selection>, Option<TreeFacts>) {
        match (&self.choice.command, self.loaded.project.isolation) {
            (Some(_), Isolation::InPlace) => (Ok(Selection::default()), None),
            (Some(_), _) => (Ok(Selection::default()), tree::facts(root, cancel)),
            (None, _) => (selection(&self.loaded, root, cancel), tree::facts(root, cancel)),
        }
    }

    /// Puts the tracer, if any, before the program; its pipe, in a directory that is removed with it.
    fn traced(&self, launch: &mut Launch) -> Result<(Option<Scratch>, Option<PathBuf>), WorkspaceError> {
        let Some(tracer) = &self.tracer else {
            return Ok((None, None));
        };
        let scratch = Scratch::claim("trace")?;
        let pipe = scratch.path().join("calls");
        launch.before = tracer.words(&pipe);
        Ok((Some(scratch), Some(pipe)))
    }

    /// A directory for what is written beside the record by the preloaded library, or by the parent of a command.
    fn reports(&self) -> Result<Option<Scratch>, WorkspaceError> {
        let is_needed = self.choice.shim.is_some() || self.choice.command.is_some();
        if is_needed {
            Scratch::claim("shim").map(Some)
        } else {
            Ok(None)
        }
    }
}

/// The library that a shim preloads, and the file of a command's parent, which write into `directory` while the run plays.
fn written_beside(
    choice: &ServerChoice,
    shim: Option<PathBuf>,
    directory: Option<&Scratch>,
) -> (Option<shim::Library>, Option<PathBuf>) {
    let Some(directory) = directory.map(Scratch::path) else {
        return (None, None);
    };
    let library = choice.shim.as_ref().map(|_| shim::library(shim, directory));
    let report = choice.command.as_ref().map(|_| directory.join("command"));
    (library, report)
}

/// The project files that the session may open.
fn selection(loaded: &Loaded, root: &Path, cancel: &Cancel) -> anyhow::Result<Selection> {
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
        root, &pattern, exclude, language, largest_file.0, cancel,
    )?)
}

/// The editor to imitate: that of a recorded session, the scenario's choice, the profile's, or the default.
pub fn capabilities(loaded: &Loaded, choice: &ServerChoice) -> String {
    if loaded.scenario.recorded().is_some_and(Recorded::is_exact) {
        return RECORDED.to_owned();
    }
    let chosen = loaded
        .scenario
        .capabilities
        .clone()
        .or_else(|| choice.profile.capabilities.clone());
    chosen.unwrap_or_else(|| "default".to_owned())
}

/// Runs a shell command around a measured command, in its directory and with its environment.
async fn around(script: Option<&str>, job: &Job, cancel: &Cancel) -> anyhow::Result<()> {
    let Some(script) = script.map(str::to_owned) else {
        return Ok(());
    };
    let (root, env, cancel) = (job.root.clone(), job.launch.env.clone(), cancel.clone());
    blocking(move || shell(&script, &root, &env, &cancel)).await
}

/// Empties the page cache, with the fresh copy of a project, which has to be written first.
fn drop_caches() -> anyhow::Result<()> {
    const ALL: &str = "3";
    let _failed = Command::new("sync").status();
    fs::write(PAGE_CACHE, ALL).context("cannot empty the page cache, run as root or leave --drop-caches out")
}

/// Runs a shell command, unless it is cancelled; an error with the end of its output if it fails.
pub fn shell(script: &str, directory: &Path, env: &Env, cancel: &Cancel) -> anyhow::Result<()> {
    const LONGEST: Duration = Duration::from_secs(24 * 3_600);
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory);
    for (name, value) in env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let heard = host::run_program(&mut command, LONGEST, cancel).context("cannot start `sh`")?;
    if heard.exit_status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let said = format!("{}\n{}", heard.said.stdout, heard.said.stderr);
    Err(anyhow!("`{script}` failed{}", tail(&said)))
}

/// The command line of the server, for the user to repeat.
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

async fn discard(prepared_workspace: PreparedWorkspace) -> anyhow::Result<Option<Prepared>> {
    blocking(move || {
        drop(prepared_workspace);
        Ok(None)
    })
    .await
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> anyhow::Result<T> + Send + 'static) -> anyhow::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.context("the run could not be prepared")?
}

/// Waits for the end of patience with a preparation: some time after the first interrupt, at once after the second.
async fn cancelled(interrupt: &Interrupt) {
    interrupt.pressed(1).await;
    tokio::select! {
        () = interrupt.pressed(2) => {}
        () = tokio::time::sleep(TIDYING) => {}
    }
}

/// Waits for the second interrupt and a moment more. The next run removes the rest.
async fn hurried(interrupt: &Interrupt) {
    interrupt.pressed(2).await;
    tokio::time::sleep(HURRIED).await;
}
