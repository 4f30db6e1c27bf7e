//! A line as a path: short, because there are many of them.

use crate::summary::lines::Line;

/// What places and values are in the drawing, in tenths of its unit.
pub struct Frame {
    /// From the first to the last place.
    pub width: f64,
    /// From 0 to the highest value.
    pub height: f64,
    pub most: f64,
}

impl Frame {
    fn down(&self, value: u64) -> i64 {
        ((1.0 - value as f64 / self.most) * self.height).round() as i64
    }

    /// The path of a line: two points for each place, in their order. Where nothing is known the path is broken.
    pub fn path(&self, line: &Line) -> String {
        let step = self.width / line.len().max(1) as f64;
        let mut pen = Pen::default();
        for (place, span) in line.iter().enumerate() {
            let Some(span) = span else {
                pen.lift();
                continue;
            };
            for (part, value) in span.parts() {
                pen.to(((place as f64 + part) * step).round() as i64, self.down(value));
            }
        }
        pen.lift();
        pen.path
    }
}

/// Draws in steps from where it is, and along what is level in one.
#[derive(Default)]
struct Pen {
    path: String,
    end: Option<(i64, i64)>,
    /// How far the level reaches that it ends on.
    level: i64,
}

impl Pen {
    fn to(&mut self, x: i64, y: i64) {
        match self.end {
            None => {
                self.path.push_str(&format!("M{x} {y}"));
                (self.end, self.level) = (Some((x, y)), x);
            }
            Some((_, height)) if height == y => self.level = x,
            Some((_, height)) => {
                self.flat();
                let (right, down) = (x - self.level, y - height);
                let between = if down < 0 { "" } else { " " };
                self.path.push_str(&format!("l{right}{between}{down}"));
                (self.end, self.level) = (Some((x, y)), x);
            }
        }
    }

    fn flat(&mut self) {
        if let Some((end, height)) = self.end
            && self.level > end
        {
            self.path.push_str(&format!("h{}", self.level - end));
            self.end = Some((self.level, height));
        }
    }

    fn lift(&mut self) {
        self.flat();
        self.end = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Span;

    #[test]
    fn a_path_has_every_extreme_and_breaks_where_nothing_is_known() {
        let frame = Frame {
            width: 40.0,
            height: 100.0,
            most: 100.0,
        };
        let span = |first, then| Some(Span { first, then });
        let line = vec![span(10, 10), span(10, 90), None, span(10, 10)];
        assert_eq!(frame.path(&line), "M3 90h10l5-80M33 90h5");
        assert_eq!(frame.path(&Vec::new()), "");
    }
}
