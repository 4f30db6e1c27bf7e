//! Counts processes that started and ended between two looks, and reports them periodically.

use record::{Event, Nanos};

pub(super) const PAUSE: Nanos = 60_000_000_000;

#[derive(Default)]
pub(super) struct Unseen {
    total: u64,
    /// True if the count has changed since the last report.
    has_news: bool,
    reported: Option<Nanos>,
}

impl Unseen {
    pub fn add(&mut self, more: u64) {
        self.total += more;
        self.has_news |= more > 0;
    }

    /// The total count, if there is news and the last report is at least `pause` ago.
    pub fn report(&mut self, at: Nanos, pause: Nanos) -> Option<Event> {
        let is_due = self.reported.is_none_or(|last| at.saturating_sub(last) >= pause);
        if !self.has_news || !is_due {
            return None;
        }
        self.has_news = false;
        self.reported = Some(at);
        Some(Event::Unseen(record::Unseen { total: self.total }))
    }
}
