//! Calibrations: the noise of each figure between runs of one server, and the smallest change that it lets a gate see.

use crate::compare::{Comparison, Row, primary};
use crate::figures::{Figure, Measure, Place, Unit};
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
    let seen = |measure: &Measure| (measure.figure.noise(), Known::Seen);
    let mut decisive: Vec<String> = primary(comparison, 0, lens, &seen)
        .into_iter()
        .map(|endpoint| endpoint.name)
        .collect();
    // A gate decides by the peak as shipped only.
    decisive.retain(|name| lens == Lens::AsShipped || *name != Figure::Peak.name());
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

/// Runs of a server's calibrations, on one machine, from which on they tell a gate of groups: a group of a fifth of all runs
/// is in none of 12 once in fourteen times.
pub const LEAST_RUNS: u64 = 12;

/// A calibration that holds for some runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub calibration: Calibration,
    /// True if it is of another version of their server.
    pub is_other_version: bool,
}

/// Several calibrations of one server through one lens as one, the first of them named: the squares of the spreads are
/// weighted by degrees of freedom. A figure has to be in each. `None` of none.
pub fn pooled(calibrations: &[Calibration]) -> Option<Calibration> {
    let mut all = calibrations.first()?.clone();
    all.runs = calibrations.iter().map(|one| one.runs).sum();
    let mut noise = Vec::new();
    for mut figure in all.noise {
        let same = |one: &Noise| one.figure == figure.figure && one.place == figure.place;
        let found = calibrations.iter().filter_map(|one| {
            let freedom = one.runs.saturating_sub(1) as f64;
            Some((freedom, one.noise.iter().find(|noise| same(noise))?))
        });
        let found: Vec<(f64, &Noise)> = found.collect();
        if found.len() == calibrations.len() {
            figure.variation = mean_square(&found, |noise| noise.variation);
            figure.believed = mean_square(&found, |noise| noise.believed);
            noise.push(figure);
        }
    }
    all.noise = noise;
    Some(all)
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
pub fn believed(measure: &Measure, floor: NoiseFloor, lens: Lens, sides: [&[Held]; 2]) -> (NoiseFloor, Known) {
    let calibrated = |side: &[Held]| {
        let through = side.iter().filter(|one| one.calibration.lens == lens);
        let spreads = through.map(|one| {
            let calibration = &one.calibration;
            let same = |noise: &&Noise| noise.figure == measure.figure.name() && noise.place == measure.place.name();
            let noise = calibration.noise.iter().find(same);
            if calibration.runs < LEAST_RUNS {
                return None;
            }
            noise.map(|noise| (noise.believed, one.is_other_version))
        });
        // On several machines there is one of each, and the noisiest counts.
        let noisier = |(one, is_one_other): (f64, bool), (other, is_other): (f64, bool)| {
            (one.max(other), is_one_other || is_other)
        };
        spreads.reduce(|one, other| Some(noisier(one?, other?))).flatten()
    };
    let [baseline, candidate] = sides.map(calibrated);
    let known = match (baseline, candidate) {
        (Some((_, false)), Some((_, false))) => Known::Calibrated,
        (Some(_), Some(_)) => Known::OtherVersion,
        _ => Known::Seen,
    };
    let spreads = baseline.into_iter().chain(candidate).map(|(spread, _)| spread);
    (floor.at_least(spreads.fold(0.0, f64::max)), known)
}

/// A figure that was calibrated, in comparisons through a lens.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'n> {
    pub noise: &'n Noise,
    pub lens: Lens,
    pub decisive: usize,
    /// True if both sides are calibrated, by enough runs.
    pub both: bool,
}

