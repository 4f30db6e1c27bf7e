//! Golden blocks: one state of a campaign at several widths.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::pace::Pace;
use super::state::State;
use super::{Look, RunPlace};
use crate::config::Scenario;
use crate::plan::outline;
use record::{Event, PhaseRef, StepStart};

const SCENARIO: &str = "format = 1\nname = 'completions'\n\
    [[phase]]\nname = 'start'\nsteps = [{ start = {} }]\n\
    [[phase]]\nname = 'goto'\nrepeat = { times = 60 }\nsteps = [{ open = { files = 20 } }, { definition = { per-file = 20 } }]\n\
    [[phase]]\nname = 'decay'\nsteps = [{ idle = { mode = 'silent', until = 'settled', at-most = '60s' } }]\n";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn phase(number: u32, cycle: u32, name: &str) -> PhaseRef {
    PhaseRef {
        phase: number,
        cycle,
        name: name.to_owned(),
    }
}

fn started(state: &mut State, at: u64) {
    state.take_event(
        &Event::Spawned {
            pid: 1,
            restarts: 0,
            window: 0,
        },
        seconds(at),
    );
}

/// The second of twelve runs, five seconds into a step.
fn state(step: StepStart) -> State {
    let scenario: Scenario = crate::config::place::read(SCENARIO).unwrap();
    let pace = Pace::new(outline(&scenario, 30), [0, 1].repeat(6), None);
    let mut state = State::new("completions".to_owned(), pace);
    let place = |number: usize| RunPlace {
        number,
        name: format!("run {number} of 12"),
        server: number - 1,
        label: ["ty", "ty-with-a-rather-long-label"][number - 1].to_owned(),
    };
    state.begin(place(1));
    started(&mut state, 0);
    state.end(true, seconds(90));
    state.begin(place(2));
    started(&mut state, 90);
    let private = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&private);
    let peak = AtomicU64::new(0);
    state.follow(Arc::new(move || {
        let now = read.load(Ordering::Relaxed);
        (Some(now), Some(peak.fetch_max(now, Ordering::Relaxed).max(now)))
    }));
    for value in (0..200_u64).map(|n| (n % 50 + n / 2) << 20) {
        private.store(value, Ordering::Relaxed);
        state.tick();
    }
    state.take_event(&Event::PhaseStarted(step.phase.clone()), seconds(100));
    state.take_event(&Event::StepStarted(step), seconds(105));
    state
}

fn definition() -> State {
    let step = StepStart {
        phase: phase(1, 11, "goto"),
        step: 1,
        name: "definition".to_owned(),
        method: None,
    };
    let mut state = state(step);
    let request = record::Request {
        method: "textDocument/definition".to_owned(),
        latency: None,
        outcome: record::Outcome::Null,
        bytes: 0,
        items: None,
        retries: 0,
        editor: false,
    };
    (0..120).for_each(|_| state.take_event(&Event::Request(request.clone()), seconds(106)));
    state
}

fn block(state: &State, columns: usize, ascii: bool) -> String {
    let look = Look { color: false, ascii };
    let lines = state.lines(seconds(110), columns, look);
    for line in &lines {
        assert!(base::text::width(line) <= columns, "{line}");
    }
    lines.join("\n")
}

#[test]
fn the_block_in_terminals_of_every_width() {
    for columns in [40, 60, 100, 200] {
        insta::assert_snapshot!(format!("block-{columns}"), block(&definition(), columns, false));
    }
    insta::assert_snapshot!("block-ascii", block(&definition(), 100, true));
}

#[test]
fn the_block_of_a_window_in_which_nothing_is_asked() {
    let step = StepStart {
        phase: phase(2, 0, "decay"),
        step: 0,
        name: "idle".to_owned(),
        method: None,
    };
    insta::assert_snapshot!("block-idle", block(&state(step), 100, false));
}

#[test]
fn a_block_is_never_wider_than_the_terminal() {
    for columns in 1..250 {
        block(&definition(), columns, false);
    }
}

#[test]
fn before_and_between_runs_there_is_little_to_say() {
    let mut state = definition();
    state.end(false, seconds(120));
    assert_eq!(block(&state, 100, false), "");
    let place = RunPlace {
        number: 3,
        name: "run 3 of 12".to_owned(),
        server: 0,
        label: "ty".to_owned(),
    };
    state.begin(place);
    insta::assert_snapshot!("block-preparing", block(&state, 100, false));
}

#[test]
fn what_a_server_is_called_steers_no_terminal() {
    let mut state = definition();
    let place = RunPlace {
        number: 3,
        name: "run 3 of 12".to_owned(),
        server: 0,
        label: "ty\u{1b}[2J\nx".to_owned(),
    };
    state.begin(place);
    assert!(!block(&state, 100, false).contains('\u{1b}'));
}

/// The first line of a single run, whose server started after a build of one minute.
fn only(at: u64) -> String {
    let scenario: Scenario = crate::config::place::read(SCENARIO).unwrap();
    let pace = Pace::new(outline(&scenario, 30), vec![0], None);
    let mut state = State::new("completions".to_owned(), pace);
    state.begin(RunPlace::default());
    started(&mut state, 60);
    state.take_event(&Event::PhaseStarted(phase(2, 0, "decay")), seconds(70));
    let look = Look::default();
    state.lines(seconds(at), 100, look).remove(0)
}

#[test]
fn what_comes_before_the_server_is_no_time_of_the_run() {
    assert!(only(75).starts_with("completions  15 s, at least "), "{}", only(75));
}

#[test]
fn no_share_and_no_time_is_told_where_only_the_least_is_known_and_over() {
    assert_eq!(only(1_000), "completions  15 min 40 s");
    assert!(!only(75).contains('%'), "{}", only(75));
}
