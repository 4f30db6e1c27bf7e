//! Permanent lines: warnings, and without a block the result of each phase.

use std::collections::BTreeSet;
use std::time::Duration;

use base::text::{Paint, Tone, clean};
use base::units;
use record::Strain;
use record::{Event, PhaseRef, ReadyOutcome, StepEnd};

use super::{Look, RunPlace, Verbosity};

/// Least time between lines about rounds of a phase.
const ROUNDS: Duration = Duration::from_secs(10);

pub struct Lines {
    talk: Verbosity,
    /// True if a block shows the progress.
    block: bool,
    look: Look,
    label: String,
    requests: u64,
    hits: u64,
    /// Time of the last line about a phase.
    last_line: Option<Duration>,
    began: Duration,
    /// The machine's conditions at the start of the last run.
    strains: BTreeSet<Strain>,
}

impl Lines {
    pub fn new(talk: Verbosity, block: bool, look: Look) -> Lines {
        Lines {
            talk,
            block,
            look,
            label: String::new(),
            requests: 0,
            hits: 0,
            last_line: None,
            began: Duration::ZERO,
            strains: BTreeSet::new(),
        }
    }

    pub fn begin(&mut self, place: &RunPlace) -> Vec<String> {
        (self.label, self.last_line) = (clean(&place.label), None);
        if place.name.is_empty() || !self.is_spoken() {
            return Vec::new();
        }
        vec![match self.label.as_str() {
            "" => format!("{} begin", place.name),
            label => format!("{}, {label} begins", place.name),
        }]
    }

    pub fn command(&self, command: &str) -> Vec<String> {
        if self.talk != Verbosity::Verbose {
            return Vec::new();
        }
        vec![format!("{}: starts {}", self.label, clean(command))]
    }

    pub fn lines_of(&mut self, event: &Event, now: Duration) -> Vec<String> {
        let verbose = self.talk == Verbosity::Verbose;
        let line = match event {
            Event::Warning(warning) => Some(self.warning(&warning.text)),
            Event::Ready(ready) if matches!(ready.outcome, ReadyOutcome::Timeout | ReadyOutcome::Failed) => {
                Some(self.warning(&format!("not ready: {}", ready.missing)))
            }
            Event::Ready(ready) if verbose => {
                let after = units::nanoseconds(ready.after);
                Some(format!("{}: ready after {after}", self.label))
            }
            Event::Spawned {
                restarts: 0, window: 0, ..
            } => {
                self.began = now;
                None
            }
            Event::PhaseStarted(_) => {
                (self.requests, self.hits) = (0, 0);
                None
            }
            Event::StepEnded(step) => {
                self.requests += step.requests;
                self.hits += step.hits;
                if verbose {
                    Some(format!("{}: {}", self.label, step_line(step, self.look.arrow())))
                } else {
                    None
                }
            }
            Event::Closed(close) if verbose && !close.stderr_tail.trim().is_empty() => {
                let tail = close.stderr_tail.trim_end().lines();
                let lines = tail.map(|line| format!("{}: stderr: {}", self.label, clean(line)));
                return lines.collect();
            }
            _ => None,
        };
        match line {
            Some(line) if self.talk != Verbosity::Quiet => vec![line],
            _ => Vec::new(),
        }
    }

    /// A phase has its checkpoint. Rounds are reported only now and then.
    pub fn settled(&mut self, phase: &PhaseRef, private: Option<u64>, now: Duration) -> Vec<String> {
        let soon = self
            .last_line
            .is_some_and(|last_line| now.saturating_sub(last_line) < ROUNDS);
        if !self.is_spoken() || (phase.cycle > 0 && soon && self.talk != Verbosity::Verbose) {
            return Vec::new();
        }
        self.last_line = Some(now);
        let round = match phase.cycle {
            0 => String::new(),
            cycle => format!(", round {}", units::count(u64::from(cycle) + 1)),
        };
        let hits = match self.requests {
            0 => String::new(),
            requests => format!("hits {}/{}, ", units::count(self.hits), units::count(requests)),
        };
        vec![format!(
            "{}: {}{round}: {hits}{} private, after {}",
            self.label,
            clean(&phase.name),
            units::or_unknown(private, units::bytes),
            units::duration(now.saturating_sub(self.began)),
        )]
    }

    pub fn closing(&self, words: &str) -> Vec<String> {
        if !self.is_spoken() {
            return Vec::new();
        }
        vec![format!("{}: {words}", self.label)]
    }

    /// True if the lines are written that a block would replace.
    fn is_spoken(&self) -> bool {
        match self.talk {
            Verbosity::Quiet => false,
            Verbosity::Usual => !self.block,
            Verbosity::Verbose => true,
        }
    }

    /// Warnings about conditions that the previous run did not have.
    pub fn strained(&mut self, now: &[(Strain, String)]) -> Vec<String> {
        let fresh = now.iter().filter(|(strain, _)| !self.strains.contains(strain));
        let lines = fresh.map(|(_, text)| self.general_warning(text)).collect();
        self.strains = now.iter().map(|(strain, _)| *strain).collect();
        lines
    }

