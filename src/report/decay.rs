//! Windows of idleness as text: how they ended, and which of them gave memory back.

use std::time::Duration;

use crate::analyse::decay::{Gave, Traffic, Window, WindowKind};
use crate::record::{Delay, Nanos, WindowEnd};
use crate::units;

use super::table::Column;

/// The head of the column of what was lazily freed at the end.
pub(super) const LAZILY: &str = "lazily freed";

/// What was left to the kernel where that is known of some windows of a kind only.
pub(super) const SOME_LEFT: &str = "some to the kernel, how much is not known";

/// The head of the column of curves.
pub(super) const CURVE: &str = "curve";

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
mod tests;
