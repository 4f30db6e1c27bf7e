//! Calibrations: the noise of each figure between runs of one server, and the smallest change that it lets a gate see.

use crate::band::{NoiseFloor, tolerance};
use crate::compare::{Comparison, Row, primary};
use crate::figures::{Figure, Measure, Place, Unit};
use crate::lens::Lens;
use crate::record::{Calibration, Noise, Schedule};
use crate::stats::{ASSUMED_VARIATION, Arm, Known, detectable, power, runs_needed};
use crate::summary::decay::{Window, WindowKind};
use crate::summary::{PhaseSummary, Summary};

/// The chance with which an effect is to be shown.
pub const WANTED: f64 = 0.8;

/// Figures that are calibrated, in the order of tables.
const FIGURES: [Figure; 6] = [
    Figure::Private,
    Figure::Peak,
    Figure::Live,
    Figure::Cpu,
    Figure::P50,
    Figure::P95,
];

/// The noise of every figure of a side that all its runs have.
pub fn noise(comparison: &Comparison, side: usize, lens: Lens) -> Vec<Noise> {
    let seen = |measure: &Measure| (measure.figure.noise(), Known::Seen);
    let decisive: Vec<String> = primary(comparison, 0, lens, &seen)
        .into_iter()
        .map(|endpoint| endpoint.name)
        .collect();
    let of_figure = |figure: Figure| comparison.rows.iter().filter(move |row| row.measure.figure == figure);
    // Runs that are played at once take time from each other.
    let figures = FIGURES
        .into_iter()
        .filter(|figure| !(comparison.is_shared() && figure.is_time()));
    let rows = figures.flat_map(of_figure);
    rows.filter_map(|row| of_row(row, side, &decisive)).collect()
}

fn of_row(row: &Row, side: usize, decisive: &[String]) -> Option<Noise> {
    let arm = Arm::of_runs(&row.cells.get(side)?.values).ok()?;
    let figure = row.measure.figure;
    let endpoint = match &row.measure.place {
        Place::Phase { .. } | Place::Run => format!("{}{}", figure.name(), row.measure.place.suffix()),
        Place::Method(_) | Place::Window(_) | Place::Printed(_) => String::new(),
    };
    let (mean, variation) = (arm.geometric_mean(), arm.variation());
    let NoiseFloor { relative, absolute } = figure.noise_of(arm.values().iter().copied());
    Some(Noise {
        place: row.measure.place.name().to_owned(),
        figure: figure.name().to_owned(),
        primary: decisive.contains(&endpoint),
        mean,
        variation,
        believed: variation.max(relative).max(absolute / mean),
    })
}

/// The name of the step that closes documents.
const CLOSE: &str = "close";

/// The noise of a figure if not both sides are calibrated. Purging removes groups from memory in a last phase of idle windows,
/// played or left out, alone or after documents are closed, and what is live has none. Peaks, and memory right after work, can still form groups.
pub fn uncalibrated<'r>(measure: &Measure, lens: Lens, runs: impl IntoIterator<Item = &'r Summary>) -> Known {
    let is_quiet = |run: &Summary| {
        let last = run.header.scenario.phases.len().checked_sub(1);
        let is_last = |number: u32| {
            Some(number as usize) == last && matches!(measure.place, Place::Phase { number: of, .. } if of == number)
        };
        let idle = |window: &Window| {
            !window.control
                && matches!(window.kind, WindowKind::Silent | WindowKind::Simmer)
                && is_last(window.phase.phase)
        };
        let empty =
            |phase: &PhaseSummary| phase.steps.iter().all(|step| step.name == CLOSE) && is_last(phase.phase.phase);
        let left_out = run.header.server.lens.without_windows && run.phases.iter().any(empty);
        // What a collector gives back, and when, is up to its server.
        let is_collected = run.header.server.lens.collected_by.is_some();
        !is_collected && (left_out || run.windows.iter().any(idle))
    };
    match (lens, measure.figure) {
        (Lens::Purged, Figure::Live) => Known::Seen,
        (Lens::Purged, Figure::Private) if runs.into_iter().all(is_quiet) => Known::Seen,
        _ => Known::Assumed,
    }
}

