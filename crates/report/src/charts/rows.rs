//! Charts of characters: memory over a run, the curve of a window, and runs as marks on a line.

use base::curve::{Curve, even_bounds};
use base::text::{EIGHTHS, blocks, clean, cut, width};
use base::units;
use record::Nanos;

use super::axis::{mebibytes, sizes};

const LINES: usize = 3;

/// Columns of the axis: a value, a blank and the line.
const AXIS: usize = 8;

/// Highest private and resident memory in a column.
type Highest = Option<(u64, u64)>;

pub struct Memory {
    pub private: Curve,
    pub resident: Curve,
    pub until: Nanos,
    pub phases: Vec<(Nanos, String)>,
    /// Name of resident memory in the legend.
    pub resident_name: &'static str,
}

impl Memory {
    /// Rows and legend: private memory as blocks, resident memory as dots above.
    ///
    /// Each column shows the highest value in its stretch of time, so no spike is lost. `None` without samples or
    /// without room.
    pub fn draw(&self, columns: usize) -> Option<(Vec<String>, String)> {
        let columns = columns.checked_sub(AXIS).filter(|columns| *columns >= 16)? as u64;
        let column = self.until / columns + 1;
        let mut values = self.highest(column);
        values.resize(columns as usize, None);
        let most = values
            .iter()
            .flatten()
            .map(|(private, resident)| *resident.max(private))
            .max()?;
        let (step, steps) = sizes(most);
        let height = steps * 2;
        let mut rows: Vec<String> = Vec::new();
        for row in 0..height {
            let (label, tick) = if row % 2 == 0 {
                (mebibytes(step * (steps - row / 2)), '┤')
            } else {
                (String::new(), '│')
            };
            let cells: String = values
                .iter()
                .map(|value| cell(*value, height - 1 - row, step / 2))
                .collect();
            rows.push(format!("{label:>6} {tick}{cells}").trim_end().to_owned());
        }
        let (ticks, names) = below(&self.phases, column, columns as usize);
        rows.push(format!("{:>6} ┼{ticks}", 0));
        rows.extend(names.into_iter().map(|names| format!("{:8}{names}", "")));
        let blank = if values.contains(&None) {
            "; blank: not known"
        } else {
            ""
        };
        let legend = format!(
            "█ private (an upper bound); · {}; ┬ a phase begins, right after the checkpoint of the one before; each column is \
             the highest of {}{blank}",
            self.resident_name,
            units::nanoseconds(column)
        );
        Some((rows, legend))
    }

    fn highest(&self, column: Nanos) -> Vec<Highest> {
        let private = self.private.columns(column, self.until);
        let resident = self.resident.columns(column, self.until);
        let mut highest = Vec::new();
        for (private, resident) in private.into_iter().zip(resident) {
            highest.push(
                private
                    .zip(resident)
                    .map(|(private, resident)| (private.high(), resident.high())),
            );
        }
        highest
    }
}

/// One character; `row` counts from the bottom and is `height` bytes high. Row `n` is centred on `n` times `height`,
/// so a value near a labelled line is drawn on that line. The lowest row also shows smaller values.
fn cell(value: Highest, row: u64, height: u64) -> char {
    let Some((private, resident)) = value else { return ' ' };
    let within = drawn_height(private, height).saturating_sub(row * height).min(height);
    let top = drawn_height(resident, height).saturating_sub(1) / height;
    match (within * 8).div_ceil(height) {
        0 if top == row => '·',
        // At most 8, since a value within a row is at most its height.
        eighths => EIGHTHS[eighths.min(8) as usize],
    }
}

/// Bytes from the lower end of the lowest row, at least 1 for any memory, so that it is visible.
fn drawn_height(value: u64, row_height: u64) -> u64 {
    if value == 0 {
        0
    } else {
        value.saturating_sub(row_height / 2).max(1)
    }
}

/// The line of phase starts, and phase names in the first line with room. Phases that share a column get one mark. A
/// name near the right end moves left.
fn below(phases: &[(Nanos, String)], column: Nanos, columns: usize) -> (String, Vec<String>) {
    let mut ticks = vec!['─'; columns];
    let mut lines: Vec<String> = Vec::new();
    for (started, name) in phases {
        let place = usize::try_from(started / column).map_or(columns - 1, |place| place.min(columns - 1));
        if ticks[place] == '┬' {
            continue;
        }
        ticks[place] = '┬';
        let name = cut(&clean(name), columns);
        let start = place.min(columns - width(&name));
        let free = lines.iter().position(|line| line.is_empty() || width(line) < start);
        let free = free.unwrap_or(lines.len());
        if free == lines.len() && free < LINES {
            lines.push(String::new());
        }
        if let Some(line) = lines.get_mut(free) {
            let fill = " ".repeat(start - width(line));
            line.push_str(&fill);
            line.push_str(&name);
        }
    }
    (ticks.into_iter().collect(), lines)
}

/// The common scale of several curves.
#[derive(Clone, Copy)]
pub struct Curves {
    low: u64,
    high: u64,
    longest: Nanos,
}

impl Curves {
    /// The scale for these curves with their durations. A curve that varies by less than a MiB looks flat.
    pub fn new<'c>(curves: impl Iterator<Item = (Nanos, &'c Curve)> + Clone) -> Curves {
        let longest = curves.clone().map(|(took, _)| took).max().unwrap_or(0);
        let values = curves.flat_map(|(_, curve)| curve.points().iter().filter_map(|(_, value)| *value));
        let low = values.clone().min().unwrap_or(0);
        let high = values.max().unwrap_or(0);
        Curves {
            low,
            high: high.max(low.saturating_add(1 << 20)),
            longest: longest.max(1),
        }
    }

    /// A curve; its share of `columns` is its share of the longest duration. Each column shows the highest value of
    /// its stretch. Empty without values.
    pub fn draw(&self, (took, curve): (Nanos, &Curve), columns: usize) -> String {
        if curve.points().is_empty() {
            return String::new();
        }
        let columns = (columns as f64 * took as f64 / self.longest as f64).round() as u64;
        let columns = columns.max(1);
        blocks(&curve.reduce(&even_bounds(took, columns)), (self.low, self.high), false)
    }
}

