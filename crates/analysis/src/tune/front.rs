//! The front: cells that no other matches in memory, latency and CPU and clearly beats in one.

use crate::figures::Figure;
use crate::tune::figure::WEIGHED;

use super::figure::Versus;
use super::{CellResult, Rules};

/// The values that cells are weighed by, in the order of [`WEIGHED`].
pub(super) type Weights = [Vec<f64>; 3];

/// The certainty that a cell is no better in any figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its means must not be better by more than the slack either.
    Strict,
    /// It must not be shown to be better.
    Lenient,
}

/// True if `other` matches `cell` in all figures and is shown to be clearly better in one. `is_more` tells if the values
/// of its second list are shown to be clearly more than those of its first.
///
/// A figure that either lacks is not compared, such as latency among runs that are played at once; without private memory
/// nothing is.
pub(super) fn beats(
    other: &Weights,
    cell: &Weights,
    doubt: Doubt,
    is_more: impl Fn(Figure, &[f64], &[f64]) -> bool,
) -> bool {
    let mut better = false;
    for (figure, (other, cell)) in WEIGHED.into_iter().zip(other.iter().zip(cell)) {
        let Some(versus) = Versus::new(other, cell, figure) else {
            if figure == Figure::Private {
                return false;
            }
            continue;
        };
        let looks_better = versus.ratio < 1.0 / (1.0 + figure.slack());
        if looks_better && (doubt == Doubt::Strict || versus.is_less(figure)) {
            return false;
        }
        better |= is_more(figure, other, cell);
    }
    better
}

/// True if `more` is shown to exceed `less`, at the level of a single comparison.
fn is_more(figure: Figure, less: &[f64], more: &[f64]) -> bool {
    Versus::new(less, more, figure).is_some_and(|versus| versus.is_more(figure))
}

/// Marks the front, and for each other cell one that beats it. A cell that was not run to the end is on no front.
pub(super) fn mark(cells: &mut [CellResult], rules: &Rules) {
    let weights: Vec<Weights> = cells.iter().map(|cell| weights(cell, rules)).collect();
    let running: Vec<usize> = (0..cells.len())
        .filter(|place| cells[*place].stopped.is_none() && !weights[*place][0].is_empty())
        // Less work needs less memory, and an ineffective setting is the default: neither beats another cell.
        .filter(|place| cells[*place].is_honest())
        .collect();
    let winners: Vec<Option<usize>> = running
        .iter()
        .map(|place| winner_over(*place, &running, &weights))
        .collect();
    // Differences within the slack could form a circle; then there is no front.
    let is_circle = winners.iter().all(Option::is_some);
    for (place, winner) in running.into_iter().zip(winners) {
        match winner {
            Some(winner) if !is_circle => {
                cells[place].front = false;
                cells[place].beaten_by = Some(cells[winner].label.clone());
            }
            _ => cells[place].front = true,
        }
    }
}

/// The cell that beats the one at `place`; if several do, the one with least memory.
fn winner_over(place: usize, running: &[usize], weights: &[Weights]) -> Option<usize> {
    let mut winners: Vec<usize> = running.to_vec();
    winners.retain(|other| *other != place && beats(&weights[*other], &weights[place], Doubt::Strict, is_more));
    winners.sort_by(|a, b| mean(&weights[*a][0]).total_cmp(&mean(&weights[*b][0])));
    winners.first().copied()
}

fn weights(cell: &CellResult, rules: &Rules) -> Weights {
    WEIGHED.map(|figure| {
        if rules.decides_by(figure) {
            cell.known_values(figure)
        } else {
            Vec::new()
        }
    })
}

/// The mean; infinite without values, so that unmeasured cells sort last.
pub(super) fn mean(values: &[f64]) -> f64 {
    match values {
        [] => f64::INFINITY,
        values => values.iter().sum::<f64>() / values.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn what_was_not_measured_is_behind_all_that_was() {
        let mut means = [mean(&[]), mean(&[3.0, 5.0]), mean(&[2.0])];
        means.sort_by(f64::total_cmp);
        assert_eq!(means, [2.0, 4.0, f64::INFINITY]);
    }
}
