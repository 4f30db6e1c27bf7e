use crate::pictures::tests::{HOSTILE, hostile, played, session, twenty_four, two};
use analysis::compare::compare_by_target;
use analysis::golden::traced;
use analysis::summary;
use record::golden::{self, Session};
use record::{Ending, ShutdownStage};

use super::*;

fn compared(runs: &[Played]) -> String {
    comparison(&compare_by_target(runs.to_vec(), None), runs)
}

/// The picture without its style, which has its own files.
fn unstyled(picture: &str) -> String {
    let (start, end) = (picture.find("<style>").unwrap() + 7, picture.find("</style>").unwrap());
    format!("{}…{}", &picture[..start], &picture[end..]).replace("><", ">\n<")
}

#[test]
fn pictures_of_one_run_and_of_two_servers() {
    let completed = analysis::golden::read("completed");
    insta::assert_snapshot!("one", unstyled(&run(&completed, "completed.jsonl")));
    insta::assert_snapshot!("two", unstyled(&compared(&two())));
}

#[test]
fn a_traced_run_has_no_line_and_says_why() {
    let summary = traced(analysis::golden::read("completed"), 7);
    let picture = run(&summary, "traced-ty.jsonl");
    assert!(picture.contains("no memory and no latency figures"), "{picture}");
    assert!(
        !picture.contains("class=\"line\"") && !picture.contains("MiB"),
        "{picture}"
    );
}

#[test]
fn a_run_that_did_not_come_far_is_a_whole_picture() {
    let nothing = golden::Session::new("server").bytes();
    let nothing = summary::read(record::Reader::new(&nothing[..]).unwrap()).unwrap();
    let cut = summary::read(golden::open("truncated")).unwrap();
    for picture in [run(&nothing, "a"), run(&cut, "b"), compared(&[])] {
        assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN") && !picture.contains("inf"));
    }
}

#[test]
fn what_others_wrote_is_text() {
    let runs: Vec<Played> = (1..=4).map(|number| played(hostile, number)).collect();
    for picture in [run(&runs[0].summary, HOSTILE), compared(&runs)] {
        assert!(!picture.contains("<img") && picture.contains("&lt;img"));
        assert_eq!(picture.matches("</style>").count(), 1);
    }
}

#[test]
fn nothing_in_the_style_needs_to_be_escaped() {
    for text in [PALETTE, STYLE] {
        assert!(!text.contains(['<', '&']));
        assert!(!text.contains("url(") && !text.contains("@import"), "nothing is loaded");
    }
}

#[test]
fn each_target_has_a_chart_of_its_own() {
    let mut runs = two();
    for (place, run) in runs.iter_mut().enumerate() {
        if place >= 4 {
            run.summary_mut().header.host.target = "aarch64-apple-darwin".to_owned();
        }
    }
    let picture = compared(&runs);
    assert_eq!(picture.matches("class=\"heading\"").count(), 2);
    // Each chart has its own hatch pattern for light traffic.
    assert!(picture.contains("id=\"simmer0\"") && picture.contains("url(#simmer1)"));
    assert!(!compared(&two()).contains("class=\"heading\""));
    let one = played(|run| session("ty", 100 + run), 1);
    assert!(
        !run(&one.summary, "one").contains("class=\"run\""),
        "one line is no median"
    );
}

#[test]
fn a_picture_of_a_large_campaign_is_below_two_hundred_kibibytes() {
    let picture = compared(&twenty_four());
    assert!(picture.len() < 200 << 10, "{} bytes", picture.len());
    assert_eq!(picture.matches("class=\"run\"").count(), 24);
    assert_eq!(picture.matches("class=\"line\"").count(), 3);
}

/// The heights of each path's points in tenths, for paths of this class; larger is further down.
fn paths(picture: &str, class: &str) -> Vec<Vec<i64>> {
    let start = format!("class=\"{class}\" ");
    let mut paths = Vec::new();
    for element in picture.split(&start).skip(1) {
        let (_, path) = element.split_once(" d=\"").unwrap();
        paths.push(heights(path.split('"').next().unwrap()));
    }
    paths
}

fn heights(path: &str) -> Vec<i64> {
    let (mut height, mut heights) = (0, Vec::new());
    // A command is a letter, then numbers separated by blanks or signs.
    let spaced = path
        .replace('-', " -")
        .replace('M', ";M")
        .replace('l', ";l")
        .replace('h', ";h");
    for command in spaced.split(';').skip(1) {
        let numbers: Vec<i64> = command[1..]
            .split_whitespace()
            .map(|number| (number.parse::<f64>().unwrap() * 10.0).round() as i64)
            .collect();
        match &command[..1] {
            "M" => height = numbers[1],
            "l" => height += numbers[1],
            _ => {}
        }
        heights.push(height);
    }
    heights
}

#[test]
fn memory_that_only_grows_is_drawn_as_lines_that_only_rise() {
    // Runs with phases of different lengths, and one step in each.
    let runs: Vec<Played> = (1..=5).map(|number| played(growing_session, number)).collect();
    let picture = compared(&runs);
    let lines: Vec<Vec<i64>> = ["run", "line"]
        .iter()
        .flat_map(|class| paths(&picture, class))
        .collect();
    assert_eq!(lines.len(), 6);
    for line in &lines {
        // The line ends with the server instead of falling to 0.
        assert!(
            line.len() > 3 && line.is_sorted_by(|higher, lower| higher >= lower),
            "{line:?}"
        );
    }
}

/// A session with phases whose lengths depend on the run.
fn growing_session(run: u64) -> Session {
    let mut session = Session::new("ty");
    session.spawn(0, "server", None, 20, 14);
    for (name, to, seconds) in [
        ("start", 40, 2 + run),
        ("goto", 400, 1 + 3 % run),
        ("decay", 410, 5 * run),
    ] {
        session.phase(name);
        session.move_memory(0, to, seconds, 100);
        session.settle(true);
    }
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    session
}
