//! Positions in text as in the protocol: lines, and columns in the agreed encoding.

use std::ops::Range;

use memchr::memchr2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// UTF-16 code units; the protocol's default.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The encoding with this name in the protocol.
    pub fn from_name(name: &str) -> Option<Encoding> {
        match name {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _unknown => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        }
    }
}

/// The column of a byte offset in a line. Rounds down inside a character; clamps to the end of the line.
pub fn column(line: &str, byte: usize, encoding: Encoding) -> u32 {
    width(&line[..line.floor_char_boundary(byte)], encoding)
}

/// The byte offset of a column in a line, rounded down to the start of a character.
fn byte_offset(line: &str, column: u32, encoding: Encoding) -> usize {
    let mut remaining = column as usize;
    for (at, character) in line.char_indices() {
        let width = character_width(character, encoding);
        if remaining < width {
            return at;
        }
        remaining -= width;
    }
    line.len()
}

/// Length of `text` in units of `encoding`.
pub fn width(text: &str, encoding: Encoding) -> u32 {
    let width = match encoding {
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 | Encoding::Utf32 if text.is_ascii() => text.len(),
        Encoding::Utf16 | Encoding::Utf32 => text.chars().map(|character| character_width(character, encoding)).sum(),
    };
    u32::try_from(width).unwrap_or(u32::MAX)
}

fn character_width(character: char, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Utf8 => character.len_utf8(),
        Encoding::Utf16 => character.len_utf16(),
        Encoding::Utf32 => 1,
    }
}

/// The text without its byte order mark, as editors send it.
pub fn strip_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A line number and a column, both from 0, as in the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    /// Column, in units of the agreed encoding.
    pub column: u32,
}

impl From<Position> for lsp_types::Position {
    fn from(position: Position) -> lsp_types::Position {
        lsp_types::Position {
            line: position.line,
            character: position.column,
        }
    }
}

/// Offsets of the line starts of a text. LF, CR LF and a lone CR end a line, as in the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let mut starts = vec![0];
        starts_in(text, 0..text.len(), &mut starts);
        LineIndex { starts }
    }

    /// Updates the index after `range` was replaced by `length` bytes; `text` is the new text. Scans only the lines
    /// around the change, so that a key in a long file is cheap.
    pub fn replace(&mut self, text: &str, range: Range<usize>, length: usize) {
        // A CR at the end of the previous line may gain or lose its LF.
        let first = self.line_of(range.start.saturating_sub(1));
        let next = self.line_of(range.end) + 1;
        let mut fresh = Vec::new();
        let end = self
            .starts
            .get(next)
            .map_or(text.len(), |start| moved(*start, range.len(), length));
        starts_in(text, self.starts[first]..end, &mut fresh);
        // The scan above already includes the start of the next line.
        let kept = self.starts.len().min(next + 1);
        for start in &mut self.starts[kept..] {
            *start = moved(*start, range.len(), length);
        }
        self.starts.splice(first + 1..kept, fresh);
    }

    /// The number of lines; the text after the last line end counts, even if empty.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    /// The start of a line; clamps to the last line.
    pub fn start(&self, line: usize) -> usize {
        self.starts[line.min(self.starts.len() - 1)]
    }

    /// A line of the indexed text, without its line end.
    pub fn line<'a>(&self, text: &'a str, line: usize) -> &'a str {
        let start = self.start(line);
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The position of a byte offset in the indexed text.
    pub fn position(&self, text: &str, byte: usize, encoding: Encoding) -> Position {
        let line = self.line_of(byte);
        let column = column(self.line(text, line), byte - self.start(line), encoding);
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column,
        }
    }

    /// The byte offset of a position; a column after the end of its line is clamped to that end.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        if line >= self.count() {
            return text.len();
        }
        self.start(line) + byte_offset(self.line(text, line), position.column, encoding)
    }
}

/// The offset of a byte behind a change.
fn moved(offset: usize, removed: usize, added: usize) -> usize {
    offset - removed + added
}

