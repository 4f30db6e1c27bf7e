//! Windows of idleness as text: their curve, how they ended, and which of them gave memory back.

use std::time::Duration;

use crate::analyse::decay::{Gave, Traffic, Window, WindowKind};
use crate::record::{Delay, Nanos, WindowEnd};
use crate::units;

use super::table::Column;

/// Eighths of a character's height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The least that a curve's height stands for: what moves less is drawn flat.
const LEAST: u64 = 1 << 20;

/// The head of the column of what was lazily freed at the end.
pub(super) const LAZILY: &str = "lazily freed";

/// What was left to the kernel where that is known of some windows of a kind only.
pub(super) const SOME_LEFT: &str = "some to the kernel, how much is not known";

/// The head of the column of curves.
pub(super) const CURVE: &str = "curve";

/// What curves that stand together are drawn against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    low: u64,
    high: u64,
    longest: Nanos,
}

impl Scale {
    /// One for all of these windows.
    pub fn of<'w>(windows: impl Iterator<Item = &'w Window> + Clone) -> Scale {
        let values = || windows.clone().flat_map(|window| window.curve.iter().copied());
        let low = values().min().unwrap_or(0);
        Scale {
            low,
            high: values().max().unwrap_or(0).max(low.saturating_add(LEAST)),
            longest: windows.clone().map(|window| window.took).max().unwrap_or(0).max(1),
        }
    }

    /// The curve of a window in at most `columns`, as many as its time is of the longest; each shows the highest value of
    /// its stretch, so that no spike is lost. Empty where it is not known.
    pub fn draw(&self, window: &Window, columns: usize) -> String {
        let values = &window.curve;
        if values.is_empty() {
            return String::new();
        }
        let columns = (columns as f64 * window.took as f64 / self.longest as f64).round() as usize;
        let columns = columns.clamp(1, values.len());
        let cell = |place: usize| {
            let stretch = &values[place * values.len() / columns..(place + 1) * values.len() / columns];
            let highest = stretch
                .iter()
                .max()
                .map_or(0, |highest| highest.saturating_sub(self.low));
            let part = highest as f64 / self.high.saturating_sub(self.low).max(1) as f64;
            BLOCKS[((part * (BLOCKS.len() - 1) as f64) as usize).min(BLOCKS.len() - 1)]
        };
        (0..columns).map(cell).collect()
    }
}

/// What the columns of a table of windows mean that do not say it themselves.
const MEANINGS: [(&str, &str); 9] = [
    ("floor", "the lowest"),
    ("t50", "until half of what fell to the floor had come back"),
    ("t90", "until nine tenths had"),
    ("half-life", "of what was above the floor, where it halves evenly"),
    ("MiB·s held", "what was above the floor, times how long"),
    ("settle time", "until it stayed near the floor"),
    (
        "returned in window",
        "what it gave back itself, of all that the run had taken until then: its peak above its start value",
    ),
    (
        "returned by then",
        "the same of its floor, with what had come back before the window; 100 % also below the start value",
    ),
    (LAZILY, "at its end, resident until the kernel takes it"),
];

/// What two columns are of: the share that a window gave back itself, and that which was back by its floor. Both are of the
/// whole run's growth.
pub(super) const RETURNED: &str = "returned";

/// The first of them.
pub(super) const IN_WINDOW: &str = "in window";

/// The second.
pub(super) const BY_THEN: &str = "by then";

/// What the columns of this table of windows mean.
pub(super) fn legend(table: &[Column]) -> String {
    let there = |name: &str| table.iter().any(|column| column.name() == name);
    let meanings = MEANINGS.iter().filter(|(name, _)| there(name));
    let said: Vec<String> = meanings.map(|(name, meaning)| format!("{name}: {meaning}")).collect();
    said.join(" · ")
}

/// The name of a window: its phase and what it was.
pub(super) fn name(window: &Window) -> String {
    label(&window.phase.name, window.kind, window.control)
}

