//! The separate groups that the values of one arm fall into, as an allocator's arenas make them do.

use serde::Serialize;

use base::band::NoiseFloor;

use super::arm::Arm;
use super::calibrated;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cluster {
    /// Which runs, from 0, in order of their values.
    pub runs: Vec<usize>,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// The groups of an arm, lowest first; one group when nothing separates them.
///
/// The arm is split at the widest gap between neighbours (of logs, in order) that leaves at least two runs on each side,
/// if that gap is a larger share of the range than one group shows once in a hundred times, and wider than the noise
/// floor; each part is then looked at again. The shares are quantiles of simulated bell-shaped and flat groups,
/// whichever is larger, as Engelman and Hartigan calibrated a test for two clusters (*Percentage Points of a Test for
/// Clusters*, JASA 64, 1969): 0.90 for 4 runs, 0.65 for 8, 0.49 for 12, so that three groups at equal
/// distances are named from 13 runs on. A single run apart is no group but an
/// [outlier](super::outliers).
pub fn clusters(arm: &Arm, floor: NoiseFloor) -> Vec<Cluster> {
    let mut order: Vec<usize> = (0..arm.len()).collect();
    order.sort_by(|a, b| arm.values()[*a].total_cmp(&arm.values()[*b]));
    let mut clusters = Vec::new();
    divide(arm, arm.log_floor(floor), &order, &mut clusters);
    clusters
}

/// Adds the groups of some runs, which `order` lists from the lowest value to the highest.
fn divide(arm: &Arm, floor: f64, order: &[usize], clusters: &mut Vec<Cluster>) {
    match border(arm, floor, order) {
        Some(border) => {
            divide(arm, floor, &order[..border], clusters);
            divide(arm, floor, &order[border..], clusters);
        }
        None => clusters.push(Cluster {
            runs: order.to_vec(),
            low: arm.values()[order[0]],
            high: arm.values()[order[order.len() - 1]],
        }),
    }
}

/// The place at which the upper group begins, if there are two.
fn border(arm: &Arm, floor: f64, order: &[usize]) -> Option<usize> {
    let least_share = calibrated::gap(order.len())?;
    let logs: Vec<f64> = order.iter().map(|run| arm.logs()[*run]).collect();
    let range = logs[logs.len() - 1] - logs[0];
    let (border, gap) = (2..=logs.len() - 2)
        .map(|border| (border, logs[border] - logs[border - 1]))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if gap > floor && gap > least_share * range {
        Some(border)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn groups(mib: &[f64]) -> Vec<Vec<usize>> {
        let values: Vec<f64> = mib.iter().map(|mib| mib * MIB).collect();
        let arm = Arm::new(&values).unwrap();
        let clusters = clusters(&arm, NoiseFloor::MEMORY);
        clusters.into_iter().map(|cluster| cluster.runs).collect()
    }

    #[test]
    fn the_two_clusters_of_mimalloc_are_named() {
        let clusters = groups(&[317.2, 340.1, 316.8, 318.0, 339.5, 340.9, 317.5, 341.0]);
        assert_eq!(clusters, [vec![2, 0, 6, 3], vec![4, 1, 5, 7]]);
    }

    #[test]
    fn three_groups_are_three() {
        let clusters = groups(&[
            100.0, 100.2, 100.4, 100.1, 120.0, 120.2, 120.1, 190.0, 190.3, 190.1, 190.2,
        ]);
        assert_eq!(clusters.len(), 3, "{clusters:?}");
    }

    #[test]
    fn one_run_apart_is_no_group() {
        assert_eq!(groups(&[317.2, 316.8, 318.0, 317.5, 340.9, 317.1]).len(), 1);
    }

    #[test]
    fn steps_of_a_page_are_no_groups() {
        assert_eq!(groups(&[317.0, 317.0, 317.0, 317.004, 317.004, 317.004]).len(), 1);
        assert_eq!(groups(&[317.0; 8]).len(), 1);
    }

    #[test]
    fn few_runs_are_one_group() {
        assert_eq!(groups(&[1.0, 2.0]), [[0, 1]]);
        assert_eq!(groups(&[1.0, 300.0, 2.0]).len(), 1);
    }
}
