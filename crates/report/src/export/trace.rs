//! Records as a trace for Perfetto and Chrome: counters of every process, and the session as slices.
//!
//! The format is Chrome's JSON with one event per line, so a trace can be written while its record is read.

mod line;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use analysis::summary::{PhaseSummary, Summary, why_unmeasured, without_invalid_counters, without_invalid_figures};
use record::{Entry, Event, Header, Nanos, PhaseRef, Process, Request, Rollup, Sample, StepEnd, StepStart};

use crate::export::trace::line::{Line, Track, Values};

/// The first number for anything but a process: beyond the process ids of Linux.
const FREE: u32 = 1 << 22;

/// A trace of any number of records, each from time 0.
#[derive(Default)]
pub struct Trace {
    started_file: bool,
    used: HashSet<u32>,
}

pub struct Run {
    /// The invented process of phases, steps and requests, which belong to the session.
    session: u32,
    /// Prefix of process names when the trace has several records.
    label: String,
    /// True if a tracer held up the server, so that its memory and latencies do not count.
    is_unmeasured: bool,
    processes: HashMap<u32, Shown>,
    step: Option<(Nanos, StepStart)>,
    /// End of the last request in each lane. Simultaneous requests need a lane each.
    lanes: Vec<Nanos>,
    phase: Option<PhaseRef>,
    /// Highest sum of private memory in each phase, and its time.
    highest: HashMap<PhaseRef, (Nanos, u64)>,
}

struct Shown {
    pid: u32,
    values: Values,
}

impl Trace {
    /// Takes the wished number if it is free, or else the next free one.
    fn take_number(&mut self, wish: u32) -> u32 {
        for number in std::iter::once(wish).chain(FREE..) {
            if self.used.insert(number) {
                return number;
            }
        }
        wish
    }

    fn put(&mut self, out: &mut impl Write, line: &Line<'_, impl Serialize>) -> io::Result<()> {
        let before: &[u8] = if self.started_file {
            b",\n"
        } else {
            b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
        };
        self.started_file = true;
        out.write_all(before)?;
        serde_json::to_writer(out, line).map_err(io::Error::from)
    }

    /// Begins a record. With `several`, process names include the server's label.
    pub fn run(&mut self, header: &Header, record: &str, several: bool, out: &mut impl Write) -> io::Result<Run> {
        let session = self.take_number(FREE);
        let label = if several {
            format!("{} ({record}): ", header.server.label)
        } else {
            String::new()
        };
        let why = why_unmeasured(header)
            .map(|why| format!(" ({why})"))
            .unwrap_or_default();
        let name = format!("{label}{} on {}{why}", header.scenario.name, header.server.label);
        self.put(out, &Line::name("process_name", session, None, &name))?;
        self.put(out, &Line::sort(session))?;
        for track in [Track::Phases, Track::Steps, Track::Windows] {
            self.put(out, &Line::name("thread_name", session, Some(track), &track.name()))?;
        }
        Ok(Run {
            session,
            label,
            is_unmeasured: !why.is_empty(),
            processes: HashMap::new(),
            step: None,
            lanes: Vec::new(),
            phase: None,
            highest: HashMap::new(),
        })
    }

    pub fn finish(self, out: &mut impl Write) -> io::Result<()> {
        let end: &[u8] = if self.started_file {
            b"\n]}\n"
        } else {
            b"{\"traceEvents\":[]}\n"
        };
        out.write_all(end)
    }
}

