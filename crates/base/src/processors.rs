//! Numbers of processors as text, in both directions.

use std::collections::BTreeSet;

/// What is told where a list cannot be read.
pub const CURE: &str = "write numbers and ranges of processors, such as 0-3,6";

/// Numbers and ranges, such as `0-3,6`, each once and in rising order.
pub fn list(text: &str) -> Option<Vec<usize>> {
    let mut list: BTreeSet<usize> = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse().ok().filter(|number: &usize| *number < 65_536);
        let (first, last) = number(first).zip(number(last))?;
        if first > last {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list.into_iter().collect())
}

/// 0, 1, 2, 5 → `0-2,5`.
pub fn ranges(cpus: &[usize]) -> String {
    let ranges = cpus.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<String>>().join(",")
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
