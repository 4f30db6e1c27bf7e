//! Lines in which a program says what went wrong.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input};

const WORDS: [&str; 8] = [
    "error", "panicked", "fatal", "cannot find", "unexpected", "unknown", "unrecognized", "invalid",
];

/// `None` only if the words above made no automaton.
static FINDER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok());

/// Bytes of a line that are shown before and after the word that names an error.
const BEFORE: usize = 100;
const AFTER: usize = 300;

/// The line before the one in which V8 names an error.
const V8_BANNER: &str = "Fatal error in , line 0";

/// True for a line that names an error.
pub fn complains(line: &str) -> bool {
    !is_call(line) && !is_help(line) && !line.ends_with(V8_BANNER) && place(line.as_bytes()).is_some()
}

/// True if a line that names an error may be among these bytes.
pub fn may_complain(bytes: &[u8]) -> bool {
    place(bytes).is_some()
}

/// True for one of the calls that Node.js, Java and .NET print below an error: `at f (a.js:1:2)`, or
/// ` 3: 0xee85e7 v8::internal::V8::FatalProcessOutOfMemory(…)`, perhaps behind the name of who passes it on, in brackets.
pub fn is_call(line: &str) -> bool {
    let mut line = line.trim_start();
    while let Some((_, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        line = rest.trim_start();
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_native = digits > 0 && line[digits..].starts_with(": 0x");
    is_native || line.starts_with("at ")
}

/// True for a line of a usage text: `check    Check a project for errors`, `--max N  stop after N errors`.
fn is_help(line: &str) -> bool {
    let Some((name, rest)) = line.trim().split_once("  ") else {
        return false;
    };
    let rest = rest.trim_start();
    if name.starts_with('-') {
        return !name.starts_with("- ");
    }
    let is_command = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_sentence = rest.starts_with(char::is_uppercase) && !rest.contains(": ");
    is_command && is_sentence && place(name.as_bytes()).is_none()
}

/// A line, cut if it fills a screen: the part around the word that names an error is kept, or else the end. `…` stands for
/// the rest.
pub fn excerpt(line: &str) -> String {
    if line.len() <= BEFORE + AFTER {
        return line.to_owned();
    }
    let word = place(line.as_bytes()).unwrap_or(line.len());
    let start = line.floor_char_boundary(word.saturating_sub(BEFORE).min(line.len() - BEFORE - AFTER));
    let end = line.floor_char_boundary(start + BEFORE + AFTER);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{}{after}", &line[start..end])
}

/// The offset of the first word that names an error.
fn place(bytes: &[u8]) -> Option<usize> {
    let found = FINDER.as_ref()?.find(Input::new(bytes))?;
    Some(found.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_names_an_error_complains_and_a_call_does_not() {
        assert!(complains("FATAL: heap out of memory") && complains("TypeError: x is no function"));
        assert!(!complains("    at throwError (/usr/lib/a.js:1:2)") && !complains("all is well"));
        assert!(!complains("check    Check a project for type errors"));
        assert!(!complains("  -q, --quiet    Print no errors") && complains("error    Cannot find x"));
        assert!(
            !complains("  --max N     stop after N errors") && complains("lsp-main   fatal: invalid configuration")
        );
        let native = "[lspserver] [tsclient]  3: 0xee85e7 v8::internal::V8::FatalProcessOutOfMemory(v8::Isolate*)";
        assert!(!complains(native) && !complains("# Fatal error in , line 0"));
        assert!(complains("# Fatal JavaScript invalid size error 174895934"));
    }

    #[test]
    fn of_a_long_line_what_is_around_the_error_is_shown() {
        let late = format!("{} error: the reason", "x".repeat(9000));
        let shown = excerpt(&late);
        assert!(
            shown.starts_with('…') && shown.ends_with("error: the reason"),
            "{shown}"
        );
        let early = format!("é error: the reason {}", "é".repeat(9000));
        let shown = excerpt(&early);
        assert!(
            shown.starts_with("é error: the reason") && shown.ends_with('…'),
            "{shown}"
        );
        assert_eq!(excerpt("short"), "short");
    }
}
