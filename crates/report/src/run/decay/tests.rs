//! Sentences about windows.

use analysis::summary;
use record::golden::Session;
use record::{Event, IdleKind, Reader};

use super::*;

fn sentence_of(windows: &[Gave]) -> String {
    sentence(windows).unwrap()
}

/// A window that released so many MiB, or took them if negative.
fn a_window(kind: WindowKind, mib: f64, held: bool) -> Gave {
    Gave {
        kind,
        released: mib.max(0.0) * f64::from(1 << 20),
        share: Some(mib.max(0.0) / 200.0),
        fell: 0.0,
        for_a_while: 0.0,
        taken: -mib.min(0.0) * f64::from(1 << 20),
        noise: f64::from(1 << 20),
        much: mib > 1.0,
        took: mib < -1.0,
        held,
        never: false,
        unknown: false,
        passive: None,
        short: None,
        shared: 0.0,
        lazily: None,
        much_lazily: false,
    }
}

/// The window with so many MiB that became lazily freed.
fn lazy(window: Gave, mib: f64) -> Gave {
    Gave {
        lazily: Some(mib * f64::from(1 << 20)),
        much_lazily: mib > 1.0,
        ..window
    }
}

#[test]
fn shared_memory_that_went_is_not_called_nothing() {
    let mut silent = a_window(WindowKind::Silent, 0.0, true);
    silent.shared = 64.0 * f64::from(1 << 20);
    let freed = format!(
        "64.0 MiB of shared memory released {} (no private figure counts it)",
        when(WindowKind::Silent)
    );
    assert_eq!(sentence(&[silent]).as_ref(), Some(&freed));
    let sentence = sentence_of(&[silent, a_window(WindowKind::Simmer, 20.0, false)]);
    assert!(
        sentence.starts_with("20.0 MiB released") && sentence.ends_with(&freed),
        "{sentence}"
    );
}

#[test]
fn what_was_left_to_the_kernel_is_not_called_nothing() {
    use WindowKind::{Closed, Silent, Simmer};
    let left = lazy(a_window(Silent, 0.0, false), 107.0);
    assert_eq!(
        sentence_of(&[left]),
        "nothing released while idle, but 107.0 MiB left for the kernel to reclaim"
    );
    let closed = lazy(a_window(Closed, 8.0, false), 40.0);
    assert_eq!(
        sentence_of(&[closed, left, a_window(Simmer, 0.0, false)]),
        "8.0 MiB released after closing all documents (4 % of the growth so far); nothing released in light traffic; \
         after \
         closing all documents 40.0 MiB left for the kernel to reclaim; nothing released while idle, \
         but 107.0 MiB left for the kernel to reclaim"
    );
    assert_eq!(
        sentence_of(&[lazy(a_window(Silent, 0.0, false), 0.2)]),
        "nothing released while idle"
    );
}

/// A window that left an unknown size to the kernel.
fn lazy_unknown(mib: f64) -> Gave {
    Gave {
        much_lazily: true,
        ..a_window(WindowKind::Silent, mib, false)
    }
}

#[test]
fn what_was_left_to_the_kernel_in_one_of_two_windows_is_told_without_a_size() {
    assert_eq!(
        sentence(&[lazy_unknown(0.0)]).unwrap(),
        "nothing released while idle, but an unknown amount left for the kernel to reclaim"
    );
    assert_eq!(
        sentence(&[lazy_unknown(8.0)]).unwrap(),
        "8.0 MiB released while idle (4 % of the growth so far); while idle an unknown amount left for the kernel to \
         reclaim"
    );
}

#[test]
fn one_sentence_says_which_window_released_memory() {
    use WindowKind::{Closed, Released, Silent, Simmer};
    assert_eq!(
        sentence_of(&[a_window(Silent, 0.0, true), a_window(Simmer, 43.0, false)]),
        "43.0 MiB released in light traffic (22 % of the growth so far); nothing released while idle (purges only on \
         activity)"
    );
    let never = Gave {
        never: true,
        ..a_window(Silent, 0.0, true)
    };
    assert_eq!(
        sentence_of(&[never]),
        "nothing released while idle (set never to purge)"
    );
    assert_eq!(
        sentence_of(&[
            a_window(Silent, 30.0, false),
            a_window(Simmer, 0.01, false),
            a_window(Closed, 40.0, false)
        ]),
        "40.0 MiB released after closing all documents (20 % of the growth so far) and 30.0 MiB while idle (15 %); \
         nothing \
         released in light traffic"
    );
    assert_eq!(
        sentence_of(&[a_window(Silent, 0.0, false), a_window(Released, 0.0, false)]),
        "nothing released while idle or by a forced release"
    );
    assert_eq!(
        sentence_of(&[a_window(Simmer, -3.0, false)]),
        "3.0 MiB more taken in light traffic"
    );
    assert_eq!(sentence(&[]), None);
}

