//! The cancelled requests: an answer to one is late, not unexpected.

use std::collections::{HashSet, VecDeque};

/// Most cancelled requests remembered, for late answers.
const MOST_CANCELLED: usize = 4096;

/// The ids of the last cancelled requests.
#[derive(Debug, Default)]
pub(super) struct Cancelled {
    ids: HashSet<i64>,
    order: VecDeque<i64>,
    /// Ids up to here may have been forgotten.
    forgotten: i64,
}

impl Cancelled {
    pub(super) fn add(&mut self, id: i64) {
        self.ids.insert(id);
        self.order.push_back(id);
        while self.order.len() > MOST_CANCELLED {
            if let Some(oldest) = self.order.pop_front()
                && self.ids.remove(&oldest)
            {
                self.forgotten = self.forgotten.max(oldest);
            }
        }
    }

    /// Forgets a request whose answer came; true if it was, or may have been, cancelled.
    pub(super) fn take_id(&mut self, id: i64) -> bool {
        self.ids.remove(&id) || (1..=self.forgotten).contains(&id)
    }
}
