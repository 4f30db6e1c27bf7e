//! Distributions of latency: for each method a hill for each server over powers of ten, with median and 95th percentile.

use std::time::Duration;

use maud::{Markup, html};

use crate::summary::Histogram;
use crate::text::clean;
use crate::units;

use super::strips::{Frame, RIGHT, WIDTH, tenth};

const TOP: f64 = 6.0;
const ROW: f64 = 34.0;

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

pub fn plot(method: &str, servers: &[Latencies]) -> Markup {
    let ends = || servers.iter().flat_map(|one| one.histogram.bins());
    let low = ends().map(|(begin, ..)| begin).fold(f64::INFINITY, f64::min);
    let high = ends().map(|(_, end, _)| end).fold(0.0, f64::max);
    if low >= high {
        return html! {};
    }
    let frame = Frame::of(servers.iter().map(|one| one.label));
    let at = |value: f64| tenth(frame.left + (value / low).log10() / (high / low).log10() * (RIGHT - frame.left));
    let height = TOP + (ROW + frame.above) * servers.len() as f64 + 20.0;
    let said: Vec<String> = servers.iter().map(said).collect();
    html! {
        figure {
            figcaption { (clean(method)) }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(clean(&format!("{method}: {}", said.join("; ")))) {
                @for tick in ticks(low, high) {
                    line.grid x1=(at(tick)) x2=(at(tick)) y1=(TOP) y2=(height - 18.0) {}
                    text.tick.mid x=(at(tick)) y=(height - 4.0) { (time(tick)) }
                }
                @for (row, one) in servers.iter().enumerate() {
                    @let base = TOP + (ROW + frame.above) * (row as f64 + 1.0) - 3.0;
                    g class=(one.class) {
                        (frame.label(one.label, base - 8.0, base - ROW + 4.0))
                        path.hill d=(hill(&one.histogram, base, &at)) {}
                        @for (name, value) in [("median", one.p50), ("95th percentile", one.p95)] {
                            @if let Some(value) = value {
                                line class=(if name == "median" { "middle" } else { "tail" }) x1=(at(value)) x2=(at(value)) y1=(base - ROW + 8.0) y2=(base) {
                                    title { (name) " " (time(value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn said(one: &Latencies) -> String {
    let time = |value: Option<f64>| value.map_or_else(|| units::UNKNOWN.to_owned(), time);
    let answers = units::counted(one.histogram.count(), "answer");
    format!(
        "{} median {}, 95th percentile {}, {answers}",
        one.label,
        time(one.p50),
        time(one.p95)
    )
}

fn time(nanos: f64) -> String {
    units::duration(Duration::from_nanos(nanos.round() as u64))
}

/// The outline, as high as the fullest bin.
fn hill(histogram: &Histogram, base: f64, at: &dyn Fn(f64) -> f64) -> String {
    let most = histogram.bins().map(|(.., count)| count).max().unwrap_or(1);
    let mut path = String::new();
    let mut reached: Option<f64> = None;
    for (begin, end, count) in histogram.bins() {
        let top = tenth(base - count as f64 / most as f64 * (ROW - 8.0));
        let (begin, end) = (at(begin), at(end));
        // Over an empty bin the outline goes back to the ground.
        if reached.is_none_or(|end| begin > end) {
            if reached.is_some() {
                path.push_str(&format!("V{base}"));
            }
            path.push_str(&format!("M{begin} {base}"));
        }
        path.push_str(&format!("V{top}H{end}"));
        reached = Some(end);
    }
    if reached.is_some() {
        path.push_str(&format!("V{base}"));
    }
    path
}

/// Powers of ten inside, at most five; where there are less than two, their halves and fifths too.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let inside = |digits: &[f64]| -> Vec<f64> {
        let round = (3..14).flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        round.filter(|tick| (low..=high).contains(tick)).collect()
    };
    let powers = inside(&[1.0]);
    let ticks = if powers.len() < 2 {
        inside(&[1.0, 2.0, 5.0])
    } else {
        powers
    };
    let every = ticks.len().div_ceil(5).max(1);
    ticks.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_goes_to_the_ground_between_two_groups() {
        let histogram = Histogram::of(&[1_000_000, 1_000_000, 50_000_000]);
        let path = hill(&histogram, 40.0, &|value| tenth(value.log10() * 10.0));
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(path.starts_with('M') && path.ends_with("V40"), "{path}");
    }

    #[test]
    fn an_axis_has_round_ticks_and_at_most_five() {
        assert_eq!(ticks(1.5e6, 8e6), [2e6, 5e6]);
        assert_eq!(ticks(1e3, 1e12).len(), 5);
    }
}
