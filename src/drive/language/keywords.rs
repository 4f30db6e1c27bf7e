//! Words of each language that are not names: keywords, literals and built-in types that no server resolves. Every
//! table is sorted for binary search.

pub(super) const PYTHON: &[&str] = &[
    "False", "None", "True", "_", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with", "yield",
];

/// Rust: strict and reserved keywords, and the primitive types.
pub(super) const RUST: &[&str] = &[
    "Self", "_", "abstract", "as", "async", "await", "become", "bool", "box", "break", "char", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "f32", "f64", "false", "final", "fn", "for", "i128", "i16", "i32",
    "i64", "i8", "if", "impl", "in", "isize", "let", "loop", "macro", "macro_rules", "match", "mod", "move", "mut",
    "override", "priv", "pub", "raw", "ref", "return", "self", "static", "str", "struct", "super", "trait", "true",
    "try", "type", "typeof", "u128", "u16", "u32", "u64", "u8", "union", "unsafe", "unsized", "usize", "virtual",
    "where", "while", "yield",
];

/// Go: keywords and predeclared words that stand for values; predeclared types and functions resolve to `builtin.go`.
pub(super) const GO: &[&str] = &[
    "_", "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "false", "for",
    "func", "go", "goto", "if", "import", "interface", "iota", "map", "nil", "package", "range", "return", "select",
    "struct", "switch", "true", "type", "var",
];

/// C up to C23, with the extensions that compilers share.
pub(super) const C: &[&str] = &[
    "_Alignas", "_Alignof", "_Atomic", "_BitInt", "_Bool", "_Complex", "_Generic", "_Imaginary", "_Noreturn",
    "_Static_assert", "_Thread_local", "__asm__", "__attribute__", "__extension__", "__inline", "__inline__",
    "__restrict", "__typeof__", "__volatile__", "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char",
    "const", "constexpr", "continue", "default", "defined", "do", "double", "else", "enum", "extern", "false",
    "float", "for", "goto", "if", "inline", "int", "long", "nullptr", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "static_assert", "struct", "switch", "thread_local", "true", "typedef", "typeof",
    "typeof_unqual", "union", "unsigned", "void", "volatile", "while",
];

/// C++ up to C++26.
pub(super) const CPP: &[&str] = &[
    "__asm__", "__attribute__", "__declspec", "__extension__", "__forceinline", "__inline", "__inline__",
    "__restrict", "__typeof__", "__volatile__", "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand",
    "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "contract_assert", "decltype", "default", "defined", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto", "if", "inline", "int",
    "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "override", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
    "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
    "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
];

/// JavaScript and TypeScript, including contextual keywords: names equal to one are never picked.
pub(super) const SCRIPT: &[&str] = &[
    "abstract", "accessor", "any", "as", "asserts", "async", "await", "bigint", "boolean", "break", "case", "catch",
    "class", "const", "constructor", "continue", "debugger", "declare", "default", "delete", "do", "else", "enum",
    "export", "extends", "false", "finally", "for", "from", "function", "get", "global", "if", "implements", "import",
    "in", "infer", "instanceof", "interface", "intrinsic", "is", "keyof", "let", "module", "namespace", "never",
    "new", "null", "number", "object", "of", "out", "override", "package", "private", "protected", "public",
    "readonly", "return", "satisfies", "set", "static", "string", "super", "switch", "symbol", "this", "throw",
    "true", "try", "type", "typeof", "undefined", "unique", "unknown", "using", "var", "void", "while", "with",
    "yield",
];

/// Lua up to 5.5.
pub(super) const LUA: &[&str] = &[
    "_", "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "global", "goto", "if", "in",
    "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Zig, with the primitive types that are not of the form `u8`.
pub(super) const ZIG: &[&str] = &[
    "_", "addrspace", "align", "allowzero", "and", "anyerror", "anyframe", "anyopaque", "anytype", "asm", "async",
    "await", "bool", "break", "c_char", "c_int", "c_long", "c_longdouble", "c_longlong", "c_short", "c_uint",
    "c_ulong", "c_ulonglong", "c_ushort", "callconv", "catch", "comptime", "comptime_float", "comptime_int", "const",
    "continue", "defer", "else", "enum", "errdefer", "error", "export", "extern", "f128", "f16", "f32", "f64", "f80",
    "false", "fn", "for", "if", "inline", "isize", "linksection", "noalias", "noinline", "noreturn", "nosuspend",
    "null", "opaque", "or", "orelse", "packed", "pub", "resume", "return", "struct", "suspend", "switch", "test",
    "threadlocal", "true", "try", "type", "undefined", "union", "unreachable", "usingnamespace", "usize", "var",
    "void", "volatile", "while",
];

/// Keywords of most C-like languages, for a language without its own table.
pub(super) const GENERIC: &[&str] = &[
    "_", "abstract", "and", "as", "async", "await", "begin", "boolean", "break", "byte", "case", "catch", "char",
    "class", "const", "continue", "data", "def", "default", "defer", "delete", "do", "double", "elif", "else",
    "elsif", "end", "enum", "export", "extends", "extern", "false", "final", "finally", "float", "fn", "for",
    "foreach", "from", "fun", "func", "function", "goto", "if", "implements", "import", "in", "include", "instanceof",
    "int", "interface", "internal", "is", "let", "long", "match", "mod", "module", "mut", "namespace", "new", "nil",
    "not", "null", "of", "open", "operator", "or", "override", "package", "pass", "private", "protected", "pub",
    "public", "raise", "record", "require", "return", "self", "short", "static", "string", "struct", "super",
    "switch", "template", "then", "this", "throw", "throws", "trait", "true", "try", "type", "typedef", "union",
    "unless", "until", "use", "using", "val", "var", "virtual", "void", "when", "where", "while", "with", "yield",
];

pub(super) const GRAPHQL: &[&str] = &[
    "directive", "enum", "extend", "false", "fragment", "implements", "input", "interface", "mutation", "null", "on",
    "query", "repeatable", "scalar", "schema", "subscription", "true", "type", "union",
];

/// The words that most dialects of SQL share.
pub(super) const SQL: &[&str] = &[
    "all", "alter", "and", "as", "asc", "between", "by", "case", "create", "default", "delete", "desc", "distinct",
    "drop", "else", "end", "exists", "foreign", "from", "full", "group", "having", "in", "index", "inner", "insert",
    "into", "is", "join", "key", "left", "like", "limit", "not", "null", "offset", "on", "or", "order", "outer",
    "primary", "references", "right", "select", "set", "table", "then", "union", "unique", "update", "values", "view",
    "when", "where", "with",
];

/// Fortran from 90 on.
pub(super) const FORTRAN: &[&str] = &[
    "allocatable", "allocate", "call", "case", "character", "complex", "contains", "cycle", "deallocate", "default",
    "dimension", "do", "elemental", "else", "elseif", "end", "enddo", "endif", "exit", "false", "function", "if",
    "implicit", "import", "in", "inout", "integer", "intent", "interface", "kind", "logical", "module", "none", "only",
    "optional", "out", "parameter", "pointer", "print", "private", "procedure", "program", "public", "pure", "read",
    "real", "recursive", "result", "return", "save", "select", "stop", "subroutine", "target", "then", "true", "type",
    "use", "where", "while", "write",
];
