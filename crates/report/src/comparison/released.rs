//! Released memory in sentences: clauses about the windows of one run, or of all runs of a server.

use std::time::Duration;

use analysis::compare::{Comparison, ReleaseOfRuns, Side, releases};
use analysis::summary::Summary;
use analysis::summary::decay::{ShortWindow, WindowKind, WindowRelease};
use base::group_values;
use base::text::any_of;
use base::units::{self, median_of};
use record::{Nanos, Runtime};

use super::figures;

/// One thing that memory did in windows.
struct Clause {
    fact: Fact,
    amount: Amount,
    windows: Vec<WindowKind>,
    certainty: Certainty,
}

#[derive(Clone, Copy)]
enum Fact {
    Released,
    ReleasedAndTakenAgain,
    LeftToKernel,
    SharedReleased,
    Taken,
    /// What was released is not known.
    Unknown,
    /// What was released beside the known amount is not known.
    RestUnknown,
}

/// A size in bytes.
enum Amount {
    Nothing,
    Unknown,
    AtMost(f64),
    /// The least and the most of all runs.
    Range(f64, f64),
    /// That of each of some runs.
    Sizes(Vec<f64>),
}

/// How far a clause can be relied on; what is `None` is not worth a word.
#[derive(Default)]
struct Certainty {
    /// The share of the growth so far.
    share: Option<f64>,
    /// The runs for which it is true, and all runs.
    runs: Option<(usize, usize)>,
    /// The noise of memory, in bytes, within which the amount lies.
    noise: Option<f64>,
    /// The reason why nothing was released.
    reason: Option<Reason>,
    /// The lengths of windows that ended before the clock of a garbage collector did.
    too_short: Option<(Vec<Nanos>, ShortWindow)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Passive(Runtime),
    UnknownAllocator,
    NeverPurges,
    PurgesOnActivity,
}

impl Clause {
    fn in_words(&self) -> String {
        let windows: Vec<String> = self.windows.iter().map(|kind| when(*kind).to_owned()).collect();
        let (amount, when) = (self.amount.in_words(), any_of(&windows));
        let clause = match self.fact {
            Fact::Released => format!("{amount} released {when}"),
            Fact::ReleasedAndTakenAgain => format!("{amount} released {when} and taken again"),
            Fact::LeftToKernel => format!("{when} {amount} left for the kernel to reclaim"),
            Fact::SharedReleased => {
                format!("{amount} of shared memory released {when} (no private figure counts it)")
            }
            Fact::Taken => format!("{amount} more taken {when}"),
            Fact::Unknown => format!("what is released {when} is not known"),
            Fact::RestUnknown => format!("what else is released {when} is not known"),
        };
        clause + &self.certainty.in_words()
    }
}

impl Amount {
    fn in_words(&self) -> String {
        /// More than these are no longer read one by one.
        const FEW: usize = 3;
        let sizes = match self {
            Amount::Nothing => return "nothing".to_owned(),
            Amount::Unknown => return "an unknown amount".to_owned(),
            Amount::AtMost(most) => return format!("at most {}", size(*most)),
            Amount::Range(least, most) => return size_range(*least, *most),
            Amount::Sizes(sizes) => sizes,
        };
        if let [only] = sizes.as_slice() {
            return size(*only);
        }
        let mut descending = sizes.clone();
        descending.sort_by(|a, b| b.total_cmp(a));
        if let [most, .., least] = descending.as_slice()
            && descending.len() > FEW
        {
            return size_range(*least, *most);
        }
        let texts: Vec<String> = descending.iter().map(|size| units::mib(size.round() as u64)).collect();
        format!("{} MiB", list(&texts))
    }

