//! Windows of idleness as text: how they ended, and which of them released memory.

use std::time::Duration;

use analysis::summary::decay::{Gave, Short, TooShortFor, Traffic, Window, WindowKind};
use base::units;
use record::{Delay, Nanos, Runtime, WindowEnd};

use base::text::table::Column;

/// The column for lazily freed memory at the end.
pub(crate) const LAZILY: &str = "lazily freed";

/// Stands for lazily freed memory if only some windows of a kind have it.
pub(crate) const SOME_LEFT: &str = "an unknown amount left for the kernel to reclaim";

/// The head of the column of curves.
pub(crate) const CURVE: &str = "curve";

/// What the columns of a table of windows mean that do not say it themselves.
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

/// What the columns of this table of windows mean.
pub(crate) fn legend(table: &[Column]) -> String {
    let there = |name: &str| table.iter().any(|column| column.name() == name);
    let meanings = MEANINGS.iter().filter(|(name, _)| there(name));
    let definitions: Vec<String> = meanings.map(|(name, meaning)| format!("{name}: {meaning}")).collect();
    definitions.join(" · ")
}

/// The curve of a window, with how long it took.
pub(crate) fn curve(window: &Window) -> (Nanos, &[u64]) {
    (window.took, &window.curve)
}

/// The name of a window: its phase and what it was.
pub(crate) fn name(window: &Window) -> String {
    label(&window.phase.name, window.kind, window.control)
}

/// The same for a window of several runs. The kind comes first, since narrow tables cut the end off; a phase with the name
/// of its kind is not named twice.
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

/// How a window ended, with the settle time where memory settled.
pub(crate) fn end(window: &Window) -> String {
    let after = window.settle_time();
    let after = after
        .filter(|after| *after > 0)
        .map(|after| format!(" in {}", time(after)));
    match window.why() {
        // It settled before the clock of the collector.
        Some(WindowEnd::Settled) if window.too_short_for.is_some() => "too short".to_owned(),
        Some(WindowEnd::Settled) => format!("settled{}", after.unwrap_or_default()),
        Some(WindowEnd::Held) => "held".to_owned(),
        Some(WindowEnd::TimedOut) => "timed out".to_owned(),
        Some(WindowEnd::TooShort) => "too short".to_owned(),
        Some(WindowEnd::Ended) => "ended".to_owned(),
        None => String::new(),
    }
}

/// A time within a window: to a tenth of a second, since memory is looked at twenty times in one.
pub(crate) fn time(time: Nanos) -> String {
    format!("{:.1} s", Duration::from_nanos(time).as_secs_f64())
}

