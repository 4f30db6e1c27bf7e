//! Runs of every ending, as a person reads them.

use crate::document::page::Keys;
use crate::document::{Block, Look, markdown, page, terminal};
use crate::pictures::growth;
use crate::run::allocator::tests::detected;
use analysis::golden::traced;
use analysis::golden::{with_release, with_release_at};
use analysis::summary::{self, PhaseSummary};
use record::golden::{self, Session};
use record::{Ending, Event, Outcome, PreloadFacts, Reader, ShutdownStage};

use super::*;

fn read(name: &str) -> Summary {
    summary::read(golden::open(name)).unwrap()
}

fn named_document(summary: &Summary, record: &str) -> Document {
    document(&Played::new(record.to_owned(), summary.clone()))
}

fn pasted(summary: &Summary, record: &str) -> String {
    markdown::render(&named_document(summary, record))
}

fn drawn_golden(name: &str, columns: usize) -> String {
    drawn(&read(name), columns)
}

fn drawn(summary: &Summary, columns: usize) -> String {
    let look = Look {
        columns,
        color: false,
        ascii: false,
        details: true,
    };
    terminal::render(&named_document(summary, "run.jsonl"), look)
}

#[test]
fn a_completed_run_with_all_that_there_is_to_say() {
    insta::assert_snapshot!("completed", drawn_golden("completed", 100));
    // Wider lines are hard to follow with the eye.
    assert_eq!(drawn_golden("completed", 200), drawn_golden("completed", 160));
}

#[test]
fn answers_of_runs_that_ended_otherwise() {
    for name in ["crashed", "tree", "interrupted", "truncated"] {
        let summary = summary::read(golden::open(name)).unwrap();
        let look = Look {
            columns: 80,
            color: false,
            ascii: false,
            details: false,
        };
        insta::assert_snapshot!(name, terminal::render(&named_document(&summary, "run.jsonl"), look));
    }
}

fn has_long_word(line: &str, columns: usize) -> bool {
    line.split(' ').any(|word| base::text::width(word) + 20 > columns)
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for name in ["completed", "crashed", "tree", "interrupted", "truncated"] {
        for columns in [40, 50, 60, 72, 80, 100, 120, 160, 200] {
            // A word that is wider than its column stays whole, since it is most often to be copied.
            let text = drawn_golden(name, columns);
            for line in text.lines().filter(|line| !has_long_word(line, columns)) {
                assert!(base::text::width(line) <= columns, "{name} at {columns}: {line}");
            }
        }
    }
}

fn rounds(name: &str, rounds: u32) -> summary::Summary {
    let mut session = Session::new("server");
    session.spawn(0, "server", None, 30, 40);
    for cycle in 0..rounds {
        let began = session.entries.len();
        session.phase(name);
        session.settle(true);
        for entry in &mut session.entries[began..] {
            let phase = match &mut entry.event {
                Event::PhaseStarted(phase) | Event::PhaseDriven(phase) => phase,
                Event::Checkpoint(taken) => &mut taken.phase,
                Event::Peak(mark) => &mut mark.phase,
                _ => continue,
            };
            (phase.phase, phase.cycle) = (0, cycle);
        }
    }
    let bytes = session.bytes();
    summary::read(Reader::new(&bytes[..]).unwrap()).unwrap()
}

#[test]
fn rows_that_are_left_out_leave_a_mark_and_a_long_name_keeps_its_round() {
    let summary = rounds("open-every-file-and-ask-for-everything", 64);
    let text = drawn(&summary, 60);
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" #") || line.contains('⋮'))
        .collect();
    assert_eq!(rows.len(), 33, "{text}");
    assert!(
        rows[15].contains("… #16 ") && rows[16].contains('⋮') && rows[17].contains("… #49 "),
        "{text}"
    );
}

