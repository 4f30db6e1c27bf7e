//! Headlines about resources beside memory: processes, threads, descriptors, and processors at rest.

use std::time::Duration;

use crate::growth::{Counted, RepeatedCount, repeated_counts};
use crate::summary::Summary;
use crate::summary::decay::{Window, WindowKind};
use base::units;
use record::nanos;

use super::{Headline, Severity, headline};

/// The share of one processor from which a server is called busy while nothing is asked.
const BUSY: f64 = 0.05;

/// Shorter windows are left out: a garbage collection takes most of one.
const LEAST_WINDOW: Duration = Duration::from_secs(1);

/// One headline for each count that grows from round to round.
pub(super) fn growing_counts(summary: &Summary) -> Vec<Headline> {
    let mut list = Vec::new();
    let all = repeated_counts(summary);
    for counted in Counted::ALL {
        let growing: Vec<&RepeatedCount> = all.iter().filter(|one| one.counted == counted && one.grows()).collect();
        list.extend(growing_count(counted, &growing));
    }
    list
}

/// Names the part in which the count grows fastest.
fn growing_count(counted: Counted, growing: &[&RepeatedCount]) -> Option<Headline> {
    let slopes = growing.iter().filter_map(|one| Some((*one, one.slope?.trend)));
    let (worst, trend) = slopes.max_by(|(_, a), (_, b)| a.slope.total_cmp(&b.slope))?;
    let others = match growing.len() - 1 {
        0 => String::new(),
        more => format!(" and {} more", units::count_of(more as u64, "phase")),
    };
    let (kind, what, cause) = words(counted);
    let text = format!(
        "{what} grow by {:.1} per round ({:.1} to {:.1}) in `{}`{others}, to {}: {cause}",
        trend.slope,
        trend.low,
        trend.high,
        worst.name,
        units::or_unknown(worst.last(), units::count)
    );
    Some(headline(kind, Severity::Warning, text))
}

/// The kind of the headline, the name of the count, and the likely cause.
fn words(counted: Counted) -> (&'static str, &'static str, &'static str) {
    match counted {
        Counted::Zombies => ("zombies", "zombies", "the server does not reap processes that ended"),
        Counted::Processes => (
            "processes",
            "processes",
            "the server starts helpers and does not end them",
        ),
        Counted::Threads => ("threads", "threads", "the server starts threads and does not end them"),
        Counted::Descriptors => (
            "descriptors",
            "open descriptors",
            "the server opens files and does not close them",
        ),
    }
}

/// Processor time of the idle window with the largest share, if the server used enough of it to its end.
pub(super) fn busy_at_rest(summary: &Summary) -> Option<Headline> {
    let busy = summary
        .windows
        .iter()
        .filter_map(|window| Some((window, busy_share(window)?)));
    let (window, share) = busy.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let text = format!(
        "the server uses {} of a processor while nothing is asked ({} of {} in `{}`)",
        units::percent(share),
        units::or_unknown(window.cpu, units::nanoseconds),
        units::nanoseconds(window.took),
        window.phase.name
    );
    Some(headline("busy", Severity::Warning, text))
}

/// The share of a processor in a window without traffic. The second half must be as busy, or late work of earlier
/// requests would count.
fn busy_share(window: &Window) -> Option<f64> {
    if window.kind != WindowKind::Silent || window.took < nanos(LEAST_WINDOW) {
        return None;
    }
    let took = window.took as f64;
    let share = window.cpu? as f64 / took;
    let late = window.late_cpu? as f64 / (took / 2.0);
    if share >= BUSY && late >= BUSY {
        Some(share)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::headlines;
    use crate::golden::summarised;
    use crate::summary::Summary;
    use record::golden::Session;
    use record::{Event, IdleKind, Resources};

    /// A run of rounds of one phase, each with these counts at its end.
    fn rounds(counts: &[Resources]) -> Summary {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 4);
        for counts in counts {
            session.resources = Some(*counts);
            session.phase("typing");
            session.move_memory(0, 20, 1, 1);
            session.settle(true);
        }
        for entry in &mut session.entries {
            if let Event::Checkpoint(checkpoint) = &mut entry.event {
                checkpoint.phase.cycle = std::mem::take(&mut checkpoint.phase.phase);
            }
            if let Event::PhaseStarted(phase) | Event::PhaseDriven(phase) = &mut entry.event {
                phase.cycle = std::mem::take(&mut phase.phase);
            }
            if let Event::Peak(mark) = &mut entry.event {
                mark.phase.cycle = std::mem::take(&mut mark.phase.phase);
            }
        }
        summarised(&session)
    }

    fn texts(summary: &Summary) -> Vec<String> {
        headlines(summary).into_iter().map(|headline| headline.text).collect()
    }

    #[test]
    fn zombies_and_descriptors_that_grow_are_headlines_with_their_slope() {
        let counts: Vec<Resources> = (0..10)
            .map(|round| Resources {
                zombies: Some(2 * round),
                descriptors: Some(30 + round),
            })
            .collect();
        assert_eq!(
            texts(&rounds(&counts)),
            [
                "zombies grow by 2.0 per round (2.0 to 2.0) in `typing`, to 18: the server does not reap processes that \
                 ended",
                "open descriptors grow by 1.0 per round (1.0 to 1.0) in `typing`, to 39: the server opens files and does \
                 not close them"
            ]
        );
    }

    #[test]
    fn counts_that_stay_or_are_unknown_are_no_headline() {
        let still = Resources {
            zombies: Some(3),
            descriptors: None,
        };
        assert_eq!(texts(&rounds(&[still; 10])), Vec::<String>::new());
    }

    /// A run with an idle window at two loads, in percent of a processor.
    fn idle(first: u64, second: u64) -> Summary {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 4);
        session.phase("rest");
        session.step("idle");
        session.window();
        session.move_memory(0, 20, 4, first);
        session.move_memory(0, 20, 4, second);
        session.idle_end(IdleKind::Silent, 8);
        session.settle(true);
        summarised(&session)
    }

    #[test]
    fn processors_that_work_in_an_idle_window_are_a_headline() {
        let busy = texts(&idle(41, 41));
        assert_eq!(busy.len(), 1, "{busy:?}");
        assert!(
            busy[0]
                .starts_with("the server uses 41 % of a processor while nothing is asked (3.28 s of 8.00 s in `rest`)"),
            "{busy:?}"
        );
        assert_eq!(texts(&idle(4, 4)), Vec::<String>::new());
        assert_eq!(
            texts(&idle(60, 1)),
            Vec::<String>::new(),
            "work that is left from before"
        );
    }
}
