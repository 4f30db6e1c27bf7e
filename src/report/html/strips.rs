//! Strip plots: every run a dot, the median and its interval beside it, all servers of one place on one scale.

use maud::{Markup, html};

use crate::compare::{Cell, Comparison, Figure, Place, Row, Unit};
use crate::report::comparison::figures;
use crate::text::{clean, cut, width};

use crate::document::Picture;
use crate::document::page::Keys;

/// The drawing in units of its own; the page scales it.
pub(super) const WIDTH: f64 = 360.0;
const LEFT: f64 = 112.0;
pub(super) const RIGHT: f64 = 348.0;
const TOP: f64 = 8.0;
const ROW: f64 = 26.0;

/// Room for a label above its strip.
const ABOVE: f64 = 14.0;

/// Most letters of a label that have room beside its strip, and above it.
const LETTERS: usize = 16;
const LONGEST: usize = 56;

/// A plot for the private memory of each phase, and for the figures of whole runs.
pub struct Strips<'c> {
    pub comparison: &'c Comparison,
    pub keys: Keys,
}

impl Picture for Strips<'_> {
    /// Its tables have a strip in each row.
    fn rows(&self, _: usize) -> Option<(Vec<String>, String)> {
        None
    }

    fn markup(&self) -> Option<Markup> {
        let rows = self.comparison.rows.iter().filter(|row| match row.measure.place {
            Place::Phase { .. } => row.measure.figure == Figure::Private,
            Place::Run => true,
            Place::Method(_) => false,
        });
        Some(html! {
            p.quiet { "Every dot is a run, the bar is the median, the band its interval. Each plot has a scale of its own, which does not begin at 0." }
            div.plots { @for row in rows { (plot(self.comparison, row, self.keys)) } }
        })
    }
}

fn plot(comparison: &Comparison, row: &Row, keys: Keys) -> Markup {
    let unit = row.measure.figure.unit();
    let values = || row.cells.iter().flat_map(|cell| cell.values.iter().flatten().copied());
    let scale = Scale::of(values());
    let frame = Frame::of(comparison.sides.iter().map(|side| side.label.as_str()));
    let height = TOP + (ROW + frame.above) * comparison.sides.len() as f64 + 20.0;
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
                    @let side = &comparison.sides[place];
                    @let middle = TOP + (ROW + frame.above) * (place as f64 + 1.0) - ROW / 2.0;
                    g class=(keys.class(place)) {
                        (frame.label(&side.label, middle + 4.0, middle - 13.0))
                        (strip(&side.runs, middle, cell, unit, &|value| scale.between(value, frame.left, RIGHT)))
                    }
                }
                @let base = height - 18.0;
                line.axis x1=(frame.left) x2=(RIGHT) y1=(base) y2=(base) {}
                @let end = |value| figures::value_like(value, figures::as_set(unit), scale.high);
                text.tick x=(frame.left) y=(height - 4.0) { (end(scale.low)) }
                text.tick.end x=(RIGHT) y=(height - 4.0) { (end(scale.high)) }
            }
        }
    }
}

/// Where labels and what they are of stand: beside each other, or labels above where they are too long for that. None is cut
/// that has room in some way, for labels that begin alike would become one.
pub(super) struct Frame {
    /// The left end of what is drawn.
    pub left: f64,
    /// How much higher each row is for its label.
    pub above: f64,
}

impl Frame {
    pub fn of<'l>(mut labels: impl Iterator<Item = &'l str>) -> Frame {
        match labels.any(|label| width(label) > LETTERS) {
            false => Frame { left: LEFT, above: 0.0 },
            true => Frame {
                left: WIDTH - RIGHT,
                above: ABOVE,
            },
        }
    }

    /// A label on one of two base lines, by where it stands.
    pub fn label(&self, label: &str, beside: f64, above: f64) -> Markup {
        html! {
            @if self.above > 0.0 { text.name x=(self.left) y=(tenth(above)) { (cut(&clean(label), LONGEST)) } }
            @else { text.label x=(self.left - 8.0) y=(tenth(beside)) { (clean(label)) } }
        }
    }
}

fn strip(runs: &[String], middle: f64, cell: &Cell, unit: Unit, at: &dyn Fn(f64) -> f64) -> Markup {
    html! {
        @if let Some(median) = cell.median {
            @let (low, high) = (at(median.low), at(median.high));
            rect.band x=(low) y=(middle - 9.0) width=(tenth((high - low).max(1.0))) height="18" {}
            line.middle x1=(at(median.median)) x2=(at(median.median)) y1=(middle - 10.0) y2=(middle + 10.0) {}
        }
        @for (run, value) in cell.values.iter().enumerate() {
            @if let Some(value) = value {
                // Runs of one value would hide each other; up and down says nothing.
                @let shift = ((run * 7) % 5) as f64 * 2.4 - 4.8;
                circle.run cx=(at(*value)) cy=(tenth(middle + shift)) r="3.2" {
                    title { (clean(&format!("{}: {}", name(runs, run), figures::value_with_unit(*value, unit)))) }
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
        let at = |scale: &Scale, value: f64| scale.between(value, LEFT, RIGHT);
        let apart = at(&scale, 100.1) - at(&scale, 100.0);
        assert!(apart < 0.1 * (RIGHT - LEFT), "{apart}");
        let scale = Scale::of([100.0, 200.0].into_iter());
        assert!(at(&scale, 200.0) < RIGHT && at(&scale, 100.0) > LEFT);
        assert!(at(&scale, 200.0) - at(&scale, 100.0) > 0.8 * (RIGHT - LEFT));
    }

    #[test]
    fn nothing_and_zero_have_a_scale_too() {
        assert_eq!(Scale::of(std::iter::empty()).between(0.0, LEFT, RIGHT), LEFT);
        assert!(Scale::of([0.0].into_iter()).between(0.0, LEFT, RIGHT).is_finite());
    }

    #[test]
    fn labels_that_begin_alike_are_not_cut_to_one() {
        let long = ["thread.dirty-1000", "thread.dirty-10000", "thread.dirty-1000.narenas-2"];
        let frame = Frame::of(long.into_iter());
        for label in long {
            assert!(
                frame
                    .label(label, 20.0, 8.0)
                    .into_string()
                    .contains(&format!(">{label}<"))
            );
        }
        assert!(Frame::of(["ty", "ty-jemalloc"].into_iter()).above.abs() < f64::EPSILON);
    }
}
