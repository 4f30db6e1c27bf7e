//! One run as a person reads it in a terminal.

mod blocks;
mod head;
mod phases;

use crate::analyse::Summary;

use super::text::Paint;

/// Widest a report gets: longer lines are hard to follow.
const WIDEST: usize = 160;

/// Narrowest it is made for.
const NARROWEST: usize = 60;

/// How the report is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; kept within 60 and 160.
    pub columns: usize,
    /// Whether to write colour codes. Printing through `anstream` takes them away where they are not wanted.
    pub color: bool,
}

/// The whole report. What matters most stands at the end, where a terminal leaves the eye.
pub fn render(summary: &Summary, look: Look) -> String {
    let columns = look.columns.clamp(NARROWEST, WIDEST);
    let paint = Paint(look.color);
    let mut out = String::new();
    for section in [
        head::draw,
        phases::draw,
        blocks::timeline,
        blocks::programs,
        blocks::steps,
        blocks::methods,
        blocks::returned,
        blocks::findings,
    ] {
        let mut text = String::new();
        section(&mut text, summary, paint, columns);
        if !text.is_empty() && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::record::golden;

    fn of(name: &str, columns: usize) -> String {
        let summary = analyse::read(golden::open(name)).unwrap();
        render(&summary, Look { columns, color: false })
    }

    #[test]
    fn completed_runs() {
        for columns in [60, 100, 160] {
            insta::assert_snapshot!(format!("completed-{columns}"), of("completed", columns));
        }
    }

    #[test]
    fn runs_that_ended_otherwise() {
        for name in ["crashed", "tree", "interrupted", "truncated"] {
            insta::assert_snapshot!(name, of(name, 100));
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for name in ["completed", "crashed", "tree", "interrupted", "truncated"] {
            for columns in [60, 72, 80, 100, 120, 160] {
                for line in of(name, columns).lines() {
                    assert!(
                        super::super::text::width(line) <= columns,
                        "{name} at {columns}: {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn colour_adds_nothing_but_codes() {
        let summary = analyse::read(golden::open("crashed")).unwrap();
        let colored = render(
            &summary,
            Look {
                columns: 100,
                color: true,
            },
        );
        assert!(colored.contains('\u{1b}'));
        assert_eq!(
            anstream::adapter::strip_str(&colored).to_string().replace(" \n", "\n"),
            of("crashed", 100)
        );
    }
}
