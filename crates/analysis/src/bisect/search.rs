//! Which of the versions between two ends is judged next.

use serde::Serialize;

/// One end of a range of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The older one.
    First,
    /// The newer one.
    Last,
}

/// The state of a version in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Untried,
    /// It is like this end.
    Like(End),
    /// It cannot be judged.
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Judge(usize),
    /// No version between these two can be judged.
    Pair {
        before: usize,
        after: usize,
    },
}

/// The next version to judge, of at least two from old to new, the ends included.
///
/// It is the middle of the longest stretch of untried versions: the middle of all, and after a skip the middle of one half,
/// far from the versions that fail for the same reason.
pub fn next(places: &[Place]) -> Next {
    let after = places.iter().position(|place| *place == Place::Like(End::Last));
    let after = after.unwrap_or(places.len() - 1);
    let before = places[..after]
        .iter()
        .rposition(|place| *place == Place::Like(End::First))
        .unwrap_or(0);
    let untried: Vec<usize> = (before + 1..after)
        .filter(|index| places[*index] == Place::Untried)
        .collect();
    let mut longest: &[usize] = &[];
    for stretch in untried.chunk_by(|one, next| one + 1 == *next) {
        if stretch.len() > longest.len() {
            longest = stretch;
        }
    }
    match longest {
        [] => Next::Pair { before, after },
        stretch => Next::Judge(stretch[(stretch.len() - 1) / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The versions that are judged of `count`, in their order, and the last pair.
    fn search(count: usize, judge: impl Fn(usize) -> Place) -> (Vec<usize>, (usize, usize)) {
        let mut places = vec![Place::Untried; count];
        places[0] = Place::Like(End::First);
        places[count - 1] = Place::Like(End::Last);
        let mut judged = Vec::new();
        loop {
            match next(&places) {
                Next::Judge(index) => {
                    assert_eq!(places[index], Place::Untried, "{index} is judged twice");
                    places[index] = judge(index);
                    judged.push(index);
                }
                Next::Pair { before, after } => return (judged, (before, after)),
            }
        }
    }

    /// A step between `last_before` and the version after it.
    fn step(last_before: usize, index: usize) -> Place {
        if index <= last_before {
            Place::Like(End::First)
        } else {
            Place::Like(End::Last)
        }
    }

    #[test]
    fn every_step_is_found_with_as_many_versions_as_a_halving_needs() {
        for count in 2..70 {
            for last_before in 0..count - 1 {
                let (judged, pair) = search(count, |index| step(last_before, index));
                assert_eq!(pair, (last_before, last_before + 1), "{count}");
                let most = usize::ilog2(count - 1) as usize + 1;
                assert!(judged.len() <= most, "{count}: {judged:?}");
            }
        }
    }

    #[test]
    fn a_version_in_the_middle_that_fails_is_gone_around() {
        let (judged, pair) = search(9, |index| match index {
            4 => Place::Skipped,
            index => step(1, index),
        });
        assert_eq!((judged[0], pair), (4, (1, 2)));
        assert!(judged.len() <= 4, "{judged:?}");
    }

    #[test]
    fn versions_that_fail_beside_the_step_leave_one_of_these() {
        let (_, pair) = search(20, |index| match index {
            7 | 8 => Place::Skipped,
            index => step(7, index),
        });
        assert_eq!(pair, (6, 9));
    }

    #[test]
    fn a_long_stretch_that_fails_costs_little_where_the_step_is_elsewhere() {
        let (judged, pair) = search(100, |index| match index {
            30..70 => Place::Skipped,
            index => step(10, index),
        });
        assert_eq!(pair, (10, 11));
        assert!(judged.len() <= 9, "{judged:?}");
    }

    #[test]
    fn where_nothing_between_the_ends_can_be_judged_they_are_the_pair() {
        let (judged, pair) = search(6, |_| Place::Skipped);
        assert_eq!((judged.len(), pair), (4, (0, 5)));
        assert_eq!(search(2, |_| Place::Skipped), (vec![], (0, 1)));
    }

    #[test]
    fn whatever_the_answers_the_pair_is_one_before_and_one_after() {
        for seed in 0..200_u64 {
            let answer = |index: usize| {
                let mixed = (index as u64 + 1).wrapping_mul(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1) >> 60;
                match mixed % 3 {
                    0 => Place::Skipped,
                    1 => Place::Like(End::First),
                    _ => Place::Like(End::Last),
                }
            };
            let (_, (before, after)) = search(40, answer);
            assert!(before < after);
            assert!(before == 0 || answer(before) == Place::Like(End::First));
            assert!(after == 39 || answer(after) == Place::Like(End::Last));
            assert!((before + 1..after).all(|index| answer(index) == Place::Skipped));
        }
    }
}
