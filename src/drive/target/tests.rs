//! Tests of the picked places.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// Writes files into a directory and lists them as a selection would.
fn files(dir: &Path, contents: &[(&str, String)]) -> Vec<SourceFile> {
    let mut files: Vec<SourceFile> = contents
        .iter()
        .map(|(relative, text)| {
            let path = dir.canonicalize().unwrap().join(relative);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let language = if relative.ends_with(".go") { "go" } else { "python" };
            SourceFile {
                path,
                relative: (*relative).to_owned(),
                size: text.len() as u64,
                language: language.to_owned(),
            }
        })
        .collect();
    files.sort_by(|a, b| a.relative.cmp(&b.relative));
    files
}

/// Picks places in these files.
fn pick(files: &[SourceFile], wanted: usize, per_file: usize, seed: u64, place: TargetKind) -> Picked {
    let text = |file: usize| read(&files[file]).map(Cow::Owned);
    super::pick(files, text, wanted, per_file, seed, place)
}

/// A text with `count` distinct names.
fn text(prefix: &str, count: usize) -> String {
    (0..count)
        .map(|number| format!("{prefix}_{number} = 1  # not_this\n"))
        .collect()
}

fn project(dir: &Path) -> Vec<SourceFile> {
    let mut contents = Vec::new();
    for package in ["a", "b", "c", "d"] {
        for module in 0..5 {
            let name = format!("{package}/m{module}.py");
            contents.push((name, text(&format!("{package}{module}"), 10 + 40 * module)));
        }
        contents.push((format!("{package}/__init__.py"), String::new()));
    }
    let contents: Vec<(&str, String)> = contents
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    files(dir, &contents)
}

#[test]
fn the_same_seed_picks_the_same_places_and_another_one_others() {
    let dir = tempfile::tempdir().unwrap();
    let files = project(dir.path());
    let first = pick(&files, 4, 5, 1, TargetKind::Name);
    assert_eq!(first, pick(&files, 4, 5, 1, TargetKind::Name));
    assert_ne!(first, pick(&files, 4, 5, 2, TargetKind::Name));
    assert_eq!((first.targets.len(), first.missing), (20, 0));
}

#[test]
fn what_is_picked_never_changes_between_versions() {
    let dir = tempfile::tempdir().unwrap();
    let files = project(dir.path());
    let picked = pick(&files, 2, 3, 42, TargetKind::Name);
    let names: Vec<&str> = picked.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names.join(" "), "a1_7 a1_16 a1_39 d3_36 d3_52 d3_89");
}

#[test]
fn files_are_spread_over_directories_and_places_over_the_text() {
    let dir = tempfile::tempdir().unwrap();
    let files = project(dir.path());
    for seed in 0..20 {
        let picked = pick(&files, 4, 5, seed, TargetKind::Name);
        let mut packages: Vec<&str> = picked
            .targets
            .iter()
            .map(|target| &files[target.file].relative[..1])
            .collect();
        packages.dedup();
        packages.sort_unstable();
        assert_eq!(packages, ["a", "b", "c", "d"], "seed {seed}");
        for targets in picked.targets.chunk_by(|a, b| a.file == b.file) {
            let size = files[targets[0].file].size as usize;
            assert!(
                targets[0].offset < size / 2 && targets[4].offset > size / 2,
                "seed {seed}: {targets:?}"
            );
            assert!(targets.windows(2).all(|pair| pair[0].offset < pair[1].offset));
        }
    }
}

#[test]
fn a_place_is_the_name_it_says_on_the_line_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let source = "\u{feff}import os\r\nos.path.join(a, 'b.c')\r\n";
    let files = files(dir.path(), &[("a.py", source.to_owned())]);
    let text = read(&files[0]).unwrap();
    let at = |place| {
        let targets = pick(&files, 1, 1, 0, place).targets;
        (
            targets[0].line,
            targets[0].name.clone(),
            text[targets[0].offset..].to_owned(),
        )
    };
    let (line, name, rest) = at(TargetKind::Call);
    assert_eq!((line, name.as_str()), (1, "join"));
    assert!(rest.starts_with("a, "));
    let (line, name, rest) = at(TargetKind::Member);
    assert!(
        line == 1 && ["os", "path"].contains(&name.as_str()) && (rest.starts_with(".join") || rest.starts_with("(a"))
    );
    let (_, name, rest) = at(TargetKind::Name);
    assert!(rest.starts_with(&name));
}

#[test]
fn a_file_that_is_not_fit_is_passed_over_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = files(
        dir.path(),
        &[
            ("a.py", "x = 1\n".to_owned()),
            ("b.py", text("b", 30)),
            ("c.go", format!("//go:build ignore\npackage c\n{}", text("c", 30))),
            ("d_windows.go", text("d", 30)),
            ("e.go", text("e", 30)),
            ("f.py", String::new()),
        ],
    );
    fs::write(&files[5].path, b"\xff\xfe").unwrap();
    let picked = pick(&files, 2, 10, 3, TargetKind::Name);
    let mut used: Vec<usize> = picked.targets.iter().map(|target| target.file).collect();
    used.dedup();
    used.sort_unstable();
    assert_eq!(used, [1, 4]);
    assert!(
        picked.skipped.iter().all(|skipped| [0, 2, 5].contains(&skipped.file)),
        "{:?}",
        picked.skipped
    );
    files.truncate(1);
    let picked = pick(&files, 2, 10, 3, TargetKind::Name);
    assert_eq!((picked.targets.len(), picked.missing), (1, 19));
    assert_eq!(picked.skipped, []);
}

