//! What a person sees on stderr while runs go on: one calm block on a terminal, plain lines elsewhere.

mod lines;
mod pace;
mod screen;
mod spark;
mod state;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use crate::locale;
use crate::plan::Outline;
use crate::record::{Event, PhaseRef, Strain};
use crate::text::{clean_lines, clean_styled, fold};

use lines::Lines;
use pace::Pace;
use screen::Screen;
use state::State;

/// The latest figures of the tree of a server: its private memory now, and the highest so far.
pub type Pulse = Arc<dyn Fn() -> (Option<u64>, Option<u64>) + Send + Sync>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Talk {
    Quiet,
    /// How far it is, and warnings.
    #[default]
    Usual,
    /// Every phase and step, every command, and the end of every server's stderr.
    Verbose,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub color: bool,
    pub ascii: bool,
}

impl Look {
    /// Between a phase and its step.
    fn arrow(self) -> char {
        if self.ascii { '>' } else { '›' }
    }
}

#[derive(Clone, Debug)]
pub struct Course {
    pub scenario: String,
    pub outline: Outline,
    /// The servers of the runs in their order, by their place on the command line.
    pub runs: Vec<usize>,
    /// The time that was given for all of them.
    pub budget: Option<Duration>,
}

/// Which of the runs one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its place among those that are played here, from 1.
    pub number: usize,
    /// What it is called, such as `run 5 of 12`; empty where there is only one.
    pub name: String,
    /// The server, by its place on the command line.
    pub server: usize,
    pub label: String,
}

/// Shows events as they happen. Clones show the same; every call only takes a note.
#[derive(Clone)]
pub struct Progress(Arc<Inner>);

struct Inner {
    began: Instant,
    state: Arc<Mutex<State>>,
    lines: Mutex<Lines>,
    screen: Mutex<Option<Screen>>,
}

/// What is shown for as long as this lives.
pub struct Shown(Progress);

/// The block is gone for as long as this lives.
pub struct Hidden<'p>(&'p Progress);

/// Where lines go, so that they do not run through the block.
static CURRENT: Mutex<Option<Weak<Inner>>> = Mutex::new(None);

/// Says something beside the report, above the block where there is one. Where stderr takes nothing, nobody can be told.
pub fn say(text: &str) {
    let current = lock(&CURRENT).as_ref().and_then(Weak::upgrade);
    match current.as_ref().map(|inner| lock(&inner.screen)).as_deref() {
        Some(Some(screen)) => screen.say(shown(text)),
        Some(None) | None => {
            let _ = writeln!(anstream::stderr(), "{}", shown(text));
        }
    }
}

/// The text as stderr takes it: without codes where colours are not wanted, and in lines of a terminal's width, which would
/// break them inside words. What is kept in a file stays whole.
fn shown(text: &str) -> String {
    let text = match wants_color() {
        true => clean_styled(text),
        false => clean_lines(text),
    };
    match room() {
        Some(columns) => fold(&text, columns),
        None => text,
    }
}

/// The columns of stderr, where it is a terminal.
pub fn room() -> Option<usize> {
    std::io::stderr().is_terminal().then(columns)
}

/// As wide as COLUMNS says, or the terminal.
pub fn columns() -> usize {
    let typed = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    typed.unwrap_or_else(screen::columns)
}

fn wants_color() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

impl Progress {
    pub fn silent() -> Progress {
        Progress::new(State::default(), Lines::new(Talk::Quiet, false, Look::default()))
    }

    fn new(state: State, lines: Lines) -> Progress {
        Progress(Arc::new(Inner {
            began: Instant::now(),
            state: Arc::new(Mutex::new(state)),
            lines: Mutex::new(lines),
            screen: Mutex::new(None),
        }))
    }

    pub fn show(course: Course, talk: Talk) -> Shown {
        let look = Look {
            color: wants_color(),
            ascii: !locale::is_utf8(),
        };
        let kind = std::env::var("TERM").ok();
        let block =
            talk != Talk::Quiet && std::io::stderr().is_terminal() && screen::moves(kind.as_deref(), screen::columns());
        let pace = Pace::new(course.outline, course.runs, course.budget);
        let progress = Progress::new(State::new(course.scenario, pace), Lines::new(talk, block, look));
        if talk != Talk::Quiet {
            let inner = &progress.0;
            *lock(&inner.screen) = Some(Screen::start(Arc::clone(&inner.state), inner.began, look, block));
            *lock(&CURRENT) = Some(Arc::downgrade(inner));
        }
        Shown(progress)
    }

    /// A run begins with its preparation.
    pub fn begin(&self, place: &Place) {
        let lines = lock(&self.0.lines).begin(place);
        self.say(lines);
        self.state().begin(place.clone());
    }

    /// The run has ended; one that was played to its end tells how long such runs take.
    pub fn end(&self, whole: bool) {
        self.state().end(whole, self.now());
    }

    /// A run was played before the campaign was gone on with.
    pub fn played(&self, server: usize, took: Duration) {
        let mut state = self.state();
        state.before += took;
        state.pace.played(server, took);
    }

    pub fn command(&self, command: &str) {
        let lines = lock(&self.0.lines).command(command);
        self.say(lines);
    }

    /// What about the machine makes the figures of the run that begins less sure. It is told when it was not so of the run
    /// before: of most campaigns once.
    pub fn strained(&self, now: &[(Strain, String)]) {
        let lines = lock(&self.0.lines).strained(now);
        self.say(lines);
    }

    pub fn on(&self, event: &Event) {
        self.state().on(event, self.now());
        let lines = lock(&self.0.lines).on(event, self.now());
        self.say(lines);
    }

    pub fn settled(&self, phase: &PhaseRef) {
        let private = self.state().private();
        let lines = lock(&self.0.lines).settled(phase, private, self.now());
        self.say(lines);
    }

    /// There are figures of the server's tree: its latest ones are shown from here on.
    pub fn follow(&self, pulse: Pulse) {
        self.state().follow(pulse);
    }

    /// A person wants the run to end, and the server is shut down first: says how not to wait for that.
    pub fn closing(&self) {
        const WORDS: &str = "shutting the server down; ctrl-c again kills it";
        self.state().says(WORDS);
        let lines = lock(&self.0.lines).closing(WORDS);
        self.say(lines);
    }

    /// Takes the block away while something else writes to stderr.
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
            lines.into_iter().for_each(|line| screen.say(shown(&line)));
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
        // Taken out first: who says something meanwhile writes it itself.
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
