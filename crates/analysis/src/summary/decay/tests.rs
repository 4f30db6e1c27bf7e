//! Windows of synthetic sessions and curves with a known truth.

use crate::golden::summarised;
use record::golden::Session;
use record::{Event, IdleKind, Rollup};

use super::*;
use base::curve::Curve;

const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;

/// The course of these values, each holding from its second on.
fn course(values: &[(u64, u64)], seconds: u64) -> Course {
    let curve = Curve::from_iter(values.iter().map(|(at, mib)| (at * SECOND, Some(mib * MIB))));
    Course::new(&curve, seconds * SECOND, Some(220 * MIB), Some(20 * MIB)).unwrap()
}

#[test]
fn a_fall_in_steps_has_its_times() {
    let steps = course(&[(0, 213), (4, 203), (7, 167), (19, 163)], 40);
    assert_eq!(
        (steps.before, steps.floor, steps.after),
        (213 * MIB, 163 * MIB, 163 * MIB)
    );
    assert_eq!(steps.at, [213, 203, 167, 163].map(|mib| Some(mib * MIB)));
    assert_eq!((steps.t50, steps.t90), (Some(7 * SECOND), Some(7 * SECOND)));
    assert_eq!(steps.settle_time, Some(19 * SECOND));
    let returned = steps.returned.unwrap();
    assert!((returned - 57.0 / 200.0).abs() < 1e-9, "{returned}");
}

#[test]
fn a_fall_that_sizes_show_and_their_difference_does_not_is_known() {
    for (end, shown) in [
        (1_060_864, 81_920),
        (1_101_824, 81_920),
        // The difference is shown.
        (1_019_904, 0),
    ] {
        let points = [(0, 1_101_824), (2, 1_019_904), (4, end)];
        let curve = Curve::from_iter(points.map(|(at, bytes)| (at * SECOND, Some(bytes))));
        let course = Course::new(&curve, 10 * SECOND, Some(2 * MIB), Some(MIB)).unwrap();
        assert_eq!(course.fell_as_shown(), shown, "{end}");
    }
}

#[test]
fn a_share_of_next_to_nothing_is_not_known() {
    let curve = Curve::from_iter([(0, Some(20 * MIB)), (SECOND, Some(20 * MIB - 4096))]);
    let flat = Course::new(&curve, 5 * SECOND, Some(20 * MIB), Some(20 * MIB)).unwrap();
    assert_eq!(
        (flat.t50, flat.t90, flat.returned, flat.share),
        (None, None, None, None)
    );
    assert_eq!((flat.settle_time, flat.at[2]), (Some(0), None));
}

#[test]
fn what_is_taken_after_the_floor_was_not_returned_by_then() {
    let points = [(0, 100), (2, 100), (3, 140), (5, 140)];
    let curve = Curve::from_iter(points.map(|(at, mib)| (at * SECOND, Some(mib * MIB))));
    let taken = Course::new(&curve, 5 * SECOND, Some(100 * MIB), Some(20 * MIB)).unwrap();
    assert_eq!((taken.floor, taken.returned), (100 * MIB, Some(0.0)));
    assert_eq!(taken.share, Some(-0.5));
}

#[test]
fn what_ends_above_its_floor_has_not_settled() {
    let grows = course(&[(0, 100), (2, 90), (3, 120)], 10);
    assert_eq!(
        (grows.floor, grows.after, grows.settle_time),
        (90 * MIB, 120 * MIB, None)
    );
    assert_eq!((grows.released(), grows.grew_much()), (-20 * MIB.cast_signed(), true));
}

/// A session with 200 MiB of growth, up to the phase with windows.
fn grown_session() -> Session {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 20, 20);
    session.phase("start");
    session.settle(true);
    session.phase("work");
    session.step("definition");
    session.move_memory(0, 220, 2, 100);
    session.step_end("definition", 1, 1);
    session.settle(true);
    session.phase("decay");
    session
}

