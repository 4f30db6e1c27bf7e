//! Reads mimalloc's stderr under `MIMALLOC_VERBOSE=1`: its version, and every option with its value.

use std::collections::BTreeMap;

pub const QUESTION: (&str, &str) = ("MIMALLOC_VERBOSE", "1");

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// `3.3.2`; version 2.0 does not print it.
    pub version: Option<String>,
    /// Every option with its value, those it calls deprecated with that word before them. Sizes have ` KiB` after them.
    pub options: BTreeMap<String, String>,
    pub warnings: Vec<String>,
}

/// The output of a mimalloc in a program's stderr; `None` if there is none.
pub fn read(stderr: &str) -> Option<Output> {
    let mut output = Output::default();
    for line in stderr.lines() {
        // Version 3 leaves its name out on all lines but the first.
        let line = line.strip_prefix("mimalloc: ").unwrap_or(line);
        if let Some((option, value)) = option(line) {
            output.options.insert(option.to_owned(), value.to_owned());
        } else if let Some(warning) = line.strip_prefix("warning: ") {
            output.warnings.push(warning.to_owned());
        } else if output.version.is_none()
            && let Some(version) = version(line)
        {
            output.version = Some(version.to_owned());
        }
    }
    if output.options.is_empty() {
        return None;
    }
    Some(output)
}

/// `option 'purge_delay': 1000 `.
fn option(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("option '")?.split_once("':")?;
    Some((name, value.trim()))
}

/// `v3.3.2 (built on …)`, `v2.5.1, release`.
fn version(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('v')?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let version = &rest[..end];
    let is_number = version.contains('.') && version.split('.').all(|part| !part.is_empty());
    if is_number { Some(version) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_3_says_its_name_once() {
        let statement = read(
            "mimalloc: process init: 0x7F032A057880\nv3.3.2 (built on Nov 21 2026, 16:28:04)\noption 'verbose': 1 \n\
             option 'deprecated_eager_commit': 1 \noption 'reserve_os_memory': 0 KiB\noption 'purge_delay': 1000 \n\
             fixture-mimalloc 0.1.0 (mimalloc)\nsubproc 0\n",
        )
        .unwrap();
        assert_eq!(statement.version.as_deref(), Some("3.3.2"));
        assert_eq!(statement.options["purge_delay"], "1000");
        assert_eq!(statement.options["reserve_os_memory"], "0 KiB");
        assert_eq!(statement.options.len(), 4);
    }

    #[test]
    fn version_2_says_it_on_every_line() {
        let statement = read(
            "mimalloc: process init: 0x7FCB6406DC80\nmimalloc: v2.5.1, release\nmimalloc: option 'show_errors': 0 \n",
        );
        assert_eq!(statement.unwrap().version.as_deref(), Some("2.5.1"));
    }

    #[test]
    fn version_2_0_does_not_say_which_it_is_and_warns_of_values() {
        let statement = read(
            "mimalloc: warning: environment option mimalloc_large_os_pages has an invalid value.\n\
             mimalloc: option 'decommit_delay': 25\nmimalloc: secure level: 0\n",
        )
        .unwrap();
        assert_eq!((statement.version, statement.options.len()), (None, 1));
        assert_eq!(
            statement.warnings,
            ["environment option mimalloc_large_os_pages has an invalid value."]
        );
    }

    #[test]
    fn other_programs_print_none_of_this() {
        assert_eq!(read("v20.20.2\nverbose\nv1.\noption\n"), None);
    }
}
