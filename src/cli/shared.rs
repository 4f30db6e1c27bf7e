//! Options of one command line as options of another command, so that a message can name a command to paste.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use base::text::quoted;

use super::command;

/// The options of a command line that `other` has too, as they are typed, but for those of these names. A space comes before
/// each word.
pub fn shared_options(words: &[OsString], other: &str, without: &[&str]) -> String {
    let Ok(matches) = command().try_get_matches_from(words) else {
        return String::new();
    };
    let Some((_, typed)) = matches.subcommand() else {
        return String::new();
    };
    let all = command();
    let Some(other) = all.find_subcommand(other) else {
        return String::new();
    };
    let mut text = String::new();
    for option in other.get_arguments() {
        let id = option.get_id().as_str();
        let is_typed = typed.try_contains_id(id).is_ok() && typed.value_source(id) == Some(ValueSource::CommandLine);
        if is_typed && !without.contains(&id) {
            text.push_str(&option_text(option, typed));
        }
    }
    text
}

/// An option with its values, as often as it was typed; empty for a positional argument.
fn option_text(option: &Arg, typed: &ArgMatches) -> String {
    let Some(long) = option.get_long() else {
        return String::new();
    };
    if !option.get_action().takes_values() {
        return format!(" --{long}");
    }
    let mut text = String::new();
    let occurrences = typed
        .get_raw_occurrences(option.get_id().as_str())
        .into_iter()
        .flatten();
    for values in occurrences {
        let values: Vec<String> = values.map(|value| quoted(&value.to_string_lossy())).collect();
        if values.is_empty() {
            text.push_str(&format!(" --{long}"));
        }
        for value in values {
            // An option whose value is optional needs the sign, and others may begin with a hyphen.
            let sign = if option.is_require_equals_set() || value.starts_with('-') {
                '='
            } else {
                ' '
            };
            text.push_str(&format!(" --{long}{sign}{value}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(line: &[&str], without: &[&str]) -> String {
        let words: Vec<OsString> = line.iter().map(OsString::from).collect();
        shared_options(&words, "calibrate", without)
    }

    #[test]
    fn what_a_calibration_has_too_is_taken_over_as_it_can_be_pasted() {
        let gate = [
            "lsp-soak", "gate", "a.toml", "--baseline", "ty", "--candidate", "./ty", "--tol", "2%", "--workspace",
            "my project", "--env", "A=1", "--env=B=2", "--server-arg=--stdio", "--purge-shim", "--cpus", "0-1",
            "--runs", "5", "-q",
        ];
        assert_eq!(
            shared(&gate, &["runs", "quiet"]),
            " --server-arg=--stdio --env A=1 --env B=2 --purge-shim --workspace 'my project' --cpus 0-1"
        );
    }

    #[test]
    fn defaults_are_no_options_that_were_typed() {
        assert_eq!(
            shared(&["lsp-soak", "run", "a.toml", "--server", "ty"], &["servers"]),
            ""
        );
        assert_eq!(shared(&["lsp-soak", "no-command"], &[]), "");
    }
}
