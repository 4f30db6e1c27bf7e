//! Curves of one line: a character for each column, whose height is the value.

use crate::curve::Columns;

/// A character's lower eighths, from none to all.
pub const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const ASCII: [char; 4] = ['_', '.', '-', '#'];

/// The highest value of each column, where the lowest block is `low` and the full one `high`; a blank where none is known.
pub fn blocks(columns: &Columns, (low, high): (u64, u64), ascii: bool) -> String {
    let blocks = if ascii { &ASCII } else { &EIGHTHS[1..] };
    let last = blocks.len() - 1;
    let scale = u128::from(high.saturating_sub(low).max(1));
    let mut line = String::new();
    for span in columns {
        let Some(span) = span else {
            line.push(' ');
            continue;
        };
        let step = u128::from(span.high().saturating_sub(low)) * last as u128 / scale;
        line.push(blocks[last.min(step as usize)]);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Span;

    #[test]
    fn each_column_is_as_high_as_its_highest_value() {
        let columns = [Some(0), Some(4), None, Some(8)]
            .map(|value| value.map(Span::constant))
            .to_vec();
        assert_eq!(blocks(&columns, (0, 8), false), "▁▄ █");
        assert_eq!(blocks(&columns, (0, 8), true), "_. #");
        let spike = vec![Some(Span { first: 9, then: 1 }); 2];
        assert_eq!(blocks(&spike, (1, 9), false), "██");
        assert_eq!(blocks(&spike, (9, 9), false), "▁▁");
        assert_eq!(blocks(&Vec::new(), (0, 8), false), "");
    }
}
