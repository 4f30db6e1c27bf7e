//! Settings of Go's runtime. It never prints them: their syntax is checked here, limits by Go itself, and the names of
//! `GODEBUG` by whether they are in the program.

use super::super::{probe, scan};
use super::{Checked, KnobError, Question, unseen};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut errors = Vec::new();
    for (variable, value) in question.env {
        match variable.as_str() {
            "GOGC" => errors.extend(percentage(value)),
            "GOMEMLIMIT" => errors.extend(limit(value)),
            _ => errors.extend(debug(value, question)),
        }
    }
    if errors.is_empty() {
        errors.extend(refused(question));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut checked = unseen(question.env);
    for knob in &mut checked.knobs {
        knob.seen = Some("its syntax".to_owned());
    }
    Ok(checked)
}

fn wrong(variable: &str, value: &str, why: &str, cure: &str) -> Option<KnobError> {
    Some(KnobError::Value {
        written: format!("{variable}={value}"),
        why: why.to_owned(),
        cure: cure.to_owned(),
    })
}

fn percentage(value: &str) -> Option<KnobError> {
    if value == "off" || value.parse::<i32>().is_ok() {
        return None;
    }
    wrong(
        "GOGC",
        value,
        "Go would use 100 instead",
        "write a percentage without a sign, or off",
    )
}

fn limit(value: &str) -> Option<KnobError> {
    let number = ["KiB", "MiB", "GiB", "TiB", "B"]
        .iter()
        .find_map(|unit| value.strip_suffix(unit))
        .unwrap_or(value);
    if value == "off" || (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())) {
        return None;
    }
    wrong(
        "GOMEMLIMIT",
        value,
        "it is not a size",
        "write bytes or such as 512MiB, or off",
    )
}

/// Settings of the runtime in `GODEBUG` (runtime/runtime1.go of Go 1.26): the program holds them without marks between
/// them, so that a part of one would be found in it too.
const RUNTIME: [&str; 31] = [
    "adaptivestackstart",
    "asyncpreemptoff",
    "asynctimerchan",
    "cgocheck",
    "checkfinalizers",
    "clobberfree",
    "dataindependenttiming",
    "decoratemappings",
    "disablethp",
    "dontfreezetheworld",
    "efence",
    "gccheckmark",
    "gcpacertrace",
    "gcshrinkstackoff",
    "gcstoptheworld",
    "gctrace",
    "harddecommit",
    "inittrace",
    "invalidptr",
    "madvdontneed",
    "panicnil",
    "profstackdepth",
    "sbrk",
    "scavtrace",
    "scheddetail",
    "schedtrace",
    "traceadvanceperiod",
    "traceallocfree",
    "tracebackancestors",
    "tracecheckstackownership",
    "tracefpunwindoff",
];

/// The setting that is meant by a part of its name, or by one slip of the pen in it; others have names of their own.
fn meant(name: &str) -> Option<&'static str> {
    if RUNTIME.contains(&name) {
        return None;
    }
    let near = |known: &&&str| known.contains(name) || strsim::damerau_levenshtein(name, known) == 1;
    RUNTIME.iter().find(near).copied()
}

fn debug(value: &str, question: &Question<'_>) -> Vec<KnobError> {
    let pairs = value.split(',').filter(|pair| !pair.is_empty());
    let check = |pair: &str| {
        let Some((name, _)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return wrong(
                "GODEBUG",
                value,
                &format!("`{pair}` sets nothing"),
                "write NAME=VALUE,NAME=VALUE",
            );
        };
        let nothing = |cure: String| {
            Some(KnobError::Option {
                variable: "GODEBUG".to_owned(),
                option: name.to_owned(),
                uses: question.detection.facts.to_string(),
                cure,
            })
        };
        let otherwise = "see GODEBUG in the documentation of Go's `runtime`";
        if let Some(meant) = meant(name) {
            return nothing(format!("did you mean `{meant}`?"));
        }
        match scan::contains(&question.detection.file, name) {
            Ok(false) => nothing(otherwise.to_owned()),
            // What cannot be read cannot be looked into.
            Ok(true) | Err(_) => None,
        }
    };
    pairs.filter_map(check).collect()
}

/// What Go itself refuses when it starts.
fn refused(question: &Question<'_>) -> Option<KnobError> {
    let with: Vec<(&str, &str)> = question
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let heard = probe::ask(question.subject, &with, question.stop).ok()?;
    let line = heard
        .said
        .stderr
        .lines()
        .find(|line| line.contains("malformed GO"))?
        .to_owned();
    let (variable, value) = question.env.iter().find(|(name, _)| line.contains(name.as_str()))?;
    wrong(
        variable,
        value,
        &format!("Go says `{line}`"),
        "write a value that it takes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_setting_is_none() {
        for (name, known) in [
            ("gctrac", Some("gctrace")),
            ("trace", Some("gcpacertrace")),
            ("madvdontned", Some("madvdontneed")),
            ("gctrace", None),
            ("madvdontneed", None),
            ("http2client", None),
            ("netdns", None),
            ("tracebacklabels", None),
        ] {
            assert_eq!(meant(name), known, "{name}");
        }
    }

    #[test]
    fn go_takes_percentages_and_sizes() {
        for value in ["100", "off", "-1", "50"] {
            assert_eq!(percentage(value), None, "{value}");
        }
        for value in ["", "100%", "on", "1.5"] {
            assert!(percentage(value).is_some(), "{value}");
        }
        for value in ["off", "1048576", "512MiB", "2GiB", "7B"] {
            assert_eq!(limit(value), None, "{value}");
        }
        for value in ["", "512MB", "MiB", "-1", "1.5GiB", "512 MiB"] {
            assert!(limit(value).is_some(), "{value}");
        }
    }
}
