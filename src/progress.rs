//! What a person sees on stderr while a run goes on: one calm line on a terminal, plain lines elsewhere.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::locale;
use crate::record::{Event, ReadyOutcome, StepEnd};
use crate::units;

/// Shows events as they happen. Cheap to call: a sample only updates two numbers.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
    /// Between a phase and its step.
    arrow: char,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: String,
    step: String,
    requests: u64,
    private: Option<u64>,
}

impl Progress {
    /// A line on stderr for `label`; nothing at all when `quiet`.
    pub fn new(label: &str, quiet: bool) -> Progress {
        let terminal = console_is_terminal() && !quiet;
        let target = if terminal {
            ProgressDrawTarget::stderr_with_hz(8)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let utf8 = locale::is_utf8();
        let mut style = ProgressStyle::with_template("{spinner} {prefix:.bold} {elapsed:>4}  {wide_msg}")
            .expect("the template is a constant and well formed");
        if !utf8 {
            style = style.tick_chars("-\\|/ ");
        }
        bar.set_style(style);
        bar.set_prefix(label.to_owned());
        if terminal {
            bar.enable_steady_tick(Duration::from_millis(125));
        }
        Progress {
            bar,
            terminal: terminal || quiet,
            arrow: if utf8 { '›' } else { '>' },
            state: Mutex::new(State::default()),
        }
    }

    /// Takes note of what happened.
    pub fn on(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match event {
            Event::PhaseStarted(phase) => {
                state.phase.clone_from(&phase.name);
                state.step.clear();
                state.requests = 0;
            }
            Event::StepStarted(step) => state.step.clone_from(&step.name),
            Event::PhaseDriven(_) => "settling".clone_into(&mut state.step),
            Event::Request(_) => state.requests += 1,
            Event::StepEnded(step) => self.line(&step_line(step, self.arrow)),
            Event::Ready(ready) if matches!(ready.outcome, ReadyOutcome::Timeout | ReadyOutcome::Failed) => {
                self.line(&format!("readiness: {}", ready.missing));
            }
            Event::Warning(warning) => self.line(&format!("warning: {}", warning.text)),
            _ => {}
        }
        self.bar.set_message(state.text(self.arrow));
    }

    /// Shows the tree's private memory as it is now.
    pub fn private(&self, bytes: Option<u64>) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.private = bytes;
        self.bar.set_message(state.text(self.arrow));
    }

    /// A person wants the run to end, and the server is shut down first: says how not to wait for that.
    pub fn closing(&self) {
        const WORDS: &str = "shutting the server down; ctrl-c again kills it";
        self.line(WORDS);
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *state = State {
            phase: WORDS.to_owned(),
            ..State::default()
        };
        self.bar.set_message(state.text(self.arrow));
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A lasting line, where no bar is drawn.
    fn line(&self, text: &str) {
        if !self.terminal {
            // Where stderr takes nothing, nobody can be told, and the run goes on.
            let _ = writeln!(anstream::stderr(), "{}: {text}", self.bar.prefix());
        }
    }
}

impl State {
    fn text(&self, arrow: char) -> String {
        let mut text = self.phase.clone();
        if !self.step.is_empty() {
            text = format!("{text} {arrow} {}", self.step);
        }
        // A narrow terminal cuts the end off, so what matters least stands there.
        if let Some(bytes) = self.private {
            text = format!("{text}  {} private", units::bytes(bytes));
        }
        if self.requests > 0 {
            text = format!("{text}  {}", units::counted(self.requests, "request"));
        }
        text
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
        (false, 0, notifications) => units::counted(notifications, "notification"),
        (false, requests, _) => format!("hits {}/{}", units::count(*hits), units::count(requests)),
    };
    format!("{} {arrow} {name}: {what}", phase.name)
}

fn console_is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PhaseRef;

    #[test]
    fn the_line_of_a_step_says_what_came_of_it() {
        let line = |requests, hits, notifications, skipped| {
            let phase = PhaseRef {
                phase: 0,
                cycle: 0,
                name: "goto".to_owned(),
            };
            let name = "open".to_owned();
            let step = StepEnd {
                phase,
                step: 0,
                name,
                requests,
                hits,
                notifications,
                skipped,
                idle: None,
                left_open: None,
            };
            step_line(&step, '>')
        };
        assert_eq!(line(1_200, 7, 3, false), "goto > open: hits 7/1,200");
        assert_eq!(line(0, 0, 1, false), "goto > open: 1 notification");
        assert_eq!(line(0, 0, 0, false), "goto > open: ended");
        assert_eq!(
            line(0, 0, 0, true),
            "goto > open: skipped, the server does not offer it"
        );
    }
}
