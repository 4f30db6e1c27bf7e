//! One figure of one server: its middle, its groups, and its ratio against the baseline within each machine.

use std::collections::BTreeMap;

use base::band::NoiseFloor;
use stats::{Arm, MedianInterval, Outlier, Strata, clusters, median_interval, outliers};

use super::{CONFIDENCE, Cell, Ratio};

/// The figure in each run, with the machine of the run.
pub type Values = Vec<(String, Option<f64>)>;

/// The cell of these values, compared with those of the baseline where it is not the baseline itself.
pub fn cell(values: &Values, baseline: Option<&Values>, floor: NoiseFloor) -> Cell {
    let known: Vec<f64> = values.iter().filter_map(|(_, value)| *value).collect();
    // Machines differ by nature, so groups are searched on one machine only.
    let groups = if by_machine(values).len() < 2
        && let Ok(arm) = Arm::new(&known)
    {
        clusters(&arm, floor)
    } else {
        Vec::new()
    };
    Cell {
        values: values.iter().map(|(_, value)| *value).collect(),
        median: median(known.iter().copied()),
        ratio: baseline.and_then(|baseline| ratio(baseline, values, floor)),
        clusters: groups,
        outliers: outliers_within_machines(values, floor),
    }
}

/// The median of the known values with its interval; `None` without any.
pub(super) fn median(known: impl Iterator<Item = f64>) -> Option<MedianInterval> {
    median_interval(&known.collect::<Vec<f64>>(), CONFIDENCE)
}

/// The values that are far from the others of their machine, by their place among those that are known.
fn outliers_within_machines(values: &Values, floor: NoiseFloor) -> Vec<Outlier> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let known = values.iter().filter(|(_, value)| value.is_some());
    for (place, (machine, _)) in known.enumerate() {
        places.entry(machine).or_default().push(place);
    }
    let mut all: Vec<Outlier> = Vec::new();
    for (machine, arm) in by_machine(values) {
        for outlier in outliers(&arm, floor) {
            all.push(Outlier {
                run: places[machine][outlier.run],
                ..outlier
            });
        }
    }
    all.sort_by_key(|outlier| outlier.run);
    all
}

/// Servers are only compared within a machine, since machines differ more than servers do; the ratios of several machines
/// are averaged.
fn ratio(baseline: &Values, candidate: &Values, floor: NoiseFloor) -> Option<Ratio> {
    let (baseline, candidate) = (by_machine(baseline), by_machine(candidate));
    let strata = Strata::new(&baseline, &candidate)?;
    let contrast = strata.contrast(floor);
    let (low, high) = contrast.interval(CONFIDENCE);
    Some(Ratio {
        ratio: contrast.ratio(),
        low,
        high,
        p: contrast.p(),
        runs: strata.runs(),
        machines: strata
            .parts()
            .iter()
            .map(|part| (part.machine.to_owned(), part.ratio()))
            .collect(),
    })
}

/// The arm of each machine that has one.
fn by_machine(values: &Values) -> BTreeMap<&str, Arm> {
    let mut machines: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (machine, value) in values {
        machines.entry(machine).or_default().extend(*value);
    }
    let mut arms = BTreeMap::new();
    for (machine, values) in machines {
        if let Ok(arm) = Arm::new(&values) {
            arms.insert(machine, arm);
        }
    }
    arms
}