/// Adds the starts of lines whose preceding line end begins in the range.
fn starts_in(text: &str, range: Range<usize>, starts: &mut Vec<usize>) {
    let bytes = text.as_bytes();
    let mut at = range.start;
    while let Some(offset) = bytes.get(at..range.end).and_then(|rest| memchr2(b'\n', b'\r', rest)) {
        at += offset + 1;
        if bytes[at - 1] == b'\r' && bytes.get(at) == Some(&b'\n') {
            at += 1;
        }
        starts.push(at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    #[test]
    fn an_emoji_counts_four_bytes_two_units_one_character() {
        let line = "x = \"😀é\" + name";
        let byte = line.find("name").unwrap();
        assert_eq!(ALL.map(|encoding| column(line, byte, encoding)), [15, 12, 11]);
        for encoding in ALL {
            assert_eq!(byte_offset(line, column(line, byte, encoding), encoding), byte);
        }
    }

    #[test]
    fn a_column_inside_a_surrogate_pair_is_its_start() {
        assert_eq!(byte_offset("a😀b", 2, Encoding::Utf16), 1);
        assert_eq!(column("a😀b", 3, Encoding::Utf16), 1);
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line_and_is_no_part_of_it() {
        let text = "one\r\ntwo\rthree\nfour\n";
        let index = LineIndex::new(text);
        let lines: Vec<&str> = (0..index.count()).map(|line| index.line(text, line)).collect();
        assert_eq!(lines, ["one", "two", "three", "four", ""]);
        assert_eq!(
            index.position(text, 5, Encoding::Utf16),
            Position { line: 1, column: 0 }
        );
    }

    #[test]
    fn the_line_end_itself_has_the_column_before_it() {
        let text = "one\r\ntwo";
        let index = LineIndex::new(text);
        for byte in [3, 4] {
            assert_eq!(
                index.position(text, byte, Encoding::Utf8),
                Position { line: 0, column: 3 }
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_stripped_once() {
        assert_eq!(strip_bom("\u{feff}import os"), "import os");
        assert_eq!(strip_bom("import os"), "import os");
    }

    #[test]
    fn names_of_encodings_go_both_ways() {
        for encoding in ALL {
            assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
        }
        assert_eq!(Encoding::from_name("utf-7"), None);
    }

    proptest! {
        #[test]
        fn offset_and_position_are_inverse(text in "[a-c😀é\u{4e2d}\r\n\t]{0,60}", pick in any::<prop::sample::Index>()) {
            let index = LineIndex::new(&text);
            let byte = text.floor_char_boundary(pick.index(text.len() + 1));
            let inside_line_end = text[byte..].starts_with('\n') && text[..byte].ends_with('\r');
            prop_assume!(!inside_line_end);
            for encoding in ALL {
                let position = index.position(&text, byte, encoding);
                prop_assert_eq!(index.offset(&text, position, encoding), byte);
            }
        }

        #[test]
        fn an_index_that_followed_every_change_is_that_of_the_text(
            text in "[ab\r\n]{0,40}",
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, "[a\r\n]{0,5}"), 0..12),
        ) {
            let mut text = text;
            let mut index = LineIndex::new(&text);
            for (place, length, new) in edits {
                let start = place.index(text.len() + 1);
                let range = start..(start + length).min(text.len());
                text.replace_range(range.clone(), &new);
                index.replace(&text, range, new.len());
                prop_assert_eq!(&index, &LineIndex::new(&text));
            }
        }

        #[test]
        fn utf16_columns_agree_with_the_standard_library(line in "\\PC{0,40}", pick in any::<prop::sample::Index>()) {
            let byte = line.floor_char_boundary(pick.index(line.len() + 1));
            let expected = line[..byte].encode_utf16().count();
            prop_assert_eq!(column(&line, byte, Encoding::Utf16) as usize, expected);
        }

        #[test]
        fn lines_and_their_ends_make_up_the_text(text in "[ab\r\n]{0,40}") {
            let index = LineIndex::new(&text);
            let whole: String = (0..index.count())
                .map(|line| {
                    let end = if line + 1 < index.count() { index.start(line + 1) } else { text.len() };
                    &text[index.start(line)..end]
                })
                .collect();
            prop_assert_eq!(whole, text);
        }
    }
}
