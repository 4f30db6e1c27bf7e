//! One private quantity for all runs that are compared: exact and sampled sums are different quantities.

use crate::analyse::PrivateMetric;
use crate::units;

use super::{Difference, Played, counts};

/// Gives all runs the exact private memory where any that counts has it; a checkpoint without is a hole. What differs
/// is told where there are such runs.
pub fn one_metric<'r>(runs: impl Iterator<Item = &'r mut Played>) -> Option<Difference> {
    let runs: Vec<&mut Played> = runs.filter(|run| counts(&run.summary)).collect();
    let is_exact = |run: &&mut Played| run.summary.private_metric == PrivateMetric::Exact;
    if !runs.iter().any(is_exact) {
        return None;
    }
    let sampled: Vec<&mut Played> = runs.into_iter().filter(|run| !is_exact(run)).collect();
    let first = sampled.first()?.record.clone();
    let number = units::counted(sampled.len() as u64, "run");
    for run in sampled {
        run.summary.private_metric = PrivateMetric::Exact;
        for phase in &mut run.summary.phases {
            phase.private = phase.exact;
        }
    }
    Some(Difference {
        what: "private memory".into(),
        values: vec![
            "exact".to_owned(),
            format!("not exact at every checkpoint of {number} (`{first}`), where it is left out"),
        ],
        decisive: false,
    })
}

#[cfg(test)]
mod tests {
    use crate::analyse::PrivateMetric;
    use crate::analyse::compare::{Played, compare, tests};

    #[test]
    fn sampled_private_memory_is_never_set_beside_exact() {
        let mut runs: Vec<Played> = (1..=4).map(|number| tests::run("a", number, 100)).collect();
        let private = |runs: &[Played]| -> Vec<Vec<Option<f64>>> {
            let rows = compare(runs, None).rows;
            let private = rows.iter().filter(|row| row.measure.figure.name() == "private");
            private.map(|row| row.cells[0].values.clone()).collect()
        };
        let before = private(&runs);
        assert!(compare(&runs, None).differences.is_empty());
        let odd = &mut runs[1].summary;
        odd.private_metric = PrivateMetric::Sampled;
        for (place, phase) in odd.phases.iter_mut().enumerate() {
            phase.exact = phase.private.filter(|_| place > 0);
            phase.private = phase.private.map(|private| private * 2);
        }
        let after = private(&runs);
        assert_eq!(after[0][1], None);
        assert_eq!((after[0][0], &after[1..]), (before[0][0], &before[1..]));
        let told = &compare(&runs, None).differences;
        assert_eq!(told.len(), 1);
        assert!(
            told[0].what == "private memory" && told[0].values[1].contains("run-002-a.jsonl"),
            "{told:?}"
        );
        // Where none is exact, all are sampled alike.
        runs.drain(..1);
        runs.drain(1..);
        assert!(compare(&runs, None).differences.is_empty());
    }
}
