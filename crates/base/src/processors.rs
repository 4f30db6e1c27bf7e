//! Numbers of processors as text, in both directions.

use std::collections::BTreeSet;

/// The advice for a list that cannot be read.
pub const CURE: &str = "write numbers and ranges of processors, such as 0-3,6";

/// Numbers and ranges, such as `0-3,6`, each once and in rising order.
pub fn list(text: &str) -> Option<Vec<usize>> {
    let mut list: BTreeSet<usize> = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list.into_iter().collect())
}

/// The number of a processor. A large one is a mistake, and a range up to it would not fit into memory.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.trim().parse().ok()?;
    if number < 65_536 { Some(number) } else { None }
}

/// 0, 1, 2, 5 → `0-2,5`.
pub fn ranges(cpus: &[usize]) -> String {
    let ranges: Vec<String> = cpus
        .chunk_by(|cpu, next| cpu + 1 == *next)
        .map(|range| match range {
            [cpu] => cpu.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    ranges.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(list("2,0-1"), Some(vec![0, 1, 2]));
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "");
        for wrong in ["", "a", "3-1", "1,", "-1", "99999999"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }
}
