//! Forced releases and self-reports in words.

use analysis::summary::Summary;
use analysis::summary::decay::{Course, Window, WindowKind};
use analysis::summary::release::{Released, Reported};
use base::units;
use record::{AllocatorFamily, ReleasedBy, Releaser};

/// Most self-reports that are printed: the last ones.
const REPORTS: usize = 4;

/// All sentences on forced releases and self-reports.
pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let family = summary.header.server.allocator.as_ref().map(|facts| facts.family);
    let mut sentences = Vec::new();
    for released in summary.released.iter().filter(|released| released.step.is_some()) {
        let at_window_end = released_by_window_end(released, &summary.windows);
        sentences.push(step(released, family, at_window_end));
    }
    sentences.extend(checkpoints(&summary.released));
    let reports = &summary.reported;
    sentences.extend(reports[reports.len().saturating_sub(REPORTS)..].iter().map(report));
    sentences
}

/// Bytes released by the end of the release's window; `None` unless the phase has exactly one.
fn released_by_window_end(released: &Released, windows: &[Window]) -> Option<i64> {
    let mut of_phase = windows
        .iter()
        .filter(|window| window.kind == WindowKind::Released && window.phase == released.phase);
    let first = of_phase.next()?;
    if of_phase.next().is_some() {
        return None;
    }
    first.private.as_ref().map(Course::gave)
}

/// A release step: the means, and the release during it and by the end of its window.
fn step(released: &Released, family: Option<AllocatorFamily>, window: Option<i64>) -> String {
    let name = &released.phase.name;
    let why = released.why(family).join("; ");
    if !released.is_done() {
        return format!("forced release in {name}: {} ({why})", units::UNKNOWN);
    }
    let means = means(&released.release.used);
    let but = if why.is_empty() {
        String::new()
    } else {
        format!("; {why}")
    };
    format!(
        "forced release in {name} by {means}: {}{but}",
        private_change(released, window)
    )
}

/// Private memory before and after, and the release by the window's end if that differs: pages are returned after the
/// answer too. The table of windows has the share, as `returned`.
fn private_change(released: &Released, window: Option<i64>) -> String {
    let (Some(before), Some(after), Some(gave)) = (released.release.before, released.release.after, released.gave())
    else {
        return format!("private memory {}", units::UNKNOWN);
    };
    let change = if gave >= 0 { "released" } else { "more taken" };
    let later = match window {
        Some(by_end) if released_size(by_end) != released_size(gave) => {
            format!(" while it ran, {} by the end of its window", released_size(by_end))
        }
        _ => String::new(),
    };
    format!(
        "private {} → {} MiB, {} MiB {change}{later}",
        units::mib(before),
        units::mib(after),
        units::mib(gave.unsigned_abs()),
    )
}

/// Released MiB; negative if memory grew.
pub(super) fn released_size(released: i64) -> String {
    if released >= 0 {
        units::mib(released.unsigned_abs())
    } else {
        units::signed_mib(released)
    }
}

/// `gopls.mem_stats in 265 ms and malloc_trim in 2 processes in 12 ms`.
fn means(used: &[Releaser]) -> String {
    let mut parts = Vec::new();
    for means in used.iter().filter(|means| means.by == ReleasedBy::Server) {
        parts.push(format!("`{}` in {}", means.what, units::nanoseconds(means.took)));
    }
    let by_allocator: Vec<&Releaser> = used.iter().filter(|means| means.by == ReleasedBy::Allocator).collect();
    if let Some(first) = by_allocator.first() {
        let slowest = by_allocator.iter().map(|means| means.took).max().unwrap_or_default();
        let processes = match by_allocator.len() {
            1 => String::new(),
            many => format!(" in {}", units::counted(many as u64, "process")),
        };
        parts.push(format!("{}{processes} in {}", first.what, units::nanoseconds(slowest)));
    }
    parts.join(" and ")
}

/// The lens's releases before checkpoints, in one sentence.
fn checkpoints(released: &[Released]) -> Option<String> {
    let done: Vec<&Released> = released
        .iter()
        .filter(|released| released.step.is_none() && released.is_done())
        .collect();
    let most = done.iter().max_by_key(|released| released.gave())?;
    let means = means(&most.release.used);
    let which = match done.as_slice() {
        [_] => "before the checkpoint".to_owned(),
        all => format!(
            "before each of {}, most",
            units::counted(all.len() as u64, "checkpoint")
        ),
    };
    Some(format!(
        "released by force {which} in {}, by {means}: {}",
        most.phase.name,
        private_change(most, None)
    ))
}