/// A step after which this many documents are open.
fn close(session: &mut Session, step: &str, left_open: u64) {
    session.step(step);
    session.step_end(step, 0, 0);
    if let Some(Event::StepEnded(end)) = session.entries.last_mut().map(|entry| &mut entry.event) {
        end.left_open = Some(left_open);
    }
}

#[test]
fn silence_traffic_and_closed_documents_are_told_apart() {
    let mut session = grown_session();
    session.idle(IdleKind::Silent, 0, 220, 12);
    session.idle(IdleKind::Simmer, 0, 180, 8);
    session.settle(true);
    session.phase("close");
    close(&mut session, "close", 0);
    session.move_memory(0, 120, 3, 5);
    session.settle(true);
    let windows = summarised(&session).windows;
    let kinds: Vec<WindowKind> = windows.iter().map(|window| window.kind).collect();
    assert_eq!(kinds, [WindowKind::Silent, WindowKind::Simmer, WindowKind::Closed]);
    let gave: Vec<i64> = releases(&windows)
        .iter()
        .map(|one| one.released as i64 / MIB.cast_signed())
        .collect();
    assert_eq!(gave, [0, 40, 60]);
    let closed = &windows[2];
    assert_eq!((closed.end_reason(), closed.took), (None, 4 * SECOND));
    let returned = closed.private.as_ref().unwrap().returned.unwrap();
    assert!((returned - 0.5).abs() < 0.01, "{returned}");
    assert_eq!(closed.curve.len(), POINTS);
    let resident = windows[1].resident.as_ref().unwrap();
    assert_eq!(
        (resident.before, resident.floor),
        (240 * MIB, 200 * MIB),
        "resident memory is kept apart"
    );
}

/// Records exact counters with this many MiB lazily freed.
fn put_rollup(session: &mut Session, mib: u64) {
    session.put(Event::Rollup(Rollup {
        lazy_free: mib * MIB,
        ..Rollup::default()
    }));
}

/// Records a checkpoint with this many MiB lazily freed.
fn settle_with_lazy(session: &mut Session, mib: u64) {
    session.settle(true);
    if let Event::Checkpoint(checkpoint) = session.last_checkpoint() {
        checkpoint.rollups[0].lazy_free = mib * MIB;
    }
}

/// Lazily freed memory at the start and end of each window, in MiB.
fn lazily(session: &Session) -> Vec<(WindowKind, Option<u64>, Option<u64>)> {
    let mut lazily = Vec::new();
    for window in summarised(session).windows {
        let before = window.lazily_before.map(|bytes| bytes / MIB);
        let after = window.lazily_freed.map(|bytes| bytes / MIB);
        lazily.push((window.kind, before, after));
    }
    lazily
}

#[test]
fn what_became_lazily_freed_is_known_between_two_looks_and_only_then() {
    let mut session = grown_session();
    settle_with_lazy(&mut session, 3);
    session.phase("close");
    close(&mut session, "close", 0);
    session.move_memory(0, 220, 3, 0);
    settle_with_lazy(&mut session, 60);
    session.phase("silence");
    session.step("idle");
    session.window();
    session.move_memory(0, 220, 6, 0);
    put_rollup(&mut session, 110);
    session.idle_end(IdleKind::Silent, 6);
    session.idle(IdleKind::Simmer, 0, 220, 4);
    session.idle(IdleKind::Silent, 0, 220, 4);
    session.settle(true);
    assert_eq!(
        lazily(&session),
        [
            (WindowKind::Closed, Some(3), Some(60)),
            (WindowKind::Silent, Some(60), Some(110)),
            (WindowKind::Simmer, None, None),
            // What light traffic did to it is not known before there is another look.
            (WindowKind::Silent, None, Some(110)),
        ]
    );
    let gave = releases(&summarised(&session).windows);
    let left: Vec<Option<f64>> = gave
        .iter()
        .map(|one| one.lazily.map(|bytes| bytes / MIB as f64))
        .collect();
    assert_eq!(left, [Some(57.0), None, None], "not of both silent windows");
    assert_eq!(
        gave.iter().map(|one| one.much_lazily).collect::<Vec<bool>>(),
        [true, true, false]
    );
}

