//! Checks of the sides before any figure: failures, circumstances, and the same work.

use crate::compare::calibration::{Held, believed};
use crate::compare::{
    Difference, Inequality, Played, counts, differences, differences_between, differences_of, inequalities,
    shared_memory,
};
use crate::figures::{GatedFigure, WorkLimits};
use crate::summary::{Summary, exit};
use base::band::NoiseFloor;
use base::exit::Exit;
use base::lens::Lens;
use record::Header;
use stats::{Known, Seen};

use super::judgement::{Broken, Sides};
use super::machines::Machines;
use super::role::Role;
use crate::findings::{brief, loss};

impl Sides {
    /// Each side with the part that it plays.
    pub fn parties(&self) -> Vec<(Role, &Vec<Played>)> {
        let baseline = self.baseline.as_ref().map(|baseline| (Role::Baseline, baseline));
        let anchor = self.anchor.as_ref().map(|anchor| (Role::Anchor, anchor));
        let mut parties = Vec::from_iter(baseline);
        parties.push((Role::Candidate, &self.candidate));
        parties.extend(anchor);
        parties
    }

    /// The runs of all sides, in the order of the parties.
    pub fn runs(&self) -> impl Iterator<Item = &Played> {
        self.parties().into_iter().flat_map(|(_, runs)| runs)
    }

    /// The runs of each side.
    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut Vec<Played>> {
        let baseline = self.baseline.as_mut().into_iter();
        baseline.chain([&mut self.candidate]).chain(&mut self.anchor)
    }

    /// The runs that a server failed, or in which it lost the process with most of its memory.
    pub fn broken(&self) -> Vec<Broken> {
        let parties = self.parties();
        parties.iter().flat_map(|(role, runs)| broken(*role, runs)).collect()
    }

    /// The circumstances that are not the same in all runs.
    pub fn differences(&self) -> Vec<Difference> {
        let parties = self.parties();
        let headers = |runs| -> Vec<&Header> { counting(runs).into_iter().map(|run| &run.summary.header).collect() };
        let sides: Vec<(&str, Vec<&Header>)> = parties
            .iter()
            .map(|(role, runs)| (role.name(), headers(runs)))
            .collect();
        let all: Vec<&Header> = sides.iter().flat_map(|(_, headers)| headers.iter().copied()).collect();
        let of_side =
            |(name, headers): &(&str, Vec<&Header>)| differences_of(&format!("the {name}"), headers.iter().copied());
        let mut differing = differences(all.into_iter());
        differing.extend(sides.iter().flat_map(of_side));
        differing.extend(differences_between(&sides));
        let counted = parties.iter().flat_map(|(_, runs)| counting(runs));
        differing.extend(shared_memory(counted.map(|run| &run.summary)));
        differing
    }
}

pub(super) fn counting(runs: &[Played]) -> Vec<&Played> {
    runs.iter().filter(|run| counts(&run.summary)).collect()
}

/// The runs that count and were looked at through this lens, or through any.
pub(super) fn through(runs: &[Played], lens: Option<Lens>) -> Vec<&Played> {
    let mut runs = counting(runs);
    runs.retain(|run| lens.is_none_or(|lens| run.summary.header.server.lens.name == lens));
    runs
}

pub(super) fn summaries<'r>(runs: &[&'r Played]) -> Vec<&'r Summary> {
    runs.iter().map(|run| &run.summary).collect()
}

fn broken(role: Role, runs: &[Played]) -> Vec<Broken> {
    let mut all = Vec::new();
    for run in runs {
        let how = if exit(&run.summary) == Exit::ServerFailed {
            Some((brief(&run.summary), false))
        } else {
            loss(&run.summary).map(|loss| (loss, true))
        };
        all.extend(how.map(|(how, incomplete)| Broken {
            role,
            record: run.record.clone(),
            how,
            incomplete,
        }));
    }
    all
}

/// Without runs of machines that have less than two of a side, which decide nothing; all where no machine has.
fn where_both_are<'r>(baseline: Vec<&'r Played>, candidate: Vec<&'r Played>) -> (Vec<&'r Played>, Vec<&'r Played>) {
    let machines = Machines::of(&baseline, &candidate);
    let has_two = |runs: &[&Played], place: usize| runs.iter().filter(|run| machines.place(run) == place).count() > 1;
    let decides = |run: &&Played| {
        let place = machines.place(run);
        has_two(&baseline, place) && has_two(&candidate, place)
    };
    let deciding = |runs: &[&'r Played]| -> Vec<&'r Played> { runs.iter().copied().filter(decides).collect() };
    match (deciding(&baseline), deciding(&candidate)) {
        (one, other) if one.is_empty() || other.is_empty() => (baseline, candidate),
        deciding => deciding,
    }
}

/// The first runs of both sides through a lens: those by which a rule is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub lens: Lens,
    /// How many of each side, in their order.
    pub runs: usize,
    /// Whether runs decide nothing on a machine that has less than two of a side.
    pub in_pairs: bool,
}

/// Work that was not done alike in the runs that decide: each rule's own, since one may have its answer before another.
pub(super) fn work(
    baseline: &[Played],
    candidate: &[Played],
    limits: WorkLimits,
    deciding: impl IntoIterator<Item = First>,
) -> Vec<Inequality> {
    let mut unequal: Vec<Inequality> = Vec::new();
    let mut seen: Vec<First> = Vec::new();
    for first in deciding {
        if seen.contains(&first) {
            continue;
        }
        seen.push(first);
        let until = |runs| {
            let mut runs = through(runs, Some(first.lens));
            runs.truncate(first.runs);
            runs
        };
        let (baseline, candidate) = match (until(baseline), until(candidate)) {
            (baseline, candidate) if first.in_pairs => where_both_are(baseline, candidate),
            both => both,
        };
        let of_rule = inequalities(&summaries(&baseline), &summaries(&candidate), limits);
        let is_new = |one: &Inequality| {
            let known = |other: &Inequality| (&one.task, one.count, one.less) == (&other.task, other.count, other.less);
            !unequal.iter().any(known)
        };
        let new: Vec<Inequality> = of_rule.into_iter().filter(is_new).collect();
        unequal.extend(new);
    }
    unequal
}

pub(super) fn seen(what: &GatedFigure, runs: &[&Played], machines: &Machines) -> Vec<Seen> {
    let seen = |run: &&Played| Seen {
        machine: machines.place(run),
        value: what.value(&run.summary),
    };
    runs.iter().map(seen).collect()
}

/// The known noise of a figure in these runs; `None` if no run has it.
pub(super) fn known(
    what: &GatedFigure,
    runs: &[&Played],
    lens: Lens,
    calibrations: [&[Held]; 2],
) -> (NoiseFloor, Known) {
    let floor = what
        .figure
        .noise_of(runs.iter().filter_map(|run| what.value(&run.summary)));
    let measure = runs.iter().find_map(|run| what.measure(&run.summary));
    measure.map_or((floor, Known::Seen), |measure| {
        believed(&measure, floor, lens, calibrations)
    })
}
