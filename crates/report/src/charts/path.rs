//! Lines as short SVG paths: a page has many of them.

/// The path through these points; `None` breaks it.
pub fn path(points: impl Iterator<Item = Option<(i64, i64)>>) -> String {
    let mut pen = Pen::default();
    for point in points {
        match point {
            Some((x, y)) => pen.draw_to(x, y),
            None => pen.lift(),
        }
    }
    pen.lift();
    pen.path
}

/// Draws relative steps, and a level stretch as one step.
#[derive(Default)]
struct Pen {
    path: String,
    end: Option<(i64, i64)>,
    /// End of the current level stretch.
    level: i64,
}

impl Pen {
    fn draw_to(&mut self, x: i64, y: i64) {
        match self.end {
            None => {
                self.path.push_str(&format!("M{x} {y}"));
                (self.end, self.level) = (Some((x, y)), x);
            }
            Some((_, height)) if height == y => self.level = x,
            Some((_, height)) => {
                self.draw_level();
                let (right, down) = (x - self.level, y - height);
                let between = if down < 0 { "" } else { " " };
                self.path.push_str(&format!("l{right}{between}{down}"));
                (self.end, self.level) = (Some((x, y)), x);
            }
        }
    }

    fn draw_level(&mut self) {
        if let Some((end, height)) = self.end
            && self.level > end
        {
            self.path.push_str(&format!("h{}", self.level - end));
            self.end = Some((self.level, height));
        }
    }

    fn lift(&mut self) {
        self.draw_level();
        self.end = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_every_extreme_and_breaks_where_nothing_is_known() {
        let points = [
            Some((3, 90)),
            Some((8, 90)),
            Some((13, 90)),
            Some((18, 10)),
            None,
            Some((33, 90)),
            Some((38, 90)),
        ];
        assert_eq!(path(points.into_iter()), "M3 90h10l5-80M33 90h5");
        assert_eq!(path(std::iter::empty()), "");
    }
}
