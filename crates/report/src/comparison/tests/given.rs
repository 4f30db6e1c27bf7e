//! Forced releases, self-reports, and preloaded libraries.

use analysis::golden::{before_checkpoint, with_release};
use record::{AllocatorFamily, PreloadFacts};

use super::*;

fn given() -> Vec<Played> {
    let mut all = two();
    for (place, run) in (0..).zip(&mut all) {
        let old = run.record.ends_with("ty-system.jsonl");
        let accounted = (old || place % 2 == 0).then_some(if old { 90 + place } else { 200 });
        run.summary = with_release(run.summary.clone(), if old { 50 + place } else { 0 }, accounted);
    }
    all
}

#[test]
fn what_servers_gave_back_by_force_and_account_for_is_said_of_each() {
    insta::assert_snapshot!("given", answered(given()));
}

/// The same before a checkpoint, as the purged lens does.
fn before_checkpoints() -> Vec<Played> {
    let mut all = given();
    for run in &mut all {
        run.summary = before_checkpoint(run.summary.clone());
    }
    all
}

#[test]
fn what_was_given_back_before_checkpoints_has_medians_and_intervals_in_every_format() {
    let markdown = pasted(before_checkpoints());
    let at = markdown.find("Given back").expect("there is a table");
    let end = markdown[at..].find("</details>").expect("it ends");
    insta::assert_snapshot!("before-checkpoints-markdown", &markdown[at..at + end]);
    let scenarios = compared(before_checkpoints());
    let page = page::render(&document(&scenarios, &before_checkpoints()));
    assert!(page.contains("Given back, private, MiB, by force before checkpoints"));
    assert!(!page.contains("forced release in"), "it is no step");
    let sides = scenarios.values().flatten().flat_map(|target| &target.comparison.sides);
    for side in sides {
        let [one] = side.forced_before_checkpoints.as_slice() else {
            panic!("{}", side.label)
        };
        let known = [&one.before, &one.after, &one.gave].map(|median| median.expect("it is known"));
        assert!(side.forced.is_empty() && one.step.is_none());
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
        run.summary.header.server.preload = Some(PreloadFacts {
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
