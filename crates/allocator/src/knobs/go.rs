//! Settings of Go's runtime. It never prints them: their syntax is checked here, limits by Go itself, and the names of
//! `GODEBUG` by whether they are in the program. `GOGC`, and a limit below any heap, are seen in the goals that the collector
//! traces when a program starts; of a limit that is far away, and of `GODEBUG`, nothing is seen.

use std::collections::BTreeMap;

use super::super::{probe, scan};
use super::{Checked, KnobError, Question, unconfirmed_settings};

pub(super) fn check(question: &Question<'_>) -> Result<Checked, Vec<KnobError>> {
    let mut errors = Vec::new();
    for (variable, value) in question.env {
        match variable.as_str() {
            "GOGC" => errors.extend(check_percentage(value)),
            "GOMEMLIMIT" => errors.extend(check_limit(value)),
            _ => errors.extend(check_debug(value, question)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let trace = trace_collections(question, question.env).unwrap_or_default();
    if let Some(error) = refused_by_go(question, &trace) {
        return Err(vec![error]);
    }
    let mut checked = unconfirmed_settings(question.env);
    for knob in &mut checked.knobs {
        knob.seen = Some("its syntax".to_owned());
        let is_in_trace = match knob.variable.as_str() {
            "GOGC" => shows_percentage(&knob.requested, &trace, question),
            "GOMEMLIMIT" => shows_limit(&knob.requested, &trace, question),
            _ => false,
        };
        if is_in_trace {
            knob.effective = Some(knob.requested.clone());
            knob.seen = Some("the collections that it traced when it was started".to_owned());
            knob.taken = Some(true);
        }
    }
    Ok(checked)
}

/// Starts the program for its version with these settings and a traced collector. Returns its stderr.
fn trace_collections(question: &Question<'_>, env: &BTreeMap<String, String>) -> Option<String> {
    let mut traced = env.clone();
    let debug = traced.entry("GODEBUG".to_owned()).or_default();
    if !debug.is_empty() {
        debug.push(',');
    }
    debug.push_str("gctrace=1");
    let heard = probe::ask(question.subject, &probe::pairs(&traced), question.cancel).ok()?;
    Some(heard.said.stderr)
}

/// True if only this percentage explains the traced collections. A negative answer proves nothing: a large allocation
/// raises a goal, and a program that prints its version may need no collection.
fn shows_percentage(percentage: &str, trace: &str, question: &Question<'_>) -> bool {
    // Another program may print the version.
    if question.subject.teller != question.subject.program {
        return false;
    }
    if let Ok(percentage) = percentage.parse::<i32>()
        && percentage >= 0
    {
        return is_goal_of(percentage.unsigned_abs(), first_goal(trace));
    }
    // Switched off: by default there are collections, and now there are none.
    if first_goal(trace).is_some() {
        return false;
    }
    let mut default_env = question.env.clone();
    default_env.remove("GOGC");
    trace_collections(question, &default_env).is_some_and(|trace| first_goal(&trace).is_some())
}

/// True if only this limit explains the traced collections: it is below any heap, so that the first goal is 0.
fn shows_limit(limit: &str, trace: &str, question: &Question<'_>) -> bool {
    const NOTHING: u64 = 1 << 20;
    let is_tiny = limit.parse::<u64>().is_ok_and(|bytes| bytes < NOTHING);
    let is_own = question.subject.teller == question.subject.program && !question.env.contains_key("GOGC");
    is_tiny && is_own && first_goal(trace) == Some(0)
}

/// The goal of the first collection, in MiB: of `gc 1 @0.009s …, 3->4->1 MB, 4 MB goal, …` 4.
fn first_goal(trace: &str) -> Option<u64> {
    let line = trace.lines().find(|line| line.starts_with("gc 1 @"))?;
    line.split_once(" MB goal")?.0.rsplit(' ').next()?.parse().ok()
}

/// True if the first goal is that of a percentage and not the default one: the heap may first grow to 4 MiB, times the
/// percentage over 100.
fn is_goal_of(percentage: u32, goal: Option<u64>) -> bool {
    const USUAL: u64 = 4;
    let expected = USUAL * u64::from(percentage) / 100;
    expected != USUAL && goal == Some(expected)
}

fn wrong_value(variable: &str, value: &str, why: &str, cure: &str) -> KnobError {
    KnobError::Value {
        written: format!("{variable}={value}"),
        why: why.to_owned(),
        cure: cure.to_owned(),
    }
}

fn check_percentage(value: &str) -> Option<KnobError> {
    if value == "off" || value.parse::<i32>().is_ok() {
        return None;
    }
    Some(wrong_value(
        "GOGC",
        value,
        "Go would use 100 instead",
        "write a percentage without a sign, or off",
    ))
}

fn check_limit(value: &str) -> Option<KnobError> {
    let number = ["KiB", "MiB", "GiB", "TiB", "B"]
        .iter()
        .find_map(|unit| value.strip_suffix(unit))
        .unwrap_or(value);
    if value == "off" || (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())) {
        return None;
    }
    Some(wrong_value(
        "GOMEMLIMIT",
        value,
        "it is not a size",
        "write bytes or such as 512MiB, or off",
    ))
}

/// Settings of the runtime in `GODEBUG` (runtime/runtime1.go of Go 1.26): the program holds them without separators, so
/// that a part of one would be found in it too.
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

/// The setting that is meant by a part of its name, or by one slip of the pen in it; `None` for a correct name.
fn intended_setting(name: &str) -> Option<&'static str> {
    let mut settings = RUNTIME.into_iter();
    if RUNTIME.contains(&name) {
        return None;
    }
    settings.find(|known| known.contains(name) || strsim::damerau_levenshtein(name, known) == 1)
}

fn check_debug(value: &str, question: &Question<'_>) -> Vec<KnobError> {
    let pairs = value.split(',').filter(|pair| !pair.is_empty());
    pairs
        .filter_map(|pair| check_debug_pair(pair, value, question))
        .collect()
}

/// Checks `NAME=VALUE`, one part of `all`, the value of `GODEBUG`.
fn check_debug_pair(pair: &str, all: &str, question: &Question<'_>) -> Option<KnobError> {
    let Some((name, setting)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let why = format!("`{pair}` sets nothing");
        return Some(wrong_value("GODEBUG", all, &why, "write NAME=VALUE,NAME=VALUE"));
    };
    if let Some(meant) = intended_setting(name) {
        return Some(unknown_setting(name, format!("did you mean `{meant}`?"), question));
    }
    // The runtime ignores a value that is no number.
    if RUNTIME.contains(&name) && setting.parse::<i32>().is_err() {
        let why = format!("`{setting}` of `{name}` is no whole number");
        return Some(wrong_value("GODEBUG", all, &why, "write such as 0 or 1"));
    }
    // A program that cannot be read cannot be searched.
    if scan::contains(&question.inspected.file, name).unwrap_or(true) {
        return None;
    }
    let cure = "see GODEBUG in the documentation of Go's `runtime`";
    Some(unknown_setting(name, cure.to_owned(), question))
}

fn unknown_setting(name: &str, cure: String, question: &Question<'_>) -> KnobError {
    KnobError::Option {
        variable: "GODEBUG".to_owned(),
        option: name.to_owned(),
        uses: question.inspected.facts.to_string(),
        cure,
    }
}

/// The mistake that Go itself reports when it starts.
fn refused_by_go(question: &Question<'_>, output: &str) -> Option<KnobError> {
    let line = output.lines().find(|line| line.contains("malformed GO"))?;
    let (variable, value) = question.env.iter().find(|(name, _)| line.contains(name.as_str()))?;
    let why = format!("Go says `{line}`");
    Some(wrong_value(variable, value, &why, "write a value that it takes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Cancel;

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
            assert_eq!(intended_setting(name), known, "{name}");
        }
    }

    #[test]
    fn what_the_runtime_cannot_read_as_a_number_is_refused() {
        let (env, subject, inspected) = Default::default();
        let question = Question {
            env: &env,
            subject: &subject,
            inspected: &inspected,
            cancel: &Cancel::default(),
        };
        for value in ["gctrace=1", "gctrace=-1,madvdontneed=0"] {
            assert_eq!(check_debug(value, &question), [], "{value}");
        }
        for value in ["gctrace=yes", "madvdontneed=1,gctrace=", "gctrace=99999999999"] {
            assert_eq!(check_debug(value, &question).len(), 1, "{value}");
        }
    }

    #[test]
    fn go_takes_percentages_and_sizes() {
        for value in ["100", "off", "-1", "50"] {
            assert_eq!(check_percentage(value), None, "{value}");
        }
        for value in ["", "100%", "on", "1.5"] {
            assert!(check_percentage(value).is_some(), "{value}");
        }
        for value in ["off", "1048576", "512MiB", "2GiB", "7B"] {
            assert_eq!(check_limit(value), None, "{value}");
        }
        for value in ["", "512MB", "MiB", "-1", "1.5GiB", "512 MiB"] {
            assert!(check_limit(value).is_some(), "{value}");
        }
    }

    #[test]
    fn a_limit_is_seen_only_where_it_alone_is_below_any_heap() {
        for (limit, percentage, goal, shown) in [
            ("1", None, 0, true),
            ("1", None, 4, false),
            ("1GiB", None, 0, false),
            ("2097152", None, 0, false),
            ("1", Some("5"), 0, false),
        ] {
            let mut env = BTreeMap::new();
            if let Some(percentage) = percentage {
                env.insert("GOGC".to_owned(), String::from(percentage));
            }
            let (subject, inspected) = Default::default();
            let question = Question {
                env: &env,
                subject: &subject,
                inspected: &inspected,
                cancel: &Cancel::default(),
            };
            let trace = format!("gc 1 @0.000s 15%: 0->0->0 MB, {goal} MB goal, 2 P\n");
            assert_eq!(shows_limit(limit, &trace, &question), shown, "{limit} {goal}");
        }
    }

    #[test]
    fn a_percentage_is_seen_in_the_first_goal_of_the_collector() {
        for (percentage, goal, shown) in [
            (50, 2, true),
            (25, 1, true),
            (200, 8, true),
            (1, 0, true),
            (50, 4, false),
        ] {
            let read = first_goal(&trace_with_goal(goal));
            assert_eq!(is_goal_of(percentage, read), shown, "{percentage} {goal}");
        }
        let default_goal = first_goal(&trace_with_goal(4));
        assert!(!is_goal_of(100, default_goal), "100 % is the default");
        let raised_goal = first_goal(&trace_with_goal(102));
        assert!(!is_goal_of(200, raised_goal), "a large allocation raised the goal");
        assert_eq!(first_goal("go version go1.26\n"), None);
    }

    fn trace_with_goal(goal: u64) -> String {
        format!(
            "gopls\ngc 1 @0.001s 9%: 0.36+2.2+0.007 ms clock, 1.4+0/1.5/0.38 ms cpu, 1->2->1 MB, {goal} MB goal, 0 MB \
             stacks, 0 MB globals, 4 P\ngc 2 @0.007s 26%: 2->2->1 MB, 9 MB goal\n"
        )
    }
}
