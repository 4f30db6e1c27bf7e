//! Facts for finding places in a text: words, comments, strings, members; keys and values of data; tags and attributes
//! of markup. One lexer reads all languages, by the tables here and in `patterns`.

// Tables of words and patterns read better in rows than one to a line.
#[rustfmt::skip]
mod keywords;
mod lexer;
#[rustfmt::skip]
mod patterns;
mod quiet;
mod sites;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

use lexer::Scanner;

pub use lexer::{Kind, Token, tokens};
pub use sites::{Call, Identifier, Member, Sites, sites};

#[derive(Debug)]
pub struct Language {
    /// LSP language ids; the first is the canonical one.
    pub ids: &'static [&'static str],
    pub(super) family: Family,
    /// Token patterns; empty where there is nothing to ask about.
    patterns: &'static [&'static str],
    /// The language of the attributes in a tag.
    attributes: &'static str,
    keywords: &'static [&'static str],
    /// True if keywords ignore case; the tables have them in lower case.
    caseless: bool,
    /// Keywords followed by the name of a definition.
    definers: &'static [&'static str],
    /// Keywords that have members, as names do: `self`, `this`.
    receivers: &'static [&'static str],
    /// Operators between an object and its member, longest first.
    pub(super) member_operators: &'static [&'static str],
    /// True if only names after a `$` resolve to a definition.
    sigil: bool,
    /// True if only the first word of a line, an instruction, has completions.
    instructions: bool,
    /// The word for a place in messages that would say "names".
    pub places: &'static str,
    /// Text before and after a comment of one line; empty where the language has none.
    pub(super) comment: (&'static str, &'static str),
    /// Text before and after the new name in an assignment, and the end of the statement.
    pub(super) declaration: (&'static str, &'static str),
    pub(super) terminator: &'static str,
}

/// Languages with the same statement syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Python,
    Rust,
    Go,
    /// Includes C++.
    C,
    /// JavaScript and TypeScript; `markup` where JSX may occur.
    Script {
        markup: bool,
    },
    Lua,
    Generic,
    /// Data, markup and prose.
    Text,
}

const HASH: (&str, &str) = ("#", "");
const MARKUP: (&str, &str) = ("<!--", "-->");

const SCRIPT_DEFINERS: &[&str] = &[
    "class", "const", "enum", "function", "interface", "let", "module", "namespace", "type", "var",
];

