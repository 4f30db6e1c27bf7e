//! What a gate says, with everything that it rests on.

use serde::Serialize;

use crate::compare::calibration::ApplicableCalibration;
use crate::compare::{Difference, HugePages, Inequality, Played, StrainedRuns};
use crate::figures::rules::{Limit, Rule};
use crate::summary::decay::TooShortFor;
use base::exit::Exit;
use base::lens::Lens;
use record::{LensFacts, PreloadFacts};
use stats::{Answer, BudgetVerdict, Endpoint, EndpointVerdict, Known, Seen};

use super::leaking::{Basis, Leaking};
use super::peaks::Peaks;
use super::role::Role;
use super::still_growing::StillGrowing;

#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// `None` if the candidate is judged alone, by budgets and growth.
    pub baseline: Option<Vec<Played>>,
    pub candidate: Vec<Played>,
    /// A third side, so that small steps do not add up unseen.
    pub anchor: Option<Vec<Played>>,
}

/// The noise that calibrations of each side have shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibrations {
    /// Calibrations of each side: for each lens one of each machine that the side was run on, or none.
    pub of_sides: Vec<(Role, Vec<ApplicableCalibration>)>,
}

impl Calibrations {
    pub fn of_role(&self, role: Role) -> &[ApplicableCalibration] {
        match self.of_sides.iter().find(|(side, _)| *side == role) {
            Some((_, calibrations)) => calibrations,
            None => &[],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Party {
    /// As what.
    pub role: Role,
    /// Its label.
    pub label: String,
    /// The profile it was run with.
    pub profile: Option<String>,
    /// Its version, as the first run says.
    pub version: Option<String>,
    /// The preloaded library of the first run.
    pub preload: Option<PreloadFacts>,
    /// Runs that count, over all lenses.
    pub runs: usize,
    /// Runs that do not: for warming up, or not played to an end.
    #[serde(rename = "not_counted")]
    pub left: usize,
    /// Why its idle windows prove nothing of what its garbage collector releases later, by the shortest one; `null` where
    /// they were long enough.
    pub too_short_for: Option<TooShortFor>,
    /// The lenses that it was looked at through.
    #[serde(skip)]
    pub lenses: Vec<LensFacts>,
}

/// A run that decides nothing: the server failed the scenario, or lost the process with most of its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Broken {
    /// Which server.
    pub role: Role,
    /// Its record.
    pub record: String,
    /// How it failed, or what it lost, in a few words.
    pub how: String,
    /// True if it was played to its end, but without the process that had held most of the memory.
    pub incomplete: bool,
}

/// A rule that decides and was not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnjudgedRule {
    pub rule: String,
    /// Runs that there are to judge it by.
    pub runs: usize,
    /// Runs that the first look takes.
    pub first: usize,
    /// True if no run of a side has the figure.
    pub unknown: bool,
}

impl UnjudgedRule {
    /// True if more runs would let the rule be judged; otherwise a figure of it is not known.
    pub fn is_too_few(&self) -> bool {
        self.runs < self.first && !self.unknown
    }
}

/// What the runs say to a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    #[serde(flatten)]
    pub rule: Rule,
    /// The figure in each run that counts.
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// How many runs that rests on.
    #[serde(skip)]
    pub basis: Basis,
    #[serde(flatten)]
    pub verdict: EndpointVerdict,
    /// Growth at the figure's checkpoint, which leaves a lower bound of the candidate's figure.
    #[serde(skip)]
    pub still_growing: Option<StillGrowing>,
    /// Runs of each side that would probably decide it, where it is not; `None` when no sensible number would.
    #[serde(rename = "runs_needed")]
    pub needed: Option<usize>,
}

impl Judged {
    /// True if no run of a side has the figure, so that more runs would not have it either.
    pub fn is_unknown(&self) -> bool {
        lacks_figure(&self.endpoint.baseline) || lacks_figure(&self.endpoint.candidate)
    }
}

/// True if there are runs of a side, and none has the figure.
fn lacks_figure(side: &[Seen]) -> bool {
    !side.is_empty() && side.iter().all(|seen| seen.value.is_none())
}

