//! The drawing thread: draws a few times per second, and promptly when a line is due.
//!
//! Only this thread writes to stderr, so driver and sampler never wait for a terminal.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anstream::AutoStream;
use terminal_size::{Width, terminal_size_of};

use super::Look;
use super::state::State;

pub(super) const PERIOD: Duration = Duration::from_millis(250);

/// Least time between two draws.
const SHORTEST: Duration = Duration::from_millis(125);

/// Terminals show nothing between these two codes.
const BEGIN_UPDATE: &str = "\x1b[?2026h";
const END_UPDATE: &str = "\x1b[?2026l";

const CLEAR_TO_LINE_END: &str = "\x1b[K";
const CLEAR_TO_SCREEN_END: &str = "\x1b[J";

enum Order {
    Line(String),
    /// Hides the block until `Resume`; answered when it is hidden.
    Pause(Sender<()>),
    Resume,
}

/// True if the terminal can redraw: a dumb one prints cursor codes as text.
pub fn can_redraw(kind: Option<&str>, columns: usize) -> bool {
    kind != Some("dumb") && columns > 0
}

/// Columns of the terminal, or 80 if unknown.
pub fn columns() -> usize {
    let size = terminal_size_of(std::io::stderr()).or_else(|| terminal_size_of(std::io::stdout()));
    size.map_or(80, |(Width(columns), _)| usize::from(columns))
}

/// The running thread. Dropping it removes the block.
pub struct Screen {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Starts the thread; without `block` it only writes lines.
    pub fn start(state: Arc<Mutex<State>>, began: Instant, look: Look, block: bool) -> Screen {
        let (orders, received) = mpsc::channel();
        let body = move || {
            let mut artist = Artist {
                state,
                began,
                look,
                painter: Painter::new(AutoStream::always_ansi(std::io::stderr())),
                block,
                paused: false,
            };
            artist.run(&received);
        };
        // Without a thread there is no display, but the measurement continues.
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(body).ok();
        Screen {
            orders: Some(orders),
            thread,
        }
    }

    pub fn say(&self, text: String) {
        self.order(Order::Line(text));
    }

    /// Hides the block for other output, until [`Screen::resume`].
    pub fn pause(&self) {
        let (gone, wait) = mpsc::channel();
        self.order(Order::Pause(gone));
        // A thread that has ended shows nothing.
        let _ = wait.recv();
    }

    pub fn resume(&self) {
        self.order(Order::Resume);
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic printed its message when it happened.
            let _ = thread.join();
        }
    }
}

struct Artist<W: Write> {
    state: Arc<Mutex<State>>,
    began: Instant,
    look: Look,
    painter: Painter<W>,
    block: bool,
    paused: bool,
}

