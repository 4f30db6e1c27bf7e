//! Reads of parameters what is no content: which document, where, how much.

use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use lsp::Id;
use record::{DocumentHash, FileChange, MOST_PARTS, RelayedParams, TextChange, TextPosition, TextRange, TextSize};

/// Longest extension of a file that is kept.
const LONGEST_EXTENSION: usize = 8;
/// Hexadecimal digits of a hash.
const DIGITS: usize = 16;

/// Editors by the names that they say. Any other name may be of the user's making.
const EDITORS: [&str; 10] = [
    "Cursor", "Eglot", "Emacs", "Helix", "Kate", "Neovim", "Sublime Text LSP", "VSCodium", "Visual Studio Code", "Zed",
];

/// Makes hashes of documents that nobody can compare with those of another record.
pub struct Salt([u8; 32]);

impl Salt {
    pub fn draw() -> Result<Salt, getrandom::Error> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)?;
        Ok(Salt(salt))
    }

    fn document(&self, uri: &str) -> DocumentHash {
        let digest = Sha256::new().chain_update(self.0).chain_update(uri).finalize();
        let mut hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        hash.truncate(DIGITS);
        DocumentHash {
            hash,
            extension: extension(uri),
        }
    }
}

fn extension(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next()?;
    let (_, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_plain = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if stem.is_empty() || extension.is_empty() || extension.len() > LONGEST_EXTENSION || !is_plain {
        return None;
    }
    Some(extension.to_owned())
}

/// Facts of one message that are no content.
#[derive(Debug, Default)]
pub struct Said {
    pub params: Option<Box<RelayedParams>>,
    /// The request that `$/cancelRequest` cancels.
    pub cancels: Option<Id>,
    /// Methods of the specification that a server registers.
    pub registers: Vec<&'static str>,
}

/// Parameters of all methods, by the names that the specification has for them.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    text_document: Option<Document>,
    notebook_document: Option<Document>,
    item: Option<Document>,
    uri: Option<String>,
    position: Option<TextPosition>,
    positions: Vec<TextPosition>,
    range: Option<TextRange>,
    text: Option<String>,
    content_changes: Vec<Change>,
    changes: Vec<ChangedFile>,
    files: Vec<RenamedFile>,
    context: Context,
    query: Option<String>,
    id: Option<serde_json::Value>,
    client_info: Option<ClientInfo>,
    registrations: Option<Vec<Registration>>,
    items: Option<Vec<IgnoredAny>>,
    diagnostics: Option<Vec<IgnoredAny>>,
    event: Option<Folders>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    uri: String,
    version: Option<i64>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Change {
    range: Option<TextRange>,
    text: String,
}

#[derive(Deserialize)]
struct ChangedFile {
    uri: String,
    #[serde(rename = "type")]
    kind: u8,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RenamedFile {
    uri: Option<String>,
    old_uri: Option<String>,
    new_uri: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Context {
    trigger_kind: Option<i64>,
}

#[derive(Deserialize)]
struct ClientInfo {
    name: String,
}

#[derive(Deserialize)]
struct Registration {
    method: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Folders {
    added: Vec<IgnoredAny>,
    removed: Vec<IgnoredAny>,
}

const CREATED: u8 = 1;
const DELETED: u8 = 3;

/// Reads the parameters of a method of the specification. Nothing is known of those that break it.
pub fn read(method: &str, json: &[u8], salt: &Salt) -> Said {
    let Ok(params) = serde_json::from_slice::<Params>(json) else {
        return Said::default();
    };
    let cancels = params.id.as_ref().and_then(Id::from_value);
    let registrations = params.registrations.iter().flatten();
    let registers = registrations
        .filter_map(|registration| lsp::specified(&registration.method))
        .collect();
    let known = known(method, params, salt);
    let is_empty = known == RelayedParams::default();
    Said {
        params: if is_empty { None } else { Some(Box::new(known)) },
        cancels: if method == "$/cancelRequest" { cancels } else { None },
        registers,
    }
}

fn known(method: &str, params: Params, salt: &Salt) -> RelayedParams {
    let elements = elements(&params);
    let document = params.text_document.or(params.notebook_document).or(params.item);
    let uri = document.as_ref().map(|document| &document.uri).or(params.uri.as_ref());
    let text = document.as_ref().and_then(|document| document.text.as_ref());
    let changes = params.content_changes.iter().take(MOST_PARTS);
    let editor = params.client_info.and_then(|client| known_editor(&client.name));
    RelayedParams {
        document: uri.map(|uri| salt.document(uri)),
        version: document.as_ref().and_then(|document| document.version),
        positions: params
            .position
            .into_iter()
            .chain(params.positions)
            .take(MOST_PARTS)
            .collect(),
        range: params.range,
        text: text.or(params.text.as_ref()).map(|text| size(text)),
        changes: changes
            .map(|change| TextChange {
                range: change.range,
                inserted: size(&change.text),
            })
            .collect(),
        files: files(method, &params.changes, &params.files, salt),
        trigger: params.context.trigger_kind,
        query: params.query.map(|query| query.chars().count() as u64),
        elements,
        editor: editor.map(str::to_owned),
    }
}

fn known_editor(name: &str) -> Option<&'static str> {
    EDITORS.into_iter().find(|editor| editor.eq_ignore_ascii_case(name))
}

fn size(text: &str) -> TextSize {
    TextSize {
        bytes: text.len() as u64,
        characters: text.chars().count() as u64,
        lines: text.bytes().filter(|byte| *byte == b'\n').count() as u64,
    }
}

/// Elements of the only list that the parameters of a method have.
fn elements(params: &Params) -> Option<u64> {
    let folders = params
        .event
        .as_ref()
        .map(|event| event.added.len() + event.removed.len());
    let lists = [
        params.items.as_ref().map(Vec::len),
        params.diagnostics.as_ref().map(Vec::len),
        params.registrations.as_ref().map(Vec::len),
        folders,
        Some(params.content_changes.len()),
        Some(params.changes.len()),
        Some(params.files.len()),
    ];
    let length = lists.into_iter().flatten().find(|length| *length > 0);
    length.map(|length| length as u64)
}

/// The files that the message says to have changed.
fn files(method: &str, changed: &[ChangedFile], others: &[RenamedFile], salt: &Salt) -> Vec<FileChange> {
    let mut files = Vec::new();
    for file in changed {
        files.push(FileChange {
            file: salt.document(&file.uri),
            kind: file.kind,
        });
    }
    for file in others {
        let kind = if method.ends_with("DeleteFiles") {
            DELETED
        } else {
            CREATED
        };
        let moved = [(&file.old_uri, DELETED), (&file.new_uri, CREATED), (&file.uri, kind)];
        for (uri, kind) in moved {
            if let Some(uri) = uri {
                let file = salt.document(uri);
                files.push(FileChange { file, kind });
            }
        }
    }
    files.truncate(MOST_PARTS);
    files
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_value(method: &str, params: &Value) -> RelayedParams {
        let said = read(method, params.to_string().as_bytes(), &Salt([7; 32]));
        said.params.map_or_else(RelayedParams::default, |params| *params)
    }

    #[test]
    fn an_opened_document_is_its_hash_its_extension_and_its_size() {
        let document =
            json!({"uri": "file:///home/me/secret.py", "languageId": "python", "version": 1, "text": "é\nb"});
        let params = read_value("textDocument/didOpen", &json!({"textDocument": document}));
        let size = TextSize {
            bytes: 4,
            characters: 3,
            lines: 1,
        };
        assert_eq!(params.text, Some(size));
        let document = params.document.unwrap();
        assert_eq!((document.hash.len(), document.extension.as_deref()), (16, Some("py")));
    }

    #[test]
    fn a_change_has_its_range_and_the_size_of_what_it_inserts() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}});
        let params = read_value(
            "textDocument/didChange",
            &json!({"textDocument": {"uri": "file:///a.py", "version": 2}, "contentChanges": [{"range": range, "text": "x\n"}, {"text": ""}]}),
        );
        let start = TextPosition { line: 1, character: 2 };
        assert_eq!(params.changes[0].range.map(|range| range.start), Some(start));
        assert_eq!((params.changes[0].inserted.lines, params.changes[1].range), (1, None));
        assert_eq!((params.version, params.elements), (Some(2), Some(2)));
    }

    #[test]
    fn changed_and_renamed_files_are_told_with_their_kinds() {
        let params = read_value(
            "workspace/didChangeWatchedFiles",
            &json!({"changes": [{"uri": "file:///a.py", "type": 2}]}),
        );
        assert_eq!((params.files[0].kind, params.elements), (2, Some(1)));
        let params = read_value(
            "workspace/didRenameFiles",
            &json!({"files": [{"oldUri": "file:///a.py", "newUri": "file:///b.rs"}]}),
        );
        let kinds: Vec<u8> = params.files.iter().map(|file| file.kind).collect();
        assert_eq!(kinds, [DELETED, CREATED]);
    }

    #[test]
    fn an_extension_is_kept_only_if_it_is_one() {
        for (uri, extension) in [
            ("file:///a/b.tsx", Some("tsx")),
            ("file:///a.b/Makefile", None),
            ("file:///a/.env", None),
            ("file:///a/b.customer-secret", None),
            ("file:///a/b.muchlonger", None),
            ("untitled:Untitled-1", None),
        ] {
            assert_eq!(super::extension(uri).as_deref(), extension, "{uri}");
        }
    }

    #[test]
    fn hashes_of_one_salt_say_which_documents_are_the_same_and_others_say_nothing() {
        let (one, other) = (Salt::draw().unwrap(), Salt::draw().unwrap());
        assert_eq!(one.document("file:///a.py"), one.document("file:///a.py"));
        assert_ne!(one.document("file:///a.py"), one.document("file:///b.py"));
        assert_ne!(one.document("file:///a.py"), other.document("file:///a.py"));
    }

    #[test]
    fn only_editors_that_everybody_knows_are_named() {
        for (name, editor) in [("Neovim", Some("Neovim")), ("editor of customer X", None)] {
            let params = read_value("initialize", &json!({"clientInfo": {"name": name}}));
            assert_eq!(params.editor.as_deref(), editor);
        }
    }

    #[test]
    fn parameters_that_break_the_specification_say_nothing() {
        let said = read("textDocument/hover", b"{\"textDocument\": 7}", &Salt([7; 32]));
        assert!(said.params.is_none());
    }
}
