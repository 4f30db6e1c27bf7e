//! Token patterns of each language, as regular expressions over bytes. The first letters of a group's name give its
//! meaning: `c`omment, `l`iteral, `d`irective, `o`perator, `m`ember operator, `n`umber, `i`dentifier or keyword,
//! `a`lways a name, `x` always a keyword. In data and markup: `k`ey, `u`se, `w`ord. `e_` plus a language id: a part in
//! that language; `b`: start of a block scalar; `f`: text that the end of a literal mirrors.

const SLASHES: &str = r"(?<c1>//[^\n\r]*)";
const STARS: &str = r"(?<c2>/\*(?s:.*?)(?:\*/|\z))";
/// Comments as in Rust, with one level of nesting.
const NESTED: &str = r"(?<c3>/\*(?s:/\*.*?\*/|.)*?(?:\*/|\z))";
const HASH: &str = r"(?<c4>#[^\n\r]*)";
/// A `#` inside a shell word does not begin a comment.
const SHELL: &str = r"(?<c5>\B#[^\n\r]*)";
const INSIDE: &str = r"(?<o1>[^\s\w]#)";
const DASHES: &str = r"(?<c6>--[^\n\r]*)";
const BANG: &str = r"(?<c7>![^\n\r]*)";
const SHEBANG: &str = r"(?<c8>\A#![^\[\n\r][^\n\r]*)";

const DOUBLE: &str = r#"(?<l1>"(?:\\\r\n|(?s:\\.)|[^"\\\n\r])*(?:"|\\?\z)?)"#;
const SINGLE: &str = r"(?<l2>'(?:\\\r\n|(?s:\\.)|[^'\\\n\r])*(?:'|\\?\z)?)";
/// An apostrophe may be a prime, a quotation mark or a type variable: only a closed pair quotes.
const CLOSED: &str = r"(?<l3>'(?:(?s:\\.)|[^'\\\n\r])*'|`(?:(?s:\\.)|[^`\\\n\r])*`)";
const TRIPLE: &str = r#"(?<l4>(?<f1>"""))"#;
const BACKTICKS: &str = r"(?<l5>`[^`]*`?)";

pub(super) const PYTHON: &[&str] = &[
    HASH,
    r#"(?<l6>(?i:[rbuft]{0,2})(?<f2>"""|'''))"#,
    // Inside braces of a formatted string, its own quote opens a nested string.
    r#"(?<l7>(?i:r?[ft]r?)"(?:\{\{|\{(?:"[^"\n\r]*"|'[^'\n\r]*'|\{[^{}\n\r]*\}|[^{}"'\n\r])*\}?|(?s:\\.)|[^"{\\\n\r])*"?)"#,
    r#"(?<l8>(?i:r?[ft]r?)'(?:\{\{|\{(?:"[^"\n\r]*"|'[^'\n\r]*'|\{[^{}\n\r]*\}|[^{}"'\n\r])*\}?|(?s:\\.)|[^'{\\\n\r])*'?)"#,
    r#"(?<l9>(?i:[rbu]{1,2})(?:"(?:(?s:\\.)|[^"\\\n\r])*"?|'(?:(?s:\\.)|[^'\\\n\r])*'?))"#,
    DOUBLE,
    SINGLE,
];
pub(super) const RUST: &[&str] = &[
    SHEBANG,
    SLASHES,
    NESTED,
    r#"(?<d1>#!?\[(?:"(?:(?s:\\.)|[^"\\])*"|\[(?:\[[^\[\]]*\]|[^\[\]])*\]|[^\[\]"])*\]?)"#,
    r#"(?<l4>[bc]?r(?<f1>#*"))"#,
    r#"(?<l6>[bc]?"(?:(?s:\\.)|[^"\\])*(?:"|\\?\z))"#,
    // A character, or else a lifetime: no string, but not a name that every server resolves.
    r"(?<l7>b?'(?:\\(?s:.)[^'\n\r]*'?|[^\\\x80-\xff]'|[\x80-\xff]{2,4}')|'[\w\x80-\xff]*)",
    r"r#(?<a1>[A-Za-z_\x80-\xff][\w\x80-\xff]*)",
];
pub(super) const GO: &[&str] = &[SLASHES, STARS, DOUBLE, SINGLE, BACKTICKS];
pub(super) const C: &[&str] = &[
    SLASHES,
    STARS,
    r"(?<d1>#(?:\\\r\n|(?s:\\.)|/\*(?s:.*?)(?:\*/|\z)|[^\n\r\\])*)",
    r#"(?<l4>(?:L|u8?|U)?R(?<f1>"[^()\\ \n\r]{0,16}\())"#,
    r#"(?<l6>(?:L|u8?|U)(?:"(?:(?s:\\.)|[^"\\\n\r])*"?|'(?:(?s:\\.)|[^'\\\n\r])*'?))"#,
    r"(?<n1>\d(?:'\w|\w)*(?:\.\d(?:[eE][+-]\d|'\w|\w)*)?)",
    DOUBLE,
    SINGLE,
];
pub(super) const SCRIPT: &[&str] = &[
    SHEBANG, SLASHES, STARS, DOUBLE, SINGLE, r"(?<i1>[A-Za-z_$\x80-\xff][\w$\x80-\xff]*)",
];
pub(super) const LUA: &[&str] = &[
    SHEBANG, r"(?<c1>--(?<f1>\[=*\[))", DASHES, r"(?<l4>(?<f2>\[=*\[))", r"(?<o2>::)", DOUBLE, SINGLE,
];
pub(super) const ZIG: &[&str] = &[
    SLASHES, r#"(?<l4>\\\\[^\n\r]*|@"(?:(?s:\\.)|[^"\\\n\r])*"?)"#, r"(?<x1>@[\w\x80-\xff]+|[iu]\d+\b)", DOUBLE, SINGLE,
];
pub(super) const LIKE_C: &[&str] = &[SHEBANG, SLASHES, STARS, TRIPLE, DOUBLE, CLOSED];
pub(super) const HASHED: &[&str] = &[HASH, TRIPLE, DOUBLE, CLOSED];
pub(super) const SHELLS: &[&str] = &[SHELL, TRIPLE, DOUBLE, CLOSED, INSIDE];
pub(super) const SQL: &[&str] = &[DASHES, STARS, TRIPLE, DOUBLE, CLOSED];
pub(super) const FORTRAN: &[&str] = &[BANG, TRIPLE, DOUBLE, CLOSED];

