//! Memory released in idle windows, known from the fixture and its allocator.
//!
//! Times are held against the allocator's configured decay time, not against the machine's speed. The bands allow for
//! a busy machine.

use std::time::Duration;

use analysis::summary::Summary;
use analysis::summary::decay::{Course, Window, WindowKind};
use record::{Delay, Event, WindowEnd};

use crate::fixture::{JEMALLOC, MIMALLOC, SNMALLOC, SYSTEM};
use crate::outcome::{MIB, Outcome, changed, increment, private};
use crate::peer::Peer;
use crate::soak::{START, Soak};

/// Between two samples, in nanoseconds.
const INTERVAL: u64 = 50_000_000;

/// Opens documents, closes all, and idles at once.
const CLOSED: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }]
[[phase]]
name = "decay"
steps = [{ close = {} }, { idle = { mode = "silent", until = "settled" } }]
"#;

#[track_caller]
pub fn course(window: &Window) -> Course {
    window.private.clone().expect("no process was forked")
}

fn windows(summary: &Summary, kind: WindowKind) -> impl Iterator<Item = &Window> {
    summary.windows.iter().filter(move |window| window.kind == kind)
}

#[track_caller]
pub fn one(summary: &Summary, kind: WindowKind) -> &Window {
    let mut found = windows(summary, kind);
    let one = found
        .next()
        .unwrap_or_else(|| panic!("no window: {:?}", summary.windows));
    assert!(found.next().is_none(), "one window of a kind");
    one
}

#[track_caller]
fn near(share: Option<f64>, truth: f64) {
    let share = share.expect("much was taken");
    assert!((share - truth).abs() < 0.02, "{share}, not {truth}");
}

#[test]
fn what_decays_in_silence_has_its_time_its_floor_and_its_share() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "silence"
steps = [{ idle = { mode = "silent", for = "9s" } }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--decay", "32MiB-after=5s"])
        .run();
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    let course = course(window);
    changed(course.released(), (32 * MIB).cast_signed());
    near(course.returned, 1.0);
    // Memory falls in one step, into which one sample may fall: every time is that step's.
    let fell = course.t50.expect("it fell");
    for time in [course.t90, course.settle_time] {
        assert!(
            time.is_some_and(|time| (fell..=fell + 2 * INTERVAL).contains(&time)),
            "{time:?} after {fell}"
        );
    }
    let [first, _, _, last] = course.at;
    assert_eq!((first, last), (Some(course.before), None));
    assert_eq!(window.end_reason(), Some(WindowEnd::Ended));
    outcome.says(&["32.0 MiB released while idle (100 % of the growth so far)"]);
}

#[test]
fn what_waits_for_traffic_is_held_in_silence_and_comes_back_with_it() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "decay"
steps = [
    { idle = { mode = "silent", until = "settled", dwell = "9s" } },
    { idle = { mode = "simmer", until = "settled" } },
]
[[phase]]
name = "close"
steps = [{ close = {} }]
"#;
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--decay-on-traffic", "32MiB", "--retain-open", "16MiB"])
        .run();
    let summary = outcome.passed();
    let silent = one(&summary, WindowKind::Silent);
    assert_eq!(silent.end_reason(), Some(WindowEnd::Held), "{silent:?}");
    assert_eq!(course(silent).t90, None, "a share of nothing is not known");
    near(course(silent).returned, 0.0);
    let simmer = one(&summary, WindowKind::Simmer);
    assert_eq!(simmer.end_reason(), Some(WindowEnd::Settled), "{simmer:?}");
    changed(course(simmer).released(), (32 * MIB).cast_signed());
    near(course(simmer).returned, 32.0 / 48.0);
    assert!(simmer.sent > 8, "{simmer:?}");
    changed(
        course(one(&summary, WindowKind::Closed)).released(),
        (16 * MIB).cast_signed(),
    );
    outcome.says(&[
        " MiB released in light traffic (6",
        "of the growth so far); 16.0 MiB released after closing all documents",
        "nothing released while idle (purges only on activity)",
    ]);
}

fn fixtures() -> Vec<&'static str> {
    vec![SYSTEM, JEMALLOC, MIMALLOC, SNMALLOC]
}

