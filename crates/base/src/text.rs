//! Styled text of known width: the styles of reports, wrapping, cutting, padding.

use std::io;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

mod ascii;
mod blocks;
pub mod complaint;
mod sentence;
pub mod table;

pub use ascii::ascii;
pub use blocks::{EIGHTHS, blocks};
pub use sentence::{Sentence, Weight};

/// Marks a blank where lines must not break. The output has an ordinary blank in its place.
const NO_BREAK: &str = "\u{a0}";

/// Most rows of one line of foreign text, so that a line of megabytes does not hide the rest.
const ROWS: usize = 12;

/// Additional indent of the second and later rows.
const HANG: usize = 4;

/// The emphasis of a text. Colour is never the only sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Tone {
    Plain,
    Strong,
    Quiet,
    Good,
    Warning,
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Quiet => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
        };
        if !self.0 || style.is_plain() || text.is_empty() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }
}

/// Columns of a text without styles.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Removes what controls a terminal or reorders text: escape codes go, other characters that [`is_hidden`] become
/// blanks.
pub fn clean(text: &str) -> String {
    clean_lines(text).replace('\n', " ")
}

/// As [`clean`], but keeps line breaks: the last step of every format without styles.
pub fn clean_lines(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    text.replace("\r\n", "\n").replace(|c| c != '\n' && is_hidden(c), " ")
}

/// As [`clean_lines`], but keeps styles: the last step before a terminal.
pub fn clean_styled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split('\u{1b}').enumerate() {
        let mut rest = part;
        // An escape character precedes every part but the first.
        if index > 0 {
            match split_style(part) {
                Some((code, after)) => {
                    out.extend(["\u{1b}", code]);
                    rest = after;
                }
                None => out.push(' '),
            }
        }
        out.push_str(&rest.replace(|c| c != '\n' && is_hidden(c), " "));
    }
    out
}

/// Splits the code of a style, `[1;31m`, from the text after it. lsp-soak writes no other codes.
fn split_style(part: &str) -> Option<(&str, &str)> {
    let numbers = part.strip_prefix('[')?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    if !numbers[end..].starts_with('m') {
        return None;
    }
    Some(part.split_at("[".len() + end + "m".len()))
}

/// True for a character that controls a terminal, breaks a line in some programs, has no width, or changes the direction
/// of text.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Cuts the text to `columns`, with an ellipsis.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        kept.push(c);
        used += wide;
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Columns of a text that may have styles.
fn styled_width(text: &str) -> usize {
    width(&anstream::adapter::strip_str(text).to_string())
}

/// Lines of at most `columns`, broken between words. A longer word stays whole: it is usually a path or a command to
/// copy.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let words = text.split(' ').flat_map(|word| {
        // Text too long for one line loses its no-break blanks.
        let separator = if styled_width(word) > columns { NO_BREAK } else { " " };
        word.split(separator).filter(|word| !word.is_empty())
    });
    for word in join_units(words) {
        match lines.last_mut() {
            Some(line) if styled_width(line) + 1 + styled_width(&word) <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Joins each number with its unit.
fn join_units<'t>(words: impl Iterator<Item = &'t str>) -> Vec<String> {
    const UNITS: [&str; 11] = ["%", "B", "KiB", "MiB", "GiB", "TiB", "ns", "µs", "ms", "s", "min"];
    let mut list: Vec<String> = Vec::new();
    for word in words {
        let unit = word.trim_end_matches([',', ';', ':', ')', '.']);
        match list.last_mut() {
            Some(number) if UNITS.contains(&unit) && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => list.push(word.to_owned()),
        }
    }
    list
}

/// Folds long lines to `columns`. A continued line is indented, or aligned with the text of a message. Lines with a
/// gutter mark a place in a file and stay unchanged.
pub fn fold(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let plain = anstream::adapter::strip_str(line).to_string();
        let words = plain.trim_start();
        let has_gutter = words
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start()
            .starts_with('|');
        if width(&plain) <= columns || has_gutter {
            out.push_str(line);
            out.push_str(end);
            continue;
        }
        let indent = plain.len() - words.len();
        let (first, text, hang) = match line.split_once(": ") {
            Some((level, text)) if words.starts_with("= ") => (format!("{level}: "), text, styled_width(level) + 2),
            _ => (" ".repeat(indent), line, indent + 2),
        };
        let rows = wrap(text, columns.saturating_sub(hang)).join(&format!("\n{:hang$}", ""));
        out.push_str(&format!("{first}{}{end}", rows.replace(NO_BREAK, " ")));
    }
    out
}

/// Prevents line breaks inside a short text.
pub fn without_breaks(text: &str) -> String {
    if width(text) > 30 {
        text.to_owned()
    } else {
        text.replace(' ', NO_BREAK)
    }
}

/// Appends a paragraph: `first` starts it, and the other lines are indented by its width.
pub fn paragraph(out: &mut String, paint: Paint, tone: Tone, first: &str, text: &str, columns: usize) {
    item(out, paint, tone, first, width(first), text, columns);
}

/// As [`paragraph`], with the other lines indented by `hang`, at least the width of `first`.
pub fn item(out: &mut String, paint: Paint, tone: Tone, first: &str, hang: usize, text: &str, columns: usize) {
    let lines = wrap(&clean(text), columns.saturating_sub(hang)).into_iter();
    for (number, line) in lines.enumerate() {
        let start = if number == 0 { first } else { &" ".repeat(hang) };
        line_of(
            out,
            paint.paint(tone, &format!("{start}{}", line.replace(NO_BREAK, " "))),
        );
    }
}

