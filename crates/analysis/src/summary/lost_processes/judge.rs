//! Judges which ends were losses, once the whole record is known.

use std::collections::BTreeMap;

use record::{EndCause, PhaseRef};

use super::{End, Losses, LostProcess};

/// Least private memory in bytes of processes that are reported because they held a quarter of the tree.
const LEAST_REPORTED: u64 = 16 << 20;

/// The losses of a run, and the phases at whose checkpoints a lost process was missing.
pub(in crate::summary) struct Judged {
    pub list: Vec<LostProcess>,
    pub incomplete: Vec<PhaseRef>,
}

impl Losses {
    /// Places of the processes that are missing now. Of several that took each other's place the largest counts.
    pub(super) fn missing(&self) -> Vec<usize> {
        let mut largest: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, end) in self.ends.iter().enumerate() {
            if end.is_past || end.has_done_its_job() {
                continue;
            }
            let Some(last) = self.last_of_chain(place) else {
                continue;
            };
            let known = largest.entry(last).or_insert(place);
            if self.ends[*known].weight() < end.weight() {
                *known = place;
            }
        }
        largest.into_values().collect()
    }

    /// The last end of those that took each other's place; `None` while a process lives in that place.
    fn last_of_chain(&self, mut place: usize) -> Option<usize> {
        while let Some(successor) = self.ends[place].successor {
            place = *self.places.get(&successor)?;
        }
        Some(place)
    }

    /// True for a process that ended when its work was done, such as a compiler.
    fn is_job(&self, end: &End) -> bool {
        if end.has_done_its_job() {
            return true;
        }
        if end.rested || end.lost.crashed() {
            return false;
        }
        match end.lost.cause {
            // A tool that found a mistake in its input: with other input it succeeds.
            EndCause::Exited { .. } => self.ends.iter().any(|other| other.succeeded_like(end)),
            EndCause::Signalled { .. } | EndCause::Unknown => {
                self.seen.get(&end.lost.name).is_some_and(|count| *count > 1)
            }
        }
    }

    pub fn judge(mut self) -> Judged {
        let missing_at_end = self.missing();
        let is_job: Vec<bool> = self.ends.iter().map(|end| self.is_job(end)).collect();
        let mut is_reported: Vec<bool> = self
            .ends
            .iter()
            .zip(&is_job)
            .map(|(end, is_job)| !is_job && end.decides_alone())
            .collect();
        let mut incomplete = Vec::new();
        for (phase, missing) in std::mem::take(&mut self.checkpoints) {
            if self.judge_missing(missing, &is_job, &mut is_reported) {
                incomplete.push(phase);
            }
        }
        self.judge_missing(missing_at_end, &is_job, &mut is_reported);
        let mut list = Vec::new();
        for (place, end) in self.ends.iter().enumerate() {
            if is_reported[place] {
                list.push(LostProcess {
                    replaced: self.last_of_chain(place).is_none(),
                    ..end.lost.clone()
                });
            }
        }
        Judged { list, incomplete }
    }

    /// Judges the processes that were missing at one moment. Returns true if figures of that moment are incomplete.
    fn judge_missing(&mut self, mut missing: Vec<usize>, is_job: &[bool], is_reported: &mut [bool]) -> bool {
        missing.retain(|place| !is_job[*place]);
        let mut undecided = missing.clone();
        undecided.retain(|place| !self.ends[*place].decides_alone() && !self.followed_parent(*place));
        self.judge_together(&undecided, is_reported);
        missing.iter().any(|place| self.ends[*place].decides_alone())
    }

    /// True for a process whose parent is lost: it ended because of that.
    fn followed_parent(&self, place: usize) -> bool {
        let parent = self.ends[place].parent.and_then(|parent| self.places.get(&parent));
        parent.is_some_and(|parent| self.ends[*parent].decides_alone())
    }

    /// Judges processes that were missing at the same time: alone none may have held most of the memory.
    fn judge_together(&mut self, missing: &[usize], is_reported: &mut [bool]) {
        if held_share(&self.ends, missing, 2) {
            for place in missing {
                self.ends[*place].lost.held_most = true;
                is_reported[*place] = true;
            }
            return;
        }
        let rested: Vec<usize> = missing
            .iter()
            .copied()
            .filter(|place| self.ends[*place].rested)
            .collect();
        if held_share(&self.ends, &rested, 4) && held(&self.ends, &rested) >= LEAST_REPORTED {
            for place in rested {
                is_reported[place] = true;
            }
        }
    }
}

/// Private memory in bytes that these processes had.
fn held(ends: &[End], places: &[usize]) -> u64 {
    let sizes = places.iter().filter_map(|place| ends[*place].lost.private);
    sizes.fold(0, u64::saturating_add)
}

/// True if these processes had more than this part of the tree, a half for 2, and the tree lost as much since the first of
/// them ended.
fn held_share(ends: &[End], places: &[usize], part: u64) -> bool {
    let Some(last) = places.iter().max() else { return false };
    let rest = ends[*last].rest;
    let trees = places.iter().map(|place| ends[*place].tree());
    let highest = trees.max().unwrap_or(0);
    let sum = held(ends, places);
    sum.saturating_mul(part) > sum.saturating_add(rest) && highest.saturating_sub(rest).saturating_mul(part) > highest
}

impl End {
    /// Private memory in bytes of the tree just before the end.
    fn tree(&self) -> u64 {
        self.lost.private.unwrap_or(0).saturating_add(self.rest)
    }

    /// True if figures without this process are of the rest.
    fn decides_alone(&self) -> bool {
        self.lost.crashed() || self.lost.held_most
    }

    /// Orders ends by the effect of the process's absence on the figures.
    fn weight(&self) -> (bool, Option<u64>) {
        (self.decides_alone(), self.lost.private)
    }

    /// True if it began and ended within a phase, with success.
    fn has_done_its_job(&self) -> bool {
        !self.rested && self.lost.cause == EndCause::Exited { code: 0 }
    }

    /// True for a job of the same name that succeeded and was not much smaller: a query for the version is another matter.
    fn succeeded_like(&self, failed: &End) -> bool {
        let (own, others) = (self.lost.private.unwrap_or(0), failed.lost.private.unwrap_or(0));
        self.has_done_its_job() && self.lost.name == failed.lost.name && own >= others / 4
    }
}
