//! What to conclude of all servers, in one sentence.

use crate::compare::{Comparison, Ratio, Row};

use super::words;

/// Servers of which each is told by itself.
const FEW: usize = 4;

/// How a server stands to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Less,
    More,
    Alike,
}

/// What to conclude, the most telling first: of several servers one sentence on the figure that a choice hangs on, then what
/// else there is to say of each.
pub fn conclusions(comparison: &Comparison) -> Vec<String> {
    if let Some(nothing) = words::no_run_counts(comparison) {
        return vec![nothing];
    }
    let others = 1..comparison.sides.len();
    let row = words::telling(comparison).into_iter().next();
    let ratio = |place: usize| Some((place, words::ratio(comparison, place, row?)?));
    let known: Vec<(usize, &Ratio)> = others.clone().filter_map(ratio).collect();
    let Some(row) = row.filter(|_| known.len() > 1) else {
        return others.flat_map(|place| words::verdict(comparison, place)).collect();
    };
    let rest = others.flat_map(|place| {
        // Its first sentence is on that figure, where it is known.
        let told = known.iter().filter(|(one, _)| *one == place).count();
        words::verdict(comparison, place).into_iter().skip(told)
    });
    [headline(comparison, row, &known)].into_iter().chain(rest).collect()
}

/// One figure of all servers against the baseline.
fn headline(comparison: &Comparison, row: &Row, known: &[(usize, &Ratio)]) -> String {
    let verdict = match known.len() {
        ..=FEW => known
            .iter()
            .map(|(place, ratio)| one(&comparison.sides[*place].label, ratio))
            .collect(),
        _ => counted(known),
    };
    let runs = words::runs_of(known[0].1);
    let runs = match known.iter().all(|(_, ratio)| words::runs_of(ratio) == runs) {
        true => format!(", {runs}"),
        false => String::new(),
    };
    let (first, what) = row.measure.figure.words().split_at(1);
    format!(
        "{}{what}{} against {}: {}{runs}",
        first.to_uppercase(),
        row.measure.place.suffix(),
        comparison.sides[0].label,
        verdict.join(", ")
    )
}

/// `ty-jemalloc 7–16 % less`.
fn one(label: &str, ratio: &Ratio) -> String {
    let range = words::range(ratio.low, ratio.high);
    match stands(ratio) {
        Stands::Less | Stands::More => format!("{label} {range}"),
        Stands::Alike => format!("{label} not told apart ({range})"),
    }
}

/// `3 of 12 servers less, 2 more, 7 not told apart`.
fn counted(known: &[(usize, &Ratio)]) -> Vec<String> {
    let count = |wanted: Stands| known.iter().filter(|(_, ratio)| stands(ratio) == wanted).count();
    let parts = [
        (Stands::Less, "less"),
        (Stands::More, "more"),
        (Stands::Alike, "not told apart"),
    ];
    let parts = parts.map(|(stands, word)| (count(stands), word));
    let mut all = Some(format!(" of {} servers", known.len()));
    let some = parts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{count}{} {word}", all.take().unwrap_or_default()))
        .collect()
}

fn stands(ratio: &Ratio) -> Stands {
    match ratio {
        ratio if !ratio.differs() => Stands::Alike,
        ratio if ratio.high < 1.0 => Stands::Less,
        _ => Stands::More,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio {
            ratio: f64::midpoint(low, high),
            low,
            high,
            p: 0.5,
            runs: (8, 8),
            machines: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn a_server_has_less_or_more_or_is_not_told_apart() {
        assert_eq!(one("a", &ratio(0.84, 0.93)), "a 7–16 % less");
        assert_eq!(one("b", &ratio(1.13, 1.22)), "b 13–22 % more");
        assert_eq!(
            one("c", &ratio(0.98, 1.03)),
            "c not told apart (between 2 % less and 3 % more)"
        );
    }

    #[test]
    fn many_servers_are_counted() {
        let (less, more, alike) = (ratio(0.8, 0.9), ratio(1.1, 1.2), ratio(0.9, 1.1));
        let known = [&less, &alike, &more, &less, &alike].map(|ratio| (1, ratio));
        assert_eq!(
            counted(&known).join(", "),
            "2 of 5 servers less, 1 more, 2 not told apart"
        );
        assert_eq!(counted(&known[1..2]).join(", "), "1 of 1 servers not told apart");
    }
}
