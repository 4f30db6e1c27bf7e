//! ASCII replacements of equal width for the signs of reports.

/// Replaces the report's own signs. Names and paths of the user stay unchanged.
pub fn ascii(text: &str) -> String {
    // A bound's two ASCII characters take the place of the sign and the blank after it.
    let text = text.replace("≥ ", ">=").replace("≤ ", "<=");
    text.chars().map(sign).collect()
}

fn sign(c: char) -> char {
    match c {
        '█' | '▇' | '▆' | '▅' | '▄' => '#',
        '▃' | '▂' | '▁' => '_',
        '·' | '…' => '.',
        '┤' | '┼' | '┬' | '✓' => '+',
        '│' => '|',
        '⋮' => ':',
        '─' | '–' | '−' => '-',
        '†' => '+',
        '✗' => 'x',
        '■' => '!',
        '›' => '>',
        '▾' => 'v',
        '▴' => '^',
        '×' => 'x',
        'µ' => 'u',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_keeps_what_it_says_and_its_width() {
        assert_eq!(ascii("│  ≥ 340.0│ ≤ 12.0"), "|  >=340.0| <=12.0");
    }
}
