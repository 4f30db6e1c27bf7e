use crate::document::page;
use crate::document::tests::is_whole;
use crate::{comparison, run};
use analysis::compare::{Played, compare_by_target};
use analysis::figures::{Rule, Rules, WorkLimits};
use analysis::gate::{Sides, judge};
use analysis::summary::{self, Summary};
use base::band::Tolerance;
use base::lens::Lens;
use record::golden::{self, Session};
use record::{AllocatorFacts, AllocatorFamily, Confidence, Ending, Evidence, IdleKind, Outcome, Reader, ShutdownStage};
use stats::Schedule;

/// A name that ends every element that it could stand in.
pub const HOSTILE: &str = "</script></title></style><img src=x onerror=alert(1)>\"'`&";

fn read(name: &str) -> Summary {
    summary::read(golden::open(name)).unwrap()
}

fn compared(runs: &[Played]) -> String {
    page::render(&comparison::document(&compare_by_target(runs.to_vec(), None), runs))
}

/// Runs of a session that differs from run to run.
pub fn played(session: impl Fn(u64) -> Session, number: u32) -> Played {
    let mut session = session(u64::from(number));
    session.header.plan.run = number;
    let (header, entries) = (session.header.clone(), session.entries);
    let entries = entries.into_iter().map(Ok::<_, std::convert::Infallible>);
    let Ok(summary) = summary::summarise(header, entries);
    Played::new(format!("/tmp/out/run-{number:03}.jsonl"), summary)
}

pub fn session(label: &str, private: u64) -> Session {
    let mut session = Session::new(label);
    session.header.scenario.phases = ["start", "goto <i>", "decay"].map(str::to_owned).to_vec();
    session.spawn(0, "server", None, 4, 14);
    session.phase("start");
    session.step("start");
    session.move_memory(0, 20 + private / 10, 2, 80);
    session.step_end("start", 0, 0);
    session.settle(true);
    session.phase("goto <i>");
    session.step("definition");
    session.move_memory(0, private, 4, 140);
    session.requests("textDocument/definition", 40, 1_900, &Outcome::Null, 2);
    session.step_end("definition", 40, 38);
    session.settle(true);
    session.phase("decay");
    session.idle(IdleKind::Silent, 0, private - 5, 6);
    session.idle(IdleKind::Simmer, 0, private - 15, 4);
    session.settle(true);
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    session
}

pub fn two() -> Vec<Played> {
    let mut runs = Vec::new();
    for number in 1..=4 {
        runs.push(played(|run| session("ty", 100 + run % 3), 2 * number - 1));
        runs.push(played(|run| session("ty-jemalloc", 130 + run % 3), 2 * number));
    }
    runs
}

fn paged(summary: &Summary, record: &str) -> String {
    page::render(&run::document(&Played::new(record.to_owned(), summary.clone())))
}

#[test]
fn every_block_of_a_run_is_in_every_format() {
    for name in ["completed", "crashed", "tree", "interrupted", "truncated"] {
        is_whole(&run::document(&Played::new(name.to_owned(), read(name))));
    }
}

#[test]
fn pages_of_runs_that_did_not_come_far_are_whole() {
    for name in ["interrupted", "truncated"] {
        let page = paged(&read(name), name);
        assert!(page.ends_with("</html>"), "{name}");
    }
    let nothing = Session::new("server").bytes();
    let page = paged(
        &summary::read(Reader::new(&nothing[..]).unwrap()).unwrap(),
        "nothing.jsonl",
    );
    assert!(page.contains("cut short") && !page.contains("NaN"));
    assert!(compared(&[]).ends_with("</html>"));
}

#[test]
fn a_page_of_two_servers() {
    let page = compared(&two());
    assert!(
        page.contains("ty-jemalloc: private memory after decay"),
        "the verdict is there"
    );
    is_whole(&comparison::document(&compare_by_target(two(), None), &two()));
}