/// Appends a line of foreign text, for example of stderr, in at most twelve rows. Continued rows are indented
/// further. Leading blanks stay, since they show structure.
pub fn hanging(out: &mut String, paint: Paint, tone: Tone, indent: usize, text: &str, columns: usize) {
    let text = clean(text);
    let words = text.trim_start();
    let inner = (text.len() - words.len()).min(columns / 4);
    let first = " ".repeat(indent + inner);
    let room = columns.saturating_sub(first.len() + HANG);
    let mut rows = wrap(&cut(words, ROWS * room), room);
    if rows.len() > ROWS {
        rows.truncate(ROWS - 1);
        rows.push("…".to_owned());
    }
    for (number, row) in rows.iter().enumerate() {
        let hang = if number == 0 { 0 } else { HANG };
        line_of(out, paint.paint(tone, &format!("{first}{:hang$}{row}", "")));
    }
}

/// Appends a line without trailing blanks.
pub fn line_of(out: &mut String, line: impl AsRef<str>) {
    out.push_str(line.as_ref().trim_end());
    out.push('\n');
}

/// `a, b or c`.
pub fn any_of(all: &[String]) -> String {
    match all {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        all => all.concat(),
    }
}

/// Quotes a word for a shell and for environment files, if necessary.
pub fn quoted(word: &str) -> String {
    let mut chars = word.chars();
    let is_plain = chars.all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    if is_plain && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The most similar of the `known` words, if one is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = 1 + word.chars().count() / 4;
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= close)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Uniform words for the most frequent errors on every system.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::InvalidData => "it is no text in UTF-8".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns_not_by_bytes() {
        assert_eq!(cut("größe", 7), "größe");
        assert_eq!(cut("größenordnung", 6), "größe…");
        assert_eq!(cut("日本語の記号", 6), "日本…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn lines_break_between_words_and_never_inside() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert!(wrap("", 10).is_empty());
        assert_eq!(
            wrap("it has 1.5 MiB, −3 to +2 % more", 9),
            ["it has", "1.5 MiB,", "−3 to", "+2 % more"]
        );
    }

    #[test]
    fn a_message_is_folded_between_words_and_a_file_that_is_shown_is_not() {
        let text =
            "error: no step `definitoin`\n  |\n8 | steps = [{ definitoin = {} }]\n  = help: there are open, close\n";
        assert_eq!(
            fold(text, 22),
            "error: no step\n  `definitoin`\n  |\n8 | steps = [{ definitoin = {} }]\n  = help: there are\n          open, close\n"
        );
        assert_eq!(fold("short", 22), "short");
        assert_eq!(
            fold("a /a/long/path/that/is/whole b", 10),
            "a\n  /a/long/path/that/is/whole\n  b"
        );
        let styled = Paint(true).paint(Tone::Warning, "warning");
        assert_eq!(
            fold(&format!("ty: {styled}: one two"), 19),
            format!("ty: {styled}: one\n  two")
        );
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_farther_in() {
        let indented = indented_by_4("  at one two three", 20);
        assert_eq!(indented, "      at one two\n          three\n");
        assert_eq!(indented_by_4("short", 20), "    short\n");
        assert_eq!(indented_by_4("", 20), "");
        let long = indented_by_4(&"word ".repeat(10_000), 40);
        assert_eq!(long.lines().count(), ROWS);
        assert!(long.trim_end().ends_with('…'), "{long}");
        assert!(long.lines().all(|line| width(line) <= 40));
    }

    fn indented_by_4(text: &str, columns: usize) -> String {
        let mut out = String::new();
        hanging(&mut out, Paint(false), Tone::Plain, 4, text, columns);
        out
    }

    #[test]
    fn without_colour_there_are_no_codes() {
        assert_eq!(Paint(false).paint(Tone::Bad, "x"), "x");
        assert!(Paint(true).paint(Tone::Bad, "x").contains('\u{1b}'));
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        assert_eq!(quoted("scenarios/a.toml"), "scenarios/a.toml");
        assert_eq!(
            quoted("one-arena: MALLOC_ARENA_MAX=1 clangd"),
            "'one-arena: MALLOC_ARENA_MAX=1 clangd'"
        );
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn nothing_is_shown_in_another_order_than_it_is_in() {
        let odd = "a\u{202e}b\u{2066}c\u{200f}d\u{1b}[31me\nf";
        assert_eq!(clean(odd), "a b c de f");
        assert_eq!(clean_lines("a\u{200b}b\n\u{1b}]0;title\u{7}c"), "a b\nc");
        let styled = "\u{1b}[1;31mred\u{1b}[0m\n\u{1b}[2Jx\u{1b}]0;y\u{7}z\u{202e}\u{1b}[1";
        assert_eq!(clean_styled(styled), "\u{1b}[1;31mred\u{1b}[0m\n [2Jx ]0;y z  [1");
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["definition", "hover", "open"];
        assert_eq!(nearest("defintion", known), Some("definition"));
        assert_eq!(nearest("hovre", known), Some("hover"));
        assert_eq!(nearest("opne", known), Some("open"));
        assert_eq!(nearest("close", known), None);
    }

    #[test]
    fn alternatives_are_listed_as_they_are_read() {
        for (names, listed) in [
            (&["c"][..], "c"),
            (&["c", "cpp"], "c or cpp"),
            (&["a", "b", "c"], "a, b or c"),
        ] {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(any_of(&names), listed);
        }
    }
}
