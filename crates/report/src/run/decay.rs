//! Idle windows in words: their ends, and the memory that they released.

use std::time::Duration;

use analysis::summary::decay::{Course, Gave, Short, TooShortFor, Traffic, Window, WindowKind};
use base::curve::Curve;
use base::units;
use record::{Delay, Nanos, Runtime, WindowEnd};

use base::text::table::Column;

/// The column for lazily freed memory at the end.
pub(crate) const LAZILY: &str = "lazily freed";

/// Stands for lazily freed memory if only some windows of a kind have it.
pub(crate) const SOME_LEFT: &str = "an unknown amount left for the kernel to reclaim";

/// The head of the column of curves.
pub(crate) const CURVE: &str = "curve";

/// Meanings of the columns in a table of windows, where the head does not say it.
const MEANINGS: [(&str, &str); 7] = [
    ("floor", "the lowest"),
    ("t50", "time until half of the fall"),
    ("t90", "time until nine tenths of the fall"),
    ("settle time", "time until memory stayed near the floor"),
    (
        "returned in window",
        "share of the growth so far that this window released (growth: highest peak above the lowest checkpoint, or \
         above the floor if that is lower)",
    ),
    (
        "returned by then",
        "share of the growth so far that was released by the floor of this window",
    ),
    (LAZILY, "at its end, resident until the kernel reclaims it"),
];

/// Two columns: the share that the window itself released, and the share released by its floor. Both are of the run's
/// growth so far.
pub(crate) const RETURNED: &str = "returned";

pub(crate) const IN_WINDOW: &str = "in window";

pub(crate) const BY_THEN: &str = "by then";

/// The meanings of the columns that this table of windows has.
pub(crate) fn legend(table: &[Column]) -> String {
    let mut definitions = Vec::new();
    for (name, meaning) in MEANINGS {
        if table.iter().any(|column| column.name() == name) {
            definitions.push(format!("{name}: {meaning}"));
        }
    }
    definitions.join(" · ")
}

/// The curve of a window, with how long it took.
pub(crate) fn curve(window: &Window) -> (Nanos, &Curve) {
    (window.took, &window.private_curve)
}

/// The name of a window: its kind and its phase.
pub(crate) fn name(window: &Window) -> String {
    label(&window.phase.name, window.kind, window.control)
}

/// The name of a window of one or several runs. The kind comes first, since narrow tables cut the end off; a phase with the
/// name of its kind is not named twice.
pub(crate) fn label(phase: &str, kind: WindowKind, control: bool) -> String {
    let (kind, stem) = match kind {
        _ if control => ("control", "control"),
        WindowKind::Silent => ("idle", "idle"),
        WindowKind::Simmer => ("light traffic", "traffic"),
        WindowKind::Closed => ("closing", "clos"),
        WindowKind::Released => ("forced release", "release"),
    };
    if phase.contains(stem) {
        phase.to_owned()
    } else {
        format!("{kind} in {phase}")
    }
}

/// The end of a window in few words, with the settle time where memory settled.
pub(crate) fn end(window: &Window) -> String {
    let after = match window.settle_time() {
        Some(settle_time) if settle_time > 0 => format!(" in {}", time(settle_time)),
        _ => String::new(),
    };
    match window.why() {
        // Memory settled before the garbage collector's clock could run out.
        Some(WindowEnd::Settled) if window.too_short_for.is_some() => "too short".to_owned(),
        Some(WindowEnd::Settled) => format!("settled{after}"),
        Some(WindowEnd::Held) => "held".to_owned(),
        Some(WindowEnd::TimedOut) => "timed out".to_owned(),
        Some(WindowEnd::TooShort) => "too short".to_owned(),
        Some(WindowEnd::Ended) => "ended".to_owned(),
        None => String::new(),
    }
}

/// A time within a window: to a tenth of a second, since memory is sampled twenty times a second.
pub(crate) fn time(time: Nanos) -> String {
    format!("{:.1} s", Duration::from_nanos(time).as_secs_f64())
}

/// One sentence on the windows that released memory, with the figures of their table; `None` without windows.
pub(crate) fn sentence(windows: &[Gave]) -> Option<String> {
    let mut parts = released_parts(windows);
    parts.extend(not_known(windows));
    if parts.is_empty() { None } else { Some(parts.join("; ")) }
}