    fn largest(&self) -> f64 {
        match self {
            Amount::Nothing | Amount::Unknown => 0.0,
            Amount::AtMost(most) | Amount::Range(_, most) => *most,
            Amount::Sizes(sizes) => sizes.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl Certainty {
    fn in_words(&self) -> String {
        let mut words = String::new();
        if let Some(share) = self.share {
            words.push_str(&format!(" ({} of the growth so far)", units::percent(share)));
        }
        if let Some((runs, all)) = self.runs {
            words.push_str(&format!(" in {runs} of {all} runs"));
        }
        if let Some(noise) = self.noise {
            words.push_str(&format!(", within noise ({})", size(noise)));
        }
        if let Some(reason) = self.reason {
            words.push_str(&format!(" ({})", reason.in_words()));
        }
        if let Some((took, short)) = &self.too_short {
            words.push_str(&format!(": {}", needs(took, *short)));
        }
        words
    }
}

impl Reason {
    fn of_run(run: &WindowRelease) -> Option<Reason> {
        if let Some(runtime) = run.passive {
            return Some(Reason::Passive(runtime));
        }
        if run.unknown {
            Some(Reason::UnknownAllocator)
        } else if run.never {
            Some(Reason::NeverPurges)
        } else if run.held {
            Some(Reason::PurgesOnActivity)
        } else {
            None
        }
    }

    fn in_words(self) -> String {
        match self {
            Reason::Passive(runtime) => format!("{} releases nothing by itself", runtime.name()),
            Reason::UnknownAllocator => "when its allocator releases is not known".to_owned(),
            Reason::NeverPurges => "set never to purge".to_owned(),
            Reason::PurgesOnActivity => "purges only on activity".to_owned(),
        }
    }
}

/// The sentence on the windows of each server.
pub(crate) fn of_servers(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for side in &comparison.sides {
        let text = if comparison.sides.len() > 1 {
            in_brief(&side.gave)
        } else {
            sentence(&side.gave)
        };
        sentences.extend(text.map(|text| (side.label.as_str(), text)));
    }
    with_servers(sentences)
}

/// `ty, pyright: 43.0 MiB released in light traffic`: servers with the same sentence share it.
pub(crate) fn with_servers(sentences: Vec<(&str, String)>) -> Vec<String> {
    let by_sentence = sentences.into_iter().map(|(server, sentence)| (sentence, server));
    let mut shared = Vec::new();
    for (sentence, servers) in group_values(by_sentence) {
        shared.push(format!("{}: {sentence}", servers.join(", ")));
    }
    shared
}

/// The sentences with runs, shares, noise and reasons, where [`of_servers`] says less.
pub(crate) fn in_full(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for side in &comparison.sides {
        sentences.extend(sentence(&side.gave).map(|sentence| (side.label.as_str(), sentence)));
    }
    let brief = of_servers(comparison);
    let mut full = with_servers(sentences);
    full.retain(|sentence| !brief.contains(sentence));
    full
}

/// The sentence on the windows of a single run.
pub(crate) fn of_run(run: &Summary) -> Option<String> {
    sentence(&releases(&[run]))
}

/// One sentence on all windows; `None` without windows.
fn sentence(windows: &[ReleaseOfRuns]) -> Option<String> {
    let clauses: Vec<String> = clauses(windows).iter().map(Clause::in_words).collect();
    if clauses.is_empty() {
        return None;
    }
    Some(clauses.join("; "))
}

/// `released ≤ 30.8 MiB in light traffic, nothing while idle`: several servers have to fit on a screen.
fn in_brief(windows: &[ReleaseOfRuns]) -> Option<String> {
    let (mut released, mut nothing, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for clause in clauses(windows) {
        let kinds: Vec<String> = clause.windows.iter().map(|kind| when(*kind).to_owned()).collect();
        let is_release = matches!(clause.fact, Fact::Released);
        let is_within_noise = clause.certainty.noise.is_some();
        if is_release && is_within_noise && clause.certainty.runs.is_some() {
            // Its other runs released more, which is told already.
            continue;
        }
        if !is_release || is_within_noise {
            others.push(clause.in_words());
        } else if matches!(clause.amount, Amount::Nothing) {
            nothing.extend(kinds);
        } else if clause.certainty.runs.is_some() {
            released.push(format!("≤ {} {}", size(clause.amount.largest()), any_of(&kinds)));
        } else {
            released.push(format!("{} {}", clause.amount.in_words(), any_of(&kinds)));
        }
    }
    if !nothing.is_empty() {
        released.push(format!("nothing {}", any_of(&nothing)));
    }
    if !released.is_empty() {
        others.insert(0, format!("released {}", released.join(", ")));
    }
    if others.is_empty() {
        return None;
    }
    Some(others.join("; "))
}

/// The largest release first, then little and nothing, then memory that no release counts.
fn clauses(windows: &[ReleaseOfRuns]) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = windows.iter().filter_map(much_released).collect();
    clauses.sort_by(|a, b| b.amount.largest().total_cmp(&a.amount.largest()));
    clauses.extend(windows.iter().filter_map(taken_again));
    clauses.extend(windows.iter().filter_map(little_released));
    clauses.extend(nothing_released(windows));
    clauses.extend(windows.iter().filter_map(left_to_kernel));
    clauses.extend(windows.iter().filter_map(shared_released));
    clauses.extend(windows.iter().filter_map(taken));
    clauses.extend(not_known(windows));
    clauses
}

fn much_released(window: &ReleaseOfRuns) -> Option<Clause> {
    let much = window.runs.iter().filter(|run| run.much);
    let clause = in_runs(window, Fact::Released, much.map(|run| run.released).collect())?;
    if clause.certainty.runs.is_some() {
        return Some(clause);
    }
    let certainty = Certainty {
        share: share(window),
        ..Certainty::default()
    };
    Some(Clause { certainty, ..clause })
}

fn taken_again(window: &ReleaseOfRuns) -> Option<Clause> {
    let again = window.runs.iter().filter(|run| is_taken_again(run));
    let sizes = again.map(|run| run.for_a_while).collect();
    in_runs(window, Fact::ReleasedAndTakenAgain, sizes)
}

fn is_taken_again(run: &WindowRelease) -> bool {
    !run.much && run.for_a_while > 0.0
}

/// A release that the table shows, though noise may explain it.
fn little_released(window: &ReleaseOfRuns) -> Option<Clause> {
    let little: Vec<&WindowRelease> = window.runs.iter().filter(|run| is_little(run)).collect();
    let most = little.iter().map(|run| run.released.max(run.fell)).reduce(f64::max)?;
    let others_released_much = window.runs.iter().any(|run| run.much);
    let is_one_run = window.runs.len() == 1;
    Some(Clause {
        fact: Fact::Released,
        amount: if is_one_run {
            Amount::Sizes(vec![most])
        } else {
            Amount::AtMost(most)
        },
        windows: vec![window.kind],
        certainty: Certainty {
            share: if is_one_run { share(window) } else { None },
            runs: if others_released_much {
                Some((little.len(), window.runs.len()))
            } else {
                None
            },
            noise: window.runs.iter().map(|run| run.noise).reduce(f64::max),
            ..Certainty::default()
        },
    })
}

fn is_little(run: &WindowRelease) -> bool {
    !run.much && run.for_a_while <= 0.0 && !is_nothing(run.released, run.share, run.fell)
}

/// Windows in which no run released anything, together if they have one reason.
fn nothing_released(windows: &[ReleaseOfRuns]) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    for window in windows.iter().filter(|window| is_nothing_released(window)) {
        let reason = common_reason(window);
        match clauses.iter_mut().find(|known| known.certainty.reason == reason) {
            Some(known) => known.windows.push(window.kind),
            None => clauses.push(Clause {
                fact: Fact::Released,
                amount: Amount::Nothing,
                windows: vec![window.kind],
                certainty: Certainty {
                    reason,
                    ..Certainty::default()
                },
            }),
        }
    }
    clauses
}

/// True if no run released anything, and nothing else is said of one of them. Nothing follows from a window that was too
/// short.
fn is_nothing_released(window: &ReleaseOfRuns) -> bool {
    for run in &window.runs {
        if run.much || is_taken_again(run) || is_little(run) || run.short.is_some() {
            return false;
        }
    }
    let mut runs = window.runs.iter();
    runs.any(|run| !run.took && !run.much_lazily && run.shared <= 0.0)
}

fn common_reason(window: &ReleaseOfRuns) -> Option<Reason> {
    let first = Reason::of_run(window.runs.first()?);
    if window.runs.iter().all(|run| Reason::of_run(run) == first) {
        first
    } else {
        None
    }
}

/// Lazily freed memory counts as resident, not as released, until the kernel reclaims it.
fn left_to_kernel(window: &ReleaseOfRuns) -> Option<Clause> {
    let leaving = window.runs.iter().filter(|run| run.much_lazily);
    let sizes: Vec<Option<f64>> = leaving.map(|run| run.lazily).collect();
    let are_all_known = sizes.iter().all(Option::is_some);
    let sizes = sizes.into_iter().map(Option::unwrap_or_default).collect();
    let clause = in_runs(window, Fact::LeftToKernel, sizes)?;
    if are_all_known {
        return Some(clause);
    }
    Some(Clause {
        amount: Amount::Unknown,
        ..clause
    })
}

fn shared_released(window: &ReleaseOfRuns) -> Option<Clause> {
    let shared = window.runs.iter().filter(|run| run.shared > 0.0);
    in_runs(window, Fact::SharedReleased, shared.map(|run| run.shared).collect())
}

fn taken(window: &ReleaseOfRuns) -> Option<Clause> {
    let took = window.runs.iter().filter(|run| run.took);
    in_runs(window, Fact::Taken, took.map(|run| run.taken).collect())
}

/// A clause about windows that ended before the clock of a garbage collector did.
fn not_known(windows: &[ReleaseOfRuns]) -> Option<Clause> {
    let has_idle = windows.iter().any(|window| window.kind.is_idle());
    let mut kinds = Vec::new();
    let mut shorts: Vec<ShortWindow> = Vec::new();
    let mut has_released = false;
    // The idle windows after a closing are longer.
    for window in windows.iter().filter(|window| window.kind.is_idle() || !has_idle) {
        if let Some(short) = window.runs.iter().filter_map(|run| run.short).min() {
            kinds.push(window.kind);
            shorts.push(short);
            has_released |= window.runs.iter().all(|run| run.much);
        }
    }
    let longest = shorts.iter().copied().max_by_key(|short| short.needed)?;
    let longest = ShortWindow {
        full_decay_helps: shorts.iter().any(|short| short.full_decay_helps),
        ..longest
    };
    Some(Clause {
        fact: if has_released { Fact::RestUnknown } else { Fact::Unknown },
        amount: Amount::Unknown,
        windows: kinds,
        certainty: Certainty {
            too_short: Some((shorts.iter().map(|short| short.took).collect(), longest)),
            ..Certainty::default()
        },
    })
}

/// A clause that is true for the runs with these sizes, and with their number if there are others.
/// `None` without sizes.
fn in_runs(window: &ReleaseOfRuns, fact: Fact, sizes: Vec<f64>) -> Option<Clause> {
    let (count, all) = (sizes.len(), window.runs.len());
    if count == 0 {
        return None;
    }
    let (amount, runs) = if count == all {
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let most = sizes.iter().copied().fold(0.0, f64::max);
        (Amount::Range(least, most), None)
    } else {
        (Amount::Sizes(sizes), Some((count, all)))
    };
    Some(Clause {
        fact,
        amount,
        windows: vec![window.kind],
        certainty: Certainty {
            runs,
            ..Certainty::default()
        },
    })
}

/// The median share of the growth so far; `None` where it prints as 0. For a forced release the table has the share at
/// the window's end, which differs.
fn share(window: &ReleaseOfRuns) -> Option<f64> {
    let known: Vec<f64> = window.runs.iter().filter_map(|run| run.share).collect();
    if window.kind == WindowKind::Released || known.is_empty() {
        return None;
    }
    let share = median_of(known);
    if units::percent(share) == units::percent(0.0) {
        None
    } else {
        Some(share)
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

/// `12.4 MiB`, or `8.1 to 17.0 MiB` where the two differ in print.
fn size_range(least: f64, most: f64) -> String {
    let [low, high] = [least, most].map(|bytes| units::mib(bytes.round() as u64));
    if low == high {
        return size(most);
    }
    format!("{low} to {high} MiB")
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

/// The kind of window, in a sentence.
fn when(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::Silent => "while idle",
        WindowKind::Simmer => "in light traffic",
        WindowKind::Closed => "after closing all documents",
        WindowKind::Released => "by a forced release",
    }
}

/// The reason why windows of these lengths prove nothing: `the window was 9 s, Go needs about 4 min (`--full-decay`)`.
pub(crate) fn needs(took: &[Nanos], short: ShortWindow) -> String {
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

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The memory cost of light traffic alone, which its releases hide; `None` without a control phase.
pub(crate) fn traffic_cost(side: &Side) -> Option<String> {
    let cost = figures::around(&side.traffic?, |bytes| units::signed_mib(bytes.round() as i64));
    let in_windows = match side.traffic_in_windows {
        Some(change) => format!(
            ", so {} MiB of the change",
            units::signed_mib(change.median.round() as i64)
        ),
        None => String::new(),
    };
    Some(format!(
        "light traffic alone: {cost} MiB a minute in the control phase{in_windows}; no figure is corrected for this"
    ))
}

#[cfg(test)]
mod tests;