#[test]
fn what_closed_documents_left_to_the_kernel_is_told_as_the_next_silence_begins() {
    let mut session = grown_session();
    settle_with_lazy(&mut session, 3);
    session.phase("close");
    close(&mut session, "close", 0);
    session.step("idle");
    session.window();
    put_rollup(&mut session, 40);
    session.move_memory(0, 220, 6, 0);
    put_rollup(&mut session, 110);
    session.idle_end(IdleKind::Silent, 6);
    session.settle(true);
    assert_eq!(
        lazily(&session),
        [
            (WindowKind::Closed, Some(3), Some(40)),
            (WindowKind::Silent, Some(40), Some(110)),
        ]
    );
    // In older records the first look may be a second late, when an allocator may have begun.
    let mut session = grown_session();
    settle_with_lazy(&mut session, 3);
    session.phase("close");
    close(&mut session, "close", 0);
    session.step("idle");
    session.window();
    session.move_memory(0, 220, 2, 0);
    put_rollup(&mut session, 100);
    session.idle_end(IdleKind::Silent, 2);
    session.settle(true);
    assert_eq!(
        lazily(&session),
        [
            (WindowKind::Closed, Some(3), None),
            (WindowKind::Silent, None, Some(100)),
        ]
    );
    // Work in between makes both unknown.
    let mut session = grown_session();
    settle_with_lazy(&mut session, 3);
    session.phase("close");
    session.step("hover");
    session.step_end("hover", 1, 1);
    close(&mut session, "close", 0);
    session.move_memory(0, 220, 2, 0);
    session.step("hover");
    session.step_end("hover", 1, 1);
    assert_eq!(lazily(&session), [(WindowKind::Closed, None, None)]);
}

/// A silent step of twelve seconds: in the first two the server still works on earlier requests and frees 80 MiB of
/// 220; in the window it frees 20 more.
fn after_work() -> Session {
    let mut session = grown_session();
    session.step("idle");
    session.move_memory(0, 140, 2, 90);
    session.window();
    session.move_memory(0, 120, 10, 0);
    session.idle_end(IdleKind::Silent, 10);
    session.settle(true);
    session
}

#[test]
fn a_window_begins_when_the_work_before_it_is_done() {
    let session = after_work();
    let windows = summarised(&session).windows;
    let [window] = windows.as_slice() else {
        panic!("{windows:?}")
    };
    let course = window.private.as_ref().unwrap();
    assert_eq!((course.before, course.after), (140 * MIB, 120 * MIB));
    assert_eq!(course.at[1], Some(130 * MIB), "five of its ten seconds");
    assert_eq!(course.t50, Some(5 * SECOND));
    assert_eq!(window.took, 10 * SECOND);
    let mut entries = session.entries.iter();
    let began = entries.find(|entry| is_window_begin(&entry.event)).unwrap().at;
    assert_eq!(window.started, began);
    assert_eq!(window.resident.as_ref().unwrap().before, 160 * MIB);
}

fn is_window_begin(event: &Event) -> bool {
    matches!(event, Event::WindowBegan(_))
}

#[test]
fn of_a_record_that_does_not_say_when_a_window_began_it_begins_with_its_step() {
    let mut session = after_work();
    session.entries.retain(|entry| !is_window_begin(&entry.event));
    let windows = summarised(&session).windows;
    assert_eq!(windows[0].private.as_ref().unwrap().before, 220 * MIB);
}

/// MiB of private memory released by kind of window.
fn session_releases(session: &Session) -> Vec<(WindowKind, i64)> {
    releases(&summarised(session).windows)
        .iter()
        .map(|release| (release.kind, release.released as i64 / MIB.cast_signed()))
        .collect()
}

