//! Plays a scenario: every step of every phase. Each phase ends in a settled checkpoint.

mod rounds;
mod settle;

use std::time::Duration;

use crate::config::step::{Restart, Start};
use crate::config::{Phase, Profile, ReadinessLimits, Repeat, Scenario, Step};
use base::units;
use record::{Ending, Event, PhaseRef, StepEnd, StepStart, Warning, WarningKind, WindowStart};

use super::ask::{Asker, Errors};
use super::documents::OpenDocuments;
use super::other_windows::OtherWindow;
use super::quiet::Observations;
use super::session::Session;
use super::tally::Tally;
use super::workspace::Selection;
use super::{Frame, Job, Stage, Stop, repository, shutdown, start_grace, steps};
use rounds::Rounds;

/// The last time that a server was given to register more capabilities: some do so once documents are open.
#[derive(Clone, Copy)]
enum WaitedToRegister {
    Never,
    WithoutDocuments,
    WithDocuments,
}

pub struct Player<'a, S: Stage> {
    job: &'a Job,
    stage: &'a S,
    /// The running server, if any.
    pub session: Option<Session>,
    /// The other windows of the editor.
    pub other_windows: Vec<OtherWindow>,
    documents: OpenDocuments,
    /// Number of times that each phase has begun.
    cycles: Vec<u32>,
    tally: Tally,
    restarts: u32,
    waited_to_register: WaitedToRegister,
    /// True if the server had time to load the project.
    loaded: bool,
    /// Observations of the server since anything was last sent.
    observed: Option<Observations>,
    /// The current phase and step, for messages.
    pub during: String,
}

