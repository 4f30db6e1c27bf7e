//! The observed processes of the server: numbers and reads them, and turns changes into events.

mod owners;
mod rare_reads;

use std::io;
use std::path::PathBuf;

use record::{Counters, Event, Nanos, ProcessEnd, Sample, Warning, WarningKind, nanos};

use super::guard::Guard;
use super::member::Member;
use super::pulse::{Glance, Sums};
use super::source::{Effort, Failure, Found, Kin, Opened, Program, Source};
use super::tree::{Own, Tree};
use super::unseen::{self, Unseen};
use super::{Options, Pulse, Sink};

/// A live process of the tree: id, start time in the system's unit, name.
pub type Living = (u32, u64, String);

/// A clock for event timestamps.
pub(super) type Now<'a> = &'a dyn Fn() -> Nanos;

/// Reads of an empty command line: it is empty during an exec.
const COMMAND_TRIES: u8 = 4;

/// The server's processes and the last record of each.
pub struct Watch<S: Source> {
    source: S,
    tree: Tree,
    /// The process that was started as the server.
    root: Option<u32>,
    members: Vec<Member<S::Process>>,
    next_number: u32,
    peak_reset: bool,
    heartbeat: Nanos,
    libraries: Vec<PathBuf>,
    variables: Vec<(String, String)>,
    sink: Box<dyn Sink>,
    pulse: Pulse,
    ended_cpu: Option<Nanos>,
    unseen: Unseen,
    look_failed: bool,
    guard: Guard,
    /// Counts what can change who runs in whose address space: processes that come, go or run another program.
    members_version: u64,
    // Kept between rounds so that a round allocates nothing.
    changes: Vec<Found>,
    failures: Vec<Failure>,
}