#[test]
fn of_the_work_of_a_server_that_failed_nothing_is_said() {
    let mut runs = two();
    let mut failed = read("crashed");
    failed.header.scenario = runs[0].summary.header.scenario.clone();
    runs.push(Played::new("run-009-clangd.jsonl".to_owned(), failed));
    let label = runs[8].summary.header.server.label.clone();
    let page = compared(&runs);
    assert!(page.contains("ty-jemalloc did the same work as ty"));
    assert!(!page.contains(&format!("{label} did the same work")));
    assert!(page.contains(&format!("{label}: its work is not known: no run of {label} counts")));
    // Without the baseline's work, no other server's is known to be equal.
    let page = page::render(&comparison::document(
        &compare_by_target(runs.clone(), Some(&label)),
        &runs,
    ));
    assert!(page.contains("ty-jemalloc: its work is not known"));
    assert!(!page.contains("did the same work"), "{page}");
}

#[test]
fn a_server_without_runs_that_count_takes_no_colour_from_the_others() {
    let mut runs = two();
    for run in &mut runs {
        run.summary_mut().header.plan.warm_up = run.summary.header.server.label == "ty";
    }
    let page = compared(&runs);
    assert!(page.contains("ty-jemalloc cannot be compared with ty: no run of ty counts"));
    assert!(page.contains(r#"{"label":"ty-jemalloc","place":1,"#));
}

#[test]
fn a_page_of_one_server_says_what_it_keeps_and_its_peak() {
    let runs: Vec<Played> = two()
        .into_iter()
        .filter(|run| run.summary.header.server.label == "ty")
        .collect();
    let page = compared(&runs);
    let start = page.find("<div class=\"verdict\">").unwrap();
    let conclusion = "<p class=\"say ending strong\">ty: 84.3 MiB (83.3–85.3 MiB *) private after decay, peak 115.0 MiB (114.0–116.0 MiB *) \
                resident (4 runs)</p>";
    assert!(
        page[start..].starts_with(&format!("<div class=\"verdict\">{conclusion}")),
        "{}",
        &page[start..]
    );
}

fn conclusion(size: &str, system: &str) -> String {
    format!(
        "<p class=\"{size} strong\">{system}: ty-jemalloc: private memory after decay +33 to +37 % (114.2 against 84.3 MiB), \
         resident peak +25 to +28 % (145.5 against 115.0 MiB); no measurable difference in CPU time (−0.2 to +0.2 %) (4 runs each)</p>"
    )
}

#[test]
fn a_page_of_several_systems_begins_with_a_sentence_for_each() {
    let mut runs = two();
    let mut mac = two();
    for run in &mut mac {
        run.record = run.record.replace("run-", "mac-");
        run.summary_mut().header.host.target = "aarch64-apple-darwin".to_owned();
    }
    runs.extend(mac);
    let page = compared(&runs);
    let main = page.find("<main>").unwrap();
    let end = page.find("<section id=\"all-completions\"").unwrap();
    assert_eq!(
        page[main..end],
        format!(
            "<main><div class=\"verdict\">{}{}</div>",
            conclusion("say ending", "macOS"),
            conclusion("more", "Linux")
        )
    );
    assert!(page.contains("sizes of different systems are different quantities"));
}

fn runs_of_ty(private: u64) -> Vec<Played> {
    (1..=3)
        .map(|number| played(|run| session("ty", private + run), number))
        .collect()
}

#[test]
fn a_server_against_itself_is_two_servers_on_the_page_of_a_gate() {
    let sides = Sides {
        baseline: Some(runs_of_ty(100)),
        candidate: runs_of_ty(140),
        anchor: None,
    };
    let end = Rule {
        subject: "private".parse().unwrap(),
        tolerance: Tolerance::AS_SHIPPED,
    };
    let rules = Rules {
        lens: Lens::AsShipped,
        primaries: vec![end],
        advisory: Vec::new(),
        budgets: Vec::new(),
        leak: None,
        work: WorkLimits::default(),
    };
    let judgement = judge(&sides, &rules, &Schedule::default());
    let page = page::render(&crate::verdict::document(
        &judgement,
        &sides,
        &["a note".to_owned()],
        None,
    ));
    assert!(page.contains("ty (baseline)") && page.contains("ty (candidate)"));
    assert!(page.contains("a note"));
}

/// A session in which everything that others write is [`HOSTILE`].
pub fn hostile(run: u64) -> Session {
    let mut session = session(HOSTILE, 100 + run);
    let header = &mut session.header;
    header.server.program = HOSTILE.to_owned();
    header.server.version = Some(HOSTILE.to_owned());
    header.server.args = vec![HOSTILE.to_owned()];
    header.server.env.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    header.scenario.name = HOSTILE.to_owned();
    header.scenario.path = HOSTILE.to_owned();
    header.workspace.path = HOSTILE.to_owned();
    header.host.cpu = Some(format!("{HOSTILE}{run}"));
    header.settings.command_line = vec!["lsp-soak".to_owned(), HOSTILE.to_owned()];
    header.server.allocator = Some(AllocatorFacts {
        family: AllocatorFamily::Jemalloc,
        version: Some(HOSTILE.to_owned()),
        options: [(HOSTILE.to_owned(), HOSTILE.to_owned())].into(),
        confidence: Some(Confidence::Certain),
        evidence: vec![Evidence {
            source: HOSTILE.to_owned(),
            saw: HOSTILE.to_owned(),
        }],
        ..AllocatorFacts::default()
    });
    session.requests(HOSTILE, 30, 2_000, &Outcome::Null, 0);
    session.phase(HOSTILE);
    session.settle(true);
    session
}

#[test]
fn what_others_wrote_is_text_wherever_it_stands() {
    let runs: Vec<Played> = (1..=4).map(|number| played(hostile, number)).collect();
    for page in [paged(&runs[0].summary, HOSTILE), compared(&runs)] {
        assert!(!page.contains("<img"), "an element of theirs");
        assert_eq!(page.matches("</title>").count(), page.matches("<title>").count());
        assert_eq!(page.matches("</style>").count(), 1);
        // Numbers and program.
        let scripts = page.matches("<script").count();
        assert_eq!(page.matches("</script>").count(), scripts);
        assert!(page.contains("&lt;img src=x"));
        assert!(page.contains("Options in force") && page.contains("jemalloc (certain)"));
        assert!(page.contains("\\u003c/script>"), "in the numbers of the chart");
    }
}

/// Three servers, eight runs each, ten minutes at 20 Hz.
pub fn twenty_four() -> Vec<Played> {
    let mut runs = Vec::new();
    for number in 1..=24 {
        let label = ["system", "jemalloc", "mimalloc"][number as usize % 3];
        runs.push(played(|run| long_session(label, run), number));
    }
    runs
}

fn long_session(label: &str, run: u64) -> Session {
    let mut session = Session::new(label);
    session.spawn(0, label, None, 40, 14);
    session.phase("work");
    session.wander(0, 300, run);
    session.move_memory(0, 400 + run, 1, 100);
    session.wander(0, 300, run + 1_000);
    session.settle(true);
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Completed, "");
    session
}

#[test]
fn a_page_of_a_large_campaign_is_below_three_mebibytes_and_keeps_every_peak() {
    let runs = twenty_four();
    let page = compared(&runs);
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    let start = page.find("application/json\">").unwrap() + "application/json\">".len();
    let end = start + page[start..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&page[start..end]).unwrap();
    let mut seen = 0;
    for server in data["servers"].as_array().unwrap() {
        for run in server["runs"].as_array().unwrap() {
            let name = run["name"].as_str().unwrap();
            let played = runs.iter().find(|played| played.record.ends_with(name)).unwrap();
            let highest = highest(&run["lines"]["private"]);
            assert_eq!(Some(highest * 1024), played.summary.memory.private_peak, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 24);
}

/// The highest value of a line as the script decodes it.
fn highest(coded: &serde_json::Value) -> u64 {
    let mut first = 0;
    let mut highest = 0;
    for (place, more) in coded["first"].as_array().unwrap().iter().enumerate() {
        let Some(more) = more.as_i64() else { continue };
        first += more;
        let then = coded["then"].get(place).and_then(serde_json::Value::as_i64);
        highest = highest.max(first + then.unwrap_or(0).max(0));
    }
    u64::try_from(highest).unwrap()
}