#[test]
fn a_file_with_zero_bytes_is_no_text_and_one_that_has_grown_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let files = files(
        dir.path(),
        &[("a.py", "a = 1\n".to_owned()), ("b.py", "b = 1\n".to_owned())],
    );
    fs::write(&files[0].path, b"a = 1\n\0").unwrap();
    assert_eq!(read(&files[0]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    fs::write(&files[1].path, "x".repeat(LARGE)).unwrap();
    assert_eq!(read(&files[1]).unwrap().len(), LARGE);
    fs::write(&files[1].path, "x".repeat(LARGE + 1)).unwrap();
    assert_eq!(read(&files[1]).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn names_in_use_are_picked_before_names_being_defined() {
    let dir = tempfile::tempdir().unwrap();
    let source = "def aa(): pass\nprint(aa)\nclass Bb: pass\nprint(Bb)\n".repeat(3);
    let files = files(dir.path(), &[("a.py", source)]);
    for seed in 0..10 {
        let targets = pick(&files, 1, 3, seed, TargetKind::Name).targets;
        let text = read(&files[0]).unwrap();
        assert!(
            targets.iter().all(|target| !text[..target.offset].ends_with("def ")),
            "{targets:?}"
        );
    }
}

#[test]
fn names_from_packages_that_may_be_missing_are_picked_last() {
    let dir = tempfile::tempdir().unwrap();
    let source = "import os, far.away as away\nfrom far import (a,\n  b as c)\nfrom . import d\nfrom lib.e import f\n\
                  away.g.h(os, k=1); a.i(d)\nc(f); os.j(os)\n";
    let files = files(dir.path(), &[("a.py", source.to_owned()), ("lib/b.py", String::new())]);
    let found = sites(source, Language::from_id("python")).identifiers;
    let doubtful = doubtful(source, Language::from_id("python"), &found, &modules(&files));
    let sure: Vec<&str> = found
        .iter()
        .filter(|name| !doubtful.contains(&name.range.start))
        .map(|name| &source[name.range.clone()])
        .collect();
    assert_eq!(sure.join(" "), "d lib e f os d f os j os");
}

#[test]
fn files_to_open_are_distinct_and_no_more_than_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let files = project(dir.path());
    let mut all = pick_files(&files, 100, 1);
    assert_eq!(all.len(), files.len());
    assert_eq!(all[..3], pick_files(&files, 100, 1)[..3]);
    all.sort_unstable();
    assert_eq!(all, (0..files.len()).collect::<Vec<usize>>());
    assert_eq!(pick_files(&[], 3, 1), Vec::<usize>::new());
}

#[test]
fn search_words_are_names_of_the_project_and_beginnings_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let source = (0..9)
        .map(|number| format!("def {}name{number}(): pass\n", ["x", "y", "z"][number % 3]))
        .collect();
    let files = files(dir.path(), &[("a.py", source)]);
    let found = words(&files, 3, 1);
    assert_eq!(
        found.iter().map(|word| word.chars().count()).collect::<Vec<usize>>(),
        [6, 3, 1]
    );
    assert_eq!(found, words(&files, 3, 1));
}

proptest! {
    #[test]
    fn every_file_is_tried_once_whatever_is_wanted(sizes in prop::collection::vec(0_u64..3_000_000, 0..40), wanted in 0_usize..50) {
        let files: Vec<SourceFile> = sizes
            .iter()
            .enumerate()
            .map(|(number, &size)| SourceFile {
                path: format!("/x/{number}.py").into(),
                relative: format!("d{}/{number}.py", number % 3),
                size,
                language: "python".to_owned(),
            })
            .collect();
        let mut order = order(&files, wanted, 100, 9);
        order.sort_unstable();
        prop_assert_eq!(order, (0..files.len()).collect::<Vec<usize>>());
    }
}

#[test]
fn definitions_are_asked_for_where_something_leads_and_else_at_any_place() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = files(
        dir.path(),
        &[
            ("a.yaml", "a: &x 1\nb: *x\nc: d\n".to_owned()),
            ("b.yaml", "e: f\n".to_owned()),
        ],
    );
    all.iter_mut().for_each(|file| file.language = "yaml".to_owned());
    let names = |file: &SourceFile, place| {
        let picked = pick(std::slice::from_ref(file), 1, 10, 1, place);
        let names: Vec<String> = picked.targets.into_iter().map(|target| target.name).collect();
        names.join(" ")
    };
    assert_eq!(names(&all[0], TargetKind::Use), "x");
    assert_eq!(names(&all[0], TargetKind::Name), "a x 1 b x c d");
    assert_eq!(names(&all[1], TargetKind::Use), "e f");
    assert_eq!(anywhere(&all, TargetKind::Member), Some(true));
    assert_eq!(anywhere(&all, TargetKind::Call), Some(false));
}

#[test]
fn of_a_huge_text_whole_lines_of_its_beginning_are_looked_at() {
    let line = "größe = 1\n";
    let text = line.repeat(LARGE / line.len() + 100);
    let head = looked_at(&text);
    assert!(head.len() <= LARGE && head.len() > LARGE - line.len());
    assert!(head.ends_with('\n'));
    assert_eq!(looked_at(line), line);
    assert!(looked_at(&"ü".repeat(LARGE)).len() <= LARGE);
    let dir = tempfile::tempdir().unwrap();
    let files = files(dir.path(), &[("a.py", text)]);
    let picked = pick(&files, 1, 50, 1, TargetKind::Name);
    assert_eq!(picked.targets.len(), 50);
    assert!(picked.targets.iter().all(|target| target.offset < LARGE));
}