impl<'n> Calibrated<'n> {
    pub fn all(calibration: &'n Calibration, both: bool) -> impl Iterator<Item = Calibrated<'n>> {
        let decisive = calibration.noise.iter().filter(|one| one.primary).count();
        let lens = calibration.lens;
        let both = both && calibration.runs >= LEAST_RUNS;
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
        if runs < self.known().least_to_decide() {
            return None;
        }
        let usual = tolerance(self.lens);
        let tolerated = usual.tol().max(self.floor());
        let share = if self.noise.primary { self.decisive as f64 } else { 1.0 };
        let beyond = detectable(self.noise.believed, runs, alpha / share, WANTED, self.noise.believed)?;
        Some((1.0 + tolerated) * (1.0 + beyond) - 1.0)
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

    /// The growth to rule out for a pass: the share, or the floor if that is more.
    fn ruled_out(&self) -> f64 {
        tolerance(self.lens).fail().max(self.floor())
    }

    fn known(&self) -> Known {
        if self.both { Known::Calibrated } else { Known::Seen }
    }

    fn passes(&self, runs: usize, alpha: f64) -> bool {
        let believed = self.noise.believed;
        let chance = power(self.ruled_out(), believed, runs, alpha, believed);
        runs >= self.known().least_to_decide() && chance.is_some_and(|chance| chance >= WANTED)
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
        let runs = runs_needed(one.noise.believed, one.ruled_out(), alpha, WANTED, one.noise.believed)?;
        Some(runs.max(one.known().least_to_decide()))
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
    fn nothing_is_recommended_before_five_runs_where_the_other_side_is_not_calibrated() {
        assert_eq!(looks(&[of(0.001)], Lens::AsShipped, false), Some(5));
        assert_eq!(looks(&[of(0.001)], Lens::Purged, false), Some(5));
        let quiet = of(0.001);
        let runs = needed([seen(&quiet, Lens::AsShipped, false)].into_iter(), 0.05);
        assert_eq!(runs, Some(5));
        assert_eq!(seen(&quiet, Lens::Purged, false).least(3, 0.0125), None);
    }

    #[test]
    fn a_calibration_of_few_runs_lets_no_gate_decide_earlier() {
        let six = Calibration {
            noise: vec![of(0.001)],
            runs: 6,
            ..calibration(Lens::Purged)
        };
        let twelve = Calibration {
            runs: 12,
            ..six.clone()
        };
        let first = |one: &Calibration| recommended(Calibrated::all(one, true), &Schedule::default());
        assert_eq!((first(&six), first(&twelve)), (Some(5), Some(3)));
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
    fn a_spread_is_that_of_enough_calibration_runs_on_both_sides_or_left_to_the_runs() {
        let measure = Measure {
            place: Place::Run,
            figure: Figure::Peak,
        };
        let one = |variation: f64, runs: u64, is_other_version: bool| Held {
            calibration: Calibration {
                noise: vec![Noise {
                    place: "whole run".to_owned(),
                    figure: "peak".to_owned(),
                    ..of(variation)
                }],
                runs,
                ..calibration(Lens::AsShipped)
            },
            is_other_version,
        };
        let (quiet, loud, few) = ([one(0.002, 12, false)], [one(0.08, 12, false)], [one(0.002, 11, false)]);
        let other = [one(0.003, 12, true)];
        let peak = |sides| {
            let (floor, known) = believed(&measure, Figure::Peak.noise(), Lens::AsShipped, sides);
            ((floor.relative * 1e3).round(), known)
        };
        assert_eq!(peak([&quiet, &quiet]), (2.0, Known::Calibrated));
        assert_eq!(peak([&quiet, &loud]), (80.0, Known::Calibrated));
        assert_eq!(peak([&quiet, &other]), (3.0, Known::OtherVersion));
        assert_eq!(peak([&quiet, &[]]), (2.0, Known::Seen));
        assert_eq!(peak([&quiet, &few]), (2.0, Known::Seen));
        assert_eq!(peak([&[], &loud]), (80.0, Known::Seen));
        // As-shipped calibrations do not hold for the purged lens, whose peaks vary as much.
        let (floor, known) = believed(&measure, Figure::Peak.noise(), Lens::Purged, [&loud, &loud]);
        assert_eq!((floor.relative, known), (0.001, Known::Seen));
    }

    #[test]
    fn calibrations_of_one_server_are_pooled() {
        let one = |variation: f64, runs: u64| Calibration {
            noise: vec![
                of(variation),
                Noise {
                    figure: "peak".to_owned(),
                    ..of(0.01)
                },
            ],
            runs,
            ..calibration(Lens::Purged)
        };
        let mut third = one(0.002, 5);
        third.noise.truncate(1);
        let all = pooled(&[one(0.01, 3), one(0.02, 4), third]).unwrap();
        assert_eq!((all.runs, all.noise.len()), (12, 1), "peaks are not in each");
        // (2·0.01² + 3·0.02² + 4·0.002²) / 9.
        let expected = ((2.0 * 1e-4 + 3.0 * 4e-4 + 4.0 * 4e-6) / 9.0_f64).sqrt();
        assert!((all.noise[0].variation - expected).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
    }

    #[test]
    fn processor_time_in_nanoseconds_is_calibrated_without_ticks() {
        let believed = |nanos: u64| {
            let run = |number: u32| {
                let mut run = crate::golden::run("a", number, 100);
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

    #[test]
    fn the_figures_that_decide_are_those_of_a_gate_through_the_lens() {
        let runs: Vec<_> = (1..=6).map(|number| crate::golden::run("a", number, 100)).collect();
        let deciding = |lens: Lens| -> Vec<String> {
            let all = noise(&compare(&runs, None), 0, lens);
            all.into_iter()
                .filter(|one| one.primary)
                .map(|one| one.figure)
                .collect()
        };
        assert_eq!(deciding(Lens::Purged), ["private"]);
        assert_eq!(deciding(Lens::AsShipped), ["private", "peak"]);
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