/// The least noise that is believed of a figure on either side, no less than `floor`, and where that comes from, by what
/// each side's calibrations say. One that was not calibrated may have groups that its runs do not show, whatever the other
/// has: `otherwise` says whether that matters.
pub fn believed(
    measure: &Measure,
    floor: NoiseFloor,
    otherwise: Known,
    lens: Lens,
    sides: [&[Calibration]; 2],
) -> (NoiseFloor, Known) {
    let calibrated = |side: &[Calibration]| {
        let through = side.iter().filter(|one| one.lens == lens);
        let spreads = through.map(|one| {
            let same = |noise: &&Noise| noise.figure == measure.figure.name() && noise.place == measure.place.name();
            one.noise.iter().find(same).map(|noise| noise.believed)
        });
        // On several machines there is one of each, and the noisiest counts.
        spreads.reduce(|one, other| Some(one?.max(other?))).flatten()
    };
    let [baseline, candidate] = sides.map(calibrated);
    let known = match (baseline, candidate) {
        (Some(_), Some(_)) => Known::Calibrated,
        _ => otherwise,
    };
    let spreads = baseline
        .into_iter()
        .chain(candidate)
        .chain(assumed(measure.figure, known));
    (floor.at_least(spreads.fold(0.0, f64::max)), known)
}

/// The spread that is assumed of a figure. Groups are made by allocators, so that time has none.
fn assumed(figure: Figure, known: Known) -> Option<f64> {
    (known == Known::Assumed && figure.unit() == Unit::Bytes).then_some(ASSUMED_VARIATION)
}

/// A figure that was calibrated, in comparisons through a lens.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'n> {
    pub noise: &'n Noise,
    pub lens: Lens,
    pub decisive: usize,
    /// Whether the other side is calibrated too; otherwise the assumption holds for both.
    pub both: bool,
}

impl<'n> Calibrated<'n> {
    pub fn all(calibration: &'n Calibration, both: bool) -> impl Iterator<Item = Calibrated<'n>> {
        let decisive = calibration.noise.iter().filter(|one| one.primary).count();
        let lens = calibration.lens;
        calibration.noise.iter().map(move |noise| Calibrated {
            noise,
            lens,
            decisive,
            both,
        })
    }

    /// The least difference that `runs` of each side show at the one-sided level `alpha`: to be more than is tolerated, at
    /// the share of α that Holm's procedure leaves the first of the figures that decide.
    pub fn least(&self, runs: usize, alpha: f64) -> Option<f64> {
        let usual = tolerance(self.lens);
        let tolerated = usual.tol().max(self.floor());
        let share = if self.noise.primary { self.decisive as f64 } else { 1.0 };
        let beyond = detectable(self.noise.believed, runs, alpha / share, WANTED, self.believed())?;
        Some((1.0 + tolerated) * (1.0 + beyond) - 1.0)
    }

    /// Whether a comparison assumes its spread, or a part of it: see [`uncalibrated`].
    pub fn is_assumed(&self) -> bool {
        // Of private memory that at the end decides, which an idle window precedes.
        let of_memory = [Figure::Private, Figure::Live].map(Figure::name);
        let is_quiet =
            self.lens == Lens::Purged && self.noise.primary && of_memory.contains(&self.noise.figure.as_str());
        !self.both && !is_quiet
    }

    /// What never matters, as a share.
    fn floor(&self) -> f64 {
        match self.is_memory() {
            true => tolerance(self.lens).floor() / self.noise.mean,
            false => 0.0,
        }
    }

    fn is_memory(&self) -> bool {
        Figure::named(&self.noise.figure).is_some_and(|figure| figure.unit() == Unit::Bytes)
    }

    /// The least spread that a comparison will believe.
    fn believed(&self) -> f64 {
        match self.is_assumed() && self.is_memory() {
            true => self.noise.believed.max(ASSUMED_VARIATION),
            false => self.noise.believed,
        }
    }

    /// The growth to rule out for a pass: the share, or the floor if that is more.
    fn ruled_out(&self) -> f64 {
        tolerance(self.lens).fail().max(self.floor())
    }

    fn known(&self) -> Known {
        match self.is_assumed() {
            true => Known::Assumed,
            false => Known::Calibrated,
        }
    }

    fn passes(&self, runs: usize, alpha: f64) -> bool {
        let chance = power(self.ruled_out(), self.noise.believed, runs, alpha, self.believed());
        runs >= self.known().least_to_pass() && chance.is_some_and(|chance| chance >= WANTED)
    }
}

/// The first look after which an unchanged server passes by every figure that decides, each with the wanted chance;
/// `None` where none is late enough, or nothing decides.
pub fn recommended<'n>(figures: impl Iterator<Item = Calibrated<'n>>, looks: &Schedule) -> Option<usize> {
    let decisive: Vec<Calibrated> = figures.filter(|one| one.noise.primary).collect();
    let enough = |runs: &usize| decisive.iter().all(|one| one.passes(*runs, looks.alpha_each()));
    looks
        .runs()
        .iter()
        .copied()
        .find(enough)
        .filter(|_| !decisive.is_empty())
}