    fn warning(&self, text: &str) -> String {
        format!("{}: {}", self.label, self.general_warning(text))
    }

    /// A warning without a server's label.
    fn general_warning(&self, text: &str) -> String {
        let warning = Paint(self.look.color).paint(Tone::Warning, "warning");
        format!("{warning}: {}", clean(text))
    }
}

fn step_line(step: &StepEnd, arrow: char) -> String {
    let StepEnd {
        phase,
        name,
        requests,
        hits,
        notifications,
        skipped,
        ..
    } = step;
    let what = match (skipped, *requests, *notifications) {
        (true, ..) => "skipped, the server does not offer it".to_owned(),
        (false, 0, 0) => "ended".to_owned(),
        (false, 0, notifications) => units::count_of(notifications, "notification"),
        (false, requests, _) => format!("hits {}/{}", units::count(*hits), units::count(requests)),
    };
    format!("{} {arrow} {name}: {what}", clean(&phase.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(cycle: u32) -> PhaseRef {
        PhaseRef {
            phase: 0,
            cycle,
            name: "goto".to_owned(),
        }
    }

    fn step(requests: u64, hits: u64, notifications: u64, skipped: bool) -> StepEnd {
        StepEnd {
            phase: phase(0),
            step: 0,
            name: "open".to_owned(),
            requests,
            hits,
            notifications,
            parked: 0,
            cancelled: 0,
            files_written: 0,
            files_watched: None,
            pulls_open: 0,
            skipped,
            looked_for: None,
            idle: None,
            left_open: None,
            release: None,
            self_report: None,
        }
    }

    fn lines(talk: Verbosity, block: bool) -> Lines {
        let mut lines = Lines::new(talk, block, Look::default());
        let place = RunPlace {
            name: "run 2 of 12".to_owned(),
            label: "ty".to_owned(),
            ..RunPlace::default()
        };
        lines.begin(&place);
        lines
    }

    #[test]
    fn the_line_of_a_step_says_what_came_of_it() {
        for (step, line) in [
            (step(1_200, 7, 3, false), "goto > open: hits 7/1,200"),
            (step(0, 0, 1, false), "goto > open: 1 notification"),
            (step(0, 0, 0, false), "goto > open: ended"),
            (
                step(0, 0, 0, true),
                "goto > open: skipped, the server does not offer it",
            ),
        ] {
            assert_eq!(step_line(&step, '>'), line);
        }
    }

    #[test]
    fn without_a_block_every_phase_has_a_line_and_rounds_have_one_now_and_then() {
        let mut lines = lines(Verbosity::Usual, false);
        assert_eq!(
            lines.lines_of(&Event::StepEnded(Box::new(step(20, 19, 0, false))), Duration::ZERO),
            [] as [String; 0]
        );
        let mut at = |cycle, seconds| lines.settled(&phase(cycle), Some(64 << 20), Duration::from_secs(seconds));
        assert_eq!(at(0, 2), ["ty: goto: hits 19/20, 64.0 MiB private, after 2.00 s"]);
        assert_eq!(at(1, 5), [] as [String; 0]);
        assert_eq!(
            at(2, 12),
            ["ty: goto, round 3: hits 19/20, 64.0 MiB private, after 12.0 s"]
        );
    }

    #[test]
    fn the_time_of_a_phase_begins_with_its_server() {
        let mut lines = lines(Verbosity::Usual, false);
        let built = Duration::from_secs(60);
        lines.lines_of(
            &Event::Spawned {
                pid: 1,
                restarts: 0,
                window: 0,
            },
            built,
        );
        let last_line = lines.settled(&phase(0), Some(64 << 20), built + Duration::from_secs(2));
        assert_eq!(last_line, ["ty: goto: 64.0 MiB private, after 2.00 s"]);
    }

    #[test]
    fn a_machine_that_stays_busy_is_told_once_and_again_when_it_becomes_so_later() {
        let mut lines = lines(Verbosity::Usual, true);
        let busy = [(Strain::Busy, "the machine is busy".to_owned())];
        assert_eq!(lines.strained(&busy), ["warning: the machine is busy"]);
        assert_eq!(lines.strained(&busy), [] as [String; 0]);
        assert_eq!(lines.strained(&[]), [] as [String; 0]);
        assert_eq!(lines.strained(&busy).len(), 1);
    }

    #[test]
    fn a_block_needs_no_lines_but_warnings_and_what_is_asked_for() {
        let private = Some(64 << 20);
        let now = Duration::from_secs(2);
        assert_eq!(
            lines(Verbosity::Usual, true).settled(&phase(0), private, now),
            [] as [String; 0]
        );
        let mut verbose = lines(Verbosity::Verbose, true);
        assert_eq!(verbose.settled(&phase(0), private, now).len(), 1);
        assert_eq!(
            verbose.lines_of(&Event::StepEnded(Box::new(step(20, 19, 0, false))), Duration::ZERO),
            ["ty: goto > open: hits 19/20"].map(|line| line.replace('>', "›"))
        );
        assert_eq!(verbose.command("ty server"), ["ty: starts ty server"]);
        assert_eq!(lines(Verbosity::Usual, true).command("ty server"), [] as [String; 0]);
    }
}