/// Which windows released memory, in one sentence of the figures that their table shows; `None` where there was no window.
pub(crate) fn sentence(gave: &[Gave]) -> Option<String> {
    let parts: Vec<String> = seen(gave).into_iter().chain(not_known(gave)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What windows released, as far as they were long enough to tell.
pub(crate) fn seen(gave: &[Gave]) -> Vec<String> {
    let (mut much, rest): (Vec<&Gave>, Vec<&Gave>) = gave.iter().partition(|one| one.much);
    much.sort_by(|a, b| b.released.total_cmp(&a.released));
    let back: Vec<String> = much
        .iter()
        .enumerate()
        .map(|(place, one)| match place {
            0 => format!(
                "{} released {}{}",
                size(one.released),
                when(one.kind),
                share(one, " of the growth so far")
            ),
            _ => format!("{} {}{}", size(one.released), when(one.kind), share(one, "")),
        })
        .collect();
    let (again, rest): (Vec<&Gave>, Vec<&Gave>) = rest.into_iter().partition(|one| one.for_a_while > 0.0);
    let again = again
        .into_iter()
        .map(|one| format!("{} released {} and taken again", size(one.for_a_while), when(one.kind)));
    let (nothing, little): (Vec<&Gave>, Vec<&Gave>) = rest
        .into_iter()
        .partition(|one| is_nothing(one.released, one.share, one.fell));
    let little = little.into_iter().map(|one| {
        let share = share(one, " of the growth so far");
        format!(
            "{} released {}{share}, {}",
            size(one.released.max(one.fell)),
            when(one.kind),
            noise(one)
        )
    });
    let lazily = gave.iter().filter(|one| one.much_lazily).map(left_to_kernel);
    let more = gave.iter().filter(|one| one.took);
    let more = more.map(|one| format!("{} more taken {}", size(one.taken), when(one.kind)));
    let nothing: Vec<&Gave> = nothing
        .into_iter()
        .filter(|one| !one.took && !one.much_lazily && one.shared <= 0.0 && one.short.is_none())
        .collect();
    let parts = std::iter::once(list(&back))
        .chain(again)
        .chain(little)
        .chain(released_nothing(&nothing));
    let shared = gave.iter().filter(|one| one.shared > 0.0);
    let shared = shared.map(|one| {
        let (size, when) = (size(one.shared), when(one.kind));
        format!("{size} of shared memory released {when} (no private figure counts it)")
    });
    parts
        .chain(lazily)
        .chain(shared)
        .chain(more)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Windows that released nothing, those with one reason together.
fn released_nothing(windows: &[&Gave]) -> Vec<String> {
    let mut groups: Vec<(Reason, Vec<&Gave>)> = Vec::new();
    for one in windows {
        let reason = reason(one);
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, same)) => same.push(one),
            None => groups.push((reason, vec![one])),
        }
    }
    let sentence = |(reason, windows): (Reason, Vec<&Gave>)| {
        let why = match (reason, windows.as_slice()) {
            (Reason::Passive(runtime), _) => format!(" ({} releases nothing by itself)", runtime.name()),
            (Reason::Unknown, _) => " (when its allocator releases is not known)".to_owned(),
            (Reason::Other, [one]) if one.never => " (set never to purge)".to_owned(),
            (Reason::Other, [one]) if one.held => " (purges only on activity)".to_owned(),
            (Reason::Other, _) => String::new(),
        };
        let when: Vec<String> = windows.iter().map(|one| when(one.kind).to_owned()).collect();
        format!("nothing released {}{why}", joined(&when, "or"))
    };
    groups.into_iter().map(sentence).collect()
}

/// Why a window may have released nothing.
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

/// What does not follow from windows that ended before the clock of a garbage collector did: `what is released while idle is
/// not known: the window was 9 s, Go needs about 4 min (`--full-decay`)`.
pub(crate) fn not_known(gave: &[Gave]) -> Option<String> {
    let is_idle = |one: &&Gave| matches!(one.kind, WindowKind::Silent | WindowKind::Simmer);
    let has_idle = gave.iter().any(|one| is_idle(&one));
    // The idle windows after a closing are longer.
    let short: Vec<(&Gave, Short)> = gave
        .iter()
        .filter(|one| is_idle(one) || !has_idle)
        .filter_map(|one| Some((one, one.short?)))
        .collect();
    let (_, longest) = short.iter().copied().max_by_key(|(_, short)| short.needed)?;
    let when: Vec<String> = short.iter().map(|(one, _)| when(one.kind).to_owned()).collect();
    let times: Vec<Nanos> = short.iter().map(|(_, short)| short.took).collect();
    let what = match short.iter().any(|(one, _)| one.much) {
        true => "what else is released",
        false => "what is released",
    };
    let longest = Short {
        full_decay_helps: short.iter().any(|(_, short)| short.full_decay_helps),
        ..longest
    };
    let when = joined(&when, "or");
    Some(format!("{what} {when} is not known: {}", needs(&times, longest)))
}

