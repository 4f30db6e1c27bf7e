//! Bounds the messages that a server sends unasked: the first of each kind are recorded, the rest only counted.

use std::sync::{Mutex, PoisonError};

use record::{Event, Unwritten};

/// Most bytes of the record per kind: a 400-byte warning every ten seconds for a day.
const MOST: usize = 4 << 20;

/// Bytes of one kind in the record.
#[derive(Clone, Copy, Debug, Default)]
struct Written(usize);

impl Written {
    /// True if one more event is recorded. After the first refusal, all are refused.
    fn admits(&mut self, event: &Event) -> bool {
        if self.0 <= MOST {
            // The bytes of the event that goes over the limit count too, so that no smaller one follows it. An event
            // that cannot be serialised ends the record anyway.
            self.0 += serde_json::to_vec(event).map_or(0, |line| line.len());
        }
        self.0 <= MOST
    }
}

#[derive(Debug, Default)]
struct State {
    errors: Written,
    warnings: Written,
    requests: Written,
    registrations: Written,
    unwritten: Unwritten,
}

/// The messages of one server so far.
#[derive(Debug, Default)]
pub struct Flood(Mutex<State>);

impl Flood {
    /// True if an event is recorded; counts the event otherwise.
    pub fn admits(&self, event: &Event) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            errors,
            warnings,
            requests,
            registrations,
            unwritten,
        } = &mut *state;
        let is_recorded = match event {
            Event::ServerMessage { level: 1, .. } => errors.admits(event),
            Event::ServerMessage { .. } => warnings.admits(event),
            Event::Registered { .. } => registrations.admits(event),
            Event::ServerRequest { .. } => requests.admits(event),
            _other => true,
        };
        if !is_recorded {
            add(unwritten, event);
        }
        is_recorded
    }

    pub fn unwritten(&self) -> Unwritten {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unwritten.clone()
    }
}

/// Counts an event that is not recorded.
fn add(unwritten: &mut Unwritten, event: &Event) {
    match event {
        Event::ServerMessage { level: 1, .. } => unwritten.errors += 1,
        Event::ServerMessage { .. } => unwritten.warnings += 1,
        Event::Registered { .. } => unwritten.registrations += 1,
        Event::ServerRequest { method, refused } => {
            *unwritten.requests.entry(method.clone()).or_default() += 1;
            *unwritten.refused.entry(method.clone()).or_default() += u64::from(*refused);
        }
        _other => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: u8, text: &str) -> Event {
        Event::ServerMessage {
            level,
            text: text.to_owned(),
        }
    }

    /// The number of admitted events, of `times` equal ones.
    fn admitted(flood: &Flood, event: &Event, times: u64) -> u64 {
        let mut admitted = 0;
        for _ in 0..times {
            admitted += u64::from(flood.admits(event));
        }
        admitted
    }

    #[test]
    fn of_each_kind_the_first_are_written_and_the_rest_is_counted() {
        let flood = Flood::default();
        let request = Event::ServerRequest {
            method: "a/b".to_owned(),
            refused: true,
        };
        let asked = admitted(&flood, &request, 100_000);
        assert!((50_000..100_000).contains(&asked), "{asked}");
        let long = "x".repeat(2_000);
        let warned = admitted(&flood, &message(2, &long), 3_000);
        assert!((2_000..2_100).contains(&warned), "{warned}");
        assert!(!flood.admits(&message(2, "")), "the written ones are the first");
        assert!(flood.admits(&message(1, &long)), "another kind");
        let unwritten = flood.unwritten();
        assert_eq!((unwritten.errors, unwritten.warnings), (0, 3_001 - warned));
        let requests = (unwritten.requests["a/b"], unwritten.refused["a/b"]);
        assert_eq!(requests, (100_000 - asked, 100_000 - asked));
    }
}
