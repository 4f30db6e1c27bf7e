//! Signs of reports for terminals that know ASCII only. Each becomes one other sign, so that everything still lines up.

/// The text with the report's own signs in ASCII. Names and paths that the user chose stay as they are.
pub fn ascii(text: &str) -> String {
    text.chars().map(sign).collect()
}

fn sign(c: char) -> char {
    match c {
        '█' | '▇' | '▆' | '▅' | '▄' => '#',
        '▃' | '▂' | '▁' => '_',
        '·' | '…' => '.',
        '┤' | '┼' | '┬' | '✓' => '+',
        '│' => '|',
        '─' | '–' | '−' => '-',
        '≥' => '>',
        '≤' => '<',
        '✗' => 'x',
        '■' => '!',
        '›' => '>',
        '×' => 'x',
        'µ' => 'u',
        c => c,
    }
}
