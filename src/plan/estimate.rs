//! Estimates the requests and time of a scenario by walking through it with a count of open documents.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::time::Duration;

use crate::config::step::{self, Count, Idle, IdleEnd, IdleMode, Open, Pick};
use crate::config::{Phase, Repeat, Scenario, Step};
use base::units::Span;

/// The keys of the shortest line that is typed when a scenario does not say what to type.
const SHORT_LINE: u64 = 16;

/// Messages and time. Requests assume that every file has enough places; time is the scenario's own waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub requests: u64,
    pub notifications: u64,
    /// Minimum time, without the server's own.
    pub least: Duration,
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        Amount {
            requests: self.requests.saturating_add(other.requests),
            notifications: self.notifications.saturating_add(other.notifications),
            least: self.least.saturating_add(other.least),
        }
    }
}

impl Mul<u64> for Amount {
    type Output = Amount;

    fn mul(self, times: u64) -> Amount {
        Amount {
            requests: self.requests.saturating_mul(times),
            notifications: self.notifications.saturating_mul(times),
            least: repeated(self.least, times),
        }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), Add::add)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Its phases in order.
    pub phases: Vec<PhaseOutline>,
    /// Number of initial phases that are played once, whatever the repetition.
    pub once: usize,
    /// Repetition of the other phases.
    pub repeat: Option<Repeat>,
    /// Total with all rounds; for a repetition by time, one round and its time.
    pub total: Amount,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PhaseOutline {
    pub name: String,
    /// Its steps in order.
    pub steps: Vec<StepOutline>,
    pub repeat: Option<Repeat>,
    /// Minimum time to settle, per round.
    pub settle: Duration,
    /// All rounds; for a repetition by time, one round and its time.
    pub total: Amount,
}