impl<S: Source> Watch<S> {
    pub fn new(source: S, own: Own, options: &Options, pulse: Pulse, sink: Box<dyn Sink>) -> Watch<S> {
        Watch {
            source,
            tree: Tree::new(own, options.orphans_since).excluding(options.apart.clone()),
            root: None,
            members: Vec::new(),
            next_number: 0,
            peak_reset: options.peak_reset,
            heartbeat: nanos(options.heartbeat),
            libraries: options.libraries.clone(),
            variables: options.variables.clone(),
            sink,
            pulse,
            ended_cpu: None,
            unseen: Unseen::default(),
            look_failed: false,
            guard: Guard::new(options.memory_limit),
            members_version: 0,
            changes: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Adds a server; processes already observed stay so until they end.
    pub fn follow(&mut self, root: u32, now: Now) {
        self.root = Some(root);
        if self.members.iter().all(|member| member.found.pid != root) {
            match self.source.open(root) {
                Ok((process, opened)) => {
                    self.take_in(process, opened, now);
                }
                Err(error) => self.note_open(root, &error, now),
            }
        }
        self.look(Effort::Thorough, now);
    }

    /// Looks for new processes of the tree.
    pub fn look(&mut self, effort: Effort, now: Now) {
        self.changes.clear();
        let looked = self.source.look(now(), effort, &mut self.changes);
        self.note_look(looked, now);
        let mut changes = std::mem::take(&mut self.changes);
        // A process may be listed before the member that it belongs through: repeat until no member is added.
        let mut gained = !changes.is_empty();
        while gained {
            gained = false;
            changes.retain(|candidate| {
                let belongs = self.tree.gains(candidate);
                gained |= belongs && self.adopt(candidate.pid, now);
                !belongs
            });
        }
        self.changes = changes;
    }

    /// Reads every process once and writes changes; returns whether there were any.
    pub fn round(&mut self, now: Now) -> bool {
        let mut changed = false;
        let mut ended = false;
        for index in 0..self.members.len() {
            match self.observe(index, now) {
                Some(differs) => changed |= differs,
                None => ended = true,
            }
        }
        if ended {
            self.bury(now);
        }
        self.count_unseen(now, unseen::PAUSE);
        self.pulse.show(self.sums());
        self.guard_limit(now);
        changed || ended
    }

    /// Kills the tree once it exceeds its memory limit, and whatever it starts after that.
    fn guard_limit(&mut self, now: Now) {
        let at = now();
        if self.guard.suspects(at, self.known_private()) {
            let exact = self.exact_private();
            let took = now().saturating_sub(at);
            if let Some(excess) = self.guard.judge(exact, took) {
                self.sink.put(now(), Event::OverLimit(excess));
            }
        }
        if self.guard.is_exceeded {
            for member in &self.members {
                self.source.kill(&member.process);
            }
        }
    }

    /// Sampled private memory of the processes that could be read; `None` without any.
    fn known_private(&self) -> Option<u64> {
        let owners = self.members.iter().filter(|member| !member.borrows());
        owners
            .filter_map(|member| member.reading.counters.private)
            .reduce(u64::saturating_add)
    }

    /// Private memory of the tree by the exact counters; `None` where a process has none.
    fn exact_private(&mut self) -> Option<u64> {
        let mut sum = None;
        for member in self.members.iter_mut().filter(|member| !member.borrows()) {
            // A process that has just ended has no counters and no memory.
            if let Some(rollup) = self.source.rollup(&member.process, member.number).ok()? {
                member.take_named(&rollup);
                let private = rollup.private()?;
                sum = Some(sum.map_or(private, |sum: u64| sum.saturating_add(private)));
            }
        }
        sum
    }

    /// Looks for new processes, reads every process once and updates the sums. Writes no counters, so that the record
    /// keeps its interval.
    pub fn glance(&mut self, now: Now) -> Glance {
        self.look(Effort::Cheap, now);
        let at = now();
        for index in 0..self.members.len() {
            self.read(index, now);
        }
        self.bury(now);
        let sums = self.sums();
        self.pulse.show(sums);
        self.guard_limit(now);
        let server = self.members.iter().find(|member| Some(member.found.pid) == self.root);
        Glance {
            own: server.and_then(|member| member.sample().counters.private),
            at,
            cpu: sums.cpu,
            private: sums.private,
            resident: if sums.processes == 1 { sums.resident } else { None },
        }
    }

    pub fn samples(&self) -> Vec<Sample> {
        self.members.iter().map(Member::sample).collect()
    }

    /// Looks for the live processes of the tree.
    pub fn living_processes(&mut self, now: Now) -> Vec<Living> {
        self.look(Effort::Thorough, now);
        self.round(now);
        self.members
            .iter()
            .map(|member| (member.found.pid, member.started, member.runs.name.clone()))
            .collect()
    }

    /// Writes an event of the caller's.
    pub fn put(&mut self, at: Nanos, event: Event) {
        self.sink.put(at, event);
    }

    /// An extra round, for a last sample before an end.
    pub fn sample(&mut self, now: Now) {
        self.look(Effort::CatchUp, now);
        self.round(now);
    }

    /// The last round; writes all pending reports.
    pub fn finish(&mut self, now: Now) {
        self.sample(now);
        self.count_unseen(now, 0);
    }

    /// Opens a possible member; returns whether it was added.
    fn adopt(&mut self, pid: u32, now: Now) -> bool {
        match self.source.open(pid) {
            // The id of an open process cannot be reused: only facts read from here on count.
            Ok((process, opened)) if self.tree.gains(&opened.found) => {
                self.take_in(process, opened, now);
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.note_open(pid, &error, now);
                false
            }
        }
    }

    fn take_in(&mut self, process: S::Process, opened: Opened, now: Now) {
        let runs = self.source.describe(&process).unwrap_or_else(|| Program {
            name: opened.name,
            ..Program::default()
        });
        let member = Member::new(process, self.next_number, opened.found, opened.started, runs);
        self.next_number += 1;
        self.members_version += 1;
        self.tree.insert(opened.found);
        let parent = self.number_of(opened.found.parent);
        self.sink.put(now(), Event::Process(member.event(parent)));
        self.members.push(member);
    }

    fn number_of(&self, pid: u32) -> Option<u32> {
        self.members
            .iter()
            .find(|member| member.found.pid == pid)
            .map(|member| member.number)
    }

    /// Reads one process and writes its sample if it differs; `None` if the process has ended.
    fn observe(&mut self, index: usize, now: Now) -> Option<bool> {
        let counters = self.read(index, now)?;
        let member = &mut self.members[index];
        let at = now();
        let differs = member.written.is_none_or(|(_, written)| written.differs(&counters));
        let is_heartbeat = member
            .written
            .is_some_and(|(last, _)| at.saturating_sub(last) >= self.heartbeat);
        if differs || is_heartbeat {
            member.written = Some((at, counters));
            let sample = member.sample();
            self.sink.put(at, Event::Sample(sample));
        }
        Some(differs)
    }

    /// Reads one process; `None` if it has ended.
    fn read(&mut self, index: usize, now: Now) -> Option<Counters> {
        let member = &mut self.members[index];
        let reading = self.source.read(&mut member.process, &mut self.failures);
        for failure in self.failures.drain(..) {
            member.report(failure, &mut *self.sink, now());
        }
        let Some(reading) = reading else {
            member.over = true;
            return None;
        };
        if member.take_reading(reading) {
            self.members_version += 1;
        }
        if let Some(kin) = reading.kin {
            self.note_kin(index, kin, now);
        }
        self.note_owner(index);
        Some(self.members[index].reading.counters)
    }

    /// Notes a change of group, session, parent or program.
    fn note_kin(&mut self, index: usize, kin: Kin, now: Now) {
        let member = &mut self.members[index];
        let changes = Found {
            parent: kin.parent,
            group: kin.group,
            session: kin.session,
            ..member.found
        };
        if changes != member.found {
            member.found = changes;
            self.tree.insert(changes);
        }
        if member.program == Some(kin.program) {
            return;
        }
        let Some(runs) = self.source.describe(&member.process) else {
            return;
        };
        member.command_tries += 1;
        if runs.command.is_empty() && member.command_tries < COMMAND_TRIES {
            return;
        }
        member.command_tries = 0;
        member.program = Some(kin.program);
        if member.runs.command != runs.command {
            member.runs = runs;
            let parent = self.number_of(kin.parent);
            self.sink.put(now(), Event::Process(self.members[index].event(parent)));
        }
    }

    /// Removes ended processes.
    fn bury(&mut self, now: Now) {
        for index in (0..self.members.len()).rev() {
            if !self.members[index].over {
                continue;
            }
            let member = self.members.remove(index);
            self.members_version += 1;
            self.tree.remove(member.found.pid);
            let (process, used) = (member.number, self.source.used(&member.process));
            let cause = Some(self.source.cause(&member.process));
            let end = ProcessEnd { process, used, cause };
            self.sink.put(now(), Event::ProcessEnded(end));
            if let Some(cpu) = member.cpu.max(used.map(|used| used.user + used.system)) {
                self.ended_cpu = Some(self.ended_cpu.unwrap_or(0) + cpu);
            }
            if let Some(parent) = self
                .members
                .iter_mut()
                .find(|parent| parent.found.pid == member.found.parent)
            {
                parent.owed += 1;
            }
        }
    }

    /// A process that reaped a child while no known child had ended had an unseen one.
    fn count_unseen(&mut self, now: Now, pause: Nanos) {
        for member in &mut self.members {
            if std::mem::take(&mut member.reaped) {
                self.unseen.add(u64::from(member.owed == 0));
                member.owed = 0;
            }
        }
        let at = now();
        if let Some(event) = self.unseen.report(at, pause) {
            self.sink.put(at, event);
        }
    }

    fn sums(&self) -> Sums {
        let cpu = self
            .members
            .iter()
            .filter_map(|member| member.cpu)
            .chain(self.ended_cpu)
            .reduce(|sum, cpu| sum + cpu);
        Sums {
            cpu,
            resident: self.sum(|counters| counters.resident),
            private: self.sum(|counters| counters.private),
            processes: self.members.len(),
        }
    }

    /// Sums one counter over the tree; `None` if a process has none, or there is no process.
    fn sum(&self, counter: impl Fn(&Counters) -> Option<u64>) -> Option<u64> {
        if self.members.is_empty() {
            return None;
        }
        let owners = self.members.iter().filter(|member| !member.borrows());
        owners.map(|member| counter(&member.reading.counters)).sum()
    }

    /// Reports a failed look once: processes may be missing from then on.
    fn note_look(&mut self, looked: io::Result<()>, now: Now) {
        let Err(error) = looked else { return };
        self.warn_of_tree(&format!("the list of processes could not be read: {error}"), now);
    }

    fn note_open(&mut self, pid: u32, error: &io::Error, now: Now) {
        if error.kind() != io::ErrorKind::NotFound {
            self.warn_of_tree(&format!("process {pid} could not be opened: {error}"), now);
        }
    }

    fn warn_of_tree(&mut self, what: &str, now: Now) {
        if !std::mem::replace(&mut self.look_failed, true) {
            let text =
                format!("{what}; sums over the tree may be too small, look at limits on open files and at `/proc`");
            self.sink.put(
                now(),
                Event::Warning(Warning {
                    kind: WarningKind::Counters,
                    text,
                }),
            );
        }
    }
}