/// Every language with its own table; the last stands for all others.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        family: Family::Python,
        patterns: patterns::PYTHON,
        keywords: keywords::PYTHON,
        definers: &["class", "def"],
        comment: ("#", ""),
        ..like_c(&["python"])
    },
    Language {
        family: Family::Rust,
        patterns: patterns::RUST,
        keywords: keywords::RUST,
        definers: &[
            "const", "enum", "fn", "mod", "mut", "let", "static", "struct", "trait", "type", "union",
        ],
        receivers: &["Self", "crate", "self", "super"],
        member_operators: &["::", "."],
        declaration: ("let ", " = "),
        terminator: ";",
        ..like_c(&["rust"])
    },
    Language {
        family: Family::Go,
        patterns: patterns::GO,
        keywords: keywords::GO,
        definers: &["const", "func", "package", "type", "var"],
        declaration: ("", " := "),
        ..like_c(&["go"])
    },
    Language {
        keywords: keywords::C,
        definers: &["enum", "struct", "union"],
        member_operators: &["->", "."],
        ..cxx(&["c", "objective-c"], "int ")
    },
    Language {
        keywords: keywords::CPP,
        definers: &["class", "enum", "namespace", "struct", "typename", "union"],
        receivers: &["this"],
        member_operators: &["->", "::", "."],
        ..cxx(&["cpp", "objective-cpp", "cuda-cpp"], "auto ")
    },
    script(&["typescript"], false),
    script(&["typescriptreact", "javascript", "javascriptreact"], true),
    Language {
        family: Family::Lua,
        patterns: patterns::LUA,
        keywords: keywords::LUA,
        definers: &["function", "local"],
        comment: ("--", ""),
        member_operators: &[".", ":"],
        declaration: ("local ", " = "),
        ..like_c(&["lua"])
    },
    Language {
        patterns: patterns::ZIG,
        keywords: keywords::ZIG,
        definers: &["const", "fn", "var"],
        declaration: ("const ", " = "),
        terminator: ";",
        ..like_c(&["zig"])
    },
    text_format(&["json", "jsonc"], patterns::JSON, "keys or values"),
    Language {
        comment: HASH,
        ..text_format(
            &["yaml", "ansible", "dockercompose", "docker-compose"],
            patterns::YAML,
            "keys or values",
        )
    },
    Language {
        comment: HASH,
        ..text_format(&["toml"], patterns::TOML, "keys or values")
    },
    Language {
        comment: HASH,
        ..text_format(&["robotframework"], patterns::CELLS, "cells")
    },
    Language {
        comment: MARKUP,
        ..text_format(&["xml", "xsl"], patterns::XML, "tags or attributes")
    },
    Language {
        comment: MARKUP,
        ..text_format(
            &["html", "handlebars", "django-html", "jinja-html", "astro"],
            patterns::HTML,
            "tags or attributes",
        )
    },
    Language {
        attributes: "vueattributes",
        comment: MARKUP,
        ..text_format(&["vue"], patterns::VUE, "tags or attributes")
    },
    Language {
        attributes: "svelteattributes",
        comment: MARKUP,
        ..text_format(&["svelte"], patterns::SVELTE, "tags or attributes")
    },
    Language {
        comment: ("/*", "*/"),
        ..text_format(&["css", "scss", "less"], patterns::STYLE, "selectors or properties")
    },
    Language {
        comment: MARKUP,
        ..text_format(&["markdown"], patterns::MARKDOWN, "words or links")
    },
    text_format(&["plaintext"], &[], "names"),
    text_format(&["attributes"], patterns::ATTRIBUTES, ""),
    text_format(&["vueattributes"], patterns::VUE_ATTRIBUTES, ""),
    text_format(&["svelteattributes"], patterns::SVELTE_ATTRIBUTES, ""),
    text_format(&["words"], patterns::WORDS, ""),
    Language {
        sigil: true,
        comment: HASH,
        ..plain(&["shellscript"], patterns::SHELLS)
    },
    Language {
        sigil: true,
        caseless: true,
        comment: HASH,
        ..plain(&["cmake"], patterns::SHELLS)
    },
    Language {
        keywords: &[],
        sigil: true,
        instructions: true,
        comment: HASH,
        ..plain(&["dockerfile"], patterns::SHELLS)
    },
    Language {
        keywords: keywords::GRAPHQL,
        definers: &[
            "directive", "enum", "fragment", "input", "interface", "mutation", "query", "scalar", "subscription",
            "type", "union",
        ],
        comment: HASH,
        ..plain(&["graphql"], patterns::HASHED)
    },
    Language {
        member_operators: &["."],
        comment: HASH,
        ..plain(&["elixir", "julia", "nix", "perl", "r", "ruby"], patterns::HASHED)
    },
    Language {
        keywords: keywords::SQL,
        caseless: true,
        member_operators: &["."],
        comment: ("--", ""),
        ..plain(&["sql"], patterns::SQL)
    },
    Language {
        member_operators: &["%"],
        keywords: keywords::FORTRAN,
        caseless: true,
        definers: &["function", "module", "program", "subroutine"],
        comment: ("!", ""),
        ..plain(&["fortran", "fortran-modern"], patterns::FORTRAN)
    },
    // Its comments are unknown too.
    Language {
        comment: ("", ""),
        ..like_c(&["unknown"])
    },
];

/// The fallback, and the base that the tables above change.
const fn like_c(ids: &'static [&'static str]) -> Language {
    Language {
        ids,
        family: Family::Generic,
        patterns: patterns::LIKE_C,
        attributes: "attributes",
        keywords: keywords::GENERIC,
        caseless: false,
        definers: &[
            "class", "def", "enum", "fn", "fun", "func", "function", "interface", "struct", "trait", "type",
        ],
        receivers: &["self", "this"],
        member_operators: &["->", "::", "?.", "."],
        sigil: false,
        instructions: false,
        places: "names",
        comment: ("//", ""),
        declaration: ("", " = "),
        terminator: "",
    }
}

