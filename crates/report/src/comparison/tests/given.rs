//! Forced releases, self-reports, and preloaded libraries.

use analysis::golden::{before_checkpoint, with_release};
use analysis::summary::Summary;
use record::{AllocatorFamily, PreloadFacts};

use super::*;

fn with_releases_and_reports() -> Vec<Played> {
    let mut all = two();
    for (place, run) in (0..).zip(&mut all) {
        let summary = Summary::clone(&run.summary);
        let is_baseline = run.record.ends_with("ty-system.jsonl");
        *run.summary_mut() = if is_baseline {
            with_release(summary, 50 + place, Some(90 + place))
        } else {
            let accounted = if place % 2 == 0 { Some(200) } else { None };
            with_release(summary, 0, accounted)
        };
    }
    all
}

/// The tables of forced releases and self-reports.
fn tables(all: Vec<Played>) -> String {
    let markdown = pasted(all);
    let at = markdown.find("Forced releases").expect("there is a table");
    let end = markdown[at..].find("</details>").expect("it ends");
    markdown[at..at + end].to_owned()
}

#[test]
fn what_servers_gave_back_by_force_and_account_for_is_told_of_each() {
    insta::assert_snapshot!("given", tables(with_releases_and_reports()));
}

/// Runs with forced releases before checkpoints, as the purged lens makes them.
fn before_checkpoints() -> Vec<Played> {
    let mut all = with_releases_and_reports();
    for run in &mut all {
        *run.summary_mut() = before_checkpoint(Summary::clone(&run.summary));
    }
    all
}

#[test]
fn what_was_given_back_before_checkpoints_has_medians_and_intervals_in_every_format() {
    insta::assert_snapshot!("before-checkpoints-markdown", tables(before_checkpoints()));
    let scenarios = compared(before_checkpoints());
    let page = page::render(&document(&scenarios, &before_checkpoints()));
    assert!(
        page.contains("Forced releases until the answer, private memory in MiB; of a repeated phase the last round")
    );
    let sides = scenarios.values().flatten().flat_map(|target| &target.comparison.sides);
    for side in sides {
        let [release] = side.forced_before_checkpoints.as_slice() else {
            panic!("{}", side.label)
        };
        let known = [&release.before, &release.after, &release.gave].map(|median| median.expect("it is known"));
        assert!(side.forced.is_empty() && release.step.is_none());
        assert!(
            known
                .iter()
                .all(|median| median.low <= median.median && median.median <= median.high)
        );
    }
}

#[test]
fn a_server_is_shown_with_what_was_preloaded_into_it() {
    let mut all = two();
    for run in all.iter_mut().filter(|run| run.record.ends_with("ty-mimalloc.jsonl")) {
        run.summary_mut().header.server.preload = Some(PreloadFacts {
            name: "mimalloc".to_owned(),
            family: AllocatorFamily::Mimalloc,
            package: Some("libmimalloc2.0 2.0.9+ds-2".to_owned()),
            ..PreloadFacts::default()
        });
    }
    let terminal = drawn(all.clone(), 100);
    assert!(
        terminal.contains("6 runs, ty-mimalloc 0.4.2, mimalloc 2.0.9+ds-2 preloaded\n"),
        "{terminal}"
    );
    let markdown = pasted(all);
    assert!(
        markdown.contains("6 runs, ty-mimalloc 0.4.2, mimalloc 2.0.9+ds-2 preloaded"),
        "{markdown}"
    );
}
