//! Processes that came and went between two looks: counted, and told of now and then.

use crate::record::{self, Event, Nanos};

pub(super) const PAUSE: Nanos = 60_000_000_000;

#[derive(Default)]
pub(super) struct Unseen {
    total: u64,
    /// Whether some are in it that were not told of.
    news: bool,
    told: Option<Nanos>,
}

impl Unseen {
    pub fn add(&mut self, more: u64) {
        self.total += more;
        self.news |= more > 0;
    }

    /// What there is to tell when the last time was at least `pause` ago: how many there were in all.
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
