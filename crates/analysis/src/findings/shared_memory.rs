//! Findings about shared memory: how much of it is private, and where figures of it are doubtful.

use crate::summary::{CheckpointSummary, Summary};
use base::band;
use base::units;

use super::{Finding, Severity, finding};

/// Sentences about shared memory that exceeds the band, the weightiest first.
pub(super) fn findings(summary: &Summary) -> Vec<Finding> {
    let mut list = Vec::new();
    if let Some(size) = most(summary, |taken| taken.uncounted_shared) {
        let text = format!(
            "the record is from before format 1.9, so private memory lacks up to {size} of shared memory: record it anew"
        );
        list.push(finding(Severity::Warning, text));
    }
    if let Some(size) = most(summary, |taken| taken.own_shared) {
        let text = format!("private memory includes up to {size} of shared memory (memfd, System V, `/dev/zero`)");
        list.push(finding(Severity::Note, text));
    }
    if let Some(size) = most(summary, |taken| taken.shared_again) {
        let text = format!(
            "sampled private memory counts {size} of shared memory more than once, because it is mapped several times; \
             checkpoints count it once"
        );
        list.push(finding(Severity::Note, text));
    }
    if let Some(size) = most(summary, |taken| taken.shared_swapped) {
        let text = format!("sampled private memory lacks {size} of swapped shared memory; checkpoints include it");
        list.push(finding(Severity::Note, text));
    }
    if let Some(size) = most(summary, |taken| taken.named_shared) {
        let text = format!(
            "files on a tmpfs ({size}) are not private; samples subtract what the checkpoint before them saw, so they \
             are too low while a file is unmapped"
        );
        list.push(finding(Severity::Note, text));
    }
    list
}

/// The most of a kind of shared memory at a checkpoint, for people; `None` if it is never more than the band.
fn most(summary: &Summary, kind: fn(&CheckpointSummary) -> Option<u64>) -> Option<String> {
    let mut most = None;
    for checkpoint in summary.phases.iter().filter_map(|phase| phase.checkpoint.as_ref()) {
        let private = checkpoint.private_exact.or(checkpoint.private_sampled).unwrap_or(0);
        let shared = kind(checkpoint).filter(|shared| *shared > band::tolerated_difference(private));
        most = most.max(shared);
    }
    most.map(units::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden;

    const MIB: u64 = 1 << 20;

    /// The texts about a run whose checkpoints were changed like this.
    fn texts(change: fn(&mut CheckpointSummary)) -> Vec<String> {
        let mut summary = summarised(&golden::completed());
        for taken in summary.phases.iter_mut().filter_map(|phase| phase.checkpoint.as_mut()) {
            change(taken);
        }
        findings(&summary).into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn shared_memory_within_the_band_is_not_spoken_of() {
        let list = texts(|taken| {
            taken.own_shared = Some(MIB / 4);
            taken.named_shared = Some(MIB / 2);
            taken.uncounted_shared = None;
        });
        assert!(list.is_empty(), "{list:?}");
    }

    #[test]
    fn each_doubt_has_its_amount() {
        let list = texts(|taken| {
            taken.own_shared = Some(200 * MIB);
            taken.shared_again = Some(400 * MIB);
            taken.shared_swapped = Some(7 * MIB);
            taken.named_shared = Some(32 * MIB);
        });
        for (words, size) in list.iter().zip(["200.0 MiB", "400.0 MiB", "7.0 MiB", "32.0 MiB"]) {
            assert!(words.contains(size), "{words}");
        }
        assert_eq!(list.len(), 4);
    }

    #[test]
    fn an_older_record_says_what_its_figures_lack() {
        let list = texts(|taken| {
            taken.own_shared = None;
            taken.uncounted_shared = Some(64 * MIB);
        });
        assert!(list[0].contains("lacks up to 64.0 MiB of shared memory"), "{list:?}");
    }
}
