//! Delta debugging: the fewest things with which a test still holds (Zeller and Hildebrandt, "Simplifying and Isolating
//! Failure-Inducing Input", IEEE TSE 28, 2002). Only complements are tested: a part alone is the complement of the rest.

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    Holds,
    Fails,
    /// There is no time for this test, nor for any other.
    Stop,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Minimal<T> {
    /// In their order.
    pub kept: Vec<T>,
    /// True if none of them can be left out; false if the search was stopped.
    pub is_complete: bool,
}

/// The fewest of `items` with which `test` holds. It is taken to hold with all of them.
pub fn minimise<T: Clone, E>(items: &[T], mut test: impl FnMut(&[T]) -> Result<Tested, E>) -> Result<Minimal<T>, E> {
    let mut kept = items.to_vec();
    let mut parts = 1;
    while !kept.is_empty() {
        match without_a_part(&kept, parts, &mut test)? {
            Reduced::To(fewer) => {
                kept = fewer;
                parts = (parts - 1).max(2);
            }
            Reduced::No if parts >= kept.len() => break,
            Reduced::No => parts = (parts * 2).min(kept.len()),
            Reduced::Stop => {
                return Ok(Minimal {
                    kept,
                    is_complete: false,
                });
            }
        }
        parts = parts.min(kept.len());
    }
    Ok(Minimal {
        kept,
        is_complete: true,
    })
}

enum Reduced<T> {
    To(Vec<T>),
    No,
    Stop,
}

/// The items without the first of so many parts that can be left out.
fn without_a_part<T: Clone, E>(
    kept: &[T],
    parts: usize,
    test: &mut impl FnMut(&[T]) -> Result<Tested, E>,
) -> Result<Reduced<T>, E> {
    let size = kept.len().div_ceil(parts.max(1));
    for start in (0..kept.len()).step_by(size) {
        let end = (start + size).min(kept.len());
        let rest = [&kept[..start], &kept[end..]].concat();
        match test(&rest)? {
            Tested::Holds => return Ok(Reduced::To(rest)),
            Tested::Fails => {}
            Tested::Stop => return Ok(Reduced::Stop),
        }
    }
    Ok(Reduced::No)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use base::random::Random;

    /// The fewest of the numbers below `all` that contain all `needed`, and how many tests that took.
    fn fewest(all: u32, needed: &[u32]) -> (Vec<u32>, usize) {
        let items: Vec<u32> = (0..all).collect();
        let mut tests = 0;
        let minimal = minimise(&items, |kept| {
            tests += 1;
            Ok::<_, Infallible>(holds(kept, needed))
        });
        let Ok(minimal) = minimal;
        assert!(minimal.is_complete);
        (minimal.kept, tests)
    }

    fn holds(kept: &[u32], needed: &[u32]) -> Tested {
        if needed.iter().all(|number| kept.contains(number)) {
            Tested::Holds
        } else {
            Tested::Fails
        }
    }

    #[test]
    fn what_is_needed_stays_and_nothing_else() {
        for needed in [&[][..], &[0], &[99], &[3, 50], &[0, 1, 2, 97, 98, 99]] {
            let (kept, tests) = fewest(100, needed);
            assert_eq!(kept, needed);
            assert!(tests < 110, "{needed:?} took {tests} tests");
        }
        assert_eq!(fewest(0, &[]).0, [] as [u32; 0]);
        assert_eq!(fewest(1, &[0]).0, [0]);
        assert_eq!(fewest(8, &[0, 1, 2, 3, 4, 5, 6, 7]).0.len(), 8);
    }

    #[test]
    fn one_of_a_thousand_is_found_in_few_tests() {
        let (kept, tests) = fewest(1_000, &[617]);
        assert_eq!(kept, [617]);
        assert!(tests < 40, "{tests}");
    }

    #[test]
    fn no_set_is_tested_twice_that_failed_in_the_same_form() {
        let items: Vec<u32> = (0..12).collect();
        let mut seen = BTreeSet::new();
        let mut again = 0;
        let Ok(_) = minimise(&items, |kept| {
            again += usize::from(!seen.insert(kept.to_vec()));
            Ok::<_, Infallible>(holds(kept, &[2, 9]))
        });
        assert!(again <= 4, "a cache saves the rest: {again}");
    }

    #[test]
    fn a_stopped_search_has_the_best_so_far() {
        let items: Vec<u32> = (0..64).collect();
        let mut left = 4;
        let Ok(minimal) = minimise(&items, |kept| {
            if left == 0 {
                return Ok::<_, Infallible>(Tested::Stop);
            }
            left -= 1;
            Ok(holds(kept, &[40]))
        });
        assert!(!minimal.is_complete);
        assert!(minimal.kept.len() < 64 && minimal.kept.contains(&40), "{minimal:?}");
    }

    #[test]
    fn an_error_of_a_test_ends_the_search() {
        let error = minimise(&[1, 2], |_| Err::<Tested, _>("broken")).unwrap_err();
        assert_eq!(error, "broken");
    }

    #[test]
    fn an_oracle_that_misses_every_third_time_costs_size_and_never_what_is_needed() {
        let items: Vec<u32> = (0..60).collect();
        let mut random = Random::new(7);
        for _ in 0..50 {
            let Ok(minimal) = minimise(&items, |kept| {
                let missed = random.below(3) == 0;
                let answer = holds(kept, &[11, 33]);
                Ok::<_, Infallible>(if missed { Tested::Fails } else { answer })
            });
            assert_eq!(holds(&minimal.kept, &[11, 33]), Tested::Holds);
        }
    }

    #[test]
    fn a_set_that_was_refused_is_left_by_another_way() {
        // The oracle once said that nothing is needed. With that answer refused the search goes on to the truth.
        let items: Vec<u32> = (0..16).collect();
        let mut refused: BTreeSet<Vec<u32>> = BTreeSet::new();
        let found = loop {
            let Ok(minimal) = minimise(&items, |kept| {
                let is_lie = kept.len() == 3 && !refused.contains(kept);
                let answer = holds(kept, &[5]);
                Ok::<_, Infallible>(if is_lie { Tested::Holds } else { answer })
            });
            if holds(&minimal.kept, &[5]) == Tested::Holds {
                break minimal.kept;
            }
            refused.insert(minimal.kept);
        };
        assert_eq!(found, [5]);
    }
}
