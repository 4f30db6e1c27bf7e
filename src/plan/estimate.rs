//! Estimates the requests and time of a scenario by walking through it with a count of open documents.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::time::Duration;

use crate::config::step::{self, Count, Disk, Idle, IdleEnd, IdleMode, Open, Pick, Session, Touch};
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

    fn mul(self, count: u64) -> Amount {
        Amount {
            requests: self.requests.saturating_mul(count),
            notifications: self.notifications.saturating_mul(count),
            least: times(self.least, count),
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
    let (phases_once, phases_again) = phases.split_at(once);
    let played_once: Amount = phases_once.iter().map(|phase| phase.total).sum();
    let first_round: Amount = phases_again.iter().map(|phase| phase.total).sum();
    let all_rounds = walk.rounds(first_round, scenario.repeat, |walk| {
        let phases = scenario.phases[once..].iter();
        phases.map(|phase| walk.phase(scenario, phase).total).sum()
    });
    Outline {
        total: played_once + all_rounds,
        phases,
        once,
        repeat: scenario.repeat,
    }
}

fn times(time: Duration, count: u64) -> Duration {
    let nanos = time.as_nanos().saturating_mul(u128::from(count));
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
                detail: idle_detail(step),
                amount: self.step(step),
            })
            .collect();
        let settle = scenario.settle(phase).quiet.0;
        let one = steps.iter().map(|step| step.amount).sum::<Amount>() + wait_amount(settle);
        let total = self.rounds(one, phase.repeat, |walk| {
            phase.steps.iter().map(|step| walk.step(step)).sum::<Amount>() + wait_amount(settle)
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
        if let Some(Repeat::For(time)) = repeat {
            return Amount {
                least: first.least.max(time.0),
                ..first
            };
        }
        let mut rounds_left = match repeat {
            Some(Repeat::Times(times)) => times.saturating_sub(1),
            _ => 0,
        };
        let mut total = first;
        while rounds_left > 0 {
            let open = self.open;
            let round = again(self);
            if self.open == open {
                return total + round * rounds_left;
            }
            total = total + round;
            rounds_left -= 1;
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
                notification_amount(closed, options.cadence)
            }
            Step::Save(options) => notification_amount(self.documents(options.files), options.cadence),
            Step::Touch(options) => self.touch_amount(options),
            Step::Disk(options) => disk_amount(options),
            Step::Checkout(_) | Step::Shell(_) | Step::Settings(_) | Step::Folders(_) => Amount {
                notifications: 1,
                ..Amount::default()
            },
            Step::Edit(options) => {
                let edits = self.documents(options.files) * options.per_file.times();
                // The edits are undone one by one, without waiting.
                notification_amount(edits, options.cadence) + notification_amount(edits, Span::from_millis(0))
            }
            Step::Type(options) => {
                let texts = self.documents(options.files) * options.per_file.times();
                typing_amount(texts, options.text.as_deref(), options.keystrokes, options.cadence)
            }
            Step::Idle(options) => idle_amount(options),
            Step::Pause(options) => wait_amount(options.time.0),
            Step::Session(options) => session_amount(options),
            Step::Notification(options) => {
                let places = step::sent(options.params.as_ref(), options.files, options.per_file, &|files| {
                    self.documents(files)
                });
                notification_amount(places * options.times.times(), options.cadence)
            }
            Step::TypeAndComplete(options) => {
                let texts = self.documents(options.files) * options.per_file.times();
                let typed = typing_amount(texts, options.text.as_deref(), options.keystrokes, options.cadence);
                let requests = options.requests(&|files| self.documents(files));
                Amount { requests, ..typed }
            }
            step => Amount {
                requests: step.requests(&|files| self.documents(files)),
                ..Amount::default()
            },
        }
    }

    fn touch_amount(&self, options: &Touch) -> Amount {
        let files = options.files.times().min(self.files);
        let messages = if options.batch { 1 } else { files };
        Amount {
            notifications: messages,
            ..wait_amount(times(options.cadence.0, files))
        }
    }

    fn open(&mut self, options: &Open) -> Amount {
        let wanted = options.files.times().min(self.files);
        let opened = match options.pick {
            Pick::First => wanted.saturating_sub(self.open),
            Pick::Next => wanted.min(self.files - self.open.min(self.files)),
        };
        self.open += opened;
        notification_amount(opened, options.cadence)
    }
}

/// The mode of an idle step, and the limit of one that waits until memory settles. Empty for other steps.
fn idle_detail(step: &Step) -> String {
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

/// At least one file, since how many match a pattern is not known.
fn disk_amount(options: &Disk) -> Amount {
    let files = options.files.map_or(1, Count::times);
    Amount {
        notifications: 1,
        ..wait_amount(times(options.cadence.0, files))
    }
}

fn session_amount(session: &Session) -> Amount {
    let (recorded, length) = (&session.recorded, session.recorded.length());
    Amount {
        requests: recorded.requests(),
        notifications: recorded.messages.len() as u64 - recorded.requests(),
        least: session.speed.scale(Duration::from_nanos(length)),
    }
}

fn wait_amount(least: Duration) -> Amount {
    Amount {
        least,
        ..Amount::default()
    }
}

/// One that waits until memory settles takes at least [`Idle::STEADY`].
fn idle_amount(options: &Idle) -> Amount {
    let time = match options.end() {
        IdleEnd::After(time) => time.0,
        IdleEnd::Settled { at_most } => at_most.unwrap_or(Idle::STEADY).min(Idle::STEADY).0,
    };
    let every = options.traffic().map(|every| every.0.as_nanos().max(1));
    let ticks = every.map_or(0, |every| time.as_nanos() / every);
    Amount {
        notifications: u64::try_from(ticks).unwrap_or(u64::MAX),
        ..wait_amount(time)
    }
}

fn notification_amount(notifications: u64, cadence: Span) -> Amount {
    Amount {
        notifications,
        ..wait_amount(times(cadence.0, notifications))
    }
}

/// Texts that are typed key by key and undone in one stroke.
fn typing_amount(texts: u64, text: Option<&str>, keystrokes: Option<Count>, cadence: Span) -> Amount {
    let length = text.map_or(SHORT_LINE, |text| text.chars().count() as u64);
    let keys = keystrokes.map_or(length, |most| length.min(u64::from(most.get())));
    notification_amount(texts * keys, cadence) + notification_amount(texts, Span::from_millis(0))
}

#[cfg(test)]
mod tests;
