//! docs/messages.md lists every message of the program, with an example if a test prints one.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{env, fs};

use assert_cmd::Command;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use regex_automata::meta::Regex;

/// Chapters of the document, and the source directories of their messages.
const CHAPTERS: [(&str, &[&str]); 8] = [
    ("Findings of a run", &["findings", "drive", "summary", "sample"]),
    ("Comparisons", &["compare"]),
    ("Gates", &["gate"]),
    ("Sweeps", &["tune"]),
    ("Scenarios, options and other files", &["config", "resolve", "plan"]),
    ("Allocators and machines", &["allocator", "host"]),
    ("Commands and campaigns", &["commands", "campaign", "soak", "cli"]),
    ("Protocol and records", &["lsp", "record", "export", "trace"]),
];

/// Arguments of these are not messages.
const SKIPPED: [&str; 12] = [
    "expect", "unreachable", "panic", "assert", "contains", "starts_with", "ends_with", "strip_prefix", "strip_suffix",
    "find", "split_once", "include_str",
];

const ABOUT: &str = "# Messages\n\nEvery sentence that lsp-soak prints, and below them the help of every command. A name \
                     or number that differs from time to time is an example, or `…`.\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(at: &Path, end: &str, list: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(at)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, end, list);
        } else if path.to_string_lossy().ends_with(end) {
            list.push(path);
        }
    }
}

/// The strings of the code without tests, documentation and arguments of [`SKIPPED`]; with `tests`, those of the
/// tests only.
fn strings(tokens: TokenStream, tests: bool, in_test: bool, list: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_test = in_test;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Literal(literal) if tests == in_test => {
                list.extend(text_of(&literal.to_string()));
            }
            TokenTree::Group(group) => {
                let inner = group.stream().to_string();
                let before = |back: usize| place.checked_sub(back).map(|at| tokens[at].to_string());
                let named = match before(1).as_deref() {
                    Some("!") => before(2),
                    other => other.map(str::to_owned),
                };
                let is_attribute = before(1).as_deref() == Some("#") && group.delimiter() == Delimiter::Bracket;
                if is_attribute {
                    is_test |= inner.starts_with("cfg") && inner.contains("test");
                    if !inner.starts_with("error") {
                        continue;
                    }
                }
                let skipped = named.is_some_and(|name| SKIPPED.iter().any(|word| name.starts_with(word)));
                if !skipped || is_test {
                    strings(group.stream(), tests, is_test, list);
                }
                if group.delimiter() == Delimiter::Brace {
                    is_test = in_test;
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => is_test = in_test,
            TokenTree::Literal(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The text of a literal, if it is a string of several words.
fn text_of(literal: &str) -> Option<String> {
    let text = literal.strip_prefix('"')?.strip_suffix('"')?;
    // A line that ends in a backslash continues in the next.
    let lines: Vec<&str> = text.split("\\\n").collect();
    let text = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 0 { *line } else { line.trim_start() });
    let text = text.collect::<String>().replace("\\\"", "\"");
    let begins = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '`' | '{' | '-'));
    let words = text
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic));
    (begins && words.count() >= 4 && !text.contains(['\\', '\n']) && !text.contains("(?"))
        .then(|| text.trim_end().to_owned())
}

/// The constant parts of a message.
fn parts(message: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    let mut rest = message.chars().peekable();
    while let Some(c) = rest.next() {
        let twice = rest.peek() == Some(&c);
        match c {
            '{' | '}' if depth == 0 && twice => {
                rest.next();
                parts.last_mut().expect("one is there").push(c);
            }
            '{' => {
                depth += 1;
                parts.push(String::new());
            }
            '}' => depth -= 1,
            c if depth == 0 => parts.last_mut().expect("one is there").push(c),
            _ => {}
        }
    }
    parts
}

fn pattern(parts: &[String], between: &str, begin: &str, end: &str) -> Regex {
    let escape = |part: &String| {
        let special = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && c.is_ascii();
        part.chars()
            .flat_map(|c| special(c).then_some('\\').into_iter().chain([c]))
            .collect::<String>()
    };
    let text: Vec<String> = parts.iter().map(escape).collect();
    Regex::new(&format!("{begin}{}{end}", text.join(between))).expect("it is a pattern")
}

/// The message as a test prints it: within a text if both ends are words, else as a whole line.
fn example(parts: &[String], printed: &str) -> Option<String> {
    const DIFFERS: &str = r"[^\n…`:;#<>]{1,40}?";
    if parts.len() == 1 {
        return None;
    }
    let is_open = |part: Option<&String>| part.is_some_and(String::is_empty);
    let begin = if is_open(parts.first()) {
        "(?m)^(?:[-*>|] )?"
    } else {
        ""
    };
    let end = if is_open(parts.last()) { "(?m)$" } else { "" };
    let found = pattern(parts, DIFFERS, begin, end).find(printed)?;
    Some(
        printed[found.range()]
            .trim_start_matches(['-', '*', '>', '|', ' '])
            .to_owned(),
    )
}

