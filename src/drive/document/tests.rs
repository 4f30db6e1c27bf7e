//! Tests documents against an independent model of a server that applies the same changes.

use lsp_types::DidChangeTextDocumentParams;
use proptest::prelude::*;

use super::*;
use base::random::Random;

const ENCODINGS: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

/// A server's copy of a document, as code points.
struct Peer {
    text: Vec<char>,
    version: i32,
    encoding: Encoding,
}

impl Peer {
    fn open(document: &Document, encoding: Encoding) -> Peer {
        let item = document.opened().text_document;
        Peer {
            text: item.text.chars().collect(),
            version: item.version,
            encoding,
        }
    }

    fn change(&mut self, document: &Document, change: Option<Change>) {
        let params = sent(document, &change.unwrap());
        assert_eq!(params.text_document.version, self.version + 1);
        self.version += 1;
        for change in params.content_changes {
            let range = match change.range {
                Some(range) => self.index(range.start)..self.index(range.end),
                None => 0..self.text.len(),
            };
            self.text.splice(range, change.text.chars());
        }
    }

    /// Returns the index of a position, and panics if it does not exist.
    fn index(&self, position: Position) -> usize {
        let mut at = 0;
        for _ in 0..position.line {
            while !matches!(self.text[at], '\n' | '\r') {
                at += 1;
            }
            at += if self.text[at] == '\r' && self.text.get(at + 1) == Some(&'\n') {
                2
            } else {
                1
            };
        }
        let mut column = 0;
        while column < position.character {
            assert!(
                !matches!(self.text[at], '\n' | '\r'),
                "{position:?} is past the end of its line"
            );
            column += match self.encoding {
                Encoding::Utf8 => self.text[at].len_utf8() as u32,
                Encoding::Utf16 => self.text[at].len_utf16() as u32,
                Encoding::Utf32 => 1,
            };
            at += 1;
        }
        assert_eq!(column, position.character, "{position:?} is inside a character");
        at
    }

    fn text(&self) -> String {
        self.text.iter().collect()
    }
}

/// The notification that a server receives.
fn sent(document: &Document, change: &Change) -> DidChangeTextDocumentParams {
    serde_json::from_value(serde_json::to_value(document.change(change, false)).unwrap()).unwrap()
}

fn document(text: &str, sync: Sync, encoding: Encoding) -> Document {
    let uri = Url::parse("file:///a.py").unwrap();
    Document::new(uri, "python", text.to_owned(), sync, encoding)
}

/// Text with many line ends and characters of every width.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\r", "\n", "\r\n", "a", "é", "名", "😀", "\u{feff}", "e\u{301}", " x = 1",
    ]);
    prop::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_server_that_applies_the_changes_has_the_same_text(
        original in text(),
        edits in prop::collection::vec((any::<u16>(), 0_usize..9, text()), 1..12),
        marked in 0_usize..12,
        full in any::<bool>(),
    ) {
        let sync = if full { Sync::Full } else { Sync::Incremental };
        for encoding in ENCODINGS {
            let mut document = document(&original, sync, encoding);
            let mut peer = Peer::open(&document, encoding);
            let opened = document.mark();
            let mut then = (opened, original.clone());
            for (number, (at, length, new)) in edits.iter().enumerate() {
                let start = usize::from(*at) % (document.text().len() + 1);
                let change = document.edit(start..start + length, new);
                peer.change(&document, change);
                prop_assert_eq!(&peer.text(), document.text());
                if number == marked {
                    then = (document.mark(), document.text().to_owned());
                }
            }
            if let Some(change) = document.undo_to(then.0) {
                peer.change(&document, Some(change));
            }
            prop_assert_eq!(&peer.text(), &then.1);
            if let Some(change) = document.undo_to(opened) {
                peer.change(&document, Some(change));
            }
            prop_assert_eq!(&peer.text(), &original);
            prop_assert_eq!(document.text(), original.as_str());
        }
    }
}

#[test]
fn two_thousand_edits_stay_consistent_and_are_undone_in_one_change() {
    let original = "def f(😀):\r\n    return 'ü'\n\n".repeat(20);
    let mut document = document(&original, Sync::Incremental, Encoding::Utf16);
    let mut peer = Peer::open(&document, Encoding::Utf16);
    let opened = document.mark();
    let mut random = Random::new(5);
    for number in 0..2_000 {
        let start = random.below(document.text().len() + 1);
        let length = random.below(4);
        let new = ["x", "\r\n", "😀\n", ""][random.below(4)];
        let change = document.edit(start..start + length, new);
        peer.change(&document, change);
        assert_eq!(peer.version, number + 2);
    }
    assert_eq!(peer.text(), document.text());
    let change = document.undo_to(opened);
    peer.change(&document, change);
    assert_eq!(peer.text(), original);
    assert_eq!(document.version(), 2_002);
}

#[test]
fn what_was_typed_key_by_key_is_undone_as_one_removal() {
    let mut document = document("a\r\nb", Sync::Incremental, Encoding::Utf16);
    let mark = document.mark();
    for (number, key) in ["\r\n", "x", "é", "."].iter().enumerate() {
        let at = [1, 3, 4, 6][number];
        document.insert(at, key);
    }
    assert_eq!(document.text(), "a\r\nxé.\r\nb");
    let change = document.undo_to(mark).unwrap();
    let params = sent(&document, &change);
    let range = lsp_types::Range::new(Position::new(0, 1), Position::new(1, 3));
    assert_eq!(params.content_changes.len(), 1);
    assert_eq!(params.content_changes[0].range, Some(range));
    assert_eq!(document.text(), "a\r\nb");
    assert_eq!(document.undo_to(mark), None);
}

#[test]
fn positions_count_in_the_agreed_encoding() {
    for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4), (Encoding::Utf32, 3)] {
        let document = document("x\r\né😀yz", Sync::Full, encoding);
        assert_eq!(document.position(10), Position::new(1, column));
        assert_eq!(document.position(2), Position::new(0, 1), "between CR and LF");
        assert_eq!(document.position(6), document.position(5), "inside a character");
        assert_eq!(document.position(999).line, 1);
    }
}

#[test]
fn a_server_that_wants_no_changes_gets_none_and_one_that_wants_all_gets_the_text() {
    let mut silent = document("a", Sync::None, Encoding::Utf16);
    assert_eq!(silent.insert(1, "b"), None);
    assert_eq!((silent.text(), silent.version()), ("ab", 1));
    let mut full = document("a", Sync::Full, Encoding::Utf16);
    let change = full.insert(1, "b").unwrap();
    let params = sent(&full, &change);
    assert_eq!(
        (params.content_changes[0].range, params.content_changes[0].text.as_str()),
        (None, "ab")
    );
}

#[test]
fn a_file_is_opened_without_its_mark_and_with_its_line_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ä b.py");
    std::fs::write(&path, "\u{feff}a = 1\r\n").unwrap();
    let file = SourceFile {
        path: path.clone(),
        relative: "ä b.py".to_owned(),
        size: 10,
        language: "python".to_owned(),
    };
    let document = Document::open(&file, Sync::Full, Encoding::Utf16).unwrap();
    assert_eq!(document.text(), "a = 1\r\n");
    assert_eq!(document.line_end(), "\r\n");
    assert!(document.uri().as_str().ends_with("/%C3%A4%20b.py"));
    assert_eq!(uri::to_path(document.uri().as_str()), Some(path));
}
