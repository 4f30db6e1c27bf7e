//! Skipped lines of a record, and processes without a sample.

use base::units;
use record::LeftOut;

use crate::findings::{Finding, Severity, finding};
use crate::summary::Summary;

pub(super) fn findings(summary: &Summary) -> Vec<Finding> {
    let mut list = Vec::new();
    if summary.unread.unknown.count > 0 {
        let text = format!(
            "entries of unknown kinds were skipped ({}): read this record with lsp-soak {}, which wrote it, or later",
            lines(&summary.unread.unknown),
            summary.header.tool
        );
        list.push(finding(Severity::Warning, text));
    }
    if summary.unread.damaged.count > 0 {
        let text = format!(
            "the record is damaged ({} skipped): nearby figures may be wrong, restore the file or run again",
            lines(&summary.unread.damaged)
        );
        list.push(finding(Severity::Warning, text));
    }
    // A tracer has short-lived helper processes of its own.
    if summary.sampling.unseen > 0 && summary.header.plan.traced.is_none() {
        let text = format!(
            "at least {} lived too briefly to be sampled: no sum and no peak includes them{}",
            units::count_of(summary.sampling.unseen, "process"),
            if summary.header.wrapped.is_some() {
                ""
            } else {
                ", a shorter `--interval` sees more"
            }
        );
        list.push(finding(Severity::Warning, text));
    }
    list.extend(relayed(summary));
    list
}

/// Data that the record of an editor's session lacks.
fn relayed(summary: &Summary) -> Vec<Finding> {
    if summary.header.wrapped.is_none() {
        return Vec::new();
    }
    let text = "an editor played this session: it has no checkpoints, and private memory is what was sampled";
    let mut list = vec![finding(Severity::Note, text)];
    let dropped = summary.lifecycle.close.as_ref().map_or(0, |close| close.dropped);
    if dropped > 0 {
        let text = format!(
            "{} of messages not recorded: the record was full, or they came too fast",
            units::count_of(dropped, "event")
        );
        list.push(finding(Severity::Warning, text));
    }
    list
}

/// `line 3`, `lines 3, 4, 5 and 1,200 more`.
fn lines(left_out: &LeftOut) -> String {
    let numbers: Vec<String> = left_out.first.iter().map(u64::to_string).collect();
    let more = left_out.count.saturating_sub(left_out.first.len() as u64);
    match (left_out.count, more) {
        (1, _) => format!("line {}", numbers.join(", ")),
        (_, 0) => format!("lines {}", numbers.join(", ")),
        (_, more) => format!("lines {} and {} more", numbers.join(", "), units::count(more)),
    }
}

#[cfg(test)]
mod tests {
    use crate::findings;
    use crate::golden::summarised;
    use crate::summary::read;
    use record::golden::{self, Session};
    use record::{Ending, Event, Reader, Unseen, WarningKind};

    #[test]
    fn processes_that_were_not_seen_are_counted_once() {
        let mut session = Session::new("server");
        for total in [1, 3, 5] {
            session.put(Event::Unseen(Unseen { total }));
            session.warn(WarningKind::Protocol, &format!("{} bytes were skipped", total.min(3)));
        }
        let summary = summarised(&session);
        assert_eq!(summary.sampling.unseen, 5);
        let list = findings::findings(&summary);
        let reports = list
            .iter()
            .filter(|finding| finding.text.contains("at least 5 processes lived too briefly"));
        assert_eq!(reports.count(), 1);
        let warnings: Vec<(&str, u64)> = summary
            .log
            .warnings
            .iter()
            .map(|warning| (warning.text.as_str(), warning.count))
            .collect();
        assert_eq!(warnings, [("1 bytes were skipped", 1), ("3 bytes were skipped", 2)]);
    }

    #[test]
    fn lines_that_are_damaged_or_unknown_are_told_by_number() {
        let mut lines: Vec<String> = String::from_utf8(golden::completed().bytes())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        for line in [20, 30, 31, 32, 33, 34, 35] {
            lines[line - 1].truncate(10);
        }
        lines[9] = "{\"at\":1,\"event\":{\"eclipse\":{}}}".to_owned();
        let bytes = lines.join("\n").into_bytes();
        let summary = read(Reader::new(&bytes[..]).unwrap()).unwrap();
        let texts: Vec<String> = findings::findings(&summary)
            .into_iter()
            .map(|finding| finding.text)
            .collect();
        for words in [
            "(lines 20, 30, 31, 32, 33 and 2 more skipped)",
            "unknown kinds were skipped (line 10)",
        ] {
            assert!(texts.iter().any(|text| text.contains(words)), "{words}: {texts:?}");
        }
        assert_eq!(summary.ending, Some(Ending::Completed));
    }
}
