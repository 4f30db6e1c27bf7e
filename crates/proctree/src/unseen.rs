//! Counts processes that started and ended between two looks, and reports them periodically.

use record::{Event, Nanos};

pub(super) const PAUSE: Nanos = 60_000_000_000;

#[derive(Default)]
pub(super) struct Unseen {
    total: u64,
    /// Whether the count has changed since the last report.
    news: bool,
    told: Option<Nanos>,
}

impl Unseen {
    pub fn add(&mut self, more: u64) {
        self.total += more;
        self.news |= more > 0;
    }

    /// The total count, if there is news and the last report is at least `pause` ago.
    pub fn tell(&mut self, at: Nanos, pause: Nanos) -> Option<Event> {
        let due = self.told.is_none_or(|told| at.saturating_sub(told) >= pause);
        if !self.news || !due {
            return None;
        }
        self.news = false;
        self.told = Some(at);
        Some(Event::Unseen(record::Unseen { total: self.total }))
    }
}
