//! One quantity for all runs that are compared: exact and sampled sums are not the same, nor are `VmRSS` and PSS.

use crate::summary::{PrivateMetric, ResidentMetric};
use base::units;

use super::{Difference, Played, Weight, counts};

/// Chooses one metric for all counted runs: exact private memory if any has it, and proportional size if any is a
/// tree. A checkpoint without it is a gap. Mixed runs are reported.
pub fn one_metric<'r>(runs: impl Iterator<Item = &'r mut Played>) -> Vec<Difference> {
    let mut runs: Vec<&mut Played> = runs.filter(|run| counts(&run.summary)).collect();
    one_resident(&mut runs).into_iter().chain(one_private(runs)).collect()
}

/// Proportional sizes for all runs where any is of a tree: a page that is shared counts otherwise in each.
fn one_resident(runs: &mut [&mut Played]) -> Option<Difference> {
    let is_tree = |run: &&mut Played| run.summary.resident_metric == ResidentMetric::Proportional;
    let trees = runs.iter().filter(|run| is_tree(run)).count();
    if trees == 0 || trees == runs.len() {
        return None;
    }
    let first = runs.iter().find(|run| is_tree(run))?.record.clone();
    for run in runs {
        run.summary.resident_metric = ResidentMetric::Proportional;
    }
    Some(Difference {
        what: "processes at checkpoints".into(),
        values: vec![
            "one".to_owned(),
            format!(
                "several in {} (`{first}`), so the resident memory of all runs is their proportional size",
                units::counted(trees as u64, "run")
            ),
        ],
        weight: Weight::Noted,
    })
}

fn one_private(runs: Vec<&mut Played>) -> Option<Difference> {
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
        weight: Weight::Noted,
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::{Played, compare};
    use crate::golden;
    use crate::summary::{PrivateMetric, ResidentMetric};

    #[test]
    fn a_row_of_resident_memory_is_of_one_quantity_though_one_run_had_a_helper_at_its_checkpoints() {
        let side = |label: &str| -> Vec<Played> {
            let runs = (1..=3).map(|number| golden::run(label, number, 100));
            let single = runs.map(|mut run| {
                run.summary.resident_metric = ResidentMetric::Resident;
                for taken in run
                    .summary
                    .phases
                    .iter_mut()
                    .filter_map(|phase| phase.checkpoint.as_mut())
                {
                    (taken.resident, taken.proportional) = (Some(200 << 20), Some(110 << 20));
                }
                run
            });
            single.collect()
        };
        let mut runs = [side("a"), side("b")].concat();
        let resident = |runs: &[Played]| -> Vec<f64> {
            let rows = compare(runs, None).rows;
            let resident = rows.iter().filter(|row| row.measure.figure.name() == "resident");
            let values = resident.flat_map(|row| row.cells.iter().flat_map(|cell| cell.values.clone()));
            values.flatten().collect()
        };
        assert!(resident(&runs).iter().all(|value| *value == f64::from(200 << 20)));
        assert!(compare(&runs, None).differences.is_empty());
        let mut trees = runs.clone();
        let all = trees.iter_mut().map(|run| &mut run.summary.resident_metric);
        all.for_each(|metric| *metric = ResidentMetric::Proportional);
        assert!(compare(&trees, None).differences.is_empty());
        runs[4].summary.resident_metric = ResidentMetric::Proportional;
        assert!(resident(&runs).iter().all(|value| *value == f64::from(110 << 20)));
        let told = &compare(&runs, None).differences;
        assert!(
            told.len() == 1 && !told[0].is_decisive() && told[0].values[1].contains("run-002-b.jsonl"),
            "{told:?}"
        );
    }

    #[test]
    fn sampled_private_memory_is_never_set_beside_exact() {
        let mut runs: Vec<Played> = (1..=4).map(|number| golden::run("a", number, 100)).collect();
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