/// Patterns that every programming language shares. Member operators precede the last.
pub(super) const TAIL: [&str; 4] = [
    r"(?<n>\d(?:[eE][+-]\d|\w)*(?:\.\d(?:[eE][+-]\d|\w)*)?)",
    r"(?<i>[A-Za-z_\x80-\xff][\w\x80-\xff]*)",
    r"(?<o3>\.{2,}|[?]\.\d)",
    r"(?<o4>::|\S)",
];

/// The value of some keys refers to a place of this or another document.
pub(super) const JSON: &[&str] = &[
    r"//[^\n\r]*|/\*(?s:.*?)(?:\*/|\z)",
    r#""(?<k1>\$ref|\$dynamicRef|extends|\$schema)"\s*:\s*"(?<u1>(?:(?s:\\.)|[^"\\\n\r])*)"?"#,
    r#""(?<k2>(?:(?s:\\.)|[^"\\\n\r])*)"\s*:"#,
    r#""(?<w1>(?:(?s:\\.)|[^"\\\n\r])*)"?"#,
    r"(?<w2>[A-Za-z0-9\x80-\xff-][A-Za-z0-9\x80-\xff.+-]*)",
];
pub(super) const YAML: &[&str] = &[
    r"#[^\n\r]*|(?m:^)(?:---|%)[^\n\r]*|[-?:](?:[ \t]|\r?(?m:$))|![^\s,\]}]*",
    r"(?<b>[|>])[^\n\r]*",
    r"&(?<k1>[^\s,\]}]+)|\*(?<u1>[^\s,\]}]+)",
    r#"["']?(?<k5>\$ref|\$dynamicRef|extends|\$schema)["']?:[ \t]+["']?(?<u2>[^\s"',\]}]+)["']?"#,
    r#""(?<k2>(?:(?s:\\.)|[^"\\\n\r])*)"[ ]*:|'(?<k3>[^'\n\r]*)'[ ]*:"#,
    r#""(?<w1>(?:(?s:\\.)|[^"\\\n\r])*)"?|'(?<w2>[^'\n\r]*)'?"#,
    r"(?<k4>[^\s,\[\]{}#](?:[^\s:,\]}]|:[^\s,\]}]|[ \t]+(?:[^\s:#,\]}]|:[^\s,\]}]))*)[ ]*:(?:[ \t]|\r?(?m:$))",
    r"(?<w3>[^\s,\[\]{}#](?:[^\s:,\]}]|:[^\s,\]}]|[ \t]+(?:[^\s:#,\]}]|:[^\s,\]}]))*)",
];
pub(super) const TOML: &[&str] = &[
    r#"#[^\n\r]*|"""(?s:.*?)(?:"""|\z)|'''(?s:.*?)(?:'''|\z)"#,
    r#""(?<k1>(?:\\.|[^"\\\n\r])*)"[ \t]*=|'(?<k2>[^'\n\r]*)'[ \t]*="#,
    r#""(?<w1>(?:\\.|[^"\\\n\r])*)"?|'(?<w2>[^'\n\r]*)'?"#,
    r"(?<k3>[\w\x80-\xff+-]+)[ \t]*=|(?m:^)[ \t]*\[+[ \t]*(?<k4>[\w\x80-\xff+-]+)",
    r"(?<w3>[\d+-][\w.:+-]*|true\b|false\b)|\.?(?<k5>[\w\x80-\xff+-]+)",
];
pub(super) const MARKDOWN: &[&str] = &[
    r"\]\((?<u1>[^\s)]*)|(?<w1>(?:[A-Za-z0-9]|[\xc3-\xe1\xe3-\xf4][\x80-\xbf]+|\xc2[\xaa\xb5\xba])(?:\w|[\xc3-\xe1\xe3-\xf4][\x80-\xbf]+|\xc2[\xaa\xb5\xba])*)",
];
/// Some keywords assign to the name before them, others to the name after.
pub(super) const CELLS: &[&str] = &[
    r"(?m:^)[ \t]*[*#][^\n\r]*",
    r"(?m:^)(?<k1>[^\s*#](?:[^\s]|[ ][^\s])*)",
    r"(?m:^)[ \t]+(?<w1>(?:\[|\.\.\.)(?:[^\s]|[ ][^\s])*)",
    r"(?m:^)[ \t]+(?<u1>[^\s}]*\}[ ]?=?)(?:[ ]{2,}|\t)\s*(?<u2>[^\s](?:[^\s]|[ ][^\s])*)",
    r"(?m:^)[ \t]+(?<u3>[^\s](?:[^\s]|[ ][^\s])*)",
    r"(?<w2>[^\s](?:[^\s]|[ ][^\s])*)",
];
pub(super) const STYLE: &[&str] = &[
    r#"/\*(?s:.*?)(?:\*/|\z)|://|//[^\n]*|"(?:(?s:\\.)|[^"\\\n\r])*"?|'(?:(?s:\\.)|[^'\\\n\r])*'?"#,
    // A colour, a number with its unit.
    r"[#\d][A-Za-z0-9.%]*",
    r"(?<k1>\$[\w$-]+|--[\w-]+)\s*:|(?<u1>\$[\w$-]+|--[\w-]+)",
    r"(?<w1>[\w-]*[A-Za-z\x80-\xff][\w$\x80-\xff-]*)",
];
pub(super) const WORDS: &[&str] = &[r"(?<w1>\S+)"];

