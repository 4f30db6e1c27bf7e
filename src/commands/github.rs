//! Inside a GitHub workflow: the comparison in the summary of the step, and annotations for what went wrong.

use std::env;
use std::fs::{self, File};
use std::io::Write;

use analysis::compare::{Played, compare_by_target};
use report::comparison::{self, Suite};
use report::document::markdown;

/// Reports a comparison to the workflow, if there is one. A failure to report is no failure of the runs.
pub fn report_comparison(runs: &[Played], baseline: Option<&str>) {
    if env::var_os("GITHUB_ACTIONS").is_none() || runs.is_empty() {
        return;
    }
    let scenarios = compare_by_target(runs.to_vec(), baseline);
    let document = comparison::document(&scenarios, runs);
    report_to_workflow(&markdown::render(&document), &comparison::suites(&scenarios));
}

/// Appends the Markdown to the step's summary, and annotates the run with failures of the suites; once per step, even
/// if it prints several formats. The runner reads annotations from stderr too, where they do not disturb stdout.
pub fn report_to_workflow(markdown: &str, suites: &[Suite]) {
    if env::var_os("GITHUB_ACTIONS").is_none() {
        return;
    }
    let summary = env::var_os("GITHUB_STEP_SUMMARY");
    if let Some(summary) = &summary
        && fs::read_to_string(summary).is_ok_and(|text| text.contains(markdown))
    {
        return;
    }
    for annotation in comparison::annotations(suites) {
        super::say(&annotation);
    }
    let Some(summary) = summary else {
        return;
    };
    let file = File::options().append(true).create(true).open(&summary);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{markdown}")) {
        let name = summary.display();
        super::say(&format!("warning: cannot append to the step summary `{name}`: {error}"));
    }
}
