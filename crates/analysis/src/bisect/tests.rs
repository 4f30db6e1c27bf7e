//! Answers of invented runs.

use crate::compare::Played;
use crate::golden::run;
use crate::when::{Comparison, Level, Measured, When};

use super::*;

/// Runs with these percentages of a usual run's memory, a little apart.
fn runs(label: &str, count: u32, percent: u64) -> Vec<Played> {
    (1..=count).map(|number| run(label, number, percent)).collect()
}

fn by(share: f64) -> Question {
    Question::By {
        subject: "private".parse().unwrap(),
        share,
    }
}

const ALPHA: f64 = 0.0125;

fn ends<'r>(first: &'r [Played], last: &'r [Played]) -> Ends<'r> {
    Ends { first, last }
}

#[test]
fn ends_differ_by_more_than_the_share_or_are_alike_and_three_runs_do_not_tell() {
    let (first, more) = (runs("a", 5, 100), runs("b", 5, 110));
    assert_eq!(by(0.03).ends_differ(ends(&first, &more), ALPHA), Ok(true));
    assert_eq!(by(0.03).ends_differ(ends(&more, &first), ALPHA), Ok(true));
    assert_eq!(by(0.20).ends_differ(ends(&first, &more), ALPHA), Ok(false));
    let few = by(0.03).ends_differ(ends(&first[..3], &more[..3]), ALPHA);
    assert!(matches!(few, Err(NoAnswer::Open(_))), "{few:?}");
}

#[test]
fn a_version_is_like_the_nearer_end_if_it_differs_from_the_other() {
    let (first, last) = (runs("a", 5, 100), runs("b", 5, 120));
    let ends = ends(&first, &last);
    for (percent, end) in [(100, End::First), (104, End::First), (116, End::Last), (140, End::Last)] {
        assert_eq!(
            by(0.03).end_of(&runs("c", 3, percent), ends, ALPHA),
            Ok(end),
            "{percent}"
        );
    }
    let one = by(0.03).end_of(&runs("c", 1, 100), ends, ALPHA);
    assert!(matches!(one, Err(NoAnswer::Open(_))), "{one:?}");
}

#[test]
fn a_pair_is_a_step_or_gradual_or_not_what_the_search_saw() {
    let (first, last) = (runs("a", 5, 100), runs("b", 5, 140));
    let ends = ends(&first, &last);
    let verdict = |before, after| by(0.03).pair_verdict(&runs("c", 5, before), &runs("d", 5, after), ends, ALPHA);
    assert_eq!(verdict(100, 140), Ok(PairVerdict::Step));
    assert_eq!(verdict(110, 135), Ok(PairVerdict::Step));
    assert_eq!(verdict(115, 122), Ok(PairVerdict::Gradual));
    for (before, after) in [(140, 140), (100, 100)] {
        let wrong = verdict(before, after);
        assert!(matches!(wrong, Err(NoAnswer::Open(_))), "{wrong:?}");
    }
}

#[test]
fn a_condition_tells_versions_apart_by_where_it_holds() {
    let bytes = match by(0.0).measured(&runs("a", 5, 120)) {
        Measured::Value(mean) => mean.value,
        other => panic!("{other:?}"),
    };
    let when = Question::When(When::Level(Level {
        subject: "private".parse().unwrap(),
        comparison: Comparison::Above,
        bound: bytes,
    }));
    let (first, last) = (runs("a", 5, 100), runs("b", 5, 140));
    let ends = ends(&first, &last);
    assert_eq!(when.ends_differ(ends, ALPHA), Ok(true));
    assert_eq!(when.ends_differ(Ends { first: &last, ..ends }, ALPHA), Ok(false));
    assert_eq!(when.end_of(&runs("c", 3, 140), ends, ALPHA), Ok(End::Last));
    assert_eq!(when.end_of(&runs("c", 3, 100), ends, ALPHA), Ok(End::First));
    let verdict = when.pair_verdict(&runs("c", 5, 105), &runs("d", 5, 140), ends, ALPHA);
    assert_eq!(verdict, Ok(PairVerdict::Step));
    let verdict = when.pair_verdict(&runs("c", 5, 115), &runs("d", 5, 125), ends, ALPHA);
    assert_eq!(verdict, Ok(PairVerdict::Gradual));
}
