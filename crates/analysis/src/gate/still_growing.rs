//! Memory that still grows when it is read: the figure is a lower bound, of which nothing passes.

use crate::compare::Played;
use crate::figures::{GatedFigure, MeasuredPart, Unit};
use crate::summary::{PhaseSummary, Summary};
use base::units;
use stats::Answer;

/// The candidate's memory that still grew at the end of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillGrowing {
    pub phase: String,
    /// Bytes per second.
    pub rate: u64,
    /// Sampled private memory by then.
    pub size: Option<u64>,
}

impl StillGrowing {
    pub fn reason(&self) -> String {
        format!(
            "the candidate's memory still grew by {}/s at the end of `{}` ({} by then), so this is a lower bound",
            units::bytes(self.rate),
            self.phase,
            units::or_unknown(self.size, units::bytes)
        )
    }

    /// Takes back that the figure passes.
    pub(super) fn deny_pass(growing: Option<&StillGrowing>, answer: &mut Answer) {
        if growing.is_some() && *answer == Answer::Pass {
            *answer = Answer::Inconclusive;
        }
    }
}

/// The first of these runs in which memory still grew when this figure was read; or at the end of the run, which more
/// time would have made larger.
pub(super) fn below_figure(subject: &GatedFigure, runs: &[&Played]) -> Option<StillGrowing> {
    runs.iter().find_map(|run| below_figure_of(subject, &run.summary))
}

pub(crate) fn below_figure_of(subject: &GatedFigure, run: &Summary) -> Option<StillGrowing> {
    if subject.figure.unit() != Unit::Bytes {
        return None;
    }
    let place = subject.measure(run)?.place;
    at_place(&place, run).or_else(|| at_end_of(run))
}

/// The first of these runs in which memory still grew at its end.
pub(super) fn at_end(runs: &[&Played]) -> Option<StillGrowing> {
    runs.iter().find_map(|run| at_end_of(&run.summary))
}

pub(crate) fn at_end_of(run: &Summary) -> Option<StillGrowing> {
    let mut taken = run.phases.iter().filter(|phase| phase.checkpoint.is_some());
    taken.next_back().and_then(at_checkpoint)
}

fn at_place(place: &MeasuredPart, run: &Summary) -> Option<StillGrowing> {
    let MeasuredPart::Phase { number, .. } = place else {
        return None;
    };
    let mut rounds = run.phases.iter().filter(|phase| phase.phase.phase == *number);
    rounds.next_back().and_then(at_checkpoint)
}

fn at_checkpoint(phase: &PhaseSummary) -> Option<StillGrowing> {
    let taken = phase.checkpoint.as_ref()?;
    Some(StillGrowing {
        phase: phase.phase.name.clone(),
        rate: taken.growing?,
        size: taken.private_sampled,
    })
}