impl<'a, S: Stage> Player<'a, S> {
    /// A player before the start: no server runs and `documents` is empty.
    pub fn new(job: &'a Job, stage: &'a S, documents: OpenDocuments) -> Player<'a, S> {
        Player {
            job,
            stage,
            session: None,
            other_windows: Vec::new(),
            documents,
            cycles: vec![0; job.scenario.phases.len()],
            tally: Tally::default(),
            restarts: 0,
            waited_to_register: WaitedToRegister::Never,
            loaded: false,
            observed: None,
            during: "the start".to_owned(),
        }
    }

    /// True if a server ever ran.
    pub fn began(&self) -> bool {
        self.session.is_some() || self.restarts > 0
    }

    /// Plays the scenario until its end or a fault.
    pub async fn play(&mut self) -> Result<(), Stop> {
        self.warn_of_excluded_files();
        if self.job.probe {
            let start = self.job.scenario.start();
            return self.probe(start.deadline.map(|span| span.0)).await;
        }
        let played = self.play_rounds().await;
        steps::take_back_touches(&mut self.documents).await;
        played?;
        match std::mem::take(&mut self.tally).verdict() {
            None => Ok(()),
            Some(ending) => Err(Stop::Ended(ending)),
        }
    }

    /// Plays the first phase, and the others as often as the scenario repeats them.
    async fn play_rounds(&mut self) -> Result<(), Stop> {
        let scenario = &self.job.scenario;
        let first = 1.min(scenario.phases.len());
        self.play_phases(0, first).await?;
        let mut rounds = Rounds::new(scenario.repeat);
        while rounds.next() {
            self.play_phases(first, scenario.phases.len()).await?;
        }
        Ok(())
    }

    /// Starts the server, opens one document (some register capabilities only then) and checks every step.
    async fn probe(&mut self, deadline: Option<Duration>) -> Result<(), Stop> {
        self.start(deadline).await?;
        let phases = &self.job.scenario.phases;
        let steps: Vec<&Step> = phases.iter().flat_map(|phase| &phase.steps).collect();
        let offers_all = steps.iter().all(|step| self.offers(step));
        if !offers_all && let Some(session) = &self.session {
            if let Some(file) = self.documents.first(1).first() {
                let asker = Asker::new(&session.client, self.stage, self.job.scenario.deadline().0);
                // Without a document, the capabilities known so far decide.
                if let Ok(document) = self.documents.open(*file, session.sync(), session.encoding()).await {
                    asker.open(document).await?;
                }
            }
            start_grace::wait(session, self.stage, &self.readiness(), || false).await?;
        }
        self.refuse(|player, step| !player.offers(step))?;
        self.record_skipped();
        let does_work = steps
            .into_iter()
            .any(|step| (step.ask().is_some() || step.changes()) && !self.skips(step));
        if does_work {
            return Ok(());
        }
        match Tally::unsupported(self.job.scenario.phases.iter()) {
            Some(ending) => Err(Stop::Ended(ending)),
            None => Ok(()),
        }
    }

    /// Warns of files that are excluded for their size.
    fn warn_of_excluded_files(&self) {
        let Selection {
            files,
            too_large,
            largest,
            ..
        } = &self.job.selection;
        if *too_large == 0 {
            return;
        }
        let count = units::count_of(*too_large, "file");
        let text = format!(
            "{count} matching `files` not opened, beside {} others: larger than {} (--largest-file)",
            files.len(),
            units::bytes(*largest)
        );
        self.stage.record(Event::Warning(Warning {
            kind: WarningKind::Scenario,
            text,
        }));
    }

    async fn play_phases(&mut self, from: usize, to: usize) -> Result<(), Stop> {
        let scenario: &Scenario = &self.job.scenario;
        for (index, phase) in scenario.phases.iter().enumerate().take(to).skip(from) {
            let mut rounds = Rounds::new(phase.repeat);
            while rounds.next() {
                self.play_phase(index, phase).await?;
            }
        }
        Ok(())
    }

    async fn play_phase(&mut self, index: usize, phase: &Phase) -> Result<(), Stop> {
        let cycle = self.cycles[index];
        self.cycles[index] += 1;
        let place = PhaseRef {
            phase: index as u32,
            cycle,
            name: phase.name.clone(),
        };
        self.stage.quiet(false).await;
        if let Some(session) = &self.session {
            session.client.hold_pulls(false);
        }
        self.stage.record(Event::PhaseStarted(place.clone()));
        for (number, step) in phase.steps.iter().enumerate() {
            self.play_step(&place, number as u32, step).await?;
        }
        self.stage.record(Event::PhaseDriven(place.clone()));
        self.during = format!("phase `{}`, settling", phase.name);
        let mut frame = self.settle(phase, place.clone()).await?;
        self.require_health().await?;
        if steps::releases_at_checkpoints(self.job) {
            // Memory released before this sample was released without force.
            self.stage.sample().await;
            self.stage.record(Event::ReleaseBegan(place.clone()));
            frame = self.purge(phase, frame).await?;
        }
        if !frame.settled {
            let text = format!("`{}` did not settle: {}", phase.name, frame.unsettled);
            self.stage.record(Event::Warning(Warning {
                kind: WarningKind::Unsettled,
                text,
            }));
        }
        self.stage.checkpoint(frame).await;
        self.stage.peak(place).await;
        Ok(())
    }

    /// Forces the release that the lens asks for. The library has released when it answers; a collector goes on after its
    /// answer, which is waited for.
    async fn purge(&mut self, phase: &Phase, frame: Frame) -> Result<Frame, Stop> {
        self.observed = None;
        let session = self.session.as_ref().ok_or(Stop::Gone)?;
        let patience = self.job.scenario.deadline().0;
        let mut released = tokio::select! {
            biased;
            released = steps::at_checkpoint(&session.client, self.stage, self.job, patience) => released?,
            stop = session.fault(self.stage, patience) => return Err(stop),
        };
        let is_released_by_library = self.job.choice.lens.forced;
        let frame = if is_released_by_library {
            frame
        } else {
            let again = self.settle(phase, frame.phase.clone()).await?;
            released.after = self.stage.private().await;
            Frame {
                settled: frame.settled && again.settled,
                unsettled: joined_reasons(frame.unsettled, again.unsettled),
                waited: frame.waited,
                phase: frame.phase,
                released: None,
            }
        };
        Ok(Frame {
            released: Some(released),
            ..frame
        })
    }

    /// Plays one step, also through a server fault, and records its result.
    async fn play_step(&mut self, phase: &PhaseRef, number: u32, step: &Step) -> Result<(), Stop> {
        let name = step.name();
        self.during = format!("phase `{}`, step `{name}`", phase.name);
        self.await_offer(step).await?;
        let mut end = self.begin(phase, number, step);
        let result = self.play_begun(step, &mut end).await;
        let result = match result {
            Ok((parked, errors)) => {
                self.tally.add(step, &end, parked, errors);
                Ok(())
            }
            Err(stop) => Err(stop),
        };
        self.stage.record(Event::StepEnded(Box::new(end)));
        result
    }

    /// Returns the requests that the server keeps open, and the errors that it answered.
    async fn play_begun(&mut self, step: &Step, end: &mut StepEnd) -> Result<(u64, Errors), Stop> {
        let mut asked = (0, Errors::default());
        if !end.skipped {
            match step {
                Step::Start(options) => self.start_windows(options).await?,
                Step::Restart(options) => self.restart(options).await?,
                step => asked = self.act(step, end).await?,
            }
        }
        self.await_project(step).await?;
        // A short step ends before the watch for faults has looked.
        self.require_health().await?;
        Ok(asked)
    }

    /// Ends the run if something already happened to the server that fails it.
    async fn require_health(&self) -> Result<(), Stop> {
        for window in &self.other_windows {
            if let Some(stop) = window.trouble(&self.during).await {
                return Err(stop);
            }
        }
        match self.session.as_ref().and_then(|session| session.trouble(self.stage)) {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    /// Begins a step: the record for its end, with zero counts.
    fn begin(&self, phase: &PhaseRef, number: u32, step: &Step) -> StepEnd {
        self.stage.record(Event::StepStarted(StepStart {
            phase: phase.clone(),
            step: number,
            name: step.name().to_owned(),
            method: step.raw().map(str::to_owned),
        }));
        StepEnd {
            phase: phase.clone(),
            step: number,
            name: step.name().to_owned(),
            requests: 0,
            hits: 0,
            notifications: 0,
            skipped: self.skips(step),
            cancelled: 0,
            parked: 0,
            files_written: 0,
            files_watched: None,
            pulls_open: 0,
            looked_for: None,
            idle: None,
            left_open: None,
            release: None,
            self_report: None,
        }
    }

    /// Records every step that would be skipped, for a probe.
    fn record_skipped(&self) {
        for (index, phase) in self.job.scenario.phases.iter().enumerate() {
            let place = PhaseRef {
                phase: index as u32,
                cycle: 0,
                name: phase.name.clone(),
            };
            let skipped: Vec<(usize, &Step)> = phase
                .steps
                .iter()
                .enumerate()
                .filter(|(_, step)| self.skips(step))
                .collect();
            if !skipped.is_empty() {
                self.stage.record(Event::PhaseStarted(place.clone()));
            }
            for (number, step) in skipped {
                let end = self.begin(&place, number as u32, step);
                self.stage.record(Event::StepEnded(Box::new(end)));
            }
        }
    }

    /// Executes a step. Returns how many long polls were open at its end, and the errors.
    async fn act(&mut self, step: &Step, end: &mut StepEnd) -> Result<(u64, Errors), Stop> {
        self.observed = None;
        let session = self.session.as_ref().ok_or(Stop::Gone)?;
        let ask = step.ask();
        let own_deadline = ask.and_then(|ask| ask.deadline);
        let deadline = own_deadline.unwrap_or_else(|| self.job.scenario.deadline()).0;
        let cancel_after = ask.and_then(|ask| ask.cancel_after);
        let asker = Asker::new(&session.client, self.stage, deadline).cancelling_after(cancel_after.map(|span| span.0));
        let others: Vec<lsp::Client> = self.other_windows.iter().map(OtherWindow::client).collect();
        let scene = steps::Scene {
            session,
            stage: self.stage,
            asker: &asker,
            job: self.job,
            others: &others,
            place: WindowStart {
                phase: end.phase.clone(),
                step: end.step,
            },
            last: self.is_last(end),
        };
        let documents = &mut self.documents;
        let result = tokio::select! {
            biased;
            result = steps::act(&scene, documents, step, end) => result,
            stop = session.fault(self.stage, deadline) => Err(stop),
        };
        (end.requests, end.hits, end.notifications) = asker.tally();
        if result.is_ok() {
            for window in &mut self.other_windows {
                end.notifications += window.follow(&scene, step, &self.during).await?;
            }
        }
        end.parked = asker.parked();
        end.cancelled = asker.cancelled();
        (end.files_written, end.files_watched) = asker.changed_files();
        end.pulls_open = session.client.open_pulls();
        if end.requests + asker.parked() == 0 && result.is_ok() && step.ask().is_some() {
            end.looked_for = Some(steps::sought_target(step, documents));
        }
        if let Some(patience) = cancel_after
            && end.requests > 0
            && end.cancelled == 0
        {
            let text = format!(
                "`{}` cancelled no request after {patience}: the server had answered before, or answered in spite of it",
                end.name
            );
            self.stage.record(Event::Warning(Warning {
                kind: WarningKind::Scenario,
                text,
            }));
        }
        session.client.hold_pulls(false);
        result.map(|()| (asker.parked(), asker.errors()))
    }

    /// True if no later step is played, as far as is known beforehand.
    fn is_last(&self, step: &StepEnd) -> bool {
        let scenario = &self.job.scenario;
        let Some(phase) = scenario.phases.last() else {
            return false;
        };
        let place = (step.phase.phase as usize + 1, step.step as usize + 1);
        is_played_once(phase.repeat)
            && is_played_once(scenario.repeat)
            && place == (scenario.phases.len(), phase.steps.len())
    }

    /// Starts the server of each window, one after the other.
    async fn start_windows(&mut self, options: &Start) -> Result<(), Stop> {
        let deadline = options.deadline.map(|span| span.0);
        self.start(deadline).await?;
        for window in 1..options.instances.get() {
            let documents = self.documents.clone();
            let window = OtherWindow::start(self.job, self.stage, window, documents, deadline).await?;
            self.other_windows.push(window);
        }
        Ok(())
    }

    async fn start(&mut self, deadline: Option<Duration>) -> Result<(), Stop> {
        let session = Session::spawn(self.job, self.stage, 0, 0)?;
        let session = self.session.insert(session);
        self.observed = session.handshake(self.job, self.stage, deadline).await?;
        (self.waited_to_register, self.loaded) = (WaitedToRegister::Never, false);
        self.refuse(Self::is_ruled_out)
    }

    async fn restart(&mut self, options: &Restart) -> Result<(), Stop> {
        // The session stays in place: an interrupt handler shuts it down.
        if let Some(session) = &mut self.session {
            let patience = self.job.scenario.deadline().0;
            shutdown::stop(session, self.stage, options.by, patience, std::future::pending()).await;
        }
        // Settings and folders that the scenario has changed stay as they are.
        let answers = self.session.as_ref().map(|session| session.client.answers());
        (self.session, self.observed) = (None, None);
        self.restarts += 1;
        let session = Session::spawn(self.job, self.stage, self.restarts, 0)?;
        if let Some(answers) = answers {
            session.client.set_answers(answers);
        }
        let session = self.session.insert(session);
        let deadline = options.deadline.map(|span| span.0);
        session.handshake(self.job, self.stage, deadline).await?;
        let patience = self.job.scenario.deadline().0;
        let asker = Asker::new(&session.client, self.stage, patience);
        tokio::select! {
            biased;
            opened = self.documents.restarted(&asker, options.reopen) => opened?,
            stop = session.fault(self.stage, patience) => return Err(stop),
        }
        (self.waited_to_register, self.loaded) = (WaitedToRegister::Never, false);
        self.refuse(Self::is_ruled_out)
    }

    /// Ends the run if required steps are `missing`, and lists them.
    fn refuse(&self, missing: impl Fn(&Self, &Step) -> bool) -> Result<(), Stop> {
        let phases = &self.job.scenario.phases;
        let all = phases
            .iter()
            .flat_map(|phase| phase.steps.iter().map(move |step| (phase, step)));
        let mut steps: Vec<String> = Vec::new();
        for (phase, step) in all {
            if !missing(self, step) || self.may_skip(step) {
                continue;
            }
            let line = lacks(&self.job.choice.profile, step, &phase.name);
            if !steps.contains(&line) {
                steps.push(line);
            }
        }
        if steps.is_empty() {
            return Ok(());
        }
        Err(Stop::Ended(Ending::Unsupported { steps }))
    }

    /// True if the server does not support a step and cannot register support later.
    fn is_ruled_out(&self, step: &Step) -> bool {
        let method = step.method().unwrap_or_default();
        let is_known_missing = self.job.choice.profile.unsupported.contains_key(method);
        let client = lsp::capabilities::client_capabilities(&self.job.capabilities).unwrap_or_default();
        !self.offers(step) && (is_known_missing || !lsp::may_register(&client, method))
    }

    /// Gives the server time to register what a step needs, once without and once with open documents. Ends the run if
    /// a required step is still unsupported.
    async fn await_offer(&mut self, step: &Step) -> Result<(), Stop> {
        if self.offers(step) || (self.is_ruled_out(step) && self.may_skip(step)) {
            return Ok(());
        }
        let has_documents = self.documents.reach(None) > 0;
        let is_due = match self.waited_to_register {
            WaitedToRegister::Never => true,
            WaitedToRegister::WithoutDocuments => has_documents,
            WaitedToRegister::WithDocuments => false,
        };
        if is_due && let Some(session) = &self.session {
            start_grace::wait(session, self.stage, &self.readiness(), || self.offers(step)).await?;
            self.waited_to_register = if has_documents {
                WaitedToRegister::WithDocuments
            } else {
                WaitedToRegister::WithoutDocuments
            };
        }
        if self.offers(step) || self.may_skip(step) {
            return Ok(());
        }
        self.refuse(|player, step| !player.offers(step))
    }

    /// After the first `open`, waits until the server has loaded the project, for servers that load it only then.
    async fn await_project(&mut self, step: &Step) -> Result<(), Stop> {
        let opened =
            matches!(step, Step::Open(_)) || (matches!(step, Step::Restart(_)) && self.documents.reach(None) > 0);
        if !opened || self.loaded || !self.job.choice.profile.ready.after_open {
            return Ok(());
        }
        self.loaded = true;
        match &self.session {
            Some(session) => start_grace::wait(session, self.stage, &self.readiness(), || false).await,
            None => Ok(()),
        }
    }

    fn readiness(&self) -> ReadinessLimits {
        self.job
            .scenario
            .readiness
            .completed_from(self.job.choice.profile.ready.limits)
    }

    fn offers(&self, step: &Step) -> bool {
        let root = &self.job.root;
        if let Step::Checkout(options) = step
            && options.optional
            && (repository::problem(root).is_some() || !repository::has_commit(root, &options.rev))
        {
            return false;
        }
        let Some(session) = &self.session else { return true };
        step.method().is_none_or(|method| session.offers(method))
    }

    fn may_skip(&self, step: &Step) -> bool {
        self.job.allow_unsupported || step.is_optional()
    }

    fn skips(&self, step: &Step) -> bool {
        self.may_skip(step) && !self.offers(step)
    }
}

/// The reasons why two waits did not end, each once; empty if both did.
fn joined_reasons(first: String, second: String) -> String {
    match (first.as_str(), second.as_str()) {
        ("", _) => second,
        (before, after) if after.is_empty() || before == after => first,
        (before, after) => format!("{before}, and after the collection {after}"),
    }
}

/// The capability that a server lacks for a step of a phase, and the reason if its profile has one.
pub fn lacks(profile: &Profile, step: &Step, phase: &str) -> String {
    let (name, method) = (step.name(), step.method().unwrap_or_default());
    match profile.unsupported.get(method) {
        Some(reason) => format!("`{name}` in phase `{phase}`: {reason} (`{method}`)"),
        None => format!("`{name}` in phase `{phase}` needs `{method}`"),
    }
}

fn is_played_once(repeat: Option<Repeat>) -> bool {
    matches!(repeat, None | Some(Repeat::Times(0 | 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_two_waits_are_told_once_each() {
        for (first, second, reasons) in [
            ("", "", ""),
            ("busy", "", "busy"),
            ("", "busy", "busy"),
            ("busy", "busy", "busy"),
            ("busy", "late", "busy, and after the collection late"),
        ] {
            assert_eq!(joined_reasons(first.to_owned(), second.to_owned()), reasons);
        }
    }
}