/// The number of runs at each place between `low` and `high`, so groups and outliers stay visible: `·` is one run, a
/// digit several, `+` ten or more.
pub fn strip(values: impl Iterator<Item = f64>, low: f64, high: f64, columns: usize) -> String {
    let mut counts = vec![0_u32; columns];
    let span = high - low;
    for value in values {
        let share = if span > 0.0 { (value - low) / span } else { 0.5 };
        let place = (share * columns.saturating_sub(1) as f64).round() as usize;
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts.into_iter().map(count_mark).collect()
}

fn count_mark(count: u32) -> char {
    match count {
        0 => ' ',
        1 => '·',
        2..=9 => char::from_digit(count, 10).unwrap_or('+'),
        _ => '+',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Private and resident memory from these moments on.
    fn memory(points: &[(Nanos, Highest)], until: Nanos) -> Memory {
        let private = points.iter().map(|(at, sizes)| (*at, sizes.map(|sizes| sizes.0)));
        let resident = points.iter().map(|(at, sizes)| (*at, sizes.map(|sizes| sizes.1)));
        Memory {
            private: private.collect(),
            resident: resident.collect(),
            until,
            phases: Vec::new(),
            resident_name: "resident",
        }
    }

    #[test]
    fn a_cell_is_filled_by_eighths_and_topped_by_a_dot() {
        assert_eq!(cell(Some((120, 200)), 0, 80), '█');
        assert_eq!(cell(Some((80, 200)), 0, 80), '▄');
        assert_eq!(cell(Some((1, 200)), 0, 80), '▁');
        assert_eq!(cell(Some((80, 200)), 1, 80), '·');
        assert_eq!(cell(Some((80, 200)), 2, 80), ' ');
        assert_eq!(cell(None, 0, 80), ' ');
    }

    #[test]
    fn a_value_is_drawn_on_the_line_that_is_nearest_to_it() {
        assert_eq!(
            [9.6, 10.0, 7.7, 8.4].map(label_of_highest_row),
            [Some(10.0), Some(10.0), Some(8.0), Some(8.0)]
        );
        // 9.2 is nearer to the unlabelled line of 9 than to the line of 10.
        assert_eq!([9.2, 8.6].map(label_of_highest_row), [None, None]);
    }

    /// Label of the highest row in which a run with this memory is drawn.
    fn label_of_highest_row(mib: f64) -> Option<f64> {
        let bytes = (mib * f64::from(1 << 20)) as u64;
        // The axis ends at 10 MiB in each case, with two rows per 2 MiB.
        let memory = memory(&[(0, Some((bytes, bytes))), (4, Some((0, 10 << 20)))], 16);
        let (rows, _) = memory.draw(24).unwrap();
        let highest = rows
            .iter()
            .position(|row| row.chars().nth(8).is_some_and(|cell| cell != ' '));
        let row = &rows[highest.unwrap()];
        row[..6].trim().parse().ok()
    }

    #[test]
    fn every_name_stands_beneath_its_tick_in_the_first_line_with_room() {
        let names = ["start", "検索", "goto", "completions", "decay", "the end"];
        let phases = (0..).zip(names).map(|(at, name)| (at * 1_000_000_000, name.to_owned()));
        let (ticks, lines) = below(&phases.collect::<Vec<(Nanos, String)>>(), 250_000_000, 22);
        assert_eq!(ticks, "┬───┬───┬───┬───┬───┬─");
        assert_eq!(
            lines,
            [
                "start   goto    decay",
                "    検索   completions",
                "               the end"
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_a_gap_and_not_nothing() {
        let known = Some((20 << 20, 20 << 20));
        let memory = memory(&[(5, known), (11, None)], 17);
        let (rows, legend) = memory.draw(26).unwrap();
        assert_eq!(rows[rows.len() - 2], "       │     ██████");
        assert!(legend.ends_with("; blank: not known"), "{legend}");
    }

    #[test]
    fn a_spike_of_one_bucket_is_in_its_column() {
        let low = Some((1 << 20, 1 << 20));
        let memory = memory(&[(0, low), (700, Some((8 << 20, 8 << 20))), (701, low)], 1_000);
        let (rows, _) = memory.draw(28).unwrap();
        assert_eq!(rows[1].matches('█').count(), 1, "{rows:?}");
        let flat = Curve::from_iter([(0, Some(1 << 20))]);
        let spike = Curve::from_iter([(0, Some(1 << 20)), (4, Some(9 << 20)), (5, Some(1 << 20))]);
        let both = [(9, &flat), (9, &spike)];
        let curves = Curves::new(both.into_iter());
        assert_eq!(
            (curves.draw(both[0], 3), curves.draw(both[1], 3)),
            ("▁▁▁".to_owned(), "▁█▁".to_owned())
        );
    }

    #[test]
    fn two_groups_are_seen_as_two() {
        let runs = [317.0, 317.1, 340.0, 317.2, 341.0];
        assert_eq!(
            strip(runs.into_iter(), 317.0, 341.0, 11),
            "3          2".replacen("  ", " ", 1)
        );
    }

    #[test]
    fn equal_runs_stand_in_the_middle() {
        assert_eq!(strip([5.0; 12].into_iter(), 5.0, 5.0, 5), "  +  ");
        assert_eq!(strip(std::iter::empty(), 5.0, 5.0, 3), "   ");
    }
}
