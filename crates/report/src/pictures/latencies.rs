//! Distributions of latency: for each method a hill for each server over powers of ten, with median and 95th percentile.

use crate::charts::axis::{self, Axis};
use crate::charts::{Chart, Ground, Mark, Series, Up};
use analysis::summary::Histogram;
use base::units;

/// The heights of a row and of its highest hill.
const ROW: f64 = 34.0;
const HILL: f64 = 26.0;

/// One server's latencies of a method, of all its runs.
pub struct Latencies<'l> {
    pub label: &'l str,
    /// CSS classes: the colour.
    pub class: String,
    pub histogram: Histogram,
    /// Median, in nanoseconds.
    pub p50: Option<f64>,
    /// 95th percentile, in nanoseconds.
    pub p95: Option<f64>,
}

/// The plot of a method; `None` without answers.
pub fn latencies(method: &str, servers: &[Latencies]) -> Option<Chart> {
    let mut bounds = Vec::new();
    for (begin, end, _) in servers.iter().flat_map(|server| server.histogram.bins()) {
        bounds.extend([begin, end]);
    }
    let (low, high) = axis::ends(bounds.into_iter())?;
    if low >= high {
        return None;
    }
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
        ground: Ground::default(),
    })
}

fn series(server: &Latencies) -> Series {
    let hills = hills(&server.histogram).into_iter();
    let mut marks: Vec<Mark> = hills
        .map(|points| Mark::Line("hill", points.into_iter().map(Some).collect()))
        .collect();
    for (class, name, value) in [
        ("middle", "median", server.p50),
        ("tail", "95th percentile", server.p95),
    ] {
        if let Some(value) = value {
            let ends = [(value, 0.0), (value, HILL)];
            marks.push(Mark::Stroke(class, ends, format!("{name} {}", time(value))));
        }
    }
    Series {
        label: server.label.to_owned(),
        class: server.class.clone(),
        words: format!(
            "{} median {}, 95th percentile {}, {}",
            server.label,
            units::or_unknown(server.p50, time),
            units::or_unknown(server.p95, time),
            units::count_of(server.histogram.count(), "answer")
        ),
        marks,
    }
}

fn time(nanos: f64) -> String {
    units::nanoseconds(nanos.round() as u64)
}

/// The outlines of the bins, scaled to the fullest one. An outline ends before an empty bin.
fn hills(histogram: &Histogram) -> Vec<Vec<(f64, f64)>> {
    let most = histogram.bins().map(|(.., count)| count).max().unwrap_or(1);
    let mut hills: Vec<Vec<(f64, f64)>> = Vec::new();
    for (begin, end, count) in histogram.bins() {
        let top = count as f64 / most as f64 * HILL;
        let bin = [(begin, top), (end, top), (end, 0.0)];
        match hills.last_mut() {
            Some(hill) if hill.last() == Some(&(begin, 0.0)) => {
                hill.pop();
                hill.extend(bin);
            }
            _ => hills.push([&[(begin, 0.0)][..], &bin].concat()),
        }
    }
    hills
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_goes_to_the_ground_between_two_groups() {
        let hills = hills(&Histogram::from_values(&[1_000_000, 1_000_000, 50_000_000]));
        assert_eq!(hills.len(), 2, "{hills:?}");
        for hill in hills {
            let ends = [hill.first(), hill.last()].map(|end| end.map(|(_, up)| *up));
            assert_eq!(ends, [Some(0.0); 2]);
        }
    }
}
