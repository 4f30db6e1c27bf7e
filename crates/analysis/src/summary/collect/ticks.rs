//! What the sampler saw, put together tick by tick.

use record::{Delays, LateTicks, Nanos, ProcessEnd, Sample};

use super::super::tree::Sums;
use super::{Pass, Tick};

impl Pass {
    pub(super) fn late(&mut self, late: LateTicks) {
        let sampling = &mut self.summary.sampling;
        sampling.missed = sampling.missed.saturating_add(late.missed);
        sampling.latest = sampling.latest.max(late.late);
    }

    pub(super) fn delays(&mut self, delays: Delays) {
        let sampling = &mut self.summary.sampling;
        sampling.ticks = sampling.ticks.saturating_add(delays.samples);
        sampling.delay = sampling.delay.saturating_add(delays.sum);
        sampling.latest = sampling.latest.max(delays.most);
    }

    /// Sums a tick after its last sample: earlier, memory that moved between processes would count twice. A tick ends
    /// when a process appears that was already read, or that is too late for it.
    pub(super) fn sample(&mut self, at: Nanos, sample: &Sample) {
        let longest = self.summary.header.settings.interval / 2;
        if let Some(tick) = self.tick {
            let is_same_tick = sample.process > tick.process && at.saturating_sub(tick.began) <= longest;
            if !is_same_tick {
                self.complete_tick();
            }
        }
        self.summary.sampling.samples += 1;
        let began = self.tick.map_or(at, |tick| tick.began);
        self.tick = Some(Tick {
            began,
            last: at,
            process: sample.process,
        });
        self.ticked.push(sample.process);
        self.tree.update(sample);
    }

    /// The round that finds a process gone has no sample of it, and says so right after those of the others: what the
    /// process had may be in theirs by now. Any other tick that is still open saw it.
    pub(super) fn process_ended(&mut self, at: Nanos, end: &ProcessEnd) {
        let process = end.process;
        let moment = self.summary.header.settings.interval / 10;
        if let Some(tick) = self.tick {
            let is_missing_in_tick = at.saturating_sub(tick.last) <= moment && !self.ticked.contains(&process);
            if !is_missing_in_tick {
                self.complete_tick();
            }
        }
        if let Some(live) = self.tree.vanish(process, end.used) {
            self.epoch.ended(at, &live);
            self.losses.ended(at, end, &live, &self.tree);
            self.draw(at);
        }
        self.summary.memory.curves.process_ended(at, process);
        self.watch.process_ended(process);
        self.phases.process_ended(at, process);
    }

    pub(super) fn complete_tick(&mut self) {
        self.ticked.clear();
        let Some(tick) = self.tick.take() else { return };
        // The look that found the processes of this tick was a little earlier than its first sample.
        let interval = self.summary.header.settings.interval;
        self.tree.set_looked_at(tick.began.saturating_sub(interval));
        let sums = self.tree.sums();
        self.epoch.tick(sums);
        self.add_to_curves(tick.last, &sums);
    }

    /// Adds the current memory of the tree to the curves.
    pub(super) fn draw(&mut self, at: Nanos) {
        let sums = self.tree.sums();
        self.add_to_curves(at, &sums);
    }

    fn add_to_curves(&mut self, at: Nanos, sums: &Sums) {
        let totals = self.tree.totals();
        self.summary.memory.curves.tree(at, sums, totals);
        self.watch.add(at, sums, totals.cpu());
    }
}
