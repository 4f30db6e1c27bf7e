//! The plan as `lsp-soak check` prints it.

use std::fmt::Write;
use std::time::Duration;

use super::PlannedRun;
use super::estimate::{Amount, Outline, PhaseOutline, outline};
use crate::config::{Loaded, Repeat};
use base::text::table::{Table, draw};
use base::text::{Paint, fold};
use base::units;

const LISTED: usize = 12;

/// The usual first look, and the fewest runs of each server that have an interval.
const FEWEST: usize = 3;

/// Outline of a scenario, and its runs on servers with these labels, with the conditions that end them early. Without
/// runs, only the outline. Uses at most `columns`.
pub fn describe(loaded: &Loaded, runs: &[PlannedRun], labels: &[&str], until: &[String], columns: usize) -> String {
    let outline = outline(&loaded.scenario, loaded.project.files.len() as u64);
    let mut text = fold(&head(loaded, &outline), columns);
    table(&mut text, &outline, columns);
    let mut rest = tail(&outline);
    if !runs.is_empty() {
        schedule(&mut rest, runs, labels, until, outline.total.least);
    }
    text + &fold(&rest, columns)
}

/// The runs by block, and their minimum total time.
fn schedule(text: &mut String, runs: &[PlannedRun], labels: &[&str], until: &[String], least: Duration) {
    let blocks: Vec<&[PlannedRun]> = runs.chunk_by(|a, b| a.block == b.block).collect();
    if let [one] = blocks[..] {
        let _ = writeln!(text, "\nruns: {}", in_order(one, labels));
    } else {
        text.push_str("\nruns, block by block:\n");
        for block in blocks.iter().take(LISTED) {
            let name = if block[0].warm_up {
                "warm-up".to_owned()
            } else {
                block[0].block.to_string()
            };
            let _ = writeln!(text, "  {name:>7}  {}", in_order(block, labels));
        }
        if blocks.len() > LISTED {
            let _ = writeln!(text, "  … and so on");
        }
    }
    for limit in until {
        let _ = writeln!(text, "{limit}");
    }
    if until.is_empty() || blocks.len() <= LISTED {
        let _ = writeln!(text, "all runs: at least {}", time_of(runs.len(), least));
    } else {
        // A part of a plan begins with any block.
        let measured = blocks.iter().filter(|block| !block[0].warm_up).take(FEWEST);
        let warm_ups = runs.iter().filter(|run| run.warm_up).count();
        let fewest = warm_ups + measured.map(|block| block.len()).sum::<usize>();
        let warm_up = if runs[0].warm_up { "the warm-up and " } else { "" };
        let _ = writeln!(
            text,
            "each block: at least {}, {warm_up}{FEWEST} blocks: at least {}",
            time_of(blocks[0].len(), least),
            time_of(fewest, least)
        );
    }
}

/// `1 ty, 2 pyrefly`
fn in_order(runs: &[PlannedRun], labels: &[&str]) -> String {
    let mut names = Vec::new();
    for run in runs {
        let label = labels.get(run.server).copied().unwrap_or(units::UNKNOWN);
        names.push(format!("{} {label}", run.number));
    }
    names.join(", ")
}

fn time_of(runs: usize, each: Duration) -> String {
    units::duration(each.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX)))
}

fn head(loaded: &Loaded, outline: &Outline) -> String {
    let project = &loaded.project;
    let requests = match outline.repeat {
        // The number depends on the time.
        Some(Repeat::For(_)) => String::new(),
        _ => format!("about {}, ", units::count_of(outline.total.requests, "request")),
    };
    let least = units::duration(outline.total.least);
    let mut text = format!(
        "{} is valid: {requests}at least {least} per run\n",
        loaded.scenario.name
    );
    if !loaded.scenario.description.is_empty() {
        let _ = writeln!(text, "{}", loaded.scenario.description);
    }
    let files = units::count(project.files.len() as u64);
    let (language, pattern) = (&project.language, &project.pattern);
    let origin = project.origin.as_ref().map(|origin| origin.origin.clone());
    let root = origin.unwrap_or_else(|| project.root.display().to_string());
    let _ = writeln!(text, "\nworkspace  {root} (isolation: {})", project.isolation);
    let _ = writeln!(text, "files      {files} × {language}, {pattern}");
    let _ = writeln!(text, "seed       {}\n", loaded.scenario.seed());
    text
}

/// One row: phase, step, requests, notifications, least time.
type Row = [String; 5];

fn table(text: &mut String, outline: &Outline, columns: usize) {
    let mut rows: Vec<Row> = outline.phases.iter().flat_map(phase_rows).collect();
    rows.push(row("total", "", outline.total));
    let table = Table::new(&rows)
        .text("phase", 0, |row| row[0].as_str())
        .text("step", 0, |row| row[1].as_str())
        .number("requests", 1, |row| row[2].as_str())
        .number("notifications", 2, |row| row[3].as_str())
        .number("at least", 1, |row| row[4].as_str())
        .columns();
    draw(text, Paint(false), table, columns, "");
}