#[test]
fn what_closed_documents_give_back_before_the_next_window_begins_is_theirs() {
    let mut session = grown_session();
    close(&mut session, "close", 0);
    session.step("idle");
    session.move_memory(0, 140, 2, 90);
    session.window();
    session.move_memory(0, 120, 10, 0);
    session.idle_end(IdleKind::Silent, 10);
    session.settle(true);
    assert_eq!(
        session_releases(&session),
        [(WindowKind::Closed, 80), (WindowKind::Silent, 20)]
    );
    // A record that does not say when the window began has it begin with its step.
    session.entries.retain(|entry| !is_window_begin(&entry.event));
    assert_eq!(session_releases(&session), [(WindowKind::Silent, 100)]);
}

#[test]
fn what_comes_back_by_force_before_a_checkpoint_is_none_of_the_open_window() {
    for (step, kind) in [("close", WindowKind::Closed), ("release", WindowKind::Released)] {
        let mut session = grown_session();
        close(&mut session, step, 0);
        session.move_memory(0, 200, 3, 0);
        session.release_began();
        session.move_memory(0, 90, 1, 100);
        session.settle(true);
        let summary = summarised(&session);
        let [window] = summary.windows.as_slice() else {
            panic!("{:?}", summary.windows)
        };
        assert_eq!((window.kind, window.took), (kind, 3 * SECOND));
        assert_eq!(window.private.as_ref().unwrap().after, 200 * MIB);
        let phase = &summary.phases[2];
        assert_eq!(
            (phase.cpu, phase.minor_faults),
            (Some(0), Some(20 * 256)),
            "without the release's"
        );
    }
}

#[test]
fn a_held_window_has_no_settle_time() {
    let mut session = grown_session();
    session.idle(IdleKind::Silent, 0, 220, 12);
    session.idle(IdleKind::Silent, 0, 220, 12);
    if let Some(Event::StepEnded(end)) = session.entries.last_mut().map(|entry| &mut entry.event)
        && let Some(idle) = &mut end.idle
    {
        idle.end = Some(WindowEnd::Held);
    }
    session.settle(true);
    let times: Vec<Option<Nanos>> = summarised(&session).windows.iter().map(Window::settle_time).collect();
    assert_eq!(times, [Some(0), None]);
}

#[test]
fn documents_of_which_some_stay_open_are_no_window_and_controls_do_not_count() {
    let mut session = grown_session();
    close(&mut session, "close", 3);
    session.idle(IdleKind::Simmer, 0, 150, 8);
    if let Some(Event::StepEnded(end)) = session.entries.last_mut().map(|entry| &mut entry.event)
        && let Some(idle) = &mut end.idle
    {
        idle.control = true;
    }
    session.settle(true);
    let windows = summarised(&session).windows;
    assert_eq!(windows.len(), 1);
    assert!(windows[0].control && releases(&windows).is_empty());
}

#[test]
fn light_traffic_is_no_work_that_servers_are_compared_by() {
    let mut session = grown_session();
    session.requests("textDocument/hover", 3, 900, &record::Outcome::Null, 0);
    session.step("idle");
    session.requests("textDocument/hover", 40, 900, &record::Outcome::Null, 0);
    session.step_end("idle", 0, 0);
    session.settle(true);
    let counts: Vec<u64> = summarised(&session)
        .traffic
        .methods
        .iter()
        .map(|method| method.count)
        .collect();
    assert_eq!(counts, [3]);
}

/// A window of light traffic in which private memory goes from one value to another, in bytes.
fn simmer(control: bool, sent: u64, took: Nanos, before: u64, after: u64) -> Window {
    let curve = Curve::from_iter([(0, Some(before)), (took, Some(after))]);
    Window {
        cpu: None,
        late_cpu: None,
        phase: PhaseRef {
            phase: 0,
            cycle: 0,
            name: "idle".to_owned(),
        },
        step: 0,
        kind: WindowKind::Simmer,
        control,
        end: None,
        settled: None,
        moving: String::new(),
        needed: None,
        sent,
        left_out: 0,
        decay: None,
        holder: String::new(),
        too_short_for: None,
        lazily_before: None,
        lazily_freed: None,
        started: 0,
        took,
        shared: None,
        private: Course::new(&curve, took, None, None),
        resident: None,
        curve: Vec::new(),
        private_curve: Curve::default(),
    }
}

