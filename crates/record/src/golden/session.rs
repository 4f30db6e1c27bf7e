//! Builds an invented session: time passes, memory follows, and entries are those of a real run.

use std::collections::BTreeMap;

use crate::{
    Checkpoint, Close, EndCause, Ending, Entry, Event, Header, IdleKind, IdleWindow, Initialized, Nanos, Outcome,
    PeakMark, PhaseRef, Process, ProcessEnd, Readiness, ReadyOutcome, ReadyRule, Request, Resources, Sample, Shutdown,
    ShutdownReply, ShutdownStage, StepEnd, StepStart, Survivor, Used, Warning, WarningKind, WindowEnd, WindowStart,
};

use super::header::header;
use super::held::Held;

pub(super) const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;
pub(super) const TICK: Nanos = SECOND / 4;

pub struct Session {
    pub header: Header,
    pub entries: Vec<Entry>,
    pub at: Nanos,
    /// Current memory by process number.
    held: BTreeMap<u32, Held>,
    phase: PhaseRef,
    phases: u32,
    steps: u32,
    notes: u64,
    /// Counts that checkpoints from now on have.
    pub resources: Option<Resources>,
}

impl Session {
    pub fn new(label: &str) -> Session {
        let phase = PhaseRef {
            phase: 0,
            cycle: 0,
            name: String::new(),
        };
        let entries = Vec::new();
        let held = BTreeMap::new();
        Session {
            header: header(label),
            entries,
            at: 0,
            held,
            phase,
            phases: 0,
            steps: 0,
            notes: 0,
            resources: None,
        }
    }

    pub fn put(&mut self, event: Event) {
        self.entries.push(Entry { at: self.at, event });
    }

    pub fn spawn(&mut self, process: u32, name: &str, parent: Option<u32>, private: u64, file: u64) {
        let pid = 4_000 + process;
        if process == 0 {
            self.put(Event::Spawned {
                pid,
                restarts: 0,
                window: 0,
            });
        }
        let command = vec![name.to_owned(), "server".to_owned()];
        self.put(Event::Process(Process {
            process,
            pid,
            parent,
            started: 88_000,
            name: name.to_owned(),
            command,
            huge_pages: None,
        }));
        self.held.insert(
            process,
            Held {
                private: private * MIB,
                file: file * MIB,
                ..Held::default()
            },
        );
        self.sample();
    }

    /// Ends a process in this way.
    pub fn vanish_by(&mut self, process: u32, cause: EndCause) {
        self.vanish(process);
        let last = self.entries.last_mut().map(|entry| &mut entry.event);
        if let Some(Event::ProcessEnded(end)) = last {
            end.cause = Some(cause);
        }
    }

    /// Ends a process. Only the server's own totals are known, a little above its last sample.
    pub fn vanish(&mut self, process: u32) {
        let used = match self.held.remove(&process) {
            Some(held) if process == 0 => Some(Used {
                minor_faults: held.faults + 1_800,
                major_faults: 3,
                user: held.cpu * 9 / 10 + SECOND / 5,
                system: held.cpu / 10 + SECOND / 50,
                cpu: None,
            }),
            Some(_) | None => None,
        };
        self.put(Event::ProcessEnded(ProcessEnd {
            process,
            used,
            cause: None,
        }));
    }

    pub fn initialized(&mut self, name: &str, version: &str) {
        self.put(Event::Initialized(Initialized {
            name: Some(name.to_owned()),
            version: Some(version.to_owned()),
            encoding: "utf-16".to_owned(),
            sync: "incremental".to_owned(),
            latency: Some(84_000_000),
        }));
    }

    pub fn ready(&mut self) {
        self.put(Event::Ready(Readiness {
            outcome: ReadyOutcome::Ready,
            rule: ReadyRule::Barrier,
            after: self.at,
            progress: 2,
            missing: String::new(),
        }));
    }

    fn sample(&mut self) {
        for sample in self.samples() {
            self.put(Event::Sample(sample));
        }
    }

    fn samples(&self) -> Vec<Sample> {
        self.held
            .iter()
            .map(|(process, held)| Sample {
                process: *process,
                counters: held.counters(),
            })
            .collect()
    }

