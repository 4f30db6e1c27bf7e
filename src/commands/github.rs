//! Inside a GitHub workflow: the comparison in the summary of the step, and annotations for what went wrong.

use std::env;
use std::fs::{self, File};
use std::io::Write;

use crate::analyse::compare::Scenarios;
use crate::report::comparison::{self, Suite};

/// Tells the workflow of a comparison, where there is one. What cannot be told there is no failure of the runs.
pub fn tell(scenarios: &Scenarios) {
    let texts: Vec<String> = scenarios
        .values()
        .map(|targets| comparison::markdown(targets))
        .collect();
    tell_of(&texts.join("\n"), &comparison::suites(scenarios));
}

/// Appends the Markdown to the summary of the step, and annotates the run with what is wrong in the suites; once for each
/// step, also where it prints the same comparison in several formats. The runner reads annotations from stderr too, where
/// they do no harm to what is printed for programs.
pub fn tell_of(markdown: &str, suites: &[Suite]) {
    if env::var_os("GITHUB_ACTIONS").is_none() {
        return;
    }
    let summary = env::var_os("GITHUB_STEP_SUMMARY");
    if let Some(summary) = &summary
        && fs::read_to_string(summary).is_ok_and(|told| told.contains(markdown))
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
