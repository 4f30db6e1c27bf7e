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
    /// True if the two labels look like one column.
    fn is_near(&self, other: &Label) -> bool {
        const BETWEEN: f64 = 24.0;
        let (own, other) = (self.area(), other.area());
        own.left < other.right + BETWEEN && other.left < own.right + BETWEEN
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
        let candidates = candidates((*x, *y), text, (whole, deep));
        let others: Vec<&Label> = placed.iter().map(|(_, other)| other).collect();
        let label = match best_candidate(&candidates, &others, marks) {
            Some(best) => best.clone(),
            None => Label {
                left: (x + 9.0).min(whole - room(text, 12.0)),
                down: *y,
                text: text.clone(),
            },
        };
        placed.push((point, label));
    }
    placed.sort_by_key(|(point, _)| *point);
    placed.into_iter().map(|(_, label)| label).collect()
}

/// All places of a text near its point that are inside the chart, the closest first.
fn candidates((x, y): (f64, f64), text: &str, (whole, deep): (f64, f64)) -> Vec<Label> {
    let wide = room(text, 12.0);
    let mut candidates = Vec::new();
    for shift in SHIFTS {
        let down = y - 1.0 + shift;
        for left in [x + 9.0, x - 9.0 - wide] {
            if left >= 0.0 && left + wide <= whole && (LETTER..=deep).contains(&down) {
                candidates.push(Label {
                    left,
                    down,
                    text: text.to_owned(),
                });
            }
        }
    }
    candidates
}

/// The first candidate that overlaps no other label, hides no mark and keeps the vertical order. The order is given up
/// first, then marks are hidden, then labels overlap.
fn best_candidate<'l>(candidates: &'l [Label], others: &[&Label], marks: &[Area]) -> Option<&'l Label> {
    let mut separate: Vec<&Label> = Vec::new();
    let mut clear: Vec<&Label> = Vec::new();
    for label in candidates {
        let area = label.area();
        if others.iter().any(|other| other.area().is_over(&area)) {
            continue;
        }
        separate.push(label);
        if !marks.iter().any(|mark| mark.is_over(&area)) {
            clear.push(label);
        }
    }
    first_in_order(&clear, others)
        .or(clear.first().copied())
        .or(first_in_order(&separate, others))
        .or(separate.first().copied())
        .or(candidates.first())
}

/// The first of these labels that is below all near labels of higher points.
fn first_in_order<'l>(labels: &[&'l Label], higher: &[&Label]) -> Option<&'l Label> {
    let mut labels = labels.iter().copied();
    labels.find(|label| {
        !higher
            .iter()
            .any(|other| other.is_near(label) && other.down > label.down)
    })
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
        let moved = (left + 5.0).min(whole - wide);
        if wide + 8.0 <= right - left {
            names.lower.push(Label {
                left: left + 5.0,
                down: ROWS.0,
                text: name.clone(),
            });
        } else if moved >= occupied {
            let label = Label {
                left: moved,
                down: ROWS.1,
                text: name.clone(),
            };
            names.upper.push((*left, label));
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
        let marks = points.map(|(x, y)| Area {
            left: x - 5.0,
            right: x + 5.0,
            top: y - 9.0,
            bottom: y,
        });
        let texts = points.map(|(x, y)| (x, y, "330.6".to_owned()));
        let placed = place(&texts, &marks, (870.0, 300.0));
        assert_eq!(placed.len(), 4);
        for (place, label) in placed.iter().enumerate() {
            let area = label.area();
            assert!(!marks.iter().any(|mark| mark.is_over(&area)), "{label:?}");
            assert!(
                placed[..place].iter().all(|other| !other.area().is_over(&area)),
                "{placed:?}"
            );
            assert!(
                label.left + room(&label.text, 12.0) <= 870.0 && label.down >= LETTER,
                "{label:?}"
            );
        }
    }

    #[test]
    fn labels_of_close_peaks_stand_in_the_order_of_their_values() {
        // Peaks of three allocators in one report, with the first server's in the middle.
        let peaks = [(528.0, 112.4, "330.6"), (528.0, 122.9, "311.9"), (528.2, 75.1, "396.3")];
        let marks = peaks.map(|(x, y, _)| Area {
            left: x - 5.0,
            right: x + 5.0,
            top: y - 9.0,
            bottom: y + 12.0,
        });
        let texts = peaks.map(|(x, y, text)| (x, y, text.to_owned()));
        let mut placed = place(&texts, &marks, (870.0, 300.0));
        let texts: Vec<&str> = placed.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(texts, ["330.6", "311.9", "396.3"]);
        placed.sort_by(|higher, lower| higher.down.total_cmp(&lower.down));
        let texts: Vec<&str> = placed.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(texts, ["396.3", "330.6", "311.9"]);
        assert!(
            placed.is_sorted_by(|higher, lower| higher.down < lower.down),
            "{placed:?}"
        );
    }

    #[test]
    fn a_name_without_room_stands_higher_or_is_told_of_but_never_cut() {
        let stretches = [
            (0.0, 200.0, "completions"),
            (200.0, 220.0, "workspace-symbols"),
            (220.0, 240.0, "renames"),
            (240.0, 400.0, "decay"),
            (396.0, 400.0, "shutdown"),
        ];
        let placed = names(
            &stretches.map(|(left, right, name)| (left, right, name.to_owned())),
            400.0,
        );
        let lower: Vec<&str> = placed.lower.iter().map(|label| label.text.as_str()).collect();
        let upper: Vec<(f64, &str)> = placed
            .upper
            .iter()
            .map(|(left, label)| (*left, label.text.as_str()))
            .collect();
        assert_eq!(lower, ["completions", "decay"]);
        assert_eq!(upper, [(200.0, "workspace-symbols"), (396.0, "shutdown")]);
        assert_eq!(placed.left_out, ["renames"]);
        assert!(placed.upper[1].1.left + room("shutdown", 12.0) <= 400.0);
    }
}
