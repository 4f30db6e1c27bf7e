//! Names that a server may not resolve: in Python, names from packages outside the project, which may not be installed,
//! and keyword arguments.

use std::collections::HashSet;

use super::language::{Family, Identifier, Language};
use super::workspace::SourceFile;

/// The offsets of doubtful names among `names`. `local` holds the modules that exist; see [`modules`].
pub(super) fn doubtful(
    text: &str,
    language: &Language,
    names: &[Identifier],
    local: &HashSet<String>,
) -> HashSet<usize> {
    let mut doubted = HashSet::new();
    if language.family != Family::Python {
        return doubted;
    }
    let foreign = Foreign::find(text, local);
    let mut chain = false;
    for name in names {
        let word = &text[name.range.clone()];
        chain = if name.member {
            chain
        } else {
            foreign.names.contains(word)
        };
        let imported = foreign
            .statements
            .iter()
            .any(|statement| statement.contains(&name.range.start));
        if chain || imported || is_argument(text, name) {
            doubted.insert(name.range.start);
        }
    }
    doubted
}

/// The module names that files of a project may have: their directories and stems.
pub(super) fn modules(files: &[SourceFile]) -> HashSet<String> {
    let parts = files.iter().flat_map(|file| file.relative.split('/'));
    parts
        .map(|part| part.strip_suffix(".py").unwrap_or(part).to_owned())
        .collect()
}

/// True if a name is a keyword argument or a parameter with a default.
fn is_argument(text: &str, name: &Identifier) -> bool {
    let after = text[name.range.end..].trim_start();
    let before = text[..name.range.start].trim_end();
    !name.member && after.starts_with('=') && !after.starts_with("==") && before.ends_with(['(', ','])
}

/// The names that a text imports from packages that are neither local nor in Python's standard library.
#[derive(Default)]
struct Foreign<'t> {
    names: HashSet<&'t str>,
    statements: Vec<std::ops::Range<usize>>,
}

impl<'t> Foreign<'t> {
    fn find(text: &'t str, local: &HashSet<String>) -> Foreign<'t> {
        let mut foreign = Foreign::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let at = start + line.len() - line.trim_start().len();
            start += line.len();
            let rest = &text[at.min(start)..];
            if let Some(modules) = rest.strip_prefix("import ") {
                let modules = &modules[..statement_end(modules)];
                let unknown: Vec<&str> = modules.split(',').filter(|module| !is_known(module, local)).collect();
                foreign.names.extend(
                    unknown
                        .iter()
                        .map(|module| bound(module).split('.').next().unwrap_or_default()),
                );
                if !unknown.is_empty() {
                    foreign.statements.push(at..start);
                }
            } else if let Some((module, rest)) = rest.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
            {
                if module.contains('\n') || is_known(module, local) {
                    continue;
                }
                let names = rest.strip_prefix('(').map_or(&rest[..statement_end(rest)], |rest| {
                    &rest[..rest.find(')').unwrap_or(0)]
                });
                foreign.names.extend(names.split(',').map(bound));
                let length = names.as_ptr().addr() - text.as_ptr().addr() + names.len();
                foreign.statements.push(at..length);
            }
        }
        foreign
    }
}

/// True if a module is local or in the standard library.
fn is_known(module: &str, local: &HashSet<String>) -> bool {
    let root = module.split('.').next().unwrap_or_default().trim();
    root.is_empty() || local.contains(root) || STANDARD.contains(&root)
}

fn statement_end(rest: &str) -> usize {
    rest.find(['\n', '#', ';']).unwrap_or(rest.len())
}

/// `a as b` binds `b`, `a` binds `a`.
fn bound(import: &str) -> &str {
    import.rsplit(" as ").next().unwrap_or(import).trim()
}

/// Modules of Python's standard library that every server resolves.
#[rustfmt::skip]
const STANDARD: &[&str] = &[
    "__future__", "abc", "argparse", "ast", "asyncio", "base64", "builtins", "collections", "concurrent", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "email", "enum", "errno", "fnmatch", "functools",
    "gc", "glob", "gzip", "hashlib", "hmac", "html", "http", "importlib", "inspect", "io", "itertools", "json", "logging",
    "math", "mimetypes", "multiprocessing", "numbers", "operator", "os", "pathlib", "pickle", "pkgutil", "platform",
    "posixpath", "queue", "random", "re", "secrets", "select", "shlex", "shutil", "signal", "socket", "sqlite3", "ssl",
    "stat", "string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading", "time", "tomllib", "traceback",
    "types", "typing", "unicodedata", "unittest", "urllib", "uuid", "warnings", "weakref", "xml", "zipfile", "zlib",
    "zoneinfo",
];