const OTHER_TAGS: &str = r"<!--(?s:.*?)(?:-->|\z)|<!\[CDATA\[(?s:.*?)(?:\]\]>|\z)|<[!?/][^>]*>?";
const SCRIPTS: &str = concat!(
    r#"<(?<w1>script)(?<e_ATTRIBUTES1>(?:[^<>"'{]|"[^"]*"|'[^']*'|\{[^{}]*\})*)>(?<e_typescript1>(?s:.*?))(?:</script|\z)|"#,
    r#"<(?<w2>style)(?<e_ATTRIBUTES2>(?:[^<>"'{]|"[^"]*"|'[^']*'|\{[^{}]*\})*)>(?<e_css1>(?s:.*?))(?:</style|\z)"#,
);
/// Standard tags of HTML, which no project defines, and all others.
const TAGS: &str = concat!(
    r#"<(?:(?<u1>[A-Z][\w:.-]*|[a-z][\w:]*[.-][\w:.-]*)|(?<w3>[A-Za-z][\w:.-]*))"#,
    r#"(?<e_ATTRIBUTES3>(?:[^<>"'{]|"[^"]*"|'[^']*'|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)>?"#,
);
const HTML_TAGS: &str = r#"<(?<w3>[A-Za-z][\w:.-]*)(?<e_ATTRIBUTES3>(?:[^<>"'{]|"[^"]*"|'[^']*'|\{[^{}]*\})*)>?"#;
const ATTRIBUTE: &str = concat!(
    r#"(?<w1>class(?:Name)?)=(?:"(?<e_words1>[^"]*)"?|'(?<e_words2>[^']*)'?)|"#,
    r#"(?<w2>[^\s=>/"'<{]+)(?:=(?:"[^"]*"?|'[^']*'?|[^\s>"'{]+))?"#,
);

pub(super) const HTML: &[&str] = &[OTHER_TAGS, SCRIPTS, HTML_TAGS];
pub(super) const XML: &[&str] = &[OTHER_TAGS, TAGS];
pub(super) const VUE: &[&str] = &[OTHER_TAGS, SCRIPTS, TAGS, r"\{\{(?<e_typescript2>(?s:.*?))(?:\}\}|\z)"];
pub(super) const SVELTE: &[&str] = &[
    OTHER_TAGS,
    SCRIPTS,
    TAGS,
    r"\{(?:[#:/@]\w*)?(?<e_typescript2>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}?",
];
pub(super) const ATTRIBUTES: &[&str] = &[ATTRIBUTE];
pub(super) const VUE_ATTRIBUTES: &[&str] = &[
    r#"(?<w3>(?:[:@#]|v-)[^\s=>/"'<{]+)=(?:"(?<e_typescript1>[^"]*)"?|'(?<e_typescript2>[^']*)'?)"#,
    ATTRIBUTE,
];
pub(super) const SVELTE_ATTRIBUTES: &[&str] = &[
    r#"(?:(?<w3>[^\s=>/"'<{]+)=)?\{(?<e_typescript1>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}?"#,
    ATTRIBUTE,
];
