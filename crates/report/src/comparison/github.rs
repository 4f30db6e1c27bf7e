//! Cases as annotations of a GitHub workflow.

use base::text::clean_lines;

use super::cases::{Outcome, Suite};

/// One line for every failure and warning, in the form that the runner reads from a step's output.
pub fn annotations(suites: &[Suite]) -> Vec<String> {
    let mut lines = Vec::new();
    for suite in suites {
        for case in &suite.cases {
            let level = match case.outcome {
                Outcome::Passed | Outcome::Skipped => continue,
                Outcome::Warned | Outcome::Undecided => "warning",
                Outcome::Failed | Outcome::Errored => "error",
            };
            lines.push(format!(
                "::{level} title={}::{}",
                property(&suite.name),
                data(&case.text)
            ));
        }
    }
    lines
}

/// Characters to escape in a message.
fn data(text: &str) -> String {
    clean_lines(text).replace('%', "%25").replace('\n', "%0A")
}

/// Characters to escape in a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