/// The same of a window of several runs. What it was comes first, for narrow tables cut the end off.
pub(super) fn label(phase: &str, kind: WindowKind, control: bool) -> String {
    let kind = if control { "control" } else { kind.name() };
    format!("{kind} in {phase}")
}

/// How a window ended, with the settle time where memory settled.
pub(super) fn end(window: &Window) -> String {
    let after = window.settle_time();
    let after = after
        .filter(|after| *after > 0)
        .map(|after| format!(" in {}", time(after)));
    match window.why() {
        Some(WindowEnd::Settled) => format!("settled{}", after.unwrap_or_default()),
        Some(WindowEnd::Held) => "held".to_owned(),
        Some(WindowEnd::TimedOut) => "timed out".to_owned(),
        Some(WindowEnd::TooShort) => "too short".to_owned(),
        Some(WindowEnd::Ended) => "ended".to_owned(),
        None => String::new(),
    }
}

/// A time within a window: to a tenth of a second, since memory is looked at twenty times in one.
pub(super) fn time(time: Nanos) -> String {
    format!("{:.1} s", Duration::from_nanos(time).as_secs_f64())
}

/// What was above the floor, times how long, in MiB·s.
pub(super) fn held(byte_seconds: f64) -> String {
    units::count((byte_seconds / f64::from(1 << 20)).round() as u64)
}

/// Which windows gave memory back, in one sentence; `None` where there was no window.
pub(super) fn sentence(gave: &[Gave]) -> Option<String> {
    let mut much: Vec<&Gave> = gave.iter().filter(|one| one.much).collect();
    much.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    let size = |bytes: f64| format!("{} MiB", units::mib(bytes.abs().round() as u64));
    let back = much.iter().enumerate().map(|(place, one)| {
        // The table says of a release what was returned by its end, which is another part of another whole.
        let share = one.share.filter(|_| place == 0 && one.kind != WindowKind::Released);
        let share = share.map(|share| format!(" ({} of what had been taken)", units::percent(share)));
        let verb = if place == 0 { " gave back" } else { "" };
        format!(
            "{}{verb} {}{}",
            noun(one.kind),
            size(one.bytes),
            share.unwrap_or_default()
        )
    });
    let mut parts = vec![list(&back.collect::<Vec<String>>())];
    let nothing: Vec<&Gave> = gave
        .iter()
        .filter(|one| !one.much && !one.took && !one.much_lazily)
        .collect();
    let nouns: Vec<String> = nothing.iter().map(|one| noun(one.kind).to_owned()).collect();
    let reason = match nothing.as_slice() {
        [one] if one.held => ", as its allocator cannot then",
        _ => "",
    };
    if !nouns.is_empty() {
        parts.push(format!("{} gave back nothing{reason}", list(&nouns)));
    }
    let mut lazily: Vec<&Gave> = gave.iter().filter(|one| one.much_lazily).collect();
    lazily.sort_by(|a, b| b.lazily.unwrap_or(0.0).total_cmp(&a.lazily.unwrap_or(0.0)));
    parts.extend(lazily.into_iter().map(|one| left_to_kernel(one, size)));
    let more = gave.iter().filter(|one| one.took);
    parts.extend(more.map(|one| format!("during {} {} more were taken", noun(one.kind), size(one.bytes))));
    let said: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some(said.join("; ")).filter(|said| !said.is_empty())
}

/// What became lazily freed, which is in no figure of what came back: it is resident until the kernel takes it.
fn left_to_kernel(gave: &Gave, size: impl Fn(f64) -> String) -> String {
    let back = if gave.much || gave.took {
        ""
    } else {
        " gave back nothing, but"
    };
    let left = match gave.lazily {
        Some(lazily) => format!("{} to the kernel, to take when it needs them", size(lazily)),
        None => SOME_LEFT.to_owned(),
    };
    format!("{}{back} left {left}", noun(gave.kind))
}

