//! One run as a person reads it in a terminal.

pub(super) mod blocks;
mod calls;
pub(super) mod decay;
mod growth;
pub(super) mod head;
pub(super) mod phases;

use crate::analyse::Summary;

use super::ascii::ascii;
use crate::text::table::WIDEST;
use crate::text::{Paint, clean_styled};

const NARROWEST: usize = 40;

/// How the report is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; kept within 40 and 160.
    pub columns: usize,
    /// Whether to write colour codes. Printing through `anstream` takes them away where they are not wanted.
    pub color: bool,
    pub ascii: bool,
}

impl Look {
    /// What is printed of a whole report.
    pub(super) fn finish(self, report: &str) -> String {
        let report = clean_styled(report);
        if self.ascii { ascii(&report) } else { report }
    }
}

type Section = fn(&mut String, &Summary, Paint, usize);

/// The whole report. What matters most stands at the end, where a terminal leaves the eye.
pub fn render(summary: &Summary, look: Look) -> String {
    let columns = look.columns.clamp(NARROWEST, WIDEST);
    let paint = Paint(look.color);
    let mut out = String::new();
    let traced: [Section; 3] = [head::draw, calls::draw, blocks::findings];
    let measured: [Section; 9] = [
        head::draw,
        phases::draw,
        blocks::timeline,
        blocks::programs,
        blocks::steps,
        blocks::methods,
        growth::draw,
        decay::draw,
        blocks::findings,
    ];
    // What a tracer holds up has no memory and no latency worth a look.
    let sections = match summary.header.plan.traced {
        Some(_) => &traced[..],
        None => &measured[..],
    };
    for section in sections {
        let mut text = String::new();
        section(&mut text, summary, paint, columns);
        if !text.is_empty() && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
    look.finish(&out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::record::golden::{self, Session};
    use crate::record::{Ending, Event, Reader, ShutdownStage};

    fn of(name: &str, columns: usize) -> String {
        let summary = analyse::read(golden::open(name)).unwrap();
        let look = Look {
            columns,
            color: false,
            ascii: false,
        };
        render(&summary, look)
    }

    #[test]
    fn completed_runs() {
        for columns in [40, 60, 100, 160] {
            insta::assert_snapshot!(format!("completed-{columns}"), of("completed", columns));
        }
        // Wider lines are hard to follow with the eye.
        assert_eq!(of("completed", 200), of("completed", 160));
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
            for columns in [40, 50, 60, 72, 80, 100, 120, 160, 200] {
                // A word that is wider than its column stays whole, since it is most often to be copied.
                let long = |line: &&str| line.split(' ').any(|word| crate::text::width(word) + 13 > columns);
                let text = of(name, columns);
                for line in text.lines().filter(|line| columns >= 60 || !long(line)) {
                    assert!(crate::text::width(line) <= columns, "{name} at {columns}: {line}");
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
                ascii: false,
            },
        );
        assert!(colored.contains('\u{1b}'));
        assert_eq!(
            anstream::adapter::strip_str(&colored).to_string().replace(" \n", "\n"),
            of("crashed", 100)
        );
    }

    #[test]
    fn without_utf8_every_sign_has_one_of_ascii_in_its_place() {
        for name in ["completed", "crashed", "tree", "interrupted", "truncated"] {
            let summary = analyse::read(golden::open(name)).unwrap();
            let look = |ascii| Look {
                columns: 60,
                color: false,
                ascii,
            };
            let (text, full) = (render(&summary, look(true)), render(&summary, look(false)));
            let beyond: String = text.lines().filter(|line| !line.is_ascii()).collect();
            assert_eq!(beyond, "", "{name}");
            assert_eq!(text.chars().count(), full.chars().count());
        }
    }

    fn rounds(name: &str, rounds: u32) -> analyse::Summary {
        let mut session = Session::new("server");
        session.spawn(0, "server", None, 30, 40);
        for cycle in 0..rounds {
            let began = session.entries.len();
            session.phase(name);
            session.settle(true);
            for entry in &mut session.entries[began..] {
                let phase = match &mut entry.event {
                    Event::PhaseStarted(phase) | Event::PhaseDriven(phase) => phase,
                    Event::Checkpoint(taken) => &mut taken.phase,
                    Event::Peak(mark) => &mut mark.phase,
                    _ => continue,
                };
                (phase.phase, phase.cycle) = (0, cycle);
            }
        }
        let bytes = session.bytes();
        analyse::read(Reader::new(&bytes[..]).unwrap()).unwrap()
    }

    #[test]
    fn rows_that_are_left_out_leave_a_mark_and_a_long_name_keeps_its_round() {
        let summary = rounds("open-every-file-and-ask-for-everything", 64);
        let look = Look {
            columns: 60,
            color: false,
            ascii: false,
        };
        let text = render(&summary, look);
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(" #") || line.contains('⋮'))
            .collect();
        assert_eq!(rows.len(), 33, "{text}");
        assert!(
            rows[15].contains("… #16 ") && rows[16].contains('⋮') && rows[17].contains("… #49 "),
            "{text}"
        );
    }

    #[test]
    fn the_last_words_of_a_server_are_shown_to_their_end() {
        let mut session = Session::new("server");
        let panic = "thread 'main' panicked at crates/server/src/handlers/request.rs:412:37: assertion `left == right` failed: the document is not the one that was opened";
        let during = "phase `goto`, step `definition`".to_owned();
        let ending = Ending::Crashed {
            code: Some(101),
            signal: None,
            during,
        };
        session.shut_down(
            ShutdownStage::AlreadyGone,
            Vec::new(),
            ending,
            &format!("{panic}\n  left: 1"),
        );
        let bytes = session.bytes();
        let summary = analyse::read(Reader::new(&bytes[..]).unwrap()).unwrap();
        for columns in [60, 100] {
            let look = Look {
                columns,
                color: false,
                ascii: false,
            };
            let text = render(&summary, look);
            let told: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("failure: ")).collect();
            let words = told.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(panic), "{text}");
            insta::assert_snapshot!(format!("last-words-{columns}"), told.join("\n"));
        }
    }

    #[test]
    fn what_a_server_writes_cannot_steer_the_terminal() {
        let mut session = Session::new("server");
        session.spawn(0, "evil\u{1b}[2Jname", None, 1, 1);
        session.spawn(1, "other", Some(0), 1, 1);
        let tail = "\u{1b}[31mred\u{1b}[0m\tand\u{7} loud";
        let ending = Ending::Disconnected {
            reason: "a\rb".to_owned(),
        };
        session.shut_down(ShutdownStage::Exit, Vec::new(), ending, tail);
        let bytes = session.bytes();
        let summary = analyse::read(Reader::new(&bytes[..]).unwrap()).unwrap();
        let look = Look {
            columns: 80,
            color: false,
            ascii: false,
        };
        let text = render(&summary, look);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains("red and"), "{text}");
    }
}
