//! Findings that stand in the first lines of every report, because they change the meaning of a run's figures.

use std::collections::BTreeSet;

use crate::summary::{CheckpointSummary, LostProcess, PhaseSummary, Summary, last_words_of_run};
use base::group_values;
use base::units;
use record::{Ending, ShutdownStage};

use super::ending::cause_words;
use super::resource_counts::{busy_at_rest, growing_counts};
use super::{Finding, Headline, Severity, finding, headline};

/// The headlines of a run, the weightiest first.
pub fn headlines(summary: &Summary) -> Vec<Headline> {
    let mut list: Vec<Headline> = over_limit(summary).into_iter().collect();
    if summary.header.plan.traced.is_some() {
        return list;
    }
    if summary.lifecycle.command.is_some() {
        list.extend(
            summary
                .processes
                .lost
                .iter()
                .filter(|lost| lost.crashed())
                .map(crashed_in_command),
        );
        return list;
    }
    list.extend(losses(summary));
    list.extend(unrest(summary));
    list.extend(growing_counts(summary));
    list.extend(busy_at_rest(summary));
    list.extend(killed(summary));
    list.extend(orphaned(summary));
    list
}

/// Headlines as findings of the run.
pub(super) fn as_findings(summary: &Summary) -> impl Iterator<Item = Finding> {
    headlines(summary).into_iter().map(|headline| Finding {
        details: headline.details,
        is_headline: true,
        ..finding(headline.severity, headline.text)
    })
}

/// The tree was killed for its memory.
fn over_limit(summary: &Summary) -> Option<Headline> {
    let Some(Ending::OverLimit {
        excess,
        during,
        in_flight,
        before,
    }) = &summary.ending
    else {
        return None;
    };
    let rate = excess.rate.map(|rate| format!(", growing by {}/s", units::bytes(rate)));
    let (subject, place) = match summary.lifecycle.command {
        Some(_) => ("command", String::new()),
        None => ("server", format!(" during {during}")),
    };
    let text = format!(
        "the {subject} had {} private memory{place}{}: lsp-soak killed it at the limit of {}",
        units::bytes(excess.private),
        rate.unwrap_or_default(),
        units::bytes(excess.limit)
    );
    if summary.lifecycle.command.is_some() {
        return Some(headline("over-limit", Severity::Failure, text));
    }
    Some(Headline {
        details: vec![
            format!("in flight: {}", list_methods(in_flight)),
            format!("answered before: {}", list_methods(before)),
        ],
        ..headline("over-limit", Severity::Failure, text)
    })
}

fn list_methods(methods: &[String]) -> String {
    if methods.is_empty() {
        "none".to_owned()
    } else {
        methods.join(", ")
    }
}

/// The processes that held most of the memory and ended without a crash; `None` if there are none.
pub fn loss(summary: &Summary) -> Option<String> {
    if summary.lifecycle.command.is_some() || summary.header.plan.traced.is_some() {
        return None;
    }
    let ended: Vec<&LostProcess> = summary
        .processes
        .lost
        .iter()
        .filter(|lost| lost.held_most && !lost.crashed())
        .collect();
    let missing: Vec<&LostProcess> = ended.iter().copied().filter(|lost| !lost.replaced).collect();
    let reported = if missing.is_empty() {
        &ended[..1.min(ended.len())]
    } else {
        &missing
    };
    if reported.is_empty() {
        return None;
    }
    Some(format!("{}, {}", ended_together(summary, reported), causes(reported)))
}

/// Lost processes: each crash, those that are missing together, and those that were replaced by name.
fn losses(summary: &Summary) -> Vec<Headline> {
    let (crashed, ended): (Vec<&LostProcess>, Vec<&LostProcess>) =
        summary.processes.lost.iter().partition(|lost| lost.crashed());
    let mut list: Vec<Headline> = crashed.into_iter().map(|lost| crash(summary, lost)).collect();
    let (replaced, missing): (Vec<&LostProcess>, Vec<&LostProcess>) = ended.into_iter().partition(|lost| lost.replaced);
    if !missing.is_empty() {
        list.push(ended_unasked(summary, &missing, "later figures are of the rest"));
    }
    for (_, same) in group_values(replaced.into_iter().map(|lost| (&lost.name, lost))) {
        list.push(match same.as_slice() {
            [one] => ended_unasked(summary, &[one], "another one took its place"),
            [first, ..] => {
                let then = format!("another one took its place, {} times in all", same.len());
                ended_unasked(summary, &[first], &then)
            }
            [] => continue,
        });
    }
    list
}