/// How many runs it would take at one look; `None` where no number is enough.
pub fn needed<'n>(figures: impl Iterator<Item = Calibrated<'n>>, alpha: f64) -> Option<usize> {
    let each = |one: Calibrated| {
        let runs = runs_needed(one.noise.believed, one.ruled_out(), alpha, WANTED, one.believed())?;
        Some(runs.max(one.known().least_to_pass()))
    };
    let decisive = figures.filter(|one| one.noise.primary);
    decisive.map(each).collect::<Option<Vec<usize>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    const MIB: f64 = 1_048_576.0;

    fn of(variation: f64) -> Noise {
        Noise {
            place: "decay".to_owned(),
            figure: "private".to_owned(),
            primary: true,
            mean: 200.0 * MIB,
            variation,
            believed: variation.max(0.001),
        }
    }

    fn seen(noise: &Noise, lens: Lens, both: bool) -> Calibrated<'_> {
        Calibrated {
            noise,
            lens,
            decisive: 1,
            both,
        }
    }

    fn looks(noise: &[Noise], lens: Lens, both: bool) -> Option<usize> {
        recommended(noise.iter().map(|noise| seen(noise, lens, both)), &Schedule::default())
    }

    #[test]
    fn a_quiet_server_needs_the_first_look_and_a_noisy_one_a_later_one() {
        assert_eq!(looks(&[of(0.001)], Lens::AsShipped, true), Some(3));
        assert_eq!(looks(&[of(0.04), of(0.001)], Lens::AsShipped, true), Some(8));
        assert_eq!(looks(&[of(0.02)], Lens::Purged, true), Some(8));
        assert_eq!(looks(&[of(0.30)], Lens::AsShipped, true), None);
        let loud = of(0.30);
        let runs = needed([seen(&loud, Lens::AsShipped, true)].into_iter(), 0.05);
        assert!(runs.is_some_and(|runs| runs > 50));
    }

    #[test]
    fn as_shipped_a_quiet_server_needs_five_runs_where_the_other_side_is_not_calibrated() {
        assert_eq!(looks(&[of(0.001)], Lens::AsShipped, false), Some(5));
        assert_eq!(looks(&[of(0.001)], Lens::Purged, false), Some(3));
        let quiet = of(0.001);
        let runs = needed([seen(&quiet, Lens::AsShipped, false)].into_iter(), 0.05);
        assert_eq!(runs, Some(5));
    }

    #[test]
    fn where_nothing_decides_nothing_is_recommended() {
        let mut aside = of(0.001);
        aside.primary = false;
        assert_eq!(looks(&[aside], Lens::AsShipped, true), None);
        assert_eq!(looks(&[], Lens::AsShipped, true), None);
    }

    #[test]
    fn more_runs_see_less() {
        let noise = of(0.05);
        let least = |runs| seen(&noise, Lens::AsShipped, true).least(runs, 0.0125);
        assert!(least(3) > least(5) && least(5) > least(12));
        assert_eq!(least(1), None);
    }

    #[test]
    fn what_is_seen_is_more_than_what_is_tolerated() {
        let mut noise = of(0.0001);
        let least = |noise: &Noise, lens| seen(noise, lens, true).least(12, 0.0125).unwrap();
        assert!(least(&noise, Lens::Purged) > 0.01 && least(&noise, Lens::Purged) < 0.013);
        assert!(least(&noise, Lens::AsShipped) > 0.05 && least(&noise, Lens::AsShipped) < 0.053);
        // 2 MiB never matter, and of 20 MiB they are 10 %.
        noise.mean = 20.0 * MIB;
        assert!(least(&noise, Lens::Purged) > 0.10);
        noise.figure = "cpu".to_owned();
        noise.mean = 2e9;
        assert!(least(&noise, Lens::Purged) < 0.013);
    }

    #[test]
    fn a_spread_is_calibrated_on_both_sides_or_assumed_or_left_to_the_runs() {
        let measure = |figure| Measure {
            place: Place::Run,
            figure,
        };
        let one = |variation: f64| Calibration {
            noise: vec![Noise {
                place: "whole run".to_owned(),
                figure: "peak".to_owned(),
                ..of(variation)
            }],
            ..calibration(Lens::AsShipped)
        };
        let (quiet, loud) = ([one(0.002)], [one(0.08)]);
        let of = |figure, lens, sides| {
            let measure = measure(figure);
            let (floor, known) = believed(&measure, figure.noise(), uncalibrated(&measure, lens, []), lens, sides);
            ((floor.relative * 1e3).round(), known)
        };
        let peak = |sides| of(Figure::Peak, Lens::AsShipped, sides);
        assert_eq!(peak([&quiet, &quiet]), (2.0, Known::Calibrated));
        assert_eq!(peak([&quiet, &loud]), (80.0, Known::Calibrated));
        assert_eq!(peak([&quiet, &[]]), (50.0, Known::Assumed));
        assert_eq!(peak([&[], &loud]), (80.0, Known::Assumed));
        // As-shipped calibrations do not hold for the purged lens, whose peaks vary as much.
        assert_eq!(of(Figure::Peak, Lens::Purged, [&loud, &loud]), (50.0, Known::Assumed));
        assert_eq!(
            of(Figure::Cpu, Lens::AsShipped, [&quiet, &quiet]),
            (1.0, Known::Assumed)
        );
    }

    #[test]
    fn private_memory_beside_a_collector_is_as_loud_as_any_other_and_what_is_live_is_not() {
        let mut run = crate::compare::tests::run("a", 1, 100).summary;
        let last = run.phases.len() - 1;
        run.header.server.lens.without_windows = true;
        run.phases[last].steps.clear();
        let at = |figure| Measure {
            place: Place::result(&run).unwrap(),
            figure,
        };
        let (private, live) = (at(Figure::Private), at(Figure::Live));
        let known = |measure: &Measure, run: &Summary| uncalibrated(measure, Lens::Purged, [run]);
        assert_eq!(known(&private, &run), Known::Seen);
        // Scenarios close their documents before they idle.
        run.windows.clear();
        let mut step = run.phases.iter().find_map(|phase| phase.steps.first()).unwrap().clone();
        for (name, expected) in [(CLOSE, Known::Seen), ("hover", Known::Assumed)] {
            name.clone_into(&mut step.name);
            run.phases[last].steps = vec![step.clone()];
            assert_eq!(known(&private, &run), expected, "{name}");
        }
        run.phases[last].steps.clear();
        run.header.server.lens.collected_by = Some("gopls.mem_stats".to_owned());
        assert_eq!(known(&private, &run), Known::Assumed);
        assert_eq!(known(&live, &run), Known::Seen);
    }

    #[test]
    fn processor_time_in_nanoseconds_is_calibrated_without_ticks() {
        let believed = |nanos: u64| {
            let run = |number: u32| {
                let mut run = crate::compare::tests::run("a", number, 100);
                run.summary.programs.truncate(1);
                run.summary.programs[0].cpu = Some(nanos);
                run
            };
            let runs: Vec<_> = (1..=6).map(run).collect();
            let all = noise(&compare(&runs, None), 0, Lens::AsShipped);
            let cpu = all
                .iter()
                .find(|one| (one.figure.as_str(), one.place.as_str()) == ("cpu", "whole run"));
            cpu.unwrap().believed
        };
        assert_eq!(believed(20_000_010), 0.001);
        assert!(believed(20_000_000) > 0.4, "it may have been counted in ticks");
    }

    fn calibration(lens: Lens) -> Calibration {
        Calibration {
            format: crate::record::CALIBRATION_FORMAT,
            tool: String::new(),
            made: String::new(),
            scenario: String::new(),
            server: String::new(),
            lens,
            circumstances: std::collections::BTreeMap::new(),
            runs: 6,
            noise: Vec::new(),
            recommended_runs: None,
        }
    }
}
