//! Places texts in a chart without overlaps.

use base::text::width;

const LETTER: f64 = 11.0;

/// Approximate width of a text: the font is unknown.
pub fn room(text: &str, size: f64) -> f64 {
    width(text) as f64 * size * 0.58
}

/// A rectangle; `top` is smaller than `bottom`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Area {
    pub fn is_over(&self, other: &Area) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// A text at its left end and base line.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub left: f64,
    pub down: f64,
    pub text: String,
}

impl Label {
    /// Whether the two labels look like one column.
    fn is_near(&self, other: &Label) -> bool {
        const BETWEEN: f64 = 24.0;
        let (one, other) = (self.area(), other.area());
        one.left < other.right + BETWEEN && other.left < one.right + BETWEEN
    }

    pub fn area(&self) -> Area {
        Area {
            left: self.left - 2.0,
            right: self.left + room(&self.text, 12.0) + 2.0,
            top: self.down - LETTER,
            bottom: self.down + 2.0,
        }
    }
}

/// Vertical shifts to try, in this order.
const SHIFTS: [f64; 17] = [
    0.0, -14.0, 14.0, -28.0, 28.0, 42.0, 56.0, -42.0, -56.0, 70.0, -70.0, 84.0, -84.0, 98.0, -98.0, 112.0, -112.0,
];

/// Places each text near its point, within the width `whole` and the height `deep`; right or left of the point, or
/// some lines away. Texts avoid `marks` if possible, and each other if there is room. Neighbours keep the vertical
/// order of their points. Returns the order of the points.
pub fn place(points: &[(f64, f64, String)], marks: &[Area], (whole, deep): (f64, f64)) -> Vec<Label> {
    let mut downwards: Vec<usize> = (0..points.len()).collect();
    downwards.sort_by(|a, b| points[*a].1.total_cmp(&points[*b].1));
    let mut placed: Vec<(usize, Label)> = Vec::new();
    for point in downwards {
        let (x, y, text) = &points[point];
        let wide = room(text, 12.0);
        let places = SHIFTS.into_iter().flat_map(|shift| {
            [x + 9.0, x - 9.0 - wide].map(|left| Label {
                left,
                down: y - 1.0 + shift,
                text: text.clone(),
            })
        });
        let inside =
            |label: &Label| label.left >= 0.0 && label.left + wide <= whole && (LETTER..=deep).contains(&label.down);
        let places: Vec<Label> = places.filter(inside).collect();
        let others = || placed.iter().map(|(_, other)| other);
        let apart = |label: &&Label| !others().any(|other| other.area().is_over(&label.area()));
        let below = |label: &&Label| !others().any(|other| other.is_near(label) && other.down > label.down);
        let clear = |label: &&Label| !marks.iter().any(|mark| mark.is_over(&label.area()));
        let in_order = |label: &&Label| apart(label) && below(label);
        let best = places.iter().find(|label| in_order(label) && clear(label));
        let best = best.or_else(|| places.iter().find(|label| apart(label) && clear(label)));
        let best = best.or_else(|| places.iter().find(in_order));
        let best = best.or_else(|| places.iter().find(apart)).or(places.first());
        let anywhere = || Label {
            left: (x + 9.0).min(whole - wide),
            down: *y,
            text: text.clone(),
        };
        placed.push((point, best.cloned().unwrap_or_else(anywhere)));
    }
    placed.sort_by_key(|(point, _)| *point);
    placed.into_iter().map(|(_, label)| label).collect()
}

/// Names of stretches from left to right, in two rows.
#[derive(Debug, Default, PartialEq)]
pub struct Names {
    /// Names that fit their stretch.
    pub lower: Vec<Label>,
    /// Longer names, each with the left end of its stretch.
    pub upper: Vec<(f64, Label)>,
    pub left_out: Vec<String>,
}

const ROWS: (f64, f64) = (-6.0, -22.0);

/// Names of these stretches (left end, right end, name) within the width `whole`. No name is cut.
pub fn names(stretches: &[(f64, f64, String)], whole: f64) -> Names {
    let mut names = Names::default();
    let mut occupied = 0.0;
    for (left, right, name) in stretches {
        let wide = room(name, 12.0);
        let label = |left: f64, down: f64| Label {
            left,
            down,
            text: name.clone(),
        };
        let moved = (left + 5.0).min(whole - wide);
        if wide + 8.0 <= right - left {
            names.lower.push(label(left + 5.0, ROWS.0));
        } else if moved >= occupied {
            names.upper.push((*left, label(moved, ROWS.1)));
            occupied = moved + wide + 10.0;
        } else {
            names.left_out.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_close_peaks_hide_neither_marks_nor_each_other() {
        let points = [(400.0, 40.0), (404.0, 44.0), (398.0, 52.0), (866.0, 4.0)];
        let mark = |(x, y): (f64, f64)| Area {
            left: x - 5.0,
            right: x + 5.0,
            top: y - 9.0,
            bottom: y,
        };
        let marks = points.map(mark);
        let texts = points.map(|(x, y)| (x, y, "330.6".to_owned()));
        let placed = place(&texts, &marks, (870.0, 300.0));
        assert_eq!(placed.len(), 4);
        for (place, one) in placed.iter().enumerate() {
            assert!(!marks.iter().any(|mark| mark.is_over(&one.area())), "{one:?}");
            assert!(
                placed[..place].iter().all(|other| !other.area().is_over(&one.area())),
                "{placed:?}"
            );
            assert!(
                one.left + room(&one.text, 12.0) <= 870.0 && one.down >= LETTER,
                "{one:?}"
            );
        }
    }

    #[test]
    fn labels_of_close_peaks_stand_in_the_order_of_their_values() {
        // Peaks of three allocators in one report, with the first server's in the middle.
        let peaks = [(528.0, 112.4, "330.6"), (528.0, 122.9, "311.9"), (528.2, 75.1, "396.3")];
        let mark = |(x, y, _): (f64, f64, &str)| Area {
            left: x - 5.0,
            right: x + 5.0,
            top: y - 9.0,
            bottom: y + 12.0,
        };
        let placed = place(
            &peaks.map(|(x, y, text)| (x, y, text.to_owned())),
            &peaks.map(mark),
            (870.0, 300.0),
        );
        let down = |text: &str| placed.iter().find(|label| label.text == text).unwrap().down;
        assert!(
            down("396.3") < down("330.6") && down("330.6") < down("311.9"),
            "{placed:?}"
        );
        let texts: Vec<&str> = placed.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(texts, ["330.6", "311.9", "396.3"]);
    }

    #[test]
    fn a_name_without_room_stands_higher_or_is_told_of_but_never_cut() {
        let stretch = |left: f64, right: f64, name: &str| (left, right, name.to_owned());
        let placed = names(
            &[
                stretch(0.0, 200.0, "completions"),
                stretch(200.0, 220.0, "workspace-symbols"),
                stretch(220.0, 240.0, "renames"),
                stretch(240.0, 400.0, "decay"),
                stretch(396.0, 400.0, "shutdown"),
            ],
            400.0,
        );
        let lower: Vec<&str> = placed.lower.iter().map(|one| one.text.as_str()).collect();
        let upper: Vec<(f64, &str)> = placed
            .upper
            .iter()
            .map(|(left, one)| (*left, one.text.as_str()))
            .collect();
        assert_eq!(lower, ["completions", "decay"]);
        assert_eq!(upper, [(200.0, "workspace-symbols"), (396.0, "shutdown")]);
        assert_eq!(placed.left_out, ["renames"]);
        assert!(placed.upper[1].1.left + room("shutdown", 12.0) <= 400.0);
    }
}
