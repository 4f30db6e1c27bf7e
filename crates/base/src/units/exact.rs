//! Sizes with all their digits, so that rounding never moves a limit.

use super::Size;

/// Units of sizes, binary units first.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Most decimals that are tried.
const DECIMALS: usize = 6;

/// The shortest text that parses to exactly this size: `18.45 MiB`, `200 MiB`, `500 MB`, `12345678 B`.
pub fn exact_bytes(value: u64) -> String {
    let texts = UNITS
        .into_iter()
        .filter(|(_, factor)| value >= *factor)
        .filter_map(|(unit, factor)| written(value, unit, factor));
    texts.min_by_key(String::len).unwrap_or_else(|| format!("{value} B"))
}

/// The size in this unit; `None` if it needs too many decimals.
fn written(value: u64, unit: &str, factor: u64) -> Option<String> {
    let number = value as f64 / factor as f64;
    let mut texts = (0..=DECIMALS).map(|decimals| format!("{number:.decimals$} {unit}"));
    texts.find(|text| text.parse() == Ok(Size(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_told_as_it_was_written() {
        for text in [
            "18.45 MiB", "200 MiB", "1.5 GiB", "500 MB", "64 KiB", "12345678 B", "0 B", "0.999 MB",
        ] {
            let Size(value) = text.parse().unwrap();
            let printed = exact_bytes(value);
            assert_eq!(printed.parse(), Ok(Size(value)), "{text}");
            let expected = if text == "0.999 MB" { "999 kB" } else { text };
            assert_eq!(printed, expected);
        }
        for value in [u64::MAX, 1023, 1025, (1 << 30) + 1] {
            assert_eq!(exact_bytes(value).parse(), Ok(Size(value)));
        }
    }
}