/// Modules that contain only tests, without file extension.
fn test_modules(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut list = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).expect("it can be read");
        let lines: Vec<&str> = text.lines().collect();
        for next in lines
            .windows(3)
            .filter(|next| next[0].starts_with("#[cfg(") && next[0].contains("test"))
        {
            let name = next[1..]
                .iter()
                .find_map(|line| line.split_once("mod ")?.1.strip_suffix(';'));
            list.extend(name.map(|name| path.with_extension("").join(name)));
        }
    }
    list
}

fn messages(rooms: &[&str], tests: bool) -> Vec<String> {
    let mut paths = Vec::new();
    for room in rooms {
        files(&root().join("src").join(room), ".rs", &mut paths);
        paths.extend(Some(root().join("src").join(format!("{room}.rs"))).filter(|path| path.exists()));
    }
    let (mut list, of_tests) = (Vec::new(), test_modules(&paths));
    for path in paths {
        let name = path.with_extension("");
        let of_tests = of_tests.iter().any(|module| name.starts_with(module));
        if of_tests && !tests {
            continue;
        }
        let tokens = TokenStream::from_str(&fs::read_to_string(&path).expect("it can be read")).expect("it is code");
        strings(tokens, tests, of_tests, &mut list);
    }
    let mut seen = std::collections::HashSet::new();
    list.retain(|message| seen.insert(message.clone()));
    list
}

/// Everything that tests print and expect, with each line break as one blank.
fn printed() -> String {
    let mut paths = Vec::new();
    files(&root().join("src"), ".snap", &mut paths);
    files(&root().join("tests"), ".snap", &mut paths);
    files(&root().join("reports"), "report.txt", &mut paths);
    files(&root().join("reports"), "report.md", &mut paths);
    let texts = paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("it can be read"));
    let texts = texts.filter(|text| {
        !["<!doctype", "<?xml", "title=gate"]
            .iter()
            .any(|mark| text.contains(mark))
    });
    let whole = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let texts = texts.map(|text| {
        let lines = text.lines().map(str::trim).filter(|line| line.len() < 300);
        lines.chain([whole(&text).as_str()]).collect::<Vec<&str>>().join("\n")
    });
    let rooms: Vec<&str> = CHAPTERS.iter().flat_map(|(_, rooms)| *rooms).copied().collect();
    let strings = messages(&rooms, true).into_iter().filter(|text| !text.contains('{'));
    texts.chain(strings).collect::<Vec<String>>().join("\n")
}

/// The message with the document's example, from its place or from anywhere in the old document, or else a printed
/// one.
fn shown(message: &str, place: Option<&String>, before: &[String], printed: Option<&String>) -> String {
    let parts = parts(message);
    let (whole, without) = (pattern(&parts, ".*", "^", "$"), parts.join("…"));
    let is_whole = |line: &&String| line.starts_with(&parts[0]) && **line != without && whole.is_match(line.as_str());
    let anywhere = || {
        before
            .iter()
            .filter(|_| printed.is_some() && parts[0].len() > 9)
            .find(is_whole)
    };
    let kept = place.filter(is_whole).or_else(anywhere).cloned();
    let example = || example(&parts, printed?);
    kept.or_else(example).unwrap_or(without)
}

fn help() -> String {
    let said = |words: &[&str]| {
        let output = Command::cargo_bin("lsp-soak")
            .expect("it was built")
            .args(words)
            .env("COLUMNS", "100")
            .output();
        String::from_utf8(output.expect("it runs").stdout).expect("it is text")
    };
    let all = said(&["-h"]);
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    let mut text = String::from("\n## Help\n");
    for command in commands.filter(|command| *command != "help") {
        text.push_str(&format!(
            "\n### {command}\n\n```text\n{}```\n",
            said(&[command, "--help"])
        ));
    }
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn every_message_is_in_the_document_about_them() {
    let path = root().join("docs/messages.md");
    let before = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let items = before.lines().filter_map(|line| line.strip_prefix("- "));
    let items: Vec<String> = items.map(str::to_owned).collect();
    let is_update = env::var_os("UPDATE_MESSAGES").is_some();
    let printed = is_update.then(printed);
    let mut now = ABOUT.to_owned();
    let mut place = 0..;
    for (title, rooms) in CHAPTERS {
        now.push_str(&format!("\n## {title}\n\n"));
        for message in messages(rooms, false) {
            let kept = place.next().and_then(|at| items.get(at));
            now.push_str(&format!("- {}\n", shown(&message, kept, &items, printed.as_ref())));
        }
    }
    now.push_str(&help());
    if is_update {
        fs::write(&path, &now).expect("the project is ours");
    } else {
        let differs = now.lines().zip(before.lines()).find(|(now, before)| now != before);
        assert!(
            now == before,
            "docs/messages.md is stale: write it anew with UPDATE_MESSAGES=1 cargo test messages\n{differs:?}"
        );
    }
}
