//! jemalloc's report on stderr: `confirm_conf:true` at its start, `stats_print:true` at its end.
//!
//! jemalloc calls its variable `MALLOC_CONF` in this report, whatever its prefix. So each variable gets a text of its own,
//! and the repeated text identifies the variable.

use std::collections::BTreeMap;

/// The variables that builds read, and the options that each gets. The text identifies the variable.
pub const QUESTIONS: [(&str, &str); 3] = [
    ("_RJEM_MALLOC_CONF", "confirm_conf:true,stats_print:true"),
    ("MALLOC_CONF", "stats_print:true,confirm_conf:true"),
    ("JE_MALLOC_CONF", "confirm_conf:true,stats_print:true,abort_conf:false"),
];

/// The option that makes jemalloc confirm its settings.
pub const CONFIRM: &str = "confirm_conf:true";

/// Output of one jemalloc in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub variable: Option<String>,
    /// `5.3.0-1-ge13ca993…`.
    pub version: Option<String>,
    /// Options that the program was built with or sets itself, joined as in a variable.
    pub baked: Option<String>,
    /// Every `opt.*` of the statistics, without `opt.`.
    pub options: BTreeMap<String, String>,
    /// Options that jemalloc accepted, with their values. The last of two equal options wins.
    pub set: Vec<(String, String)>,
    /// Warnings, without `<jemalloc>: `.
    pub complaints: Vec<String>,
}

/// Reads every jemalloc's output, in the order of the first line of each. Statistics belong to the last output that
/// confirmed its settings and has none yet: of two in one process, the later one prints its statistics first. If there is
/// none, they are an output of their own.
pub fn read(stderr: &str) -> Vec<Output> {
    let mut all: Vec<Output> = Vec::new();
    let mut without_statistics: Vec<usize> = Vec::new();
    let mut printing = None;
    for line in stderr.lines() {
        if let Some(line) = line.strip_prefix("<jemalloc>: ") {
            if line.starts_with("malloc_conf #1 ") || all.is_empty() {
                without_statistics.push(all.len());
                all.push(Output::default());
            }
            if let Some(output) = all.last_mut() {
                output.read_confirmation(line);
            }
        } else if line.starts_with("___ Begin jemalloc statistics") {
            // Versions before 5.3 confirm nothing: these statistics are all they print.
            printing = without_statistics.pop().or(Some(all.len()));
            if printing == Some(all.len()) {
                all.push(Output::default());
            }
        } else if line.starts_with("--- End jemalloc statistics") {
            printing = None;
        } else if let Some(output) = printing.and_then(|place| all.get_mut(place)) {
            output.read_statistics(line);
        }
    }
    all
}

impl Output {
    /// Reads a line that `confirm_conf` printed, without `<jemalloc>: `.
    fn read_confirmation(&mut self, line: &str) {
        /// The number of the source that is the environment.
        const ENVIRONMENT: &str = "4";
        if let Some(source) = line.strip_prefix("malloc_conf #") {
            let (number, value) = (&source[..1], quoted(source));
            let asked = QUESTIONS.iter().find(|(_, question)| value.ends_with(question));
            let programs_options = match asked {
                Some((variable, question)) if number == ENVIRONMENT => {
                    self.variable = Some((*variable).to_owned());
                    // Some programs put their own options before those of the environment.
                    value[..value.len() - question.len()].trim_end_matches(',')
                }
                _ if number == ENVIRONMENT => "",
                _ => value,
            };
            if !programs_options.is_empty() {
                let before = self.baked.take().map(|before| format!("{before},"));
                self.baked = Some(format!("{}{programs_options}", before.unwrap_or_default()));
            }
        } else if let Some((option, value)) = line
            .strip_prefix("-- Set conf value: ")
            .and_then(|pair| pair.split_once(':'))
        {
            self.set.push((option.to_owned(), value.to_owned()));
        } else {
            self.complaints.push(line.to_owned());
        }
    }

    /// Reads a line that `stats_print` printed.
    fn read_statistics(&mut self, line: &str) {
        if let Some(version) = line.strip_prefix("Version: ") {
            self.version = Some(version.trim_matches('"').to_owned());
        } else if let Some((option, value)) = line
            .trim_start()
            .strip_prefix("opt.")
            .and_then(|pair| pair.split_once(": "))
        {
            // `10000 (arenas.dirty_decay_ms: 10000)`: the first number is the option's value.
            let value = value.split(" (").next().unwrap_or(value).trim_matches('"');
            self.options.insert(option.to_owned(), value.to_owned());
        }
    }
}

fn quoted(source: &str) -> &str {
    let value = source.rsplit_once("): \"").map_or("", |(_, value)| value);
    value.strip_suffix('"').unwrap_or(value)
}

