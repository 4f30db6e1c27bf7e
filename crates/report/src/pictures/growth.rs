//! Charts of growth: private memory at the end of each round, a plot for each part that is repeated.

use crate::charts::axis::{self, Axis};
use crate::charts::{Chart, Ground, Line, Mark, Series, Up};
use crate::document::Block;
use crate::document::page::Keys;
use analysis::growth::{Repeated, repeated_parts};
use base::units::{self, median_of};
use stats::LEAST_CYCLES;

use super::Named;

const LEGEND: &str = "Private memory at the end of each round. Faint lines: runs. Strong line: their median. Axes do not \
                      start at 0.";

const MIB: f64 = (1 << 20) as f64;

/// Most numbers below a plot.
const TICKS: usize = 10;

/// The runs of one server that repeated a part.
struct Growing<'a> {
    label: &'a str,
    /// CSS classes: colour and dash.
    class: String,
    runs: Vec<Repeated>,
}

/// A plot for each part that these servers repeat.
pub fn all_runs(servers: &[(&str, Vec<Named>)], keys: Keys) -> Block {
    let repeats: Vec<Vec<Vec<Repeated>>> = servers
        .iter()
        .map(|(_, runs)| runs.iter().map(|(_, run)| repeated_parts(run)).collect())
        .collect();
    let mut parts: Vec<(u32, String)> = Vec::new();
    for part in repeats.iter().flatten().flatten() {
        let is_known = parts
            .iter()
            .any(|(phase, name)| (*phase, name) == (part.phase, &part.name));
        if part.values.len() >= LEAST_CYCLES && !is_known {
            parts.push((part.phase, part.name.clone()));
        }
    }
    parts.sort_by_key(|(phase, _)| *phase);
    let charts = parts.iter().filter_map(|(phase, name)| {
        let growing = servers
            .iter()
            .zip(&repeats)
            .enumerate()
            .map(|(place, ((label, _), runs))| Growing {
                label,
                class: keys.class(place),
                runs: runs
                    .iter()
                    .flatten()
                    .filter(|part| part.phase == *phase && part.name == *name)
                    .cloned()
                    .collect(),
            });
        plot(name, &growing.collect::<Vec<Growing>>())
    });
    Block::charts(LEGEND, "plots", charts)
}

fn plot(name: &str, servers: &[Growing]) -> Option<Chart> {
    let runs = servers.iter().flat_map(|server| &server.runs);
    let rounds = runs.clone().map(|run| run.values.len()).max()?;
    let values = runs.flat_map(|run| run.values.iter().flatten().map(|value| *value as f64));
    values.clone().next()?;
    // Less than a MiB is drawn flat, so that noise does not look like growth.
    let up = Axis::around(values, |_| MIB);
    let sizes = axis::round(up.low, up.high, MIB);
    let sizes = sizes.into_iter().map(|size| (size, units::mib(size as u64)));
    let step = rounds.div_ceil(TICKS);
    let ticks = (1..=rounds).filter(|round| *round == 1 || round % step == 0);
    Some(Chart {
        title: name.to_owned(),
        unit: "MiB",
        across: Axis {
            ticks: ticks.map(|round| (round as f64, round.to_string())).collect(),
            name: "round",
            ..Axis::new(1.0, rounds.max(2) as f64)
        },
        up: Up::Axis(up.with_grid(sizes), (480.0, 234.0)),
        series: servers.iter().map(series).collect(),
        ground: Ground::default(),
    })
}

fn series(server: &Growing) -> Series {
    let middle = medians(&server.runs);
    let words = match (middle.first(), middle.last()) {
        (Some((_, first)), Some((rounds, last))) => format!(
            "{} from {} to {} MiB in {rounds} rounds",
            server.label,
            units::mib(*first as u64),
            units::mib(*last as u64)
        ),
        _ => String::new(),
    };
    let mut marks: Vec<Mark> = Vec::new();
    if server.runs.len() > 1 {
        marks.extend(server.runs.iter().map(|run| Mark::Line("fell faint", line(run))));
    }
    marks.push(Mark::Line("fell", middle.into_iter().map(Some).collect()));
    Series {
        label: server.label.to_owned(),
        class: server.class.clone(),
        words,
        marks,
    }
}

/// The known values of a run, by round from 1.
fn line(run: &Repeated) -> Line {
    let rounds = run.values.iter().enumerate();
    rounds
        .filter_map(|(place, value)| Some(Some((place as f64 + 1.0, (*value)? as f64))))
        .collect()
}

/// The median of the runs, for each round of which at least one value is known.
fn medians(runs: &[Repeated]) -> Vec<(f64, f64)> {
    let rounds = runs.iter().map(|run| run.values.len()).max().unwrap_or(0);
    let mut points = Vec::new();
    for round in 0..rounds {
        let known: Vec<f64> = runs
            .iter()
            .filter_map(|run| Some((*run.values.get(round)?)? as f64))
            .collect();
        if !known.is_empty() {
            points.push((round as f64 + 1.0, median_of(known)));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::growth::Asked;

    fn run(values: &[Option<u64>]) -> Repeated {
        Repeated {
            name: "hover".to_owned(),
            phase: 1,
            values: values.iter().map(|value| value.map(|mib| mib << 20)).collect(),
            sent: None,
            asked: Asked::Yes,
            reserved: Vec::new(),
            up_to_end: None,
            unasked: Vec::new(),
            whole: values.len(),
        }
    }

    #[test]
    fn each_round_has_the_median_of_the_runs_that_know_it() {
        let runs = [
            run(&[Some(10), Some(20), None, None]),
            run(&[Some(12), Some(26), None, Some(40)]),
            run(&[Some(11), Some(24), None, None]),
        ];
        let mib: Vec<(f64, f64)> = medians(&runs)
            .iter()
            .map(|(round, size)| (*round, size / MIB))
            .collect();
        assert_eq!(mib, [(1.0, 11.0), (2.0, 24.0), (4.0, 40.0)]);
        let server = Growing {
            label: "ty",
            class: Keys::ALIKE.class(0),
            runs: runs.to_vec(),
        };
        let chart = plot("hover", &[server]).unwrap();
        assert_eq!(chart.series[0].words, "ty from 11.0 to 40.0 MiB in 4 rounds");
        assert_eq!(chart.series[0].marks.len(), 4);
        assert_eq!(chart.across.ticks.len(), 4);
    }

    #[test]
    fn rounds_without_a_known_value_have_no_plot() {
        let server = Growing {
            label: "ty",
            class: Keys::ALIKE.class(0),
            runs: vec![run(&[None, None])],
        };
        assert!(plot("hover", &[server]).is_none());
    }
}
