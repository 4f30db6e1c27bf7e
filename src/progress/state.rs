//! The state of a running campaign and its status block.

use std::time::Duration;

use crate::plan::{Outline, PhaseOutline, StepOutline};
use base::curve::Curve;
use base::text::{Paint, Tone, blocks, clean, cut, width};
use base::units;
use record::{Event, PhaseRef, StepStart};

use super::pace::{Pace, Reached, Remaining};
use super::screen::PERIOD;
use super::{Look, Pulse, RunPlace};

/// Most and fewest columns of the bar and of the curve.
const BAR: (usize, usize) = (40, 8);
const CURVE: (usize, usize) = (80, 8);

const SECOND: Duration = Duration::from_secs(1);

/// Shortest cut of a name, in columns.
const LEAST: usize = 4;

/// The progress of a campaign. Times count from its start.
#[derive(Clone, Default)]
pub struct State {
    pub pace: Pace,
    scenario: String,
    run: Option<Run>,
    /// Total time of runs from before a resume.
    pub before: Duration,
    /// Total time of finished runs, without preparation.
    played: Duration,
}

#[derive(Clone, Default)]
struct Run {
    place: RunPlace,
    /// Start of the server; `None` during preparation, for example a build.
    began: Option<Duration>,
    what: String,
    phase: Option<(PhaseRef, Duration)>,
    step: Option<(StepStart, Duration)>,
    requests: u64,
    pulse: Option<Pulse>,
    /// Private memory over the time in which the block was drawn.
    curve: Curve,
    /// Points so far, one for each period.
    ticks: u64,
}

impl State {
    pub fn new(scenario: String, pace: Pace) -> State {
        State {
            scenario,
            pace,
            ..State::default()
        }
    }

    /// A run begins with its preparation.
    pub fn begin(&mut self, place: RunPlace) {
        self.run = Some(Run {
            what: if place.label.is_empty() { "at once" } else { "preparing" }.to_owned(),
            place,
            ..Run::default()
        });
    }

    /// A run has ended. The time of a complete run improves the estimate.
    pub fn end(&mut self, whole: bool, now: Duration) {
        let Some(run) = self.run.take() else { return };
        let took = run.elapsed(now);
        self.played += took;
        if whole {
            self.pace.record_run(run.place.server, took);
        }
    }

    /// A run has ended that another process played.
    pub fn played_elsewhere(&mut self, server: usize, took: Duration) {
        self.played += took;
        self.pace.record_run(server, took);
    }

    pub fn follow(&mut self, pulse: Pulse) {
        if let Some(run) = &mut self.run {
            run.pulse = Some(pulse);
        }
    }

    pub fn private(&self) -> Option<u64> {
        self.run.as_ref()?.pulse.as_ref()?().0
    }

    /// Shows a text in place of the phase.
    pub fn show_text(&mut self, what: &str) {
        if let Some(run) = &mut self.run {
            (run.phase, run.step) = (None, None);
            what.clone_into(&mut run.what);
        }
    }

    pub fn take_event(&mut self, event: &Event, now: Duration) {
        let Some(run) = &mut self.run else { return };
        match event {
            Event::Spawned {
                restarts: 0, window: 0, ..
            } => run.began = Some(now),
            Event::PhaseStarted(phase) => {
                (run.phase, run.step, run.requests) = (Some((phase.clone(), now)), None, 0);
                run.what.clear();
            }
            Event::StepStarted(step) => (run.step, run.requests) = (Some((step.clone(), now)), 0),
            Event::PhaseDriven(_) => {
                run.step = None;
                "settling".clone_into(&mut run.what);
            }
            Event::Request(request) if !request.editor => run.requests += 1,
            Event::Shutdown(_) => self.show_text("shut down"),
            _ => {}
        }
    }

    /// Adds a point to the curve.
    pub fn tick(&mut self) {
        if let Some(run) = &mut self.run {
            let private = run.pulse.as_ref().and_then(|pulse| pulse().0);
            // The curve begins with the server.
            if run.pulse.is_some() {
                run.curve.add(moment(run.ticks), private);
                run.ticks += 1;
            }
        }
    }