fn phase_rows(phase: &PhaseOutline) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for step in &phase.steps {
        let name = if rows.is_empty() { phase.name.as_str() } else { "" };
        let what = match step.detail.as_str() {
            "" => step.name.to_owned(),
            detail => format!("{} ({detail})", step.name),
        };
        rows.push(row(name, &what, step.amount));
    }
    if let Some(repeat) = phase.repeat {
        rows.push(row("", &repeated(repeat), phase.total));
    }
    rows
}

fn row(phase: &str, step: &str, amount: Amount) -> Row {
    let number = |value: u64| match value {
        0 => String::new(),
        value => units::count(value),
    };
    let least = if amount.least.is_zero() {
        String::new()
    } else {
        units::duration(amount.least)
    };
    [
        phase.to_owned(),
        step.to_owned(),
        number(amount.requests),
        number(amount.notifications),
        least,
    ]
}

fn repeated(repeat: Repeat) -> String {
    match repeat {
        Repeat::Times(times) => format!("× {}", units::count(times)),
        Repeat::For(time) => format!("again for {time}"),
    }
}

fn tail(outline: &Outline) -> String {
    let mut text = String::new();
    if let Some(repeat) = outline.repeat {
        let what = match outline.phases.get(outline.once) {
            Some(first) => format!("everything from `{}` on", first.name),
            None => "nothing".to_owned(),
        };
        let how = match repeat {
            Repeat::Times(times) => format!("is played {}", units::count_of(times, "time")),
            Repeat::For(time) => format!("is repeated for {time}; the counts are of one round"),
        };
        let _ = writeln!(text, "\n{what} {how}");
    }
    let typed = outline.phases.iter().flat_map(|phase| &phase.steps);
    let typed = typed.map(|step| step.name).find(|name| name.starts_with("type"));
    let more = typed.map(|name| format!(" `{name}` is counted with the shortest line, and sends more in longer ones."));
    let settles = outline.phases.iter().map(|phase| phase.settle);
    let (least, most) = (settles.clone().min(), settles.max());
    let settle = match (least.map(units::duration), most.map(units::duration)) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
        (least, _) => least.unwrap_or_default(),
    };
    let _ = writeln!(
        text,
        "\nEach phase ends by settling, {settle} or more, which the total includes. The server's own time comes on top.\n\
         A small file may have fewer places, and so fewer requests.{}",
        more.unwrap_or_default()
    );
    text
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the scenarios that lsp-soak brings are looked up"
)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::config::{Overrides, load_scenario};
    use crate::plan::{self, Blocks};

    /// Compares with the checked-in text, without repeating the expression.
    macro_rules! shown {
        ($text:expr) => {
            insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
        };
    }

    fn plan_of(name: &str, columns: usize) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
        let loaded = load_scenario(&path, &Overrides::default(), &|_| None).unwrap_or_else(|report| panic!("{report}"));
        let mut loaded = loaded.expect("it is a directory");
        loaded.project.root = PathBuf::from("shop");
        loaded.project.files.truncate(30);
        describe(&loaded, &plan::once(2), &["ty", "pyright"], &[], columns)
    }

    #[test]
    fn the_plan_of_a_first_run() {
        shown!(plan_of("completions.toml", 100));
    }

    #[test]
    fn the_plan_in_a_narrow_terminal() {
        let plan = plan_of("completions.toml", 60);
        assert!(plan.lines().all(|line| line.chars().count() <= 60), "{plan}");
        shown!(plan);
    }

    #[test]
    fn runs_are_listed_block_by_block() {
        let blocks = |blocks| Blocks {
            servers: 2,
            blocks,
            warm_up: vec![0, 1],
            seed: 1,
        };
        let shown = |runs: &[PlannedRun], until: &[String]| {
            let mut text = String::new();
            schedule(&mut text, runs, &["ty", "pyright"], until, Duration::from_secs(60));
            text
        };
        shown!(shown(&blocks(3).runs(), &["part 1/2 of the plan".to_owned()]));
        let many = shown(&blocks(1_000).runs(), &["as many blocks as fit into 30 min".to_owned()]);
        assert_eq!(many.lines().count(), 17, "{many}");
        assert!(
            many.ends_with("each block: at least 2 min 00 s, the warm-up and 3 blocks: at least 8 min 00 s\n"),
            "{many}"
        );
    }

    #[test]
    fn the_plan_of_a_phase_that_is_repeated() {
        shown!(plan_of("open-close.toml", 100));
    }

    #[test]
    fn the_plan_of_a_day_made_of_other_scenarios() {
        shown!(plan_of("full-day.toml", 100));
    }

    #[test]
    fn every_scenario_that_comes_along_is_without_mistakes() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let names: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".toml") && name != "servers.toml")
            .collect();
        assert!(names.len() >= 7, "{names:?}");
        for name in names {
            assert!(plan_of(&name, 100).contains("\n  total"), "{name}");
        }
    }
}