/// What gave the occasion, in a sentence.
pub(super) fn noun(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::Silent => "silence",
        WindowKind::Simmer => "light traffic",
        WindowKind::Closed => "closing all documents",
        WindowKind::Released => "a forced release",
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What was lazily freed at the end of a window, where it is much of what is there.
pub(super) fn lazily(window: &Window) -> Option<String> {
    let lazily = window.much_lazily_freed()?;
    let after = window.private.as_ref()?.after;
    Some(format!(
        "{}: {} MiB private at its end, of which {} MiB lazily freed, which the kernel takes when it needs them",
        name(window),
        units::mib(after),
        units::mib(lazily)
    ))
}

/// Light traffic of a window that was due and not sent.
pub(super) fn left_out(window: &Window) -> Option<String> {
    (window.left_out > 0).then(|| {
        format!(
            "{}: {} of {} were left out, as an answer was still open or lsp-soak late when they were due",
            name(window),
            units::count(window.left_out),
            units::counted(window.sent.saturating_add(window.left_out), "message")
        )
    })
}

/// What light traffic cost by itself, beside what came back with it.
pub(super) fn cost(traffic: &Traffic) -> String {
    let more = |bytes: f64| units::signed_mib(bytes.round() as i64);
    let windows = traffic
        .in_windows
        .map(|bytes| format!("{} MiB of what changed with it is its own, ", more(bytes)));
    format!(
        "light traffic: {}by the control's {} MiB a minute; it is taken off no figure",
        windows.unwrap_or_default(),
        more(traffic.per_minute())
    )
}

/// What to know of a window beyond its figures: that it ran out of time, why it was not waited for, what its traffic costs.
pub(super) fn remark(window: &Window) -> Option<String> {
    let name = name(window);
    let Some(course) = &window.private else {
        return Some(format!(
            "{name}: what came back is not known, for a process could not be read or shares pages with the one that it was \
             forked from"
        ));
    };
    if window.control {
        let more = units::signed_mib(course.gave().saturating_neg());
        let messages = units::counted(window.sent, "message");
        return Some(format!(
            "{name}: light traffic by itself changed private memory by {more} MiB in {messages}"
        ));
    }
    match window.why()? {
        WindowEnd::TimedOut if window.moving.is_empty() => {
            // Of memory that was not seen for long enough nobody knows.
            let what = window.settled.map_or("not known to be at rest", |_| "still changing");
            Some(format!("{name}: it was {what} when its time was up"))
        }
        WindowEnd::TooShort => Some(format!(
            "{name}: too short to tell: its memory kept still, but its time was up after {} of the {} that are needed",
            time(window.took),
            units::or_unknown(window.needed, time)
        )),
        WindowEnd::TimedOut => Some(format!("{name}: still moving when its time was up: {}", window.moving)),
        WindowEnd::Held => {
            let why = match window.decay.map(|decay| decay.delay) {
                Some(Delay::Never) => "the allocator was told never to give back",
                Some(Delay::After(_)) | Some(Delay::Untimed) | None => {
                    "the allocator gives back only while the server does something"
                }
            };
            let took = time(window.took);
            // Why it ended was judged by what the driver saw at its looks, from which the curve may differ.
            Some(match course.gave_much() {
                false => format!("{name}: held, since {why}, and nothing came back by itself in {took}"),
                true => {
                    let gave = units::mib(course.gave().unsigned_abs());
                    format!("{name}: ended as held, since {why}, but by its curve {gave} MiB came back in {took}")
                }
            })
        }
        WindowEnd::Settled | WindowEnd::Ended => window.decay.filter(|decay| decay.lazy).map(|_| {
            format!(
                "{name}: the allocator leaves what it gives back to the kernel (MADV_FREE), which takes it when it needs it: \
                 until then it stands in the curve, and in no checkpoint"
            )
        }),
    }
}

#[cfg(test)]
mod tests {
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
}
