//! What came back by force, what servers account for, and what was preloaded into them.

use super::*;
use crate::analyse::compare::release::tests::with;
use crate::record::{AllocatorFamily, PreloadFacts};

fn given() -> Vec<Played> {
    let mut all = two();
    for (place, run) in (0..).zip(&mut all) {
        let old = run.record.ends_with("ty-system.jsonl");
        let accounted = (old || place % 2 == 0).then_some(if old { 90 + place } else { 200 });
        run.summary = with(run.summary.clone(), if old { 50 + place } else { 0 }, accounted);
    }
    all
}

#[test]
fn what_servers_gave_back_by_force_and_account_for_is_said_of_each() {
    let text = drawn(given(), 100);
    let at = text.rfind("\n\n").expect("the sentences come last");
    insta::assert_snapshot!("given-sentences", &text[at..]);
    insta::assert_snapshot!("given-markdown", pasted(given()));
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
        terminal.contains("ty-mimalloc 0.4.2, mimalloc 2.0.9+ds-2 preloaded\n"),
        "{terminal}"
    );
    let markdown = pasted(all);
    assert!(
        markdown.contains("ty-mimalloc 6 runs, mimalloc 2.0.9+ds-2 preloaded"),
        "{markdown}"
    );
}