    /// Moves a process to `private` MiB in even steps, at `busy` percent of a processor.
    pub fn move_memory(&mut self, process: u32, private: u64, seconds: u64, busy: u64) {
        let ticks = seconds * SECOND / TICK;
        let start = self.held[&process].private as i128;
        for tick in 1..=ticks as i128 {
            self.at += TICK;
            let target = i128::from(private * MIB);
            let held = self.held.get_mut(&process).unwrap();
            let now = (start + (target - start) * tick / ticks as i128) as u64 / 4096 * 4096;
            held.faults += now.abs_diff(held.private) / 4096;
            held.private = now;
            held.mark = held.mark.max(now + held.file);
            held.cpu += TICK * busy / 100;
            self.sample();
        }
    }

    /// A process whose memory never settles, sampled every 50 ms.
    pub fn wander(&mut self, process: u32, seconds: u64, seed: u64) {
        let mut state = seed;
        for tick in 0..seconds * 20 {
            self.at += SECOND / 20;
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            let wave = (tick % 1_400).abs_diff(700) * MIB / 12;
            let held = self.held.get_mut(&process).unwrap();
            held.private = (120 * MIB + wave + state % (30 * MIB)) / 4096 * 4096;
            held.mark = held.mark.max(held.private + held.file);
            held.cpu += SECOND / 20 * (state % 100) / 100;
            held.faults += state % 400;
            self.sample();
        }
    }

    /// A peak shorter than a tick: only the high-water mark shows it.
    pub fn spike(&mut self, process: u32, more: u64) {
        let held = self.held.get_mut(&process).unwrap();
        held.mark = held.mark.max(held.private + held.file + more * MIB);
    }

    pub fn phase(&mut self, name: &str) {
        self.phase = PhaseRef {
            phase: self.phases,
            cycle: 0,
            name: name.to_owned(),
        };
        self.phases += 1;
        self.steps = 0;
        self.put(Event::PhaseStarted(self.phase.clone()));
    }

    pub fn step(&mut self, name: &str) {
        let (phase, step) = (self.phase.clone(), self.steps);
        self.put(Event::StepStarted(StepStart {
            phase,
            step,
            name: name.to_owned(),
            method: None,
        }));
    }

    pub fn window(&mut self) {
        let (phase, step) = (self.phase.clone(), self.steps);
        self.put(Event::WindowBegan(WindowStart { phase, step }));
    }

    pub fn release_began(&mut self) {
        self.put(Event::ReleaseBegan(self.phase.clone()));
    }

    pub fn step_end(&mut self, name: &str, requests: u64, hits: u64) {
        self.end(name, requests, hits, None);
    }

    fn end(&mut self, name: &str, requests: u64, hits: u64, idle: Option<IdleWindow>) {
        let (phase, step, name) = (self.phase.clone(), self.steps, name.to_owned());
        let notifications = if idle.is_some() { 0 } else { 20 };
        self.put(Event::StepEnded(Box::new(StepEnd {
            phase,
            step,
            name,
            requests,
            hits,
            notifications,
            skipped: false,
            cancelled: 0,
            parked: 0,
            files_written: 0,
            files_watched: None,
            pulls_open: 0,
            looked_for: None,
            idle,
            left_open: None,
            release: None,
            self_report: None,
        })));
        self.steps += 1;
    }

    /// An idle window in which a process moves to `private` MiB.
    pub fn idle(&mut self, kind: IdleKind, process: u32, private: u64, seconds: u64) {
        self.step("idle");
        self.window();
        self.move_memory(process, private, seconds, u64::from(kind == IdleKind::Simmer));
        self.idle_end(kind, seconds);
    }

    /// Ends an idle window after so many seconds.
    pub fn idle_end(&mut self, kind: IdleKind, seconds: u64) {
        self.end(
            "idle",
            0,
            0,
            Some(IdleWindow {
                kind,
                settled: Some(true),
                took: seconds * SECOND,
                end: Some(WindowEnd::Settled),
                moving: String::new(),
                needed: None,
                sent: if kind == IdleKind::Simmer { seconds * 4 } else { 0 },
                left_out: 0,
                control: false,
                decay: None,
                holder: String::new(),
            }),
        );
    }