#[test]
fn the_control_says_what_light_traffic_costs_by_itself() {
    let control = simmer(true, 40, 10_000_000_000, 8 << 20, 9 << 20);
    let cost = traffic(std::slice::from_ref(&control)).expect("there is a control");
    assert_eq!((cost.bytes, cost.in_windows), (f64::from(1 << 20), None));
    assert_eq!(cost.per_minute(), f64::from(6 << 20));
    let other = simmer(false, 120, 30_000_000_000, 20 << 20, 10 << 20);
    assert_eq!(
        traffic(std::slice::from_ref(&other)),
        None,
        "nothing is known without a control"
    );
    let both = traffic(&[control, other]).expect("there is a control");
    assert_eq!(both.in_windows, Some(f64::from(3 << 20)));
}

#[test]
fn what_a_run_had_before_its_first_checkpoint_is_released_as_bytes_and_share_alike() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 220, 20);
    session.phase("start");
    session.settle(true);
    session.phase("work");
    session.move_memory(0, 230, 2, 100);
    session.settle(true);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, 180, 12);
    session.idle(IdleKind::Simmer, 0, 130, 12);
    session.settle(true);
    let windows = summarised(&session).windows;
    let mut figures: Vec<(i64, f64, f64)> = Vec::new();
    for window in &windows {
        let course = window.private.as_ref().unwrap();
        let released = course.released() / MIB.cast_signed();
        figures.push((released, course.share.unwrap(), course.returned.unwrap()));
    }
    assert_eq!(figures, [(50, 1.0, 1.0), (50, 0.5, 1.0)]);
}

#[test]
fn windows_that_released_more_than_was_ever_there_at_once_have_no_share_together() {
    let mut session = grown_session();
    for to in [60, 60] {
        session.idle(IdleKind::Silent, 0, to, 12);
        session.move_memory(0, 220, 2, 100);
    }
    session.settle(true);
    let gave = releases(&summarised(&session).windows);
    assert_eq!((gave[0].released, gave[0].share), (320.0 * MIB as f64, None));
}

#[test]
fn what_is_released_and_taken_again_is_known_of_a_window() {
    let falls = course(&[(0, 213), (4, 180), (7, 213)], 10);
    assert_eq!((falls.released(), falls.gave_for_a_while()), (0, 33 * MIB));
    assert_eq!(falls.t50, Some(4 * SECOND));
    let moves = course(&[(0, 213), (4, 212), (7, 213)], 10);
    assert_eq!(
        (moves.t50, moves.gave_for_a_while()),
        (None, 0),
        "no more than memory moves by itself"
    );
    let keeps = course(&[(0, 213), (4, 180), (7, 200)], 10);
    assert_eq!(keeps.gave_for_a_while(), 0);
}

/// The growth rate of a phase that ends with a silent window, in which memory moves to each of these amounts in a second of
/// its own, with a second of rest after it.
fn growth_rate_in_bursts(amounts: &[u64]) -> Option<u64> {
    let mut session = grown_session();
    session.step("idle");
    session.window();
    for amount in amounts {
        session.move_memory(0, *amount, 1, 0);
        session.move_memory(0, *amount, 1, 0);
    }
    session.idle_end(IdleKind::Silent, 2 * amounts.len() as u64);
    session.settle(true);
    summarised(&session)
        .phases
        .last()
        .unwrap()
        .checkpoint
        .as_ref()
        .unwrap()
        .growing
}

#[test]
fn memory_that_a_timer_takes_while_idle_still_grows_though_a_checkpoint_sees_it_at_rest() {
    let rate = growth_rate_in_bursts(&[230, 240, 250, 260, 270, 280, 290, 300]).unwrap();
    assert!(rate.abs_diff(5 * MIB) < MIB, "{rate}");
    for ended in [
        [230, 240, 250, 260, 260, 260, 260, 260],
        [220, 220, 220, 220, 230, 240, 250, 260],
        [230, 240, 250, 260, 220, 230, 240, 250],
    ] {
        assert_eq!(growth_rate_in_bursts(&ended), None, "{ended:?}");
    }
}
