//! The driver's stage in a real run: the journal and the sampler.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::drive::{Activity, Crash, Frame, Job, MemoryHolder, ReleaseResult, Stage};
use crate::progress::Progress;
use crate::resolve::Library;
use crate::trace::{self, Trace};
use allocator::preload::take_accounts;
use base::Cancel;
use proctree::child;
use proctree::{Done, Glance, Living, Sampler};
use record::{Clock, Ending, Event, Journal, Nanos, PhaseRef, ServerFacts, Survivor, Warning, WarningKind};

use super::holder::Holders;
use super::incidents::{Incidents, Noticing};
use super::java;
use super::library::Heard;
use super::survivors;

/// A running sampler, once there is a server, and the journal. Clones are the same stage.
#[derive(Clone)]
pub struct Live(Arc<Inner>);

struct Inner {
    journal: Journal,
    clock: Clock,
    options: proctree::Options,
    progress: Progress,
    sampler: Mutex<Option<Sampler>>,
    /// The preload, and its reports.
    library: Option<(Library, Heard)>,
    trace: Option<Trace>,
    /// Whether the preload reports its memory at the end; `None` without a preload.
    accounts: Option<bool>,
    holders: Holders,
    incidents: Incidents,
}

impl Live {
    /// A stage without a server; to be made before there is one.
    pub fn new(
        journal: Journal,
        clock: Clock,
        mut options: proctree::Options,
        progress: Progress,
        trace: Option<Trace>,
        library: Option<Library>,
        accounts: Option<bool>,
    ) -> Live {
        options.orphans_since = proctree::start_time_now();
        let sampler = Mutex::new(None);
        Live(Arc::new(Inner {
            journal,
            clock,
            options,
            progress,
            sampler,
            library: library.map(|library| (library, Heard::default())),
            trace,
            accounts,
            holders: Holders::default(),
            incidents: Incidents::new(),
        }))
    }

    /// Writes an event and shows it.
    pub fn write(&self, mut event: Event) {
        if let Event::Closed(close) = &mut event
            && let Some(is_asked) = self.0.accounts
        {
            let mut rest = close.stderr_tail.clone();
            close.held = Some(take_accounts(&mut rest));
            // What the user asked for stays.
            if is_asked {
                close.stderr_tail = rest;
            }
        }
        if let (Some(trace), Event::PhaseStarted(phase)) = (&self.0.trace, &event) {
            trace.begin(Some(phase.clone()));
        }
        self.0.incidents.note(&event);
        self.0.progress.show_event(&event);
        self.0.journal.write(event);
    }

    /// The ending of a run whose tree was killed for its memory; `None` if it was not.
    pub fn over_limit(&self, during: &str) -> Option<Ending> {
        self.0.incidents.over_limit(during)
    }

    /// Says that the server is shut down before its time.
    pub fn closing(&self) {
        self.0.progress.say_shutting_down();
    }

    /// Waits until the journal cannot be written any more.
    pub async fn unwritable(&self) {
        while !self.0.journal.failed() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// The cheap counters as they are now, however rare the samples.
    async fn glance(&self) -> Option<Glance> {
        let read = self.sampler().as_ref().map(Sampler::glance)?;
        read.await.ok()
    }

    /// Writes down in which processes the preloaded library has come to listen.
    fn hear(&self) {
        if let Some((library, heard)) = &self.0.library {
            let news = heard.new_listeners(library).into_iter();
            news.for_each(|one| self.write(Event::Listening(one)));
        }
    }

    /// Processes of the tree that are there now.
    fn alive(&self) -> Vec<Living> {
        self.sampler().as_ref().map_or_else(Vec::new, Sampler::living_processes)
    }

    /// Processes of the tree that have become our children since their own parents went.
    fn orphans(&self) -> Vec<Living> {
        let options = &self.0.options;
        let pids = child::orphans().into_iter();
        let own = pids
            .filter(|pid| !options.apart.contains(*pid))
            .filter_map(proctree::living);
        own.filter(|(_, started, _)| options.orphans_since.is_some_and(|since| *started >= since))
            .collect()
    }

    fn pids(&self) -> Vec<u32> {
        self.alive().into_iter().map(|(pid, ..)| pid).collect()
    }

    /// Writes down which programs held the memory, and their allocators.
    pub fn tell_holders(&self, job: &Job, server: &ServerFacts, cancel: &Cancel) {
        let found = self.0.holders.take_identified(job, server, cancel).into_iter();
        found.for_each(|holder| self.write(Event::Holder(holder)));
    }

    /// Ends sampling; the samples are in the journal.
    pub fn stop_sampling(&self) {
        if let Some(sampler) = self.sampler().take() {
            sampler.stop();
        }
    }

    /// Later calls belong to no phase: the server is being shut down.
    pub fn driven(&self) {
        self.0.trace.iter().for_each(|trace| trace.begin(None));
    }

    /// Ends tracing, if any, and writes the calls.
    pub fn stop_tracing(&self) {
        let Some(trace) = &self.0.trace else { return };
        let (calls, missing) = trace.finish();
        calls
            .into_iter()
            .for_each(|calls| self.write(Event::SystemCalls(calls)));
        if let Some(text) = missing {
            let kind = WarningKind::Counters;
            self.write(Event::Warning(Warning { kind, text }));
        }
    }

    /// Keeps the process that traces a new server out of its tree.
    fn set_tracer_apart(&self, pid: u32) -> io::Result<()> {
        if self.0.trace.is_some()
            && let Some(tracer) = trace::tracer_of(pid)?
        {
            self.0.options.apart.add(tracer);
        }
        Ok(())
    }

    fn sampler(&self) -> MutexGuard<'_, Option<Sampler>> {
        self.0.sampler.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Has the sampler do something and waits until it is done.
    async fn ask(&self, what: impl FnOnce(&Sampler) -> Done) {
        let asked = self.sampler().as_ref().map(what);
        if let Some(done) = asked {
            done.await;
        }
    }
}

impl Stage for Live {
    fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    fn record(&self, event: Event) {
        self.write(event);
    }