#[test]
fn what_the_table_prints_is_not_called_nothing_and_no_share_of_it_is_called_none() {
    use WindowKind::{Silent, Simmer};
    let small = Gave {
        share: Some(0.16),
        noise: f64::from(1 << 19),
        ..a_window(Simmer, 0.2, false)
    };
    assert_eq!(
        sentence(&[a_window(Silent, 0.0, false), small]).unwrap(),
        "0.2 MiB released in light traffic (16 % of the growth so far), within noise (0.5 MiB); nothing released \
         while idle"
    );
    let less = Gave {
        released: 4096.0,
        ..small
    };
    assert_eq!(
        sentence(&[less]).unwrap(),
        "4.0 KiB released in light traffic (16 % of the growth so far), within noise (0.5 MiB)"
    );
    let rounded = Gave {
        share: None,
        fell: f64::from(80 << 10),
        ..less
    };
    assert_eq!(
        sentence(&[rounded]).unwrap(),
        "0.1 MiB released in light traffic, within noise (0.5 MiB)"
    );
    let large = Gave {
        share: Some(0.003),
        ..a_window(Simmer, 41.4, false)
    };
    assert_eq!(sentence(&[large]).unwrap(), "41.4 MiB released in light traffic");
    let fell = Gave {
        for_a_while: f64::from(3 << 20),
        ..a_window(Simmer, 0.0, false)
    };
    assert_eq!(
        sentence(&[a_window(Silent, 0.0, false), fell]).unwrap(),
        "3.0 MiB released in light traffic and taken again; nothing released while idle"
    );
    // One of two windows released what the other took again.
    let both = Gave {
        taken: f64::from(5 << 20),
        took: true,
        ..a_window(Silent, 5.0, false)
    };
    assert_eq!(
        sentence(&[both]).unwrap(),
        "5.0 MiB released while idle (2 % of the growth so far); 5.0 MiB more taken while idle"
    );
}

/// The remark on a silent window that ended as held while memory fell from 140 MiB.
fn held(to: u64) -> String {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 140, 20);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, to, 10);
    if let Some(Event::StepEnded(end)) = session.entries.last_mut().map(|entry| &mut entry.event)
        && let Some(idle) = &mut end.idle
    {
        idle.end = Some(WindowEnd::Held);
    }
    let bytes = session.bytes();
    let summary = summary::read(Reader::new(bytes.as_slice()).unwrap()).unwrap();
    remark(&summary.windows[0]).expect("there is a word on it")
}

#[test]
fn what_kept_still_for_too_short_is_not_said_to_move() {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 140, 20);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, 140, 10);
    if let Some(Event::StepEnded(end)) = session.entries.last_mut().map(|entry| &mut entry.event)
        && let Some(idle) = &mut end.idle
    {
        (idle.end, idle.settled, idle.needed) = (Some(WindowEnd::TooShort), None, Some(12_000_000_000));
    }
    let bytes = session.bytes();
    let summary = summary::read(Reader::new(bytes.as_slice()).unwrap()).unwrap();
    let window = &summary.windows[0];
    assert_eq!(end(window), "too short");
    assert_eq!(
        remark(window).unwrap(),
        "idle in decay: too short: memory was stable, but the window ended after 10.0 s of the 12.0 s \
         needed"
    );
}

#[test]
fn what_is_said_of_a_held_window_follows_its_curve() {
    assert!(held(140).ends_with("; nothing was released in 10.0 s"), "{}", held(140));
    let little = held(139);
    assert!(
        little.contains("its curve shows 1.0 MiB released") && !little.contains("nothing"),
        "{little}"
    );
    let fell = held(60);
    assert!(
        fell.contains("its curve shows 80.0 MiB released") && !fell.contains("nothing"),
        "{fell}"
    );
}

/// A window that was too short for Go's clock.
fn short(kind: WindowKind, mib: f64, seconds: u64) -> Gave {
    Gave {
        short: Some(Short {
            took: seconds * 1_000_000_000,
            needed: 241_000_000_000,
            runtime: Runtime::Go,
            full_decay_helps: kind != WindowKind::Closed,
        }),
        ..a_window(kind, mib, false)
    }
}

#[test]
fn nothing_follows_from_a_window_that_was_too_short_for_the_collector() {
    use WindowKind::{Closed, Silent, Simmer};
    assert_eq!(
        sentence_of(&[short(Silent, 0.0, 9)]),
        "what is released while idle is not known: the window was 9 s, Go needs about 4 min (`--full-decay`)"
    );
    assert_eq!(
        sentence_of(&[short(Silent, 12.0, 9), short(Simmer, 0.0, 14)]),
        "12.0 MiB released while idle (6 % of the growth so far); what else is released while idle or in light traffic \
         is not known: the windows were 9 s and 14 s, Go needs about 4 min (`--full-decay`)"
    );
    assert_eq!(
        sentence_of(&[short(Closed, 0.0, 1), a_window(Silent, 0.0, false)]),
        "nothing released while idle",
        "the idle window follows the closing, and was long enough"
    );
    assert_eq!(
        sentence_of(&[short(Closed, 0.0, 1)]),
        "what is released after closing all documents is not known: the window was 1 s, Go needs about 4 min"
    );
    let grew = sentence_of(&[short(Silent, -3.0, 9)]);
    assert!(
        grew.starts_with("3.0 MiB more taken while idle; what is released"),
        "{grew}"
    );
}

fn passive(kind: WindowKind, runtime: Runtime) -> Gave {
    Gave {
        passive: Some(runtime),
        ..a_window(kind, 0.0, true)
    }
}

#[test]
fn a_runtime_that_releases_nothing_by_itself_is_named() {
    use WindowKind::{Silent, Simmer};
    assert_eq!(
        sentence(&[passive(Silent, Runtime::G1), passive(Simmer, Runtime::G1)]).unwrap(),
        "nothing released while idle or in light traffic (G1 releases nothing by itself)"
    );
    let unknown = Gave {
        unknown: true,
        ..a_window(Silent, 0.0, false)
    };
    assert_eq!(
        sentence(&[unknown, passive(Simmer, Runtime::Cpython)]).unwrap(),
        "nothing released while idle (when its allocator releases is not known); nothing released in light traffic \
         (CPython releases nothing by itself)"
    );
}

#[test]
fn times_are_short() {
    let times = [
        9_100_000_000, 17_000_000_000, 99_000_000_000, 121_000_000_000, 241_000_000_000,
    ];
    assert_eq!(times.map(about), ["9 s", "17 s", "99 s", "2 min", "4 min"]);
}
