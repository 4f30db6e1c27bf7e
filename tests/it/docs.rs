//! What the documents tell people to type is understood.

use clap::Parser;
use lsp_soak::cli::Cli;

const CI: &str = include_str!("../../docs/ci.md");
const TUNE: &str = include_str!("../../docs/tune.md");

/// The words of a command line: what single quotes hold together stays together, and a redirection ends it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (part, text) in line.split('\'').enumerate() {
        if part % 2 == 1 {
            words.push(text.to_owned());
        } else {
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    let end = words.iter().position(|word| word == ">").unwrap_or(words.len());
    words.truncate(end);
    words
}

#[test]
fn every_command_of_the_workflows_is_one_that_lsp_soak_understands() {
    let lines: Vec<String> = CI
        .lines()
        .map(|line| line.trim().replace("${{ matrix.part }}", "3"))
        .filter(|line| line.starts_with("lsp-soak "))
        .collect();
    assert_eq!(lines.len(), 8, "{lines:#?}");
    for line in lines {
        let parsed = Cli::try_parse_from(words(&line));
        assert!(parsed.is_ok(), "{line}: {}", parsed.expect_err("it is not understood"));
    }
}

#[test]
fn every_command_for_sweeps_is_one_that_lsp_soak_understands() {
    let lines: Vec<&str> = TUNE
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("lsp-soak "))
        .collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    for line in lines {
        let parsed = Cli::try_parse_from(words(line));
        assert!(parsed.is_ok(), "{line}: {}", parsed.expect_err("it is not understood"));
    }
}