impl PhaseOutline {
    /// Number of rounds, if fixed.
    pub fn times(&self) -> Option<u64> {
        match self.repeat {
            Some(Repeat::Times(times)) => Some(times),
            Some(_) | None => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct StepOutline {
    pub name: &'static str,
    /// Further details for messages; may be empty.
    pub detail: String,
    pub amount: Amount,
}

/// Walks through the scenario over a project of `files` files.
pub fn outline(scenario: &Scenario, files: u64) -> Outline {
    let mut walk = Walk { files, open: 0 };
    let phases: Vec<PhaseOutline> = scenario
        .phases
        .iter()
        .map(|phase| walk.phase(scenario, phase))
        .collect();
    let once = scenario
        .phases
        .iter()
        .position(Phase::starts_server)
        .map_or(0, |index| index + 1);
    let (first, rest) = phases.split_at(once);
    let first: Amount = first.iter().map(|phase| phase.total).sum();
    let rest: Amount = rest.iter().map(|phase| phase.total).sum();
    let repeated = walk.rounds(rest, scenario.repeat, |walk| {
        let phases = scenario.phases[once..].iter();
        phases.map(|phase| walk.phase(scenario, phase).total).sum()
    });
    Outline {
        total: first + repeated,
        phases,
        once,
        repeat: scenario.repeat,
    }
}

fn repeated(time: Duration, times: u64) -> Duration {
    let nanos = time.as_nanos().saturating_mul(u128::from(times));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

struct Walk {
    files: u64,
    open: u64,
}

impl Walk {
    fn phase(&mut self, scenario: &Scenario, phase: &Phase) -> PhaseOutline {
        let steps: Vec<StepOutline> = phase
            .steps
            .iter()
            .map(|step| StepOutline {
                name: step.name(),
                detail: detail(step),
                amount: self.step(step),
            })
            .collect();
        let settle = scenario.settle(phase).quiet.0;
        let one = steps.iter().map(|step| step.amount).sum::<Amount>() + waits(settle);
        let total = self.rounds(one, phase.repeat, |walk| {
            phase.steps.iter().map(|step| walk.step(step)).sum::<Amount>() + waits(settle)
        });
        PhaseOutline {
            name: phase.name.clone(),
            steps,
            repeat: phase.repeat,
            settle,
            total,
        }
    }

    /// All rounds, of which the first was walked already.
    ///
    /// A round that begins with more documents open never ends with fewer, so the count moves one way until it stays;
    /// from then on all rounds are alike.
    fn rounds(&mut self, first: Amount, repeat: Option<Repeat>, again: impl Fn(&mut Walk) -> Amount) -> Amount {
        let mut left = match repeat {
            None => 0,
            Some(Repeat::Times(times)) => times.saturating_sub(1),
            Some(Repeat::For(time)) => {
                return Amount {
                    least: first.least.max(time.0),
                    ..first
                };
            }
        };
        let mut total = first;
        while left > 0 {
            let open = self.open;
            let round = again(self);
            if self.open == open {
                return total + round * left;
            }
            total = total + round;
            left -= 1;
        }
        total
    }

    /// Number of open documents that a step uses.
    fn documents(&self, files: Option<Count>) -> u64 {
        files.map_or(self.open, |files| u64::from(files.get()).min(self.open))
    }

    fn step(&mut self, step: &Step) -> Amount {
        match step {
            Step::Start(_) => Amount {
                requests: 1,
                notifications: 1,
                ..Amount::default()
            },
            Step::Restart(options) => {
                let reopened = if options.reopen { self.open } else { 0 };
                self.open = reopened;
                Amount {
                    requests: 2,
                    notifications: 2 + reopened,
                    ..Amount::default()
                }
            }
            Step::Open(options) => self.open(options),
            Step::Close(options) => {
                let closed = self.documents(options.files);
                self.open -= closed;
                notifies(closed, options.cadence)
            }
            Step::Save(options) => notifies(self.documents(options.files), options.cadence),
            Step::Touch(options) => {
                let files = options.files.times().min(self.files);
                let messages = if options.batch { 1 } else { files };
                Amount {
                    notifications: messages,
                    ..waits(repeated(options.cadence.0, files))
                }
            }
            Step::Edit(options) => {
                let edits = self.documents(options.files) * options.per_file.times();
                // Each is undone.
                notifies(edits, options.cadence) + notifies(edits, Span::from_millis(0))
            }
            Step::Type(options) => {
                let texts = self.documents(options.files) * options.per_file.times();
                typed(texts, options.text.as_deref(), options.keystrokes, options.cadence)
            }
            Step::Idle(options) => idles(options),
            Step::Pause(options) => waits(options.time.0),
            Step::Notification(options) => {
                let open = |files| self.documents(files);
                let places = step::sent(options.params.as_ref(), options.files, options.per_file, &open);
                notifies(places * options.times.times(), options.cadence)
            }
            Step::TypeAndComplete(options) => {
                let texts = self.documents(options.files) * options.per_file.times();
                let typed = typed(texts, options.text.as_deref(), options.keystrokes, options.cadence);
                let requests = options.requests(&|files| self.documents(files));
                Amount { requests, ..typed }
            }
            step => Amount {
                requests: step.requests(&|files| self.documents(files)),
                ..Amount::default()
            },
        }
    }

    fn open(&mut self, options: &Open) -> Amount {
        let wanted = options.files.times().min(self.files);
        let opened = match options.pick {
            Pick::First => wanted.saturating_sub(self.open),
            Pick::Next => wanted.min(self.files - self.open.min(self.files)),
        };
        self.open += opened;
        notifies(opened, options.cadence)
    }
}

/// The mode of an idle step, and its longest time.
fn detail(step: &Step) -> String {
    let Step::Idle(options) = step else {
        return String::new();
    };
    let mode = match options.mode {
        IdleMode::Silent => "silent",
        IdleMode::Simmer => "traffic",
    };
    match options.end() {
        IdleEnd::After(_) => mode.to_owned(),
        IdleEnd::Settled { at_most: None } => format!("{mode} until settled"),
        IdleEnd::Settled { at_most: Some(most) } => format!("{mode} until settled or {most}"),
    }
}

fn waits(least: Duration) -> Amount {
    Amount {
        least,
        ..Amount::default()
    }
}

fn idles(options: &Idle) -> Amount {
    let time = match options.end() {
        IdleEnd::After(time) => time.0,
        IdleEnd::Settled { at_most } => at_most.unwrap_or(Idle::STEADY).min(Idle::STEADY).0,
    };
    let every = options.traffic().map(|every| every.0.as_nanos().max(1));
    let ticks = every.map_or(0, |every| time.as_nanos() / every);
    Amount {
        notifications: u64::try_from(ticks).unwrap_or(u64::MAX),
        ..waits(time)
    }
}

fn notifies(notifications: u64, cadence: Span) -> Amount {
    Amount {
        notifications,
        ..waits(repeated(cadence.0, notifications))
    }
}

/// Texts that are typed key by key and undone in one stroke.
fn typed(texts: u64, text: Option<&str>, keystrokes: Option<Count>, cadence: Span) -> Amount {
    let length = text.map_or(SHORT_LINE, |text| text.chars().count() as u64);
    let keys = keystrokes.map_or(length, |most| length.min(u64::from(most.get())));
    notifies(texts * keys, cadence) + notifies(texts, Span::from_millis(0))
}

#[cfg(test)]
mod tests;
