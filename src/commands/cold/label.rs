//! What commands are called: as they were typed, where they were given no name.

use crate::config::{as_file_name, is_file_name};
use base::text::{clean, width};
use record::Preload;

/// Columns of the longest label. A longer one loses its middle, since commands often differ at the end.
const LONGEST: usize = 60;

/// The value of a parameter in a command.
#[derive(Clone, Debug)]
pub struct Value {
    pub parameter: String,
    pub text: String,
    /// True if the command contains it, not only a script before or after the command.
    pub in_command: bool,
}

/// The text that a value of a parameter replaces.
pub(super) fn hole(name: &str) -> String {
    format!("{{{name}}}")
}

/// The name that was given to a command, else its text, with the values of parameters that neither contains.
pub fn label(text: &str, name: Option<&str>, values: &[Value]) -> String {
    let mut label = name.unwrap_or(text).to_owned();
    let mut others = Vec::new();
    for value in values {
        let hole = hole(&value.parameter);
        let is_in_label = match name {
            Some(name) => name.contains(&hole),
            None => value.in_command,
        };
        if is_in_label {
            label = label.replace(&hole, &value.text);
        } else {
            others.push(format!("{}={}", value.parameter, value.text));
        }
    }
    let words: Vec<&str> = label.split_whitespace().collect();
    let label = shortened(&clean(&words.join(" ")));
    if others.is_empty() {
        label
    } else {
        format!("{label} ({})", others.join(", "))
    }
}

fn shortened(label: &str) -> String {
    if width(label) <= LONGEST {
        return label.to_owned();
    }
    let all: Vec<char> = label.chars().collect();
    let (start, end) = (LONGEST / 2, LONGEST / 2 - 1);
    let start: String = all[..start.min(all.len())].iter().collect();
    let end: String = all[all.len().saturating_sub(end)..].iter().collect();
    format!("{start}…{end}")
}

/// The label of a command under an allocator.
pub fn preloaded(label: &str, preload: &Preload) -> String {
    let suffix = preload.suffix();
    match suffix.strip_prefix('-') {
        Some(allocator) if !is_file_name(label) => format!("{label} ({allocator})"),
        _ => format!("{label}{suffix}"),
    }
}

/// Numbers labels whose records would have one file name.
pub fn number(labels: &mut [&mut String]) {
    for place in 1..labels.len() {
        let (before, rest) = labels.split_at_mut(place);
        let label = rest[0].clone();
        let mut numbers = 2_u32..;
        while is_taken(rest[0], before) {
            *rest[0] = format!("{label}-{}", numbers.next().unwrap_or_default());
        }
    }
}

fn is_taken(label: &str, others: &[&mut String]) -> bool {
    let file = as_file_name(label);
    others
        .iter()
        .any(|other| as_file_name(other).eq_ignore_ascii_case(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(parameter: &str, in_command: bool) -> Value {
        Value {
            parameter: parameter.to_owned(),
            text: "1".to_owned(),
            in_command,
        }
    }

    #[test]
    fn a_command_is_called_as_it_was_typed() {
        assert_eq!(label("sleep 0.2", None, &[]), "sleep 0.2");
        assert_eq!(label("A='x y'\n  make", None, &[]), "A='x y' make");
        let jemalloc: Preload = "jemalloc".parse().unwrap();
        assert_eq!(preloaded("sleep 0.2", &jemalloc), "sleep 0.2 (jemalloc)");
        assert_eq!(preloaded("sleep", &jemalloc), "sleep-jemalloc");
        assert_eq!(preloaded("sleep 0.2", &Preload::System), "sleep 0.2");
        let long = label(&format!("python3 -c '{}' --last", "x".repeat(90)), None, &[]);
        assert_eq!(width(&long), LONGEST);
        assert!(
            long.starts_with("python3 -c 'xx") && long.ends_with("xx' --last"),
            "{long}"
        );
    }

    #[test]
    fn a_label_has_each_value_once() {
        let values = [value("n", true), value("m", false)];
        assert_eq!(label("make -j 1", None, &values), "make -j 1 (m=1)");
        assert_eq!(label("make -j 1", Some("jobs {n}"), &values), "jobs 1 (m=1)");
        assert_eq!(label("make -j 1", Some("jobs"), &values), "jobs (n=1, m=1)");
    }

    #[test]
    fn labels_of_one_file_name_are_numbered() {
        let mut labels = ["ty", "Ty", "sleep 1", "sleep-1", "ty", "é"].map(str::to_owned);
        number(&mut labels.iter_mut().collect::<Vec<_>>());
        assert_eq!(labels, ["ty", "Ty-2", "sleep 1", "sleep-1-2", "ty-3", "é"]);
        let mut long = [format!("{} a", "x".repeat(99)), format!("{} b", "x".repeat(99))];
        long = long.map(|text| label(&text, None, &[]));
        number(&mut long.iter_mut().collect::<Vec<_>>());
        assert_ne!(as_file_name(&long[0]), as_file_name(&long[1]));
    }
}