fn report(reported: &Reported) -> String {
    let name = &reported.phase.name;
    let report = &reported.report;
    let asked = match &report.asked {
        Some(asked) if report.missing.is_empty() => asked,
        _ => return format!("report of the server in {name}: {}, {}", units::UNKNOWN, report.missing),
    };
    match (report.accounted, reported.share()) {
        (None, _) => format!(
            "report of `{asked}` in {name}: {}, the answer has no total",
            units::UNKNOWN
        ),
        (Some(accounted), None) => format!("`{asked}` reports {} in {name}", units::bytes(accounted)),
        (Some(accounted), Some(share)) => format!(
            "`{asked}` reports {} of {} {} in {name} ({})",
            units::bytes(accounted),
            units::bytes(share.of),
            if share.resident { "resident" } else { "private" },
            units::percent(share.ratio()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{PhaseRef, Release, SelfReport};

    const MIB: u64 = 1 << 20;

    fn place() -> PhaseRef {
        PhaseRef {
            phase: 3,
            cycle: 0,
            name: "decay".to_owned(),
        }
    }

    fn used(by: ReleasedBy, what: &str, millis: u64) -> Releaser {
        Releaser {
            by,
            what: what.to_owned(),
            pid: Some(7),
            answer: String::new(),
            accounted: None,
            took: millis * 1_000_000,
        }
    }

    fn released(used: Vec<Releaser>, missing: &[&str], after: u64) -> Released {
        Released {
            phase: place(),
            step: Some(1),
            release: Release {
                used,
                missing: missing.iter().map(|why| (*why).to_owned()).collect(),
                before: Some(200 * MIB),
                after: Some(after * MIB),
                took: 0,
            },
            beside: None,
        }
    }

    #[test]
    fn a_release_says_by_what_and_what_came_back() {
        let trim = used(ReleasedBy::Allocator, "malloc_trim", 12);
        let server = used(ReleasedBy::Server, "gopls.mem_stats", 265);
        for (released, words) in [
            (
                released(vec![trim.clone()], &[], 150),
                "forced release in decay by malloc_trim in 12.0 ms: private 200.0 → 150.0 MiB, 50.0 MiB released",
            ),
            (
                released(vec![server, trim.clone(), trim], &[], 201),
                "forced release in decay by `gopls.mem_stats` in 265 ms and malloc_trim in 2 processes in 12.0 ms: \
                 private \
                 200.0 → 201.0 MiB, 1.0 MiB more taken",
            ),
            (
                released(Vec::new(), &["no library is preloaded", "no command is known"], 200),
                "forced release in decay: n/a (no library is preloaded; no command is known)",
            ),
        ] {
            assert_eq!(step(&released, Some(AllocatorFamily::Glibc), None), words);
        }
    }

    #[test]
    fn what_came_back_after_the_release_had_answered_is_told_beside() {
        let released = released(vec![used(ReleasedBy::Allocator, "malloc_trim", 12)], &[], 150);
        let later = "50.0 MiB released while it ran, 90.0 by the end of its window";
        assert_eq!(
            private_change(&released, Some(90 << 20)),
            format!("private 200.0 → 150.0 MiB, {later}")
        );
        assert!(private_change(&released, Some(-(1 << 20))).ends_with("while it ran, −1.0 by the end of its window"));
        assert!(private_change(&released, Some(50 << 20)).ends_with("50.0 MiB released"));
    }

    #[test]
    fn an_allocator_that_the_server_keeps_inside_is_not_reached() {
        let trim = vec![used(ReleasedBy::Allocator, "malloc_trim", 12)];
        let words = "its jemalloc offers no way to purge from outside";
        assert!(step(&released(trim, &[], 199), Some(AllocatorFamily::Jemalloc), None).ends_with(words));
        let both = vec![used(ReleasedBy::Allocator, "mallctl, malloc_trim", 12)];
        assert!(!step(&released(both, &[], 100), Some(AllocatorFamily::Jemalloc), None).contains(words));
        let server = vec![used(ReleasedBy::Server, "gopls.mem_stats", 12)];
        assert!(!step(&released(server, &[], 100), Some(AllocatorFamily::Jemalloc), None).contains(words));
    }

    fn before_checkpoint(after: u64) -> Released {
        Released {
            step: None,
            ..released(vec![used(ReleasedBy::Allocator, "malloc_trim", 3)], &[], after)
        }
    }

    #[test]
    fn releases_of_checkpoints_are_told_in_one_sentence() {
        assert_eq!(checkpoints(&[]), None);
        let sentences = checkpoints(&[before_checkpoint(190), before_checkpoint(120), before_checkpoint(199)])
            .expect("there were some");
        let words = "released by force before each of 3 checkpoints, most in decay, by malloc_trim in 3.00 ms: \
                     private 200.0 → \
                     120.0 MiB, 80.0 MiB released";
        assert_eq!(sentences, words);
    }

    fn sentence_of(report: SelfReport) -> String {
        super::report(&Reported {
            phase: place(),
            step: 2,
            report,
        })
    }

    #[test]
    fn what_a_server_accounts_for_stands_against_what_it_has() {
        let tree = SelfReport {
            asked: Some("$/memoryUsage".to_owned()),
            accounted: Some(512 * MIB),
            resident: Some(4 << 30),
            private: Some(3 << 30),
            ..SelfReport::default()
        };
        assert_eq!(
            sentence_of(tree.clone()),
            "`$/memoryUsage` reports 512.0 MiB of 4.0 GiB resident in decay (12 %)"
        );
        let several = SelfReport {
            resident: None,
            ..tree.clone()
        };
        assert!(sentence_of(several).contains("of 3.0 GiB private"));
        let text = SelfReport {
            accounted: None,
            ..tree
        };
        assert_eq!(
            sentence_of(text),
            "report of `$/memoryUsage` in decay: n/a, the answer has no total"
        );
        let none = SelfReport {
            missing: "the profile of the server has no command that reports memory".to_owned(),
            ..SelfReport::default()
        };
        let words = "report of the server in decay: n/a, the profile of the server has no command that reports memory";
        assert_eq!(sentence_of(none), words);
    }
}
