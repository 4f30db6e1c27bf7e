//! Counts protocol violations by kind, so that a server that repeats one cannot fill the record.

use std::collections::{BTreeMap, HashMap};
use std::mem::{Discriminant, discriminant};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lsp::Violation;

/// A kind of violation. For an unfit id it includes the reason: there are few.
type Kind = (Discriminant<Violation>, &'static str, bool);

/// The sentence for the first violation of each kind, and the count.
type Kinds = HashMap<Kind, (String, u64)>;

#[derive(Debug, Default)]
pub struct Violations(Mutex<Kinds>);

impl Violations {
    /// Counts a violation. Returns its sentence if it is the first of its kind.
    pub fn hear(&self, violation: &Violation) -> Option<String> {
        let mut kinds = self.kinds();
        let (text, count) = kinds
            .entry(kind(violation))
            .or_insert_with(|| (violation.to_string(), 0));
        *count += 1;
        if *count == 1 { Some(text.clone()) } else { None }
    }

    /// The counts, by the sentence for the first of each kind.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.kinds().values().cloned().collect()
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind(violation: &Violation) -> Kind {
    let (reason, is_request) = match violation {
        Violation::UnfitId { what, method } => (*what, !method.is_empty()),
        _ => ("", false),
    };
    (discriminant(violation), reason, is_request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_unfit_for_different_reasons_are_told_each_by_itself() {
        let violations = Violations::default();
        for (what, method) in [("is null", "a"), ("is null", "b"), ("is neither", "a"), ("is null", "")] {
            violations.hear(&Violation::UnfitId {
                what,
                method: method.to_owned(),
            });
        }
        let mut counts: Vec<u64> = violations.counts().into_values().collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2]);
    }

    #[test]
    fn of_each_kind_the_first_is_told_and_all_are_counted() {
        let violations = Violations::default();
        let first = violations.hear(&Violation::Complaint("a".to_owned()));
        assert!(first.is_some_and(|text| text.ends_with(": a")));
        assert_eq!(violations.hear(&Violation::Complaint("b".to_owned())), None);
        assert!(violations.hear(&Violation::Twice).is_some());
        assert_eq!(violations.counts().into_values().sum::<u64>(), 3);
        assert_eq!(violations.counts()["a request was answered twice"], 1);
    }
}
