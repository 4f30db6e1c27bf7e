//! Calibrations: the noise of each figure between runs of one server, and the smallest change that it lets a gate see.

use crate::compare::{Comparison, Row, primary};
use crate::figures::{Figure, Measure, MeasuredPart, Unit};
use base::band::{NoiseFloor, tolerance};
use base::lens::Lens;
use record::{Calibration, Noise};
use stats::Schedule;
use stats::{Arm, Known, detectable, power, runs_needed};

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
    let endpoints = primary(comparison, 0, lens, &|measure| (measure.figure.noise(), Known::Seen));
    let mut decisive: Vec<String> = endpoints.into_iter().map(|endpoint| endpoint.name).collect();
    // A gate decides by the peak as shipped only.
    decisive.retain(|name| lens == Lens::AsShipped || *name != Figure::Peak.name());
    let mut noise = Vec::new();
    for figure in FIGURES {
        // Runs that are played at once take time from each other.
        if comparison.is_shared() && figure.is_time() {
            continue;
        }
        for row in &comparison.rows {
            if row.measure.figure == figure {
                noise.extend(noise_of_row(row, side, &decisive));
            }
        }
    }
    noise
}

fn noise_of_row(row: &Row, side: usize, decisive: &[String]) -> Option<Noise> {
    let arm = Arm::of_runs(&row.cells.get(side)?.values).ok()?;
    let figure = row.measure.figure;
    let endpoint = match &row.measure.place {
        MeasuredPart::Phase { .. } | MeasuredPart::Run => format!("{}{}", figure.name(), row.measure.place.suffix()),
        MeasuredPart::Method(_) | MeasuredPart::Window(_) | MeasuredPart::Printed(_) => String::new(),
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

/// Runs of a server's calibrations, on one machine, from which on they tell a gate of groups: a group of a fifth of all runs
/// is in none of 12 once in fourteen times.
pub const LEAST_RUNS: u64 = 12;

/// A calibration that holds for some runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicableCalibration {
    pub calibration: Calibration,
    /// True if it is of another version of their server.
    pub is_other_version: bool,
}

/// Several calibrations of one server through one lens as one, the first of them named: the squares of the spreads are
/// weighted by degrees of freedom. A figure has to be in each. `None` without calibrations.
pub fn pooled(calibrations: &[Calibration]) -> Option<Calibration> {
    let mut pooled = calibrations.first()?.clone();
    pooled.runs = calibrations.iter().map(|calibration| calibration.runs).sum();
    let mut noise = Vec::new();
    for mut figure in pooled.noise {
        let weighted = weighted_noise(calibrations, &figure);
        if weighted.len() == calibrations.len() {
            figure.variation = mean_square(&weighted, |noise| noise.variation);
            figure.believed = mean_square(&weighted, |noise| noise.believed);
            noise.push(figure);
        }
    }
    pooled.noise = noise;
    Some(pooled)
}

/// The noise of a figure in each calibration that has it, after the degrees of freedom of that calibration.
fn weighted_noise<'c>(calibrations: &'c [Calibration], figure: &Noise) -> Vec<(f64, &'c Noise)> {
    let mut weighted = Vec::new();
    for calibration in calibrations {
        let same_figure = calibration
            .noise
            .iter()
            .find(|noise| noise.figure == figure.figure && noise.place == figure.place);
        if let Some(noise) = same_figure {
            weighted.push((calibration.runs.saturating_sub(1) as f64, noise));
        }
    }
    weighted
}

fn mean_square(weighted: &[(f64, &Noise)], value: fn(&Noise) -> f64) -> f64 {
    let freedom: f64 = weighted.iter().map(|(freedom, _)| freedom).sum();
    let squares: f64 = weighted
        .iter()
        .map(|(freedom, noise)| freedom * value(noise).powi(2))
        .sum();
    (squares / freedom).sqrt()
}

/// The least noise that is believed of a figure on either side, no less than `floor`, and where that comes from: from
/// calibrations only if both sides have enough of them, for one that has none may have groups that its runs do not show.
pub fn believed_noise_floor(
    measure: &Measure,
    floor: NoiseFloor,
    lens: Lens,
    sides: [&[ApplicableCalibration]; 2],
) -> (NoiseFloor, Known) {
    let [baseline, candidate] = sides.map(|side| calibrated_spread(measure, lens, side));
    let known = match (&baseline, &candidate) {
        (Some(one), Some(other)) if one.is_other_version || other.is_other_version => Known::OtherVersion,
        (Some(_), Some(_)) => Known::Calibrated,
        (None, _) | (_, None) => Known::Seen,
    };
    let spreads = baseline.into_iter().chain(candidate).map(|spread| spread.believed);
    (floor.at_least(spreads.fold(0.0, f64::max)), known)
}