/// The candidate against one of the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// Which.
    #[serde(rename = "server")]
    pub role: Role,
    /// What the endpoints that decide say together.
    pub answer: Answer,
    /// Runs of each side at the last look that was needed, those alone that decide; `None` before the first.
    pub look: Option<usize>,
    /// Whether more runs would change none of the answers that decide.
    #[serde(skip)]
    pub settled: bool,
    /// The rules that decide.
    #[serde(rename = "rules")]
    pub primaries: Vec<Judged>,
    /// Advisory results.
    #[serde(rename = "advice")]
    pub advisory: Vec<Judged>,
    /// Work that was not done alike.
    pub work: Vec<Inequality>,
    /// What huge pages do to the difference through the lens that decides, where that is more than a little.
    #[serde(skip)]
    pub huge_pages: Option<HugePages>,
    /// Whether each side was run on one machine of its own, so that what differs may be the machine's.
    pub apart: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kept {
    #[serde(flatten)]
    pub limit: Limit,
    /// Where the least noise that is believed comes from.
    pub known: Known,
    /// How many runs of the candidate the verdict rests on.
    #[serde(flatten)]
    pub basis: Basis,
    #[serde(flatten)]
    pub verdict: BudgetVerdict,
    /// As in [`Judged`].
    #[serde(skip)]
    pub still_growing: Option<StillGrowing>,
}

/// What a gate says, with everything that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The scenario's name.
    pub scenario: String,
    /// The lens that decides where a rule names none.
    pub lens: Lens,
    /// The servers: the baseline unless the candidate is judged alone, the candidate, and the anchor if there is one.
    #[serde(rename = "servers")]
    pub parties: Vec<Party>,
    /// Runs that a server failed, or in which it lost the process with most of its memory: nothing is decided then.
    pub broken: Vec<Broken>,
    /// Crashes, unrest and other things that give the figures of a side another meaning, a sentence each.
    pub headlines: Vec<String>,
    /// Resident peaks that were measured beside the rules, against each other side.
    pub peaks: Vec<Peaks>,
    /// Circumstances that are not the same in all runs.
    pub differences: Vec<Difference>,
    /// What about the machines makes figures less sure.
    #[serde(skip)]
    pub strains: Vec<StrainedRuns>,
    /// The candidate against the baseline, and against the anchor if there is one; empty if it is judged alone.
    pub against: Vec<Against>,
    /// Absolute limits.
    pub budgets: Vec<Kept>,
    /// Growth, where it is looked at.
    #[serde(rename = "growth")]
    pub leaks: Vec<Leaking>,
    /// Rules that decide and were not judged: too few runs for a look, or a figure that was never measured.
    #[serde(skip)]
    pub missing: Vec<UnjudgedRule>,
    /// Whether more runs would change nothing: every rule that decides has its answer, or data that no more runs mend.
    #[serde(skip)]
    pub settled: bool,
    #[serde(skip)]
    pub answer: Answer,
}

impl Judgement {
    /// Work that the candidate did less of than another side: its memory is no merit then.
    pub fn less_work(&self) -> impl Iterator<Item = (Role, &Inequality)> {
        self.against
            .iter()
            .flat_map(|against| against.work.iter().map(|work| (against.role, work)))
            .filter(|(_, work)| work.less)
    }

    /// True if there is no baseline, so that only budgets and growth decide.
    pub fn is_alone(&self) -> bool {
        self.parties.iter().all(|party| party.role != Role::Baseline)
    }

    /// True if nothing is decided, because a server failed or did less work.
    pub fn is_refused(&self) -> bool {
        !self.broken.is_empty() || self.less_work().next().is_some()
    }

    /// True if nothing that decides can be known, however many runs there are.
    pub fn is_hopeless(&self) -> bool {
        let rules: Vec<&Judged> = self.against.iter().flat_map(|against| &against.primaries).collect();
        let only_compares = !rules.is_empty() && self.budgets.is_empty() && self.leaks.is_empty();
        only_compares && rules.iter().all(|rule| rule.is_unknown())
    }

    /// True if more runs are worth nothing: also after a FAIL everything else that decides is to have its answer.
    pub fn is_final(&self) -> bool {
        self.is_refused() || self.settled
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self.answer {
            _ if self.is_refused() => Exit::ServerFailed,
            Answer::Fail => Exit::GateFailed,
            Answer::Inconclusive if !self.missing.is_empty() => Exit::OwnFailure,
            Answer::Inconclusive => Exit::Inconclusive,
            Answer::Pass => Exit::Passed,
        }
    }
}
