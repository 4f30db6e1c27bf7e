//! Requests by method: how they ended and how long they took.

use std::collections::BTreeMap;

use crate::summary::{CommonestError, MethodSummary};
use record::{Nanos, Outcome, Request};

use super::histogram::Histogram;
use super::latency::quantile;

/// Different error messages of one method that are counted separately; of more, only the number is known.
const ERRORS: usize = 64;

/// Fewest answers that have a 95th percentile: of fewer, it would be a point between the two longest.
pub const FEWEST: usize = 20;

/// The requests of one method as they come in.
///
/// Every latency is kept, 8 bytes each, since no sketch of a distribution gives an exact 95th percentile: ten
/// requests a second for a day are 7 MiB.
#[derive(Debug, Default)]
pub(super) struct Method {
    figures: MethodSummary,
    latencies: Vec<Nanos>,
    errors: BTreeMap<String, u64>,
}

/// Elements of a result: those of a list, and one for any other result that is not empty. A server may answer a
/// definition with one `Location` or with a list of one.
fn elements(request: &Request) -> u64 {
    match (request.items, &request.outcome) {
        (Some(items), _) => items,
        (None, Outcome::Hit) => 1,
        (None, _) => 0,
    }
}

impl Method {
    pub fn add(&mut self, request: &Request) {
        let figures = &mut self.figures;
        figures.count += 1;
        figures.retries += u64::from(request.retries);
        figures.bytes = figures.bytes.saturating_add(request.bytes);
        figures.items = figures.items.saturating_add(elements(request));
        match &request.outcome {
            Outcome::Hit => figures.hits += 1,
            Outcome::Empty => figures.empty += 1,
            Outcome::Null => figures.null += 1,
            Outcome::TimedOut => figures.timeouts += 1,
            Outcome::Parked => figures.parked += 1,
            Outcome::Lost => figures.lost += 1,
            Outcome::Error { code, message } => {
                figures.errors += 1;
                // A relayed session records no words of an error.
                let text = if message.is_empty() {
                    code.to_string()
                } else {
                    format!("{code}: {message}")
                };
                if self.errors.len() < ERRORS || self.errors.contains_key(&text) {
                    *self.errors.entry(text).or_default() += 1;
                }
            }
        }
        self.latencies.extend(request.latency);
    }

    /// The figures of all requests.
    pub fn finish(mut self, method: String) -> MethodSummary {
        self.latencies.sort_unstable();
        let p95 = if self.latencies.len() >= FEWEST {
            quantile(&self.latencies, 0.95)
        } else {
            None
        };
        let commonest = self.errors.into_iter().max_by_key(|(_, count)| *count);
        MethodSummary {
            method,
            error: commonest.map(|(text, count)| CommonestError { text, count }),
            answered: self.latencies.len() as u64,
            p50: quantile(&self.latencies, 0.5),
            p95,
            max: self.latencies.last().copied(),
            distribution: Histogram::from_values(&self.latencies),
            ..self.figures
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::summarised;
    use record::golden::Session;

    fn definition(items: Option<u64>, outcome: Outcome) -> Request {
        Request {
            method: "textDocument/definition".to_owned(),
            latency: Some(1),
            outcome,
            bytes: 80,
            items,
            retries: 0,
            editor: false,
        }
    }

    fn counted_items(request: &Request) -> u64 {
        let mut method = Method::default();
        method.add(request);
        method.finish(String::new()).items
    }

    #[test]
    fn a_single_object_is_one_element_as_a_list_of_one_and_a_record_without_the_field_stays_readable() {
        for (items, outcome, counted, result) in [
            (None, Outcome::Hit, 1, "a single Location"),
            (Some(1), Outcome::Hit, 1, "a list of one"),
            (Some(3), Outcome::Hit, 3, "a list of LocationLink"),
            (Some(0), Outcome::Hit, 0, "an unchanged report"),
            (None, Outcome::Null, 0, "nothing"),
        ] {
            assert_eq!(counted_items(&definition(items, outcome)), counted, "{result}");
        }
        let old = r#"{"method":"textDocument/definition","latency":1,"outcome":"hit","bytes":80}"#;
        assert_eq!(counted_items(&serde_json::from_str(old).unwrap()), 1);
    }

    #[test]
    fn a_95th_percentile_needs_twenty_answers_and_the_others_one() {
        for (count, known) in [(19, false), (20, true)] {
            let mut session = Session::new("server");
            session.requests("textDocument/hover", count, 1_000, &Outcome::Null, 0);
            let method = &summarised(&session).traffic.methods[0];
            assert_eq!(method.answered, count);
            assert_eq!(method.p95.is_some(), known, "{count}");
            assert!(method.p50.is_some() && method.max.is_some());
        }
    }
}