/// The phase and the round in which a process ended.
fn place(summary: &Summary, lost: &LostProcess) -> String {
    let Some(phase) = &lost.phase else {
        return String::new();
    };
    let mut rounds = summary.phases.iter().map(|played| &played.phase);
    let round = if rounds.any(|round| round.phase == phase.phase && round.cycle > 0) {
        format!(" (round {})", phase.cycle + 1)
    } else {
        String::new()
    };
    format!(" in `{}`{round}", phase.name)
}

/// `with 140 MiB of 150 MiB private memory`: the memory of processes, and that of the tree with them.
fn memory(lost: &[&LostProcess]) -> String {
    let own = lost
        .iter()
        .filter_map(|process| process.private)
        .reduce(u64::saturating_add);
    let rest = lost.last().and_then(|last| last.rest);
    let own_text = units::or_unknown(own, units::bytes);
    match (own, rest) {
        (Some(own), Some(rest)) => format!(
            "with {own_text} of {} private memory",
            units::bytes(own.saturating_add(rest))
        ),
        _ => format!("with {own_text} private memory"),
    }
}

/// ``3 processes (`helper`) ended, the first in `work`, with 140 MiB of 150 MiB private memory``
fn ended_together(summary: &Summary, lost: &[&LostProcess]) -> String {
    let memory = memory(lost);
    let place = place(summary, lost[0]);
    if let [one] = lost {
        return format!("`{}` ended{place} {memory}", one.name);
    }
    let names: BTreeSet<String> = lost.iter().map(|one| format!("`{}`", one.name)).collect();
    let names: Vec<String> = names.into_iter().collect();
    format!(
        "{} processes ({}) ended, the first{place}, {memory}",
        lost.len(),
        names.join(", ")
    )
}

/// The causes for which processes ended, without repeats.
fn causes(lost: &[&LostProcess]) -> String {
    let mut causes: Vec<String> = lost.iter().map(|one| cause_words(one.cause)).collect();
    causes.dedup();
    causes.join(", ")
}

/// Processes that ended without a crash.
fn ended_unasked(summary: &Summary, lost: &[&LostProcess], then: &str) -> Headline {
    let object = if lost.len() == 1 { "it" } else { "them" };
    let text = format!(
        "{}, though nobody asked {object} to ({}): {then}",
        ended_together(summary, lost),
        causes(lost)
    );
    headline("holder", Severity::Warning, text)
}

fn crash(summary: &Summary, lost: &LostProcess) -> Headline {
    let text = format!(
        "`{}` crashed{} {}: {}",
        lost.name,
        place(summary, lost),
        memory(&[lost]),
        cause_words(lost.cause)
    );
    Headline {
        details: last_words_of_run(summary),
        ..headline("crash", Severity::Failure, text)
    }
}

/// A command says by its exit code that it failed, so a crash in it only gives its figures another meaning.
fn crashed_in_command(lost: &LostProcess) -> Headline {
    let text = format!(
        "`{}`, a process of the command, crashed {}: {}",
        lost.name,
        memory(&[lost]),
        cause_words(lost.cause)
    );
    headline("crash", Severity::Warning, text)
}

/// Memory or processors that never came to rest.
fn unrest(summary: &Summary) -> Option<Headline> {
    let checkpoints: Vec<(&PhaseSummary, &CheckpointSummary)> = summary
        .phases
        .iter()
        .filter_map(|phase| Some((phase, phase.checkpoint.as_ref()?)))
        .collect();
    let (phase, last) = checkpoints.last()?;
    let restless = checkpoints.iter().filter(|(_, checkpoint)| !checkpoint.settled).count();
    let is_never_at_rest = restless == checkpoints.len();
    if let Some(rate) = last.growing {
        let size = units::or_unknown(last.private_sampled, units::bytes);
        let subject = if is_never_at_rest {
            "the server was never at rest, and its memory".to_owned()
        } else if restless > 0 {
            format!(
                "the server was not at rest at {restless} of {} checkpoints, and its memory",
                checkpoints.len()
            )
        } else {
            "memory".to_owned()
        };
        let text = format!(
            "{subject} still grew by {}/s at the end of `{}` ({size} by then)",
            units::bytes(rate),
            phase.phase.name
        );
        return Some(headline("growing", Severity::Warning, text));
    }
    if !is_never_at_rest || restless <= 1 {
        return None;
    }
    let text = format!("the server was never at rest: {}", last.unsettled);
    Some(headline("restless", Severity::Warning, text))
}

