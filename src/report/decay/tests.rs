//! Sentences about windows.

use super::*;
use crate::analyse;
use crate::record::golden::Session;
use crate::record::{Event, IdleKind, Reader};

fn gave(kind: WindowKind, mib: f64, held: bool) -> Gave {
    Gave {
        kind,
        bytes: mib * f64::from(1 << 20),
        share: Some(mib / 200.0),
        much: mib > 1.0,
        took: mib < -1.0,
        held,
        lazily: None,
        much_lazily: false,
    }
}

/// The same where so much became lazily freed.
fn lazy(one: Gave, mib: f64) -> Gave {
    Gave {
        lazily: Some(mib * f64::from(1 << 20)),
        much_lazily: mib > 1.0,
        ..one
    }
}

#[test]
fn what_was_left_to_the_kernel_is_not_called_nothing() {
    use WindowKind::{Closed, Silent, Simmer};
    let said = |windows: &[Gave]| sentence(windows).unwrap();
    let left = lazy(gave(Silent, 0.0, false), 107.0);
    assert_eq!(
        said(&[left]),
        "silence gave back nothing, but left 107.0 MiB to the kernel, to take when it needs them"
    );
    let closed = lazy(gave(Closed, 8.0, false), 40.0);
    assert_eq!(
        said(&[closed, left, gave(Simmer, 0.0, false)]),
        "closing all documents gave back 8.0 MiB (4 % of what had been taken); light traffic gave back nothing; silence \
         gave back nothing, but left 107.0 MiB to the kernel, to take when it needs them; closing all documents left \
         40.0 MiB to the kernel, to take when it needs them"
    );
    assert_eq!(
        said(&[lazy(gave(Silent, 0.0, false), 0.2)]),
        "silence gave back nothing"
    );
}

#[test]
fn what_was_left_to_the_kernel_in_one_of_two_windows_is_told_without_a_size() {
    let unknown = |mib: f64| Gave {
        much_lazily: true,
        ..gave(WindowKind::Silent, mib, false)
    };
    assert_eq!(
        sentence(&[unknown(0.0)]).unwrap(),
        "silence gave back nothing, but left some to the kernel, how much is not known"
    );
    assert_eq!(
        sentence(&[unknown(8.0)]).unwrap(),
        "silence gave back 8.0 MiB (4 % of what had been taken); silence left some to the kernel, how much is not known"
    );
}

#[test]
fn one_sentence_says_which_window_gave_memory_back() {
    use WindowKind::{Closed, Released, Silent, Simmer};
    let said = |windows: &[Gave]| sentence(windows).unwrap();
    assert_eq!(
        said(&[gave(Silent, 0.0, true), gave(Simmer, 43.0, false)]),
        "light traffic gave back 43.0 MiB (22 % of what had been taken); silence gave back nothing, as its allocator \
         cannot then"
    );
    assert_eq!(
        said(&[
            gave(Silent, 30.0, false),
            gave(Simmer, 0.2, false),
            gave(Closed, 40.0, false)
        ]),
        "closing all documents gave back 40.0 MiB (20 % of what had been taken) and silence 30.0 MiB; light traffic gave \
         back nothing"
    );
    assert_eq!(
        said(&[gave(Silent, 0.0, false), gave(Released, 0.0, false)]),
        "silence and a forced release gave back nothing"
    );
    assert_eq!(
        said(&[gave(Simmer, -3.0, false)]),
        "during light traffic 3.0 MiB more were taken"
    );
    assert_eq!(sentence(&[]), None);
}

/// What is said of a silence that ended as held while memory went from 140 MiB to so many.
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
    let summary = analyse::read(Reader::new(bytes.as_slice()).unwrap()).unwrap();
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
    let summary = analyse::read(Reader::new(bytes.as_slice()).unwrap()).unwrap();
    let window = &summary.windows[0];
    assert_eq!(end(window), "too short");
    assert_eq!(
        remark(window).unwrap(),
        "silent in decay: too short to tell: its memory kept still, but its time was up after 10.0 s of the 12.0 s that \
         are needed"
    );
}

#[test]
fn what_is_said_of_a_held_window_follows_its_curve() {
    assert!(
        held(140).ends_with("and nothing came back by itself in 10.0 s"),
        "{}",
        held(140)
    );
    let fell = held(60);
    assert!(
        fell.contains("by its curve 80.0 MiB came back") && !fell.contains("nothing"),
        "{fell}"
    );
}
