//! Progress on stderr: a status block on a terminal, plain lines elsewhere.

mod lines;
mod pace;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use crate::plan::Outline;
use base::locale;
use base::text::ascii;
use base::text::{clean_lines, clean_styled, cut, fold};
use record::{Event, PhaseRef, Strain};

use lines::Lines;
use pace::Pace;
use screen::Screen;
use state::State;

/// Reads private memory of the server's tree: current, and highest so far.
pub type Pulse = Arc<dyn Fn() -> (Option<u64>, Option<u64>) + Send + Sync>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    Quiet,
    /// Progress and warnings.
    #[default]
    Usual,
    /// Also every phase, step and command, and the end of every server's stderr.
    Verbose,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub color: bool,
    pub ascii: bool,
}

impl Look {
    /// Separates a phase from its step.
    fn arrow(self) -> char {
        if self.ascii { '>' } else { '›' }
    }
}

#[derive(Clone, Debug)]
pub struct Course {
    pub scenario: String,
    pub outline: Outline,
    /// Server of each run, in order, by its place on the command line.
    pub runs: Vec<usize>,
    pub budget: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPlace {
    /// Position among the runs of this machine, from 1.
    pub number: usize,
    /// Name such as `run 5 of 12`; empty for a single run.
    pub name: String,
    /// Place of the server on the command line.
    pub server: usize,
    /// Of the server; empty for several runs at once.
    pub label: String,
}

/// Shows events as they happen. Clones share the display; no call blocks.
#[derive(Clone)]
pub struct Progress(Arc<Inner>);

struct Inner {
    began: Instant,
    state: Arc<Mutex<State>>,
    lines: Mutex<Lines>,
    screen: Mutex<Option<Screen>>,
}

/// The display lasts as long as this value.
pub struct Shown(Progress);

/// The block is hidden as long as this value lives.
pub struct Hidden<'p>(&'p Progress);

/// The current display, which [`say`] writes through.
static CURRENT: Mutex<Option<Weak<Inner>>> = Mutex::new(None);

/// Prints a line to stderr, above the block if there is one. Ignores write errors.
pub fn say(text: &str) {
    let current = lock(&CURRENT).as_ref().and_then(Weak::upgrade);
    match current.as_ref().map(|inner| lock(&inner.screen)).as_deref() {
        Some(Some(screen)) => screen.say(formatted(text)),
        Some(None) | None => {
            let _ = writeln!(anstream::stderr(), "{}", formatted(text));
        }
    }
}

/// A line on a terminal that says what a command is doing, until the next one or until it is dropped.
#[derive(Default)]
pub struct Status {
    is_shown: std::cell::Cell<bool>,
}