const fn cxx(ids: &'static [&'static str], ty: &'static str) -> Language {
    Language {
        family: Family::C,
        patterns: patterns::C,
        declaration: (ty, " = "),
        terminator: ";",
        ..like_c(ids)
    }
}

const fn script(ids: &'static [&'static str], markup: bool) -> Language {
    Language {
        family: Family::Script { markup },
        patterns: patterns::SCRIPT,
        keywords: keywords::SCRIPT,
        definers: SCRIPT_DEFINERS,
        receivers: &["super", "this"],
        member_operators: &["?.", "."],
        declaration: ("const ", " = "),
        terminator: ";",
        ..like_c(ids)
    }
}

/// A language without member access.
const fn plain(ids: &'static [&'static str], patterns: &'static [&'static str]) -> Language {
    Language {
        patterns,
        member_operators: &[],
        ..like_c(ids)
    }
}

/// A data, markup or text format.
const fn text_format(
    ids: &'static [&'static str],
    patterns: &'static [&'static str],
    places: &'static str,
) -> Language {
    Language {
        family: Family::Text,
        keywords: &[],
        places,
        comment: ("", ""),
        ..plain(ids, patterns)
    }
}

impl Language {
    /// The facts for a language id; an unknown one is read like C.
    pub fn from_id(id: &str) -> &'static Language {
        let (fallback, known) = LANGUAGES.split_last().expect("the table has rows");
        known
            .iter()
            .find(|language| language.ids.contains(&id))
            .unwrap_or(fallback)
    }

    fn scanner(&self) -> &'static Scanner {
        static SCANNERS: [OnceLock<Scanner>; LANGUAGES.len()] = [const { OnceLock::new() }; LANGUAGES.len()];
        let row = LANGUAGES.iter().position(|language| std::ptr::eq(language, self));
        SCANNERS[row.expect("languages are rows of the table")].get_or_init(|| Scanner::new(self))
    }

    /// A line that changes a text and not its meaning, different for each `serial`: a comment, or else blanks.
    pub fn harmless_line(&self, serial: u64) -> String {
        match self.comment {
            ("", _) => blanks(serial),
            (open, "") => format!("{open} soak {serial}"),
            (open, close) => format!("{open} soak {serial} {close}"),
        }
    }

    /// True if completions are requested at the end of any name, because the language has no members.
    pub fn completes_names(&self) -> bool {
        self.member_operators.is_empty() && !self.patterns.is_empty()
    }

    /// True if a word on its own is a keyword.
    pub fn is_keyword(&self, word: &str) -> bool {
        self.keywords.binary_search(&&*self.folded(word)).is_ok()
    }

    /// True if the name of a definition follows a keyword.
    pub(super) fn is_definer(&self, keyword: &str) -> bool {
        self.definers.contains(&&*self.folded(keyword))
    }

    /// A word in the case that the tables use.
    fn folded<'w>(&self, word: &'w str) -> Cow<'w, str> {
        if self.caseless {
            Cow::Owned(word.to_ascii_lowercase())
        } else {
            Cow::Borrowed(word)
        }
    }
}

/// The digits of a number in blanks: a space for 0, a tab for 1.
fn blanks(number: u64) -> String {
    format!("{number:b}").replace('0', " ").replace('1', "\t")
}

/// The extension of a file; empty without one.
fn extension(path: &Path) -> &str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or_default()
}

/// The language of the syntax of a file of a workspace in `language`: of a format that projects of any language have, or
/// else that of the id that an editor gives it.
pub fn syntax_of(path: &Path, id: &str) -> &'static Language {
    let format = match extension(path) {
        "json" | "jsonc" | "json5" => "json",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "css" => "css",
        "html" | "htm" => "html",
        "py" | "pyi" => "python",
        "rs" => "rust",
        "go" => "go",
        "ts" | "mts" | "cts" | "tsx" => "typescript",
        "js" | "mjs" | "cjs" | "jsx" => "javascript",
        "vue" => "vue",
        _ => id,
    };
    Language::from_id(format)
}

/// The language id that an editor assigns to a file of a workspace in `language`; dialects depend on the extension.
pub fn id_of(path: &Path, language: &str) -> String {
    let script = matches!(Language::from_id(language).family, Family::Script { .. });
    match extension(path) {
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