/// The options of a variable's value, in order: `a:1,b:2`. jemalloc itself reports what is not a pair.
pub fn pairs(value: &str) -> Vec<(String, String)> {
    let pairs = value.split(',').filter_map(|pair| pair.split_once(':'));
    pairs
        .map(|(option, value)| (option.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of ruff 0.17.6, shortened.
    const RUFF: &str = "\
<jemalloc>: malloc_conf #1 (string specified via --with-malloc-conf): \"\"
<jemalloc>: malloc_conf #2 (string pointed to by the global variable malloc_conf): \"\"
<jemalloc>: malloc_conf #3 (\"name\" of the file referenced by the symbolic link named /etc/malloc.conf): \"\"
<jemalloc>: malloc_conf #4 (value of the environment variable MALLOC_CONF): \"confirm_conf:true,stats_print:true\"
<jemalloc>: -- Set conf value: confirm_conf:true
<jemalloc>: -- Set conf value: stats_print:true
<jemalloc>: malloc_conf #5 (string pointed to by the global variable malloc_conf_2_conf_harder): \"\"
ruff 0.17.6
___ Begin jemalloc statistics ___
Version: \"5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7\"
Build-time option settings
  config.cache_oblivious: true
Run-time option settings
  opt.abort: false
  opt.narenas: 16
  opt.background_thread: false (background_thread: false)
  opt.dirty_decay_ms: 10000 (arenas.dirty_decay_ms: 10000)
  opt.thp: \"default\"
  opt.stats_print_opts: \"\"
Arenas: 17
--- End jemalloc statistics ---
";

    /// Output of a tool on polars 2.1.0: options are built in, and more are put before those of the environment.
    const POLARS: &str = "\
<jemalloc>: malloc_conf #1 (string specified via --with-malloc-conf): \"background_thread:true\"
<jemalloc>: -- Set conf value: background_thread:true
<jemalloc>: malloc_conf #2 (string pointed to by the global variable malloc_conf): \"\"
<jemalloc>: malloc_conf #3 (\"name\" of the file referenced by the symbolic link named /etc/malloc.conf): \"\"
<jemalloc>: malloc_conf #4 (value of the environment variable MALLOC_CONF): \"dirty_decay_ms:500,muzzy_decay_ms:1000,\
confirm_conf:true,stats_print:true\"
<jemalloc>: -- Set conf value: dirty_decay_ms:500
<jemalloc>: malloc_conf #5 (string pointed to by the global variable malloc_conf_2_conf_harder): \"\"
";

    #[test]
    fn a_build_with_a_prefix_is_known_by_the_value_that_it_repeats() {
        let statements = &read(RUFF)[0];
        assert_eq!(statements.variable.as_deref(), Some("_RJEM_MALLOC_CONF"));
        assert_eq!(
            statements.version.as_deref(),
            Some("5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7")
        );
        assert_eq!(statements.baked, None);
        assert_eq!(statements.options["dirty_decay_ms"], "10000");
        assert_eq!(statements.options["background_thread"], "false");
        assert_eq!(statements.options["thp"], "default");
        assert_eq!(statements.options["stats_print_opts"], "");
        assert_eq!(statements.options.len(), 6);
    }

    #[test]
    fn options_that_are_built_in_or_put_before_are_baked() {
        let statements = &read(POLARS)[0];
        assert_eq!(statements.variable.as_deref(), Some("_RJEM_MALLOC_CONF"));
        let baked = "background_thread:true,dirty_decay_ms:500,muzzy_decay_ms:1000";
        assert_eq!(statements.baked.as_deref(), Some(baked));
        assert_eq!(statements.set[1], ("dirty_decay_ms".to_owned(), "500".to_owned()));
    }

    #[test]
    fn two_jemallocs_in_one_process_are_told_apart() {
        let plain = RUFF.replace(
            "confirm_conf:true,stats_print:true",
            "stats_print:true,confirm_conf:true",
        );
        let (start, end) = plain.split_once("ruff 0.17.6\n").unwrap();
        let own = end.replace("5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7", "5.3.1-0-g1");
        let nested = format!("{start}{POLARS}{own}{end}");
        for (text, versions) in [
            (
                nested,
                ["5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7", "5.3.1-0-g1"],
            ),
            (
                format!("{plain}{POLARS}{own}"),
                ["5.3.0-1-ge13ca993e8ccb9ba9847cc330696e02839f328f7", "5.3.1-0-g1"],
            ),
        ] {
            let statements = read(&text);
            let variables: Vec<Option<&str>> = statements
                .iter()
                .map(|statements| statements.variable.as_deref())
                .collect();
            assert_eq!(variables, [Some("MALLOC_CONF"), Some("_RJEM_MALLOC_CONF")]);
            let parsed: Vec<Option<&str>> = statements
                .iter()
                .map(|statements| statements.version.as_deref())
                .collect();
            assert_eq!(parsed, versions.map(Some));
        }
    }

    #[test]
    fn one_that_confirms_nothing_is_known_by_its_statistics() {
        let statements = read("___ Begin jemalloc statistics ___\nVersion: \"4.5.0-0-g0\"\n  opt.narenas: 4\n");
        assert_eq!(
            (statements.len(), statements[0].version.as_deref()),
            (1, Some("4.5.0-0-g0"))
        );
        assert_eq!(statements[0].variable, None);
        assert_eq!(read("nothing of the kind\n"), []);
    }

    #[test]
    fn complaints_are_kept_as_they_are() {
        let statements =
            read("<jemalloc>: Invalid conf pair: foo:1\n<jemalloc>: Out-of-range conf value: dirty_decay_ms:-5\n");
        assert_eq!(
            statements[0].complaints,
            ["Invalid conf pair: foo:1", "Out-of-range conf value: dirty_decay_ms:-5"]
        );
    }
}
