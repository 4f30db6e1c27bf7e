//! Simulations of the rules on noise with a known truth: how often they eliminate a cell as good as the best, and how
//! often the prediction holds.

use crate::compare::Ratio;
use crate::figures::Figure;
use crate::tune::figure::WEIGHED;
use base::random::Random;
use stats::median_interval;

use super::choose::choose;
use super::figure::Versus;
use super::front::Weights;
use super::judge::{Analyses, Weighed, eliminations};
use super::*;

/// Coefficients of variation between runs, of private memory, p95 and CPU.
type Variation = [f64; 3];

/// A log-normal value around this multiple of 1 GiB.
fn noisy(random: &mut Random, ratio: f64, variation: f64) -> f64 {
    // Box and Muller's; `1 - uniform` is never 0.
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * uniform(random)).cos();
    ratio * 1_073_741_824.0 * (normal * variation.powi(2).ln_1p().sqrt()).exp()
}

/// A number from 0 to 1, 1 excluded.
fn uniform(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The figures of a cell whose private memory, p95 and CPU are these multiples of the default's.
fn weights(random: &mut Random, runs: usize, ratios: [f64; 3], variation: Variation) -> Weights {
    std::array::from_fn(|place| {
        (0..runs)
            .map(|_| noisy(random, ratios[place], variation[place]))
            .collect()
    })
}

/// The rung after which each cell stops, by its place; `None` where it does not. The first cell is the default.
fn stops(random: &mut Random, ratios: &[f64], variation: Variation, limit: Option<f64>) -> Vec<Option<u32>> {
    let rungs = Rules::default().rungs;
    let labels: Vec<String> = (0..ratios.len()).map(|place| format!("cell-{place}")).collect();
    let all: Vec<Weights> = ratios
        .iter()
        .map(|ratio| weights(random, 8, [*ratio, 1.0, 1.0], variation))
        .collect();
    let mut stops: Vec<Option<u32>> = vec![None; ratios.len()];
    for rung in &rungs[..rungs.len() - 1] {
        let running = (0..ratios.len()).filter(|place| stops[*place].is_none());
        let cells: Vec<Weighed<'_>> = running
            .map(|place| Weighed {
                label: &labels[place],
                weights: all[place].clone().map(|values| values[..*rung as usize].to_vec()),
                is_honest: true,
                is_settled: true,
            })
            .collect();
        let analyses = Analyses {
            default: "cell-0",
            looks: rungs.len() - 1,
            limit,
        };
        for (stopped, _) in eliminations(&cells, &analyses) {
            let place = labels.iter().position(|label| *label == stopped).unwrap();
            stops[place] = Some(*rung);
        }
    }
    stops
}

/// The share of rounds in which `holds` is true.
fn share(rounds: u32, mut holds: impl FnMut() -> bool) -> f64 {
    let held = (0..rounds).filter(|_| holds()).count();
    held as f64 / f64::from(rounds)
}

/// Three standard errors above 5 % for this many rounds.
fn five_percent(rounds: u32) -> f64 {
    0.05 + 3.0 * (0.05 * 0.95 / f64::from(rounds)).sqrt()
}

#[test]
fn of_cells_that_are_all_as_good_as_the_best_hardly_ever_one_stops() {
    let rounds = 400;
    for cells in [3, 14] {
        for private in [0.01, 0.05, 0.10] {
            for limit in [None, Some(1.5 * 1_073_741_824.0)] {
                let mut random = Random::for_use(7, "equal cells");
                let ratios = vec![1.0; cells];
                let any = share(rounds, || {
                    let stops = stops(&mut random, &ratios, [private, 0.2, 0.05], limit);
                    stops.iter().any(Option::is_some)
                });
                assert!(
                    any <= five_percent(rounds),
                    "{cells} cells that vary by {private}: {any}"
                );
            }
        }
    }
}

#[test]
fn what_is_hopeless_stops_all_the_same() {
    let mut random = Random::for_use(7, "hopeless cells");
    let mut ratios = vec![1.0; 14];
    (ratios[1], ratios[2]) = (2.0, 1.25);
    let (mut at_once, mut soon) = (0, 0);
    for _ in 0..200 {
        let stops = stops(&mut random, &ratios, [0.05, 0.2, 0.05], None);
        at_once += u32::from(stops[1] == Some(1));
        soon += u32::from(stops[2].is_some());
    }
    assert!(at_once >= 180 && soon >= 180, "of 200 {at_once} and {soon}");
}

/// The figure of the cell at `place`; the default at place 0 has no ratio.
fn figure_cell(figure: Figure, place: usize, own: &Weights, base: &Weights) -> Cell {
    let Some(weight) = WEIGHED.iter().position(|weighed| *weighed == figure) else {
        return Cell::default();
    };
    let mut cell = Cell {
        values: own[weight].iter().copied().map(Some).collect(),
        median: median_interval(&own[weight], CONFIDENCE),
        ..Cell::default()
    };
    if place > 0 {
        let versus = Versus::new(&base[weight], &own[weight], figure).unwrap();
        cell.ratio = Some(Ratio {
            ratio: versus.ratio,
            low: versus.low,
            high: versus.high,
            p: 1.0,
            runs: (own[0].len(), own[0].len()),
            machines: BTreeMap::new(),
        });
    }
    cell
}

/// A cell with these runs beside the default's.
fn cell_of(place: usize, own: &Weights, base: &Weights) -> CellResult {
    CellResult {
        why_not: None,
        label: format!("cell-{place}"),
        sets: CellFacts::default(),
        runs: own[0].iter().map(ToString::to_string).collect(),
        left: Vec::new(),
        figures: Figure::SWEPT
            .map(|figure| figure_cell(figure, place, own, base))
            .to_vec(),
        stopped: None,
        front: false,
        beaten_by: None,
        work: Vec::new(),
        unseen: Vec::new(),
        rest: SettledState::default(),
        huge_pages: None,
        promise: promise(&own[0]),
    }
}

#[test]
fn a_fresh_run_of_what_is_chosen_keeps_the_promise_though_it_was_chosen_by_the_same_runs() {
    let rules = Rules {
        latency: 10.0,
        cpu: 10.0,
        ..Rules::default()
    };
    for (runs, variation) in [(3, 0.02), (5, 0.05), (8, 0.03), (8, 0.10)] {
        let mut random = Random::for_use(7, "promises");
        let (mut kept, mut chosen) = (0_u32, 0_u32);
        while chosen < 500 {
            // All of them equal: the one that looks best does so by luck alone.
            let ratios = [vec![1.0], vec![0.8; 13]].concat();
            let weights: Vec<Weights> = ratios
                .iter()
                .map(|ratio| weights(&mut random, runs, [*ratio, 1.0, 1.0], [variation, 0.1, 0.05]))
                .collect();
            let mut cells: Vec<CellResult> = weights
                .iter()
                .enumerate()
                .map(|(place, own)| cell_of(place, own, &weights[0]))
                .collect();
            front::mark(&mut cells, &rules);
            let Recommendation::Use(place) = choose(&cells, &rules) else {
                continue;
            };
            chosen += 1;
            let (low, high) = cells[place].promise.unwrap();
            let fresh = noisy(&mut random, 0.8, variation);
            kept += u32::from(low <= fresh && fresh <= high);
        }
        let share = f64::from(kept) / f64::from(chosen);
        assert!(share >= 0.93, "{runs} runs that vary by {variation}: {share}");
    }
}

/// The recommendation of eight runs where a setting needs 70 % of the memory, and these multiples of latency and CPU.
fn recommended(random: &mut Random, latency: f64, cpu: f64, variation: Variation) -> Recommendation {
    let rules = Rules::default();
    let base = weights(random, 8, [1.0; 3], variation);
    let own = weights(random, 8, [0.7, latency, cpu], variation);
    let mut cells = vec![cell_of(0, &base, &base), cell_of(1, &own, &base)];
    front::mark(&mut cells, &rules);
    choose(&cells, &rules)
}

#[test]
fn a_setting_that_costs_nothing_is_recommended_within_eight_runs_and_one_that_costs_30_percent_never() {
    let mut random = Random::for_use(34, "costs");
    for variation in [[0.01, 0.02, 0.01], [0.02, 0.04, 0.02], [0.05, 0.04, 0.02]] {
        let free = share(500, || {
            recommended(&mut random, 1.0, 1.0, variation) == Recommendation::Use(1)
        });
        assert!(free >= 0.95, "{variation:?}: {free}");
    }
    for variation in [[0.01, 0.02, 0.01], [0.05, 0.10, 0.05], [0.05, 0.30, 0.15]] {
        for (latency, cpu) in [(1.3, 1.0), (1.0, 1.3), (1.3, 1.3)] {
            let dear = share(1_000, || {
                recommended(&mut random, latency, cpu, variation) == Recommendation::Use(1)
            });
            // Where p95 varies by 30 %, eight runs of luck are possible.
            let most = if variation[1] < 0.3 { 0.0 } else { 0.005 };
            assert!(dear <= most, "{variation:?}: p95 {latency}, CPU {cpu}: {dear}");
        }
    }
}