/// Clauses about the memory that windows released, as far as they were long enough to tell: most first, then little,
/// then nothing, then lazily freed and shared memory, and memory that was taken.
pub(crate) fn released_parts(windows: &[Gave]) -> Vec<String> {
    let (mut much, rest): (Vec<&Gave>, Vec<&Gave>) = windows.iter().partition(|window| window.much);
    much.sort_by(|a, b| b.released.total_cmp(&a.released));
    let (taken_again, rest): (Vec<&Gave>, Vec<&Gave>) = rest.into_iter().partition(|window| window.for_a_while > 0.0);
    let (nothing, little): (Vec<&Gave>, Vec<&Gave>) = rest
        .into_iter()
        .partition(|window| is_nothing(window.released, window.share, window.fell));

    let mut parts = Vec::new();
    if !much.is_empty() {
        parts.push(much_released(&much));
    }
    for window in taken_again {
        let (size, when) = (size(window.for_a_while), when(window.kind));
        parts.push(format!("{size} released {when} and taken again"));
    }
    for window in little {
        let (size, when) = (size(window.released.max(window.fell)), when(window.kind));
        let share = share(window, " of the growth so far");
        parts.push(format!("{size} released {when}{share}, {}", noise(window)));
    }
    let nothing: Vec<&Gave> = nothing
        .into_iter()
        .filter(|window| !window.took && !window.much_lazily && window.shared <= 0.0 && window.short.is_none())
        .collect();
    parts.extend(released_nothing(&nothing));
    parts.extend(windows.iter().filter(|window| window.much_lazily).map(left_to_kernel));
    for window in windows.iter().filter(|window| window.shared > 0.0) {
        let (size, when) = (size(window.shared), when(window.kind));
        parts.push(format!(
            "{size} of shared memory released {when} (no private figure counts it)"
        ));
    }
    for window in windows.iter().filter(|window| window.took) {
        parts.push(format!("{} more taken {}", size(window.taken), when(window.kind)));
    }
    parts
}

/// `40.0 MiB released after closing all documents (20 % of the growth so far) and 30.0 MiB while idle (15 %)`.
fn much_released(windows: &[&Gave]) -> String {
    let mut clauses = Vec::new();
    for (place, window) in windows.iter().enumerate() {
        let (size, when) = (size(window.released), when(window.kind));
        clauses.push(if place == 0 {
            format!("{size} released {when}{}", share(window, " of the growth so far"))
        } else {
            format!("{size} {when}{}", share(window, ""))
        });
    }
    list(&clauses)
}

/// Sentences on windows that released nothing, grouped by reason.
fn released_nothing(windows: &[&Gave]) -> Vec<String> {
    let mut groups: Vec<(Reason, Vec<&Gave>)> = Vec::new();
    for window in windows {
        let reason = reason(window);
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, group)) => group.push(window),
            None => groups.push((reason, vec![window])),
        }
    }
    let mut sentences = Vec::new();
    for (reason, windows) in groups {
        let why = match (reason, windows.as_slice()) {
            (Reason::Passive(runtime), _) => format!(" ({} releases nothing by itself)", runtime.name()),
            (Reason::Unknown, _) => " (when its allocator releases is not known)".to_owned(),
            (Reason::Other, [only]) if only.never => " (set never to purge)".to_owned(),
            (Reason::Other, [only]) if only.held => " (purges only on activity)".to_owned(),
            (Reason::Other, _) => String::new(),
        };
        let when: Vec<String> = windows.iter().map(|window| when(window.kind).to_owned()).collect();
        sentences.push(format!("nothing released {}{why}", joined(&when, "or")));
    }
    sentences
}

/// A reason for which a window may have released nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Passive(Runtime),
    Unknown,
    Other,
}

fn reason(gave: &Gave) -> Reason {
    match gave.passive {
        Some(runtime) => Reason::Passive(runtime),
        None if gave.unknown => Reason::Unknown,
        None => Reason::Other,
    }
}