    fn spawned(&self, pid: u32) -> io::Result<()> {
        self.set_tracer_apart(pid)?;
        let mut sampler = self.sampler();
        match sampler.as_ref() {
            Some(sampler) => sampler.follow(pid),
            None => {
                let sink = Box::new(Noticing {
                    journal: self.0.journal.clone(),
                    incidents: self.0.incidents.clone(),
                });
                let started = Sampler::start(pid, self.0.options.clone(), self.0.clock, sink)?;
                let pulse = started.pulse();
                self.0
                    .progress
                    .follow(Arc::new(move || (pulse.private(), pulse.peak())));
                *sampler = Some(started);
            }
        }
        Ok(())
    }

    fn exclude_process(&self, pid: u32) {
        self.0.options.apart.add(pid);
    }

    fn crash(&self) -> Option<Crash> {
        self.0.incidents.crash()
    }

    fn is_over_limit(&self) -> bool {
        self.0.incidents.is_over_limit()
    }

    async fn activity(&self) -> Option<Activity> {
        let Glance { at, cpu, private, .. } = self.glance().await?;
        let used = cpu?;
        Some(Activity { at, used, private })
    }

    async fn private(&self) -> Option<u64> {
        self.glance().await?.private
    }

    async fn resident(&self) -> Option<u64> {
        self.glance().await?.resident
    }

    async fn leads(&self, program: &Path) -> Option<bool> {
        let holders = proctree::holders(self.pids());
        if !holders.is_empty() {
            let (own, all) = proctree::share(&holders, program);
            return Some(own >= all / 2);
        }
        let Glance { own, private, .. } = self.glance().await?;
        Some(own? >= private? / 2)
    }

    async fn holder(&self, own: &Path) -> Option<MemoryHolder> {
        self.0.holders.current(self.pids(), own).await
    }

    fn watched(&self, paths: &[PathBuf]) -> Vec<bool> {
        let watched = proctree::watched_inodes(self.pids());
        let mut answers = Vec::new();
        for path in paths {
            let inodes = [Some(path.as_path()), path.parent()].into_iter().flatten();
            answers.push(
                inodes
                    .filter_map(proctree::inode_at)
                    .any(|inode| watched.contains(&inode)),
            );
        }
        answers
    }

    async fn release_memory(&self, patience: Duration) -> ReleaseResult {
        self.hear();
        let Some((library, heard)) = &self.0.library else {
            return ReleaseResult::default();
        };
        heard.give_back(library, &self.pids(), patience).await
    }

    async fn collect(&self, patience: Duration) -> ReleaseResult {
        java::collect(self.pids(), patience).await
    }

    async fn quiet(&self, yes: bool) {
        self.ask(|sampler| sampler.set_quiet(yes)).await;
    }

    async fn exact(&self) {
        self.ask(Sampler::write_exact_counters).await;
    }

    async fn sample(&self) {
        self.ask(Sampler::sample).await;
    }

    async fn survivors(&self, patience: impl Future<Output = ()>) -> Vec<Survivor> {
        let cleared = survivors::clear(|| self.alive(), || self.orphans(), patience).await;
        if let Some(text) = cleared.warning() {
            let kind = WarningKind::Host;
            self.write(Event::Warning(Warning { kind, text }));
        }
        cleared.killed
    }

    async fn checkpoint(&self, frame: Frame) {
        self.hear();
        let phase = frame.phase.clone();
        let make = move |rounds, rollups, resources| Event::Checkpoint(frame.with_samples(rounds, rollups, resources));
        self.ask(|sampler| sampler.checkpoint(make)).await;
        // Of a traced run no memory is used.
        if self.0.trace.is_none() {
            self.0.holders.note_leader(self.pids());
        }
        self.0.progress.show_settled(&phase);
    }

    async fn peak(&self, phase: PhaseRef) {
        self.ask(|sampler| sampler.peak(phase)).await;
    }
}