    /// The current lines, at most `columns` wide.
    pub fn lines(&self, now: Duration, columns: usize, look: Look) -> Vec<String> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        vec![
            self.overall(run, now, columns, look),
            self.doing(run, now, columns, look),
            memory(run, columns, look),
        ]
    }

    /// `completions  run 5 of 12  ████░░░░  43 %  1 min 42 s, about 2 min 10 s left`
    fn overall(&self, run: &Run, now: Duration, columns: usize, look: Look) -> String {
        let paint = Paint(look.color);
        let reached = Reached {
            run: run.place.number.saturating_sub(1),
            elapsed: run.elapsed(now),
            phase: run
                .phase
                .as_ref()
                .map(|(phase, since)| (phase.phase as usize, now.saturating_sub(*since))),
        };
        let used = self.before + self.played + run.elapsed(now);
        // A budget includes runs from before a resume.
        let remaining = self.pace.remaining(reached, now + self.before);
        let remaining_text = match remaining {
            Some(Remaining::AtLeast(remaining)) if remaining < SECOND => String::new(),
            Some(Remaining::AtLeast(remaining)) => format!("at least {} left", clock(remaining)),
            Some(Remaining::About(remaining)) => format!("about {} left", clock(remaining.max(SECOND))),
            None => String::new(),
        };
        // A lower bound gives no percentage.
        let share = match remaining {
            Some(Remaining::About(remaining)) => {
                Some(used.as_secs_f64() / (used + remaining).as_secs_f64().max(f64::MIN_POSITIVE))
            }
            Some(Remaining::AtLeast(_)) | None => None,
        };
        let percent = share.map_or_else(String::new, |share| format!("{:>4}", units::percent(share.min(0.99))));
        let time = [clock(used), remaining_text.clone()];
        let time = time.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
        let name = cut(&clean(&self.scenario), columns / 3);
        let place = run.place.name.as_str();
        // Without room the elapsed time goes first, then the name.
        let ways: [(&str, [&str; 3]); 3] = [
            (&name, [place, &percent, &time.join(", ")]),
            (&name, [place, &percent, &remaining_text]),
            ("", [place, &percent, &remaining_text]),
        ];
        let fitting = ways
            .into_iter()
            .find(|(name, parts)| width(name) + width(&spaced(parts)) <= columns);
        let (name, [place, percent, time]) = fitting.unwrap_or(ways[2]);
        let used_columns = width(name) + width(&spaced(&[place, percent, time]));
        let room = columns.saturating_sub(used_columns + 2).min(BAR.0);
        let bar = match share {
            Some(share) if room >= BAR.1 => bar(share, room, look.ascii),
            _ => String::new(),
        };
        let rest = spaced(&[place, &bar, percent, time]);
        let rest = if name.is_empty() { rest.trim_start() } else { &rest };
        format!(
            "{}{}",
            paint.paint(Tone::Strong, name),
            cut(rest, columns.saturating_sub(width(name)))
        )
    }

    /// `ty  goto 2/5 › definition  120/400 requests`
    fn doing(&self, run: &Run, now: Duration, columns: usize, look: Look) -> String {
        let paint = Paint(look.color);
        let arrow = look.arrow();
        let outline = self.pace.outline.as_ref();
        let phase = run.phase.as_ref().map(|(phase, _)| phase);
        let progress = run.step.as_ref().map(|(step, since)| {
            let planned = outline.and_then(|outline| planned(outline, step));
            progress_of(planned, run.requests, now.saturating_sub(*since))
        });
        let mut names = [
            run.step
                .as_ref()
                .map_or(run.what.as_str(), |(step, _)| &step.name)
                .to_owned(),
            cut(&clean(&run.place.label), columns / 3),
            phase.map_or_else(String::new, |phase| clean(&phase.name)),
        ];
        let put = |[what, _, name]: &[String; 3]| {
            let place = phase.map_or_else(String::new, |phase| place_of(phase, outline));
            let between = if name.is_empty() || what.is_empty() {
                String::new()
            } else {
                format!(" {arrow} ")
            };
            let progress = progress
                .as_ref()
                .map_or_else(String::new, |progress| format!("  {progress}"));
            format!("  {name}{place}{between}{what}{progress}")
        };
        // Shorten names before numbers.
        for one in 0..names.len() {
            let over = (width(&put(&names)) + width(&names[1])).saturating_sub(columns);
            let room = width(&names[one])
                .saturating_sub(over)
                .max(LEAST.min(width(&names[one])));
            names[one] = cut(&names[one], room);
        }
        let text = cut(&put(&names), columns.saturating_sub(width(&names[1])));
        format!("{}{text}", paint.paint(Tone::Strong, &names[1]))
    }
}

