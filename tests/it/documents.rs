//! Links in the documents have a target, and the documents stay short.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Directories with documents, or with texts that name one.
const PLACES: [&str; 5] = [".", "docs", "reports", "scenarios", "src"];

/// Every file with one of these endings in [`PLACES`]. Only `src` is searched recursively.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories: Vec<PathBuf> = PLACES.iter().map(|place| Path::new(ROOT).join(place)).collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() && path.starts_with(Path::new(ROOT).join("src")) {
                directories.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| endings.iter().any(|known| ending == *known))
            {
                files.push(path);
            }
        }
    }
    files
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("it is text")
}

/// A document without its code.
fn prose(document: &str) -> String {
    let mut fenced = false;
    let lines = document.lines().filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    });
    let mut prose = String::new();
    for line in lines {
        // Every second part is in backticks.
        prose.extend(line.split('`').step_by(2));
        prose.push('\n');
    }
    prose
}

fn headings(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut headings = Vec::new();
    for line in document.lines() {
        fenced ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !fenced && title.len() < line.len() && title.starts_with(' ') {
            headings.push(title.trim().to_owned());
        }
    }
    headings
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.map(|one| if one == ' ' { '-' } else { one }).collect()
}

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let mut links = 0;
    let mut broken = Vec::new();
    for document in files(&["md"]) {
        let content = text(&document);
        for link in prose(&content)
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().expect("it is in a directory").join(file),
            };
            if !target.exists() || !fragment.is_empty() && !has_anchor(&target, fragment) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(links > 40 && broken.is_empty(), "{links} links, broken: {broken:#?}");
}

fn has_anchor(document: &Path, fragment: &str) -> bool {
    headings(&text(document))
        .iter()
        .any(|heading| anchor(heading) == fragment)
}

/// `METHOD.md, "Gates"`, and in a string with escapes `METHOD.md, \"Gates\"`.
#[test]
fn every_heading_that_a_message_or_a_comment_names_is_in_that_document() {
    let mut named = 0;
    let mut missing = Vec::new();
    for path in files(&["rs", "toml", "snap"]) {
        let content = text(&path).replace("\\\"", "\"");
        let mut rest = content.as_str();
        while let Some((before, after)) = rest.split_once(".md, \"") {
            rest = after;
            let start = before
                .rfind(|one: char| !one.is_alphanumeric() && one != '/')
                .map_or(0, |at| at + 1);
            let document = Path::new(ROOT).join(format!("{}.md", &before[start..]));
            let heading = after.split('"').next().expect("a split has a first part");
            named += 1;
            if !document.exists() || !headings(&text(&document)).iter().any(|one| one == heading) {
                missing.push(format!("{}: {}, \"{heading}\"", path.display(), document.display()));
            }
        }
    }
    assert!(named > 2 && missing.is_empty(), "{named} named, missing: {missing:#?}");
}

#[test]
fn the_documents_that_are_read_first_are_short() {
    let [method, readme, changes] =
        ["METHOD.md", "README.md", "CHANGELOG.md"].map(|name| text(&Path::new(ROOT).join(name)));
    let words = method.split_whitespace().count();
    assert!(words <= 4_000, "METHOD.md has {words} words");
    let lines = readme.lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
    let (_, first) = changes.split_once("## 0.1.0").expect("it is the first version");
    let bullets = first.lines().filter(|line| line.starts_with("- ")).count();
    assert!(bullets <= 20, "CHANGELOG.md has {bullets} points for 0.1.0");
}