/// The spread of a figure in the calibrations of a side.
#[derive(Default)]
struct Spread {
    believed: f64,
    /// True if any of the calibrations is of another version of the server.
    is_other_version: bool,
}

/// The spread of a figure in the calibrations of a side through a lens; `None` without calibrations, or if one of them
/// lacks the figure or has too few runs.
fn calibrated_spread(measure: &Measure, lens: Lens, side: &[ApplicableCalibration]) -> Option<Spread> {
    let mut spread: Option<Spread> = None;
    for held in side {
        let calibration = &held.calibration;
        if calibration.lens != lens {
            continue;
        }
        if calibration.runs < LEAST_RUNS {
            return None;
        }
        let noise = calibration
            .noise
            .iter()
            .find(|noise| noise.figure == measure.figure.name() && noise.place == measure.place.name())?;
        // On several machines there is one calibration of each, and the noisiest counts.
        let spread = spread.get_or_insert_default();
        spread.believed = spread.believed.max(noise.believed);
        spread.is_other_version |= held.is_other_version;
    }
    spread
}

/// A figure that was calibrated, in comparisons through a lens.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'n> {
    pub noise: &'n Noise,
    pub lens: Lens,
    pub decisive: usize,
    /// True if both sides are calibrated, by enough runs.
    pub both_calibrated: bool,
}

impl<'n> Calibrated<'n> {
    pub fn all(calibration: &'n Calibration, both_calibrated: bool) -> impl Iterator<Item = Calibrated<'n>> {
        let decisive = calibration.noise.iter().filter(|noise| noise.primary).count();
        let lens = calibration.lens;
        let both_calibrated = both_calibrated && calibration.runs >= LEAST_RUNS;
        calibration.noise.iter().map(move |noise| Calibrated {
            noise,
            lens,
            decisive,
            both_calibrated,
        })
    }

    /// The least difference that `runs` of each side show at the one-sided level `alpha`: to be more than is tolerated, at
    /// the share of α that Holm's procedure leaves the first of the figures that decide.
    pub fn detectable_difference(&self, runs: usize, alpha: f64) -> Option<f64> {
        if runs < self.noise_source().least_to_decide() {
            return None;
        }
        let usual = tolerance(self.lens);
        let tolerated = usual.tol().max(self.floor());
        let share = if self.noise.primary { self.decisive as f64 } else { 1.0 };
        let beyond = detectable(self.noise.believed, runs, alpha / share, WANTED, self.noise.believed)?;
        Some((1.0 + tolerated) * (1.0 + beyond) - 1.0)
    }

    /// The largest difference that never matters, as a share.
    fn floor(&self) -> f64 {
        if self.is_memory() {
            tolerance(self.lens).floor() / self.noise.mean
        } else {
            0.0
        }
    }

    fn is_memory(&self) -> bool {
        Figure::from_name(&self.noise.figure).is_some_and(|figure| figure.unit() == Unit::Bytes)
    }

    /// The growth to rule out for a pass: the share, or the floor if that is more.
    fn ruled_out(&self) -> f64 {
        tolerance(self.lens).fail().max(self.floor())
    }

    fn noise_source(&self) -> Known {
        if self.both_calibrated {
            Known::Calibrated
        } else {
            Known::Seen
        }
    }

    fn passes(&self, runs: usize, alpha: f64) -> bool {
        let believed = self.noise.believed;
        let chance = power(self.ruled_out(), believed, runs, alpha, believed);
        runs >= self.noise_source().least_to_decide() && chance.is_some_and(|chance| chance >= WANTED)
    }

    /// The number of runs by which an unchanged server passes with the wanted chance.
    fn needed_runs(&self, alpha: f64) -> Option<usize> {
        let believed = self.noise.believed;
        let runs = runs_needed(believed, self.ruled_out(), alpha, WANTED, believed)?;
        Some(runs.max(self.noise_source().least_to_decide()))
    }
}

/// The first look after which an unchanged server passes by every figure that decides, each with the wanted chance;
/// `None` where none is late enough, or nothing decides.
pub fn recommended_runs<'n>(figures: impl Iterator<Item = Calibrated<'n>>, looks: &Schedule) -> Option<usize> {
    let decisive: Vec<Calibrated> = figures.filter(|figure| figure.noise.primary).collect();
    if decisive.is_empty() {
        return None;
    }
    let alpha = looks.alpha_each();
    looks
        .runs()
        .iter()
        .copied()
        .find(|runs| decisive.iter().all(|figure| figure.passes(*runs, alpha)))
}

