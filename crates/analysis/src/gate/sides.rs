//! Checks of the sides before any figure: failures, circumstances, and the same work.

use crate::compare::calibration::{ApplicableCalibration, believed_noise_floor};
use crate::compare::summaries;
use crate::compare::{
    Difference, Inequality, Played, differences, differences_between, differences_of, inequalities, is_counted,
    shared_memory,
};
use crate::figures::{GatedFigure, WorkLimits};
use crate::summary::{Summary, exit_of_run};
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
        let mut parties = Vec::new();
        if let Some(baseline) = &self.baseline {
            parties.push((Role::Baseline, baseline));
        }
        parties.push((Role::Candidate, &self.candidate));
        if let Some(anchor) = &self.anchor {
            parties.push((Role::Anchor, anchor));
        }
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
        let mut sides: Vec<(&str, Vec<&Header>)> = Vec::new();
        let mut counted: Vec<&Summary> = Vec::new();
        for (role, runs) in self.parties() {
            let summaries = summaries(&counted_runs(runs));
            sides.push((role.name(), summaries.iter().map(|run| &run.header).collect()));
            counted.extend(summaries);
        }
        let mut differing = differences(counted.iter().map(|run| &run.header));
        for (name, headers) in &sides {
            differing.extend(differences_of(&format!("the {name}"), headers.iter().copied()));
        }
        differing.extend(differences_between(&sides));
        differing.extend(shared_memory(counted.iter().copied()));
        differing
    }
}

pub(super) fn counted_runs(runs: &[Played]) -> Vec<&Played> {
    runs.iter().filter(|run| is_counted(&run.summary)).collect()
}

/// The runs that count and were looked at through this lens.
pub(super) fn runs_through(runs: &[Played], lens: Lens) -> Vec<&Played> {
    let mut runs = counted_runs(runs);
    runs.retain(|run| run.summary.header.server.lens.name == lens);
    runs
}

fn broken(role: Role, runs: &[Played]) -> Vec<Broken> {
    let mut all = Vec::new();
    for run in runs {
        let (how, incomplete) = if exit_of_run(&run.summary) == Exit::ServerFailed {
            (brief(&run.summary), false)
        } else if let Some(loss) = loss(&run.summary) {
            (loss, true)
        } else {
            continue;
        };
        all.push(Broken {
            role,
            record: run.record.clone(),
            how,
            incomplete,
        });
    }
    all
}

/// The runs of both sides on machines that have at least two of each: others decide nothing. All runs if there is no such
/// machine.
fn keep_common_machines<'r>(
    baseline: Vec<&'r Played>,
    candidate: Vec<&'r Played>,
) -> (Vec<&'r Played>, Vec<&'r Played>) {
    let machines = Machines::new(&baseline, &candidate);
    let mut deciding = (baseline.clone(), candidate.clone());
    for side in [&mut deciding.0, &mut deciding.1] {
        side.retain(|run| {
            let place = machines.place(run);
            has_two(&baseline, &machines, place) && has_two(&candidate, &machines, place)
        });
    }
    if deciding.0.is_empty() || deciding.1.is_empty() {
        (baseline, candidate)
    } else {
        deciding
    }
}

/// True if at least two of these runs are of the machine of this number.
fn has_two(runs: &[&Played], machines: &Machines, place: usize) -> bool {
    runs.iter().filter(|run| machines.place(run) == place).count() > 1
}

/// The first runs of both sides through a lens: those by which a rule is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecidingRuns {
    pub lens: Lens,
    /// The number of runs of each side, in their order.
    pub count: usize,
    /// True if runs decide nothing on a machine that has less than two of a side.
    pub in_pairs: bool,
}

impl DecidingRuns {
    fn select<'r>(&self, runs: &'r [Played]) -> Vec<&'r Played> {
        let mut runs = runs_through(runs, self.lens);
        runs.truncate(self.count);
        runs
    }
}

/// Work that was not done alike in the runs that decide: each rule's own, since one may have its answer before another.
pub(super) fn unequal_work(
    baseline: &[Played],
    candidate: &[Played],
    limits: WorkLimits,
    deciding: impl IntoIterator<Item = DecidingRuns>,
) -> Vec<Inequality> {
    let mut unequal: Vec<Inequality> = Vec::new();
    let mut seen: Vec<DecidingRuns> = Vec::new();
    for first_runs in deciding {
        if seen.contains(&first_runs) {
            continue;
        }
        seen.push(first_runs);
        let mut sides = (first_runs.select(baseline), first_runs.select(candidate));
        if first_runs.in_pairs {
            sides = keep_common_machines(sides.0, sides.1);
        }
        for work in inequalities(&summaries(&sides.0), &summaries(&sides.1), limits) {
            if !unequal.iter().any(|other| is_same_work(&work, other)) {
                unequal.push(work);
            }
        }
    }
    unequal
}

fn is_same_work(one: &Inequality, other: &Inequality) -> bool {
    one.task == other.task && one.count == other.count && one.less == other.less
}

/// The values of a figure in these runs, each with the machine of the run.
pub(super) fn seen_values(subject: &GatedFigure, runs: &[&Played], machines: &Machines) -> Vec<Seen> {
    runs.iter()
        .map(|run| Seen {
            machine: machines.place(run),
            value: subject.value(&run.summary),
        })
        .collect()
}

/// The noise of a figure in these runs, and where it is known from.
pub(super) fn known_noise(
    subject: &GatedFigure,
    runs: &[&Played],
    lens: Lens,
    calibrations: [&[ApplicableCalibration]; 2],
) -> (NoiseFloor, Known) {
    let values = runs.iter().filter_map(|run| subject.value(&run.summary));
    let floor = subject.figure.noise_of(values);
    match runs.iter().find_map(|run| subject.measure(&run.summary)) {
        Some(measure) => believed_noise_floor(&measure, floor, lens, calibrations),
        None => (floor, Known::Seen),
    }
}
