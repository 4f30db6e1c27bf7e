//! What the tool must know of a programming language to find places in its text: words, comments, strings, members.

// Tables of words read better in rows than one to a line.
#[rustfmt::skip]
mod keywords;
mod lexer;
mod literal;
mod markup;
mod quiet;
mod sites;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use lexer::{Kind, Token, tokens};
pub use sites::{Call, Identifier, Member, Sites, sites};

/// The lexical facts of one language.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its LSP language ids; the first is the one it is known by.
    pub ids: &'static [&'static str],
    pub(super) family: Family,
    keywords: &'static [&'static str],
    /// Keywords that the name of a new thing follows.
    definers: &'static [&'static str],
    /// Keywords that have members like a name does: `self`, `this`.
    receivers: &'static [&'static str],
    /// What stands between a thing and its member, longest first.
    pub(super) member_operators: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    nested_comments: bool,
}

/// Languages whose literals are written alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Python,
    Rust,
    Go,
    C,
    Cpp,
    /// JavaScript and TypeScript; `markup` where JSX may occur.
    Script {
        markup: bool,
    },
    Lua,
    Zig,
    Generic,
    /// Has no names to go to.
    Data,
}

const SCRIPT_DEFINERS: &[&str] = &[
    "class", "const", "enum", "function", "interface", "let", "module", "namespace", "type", "var",
];

/// Every language with a table of its own; the last one stands for all others.
pub(super) static LANGUAGES: [Language; 11] = [
    Language {
        family: Family::Python,
        keywords: keywords::PYTHON,
        definers: &["class", "def"],
        line_comments: &["#"],
        block_comment: None,
        ..like_c(&["python"])
    },
    Language {
        family: Family::Rust,
        keywords: keywords::RUST,
        definers: &[
            "const", "enum", "fn", "mod", "mut", "let", "static", "struct", "trait", "type", "union",
        ],
        receivers: &["Self", "crate", "self", "super"],
        member_operators: &["::", "."],
        nested_comments: true,
        ..like_c(&["rust"])
    },
    Language {
        family: Family::Go,
        keywords: keywords::GO,
        definers: &["const", "func", "package", "type", "var"],
        ..like_c(&["go"])
    },
    Language {
        family: Family::C,
        keywords: keywords::C,
        definers: &["enum", "struct", "union"],
        member_operators: &["->", "."],
        ..like_c(&["c", "objective-c"])
    },
    Language {
        family: Family::Cpp,
        keywords: keywords::CPP,
        definers: &["class", "enum", "namespace", "struct", "typename", "union"],
        receivers: &["this"],
        member_operators: &["->", "::", "."],
        ..like_c(&["cpp", "objective-cpp", "cuda-cpp"])
    },
    Language {
        family: Family::Script { markup: false },
        keywords: keywords::SCRIPT,
        definers: SCRIPT_DEFINERS,
        receivers: &["super", "this"],
        member_operators: &["?.", "."],
        ..like_c(&["typescript"])
    },
    Language {
        family: Family::Script { markup: true },
        keywords: keywords::SCRIPT,
        definers: SCRIPT_DEFINERS,
        receivers: &["super", "this"],
        member_operators: &["?.", "."],
        ..like_c(&["typescriptreact", "javascript", "javascriptreact"])
    },
    Language {
        family: Family::Lua,
        keywords: keywords::LUA,
        definers: &["function", "local"],
        member_operators: &[".", ":"],
        line_comments: &["--"],
        block_comment: None,
        ..like_c(&["lua"])
    },
    Language {
        family: Family::Zig,
        keywords: keywords::ZIG,
        definers: &["const", "fn", "var"],
        block_comment: None,
        ..like_c(&["zig"])
    },
    Language {
        family: Family::Data,
        keywords: &[],
        ..like_c(&["json", "jsonc", "toml", "yaml", "markdown", "plaintext"])
    },
    like_c(&["unknown"]),
];

/// The fallback, and the base that the tables above change.
const fn like_c(ids: &'static [&'static str]) -> Language {
    Language {
        ids,
        family: Family::Generic,
        keywords: keywords::GENERIC,
        definers: &[
            "class", "def", "enum", "fn", "fun", "func", "function", "interface", "struct", "trait", "type",
        ],
        receivers: &["self", "this"],
        member_operators: &["->", "::", "?.", "."],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        nested_comments: false,
    }
}

impl Language {
    /// The facts for a language id; an unknown one is read as something like C.
    pub fn of(id: &str) -> &'static Language {
        let [known @ .., fallback] = &LANGUAGES;
        known
            .iter()
            .find(|language| language.ids.contains(&id))
            .unwrap_or(fallback)
    }

    /// Whether its texts hold names that a server can resolve.
    pub fn has_names(&self) -> bool {
        self.family != Family::Data
    }

    /// Whether a word, standing alone, is not a name.
    pub fn is_keyword(&self, word: &str) -> bool {
        self.keywords.binary_search(&word).is_ok() || (self.family == Family::Zig && is_sized_integer(word))
    }
}

/// `u8`, `i32`, `u0` …: Zig has one integer type for every width.
fn is_sized_integer(word: &str) -> bool {
    word.strip_prefix(['i', 'u'])
        .is_some_and(|width| !width.is_empty() && width.bytes().all(|b| b.is_ascii_digit()))
}

/// The language id that an editor gives a file of a workspace in `language`: dialects go by their extension.
pub fn id_of(path: &Path, language: &str) -> String {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    let script = matches!(Language::of(language).family, Family::Script { .. });
    match extension {
        "tsx" if script => "typescriptreact",
        "jsx" if script => "javascriptreact",
        "ts" | "mts" | "cts" if script => "typescript",
        "js" | "mjs" | "cjs" if script => "javascript",
        "c" if language == "cpp" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" if language == "c" => "cpp",
        _ => language,
    }
    .to_owned()
}