#[test]
fn the_last_words_of_a_server_are_shown_to_their_end() {
    let mut session = Session::new("server");
    let panic = "thread 'main' panicked at crates/server/src/handlers/request.rs:412:37: assertion `left == right` failed: the document is not the one that was opened";
    let during = "phase `goto`, step `definition`".to_owned();
    let ending = Ending::Crashed {
        code: Some(101),
        signal: None,
        during,
    };
    session.shut_down(
        ShutdownStage::AlreadyGone,
        Vec::new(),
        ending,
        &format!("{panic}\n  left: 1"),
    );
    let bytes = session.bytes();
    let summary = summary::read(Reader::new(&bytes[..]).unwrap()).unwrap();
    for columns in [60, 100] {
        let text = drawn(&summary, columns);
        let failure: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("  failure: "))
            .take_while(|line| !line.is_empty())
            .collect();
        let words = failure.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(panic), "{text}");
        insta::assert_snapshot!(format!("last-words-{columns}"), failure.join("\n"));
    }
}

#[test]
fn what_a_server_writes_cannot_steer_the_terminal() {
    let mut session = Session::new("server");
    session.spawn(0, "evil\u{1b}[2Jname", None, 1, 1);
    session.spawn(1, "other", Some(0), 1, 1);
    let tail = "\u{1b}[31mred\u{1b}[0m\tand\u{7} loud";
    let ending = Ending::Disconnected {
        reason: "a\rb".to_owned(),
    };
    session.shut_down(ShutdownStage::Exit, Vec::new(), ending, tail);
    let bytes = session.bytes();
    let summary = summary::read(Reader::new(&bytes[..]).unwrap()).unwrap();
    let text = drawn(&summary, 80);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains("red and"), "{text}");
}

#[test]
fn it_says_how_the_allocator_is_known_and_by_which_command_it_was_made() {
    let mut summary = read("completed");
    let (facts, knobs) = detected();
    (summary.header.server.allocator, summary.header.server.knobs) = (Some(facts), knobs);
    summary.header.server.preload = Some(PreloadFacts {
        name: "jemalloc".to_owned(),
        path: "/usr/lib/libjemalloc.so.2".to_owned(),
        package: Some("libjemalloc2 5.3.0-1".to_owned()),
        ..PreloadFacts::default()
    });
    let words = ["/usr/bin/lsp-soak", "run", "a b.toml", "--server", "ty"];
    summary.header.settings.command_line = words.map(str::to_owned).to_vec();
    let text = pasted(&summary, "run-001-ty.jsonl");
    let at = text.find("<details><summary>Allocator").expect("it is there");
    insta::assert_snapshot!("allocator", &text[at..]);
}

#[test]
fn what_came_by_force_and_what_the_server_accounts_for_have_a_table_each() {
    let summary = with_release_at(with_release(read("completed"), 50, Some(100)), 5, 0, None);
    let text = pasted(&summary, "run-001-ty.jsonl");
    let from = text.find("<details><summary>Forced").expect("it is there");
    let to = text.find("<details><summary>Requests").expect("it is there");
    insta::assert_snapshot!("given", &text[from..to]);
    let page = page::render(&named_document(&summary, "run-001-ty.jsonl"));
    assert!(page.contains("<h2 id=\"given-title\">Forced release and self-report</h2>"));
    assert!(!page::render(&named_document(&read("completed"), "a")).contains("given-title"));
}

#[test]
fn requests_of_the_editor_alone_have_no_empty_table() {
    let mut session = Session::new("server");
    session.requests("textDocument/hover", 3, 1_000, &Outcome::Hit, 0);
    for entry in &mut session.entries {
        if let Event::Request(request) = &mut entry.event {
            request.editor = true;
        }
    }
    let summary = analysis::golden::summarised(&session);
    let text = drawn(&summary, 100);
    assert!(text.contains("Sent by the editor, beside the steps"), "{text}");
    assert_eq!(text.matches("textDocument/hover").count(), 1, "{text}");
}

