//! Lines as short SVG paths: a page has many of them.

/// The path through these points, in tenths of a unit; `None` breaks it.
pub fn path(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut pen = Pen::default();
    for point in points {
        match point {
            Some((x, y)) => pen.draw_to(tenths(x), tenths(y)),
            None => pen.lift(),
        }
    }
    pen.lift();
    pen.path
}

fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// A number of tenths without what SVG can do without: `-123` is `-12.3`, `5` is `.5`.
fn short(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
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
                self.path.push_str(&format!("M{} {}", short(x), short(y)));
                (self.end, self.level) = (Some((x, y)), x);
            }
            Some((_, height)) if height == y => self.level = x,
            Some((_, height)) => {
                self.draw_level();
                let (right, down) = (x - self.level, y - height);
                let between = if down < 0 { "" } else { " " };
                self.path
                    .push_str(&format!("l{}{between}{}", short(right), short(down)));
                (self.end, self.level) = (Some((x, y)), x);
            }
        }
    }

    fn draw_level(&mut self) {
        if let Some((end, height)) = self.end
            && self.level > end
        {
            self.path.push_str(&format!("h{}", short(self.level - end)));
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
            Some((0.3, 9.0)),
            Some((0.8, 9.0)),
            Some((1.3, 9.0)),
            Some((1.8, 1.0)),
            None,
            Some((3.3, 9.0)),
            Some((23.6, 9.0)),
        ];
        assert_eq!(path(points), "M.3 9h1l.5-8M3.3 9h20.3");
        assert_eq!(path([]), "");
    }
}