impl Run {
    /// Writes the counters, requests and steps of an entry.
    pub fn write(&mut self, trace: &mut Trace, entry: &Entry, out: &mut impl Write) -> io::Result<()> {
        let at = entry.at;
        match &entry.event {
            Event::Process(process) => self.process(trace, process, out),
            Event::ProcessEnded(end) => {
                self.processes.remove(&end.process);
                Ok(())
            }
            Event::Sample(sample) => self.sample(trace, at, sample, out),
            Event::Rollup(rollup) => self.exact(trace, at, rollup, out),
            Event::Checkpoint(taken) => {
                for sample in taken.rounds.iter().flatten() {
                    self.sample(trace, at, sample, out)?;
                }
                for rollup in &taken.rollups {
                    self.exact(trace, at, rollup, out)?;
                }
                Ok(())
            }
            Event::Peak(mark) => {
                for sample in &mark.marks {
                    self.sample(trace, at, sample, out)?;
                }
                Ok(())
            }
            Event::PhaseStarted(phase) => {
                self.phase = Some(phase.clone());
                Ok(())
            }
            Event::StepStarted(step) => {
                self.step = Some((at, step.clone()));
                Ok(())
            }
            Event::StepEnded(end) => self.step_ended(trace, at, end, out),
            Event::Request(request) if !self.is_unmeasured => self.request(trace, at, request, out),
            Event::Warning(warning) => {
                let text = json!({ "text": warning.text });
                trace.put(out, &Line::instant("warning", self.session, at, text))
            }
            _ => Ok(()),
        }
    }

    fn process(&mut self, trace: &mut Trace, process: &Process, out: &mut impl Write) -> io::Result<()> {
        let known = self.processes.get(&process.process).map(|shown| shown.pid);
        let pid = known.unwrap_or_else(|| trace.take_number(process.pid));
        let real_pid = if pid == process.pid {
            String::new()
        } else {
            format!(" (pid {})", process.pid)
        };
        let name = format!("{}{}{real_pid}", self.label, process.name);
        let values = Values::default();
        self.processes.entry(process.process).or_insert(Shown { pid, values });
        trace.put(out, &Line::name("process_name", pid, None, &name))
    }

    fn sample(&mut self, trace: &mut Trace, at: Nanos, sample: &Sample, out: &mut impl Write) -> io::Result<()> {
        let Some(shown) = self.processes.get_mut(&sample.process) else {
            return Ok(());
        };
        let counters = if self.is_unmeasured {
            without_invalid_counters(sample.counters)
        } else {
            sample.counters
        };
        if let Some(changed) = shown.values.sample(&counters) {
            trace.put(out, &Line::counters(shown.pid, at, changed))?;
        }
        if self.is_unmeasured {
            return Ok(());
        }
        let private = self.processes.values().filter_map(|shown| shown.values.private);
        let sum = private.fold(0, u64::saturating_add);
        if let Some(phase) = &self.phase {
            match self.highest.get_mut(phase) {
                Some(highest) if sum <= highest.1 => {}
                Some(highest) => *highest = (at, sum),
                None => _ = self.highest.insert(phase.clone(), (at, sum)),
            }
        }
        Ok(())
    }

    fn exact(&mut self, trace: &mut Trace, at: Nanos, rollup: &Rollup, out: &mut impl Write) -> io::Result<()> {
        if self.is_unmeasured {
            return Ok(());
        }
        let Some(shown) = self.processes.get_mut(&rollup.process) else {
            return Ok(());
        };
        match shown.values.rollup(rollup) {
            Some(changed) => trace.put(out, &Line::counters(shown.pid, at, changed)),
            None => Ok(()),
        }
    }

    fn step_ended(&mut self, trace: &mut Trace, at: Nanos, end: &StepEnd, out: &mut impl Write) -> io::Result<()> {
        let Some((started, step)) = self.step.take() else {
            return Ok(());
        };
        let facts = json!({
            "phase": step.phase.name, "round": step.phase.cycle, "method": step.method, "requests": end.requests,
            "hits": end.hits, "notifications": end.notifications, "skipped": end.skipped,
        });
        trace.put(
            out,
            &Line::slice(&step.name, "step", self.session, Track::Steps, (started, at), facts),
        )
    }

