//! One quantity for all runs that are compared: exact and sampled sums are not the same, nor are `VmRSS` and PSS.

use crate::summary::{PrivateMetric, ResidentMetric, Summary};
use base::units;

use super::{Difference, Played, Weight, is_counted};

/// Chooses one metric for all counted runs: exact private memory if any has it, and proportional size if any is a
/// tree. A checkpoint without it is a gap. Mixed runs are reported.
pub fn unify_metrics<'r>(runs: impl Iterator<Item = &'r mut Played>) -> Vec<Difference> {
    let mut runs: Vec<&mut Played> = runs.filter(|run| is_counted(&run.summary)).collect();
    let resident = unify_resident(&mut runs);
    let private = unify_private(runs);
    resident.into_iter().chain(private).collect()
}

/// Proportional sizes for all runs where any is of a tree: a page that is shared counts otherwise in each.
fn unify_resident(runs: &mut [&mut Played]) -> Option<Difference> {
    let trees = runs.iter().filter(|run| is_tree(&run.summary)).count();
    if trees == 0 || trees == runs.len() {
        return None;
    }
    let first = runs.iter().find(|run| is_tree(&run.summary))?.record.clone();
    for run in runs {
        run.summary_mut().memory.resident_metric = ResidentMetric::Proportional;
    }
    Some(Difference {
        what: "processes at checkpoints".into(),
        values: vec![
            "one".to_owned(),
            format!(
                "several in {} (`{first}`), so the resident memory of all runs is their proportional size",
                units::count_of(trees as u64, "run")
            ),
        ],
        weight: Weight::Noted,
    })
}

fn is_tree(summary: &Summary) -> bool {
    summary.memory.resident_metric == ResidentMetric::Proportional
}

/// Exact private memory for all runs where any has it: a checkpoint without it is a gap.
fn unify_private(runs: Vec<&mut Played>) -> Option<Difference> {
    let (exact, sampled): (Vec<&mut Played>, Vec<&mut Played>) = runs
        .into_iter()
        .partition(|run| run.summary.memory.private_metric == PrivateMetric::Exact);
    if exact.is_empty() || sampled.is_empty() {
        return None;
    }
    let first_sampled = sampled[0].record.clone();
    let sampled_runs = units::count_of(sampled.len() as u64, "run");
    for run in sampled {
        run.summary_mut().memory.private_metric = PrivateMetric::Exact;
        for phase in &mut run.summary_mut().phases {
            phase.private = phase.exact;
        }
    }
    Some(Difference {
        what: "private memory".into(),
        values: vec![
            "exact".to_owned(),
            format!("not exact at every checkpoint of {sampled_runs} (`{first_sampled}`), where it is left out"),
        ],
        weight: Weight::Noted,
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::{Played, compare};
    use crate::golden;
    use crate::summary::{PrivateMetric, ResidentMetric};

    /// Three runs of one process each, with a resident memory of 200 MiB and a proportional size of 110 MiB.
    fn single_processes(label: &str) -> Vec<Played> {
        let mut runs: Vec<Played> = (1..=3).map(|number| golden::run(label, number, 100)).collect();
        for run in &mut runs {
            run.summary_mut().memory.resident_metric = ResidentMetric::Resident;
            let phases = run.summary_mut().phases.iter_mut();
            for taken in phases.filter_map(|phase| phase.checkpoint.as_mut()) {
                (taken.resident, taken.proportional) = (Some(200 << 20), Some(110 << 20));
            }
        }
        runs
    }

    /// All resident memory that a comparison of these runs shows.
    fn resident_values(runs: &[Played]) -> Vec<f64> {
        let rows = compare(runs, None).rows;
        let resident = rows.iter().filter(|row| row.measure.figure.name() == "resident");
        let cells = resident.flat_map(|row| &row.cells);
        cells.flat_map(|cell| cell.values.iter().copied().flatten()).collect()
    }

    #[test]
    fn a_row_of_resident_memory_is_of_one_quantity_though_one_run_had_a_helper_at_its_checkpoints() {
        let mut runs = [single_processes("a"), single_processes("b")].concat();
        assert!(
            resident_values(&runs)
                .iter()
                .all(|value| *value == f64::from(200 << 20))
        );
        assert!(compare(&runs, None).differences.is_empty());
        let mut trees = runs.clone();
        for run in &mut trees {
            run.summary_mut().memory.resident_metric = ResidentMetric::Proportional;
        }
        assert!(compare(&trees, None).differences.is_empty());
        runs[4].summary_mut().memory.resident_metric = ResidentMetric::Proportional;
        assert!(
            resident_values(&runs)
                .iter()
                .all(|value| *value == f64::from(110 << 20))
        );
        let differences = &compare(&runs, None).differences;
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert!(!differences[0].is_decisive(), "{differences:?}");
        assert!(differences[0].values[1].contains("run-002-b.jsonl"), "{differences:?}");
    }

    /// Private memory of the first server in each row of a comparison of these runs.
    fn private_rows(runs: &[Played]) -> Vec<Vec<Option<f64>>> {
        let rows = compare(runs, None).rows;
        let private = rows.iter().filter(|row| row.measure.figure.name() == "private");
        private.map(|row| row.cells[0].values.clone()).collect()
    }

    #[test]
    fn sampled_private_memory_is_never_set_beside_exact() {
        let mut runs: Vec<Played> = (1..=4).map(|number| golden::run("a", number, 100)).collect();
        let before = private_rows(&runs);
        assert!(compare(&runs, None).differences.is_empty());
        let odd = runs[1].summary_mut();
        odd.memory.private_metric = PrivateMetric::Sampled;
        for (place, phase) in odd.phases.iter_mut().enumerate() {
            phase.exact = if place > 0 { phase.private } else { None };
            phase.private = phase.private.map(|private| private * 2);
        }
        let after = private_rows(&runs);
        assert_eq!(after[0][1], None);
        assert_eq!((after[0][0], &after[1..]), (before[0][0], &before[1..]));
        let differences = &compare(&runs, None).differences;
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].what, "private memory");
        assert!(differences[0].values[1].contains("run-002-a.jsonl"), "{differences:?}");
        // Where none is exact, all are sampled alike.
        runs.drain(..1);
        runs.drain(1..);
        assert!(compare(&runs, None).differences.is_empty());
    }
}
