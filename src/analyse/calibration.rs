//! What runs of one server against itself say of later comparisons: the noise of each figure, and what it lets be seen.

use crate::lens::Lens;
use crate::record::Noise;

use super::compare::{Comparison, Figure, Place, Row, primary, tolerance};
use super::stats::{Arm, Looks, NoiseFloor, detectable, power, runs_needed};

/// The chance with which an effect is to be shown.
pub const WANTED: f64 = 0.8;

/// Figures that are calibrated, in the order of tables.
const FIGURES: [Figure; 5] = [Figure::Private, Figure::Peak, Figure::Cpu, Figure::P50, Figure::P95];

/// The noise of every figure of the first side that all its runs have.
pub fn noise(comparison: &Comparison, lens: Lens) -> Vec<Noise> {
    let decisive: Vec<String> = primary(comparison, 0, lens)
        .into_iter()
        .map(|endpoint| endpoint.name)
        .collect();
    let of_figure = |figure: Figure| comparison.rows.iter().filter(move |row| row.measure.figure == figure);
    let rows = FIGURES.into_iter().flat_map(of_figure);
    rows.filter_map(|row| of_row(row, &decisive)).collect()
}

fn of_row(row: &Row, decisive: &[String]) -> Option<Noise> {
    let arm = Arm::of_runs(&row.cells.first()?.values).ok()?;
    let figure = row.measure.figure;
    let (place, endpoint) = match &row.measure.place {
        Place::Phase { name, .. } => (name.clone(), format!("{} after {name}", figure.name())),
        Place::Run => ("whole run".to_owned(), figure.name().to_owned()),
        Place::Method(method) => (method.clone(), String::new()),
    };
    let (mean, variation) = (arm.geometric_mean(), arm.variation());
    let NoiseFloor { relative, absolute } = figure.noise();
    Some(Noise {
        place,
        figure: figure.name().to_owned(),
        primary: decisive.contains(&endpoint),
        mean,
        variation,
        believed: variation.max(relative).max(absolute / mean),
    })
}

/// The least effect that `runs` of each side show at the one-sided level `alpha`.
pub fn least(noise: &Noise, runs: usize, alpha: f64) -> Option<f64> {
    detectable(noise.believed, runs, alpha, WANTED)
}

/// What is ruled out of a figure for it to pass: the share, or the floor where that is more.
fn ruled_out(noise: &Noise, lens: Lens) -> f64 {
    let usual = tolerance(lens);
    usual.fail().max(usual.floor() / noise.mean)
}

/// The first look after which an unchanged server passes by every figure that decides, each with the wanted chance;
/// `None` where none is late enough, or nothing decides.
pub fn recommended(noise: &[Noise], lens: Lens, looks: &Looks) -> Option<usize> {
    let decisive = || noise.iter().filter(|one| one.primary);
    decisive().next()?;
    let passes = |one: &Noise, runs: usize| {
        let chance = power(ruled_out(one, lens), one.believed, runs, looks.alpha_each());
        chance.is_some_and(|chance| chance >= WANTED)
    };
    let enough = |runs: &usize| decisive().all(|one| passes(one, *runs));
    looks.runs().iter().copied().find(enough)
}

/// How many runs it would take at one look; `None` where no number is enough.
pub fn needed(noise: &[Noise], lens: Lens, alpha: f64) -> Option<usize> {
    let decisive = noise.iter().filter(|one| one.primary);
    let each: Option<Vec<usize>> = decisive
        .map(|one| runs_needed(one.believed, ruled_out(one, lens), alpha, WANTED))
        .collect();
    each?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variation: f64) -> Noise {
        Noise {
            place: "decay".to_owned(),
            figure: "private".to_owned(),
            primary: true,
            mean: 200.0 * 1_048_576.0,
            variation,
            believed: variation.max(0.001),
        }
    }

    #[test]
    fn a_quiet_server_needs_the_first_look_and_a_noisy_one_a_later_one() {
        let looks = Looks::default();
        assert_eq!(recommended(&[of(0.001)], Lens::AsShipped, &looks), Some(3));
        assert_eq!(recommended(&[of(0.04), of(0.001)], Lens::AsShipped, &looks), Some(5));
        assert_eq!(recommended(&[of(0.02)], Lens::Purged, &looks), Some(5));
        assert_eq!(recommended(&[of(0.30)], Lens::AsShipped, &looks), None);
        assert!(needed(&[of(0.30)], Lens::AsShipped, 0.05).is_some_and(|runs| runs > 50));
    }

    #[test]
    fn where_nothing_decides_nothing_is_recommended() {
        let mut aside = of(0.001);
        aside.primary = false;
        assert_eq!(recommended(&[aside], Lens::AsShipped, &Looks::default()), None);
        assert_eq!(recommended(&[], Lens::AsShipped, &Looks::default()), None);
    }

    #[test]
    fn more_runs_see_less() {
        let seen = |runs| least(&of(0.05), runs, 0.0125).unwrap();
        assert!(seen(3) > seen(5) && seen(5) > seen(12));
        assert_eq!(least(&of(0.05), 1, 0.0125), None);
    }
}
