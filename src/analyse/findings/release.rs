//! Memory that was to be given back by force, and was not.

use crate::analyse::release::Released;
use crate::analyse::summary::Summary;

use super::{Finding, Severity, finding};

/// What of it is doubtful.
pub(super) fn doubts(summary: &Summary, found: &mut Vec<Finding>) {
    found.extend(silent(summary).map(|text| finding(Severity::Warning, text)));
    found.extend(held(summary).map(|text| finding(Severity::Warning, text)));
}

/// That nothing was heard of the preloaded library.
fn silent(summary: &Summary) -> Option<String> {
    let shim = summary.header.server.shim.as_ref()?;
    let looked = summary.phases.iter().any(|phase| phase.checkpoint.is_some());
    (looked && summary.listening.is_empty()).then(|| {
        format!(
            "`{}` was to be preloaded and was not seen in any process: a static program, or one with rights of its own, loads \
             nothing",
            shim.path
        )
    })
}

/// Checkpoints of the purged lens before which nothing was given back.
fn held(summary: &Summary) -> Option<String> {
    let held = |released: &&Released| released.checkpoint && !released.is_done();
    let mut all = summary.released.iter().filter(held);
    let first = all.next()?;
    let more = match all.count() {
        0 => String::new(),
        more => format!(" and of {}", crate::units::counted(more as u64, "other phase")),
    };
    let why = first.release.missing.join("; ");
    Some(format!(
        "through the purged lens nothing could be given back before the checkpoint of `{}`{more}: {why}",
        first.phase.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::tests::of;
    use crate::record::golden::Session;
    use crate::record::{Listening, PhaseRef, Release, ShimFacts};

    fn told(summary: &Summary) -> Vec<String> {
        let mut found = Vec::new();
        doubts(summary, &mut found);
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_library_that_was_not_seen_is_told_once_there_was_a_checkpoint() {
        let mut session = Session::new("server");
        session.phase("start");
        session.settle(true);
        let mut summary = of(&session);
        assert_eq!(told(&summary), Vec::<String>::new());
        summary.header.server.shim = Some(ShimFacts {
            path: "/lib/libpurge_shim.so".to_owned(),
            ..ShimFacts::default()
        });
        assert!(told(&summary)[0].starts_with("`/lib/libpurge_shim.so` was to be preloaded and was not seen"));
        summary.listening.push(Listening { pid: 7, malloc: None });
        assert_eq!(told(&summary), Vec::<String>::new());
        summary.phases.clear();
        summary.listening.clear();
        assert_eq!(told(&summary), Vec::<String>::new(), "there was no time to see it");
    }

    #[test]
    fn checkpoints_without_a_release_are_told_together() {
        let released = |name: &str| Released {
            phase: PhaseRef {
                phase: 0,
                cycle: 0,
                name: name.to_owned(),
            },
            checkpoint: true,
            release: Release {
                missing: vec!["nobody listens".to_owned()],
                ..Release::default()
            },
        };
        let mut summary = of(&Session::new("server"));
        summary.released = vec![released("start"), released("work")];
        let words = "before the checkpoint of `start` and of 1 other phase: nobody listens";
        assert!(told(&summary)[0].ends_with(words), "{:?}", told(&summary));
        summary.released[0].checkpoint = false;
        summary.released.truncate(1);
        assert_eq!(told(&summary), Vec::<String>::new(), "a step is told with its figures");
    }
}