    /// Writes a request at its end. A request without an answer has length 0.
    fn request(&mut self, trace: &mut Trace, at: Nanos, request: &Request, out: &mut impl Write) -> io::Result<()> {
        let started = at.saturating_sub(request.latency.unwrap_or(0));
        let free = self.lanes.iter().position(|end| *end <= started);
        let lane = free.unwrap_or(self.lanes.len());
        if lane == self.lanes.len() {
            self.lanes.push(0);
            let track = Track::Requests(lane as u32);
            trace.put(
                out,
                &Line::name("thread_name", self.session, Some(track), &track.name()),
            )?;
        }
        self.lanes[lane] = at;
        let facts = json!({
            "outcome": request.outcome, "bytes": request.bytes, "items": request.items, "retries": request.retries,
            "answered": request.latency.is_some(),
        });
        let (span, track) = ((started, at), Track::Requests(lane as u32));
        trace.put(
            out,
            &Line::slice(&request.method, "request", self.session, track, span, facts),
        )
    }

    /// Writes the phases, settling, windows, checkpoints and peaks of the summary.
    pub fn finish(mut self, trace: &mut Trace, summary: &Summary, out: &mut impl Write) -> io::Result<()> {
        if let Some((started, step)) = self.step.take() {
            let facts = json!({ "phase": step.phase.name, "round": step.phase.cycle, "method": step.method, "unfinished": true });
            let span = (started, summary.duration);
            trace.put(
                out,
                &Line::slice(&step.name, "step", self.session, Track::Steps, span, facts),
            )?;
        }
        let summary = &*without_invalid_figures(summary);
        for phase in &summary.phases {
            self.phase(trace, phase, out)?;
        }
        for window in &summary.windows {
            let course = window.private.as_ref();
            let facts = json!({
                "phase": window.phase.name, "round": window.phase.cycle, "control": window.control, "messages": window.sent,
                "floor_bytes": course.map(|course| course.floor), "t50_ns": course.and_then(|course| course.t50),
                "t90_ns": course.and_then(|course| course.t90), "returned": course.and_then(|course| course.returned),
            });
            let span = (window.started, window.started.saturating_add(window.took));
            let name = window.kind.name();
            trace.put(
                out,
                &Line::slice(name, "window", self.session, Track::Windows, span, facts),
            )?;
        }
        Ok(())
    }

    fn phase(&self, trace: &mut Trace, phase: &PhaseSummary, out: &mut impl Write) -> io::Result<()> {
        let round = &phase.phase;
        let checkpoint = phase.checkpoint.as_ref();
        let facts = json!({
            "round": round.cycle, "private_bytes": phase.private, "increment_bytes": phase.increment,
            "settled": checkpoint.map(|checkpoint| checkpoint.settled), "cpu_ns": phase.cpu,
            "minor_faults": phase.minor_faults, "major_faults": phase.major_faults,
        });
        let span = (phase.started, phase.ended);
        trace.put(
            out,
            &Line::slice(&round.name, "phase", self.session, Track::Phases, span, facts),
        )?;
        if let Some((driven, checkpoint)) = phase.driven.zip(checkpoint) {
            let facts = json!({ "phase": round.name, "round": round.cycle, "settled": checkpoint.settled, "unsettled": checkpoint.unsettled });
            let span = (driven, checkpoint.at);
            trace.put(
                out,
                &Line::slice("settle", "settle", self.session, Track::Steps, span, facts),
            )?;
        }
        if let Some(checkpoint) = checkpoint {
            let facts = json!({
                "phase": round.name, "round": round.cycle, "private_bytes": phase.private, "resident_bytes": checkpoint.resident,
                "proportional_bytes": checkpoint.proportional, "huge_pages_bytes": checkpoint.huge_pages, "settled": checkpoint.settled,
            });
            trace.put(out, &Line::instant("checkpoint", self.session, checkpoint.at, facts))?;
        }
        let Some((at, _)) = self.highest.get(round) else {
            return Ok(());
        };
        let facts = json!({
            "phase": round.name, "round": round.cycle, "private_bytes": phase.private_peak,
            "resident_at_least_bytes": phase.peak.map(|peak| peak.lower), "resident_at_most_bytes": phase.peak.and_then(|peak| peak.upper),
        });
        trace.put(out, &Line::instant("peak", self.session, *at, facts))
    }
}
