//! What the tool must know of a language to find places in its text: words, comments, strings, members; keys and values of
//! data; tags and attributes of markup.

// Tables of words read better in rows than one to a line.
#[rustfmt::skip]
mod keywords;
mod data;
mod lexer;
mod literal;
mod markup;
mod places;
mod quiet;
mod sites;
mod styles;
mod tags;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use data::Notation;
use tags::Dialect;

pub use lexer::{Kind, Token, tokens};
pub use sites::{Call, Identifier, Member, Sites, sites};

/// The lexical facts of one language.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its LSP language ids; the first is the one it is known by.
    pub ids: &'static [&'static str],
    pub(super) family: Family,
    keywords: &'static [&'static str],
    /// Whether keywords may be written in capitals too; the tables have them in small letters.
    caseless: bool,
    /// Keywords that the name of a new thing follows.
    definers: &'static [&'static str],
    /// Keywords that have members like a name does: `self`, `this`.
    receivers: &'static [&'static str],
    /// What stands between a thing and its member, longest first.
    pub(super) member_operators: &'static [&'static str],
    /// Whether only names after a `$` lead somewhere, and a `#` begins a comment at the start of a word only.
    pub(super) sigil: bool,
    /// Whether completions are there for the first word of a line, which is an instruction, and for no other.
    pub(super) instructions: bool,
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
    Data(Notation),
    Markup(Dialect),
    Style,
    Prose,
}

const SCRIPT_DEFINERS: &[&str] = &[
    "class", "const", "enum", "function", "interface", "let", "module", "namespace", "type", "var",
];

/// Every language with a table of its own; the last one stands for all others.
pub(super) static LANGUAGES: &[Language] = &[
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
    other(Family::Data(Notation::Json), &["json", "jsonc"]),
    other(
        Family::Data(Notation::Yaml),
        &["yaml", "ansible", "dockercompose", "docker-compose"],
    ),
    other(Family::Data(Notation::Toml), &["toml"]),
    other(Family::Data(Notation::Cells), &["robotframework"]),
    other(Family::Markup(Dialect::Xml), &["xml", "xsl"]),
    other(
        Family::Markup(Dialect::Html),
        &["html", "handlebars", "django-html", "jinja-html", "astro"],
    ),
    other(Family::Markup(Dialect::Vue), &["vue"]),
    other(Family::Markup(Dialect::Svelte), &["svelte"]),
    other(Family::Style, &["css", "scss", "less"]),
    other(Family::Data(Notation::Text), &["markdown"]),
    other(Family::Prose, &["plaintext"]),
    Language {
        sigil: true,
        ..hashed(&["shellscript"])
    },
    Language {
        sigil: true,
        caseless: true,
        ..hashed(&["cmake"])
    },
    Language {
        keywords: &[],
        sigil: true,
        instructions: true,
        ..hashed(&["dockerfile"])
    },
    Language {
        keywords: keywords::GRAPHQL,
        definers: &[
            "directive", "enum", "fragment", "input", "interface", "mutation", "query", "scalar", "subscription",
            "type", "union",
        ],
        ..hashed(&["graphql"])
    },
    Language {
        member_operators: &["."],
        ..hashed(&["elixir", "julia", "nix", "perl", "r", "ruby"])
    },
    Language {
        keywords: keywords::SQL,
        caseless: true,
        member_operators: &["."],
        line_comments: &["--"],
        ..like_c(&["sql"])
    },
    Language {
        member_operators: &["%"],
        line_comments: &["!"],
        block_comment: None,
        keywords: keywords::FORTRAN,
        caseless: true,
        definers: &["function", "module", "program", "subroutine"],
        ..like_c(&["fortran", "fortran-modern"])
    },
    like_c(&["unknown"]),
];

/// The fallback, and the base that the tables above change.
const fn like_c(ids: &'static [&'static str]) -> Language {
    Language {
        ids,
        family: Family::Generic,
        keywords: keywords::GENERIC,
        caseless: false,
        definers: &[
            "class", "def", "enum", "fn", "fun", "func", "function", "interface", "struct", "trait", "type",
        ],
        receivers: &["self", "this"],
        member_operators: &["->", "::", "?.", "."],
        line_comments: &["//"],
        block_comment: Some(("/*", "*/")),
        nested_comments: false,
        sigil: false,
        instructions: false,
    }
}

/// A language whose lines are commented by `#`, and which reaches into nothing.
const fn hashed(ids: &'static [&'static str]) -> Language {
    Language {
        line_comments: &["#"],
        block_comment: None,
        member_operators: &[],
        ..like_c(ids)
    }
}

/// A language that is no programming language.
const fn other(family: Family, ids: &'static [&'static str]) -> Language {
    Language {
        family,
        keywords: &[],
        member_operators: &[],
        ..like_c(ids)
    }
}

impl Language {
    /// The facts for a language id; an unknown one is read as something like C.
    pub fn of(id: &str) -> &'static Language {
        let (fallback, known) = LANGUAGES.split_last().expect("the table has rows");
        known
            .iter()
            .find(|language| language.ids.contains(&id))
            .unwrap_or(fallback)
    }

    /// What its places are called where names are asked for.
    pub fn places(&self) -> &'static str {
        match self.family {
            Family::Data(Notation::Cells) => "cells",
            Family::Data(Notation::Text) => "words or links",
            Family::Data(_) => "keys or values",
            Family::Markup(_) => "tags or attributes",
            Family::Style => "selectors or properties",
            _ => "names",
        }
    }

    /// Whether completions are asked for at the end of any name, for there are no members to reach into.
    pub fn completes_names(&self) -> bool {
        self.member_operators.is_empty() && self.family != Family::Prose
    }

    /// Whether a word, standing alone, is not a name.
    pub fn is_keyword(&self, word: &str) -> bool {
        self.keywords.binary_search(&&*self.folded(word)).is_ok()
            || (self.family == Family::Zig && is_sized_integer(word))
    }

    /// Whether the name of a new thing follows a keyword.
    pub(super) fn is_definer(&self, keyword: &str) -> bool {
        self.definers.contains(&&*self.folded(keyword))
    }

    /// A word as the tables have it.
    fn folded<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match self.caseless {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        }
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