impl<W: Write> Artist<W> {
    fn run(&mut self, orders: &Receiver<Order>) {
        let mut next = Instant::now();
        let mut lines: Vec<String> = Vec::new();
        let mut drawn: Option<Instant> = None;
        loop {
            let soonest = drawn.map_or(next, |drawn| drawn + SHORTEST);
            let due = if lines.is_empty() { next } else { next.min(soonest) };
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Order::Line(line)) => lines.push(line),
                Ok(Order::Pause(gone)) => {
                    self.paused = true;
                    self.draw(&mut lines);
                    let _ = gone.send(());
                }
                Ok(Order::Resume) => self.paused = false,
                Err(RecvTimeoutError::Timeout) => {
                    let now = Instant::now();
                    if now >= next {
                        next = now + PERIOD;
                        lock(&self.state).tick();
                    }
                    self.draw(&mut lines);
                    drawn = Some(now);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.paused = true;
                    self.draw(&mut lines);
                    return;
                }
            }
        }
    }

    fn draw(&mut self, lines: &mut Vec<String>) {
        let columns = columns();
        let block = if self.block && !self.paused && columns > 0 {
            // The last column stays empty: a full line would wrap.
            let room = columns.saturating_sub(1).max(1);
            self.painter.columns = columns.max(1);
            lock(&self.state).lines(self.began.elapsed(), room, self.look)
        } else {
            Vec::new()
        };
        // A write error must not stop the run.
        let _ = self.painter.paint(lines, block);
        lines.clear();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Writes lines above a block that it redraws in place.
struct Painter<W: Write> {
    out: W,
    columns: usize,
    /// The terminal's width when the block was drawn.
    drawn_at: usize,
    shown: Vec<String>,
}

impl<W: Write> Painter<W> {
    fn new(out: W) -> Painter<W> {
        Painter {
            out,
            columns: 80,
            drawn_at: 80,
            shown: Vec::new(),
        }
    }

    /// Writes everything in one call, so that no partial block is visible; writes nothing without a change.
    fn paint(&mut self, lines: &[String], block: Vec<String>) -> std::io::Result<()> {
        if lines.is_empty() && block == self.shown {
            return Ok(());
        }
        let mut text = String::new();
        let on_screen = !self.shown.is_empty() || !block.is_empty();
        let line_end = if on_screen { CLEAR_TO_LINE_END } else { "" };
        if on_screen {
            text.push_str(BEGIN_UPDATE);
            text.push_str(&self.to_top());
            if self.columns != self.drawn_at {
                text.push_str(CLEAR_TO_SCREEN_END);
                self.drawn_at = self.columns;
            }
        }
        for line in lines
            .iter()
            .flat_map(|line| line.split('\n'))
            .chain(block.iter().map(String::as_str))
        {
            text.extend([line, line_end, "\n"]);
        }
        if on_screen {
            text.extend([CLEAR_TO_SCREEN_END, END_UPDATE]);
        }
        self.shown = block;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Moves to the block's first row. A narrower terminal has wrapped its lines into more rows.
    fn to_top(&self) -> String {
        let rows = |line: &String| {
            let plain = anstream::adapter::strip_str(line).to_string();
            base::text::width(&plain).div_ceil(self.columns).max(1)
        };
        match self.shown.iter().map(rows).sum::<usize>() {
            0 => "\r".to_owned(),
            rows => format!("\r\x1b[{rows}A"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The terminal's text after a paint.
    fn screen(painter: &mut Painter<Vec<u8>>, terminal: &mut vt100::Parser) -> String {
        // A terminal driver converts line ends like this.
        let bytes: Vec<u8> = std::mem::take(&mut painter.out);
        let text = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
        terminal.process(text.as_bytes());
        terminal.screen().contents().trim_end().to_owned()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn lines_stay_above_a_block_that_is_drawn_over_itself_and_goes_in_the_end() {
        let mut terminal = vt100::Parser::new(8, 20, 0);
        let mut painter = Painter::new(Vec::new());
        painter.columns = 20;
        let mut paint = |lines: &[&str], block: &[&str]| {
            painter.paint(&texts(lines), texts(block)).unwrap();
            screen(&mut painter, &mut terminal)
        };
        assert_eq!(paint(&["$ before"], &[]), "$ before");
        assert_eq!(paint(&[], &["one long line", "two"]), "$ before\none long line\ntwo");
        assert_eq!(paint(&[], &["one", "two"]), "$ before\none\ntwo");
        assert_eq!(
            paint(&["warning: a\nb", "c"], &["one"]),
            "$ before\nwarning: a\nb\nc\none"
        );
        assert_eq!(paint(&[], &[]), "$ before\nwarning: a\nb\nc");
        assert_eq!(paint(&["after"], &[]), "$ before\nwarning: a\nb\nc\nafter");
    }

    #[test]
    fn a_terminal_that_is_dumb_or_of_no_width_gets_plain_lines() {
        assert!(can_redraw(Some("xterm-256color"), 80) && can_redraw(None, 1));
        assert!(!can_redraw(Some("dumb"), 80));
        assert!(!can_redraw(Some("xterm"), 0));
    }

    #[test]
    fn nothing_is_written_where_nothing_changed() {
        let mut painter = Painter::new(Vec::new());
        painter.paint(&[], texts(&["one"])).unwrap();
        let written = painter.out.len();
        painter.paint(&[], texts(&["one"])).unwrap();
        assert_eq!(painter.out.len(), written);
    }

    #[test]
    fn lines_without_a_block_have_no_codes() {
        let mut painter = Painter::new(Vec::new());
        painter.paint(&texts(&["one", "two"]), Vec::new()).unwrap();
        assert_eq!(painter.out, b"one\ntwo\n");
    }

    #[test]
    fn a_terminal_that_became_narrower_has_more_rows_to_take_away() {
        let mut painter = Painter::new(Vec::new());
        painter.columns = 20;
        painter.paint(&[], texts(&["0123456789abcde", "two"])).unwrap();
        let mut terminal = vt100::Parser::new(8, 10, 0);
        // The terminal wraps what is too wide, as on a resize.
        assert_eq!(screen(&mut painter, &mut terminal), "0123456789abcde\ntwo");
        painter.columns = 10;
        painter.paint(&[], texts(&["one"])).unwrap();
        assert_eq!(screen(&mut painter, &mut terminal), "one");
    }
}