impl Run {
    /// Time since the server started.
    fn elapsed(&self, now: Duration) -> Duration {
        self.began.map_or(Duration::ZERO, |began| now.saturating_sub(began))
    }
}

/// `private 312.4 MiB  ▁▂▃▅▆▇▇  highest 402.1 MiB`
fn memory(run: &Run, columns: usize, look: Look) -> String {
    let paint = Paint(look.color);
    let Some(pulse) = &run.pulse else {
        return String::new();
    };
    let (private, highest) = pulse();
    let now = format!("private {:>9}", units::or_unknown(private, units::bytes));
    // Not called a peak: that is the kernel's mark of resident memory, known at the end of a phase.
    let top = format!("highest {}", units::or_unknown(highest, units::bytes));
    let room = columns.saturating_sub(width(&now) + width(&top) + 4).min(CURVE.0);
    let curve = match room {
        room if room >= CURVE.1 => curve(run, room, look.ascii),
        _ => String::new(),
    };
    let gap = if curve.is_empty() { "" } else { "  " };
    let text = cut(&format!("{now}{gap}{curve}  {top}"), columns);
    paint.paint(Tone::Quiet, &text)
}

/// The curve from 0 to the highest value, in one column for each point until there is no more room.
fn curve(run: &Run, room: usize, ascii: bool) -> String {
    let columns = run.ticks.min(room as u64);
    let bounds: Vec<u64> = (0..=columns)
        .map(|column| moment(column * run.ticks / columns.max(1)))
        .collect();
    let highest = run.curve.highest().unwrap_or(0);
    blocks(&run.curve.reduce(&bounds), (0, highest), ascii)
}

fn moment(tick: u64) -> u64 {
    tick * PERIOD.as_nanos() as u64
}

/// The place of a phase in the scenario, and its round.
fn place_of(phase: &PhaseRef, outline: Option<&Outline>) -> String {
    let Some(outline) = outline else {
        return String::new();
    };
    let place = format!(" {}/{}", phase.phase + 1, outline.phases.len());
    let times = outline.phases.get(phase.phase as usize).and_then(PhaseOutline::times);
    let rounds = match times {
        Some(times) if outline.repeat.is_none() => format!(" of {}", units::count(times)),
        _ => String::new(),
    };
    match (phase.cycle, rounds.is_empty()) {
        (0, true) => place,
        (cycle, _) => format!("{place}, round {}{rounds}", units::count(u64::from(cycle) + 1)),
    }
}

fn planned<'o>(outline: &'o Outline, step: &StepStart) -> Option<&'o StepOutline> {
    let phase = outline.phases.get(step.phase.phase as usize)?;
    phase
        .steps
        .get(step.step as usize)
        .filter(|planned| planned.name == step.name)
}

/// The progress of a step: by requests, or else by time.
fn progress_of(planned: Option<&StepOutline>, requests: u64, elapsed: Duration) -> String {
    let clock = clock(elapsed);
    let (all, least, detail) = planned.map_or((0, Duration::ZERO, ""), |step| {
        (step.amount.requests, step.amount.least, step.detail.as_str())
    });
    match (requests, all) {
        // Files may have fewer targets than planned, and retries add requests, so the plan is only a guide.
        (done, all) if done > 0 && done <= all => format!("{}/{} requests", units::count(done), units::count(all)),
        (done, _) if done > 0 => units::count_of(done, "request"),
        (_, _) if !detail.is_empty() => format!("{clock}, {detail}"),
        (_, _) if least > elapsed && least.as_secs() > 0 => format!("{clock} of {}", self::clock(least)),
        (_, _) => clock,
    }
}

/// In whole seconds, so that the text does not flicker.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => units::duration(Duration::from_secs(seconds)),
    }
}

/// The parts that are not empty, each behind two blanks.
fn spaced(parts: &[&str]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.map(|part| format!("  {part}")).collect()
}

fn bar(share: f64, columns: usize, ascii: bool) -> String {
    let filled = ((share.clamp(0.0, 1.0) * columns as f64) as usize).min(columns);
    let (full, empty) = if ascii { ("#", ".") } else { ("█", "░") };
    format!("{}{}", full.repeat(filled), empty.repeat(columns - filled))
}