/// Why windows of these lengths prove nothing: `the window was 9 s, Go needs about 4 min (`--full-decay`)`.
pub(crate) fn needs(took: &[Nanos], short: Short) -> String {
    let times: Vec<String> = took.iter().copied().map(about).collect();
    let windows = match times.as_slice() {
        [one] => format!("the window was {one}"),
        several => format!("the windows were {}", list(several)),
    };
    let cure = match short.full_decay_helps {
        true => " (`--full-decay`)",
        false => "",
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
    match is_nothing && !gave.took && gave.for_a_while == 0.0 {
        true => format!("nothing released {when}, but {left}"),
        false => format!("{when} {left}"),
    }
}

/// Whether this much is printed as nothing, in bytes and as a share, and no fall is shown: only then may a sentence call it
/// that. The difference of two sizes may be nothing in a table where they are not the same there.
pub(crate) fn is_nothing(released: f64, share: Option<f64>, fell: f64) -> bool {
    let shown = share.map_or_else(|| units::percent(0.0), units::percent);
    fell == 0.0
        && (released < 0.0 || (units::mib(released.round() as u64) == units::mib(0) && shown == units::percent(0.0)))
}

/// A size in a sentence: in the unit of the tables, or a smaller one where that would print nothing.
pub(crate) fn size(bytes: f64) -> String {
    let bytes = bytes.abs().round() as u64;
    match units::mib(bytes) {
        text if text == units::mib(0) => units::bytes(bytes),
        text => format!("{text} MiB"),
    }
}

/// ` (22 % of the growth so far)`; empty where the share prints as 0. For a forced release the table has the share at
/// the window's end, which differs.
fn share(gave: &Gave, of: &str) -> String {
    let share = gave
        .share
        .filter(|_| gave.kind != WindowKind::Released)
        .map(units::percent);
    let share = share.filter(|share| *share != units::percent(0.0));
    share.map_or_else(String::new, |share| format!(" ({share}{of})"))
}

/// That this much may be chance.
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
pub(crate) fn lazily(window: &Window) -> Option<String> {
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
pub(crate) fn left_out(window: &Window) -> Option<String> {
    (window.left_out > 0).then(|| {
        format!(
            "{}: {} of {} were not sent, because an answer was still open or lsp-soak was late",
            name(window),
            units::count(window.left_out),
            units::counted(window.sent.saturating_add(window.left_out), "message")
        )
    })
}

/// The cost of light traffic alone, beside its releases.
pub(crate) fn cost(traffic: &Traffic) -> String {
    let more = |bytes: f64| units::signed_mib(bytes.round() as i64);
    let windows = traffic
        .in_windows
        .map(|bytes| format!(", so {} MiB of the change", more(bytes)));
    format!(
        "light traffic alone: {} MiB a minute in the control phase{}; no figure is corrected for this",
        more(traffic.per_minute()),
        windows.unwrap_or_default()
    )
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
        WindowEnd::Held => {
            let runtime = window.decay.and_then(|decay| decay.runtime);
            let why = match (runtime, window.decay.map(|decay| decay.delay)) {
                (Some(runtime), _) => format!("{} releases nothing by itself", runtime.name()),
                (None, Some(Delay::Never)) => "the allocator is set never to purge".to_owned(),
                (None, _) => "the allocator purges only on activity".to_owned(),
            };
            let took = time(window.took);
            // Why it ended was judged by what the driver saw at its looks, from which the curve may differ.
            let gave = course.gave().max(course.gave_for_a_while().cast_signed()) as f64;
            let fell = course.fell_as_shown() as f64;
            Some(match is_nothing(gave, course.share, fell) {
                true => format!("{name}: ended early, because {why}; nothing was released in {took}"),
                false => {
                    let gave = size(gave.max(fell));
                    format!("{name}: ended early, because {why}, but its curve shows {gave} released in {took}")
                }
            })
        }
        WindowEnd::Settled | WindowEnd::Ended if window.too_short_for.is_some() => {
            window.too_short_for.as_ref().map(|short| too_short(&name, short))
        }
        WindowEnd::Settled | WindowEnd::Ended => window.decay.filter(|decay| decay.lazy).map(|_| {
            format!(
                "{name}: the allocator leaves freed memory for the kernel to reclaim (MADV_FREE): until then the \
                 curve includes it, checkpoints do not"
            )
        }),
    }
}

/// Why a window proves nothing of a garbage collector.
fn too_short(name: &str, short: &TooShortFor) -> String {
    let whose = match short.program.as_str() {
        "" => String::new(),
        program => format!(" of `{program}`, which has most of the memory,"),
    };
    let cure = match short.full_decay_helps {
        true => "; `--full-decay` waits",
        false => "",
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
