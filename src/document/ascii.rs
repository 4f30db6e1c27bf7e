//! Signs of reports for terminals that know ASCII only. They take as much room, so that everything still lines up.

/// The text with the report's own signs in ASCII. Names and paths that the user chose stay as they are.
pub fn ascii(text: &str) -> String {
    // With the blank that follows it a bound has room for both of its signs.
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
