//! Strip plots: every run a dot, the median and its interval beside it, all servers of one place on one scale.

use maud::{Markup, html};

use crate::analyse::compare::{Cell, Comparison, Figure, Place, Row, Unit};
use crate::report::comparison::figures;
use crate::report::text::{clean, cut};

use super::parts::COLORS;

/// The drawing in units of its own; the page scales it.
pub(super) const WIDTH: f64 = 360.0;
pub(super) const LEFT: f64 = 112.0;
pub(super) const RIGHT: f64 = 348.0;
const TOP: f64 = 8.0;
const ROW: f64 = 26.0;

/// Most letters of a label that have room.
pub(super) const LETTERS: usize = 16;

/// A plot for the private memory of each phase, and for the figures of whole runs.
pub fn draw(comparison: &Comparison) -> Markup {
    let rows = comparison.rows.iter().filter(|row| match row.measure.place {
        Place::Phase { .. } => row.measure.figure == Figure::Private,
        Place::Run => true,
        Place::Method(_) => false,
    });
    html! {
        p.quiet { "Every dot is a run, the bar is the median, the band its interval. Each plot has a scale of its own, which does not begin at 0." }
        div.plots { @for row in rows { (plot(comparison, row)) } }
    }
}

fn plot(comparison: &Comparison, row: &Row) -> Markup {
    let unit = row.measure.figure.unit();
    let values = || row.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let scale = Scale::of(values());
    let height = TOP + ROW * comparison.sides.len() as f64 + 20.0;
    let title = match &row.measure.place {
        Place::Phase { name, .. } => format!("private after {name}"),
        Place::Run | Place::Method(_) => figures::place(row),
    };
    let said: Vec<String> = comparison
        .sides
        .iter()
        .zip(&row.cells)
        .map(|(side, cell)| format!("{} {}", side.label, figures::with_interval(cell, unit)))
        .collect();
    html! {
        figure {
            figcaption { (clean(&title)) @if unit == Unit::Bytes { span.quiet { ", MiB" } } }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(clean(&format!("{title}: {}", said.join("; ")))) {
                @for (place, cell) in row.cells.iter().enumerate() {
                    (strip(&comparison.sides[place].label, &comparison.sides[place].runs, place, cell, unit, &scale))
                }
                @let base = height - 18.0;
                line.axis x1=(LEFT) x2=(RIGHT) y1=(base) y2=(base) {}
                @let end = |value| figures::value_like(value, figures::as_set(unit), scale.high);
                text.tick x=(LEFT) y=(height - 4.0) { (end(scale.low)) }
                text.tick.end x=(RIGHT) y=(height - 4.0) { (end(scale.high)) }
            }
        }
    }
}

fn strip(label: &str, runs: &[String], place: usize, cell: &Cell, unit: Unit, scale: &Scale) -> Markup {
    let middle = TOP + ROW * (place as f64 + 0.5);
    html! {
        g class={ "s" (place % COLORS) } {
            text.label x=(LEFT - 8.0) y=(middle + 4.0) { (cut(&clean(label), LETTERS)) }
            @if let Some(median) = cell.median {
                @let (low, high) = (scale.at(median.low), scale.at(median.high));
                rect.band x=(low) y=(middle - 9.0) width=(tenth((high - low).max(1.0))) height="18" {}
                line.middle x1=(scale.at(median.median)) x2=(scale.at(median.median)) y1=(middle - 10.0) y2=(middle + 10.0) {}
            }
            @for (run, value) in cell.values.iter().enumerate() {
                @if let Some(value) = value {
                    // Runs of one value would hide each other; up and down says nothing.
                    @let shift = ((run * 7) % 5) as f64 * 2.4 - 4.8;
                    circle.run cx=(scale.at(*value)) cy=(tenth(middle + shift)) r="3.2" {
                        title { (clean(&format!("{}: {}", name(runs, run), figures::value_with_unit(*value, unit)))) }
                    }
                }
            }
        }
    }
}

/// The file of a record without its directory.
fn name(runs: &[String], run: usize) -> &str {
    let path = runs.get(run).map_or("", String::as_str);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// From values to places of the drawing.
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
}

impl Scale {
    /// A little wider than the values, and never so narrow that noise looks like a difference.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        if low > high {
            return Scale { low: 0.0, high: 1.0 };
        }
        let least = high * 0.02;
        let more = ((high - low) * 0.06).max((least - (high - low)) / 2.0);
        Scale {
            low: (low - more).max(0.0),
            high: high + more.max(f64::MIN_POSITIVE),
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.between(value, LEFT, RIGHT)
    }

    /// Where a value is between the places of the lowest and of the highest.
    pub fn between(&self, value: f64, low: f64, high: f64) -> f64 {
        tenth(low + (value - self.low) / (self.high - self.low) * (high - low))
    }
}

/// Short enough for a file: a tenth of a unit is not seen.
pub fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_does_not_fill_the_scale() {
        let scale = Scale::of([100.0, 100.1].into_iter());
        let apart = scale.at(100.1) - scale.at(100.0);
        assert!(apart < 0.1 * (RIGHT - LEFT), "{apart}");
        let scale = Scale::of([100.0, 200.0].into_iter());
        assert!(scale.at(200.0) < RIGHT && scale.at(100.0) > LEFT);
        assert!(scale.at(200.0) - scale.at(100.0) > 0.8 * (RIGHT - LEFT));
    }

    #[test]
    fn nothing_and_zero_have_a_scale_too() {
        assert_eq!(Scale::of(std::iter::empty()).at(0.0), LEFT);
        assert!(Scale::of([0.0].into_iter()).at(0.0).is_finite());
    }
}