/// The number of runs that one look takes to decide by every figure; `None` where no number is enough.
pub fn runs_needed_by_all<'n>(figures: impl Iterator<Item = Calibrated<'n>>, alpha: f64) -> Option<usize> {
    let mut most = None;
    for figure in figures.filter(|figure| figure.noise.primary) {
        most = most.max(Some(figure.needed_runs(alpha)?));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    const MIB: f64 = 1_048_576.0;

    fn private_noise(variation: f64) -> Noise {
        Noise {
            place: "decay".to_owned(),
            figure: "private".to_owned(),
            primary: true,
            mean: 200.0 * MIB,
            variation,
            believed: variation.max(0.001),
        }
    }

    fn calibrated(noise: &Noise, lens: Lens, both_calibrated: bool) -> Calibrated<'_> {
        Calibrated {
            noise,
            lens,
            decisive: 1,
            both_calibrated,
        }
    }

    fn looks(noise: &[Noise], lens: Lens, both_calibrated: bool) -> Option<usize> {
        recommended_runs(
            noise.iter().map(|noise| calibrated(noise, lens, both_calibrated)),
            &Schedule::default(),
        )
    }

    #[test]
    fn a_quiet_server_needs_the_first_look_and_a_noisy_one_a_later_one() {
        assert_eq!(looks(&[private_noise(0.001)], Lens::AsShipped, true), Some(3));
        assert_eq!(
            looks(&[private_noise(0.04), private_noise(0.001)], Lens::AsShipped, true),
            Some(8)
        );
        assert_eq!(looks(&[private_noise(0.02)], Lens::Purged, true), Some(8));
        assert_eq!(looks(&[private_noise(0.30)], Lens::AsShipped, true), None);
        let loud = private_noise(0.30);
        let runs = runs_needed_by_all([calibrated(&loud, Lens::AsShipped, true)].into_iter(), 0.05);
        assert!(runs.is_some_and(|runs| runs > 50));
    }

    #[test]
    fn nothing_is_recommended_before_five_runs_where_the_other_side_is_not_calibrated() {
        assert_eq!(looks(&[private_noise(0.001)], Lens::AsShipped, false), Some(5));
        assert_eq!(looks(&[private_noise(0.001)], Lens::Purged, false), Some(5));
        let quiet = private_noise(0.001);
        let runs = runs_needed_by_all([calibrated(&quiet, Lens::AsShipped, false)].into_iter(), 0.05);
        assert_eq!(runs, Some(5));
        assert_eq!(
            calibrated(&quiet, Lens::Purged, false).detectable_difference(3, 0.0125),
            None
        );
    }

    #[test]
    fn a_calibration_of_few_runs_lets_no_gate_decide_earlier() {
        for (runs, first_look) in [(6, 5), (12, 3)] {
            let calibration = Calibration {
                noise: vec![private_noise(0.001)],
                runs,
                ..calibration(Lens::Purged)
            };
            let figures = Calibrated::all(&calibration, true);
            assert_eq!(recommended_runs(figures, &Schedule::default()), Some(first_look));
        }
    }

    #[test]
    fn where_nothing_decides_nothing_is_recommended() {
        let mut aside = private_noise(0.001);
        aside.primary = false;
        assert_eq!(looks(&[aside], Lens::AsShipped, true), None);
        assert_eq!(looks(&[], Lens::AsShipped, true), None);
    }

    #[test]
    fn more_runs_see_less() {
        let noise = private_noise(0.05);
        let figure = calibrated(&noise, Lens::AsShipped, true);
        let [three, five, twelve] = [3, 5, 12].map(|runs| figure.detectable_difference(runs, 0.0125));
        assert!(three > five && five > twelve);
        assert_eq!(figure.detectable_difference(1, 0.0125), None);
    }

    #[test]
    fn what_is_seen_is_more_than_what_is_tolerated() {
        let mut noise = private_noise(0.0001);
        assert!(least_of_twelve(&noise, Lens::Purged) > 0.01 && least_of_twelve(&noise, Lens::Purged) < 0.013);
        assert!(least_of_twelve(&noise, Lens::AsShipped) > 0.05 && least_of_twelve(&noise, Lens::AsShipped) < 0.053);
        // 2 MiB never matter, and of 20 MiB they are 10 %.
        noise.mean = 20.0 * MIB;
        assert!(least_of_twelve(&noise, Lens::Purged) > 0.10);
        noise.figure = "cpu".to_owned();
        noise.mean = 2e9;
        assert!(least_of_twelve(&noise, Lens::Purged) < 0.013);
    }

    /// The least difference that twelve runs of each side show.
    fn least_of_twelve(noise: &Noise, lens: Lens) -> f64 {
        calibrated(noise, lens, true).detectable_difference(12, 0.0125).unwrap()
    }

    #[test]
    fn a_spread_is_that_of_enough_calibration_runs_on_both_sides_or_left_to_the_runs() {
        let quiet = [held_peak(0.002, 12, false)];
        let loud = [held_peak(0.08, 12, false)];
        let few = [held_peak(0.002, 11, false)];
        let other = [held_peak(0.003, 12, true)];
        for (sides, expected) in [
            ([&quiet[..], &quiet], (2.0, Known::Calibrated)),
            ([&quiet, &loud], (80.0, Known::Calibrated)),
            ([&quiet, &other], (3.0, Known::OtherVersion)),
            ([&quiet, &[]], (2.0, Known::Seen)),
            ([&quiet, &few], (2.0, Known::Seen)),
            ([&[], &loud], (80.0, Known::Seen)),
        ] {
            let (floor, known) = believed_noise_floor(&PEAK, Figure::Peak.noise(), Lens::AsShipped, sides);
            assert_eq!(((floor.relative * 1e3).round(), known), expected);
        }
        // As-shipped calibrations do not hold for the purged lens, whose peaks vary as much.
        let (floor, known) = believed_noise_floor(&PEAK, Figure::Peak.noise(), Lens::Purged, [&loud, &loud]);
        assert_eq!((floor.relative, known), (0.001, Known::Seen));
    }

    const PEAK: Measure = Measure {
        place: MeasuredPart::Run,
        figure: Figure::Peak,
    };

    /// An as-shipped calibration of the peak of whole runs.
    fn held_peak(variation: f64, runs: u64, is_other_version: bool) -> ApplicableCalibration {
        ApplicableCalibration {
            calibration: Calibration {
                noise: vec![Noise {
                    place: "whole run".to_owned(),
                    figure: "peak".to_owned(),
                    ..private_noise(variation)
                }],
                runs,
                ..calibration(Lens::AsShipped)
            },
            is_other_version,
        }
    }

    #[test]
    fn calibrations_of_one_server_are_pooled() {
        let mut third = calibration_with_peak(0.002, 5);
        third.noise.truncate(1);
        let all = pooled(&[calibration_with_peak(0.01, 3), calibration_with_peak(0.02, 4), third]).unwrap();
        assert_eq!((all.runs, all.noise.len()), (12, 1), "peaks are not in each");
        // (2·0.01² + 3·0.02² + 4·0.002²) / 9.
        let expected = ((2.0 * 1e-4 + 3.0 * 4e-4 + 4.0 * 4e-6) / 9.0_f64).sqrt();
        assert!((all.noise[0].variation - expected).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
    }

    /// A purged calibration of private memory with this variation, and of the peak.
    fn calibration_with_peak(variation: f64, runs: u64) -> Calibration {
        let peak = Noise {
            figure: "peak".to_owned(),
            ..private_noise(0.01)
        };
        Calibration {
            noise: vec![private_noise(variation), peak],
            runs,
            ..calibration(Lens::Purged)
        }
    }

    #[test]
    fn processor_time_in_nanoseconds_is_calibrated_without_ticks() {
        assert_eq!(believed_cpu_noise(20_000_010), 0.001);
        assert!(
            believed_cpu_noise(20_000_000) > 0.4,
            "it may have been counted in ticks"
        );
    }

    /// The noise that is believed of the processor time of six runs, each of which took so many nanoseconds.
    fn believed_cpu_noise(nanos: u64) -> f64 {
        let mut runs: Vec<_> = (1..=6).map(|number| crate::golden::run("a", number, 100)).collect();
        for run in &mut runs {
            run.summary_mut().processes.programs.truncate(1);
            run.summary_mut().processes.programs[0].cpu = Some(nanos);
        }
        let all = noise(&compare(&runs, None), 0, Lens::AsShipped);
        let cpu = all
            .iter()
            .find(|noise| noise.figure == "cpu" && noise.place == "whole run");
        cpu.unwrap().believed
    }

    #[test]
    fn the_figures_that_decide_are_those_of_a_gate_through_the_lens() {
        let runs: Vec<_> = (1..=6).map(|number| crate::golden::run("a", number, 100)).collect();
        for (lens, expected) in [
            (Lens::Purged, &["private"][..]),
            (Lens::AsShipped, &["private", "peak"]),
        ] {
            let all = noise(&compare(&runs, None), 0, lens);
            let deciding: Vec<String> = all
                .into_iter()
                .filter(|noise| noise.primary)
                .map(|noise| noise.figure)
                .collect();
            assert_eq!(deciding, expected);
        }
    }

    fn calibration(lens: Lens) -> Calibration {
        Calibration {
            format: record::CALIBRATION_FORMAT,
            tool: String::new(),
            made: String::new(),
            scenario: String::new(),
            server: String::new(),
            profile: None,
            lens,
            circumstances: std::collections::BTreeMap::new(),
            runs: 6,
            started: Vec::new(),
            noise: Vec::new(),
            recommended_runs: None,
        }
    }
}
