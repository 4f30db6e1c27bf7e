//! The memory curve drawn with block characters, phases beneath it.

use crate::record::Nanos;
use crate::summary::{Bucket, PhaseSummary, Timeline};

use crate::text::{clean, cut, width};

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const LINES: usize = 3;

/// Columns of the axis: a value, a blank and the line.
const AXIS: usize = 8;

/// A drawn chart, line by line, without styles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The curve with its axis, from the top.
    pub rows: Vec<String>,
    pub ticks: String,
    /// Names of the phases, each beneath its tick, in as many lines as they need.
    pub names: Vec<String>,
    /// Whether memory is not known somewhere.
    pub gaps: bool,
    /// How much time a column covers.
    pub column: Nanos,
}

/// Draws private memory as a body of blocks and resident memory, above it, as dots.
///
/// Every column shows the highest value in its stretch of time, so no spike is lost. `None` if nothing was sampled
/// or there is no room.
pub fn draw(timeline: &Timeline, phases: &[PhaseSummary], until: Nanos, columns: usize) -> Option<Chart> {
    let columns = columns.checked_sub(AXIS).filter(|columns| *columns >= 16)? as u64;
    let column = until.div_ceil(columns).max(1);
    let values: Vec<Option<Bucket>> = (0..columns)
        .map(|place| timeline.between(place.saturating_mul(column), (place + 1).saturating_mul(column)))
        .collect();
    let most = values
        .iter()
        .flatten()
        .map(|bucket| bucket.resident.high().max(bucket.private.high()))
        .max()?;
    let (step, steps) = scale(most);
    let height = steps * 2;
    let rows = (0..height).map(|row| {
        let label = if row % 2 == 0 {
            mebibytes(step * (steps - row / 2))
        } else {
            String::new()
        };
        let tick = if row % 2 == 0 { '┤' } else { '│' };
        let cells: String = values
            .iter()
            .map(|value| cell(*value, height - 1 - row, step / 2))
            .collect();
        format!("{label:>6} {tick}{cells}").trim_end().to_owned()
    });
    let (ticks, names) = below(phases, column, columns);
    Some(Chart {
        rows: rows.collect(),
        ticks: format!("{:>6} ┼{ticks}", 0),
        names: names.into_iter().map(|names| format!("{:8}{names}", "")).collect(),
        gaps: values.contains(&None),
        column,
    })
}

/// A round distance between labels and how many of them, at most 5: halves of a MiB down to an eighth for a small
/// server, otherwise 1, 2 or 5 times a power of ten MiB.
pub(super) fn scale(most: u64) -> (u64, u64) {
    let small = [1 << 17, 1 << 18, 1 << 19];
    let large = (0..12).flat_map(|power| [1, 2, 5].map(|digit| (digit * 10u64.pow(power)) << 20));
    let step = small.into_iter().chain(large).find(|step| step * 5 >= most);
    let step = step.unwrap_or(most.div_ceil(5));
    (step, most.div_ceil(step).max(1))
}

pub(super) fn mebibytes(value: u64) -> String {
    let mib = value as f64 / f64::from(1 << 20);
    if value.is_multiple_of(1 << 20) {
        format!("{mib:.0}")
    } else {
        format!("{mib}")
    }
}

/// One character: `row` counts from the bottom, each `height` bytes high.
fn cell(value: Option<Bucket>, row: u64, height: u64) -> char {
    let Some(value) = value else { return ' ' };
    let within = |size: u64| size.saturating_sub(row * height).min(height);
    let eighths = (within(value.private.high()) * 8).div_ceil(height);
    let top = value.resident.high().saturating_sub(1) / height;
    match eighths {
        0 if top == row => '·',
        // At most 8, since what is within a row is at most its height.
        eighths => BLOCKS[eighths.min(8) as usize],
    }
}

/// Where phases begin, and their names in the first line that has room. A phase that begins in a column already taken
/// is not marked. A name that would leave the chart on the right ends where that ends.
fn below(phases: &[PhaseSummary], column: Nanos, columns: u64) -> (String, Vec<String>) {
    let columns = columns as usize;
    let mut ticks = vec!['─'; columns];
    let mut lines: Vec<String> = Vec::new();
    for phase in phases {
        let place = usize::try_from(phase.started / column).map_or(columns - 1, |place| place.min(columns - 1));
        if ticks[place] == '┬' {
            continue;
        }
        ticks[place] = '┬';
        let name = cut(&clean(&phase.phase.name), columns);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Reader;
    use crate::record::golden::Session;
    use crate::summary::{Span, Summary};

    const MIB: u64 = 1 << 20;

    #[test]
    fn labels_are_round_and_at_most_five() {
        for (most, step, steps) in [
            (207, 50, 5),
            (35, 10, 4),
            (3_000, 1_000, 3),
            (9, 2, 5),
            (80_000, 20_000, 4),
        ] {
            assert_eq!(scale(most * MIB), (step * MIB, steps), "{most}");
        }
        assert_eq!(scale(MIB), (MIB / 4, 4));
    }

    #[test]
    fn a_cell_is_filled_by_eighths_and_topped_by_a_dot() {
        let bucket = |private, resident| {
            let span = |high| Span { first: 0, then: high };
            Some(Bucket {
                private: span(private),
                resident: span(resident),
            })
        };
        assert_eq!(cell(bucket(80, 200), 0, 80), '█');
        assert_eq!(cell(bucket(40, 200), 0, 80), '▄');
        assert_eq!(cell(bucket(1, 200), 0, 80), '▁');
        assert_eq!(cell(bucket(80, 200), 1, 80), ' ');
        assert_eq!(cell(bucket(80, 200), 2, 80), '·');
        assert_eq!(cell(None, 0, 80), ' ');
    }

    fn summary(session: &Session) -> Summary {
        let bytes = session.bytes();
        crate::summary::read(Reader::new(&bytes[..]).unwrap()).unwrap()
    }

    #[test]
    fn every_name_stands_beneath_its_tick_in_the_first_line_with_room() {
        let mut session = Session::new("server");
        for name in ["start", "検索", "goto", "completions", "decay", "the end"] {
            session.phase(name);
            session.at += 1_000_000_000;
        }
        let (ticks, lines) = below(&summary(&session).phases, 250_000_000, 22);
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
        let mut session = Session::new("server");
        session.at = 1_000_000_000;
        session.spawn(0, "server", None, 20, 20);
        session.go(0, 20, 1, 0);
        session.vanish(0);
        session.at += 1_000_000_000;
        session.phase("after the server");
        let chart = draw(&summary(&session).timeline, &[], 3_600_000_000, 26).unwrap();
        assert_eq!(chart.rows.last().unwrap(), "       │     ██████");
        assert!(chart.gaps);
    }
}
