//! The memory calls of a traced run.

use crate::analyse::Summary;
use crate::analyse::calls::Traced;
use crate::report::calls;
use crate::text::table;
use crate::text::{Paint, Tone, paragraph};

use super::blocks::{JSON, heading};

/// The table, if the run was traced.
pub(super) fn draw(out: &mut String, summary: &Summary, paint: Paint, columns: usize) {
    let Some(traced) = Traced::of(summary) else { return };
    let servers = [(summary.header.server.label.as_str(), &traced)];
    heading(out, paint, calls::TITLE, "calls and their bytes", columns);
    table::draw(out, paint, calls::columns(&servers), columns, JSON);
    out.push('\n');
    paragraph(out, paint, Tone::Quiet, "  ", &calls::note(&servers), columns);
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use crate::analyse::calls::tests::traced;
    use crate::record::golden;
    use crate::report::terminal::{Look, render};

    #[test]
    fn a_traced_run_has_its_calls_and_no_memory() {
        let summary = traced(analyse::read(golden::open("completed")).unwrap(), 1_234);
        for columns in [60, 120] {
            let look = Look {
                columns,
                color: false,
                ascii: false,
            };
            insta::assert_snapshot!(format!("traced-{columns}"), render(&summary, look));
        }
    }
}
