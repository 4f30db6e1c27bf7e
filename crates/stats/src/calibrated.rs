//! Thresholds that were found by simulation, by `fixtures/statistics/make.py`; a test compares them.

/// The share of the range that the widest inner gap of n values from one group exceeds once in a hundred times: the
/// larger of a bell-shaped and of a flat group, from n = 4.
const GAP: [f64; 27] = [
    0.900, 0.828, 0.760, 0.698, 0.645, 0.602, 0.560, 0.525, 0.494, 0.466, 0.442, 0.419, 0.401, 0.383, 0.366, 0.352,
    0.338, 0.327, 0.314, 0.305, 0.298, 0.293, 0.288, 0.283, 0.278, 0.274, 0.270,
];

/// The distance from the median, in units of 1.4826 MAD, that the farthest of n bell-shaped values exceeds once in
/// twenty times, from n = 3.
const DISTANCE: [f64; 28] = [
    22.284, 6.926, 7.933, 5.498, 5.863, 4.909, 5.076, 4.566, 4.668, 4.357, 4.425, 4.227, 4.287, 4.106, 4.163, 4.053,
    4.081, 3.996, 4.026, 3.942, 3.973, 3.914, 3.936, 3.882, 3.907, 3.863, 3.881, 3.841,
];

/// The least share of the range for a gap between groups of n values; `None` when there are too few to tell.
pub(super) fn gap(n: usize) -> Option<f64> {
    entry(&GAP, 4, n)
}

/// The least distance of an outlier among n values; `None` when there are too few to tell.
pub(super) fn distance(n: usize) -> Option<f64> {
    entry(&DISTANCE, 3, n)
}

/// The entry for n of a table that begins with `first`. Beyond the table its last entry is used: the gap's goes on falling,
/// the distance's keeps within a tenth up to 300.
fn entry(table: &[f64], first: usize, n: usize) -> Option<f64> {
    let place = n.checked_sub(first)?;
    table.get(place).or(table.last()).copied()
}