/// A clause about windows that ended before the clock of a garbage collector did: `what is released while idle is not
/// known: the window was 9 s, Go needs about 4 min (`--full-decay`)`.
pub(crate) fn not_known(windows: &[Gave]) -> Option<String> {
    let has_idle = windows.iter().any(|window| window.kind.is_idle());
    // The idle windows after a closing are longer.
    let short: Vec<(&Gave, Short)> = windows
        .iter()
        .filter(|window| window.kind.is_idle() || !has_idle)
        .filter_map(|window| Some((window, window.short?)))
        .collect();
    let (_, longest) = short.iter().copied().max_by_key(|(_, short)| short.needed)?;
    let when: Vec<String> = short.iter().map(|(window, _)| when(window.kind).to_owned()).collect();
    let times: Vec<Nanos> = short.iter().map(|(_, short)| short.took).collect();
    let what = if short.iter().any(|(window, _)| window.much) {
        "what else is released"
    } else {
        "what is released"
    };
    let longest = Short {
        full_decay_helps: short.iter().any(|(_, short)| short.full_decay_helps),
        ..longest
    };
    let when = joined(&when, "or");
    Some(format!("{what} {when} is not known: {}", needs(&times, longest)))
}

/// The reason why windows of these lengths prove nothing: `the window was 9 s, Go needs about 4 min (`--full-decay`)`.
pub(crate) fn needs(took: &[Nanos], short: Short) -> String {
    let times: Vec<String> = took.iter().copied().map(about).collect();
    let windows = match times.as_slice() {
        [one] => format!("the window was {one}"),
        several => format!("the windows were {}", list(several)),
    };
    let cure = if short.full_decay_helps {
        " (`--full-decay`)"
    } else {
        ""
    };
    let needed = about(short.needed);
    format!("{windows}, {} needs about {needed}{cure}", short.runtime.name())
}

/// A time in few words: `9 s`, `4 min`.
pub(crate) fn about(time: Nanos) -> String {
    let seconds = Duration::from_nanos(time).as_secs_f64();
    if seconds < 99.5 {
        return format!("{} s", seconds.round());
    }
    format!("{} min", (seconds / 60.0).round())
}

/// Lazily freed memory counts as resident, not as released, until the kernel reclaims it.
fn left_to_kernel(gave: &Gave) -> String {
    let left = match gave.lazily {
        Some(lazily) => format!("{} left for the kernel to reclaim", size(lazily)),
        None => SOME_LEFT.to_owned(),
    };
    let when = when(gave.kind);
    let is_nothing = is_nothing(gave.released, gave.share, gave.fell) && gave.short.is_none();
    if is_nothing && !gave.took && gave.for_a_while == 0.0 {
        format!("nothing released {when}, but {left}")
    } else {
        format!("{when} {left}")
    }
}

/// True if this much is printed as nothing, in bytes and as a share, and no fall is shown: only then may a sentence call it
/// nothing. The difference of two sizes may round to nothing where the table prints two different sizes.
pub(crate) fn is_nothing(released: f64, share: Option<f64>, fell: f64) -> bool {
    if fell != 0.0 {
        return false;
    }
    let share = units::percent(share.unwrap_or(0.0));
    let is_printed_as_zero = units::mib(released.round() as u64) == units::mib(0) && share == units::percent(0.0);
    released < 0.0 || is_printed_as_zero
}

/// A size in a sentence: in the unit of the tables, or a smaller one where that would print nothing.
pub(crate) fn size(bytes: f64) -> String {
    let bytes = bytes.abs().round() as u64;
    let text = units::mib(bytes);
    if text == units::mib(0) {
        units::bytes(bytes)
    } else {
        format!("{text} MiB")
    }
}

/// ` (22 % of the growth so far)`; empty where the share prints as 0. For a forced release the table has the share at
/// the window's end, which differs.
fn share(gave: &Gave, of: &str) -> String {
    if gave.kind == WindowKind::Released {
        return String::new();
    }
    match gave.share.map(units::percent) {
        Some(share) if share != units::percent(0.0) => format!(" ({share}{of})"),
        _ => String::new(),
    }
}

/// A remark that a window's release may be chance.
pub(crate) fn noise(gave: &Gave) -> String {
    format!("within noise ({})", size(gave.noise))
}

/// The kind of window, in a sentence.
pub(crate) fn when(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::Silent => "while idle",
        WindowKind::Simmer => "in light traffic",
        WindowKind::Closed => "after closing all documents",
        WindowKind::Released => "by a forced release",
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    joined(parts, "and")
}

fn joined(parts: &[String], by: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {by} {last}", first.join(", ")),
    }
}

