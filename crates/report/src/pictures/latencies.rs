//! Distributions of latency: for each method a hill for each server over powers of ten, with median and 95th percentile.

use std::time::Duration;

use crate::charts::axis::{self, Axis};
use crate::charts::{Chart, Mark, Series, Up};
use analysis::summary::Histogram;
use base::units;

/// How high a row and its highest hill are.
const ROW: f64 = 34.0;
const HILL: f64 = 26.0;

/// One server's latencies of a method, of all its runs.
pub struct Latencies<'l> {
    pub label: &'l str,
    /// Its classes, which are its colour.
    pub class: String,
    pub histogram: Histogram,
    /// Their median, in nanoseconds.
    pub p50: Option<f64>,
    /// Their 95th percentile, in nanoseconds.
    pub p95: Option<f64>,
}

/// The plot of a method; `None` without answers.
pub fn latencies(method: &str, servers: &[Latencies]) -> Option<Chart> {
    let bounds = servers.iter().flat_map(|one| one.histogram.bins());
    let bounds: Vec<f64> = bounds.flat_map(|(begin, end, _)| [begin, end]).collect();
    let (low, high) = axis::ends(bounds.into_iter()).filter(|(low, high)| low < high)?;
    let across = Axis {
        is_log: true,
        ..Axis::new(low, high)
    };
    Some(Chart {
        title: method.to_owned(),
        unit: "",
        across: across.with_grid(axis::powers(low, high).into_iter().map(|tick| (tick, time(tick)))),
        up: Up::Rows(ROW),
        series: servers.iter().map(series).collect(),
    })
}

fn series(one: &Latencies) -> Series {
    let known = |value: Option<f64>| value.map_or_else(|| units::UNKNOWN.to_owned(), time);
    let bars = [("middle", "median", one.p50), ("tail", "95th percentile", one.p95)];
    let bars = bars.into_iter().filter_map(|(class, name, value)| {
        let ends = [(value?, 0.0), (value?, HILL)];
        Some(Mark::Stroke(class, ends, format!("{name} {}", time(value?))))
    });
    let hills = hills(&one.histogram)
        .into_iter()
        .map(|points| Mark::Line("hill", points));
    Series {
        label: one.label.to_owned(),
        class: one.class.clone(),
        words: format!(
            "{} median {}, 95th percentile {}, {}",
            one.label,
            known(one.p50),
            known(one.p95),
            units::counted(one.histogram.count(), "answer")
        ),
        marks: hills.chain(bars).collect(),
    }
}

fn time(nanos: f64) -> String {
    units::duration(Duration::from_nanos(nanos.round() as u64))
}

/// The outlines, as high as the fullest bin. Over an empty bin one goes back to the ground.
fn hills(histogram: &Histogram) -> Vec<Vec<(f64, f64)>> {
    let most = histogram.bins().map(|(.., count)| count).max().unwrap_or(1);
    let mut hills: Vec<Vec<(f64, f64)>> = Vec::new();
    for (begin, end, count) in histogram.bins() {
        let top = count as f64 / most as f64 * HILL;
        let bin = [(begin, top), (end, top), (end, 0.0)];
        match hills.last_mut().filter(|hill| hill.last() == Some(&(begin, 0.0))) {
            Some(hill) => {
                hill.pop();
                hill.extend(bin);
            }
            None => hills.push([&[(begin, 0.0)][..], &bin].concat()),
        }
    }
    hills
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_goes_to_the_ground_between_two_groups() {
        let hills = hills(&Histogram::of(&[1_000_000, 1_000_000, 50_000_000]));
        assert_eq!(hills.len(), 2, "{hills:?}");
        for hill in hills {
            let ends = [hill.first(), hill.last()].map(|end| end.map(|(_, up)| *up));
            assert_eq!(ends, [Some(0.0); 2]);
        }
    }
}