    /// Requests with latencies around `typical` microseconds.
    pub fn requests(&mut self, method: &str, count: u64, typical: u64, miss: &Outcome, misses: u64) {
        for number in 0..count {
            self.notes = (self.notes * 6_364_136_223 + 1_442_695_041) % 1_000_003;
            let latency = typical * 1_000 * (60 + self.notes % 100 + (self.notes % 97) * (self.notes % 3)) / 100;
            let outcome = if number < misses { miss.clone() } else { Outcome::Hit };
            let answered = !matches!(outcome, Outcome::TimedOut | Outcome::Lost);
            self.put(Event::Request(Request {
                method: method.to_owned(),
                latency: if answered { Some(latency) } else { None },
                bytes: if outcome == Outcome::Hit { 412 } else { 4 },
                items: None,
                retries: u32::from(number % 50 == 49),
                editor: false,
                outcome,
            }));
        }
    }

    /// Ends a phase: settling, checkpoint, marks.
    pub fn settle(&mut self, settled: bool) {
        self.put(Event::PhaseDriven(self.phase.clone()));
        self.at += SECOND;
        self.checkpoint(settled);
    }

    /// Ends a phase with a settling of 10 seconds, in which a process moves to `private` MiB.
    pub fn settle_growing(&mut self, process: u32, private: u64, settled: bool) {
        self.put(Event::PhaseDriven(self.phase.clone()));
        self.move_memory(process, private, 10, 50);
        self.checkpoint(settled);
    }

    fn checkpoint(&mut self, settled: bool) {
        self.put(Event::Checkpoint(Checkpoint {
            phase: self.phase.clone(),
            settled,
            waited: if settled { SECOND } else { 10 * SECOND },
            unsettled: if settled {
                String::new()
            } else {
                "the processors are at 34 %".to_owned()
            },
            rounds: vec![self.samples(); 5],
            rollups: self.held.iter().map(|(process, held)| held.rollup(*process)).collect(),
            resources: self.resources,
            released: None,
        }));
        let marks = self.samples();
        self.put(Event::Peak(PeakMark {
            phase: self.phase.clone(),
            marks,
            reset: true,
            kept: Vec::new(),
        }));
        for held in self.held.values_mut() {
            held.mark = held.private + held.file;
        }
    }

    pub fn last_checkpoint(&mut self) -> &mut Event {
        let mut events = self.entries.iter_mut().rev().map(|entry| &mut entry.event);
        events.find(|event| matches!(event, Event::Checkpoint(_))).unwrap()
    }

    pub fn warn(&mut self, kind: WarningKind, text: &str) {
        self.put(Event::Warning(Warning {
            kind,
            text: text.to_owned(),
        }));
    }

    pub fn shut_down(&mut self, stage: ShutdownStage, survivors: Vec<Survivor>, ending: Ending, stderr: &str) {
        self.at += SECOND / 8;
        let (code, signal) = match &ending {
            Ending::Crashed { code, signal, .. } => (*code, *signal),
            _ => (Some(0), None),
        };
        let (reply, exit_sent) = if stage == ShutdownStage::AlreadyGone {
            (None, None)
        } else {
            (Some(ShutdownReply::Answered), Some(true))
        };
        self.leave(
            Shutdown {
                stage,
                reply,
                exit_sent,
                code,
                signal,
                took: Some(41_000_000),
                orphaned: None,
                survivors,
            },
            stderr,
        );
        self.put(Event::Ended(ending));
    }

    /// Ends the session with this shutdown and end of stderr.
    pub fn leave(&mut self, shutdown: Shutdown, stderr: &str) {
        self.put(Event::Shutdown(shutdown));
        self.put(Event::Closed(Close {
            sent: 1_204_112,
            received: 9_482_310,
            stderr: stderr.len() as u64,
            stderr_tail: stderr.to_owned(),
            stderr_head: String::new(),
            notifications: BTreeMap::from([("textDocument/publishDiagnostics".to_owned(), 40)]),
            ..Close::default()
        }));
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(&self.header).unwrap();
        for entry in &self.entries {
            bytes.push(b'\n');
            serde_json::to_writer(&mut bytes, entry).unwrap();
        }
        bytes.push(b'\n');
        bytes
    }
}