#[test]
fn what_a_server_says_is_no_markup_of_ours() {
    let mut summary = read("crashed");
    summary.header.server.label = "</details> | <img src=x> `*_[a](b)".to_owned();
    summary.header.settings.command_line = vec!["lsp-soak".to_owned(), "```\n# heading".to_owned()];
    let text = pasted(&summary, "a|b.jsonl");
    assert!(
        !text.contains("<img") && text.contains("&lt;/details&gt; \\| &lt;img"),
        "{text}"
    );
    assert!(text.contains("````sh\nlsp-soak '```"), "{text}");
    let opened = text.matches("<details>").count();
    assert_eq!(text.matches("</details>").count(), opened);
}

#[test]
fn a_traced_run_has_its_calls_and_no_memory() {
    let text = pasted(&traced(read("completed"), 1_234), "traced.jsonl");
    assert!(!text.contains("private") && !text.contains("resident"), "{text}");
    insta::assert_snapshot!("traced", text);
}

/// A round that keeps 64 KiB for each message that it sends.
fn round_of(model: &PhaseSummary, number: u32, name: &str, sent: u64, round: u64) -> PhaseSummary {
    let mut phase = model.clone();
    phase.phase.phase = number;
    phase.phase.name = name.to_owned();
    phase.private = Some((100 << 20) + sent * round * 65_536);
    for step in &mut phase.steps {
        (step.requests, step.answered, step.notifications) = (Some(sent), Some(sent), Some(0));
    }
    phase.steps.truncate(1);
    phase
}

fn growth_section(text: &str) -> &str {
    let start = text.find("Growth per round").expect("twenty rounds say something");
    let section = &text[start..];
    &section[..section.find("\n\nSteps").unwrap_or(600)]
}

/// A run with 20 rounds of a part that grows and of one that asks nothing.
fn with_rounds() -> Summary {
    let mut summary = read("completed");
    let model = summary.phases[1].clone();
    summary.phases.clear();
    for (number, name, sent) in [(1, "hover", 20), (2, "idle", 0)] {
        summary
            .phases
            .extend((0..20).map(|round| round_of(&model, number, name, sent, round)));
    }
    summary
}

#[test]
fn each_repeated_part_has_a_chart_with_all_its_rounds() {
    let summary = with_rounds();
    let mut few = summary.clone();
    few.phases.truncate(22);
    let servers = [("ty", vec![("one", &summary)]), ("ruff", vec![("two", &few)])];
    let Block::Charts { charts, .. } = growth::all_runs(&servers, Keys::ALIKE) else {
        panic!("growth is drawn");
    };
    let mut drawn = Vec::new();
    for chart in &charts {
        for line in &chart.series {
            let (server, rounds) = (line.words.split(' ').next(), line.words.rsplit(" in ").next());
            drawn.push((chart.title.as_str(), server.unwrap(), rounds.unwrap()));
        }
    }
    assert_eq!(
        drawn,
        [
            ("hover", "ty", "20 rounds"),
            ("hover", "ruff", "20 rounds"),
            ("idle", "ty", "20 rounds"),
            ("idle", "ruff", "2 rounds"),
        ]
    );
}

#[test]
fn the_phase_that_grows_is_named_and_the_control_is_not() {
    let mut summary = with_rounds();
    insta::assert_snapshot!("growth", growth_section(&drawn(&summary, 100)));
    summary.phases.truncate(7);
    let text = drawn(&summary, 200);
    assert!(
        text.contains("not decided in hover: 7 rounds, the rule needs 20"),
        "{text}"
    );
}

#[test]
fn growth_is_judged_up_to_a_round_without_a_checkpoint_and_so_many_rounds_are_counted() {
    let mut summary = with_rounds();
    summary.phases[10].checkpoint = None;
    let text = drawn(&summary, 200);
    assert!(text.contains("linear): 10 rounds, the rule needs 20"), "{text}");
}