/// A server that stays without its editor keeps its memory until somebody notices.
fn orphaned(summary: &Summary) -> Option<Headline> {
    let shutdown = summary.lifecycle.shutdown.as_ref()?;
    let orphaned = shutdown.orphaned.as_ref()?;
    if !matches!(shutdown.stage, ShutdownStage::Terminated | ShutdownStage::Killed) {
        return None;
    }
    let kept = units::or_unknown(orphaned.kept, units::bytes);
    let patience = units::nanoseconds(orphaned.patience);
    let text = format!("the server outlived its editor: {patience} after its pipes were closed it kept {kept} private");
    Some(headline("orphaned", Severity::Warning, text))
}

/// A server that ends only by force keeps its memory after the editor is closed.
fn killed(summary: &Summary) -> Option<Headline> {
    let shutdown = summary.lifecycle.shutdown.as_ref()?;
    if shutdown.stage != ShutdownStage::Killed || shutdown.exit_sent.is_none() {
        return None;
    }
    let text = "the server had to be killed: it ended neither on `exit`, on a closed stdin nor on SIGTERM";
    Some(headline("killed", Severity::Warning, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;
    use record::{EndCause, Ending, Event, Excess};

    /// A server that starts at 20 MiB and has these amounts at the end of the steps and at the checkpoint of its phases.
    fn session(phases: &[(u64, u64, bool)]) -> Session {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 20, 4);
        for (driven, checkpoint, settled) in phases {
            session.phase("open");
            session.move_memory(0, *driven, 2, 50);
            session.settle_growing(0, *checkpoint, *settled);
        }
        session.put(Event::Ended(Ending::Completed));
        session
    }

    #[test]
    fn memory_that_still_grows_at_the_end_is_a_headline_with_its_rate() {
        let list = headlines(&summarised(&session(&[(100, 100, true), (1_000, 1_200, false)])));
        assert_eq!(list.len(), 1, "{list:?}");
        assert_eq!(
            list[0].text,
            "the server was not at rest at 1 of 2 checkpoints, and its memory still grew by 20.0 MiB/s at the end of \
             `open` (1.2 GiB by then)"
        );
    }

    #[test]
    fn an_excess_hides_no_other_headline() {
        let mut session = session(&[(1_000, 1_200, false)]);
        session.entries.pop();
        session.put(Event::Ended(Ending::OverLimit {
            excess: Excess {
                limit: 1_300 << 20,
                private: 1_400 << 20,
                is_exact: true,
                rate: None,
            },
            during: "the shutdown".to_owned(),
            in_flight: Vec::new(),
            before: Vec::new(),
        }));
        let list = headlines(&summarised(&session));
        let kinds: Vec<&str> = list.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, ["over-limit", "growing"], "{list:?}");
    }

    #[test]
    fn a_lost_process_that_another_one_replaces_leaves_no_figures_of_the_rest() {
        for (is_replaced, then) in [
            (true, "another one took its place"),
            (false, "later figures are of the rest"),
        ] {
            let mut session = session(&[(100, 100, true)]);
            session.entries.pop();
            session.spawn(1, "helper", Some(0), 900, 4);
            session.phase("hover");
            session.settle(true);
            session.phase("edit");
            session.vanish_by(1, EndCause::Exited { code: 0 });
            if is_replaced {
                session.spawn(2, "helper", Some(0), 50, 4);
            }
            session.settle(true);
            session.put(Event::Ended(Ending::Completed));
            let summary = summarised(&session);
            assert_eq!(summary.phases[2].incomplete, !is_replaced);
            let list = headlines(&summary);
            assert!(list[0].text.ends_with(then), "{list:?}");
        }
    }

    #[test]
    fn a_server_that_rests_at_last_has_no_headline() {
        assert_eq!(
            headlines(&summarised(&session(&[(1_000, 1_200, false), (1_200, 1_200, true)]))),
            []
        );
        assert_eq!(headlines(&summarised(&session(&[(100, 100, true)]))), []);
    }

    #[test]
    fn a_server_that_is_busy_at_every_checkpoint_is_a_headline_without_growth() {
        let list = headlines(&summarised(&session(&[(100, 100, false), (100, 100, false)])));
        assert!(list[0].text.starts_with("the server was never at rest: "), "{list:?}");
    }
}