impl Status {
    /// Shows nothing where stderr is no terminal. Ignores write errors.
    pub fn show(&self, text: &str) {
        if let Some(columns) = terminal_columns() {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", cut(text, columns.saturating_sub(1)));
            self.is_shown.set(true);
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if self.is_shown.get() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Text for stderr: without colour codes where unwanted, and folded to a terminal's width. Text for a file stays
/// unfolded.
fn formatted(text: &str) -> String {
    let text = if wants_color() {
        clean_styled(text)
    } else {
        clean_lines(text)
    };
    let text = if is_utf8() { text } else { ascii(&text) };
    match terminal_columns() {
        Some(columns) => fold(&text, columns),
        None => text,
    }
}

/// Columns of stderr; `None` unless it is a terminal.
pub fn terminal_columns() -> Option<usize> {
    std::io::stderr().is_terminal().then(columns)
}

/// `COLUMNS`, or else the terminal's width.
pub fn columns() -> usize {
    let typed = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    typed.unwrap_or_else(screen::columns)
}

pub fn is_utf8() -> bool {
    locale::is_utf8(|name| std::env::var(name).ok())
}

fn wants_color() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

impl Progress {
    pub fn silent() -> Progress {
        Progress::new(State::default(), Lines::new(Verbosity::Quiet, false, Look::default()))
    }

    fn new(state: State, lines: Lines) -> Progress {
        Progress(Arc::new(Inner {
            began: Instant::now(),
            state: Arc::new(Mutex::new(state)),
            lines: Mutex::new(lines),
            screen: Mutex::new(None),
        }))
    }

    pub fn show(course: Course, talk: Verbosity) -> Shown {
        let look = Look {
            color: wants_color(),
            ascii: !is_utf8(),
        };
        let kind = std::env::var("TERM").ok();
        let block = talk != Verbosity::Quiet
            && std::io::stderr().is_terminal()
            && screen::can_redraw(kind.as_deref(), screen::columns());
        let pace = Pace::new(course.outline, course.runs, course.budget);
        let progress = Progress::new(State::new(course.scenario, pace), Lines::new(talk, block, look));
        if talk != Verbosity::Quiet {
            let inner = &progress.0;
            *lock(&inner.screen) = Some(Screen::start(Arc::clone(&inner.state), inner.began, look, block));
            *lock(&CURRENT) = Some(Arc::downgrade(inner));
        }
        Shown(progress)
    }

    /// A run begins with its preparation.
    pub fn begin(&self, place: &RunPlace) {
        let lines = lock(&self.0.lines).begin(place);
        self.say(lines);
        self.state().begin(place.clone());
    }

    /// A run has ended. The time of a complete run (`whole`) improves the estimate.
    pub fn end(&self, whole: bool) {
        self.state().end(whole, self.now());
    }

    /// A run from before a resume.
    pub fn played(&self, server: usize, took: Duration) {
        let mut state = self.state();
        state.before += took;
        state.pace.record_run(server, took);
    }

    /// A run that another process played.
    pub fn played_elsewhere(&self, server: usize, took: Duration) {
        self.state().played_elsewhere(server, took);
    }

    pub fn command(&self, command: &str) {
        let lines = lock(&self.0.lines).command(command);
        self.say(lines);
    }

    /// Warns about the machine at the start of a run. Conditions that the previous run also had are not repeated.
    pub fn warn_of_strains(&self, now: &[(Strain, String)]) {
        let lines = lock(&self.0.lines).strained(now);
        self.say(lines);
    }

    pub fn show_event(&self, event: &Event) {
        self.state().take_event(event, self.now());
        let lines = lock(&self.0.lines).lines_of(event, self.now());
        self.say(lines);
    }

    pub fn show_settled(&self, phase: &PhaseRef) {
        let private = self.state().private();
        let lines = lock(&self.0.lines).settled(phase, private, self.now());
        self.say(lines);
    }

    /// Shows memory from now on.
    pub fn follow(&self, pulse: Pulse) {
        self.state().follow(pulse);
    }

    /// The user interrupts the run and the server shuts down first: tells how to skip the wait.
    pub fn say_shutting_down(&self) {
        const WORDS: &str = "shutting the server down; ctrl-c again kills it";
        self.state().show_text(WORDS);
        let lines = lock(&self.0.lines).closing(WORDS);
        self.say(lines);
    }

    /// Hides the block while another program writes to stderr.
    pub fn hide(&self) -> Hidden<'_> {
        if let Some(screen) = lock(&self.0.screen).as_ref() {
            screen.pause();
        }
        Hidden(self)
    }

    pub fn is_silent(&self) -> bool {
        lock(&self.0.screen).is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    fn now(&self) -> Duration {
        self.0.began.elapsed()
    }

    fn say(&self, lines: Vec<String>) {
        if let Some(screen) = lock(&self.0.screen).as_ref() {
            lines.into_iter().for_each(|line| screen.say(formatted(&line)));
        }
    }
}

impl Shown {
    pub fn progress(&self) -> &Progress {
        &self.0
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // Taken out first, so that a concurrent `say` writes to stderr itself.
        let screen = lock(&self.0.0.screen).take();
        drop(screen);
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        if let Some(screen) = lock(&self.0.0.screen).as_ref() {
            screen.resume();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