/// Lazily freed memory at the end of a window, if it is a large part.
pub(crate) fn lazily_freed(window: &Window) -> Option<String> {
    let lazily = window.much_lazily_freed()?;
    let after = window.private.as_ref()?.after;
    Some(format!(
        "{}: {} MiB private at its end, of which {} MiB are lazily freed (the kernel reclaims them when it needs \
         memory)",
        name(window),
        units::mib(after),
        units::mib(lazily)
    ))
}

/// Light traffic of a window that was due and not sent.
pub(crate) fn unsent_traffic(window: &Window) -> Option<String> {
    if window.left_out == 0 {
        return None;
    }
    Some(format!(
        "{}: {} of {} were not sent, because an answer was still open or lsp-soak was late",
        name(window),
        units::count(window.left_out),
        units::counted(window.sent.saturating_add(window.left_out), "message")
    ))
}

/// The memory cost of light traffic alone, which its releases hide.
pub(crate) fn traffic_cost(traffic: &Traffic) -> String {
    let in_windows = match traffic.in_windows {
        Some(bytes) => format!(", so {} MiB of the change", signed_size(bytes)),
        None => String::new(),
    };
    format!(
        "light traffic alone: {} MiB a minute in the control phase{in_windows}; no figure is corrected for this",
        signed_size(traffic.per_minute())
    )
}

pub(crate) fn signed_size(bytes: f64) -> String {
    units::signed_mib(bytes.round() as i64)
}

/// A remark beyond the window's figures: it timed out, was not waited for, or its traffic has a cost.
pub(crate) fn remark(window: &Window) -> Option<String> {
    let name = name(window);
    let Some(course) = &window.private else {
        return Some(format!(
            "{name}: released memory is not known, because a process could not be read or shares pages with its parent"
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
            // Memory that was not watched for long enough has no conclusion.
            let what = window.settled.map_or("not known to be at rest", |_| "still changing");
            Some(format!("{name}: memory was {what} when the time was up"))
        }
        WindowEnd::TooShort => Some(format!(
            "{name}: too short: memory was stable, but the window ended after {} of the {} needed",
            time(window.took),
            units::or_unknown(window.needed, time)
        )),
        WindowEnd::TimedOut => Some(format!(
            "{name}: still changing when the time was up: {}",
            window.moving
        )),
        WindowEnd::Held => Some(held(&name, window, course)),
        WindowEnd::Settled | WindowEnd::Ended if window.too_short_for.is_some() => {
            window.too_short_for.as_ref().map(|short| too_short(&name, short))
        }
        WindowEnd::Settled | WindowEnd::Ended if window.decay.is_some_and(|decay| decay.lazy) => Some(format!(
            "{name}: the allocator leaves freed memory for the kernel to reclaim (MADV_FREE): until then the curve \
             includes it, checkpoints do not"
        )),
        WindowEnd::Settled | WindowEnd::Ended => None,
    }
}

/// A window that ended early because nothing more would be released.
fn held(name: &str, window: &Window, course: &Course) -> String {
    let runtime = window.decay.and_then(|decay| decay.runtime);
    let why = match (runtime, window.decay.map(|decay| decay.delay)) {
        (Some(runtime), _) => format!("{} releases nothing by itself", runtime.name()),
        (None, Some(Delay::Never)) => "the allocator is set never to purge".to_owned(),
        (None, _) => "the allocator purges only on activity".to_owned(),
    };
    let took = time(window.took);
    // The driver ended the window by its own samples, from which the curve may differ.
    let released = course.gave().max(course.gave_for_a_while().cast_signed()) as f64;
    let fell = course.fell_as_shown() as f64;
    if is_nothing(released, course.share, fell) {
        format!("{name}: ended early, because {why}; nothing was released in {took}")
    } else {
        let size = size(released.max(fell));
        format!("{name}: ended early, because {why}, but its curve shows {size} released in {took}")
    }
}

/// A remark on a window that ended before the clock of a garbage collector did.
fn too_short(name: &str, short: &TooShortFor) -> String {
    let whose = match short.program.as_str() {
        "" => String::new(),
        program => format!(" of `{program}`, which has most of the memory,"),
    };
    let cure = if short.full_decay_helps {
        "; `--full-decay` waits"
    } else {
        ""
    };
    format!(
        "{name}: too short to tell what is released later: {}{whose} needs about {}, the window was {}{cure}",
        short.runtime.name(),
        about(short.needed),
        about(short.took)
    )
}

#[cfg(test)]
mod tests;