/// The fixture's reported memory after opening a document, and after `silence` and one more message.
fn held(program: &str, options: &[&str], key: &str, silence: Duration) -> [u64; 2] {
    let mut peer = Peer::start_on(program, options);
    peer.open("file:///a.py", "x = 1\n");
    let before = peer.truth()[key].as_u64().expect("it is a number");
    std::thread::sleep(silence);
    peer.close("file:///b.py");
    [before, peer.truth()[key].as_u64().expect("it is a number")]
}

/// The fixture maps its memory directly, so the allocator releases nothing in these windows. An earlier phase pays
/// the first cost of answers.
#[test]
fn each_window_gives_back_what_the_fixture_says_on_every_allocator() {
    let phases = r#"
[[phase]]
name = "open"
steps = [
    { open = { files = 1 } },
    { hover = { files = 1, per-file = 10 } },
    { document-highlight = { files = 1, per-file = 10 } },
]
[[phase]]
name = "decay"
steps = [{ idle = { mode = "silent", for = "8s" } }, { idle = { mode = "simmer", for = "2s" } }]
"#;
    let table = [
        (["--decay", "32MiB-after=4s"], "decay", WindowKind::Silent),
        (["--decay-on-traffic", "32MiB"], "decayOnTraffic", WindowKind::Simmer),
    ];
    let runs = fixtures().into_iter().flat_map(|program| {
        table.map(|(options, key, kind)| {
            std::thread::spawn(move || {
                let told = held(program, &options, key, Duration::from_secs(5));
                let outcome = Soak::new(&format!("{START}{phases}"))
                    .program_at(program)
                    .server(&options)
                    .run();
                (program, kind, told, outcome.passed())
            })
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let (program, kind, [before, after], summary) = run.join().expect("it passes");
        assert_eq!((before, after), (32 * MIB, 0), "{program}");
        for window in [WindowKind::Silent, WindowKind::Simmer] {
            let gave = course(one(&summary, window)).released();
            let truth = if window == kind { before - after } else { 0 };
            // An allocator may move a little by itself.
            let wrong = gave.abs_diff(truth.cast_signed());
            assert!(
                wrong <= MIB,
                "{program}: {gave} in {window:?}, {truth} by its own count"
            );
        }
    }
}

/// The server leaves memory to the kernel soon after closing documents; the kernel does not need it.
#[test]
fn what_closing_documents_left_to_the_kernel_is_told() {
    let phases = "[[phase]]\nname = \"open\"\nsteps = [{ open = { files = 3 } }]\n[[phase]]\nname = \"close\"\nsettle \
                  = { quiet \
                  = \"2s\" }\nsteps = [{ close = {} }]\n";
    let outcome = Soak::new(&format!("{START}{phases}"))
        .program_at(JEMALLOC)
        .server(&["--via", "allocator", "--retain-open", "16MiB"])
        .options(&[
            "--env",
            "_RJEM_MALLOC_CONF=background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:-1",
        ])
        .run();
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Closed);
    let became = window.became_lazy().expect("both ends are known");
    assert!((40 * MIB..50 * MIB).contains(&became), "{became}: {window:?}");
    assert!(course(window).released().unsigned_abs() < 4 * MIB, "{window:?}");
    outcome.says(&["after closing all documents", " MiB left for the kernel to reclaim"]);
}

#[test]
fn what_was_lazily_freed_is_told_of_a_silent_window() {
    let phases = CLOSED.replace("until = \"settled\"", "for = \"3s\"");
    let outcome = Soak::new(&format!("{START}{phases}"))
        .server(&["--lazily-free", "24MiB"])
        .run();
    let summary = outcome.passed();
    let window = one(&summary, WindowKind::Silent);
    let lazily = window.lazily_freed.expect("exact counters are read in silence");
    let after = course(window).after;
    // A kernel short of memory has taken some of it: that counts as released.
    let taken = private(&summary, "open").cast_signed() - after.cast_signed();
    changed(lazily.cast_signed() + taken, (24 * MIB).cast_signed());
    if lazily > MIB {
        let size = format!(" {:.1} ", lazily as f64 / MIB as f64);
        let row = outcome.stdout.lines().find(|line| line.contains("idle in decay"));
        assert!(
            row.is_some_and(|row| row.contains(&size)),
            "{size}: {}",
            outcome.output()
        );
    }
    // The exact counters of the checkpoint exclude it.
    let end = private(&summary, "decay");
    assert!(after.abs_diff(end + lazily) < MIB, "{window:?}, {end}");
}

/// The fixture on jemalloc with these options: it allocates 48 MiB, frees them and idles.
fn jemalloc(phases: &str, options: &str) -> Summary {
    let env = format!("_RJEM_MALLOC_CONF={options}");
    Soak::new(&format!("{START}{phases}"))
        .program_at(JEMALLOC)
        .server(&["--via", "allocator", "--retain-open", "16MiB"])
        .options(&["--env", &env])
        .run()
        .passed()
}

/// Four threads allocate this much and free nearly all of it. They stay alive, so that their end releases nothing.
const CHURN: [&str; 2] = ["--churn", "240MiB"];

/// The bytes that the fixture reports in use after a churn: the same in every process.
fn live_after_churn() -> u64 {
    let uri = "file:///a.py";
    let mut peer = Peer::start_on(JEMALLOC, &CHURN);
    peer.open(uri, "x = 1\n");
    assert_eq!(peer.truth()["churn"], 240 * MIB);
    peer.close(uri);
    peer.truth()["churn"].as_u64().expect("it is a number")
}

/// A churn of the fixture on jemalloc with these options.
fn churn(options: &str) -> Outcome {
    let one = CLOSED.replace("files = 3", "files = 1");
    Soak::new(&format!("{START}{one}"))
        .program_at(JEMALLOC)
        .server(&CHURN)
        .options(&["--env", &format!("_RJEM_MALLOC_CONF={options}")])
        .run()
}

/// Idle after a churn, and the bytes in use.
fn churned(options: &str) -> (Summary, u64) {
    idle_after(&churn(options))
}

fn idle_after(outcome: &Outcome) -> (Summary, u64) {
    let summary = outcome.passed();
    let took = increment(&summary, "open").unsigned_abs();
    assert!((240 * MIB..280 * MIB).contains(&took), "{took}");
    (summary, live_after_churn())
}

/// Seconds from the close that frees everything until memory has settled, in a window that releases every page not in use.
#[track_caller]
fn settled(outcome: &Outcome, decay: u64) -> f64 {
    let (summary, live) = &idle_after(outcome);
    let freed = outcome.entries().into_iter().find_map(|entry| match entry.event {
        Event::StepEnded(end) if end.name == "close" => Some(entry.at),
        _ => None,
    });
    let window = one(summary, WindowKind::Silent);
    assert_eq!(window.end_reason(), Some(WindowEnd::Settled), "{window:?}");
    let known = window.decay.expect("its allocator is known");
    assert_eq!((known.idle, known.delay), (true, Delay::After(decay * 1_000_000_000)));
    let (start, course) = (private(summary, "start"), course(window));
    // One piece in twenty stays in use and keeps its page.
    assert!((10 * MIB..14 * MIB).contains(live), "{live}");
    assert!(
        (start + live..start + 4 * live).contains(&course.floor),
        "{course:?}, {live}"
    );
    // On a busy machine the window begins some time after what it waits for.
    let late = window.started - freed.expect("the step ended");
    (late + course.settle_time.expect("it settled")) as f64 / 1e9
}

/// An arena frees 57 of its 60 MiB here. jemalloc's curve, 1 - (6x^5 - 15x^4 + 10x^3), leaves the 4 MiB of those at
/// x = 0.785 of the decay time; the first time that its thread wakes with less, it sleeps for a whole decay time before
/// the rest. Ten seconds give the narrowest band, since delays of the machine and the fixture's own quarter of a second
/// matter least.
#[test]
fn jemallocs_thread_settles_in_its_band_of_the_time_that_it_was_told() {
    let bands = [(1, 1.0, 3.0), (5, 8.92, 14.0), (10, 17.85, 20.0)];
    let runs = bands.map(|(decay, ..)| {
        let options = format!("background_thread:true,dirty_decay_ms:{decay}000");
        std::thread::spawn(move || settled(&churn(&options), decay))
    });
    let times = runs.map(|run| run.join().expect("it settles"));
    for (time, (decay, least, most)) in times.iter().zip(bands) {
        assert!((least..=most).contains(time), "{time} s at {decay} s: {times:?}");
    }
}

#[test]
fn what_sleeping_threads_freed_is_held_without_jemallocs_thread_and_for_ever_if_it_was_told_so() {
    let runs = ["", "background_thread:true,dirty_decay_ms:-1"].map(|options| std::thread::spawn(|| churned(options)));
    for (summary, live) in runs.map(|run| run.join().expect("it is held")) {
        let window = one(&summary, WindowKind::Silent);
        assert_eq!(window.end_reason(), Some(WindowEnd::Held), "{window:?}");
        changed(course(window).released(), 0);
        let kept = private(&summary, "decay") - private(&summary, "start");
        assert!(kept > 240 * MIB && live < 14 * MIB, "{kept} for {live}");
    }
}

/// Memory that jemalloc leaves to the kernel stays resident but counts as released.
#[test]
fn muzzy_pages_that_are_kept_for_ever_are_given_back_lazily() {
    let (summary, live) = churned("background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:-1");
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(window.end_reason(), Some(WindowEnd::Settled), "{window:?}");
    assert!(window.decay.is_some_and(|decay| decay.lazy), "{window:?}");
    let lazily = window.lazily_freed.expect("exact counters are read in silence");
    assert!(lazily > 180 * MIB, "{lazily}: {window:?}");
    // Private memory is level, but the lazily freed memory is reported.
    let became = window.became_lazy().expect("both ends are known");
    assert!(became > 150 * MIB, "{became}: {window:?}");
    let kept = private(&summary, "decay") - private(&summary, "start");
    assert!(kept < 4 * live, "{kept} for {live}");
}

/// The fixture frees memory without a jemalloc thread, so the clocks of its arenas stop while idle, and light traffic
/// moves them. jemalloc checks its clock once in about a thousand refills of a thread's cache. Each answer therefore
/// allocates and frees a MiB in small pieces, a few hundred refills. With smaller answers the release within the
/// window would be chance.
#[test]
fn jemalloc_as_it_is_holds_in_silence_and_gives_back_with_traffic() {
    // The fixture frees nothing on a timer here, so a short dwell is enough.
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }, { pause = { for = "3s" } }]
[[phase]]
name = "decay"
steps = [
    { idle = { mode = "silent", until = "settled", dwell = "8500ms" } },
    { idle = { mode = "simmer", until = "settled" } },
]
"#;
    // Enough to move the allocator's clock. A spike above the band would count as movement whenever a sample meets
    // it.
    let answers = [
        "--spike",
        "256KiB-in=textDocument/hover",
        "--spike",
        "256KiB-in=textDocument/documentHighlight",
    ];
    let summary = Soak::new(&format!("{START}{phases}"))
        .program_at(JEMALLOC)
        .server(&["--via", "allocator", "--decay", "32MiB-after=1s"])
        .server(&answers)
        .run()
        .passed();
    let silent = one(&summary, WindowKind::Silent);
    assert_eq!(silent.end_reason(), Some(WindowEnd::Held), "{silent:?}");
    assert!(course(silent).released().unsigned_abs() < MIB, "{silent:?}");
    let simmer = one(&summary, WindowKind::Simmer);
    assert_eq!(simmer.end_reason(), Some(WindowEnd::Settled), "{simmer:?}");
    assert!(course(simmer).released() > (24 * MIB).cast_signed(), "{simmer:?}");
}

#[test]
fn jemalloc_told_never_to_give_back_never_does() {
    let summary = jemalloc(CLOSED, "background_thread:true,dirty_decay_ms:-1");
    let window = one(&summary, WindowKind::Silent);
    assert_eq!(window.end_reason(), Some(WindowEnd::Held), "{window:?}");
    assert_eq!(window.decay.map(|decay| decay.delay), Some(Delay::Never));
    changed(course(window).released(), 0);
    assert!(private(&summary, "decay") > private(&summary, "start") + 40 * MIB);
}
