//! The commands that made the records.

use std::collections::BTreeMap;

use record::Header;

use base::text::quoted;

/// Variables that every shell has.
const EVERYWHERE: [&str; 3] = ["HOME", "LANG", "PATH"];

/// Each command once, in the order of its first record, with the directory that it was called in and the variables that the
/// servers inherited. Empty if the records have no command.
pub(crate) fn commands(headers: &[&Header]) -> Vec<String> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    for header in headers {
        let line = command(&header.settings.command_line);
        if line.is_empty() {
            continue;
        }
        let directory = header.settings.directory.as_deref();
        let known = calls
            .iter_mut()
            .find(|call| call.line == line && call.directory == directory);
        match known {
            Some(call) => call.add_variables(header),
            None => {
                let variables = BTreeMap::new();
                let mut call = Call {
                    line,
                    directory,
                    variables,
                };
                call.add_variables(header);
                calls.push(call);
            }
        }
    }
    calls.iter().map(Call::shell_line).collect()
}

/// A command that made records.
struct Call<'h> {
    line: String,
    directory: Option<&'h str>,
    variables: BTreeMap<&'h str, &'h str>,
}

impl<'h> Call<'h> {
    /// Servers of one command may have different variables set, and so inherit different ones: the command had all of
    /// them.
    fn add_variables(&mut self, header: &'h Header) {
        for (name, value) in &header.server.inherited {
            if !EVERYWHERE.contains(&name.as_str()) {
                self.variables.entry(name).or_insert(value);
            }
        }
    }

    fn shell_line(&self) -> String {
        let mut text = String::new();
        if let Some(directory) = self.directory {
            text.push_str(&format!("cd {} && ", quoted(directory)));
        }
        for (name, value) in &self.variables {
            text.push_str(&format!("{name}={} ", quoted(value)));
        }
        text + &self.line
    }
}

/// The processors on which the runs were played, if these were not all and no command says it.
pub(crate) fn notes(headers: &[&Header]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for header in headers {
        let (Some(used), Some(cpus)) = (&header.host.affinity, header.host.cpus) else {
            continue;
        };
        let all = match cpus {
            1 => "0".to_owned(),
            cpus => format!("0-{}", cpus.saturating_sub(1)),
        };
        let words = &header.settings.command_line;
        if *used == all || words.iter().any(|word| word.starts_with("--cpus")) {
            continue;
        }
        let note = format!("on processors {used} (taskset or --cpus)");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// A command line as a shell reads it.
fn command(words: &[String]) -> String {
    let mut quoted_words = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let word = match place {
            // Where the program lies on the machine that made the records says nothing.
            0 => word.rsplit(['/', '\\']).next().unwrap_or(word),
            _ => word,
        };
        quoted_words.push(quoted(word));
    }
    quoted_words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_that_a_shell_takes() {
        let words = ["/usr/bin/lsp-soak", "run", "a b.toml", "--server", "it's: X=1 ty"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        assert_eq!(command(&words), r"lsp-soak run 'a b.toml' --server 'it'\''s: X=1 ty'");
    }

    #[test]
    fn a_command_says_where_it_was_called_with_what_and_on_which_processors() {
        let mut header = Header::default();
        header.settings.command_line = ["lsp-soak", "run", "a.toml"].map(str::to_owned).to_vec();
        header.settings.directory = Some("/my project".to_owned());
        for (name, value) in [("HOME", "/home/me"), ("PATH", "/bin"), ("VIRTUAL_ENV", "/venv")] {
            header.server.inherited.insert(name.to_owned(), value.to_owned());
        }
        (header.host.cpus, header.host.affinity) = (Some(4), Some("0-1".to_owned()));
        let mut other = header.clone();
        other.server.inherited.clear();
        let both = [&header, &other];
        assert_eq!(
            commands(&both),
            ["cd '/my project' && VIRTUAL_ENV=/venv lsp-soak run a.toml"]
        );
        assert_eq!(notes(&both), ["on processors 0-1 (taskset or --cpus)"]);
        other.settings.command_line = ["lsp-soak", "run", "a.toml", "--cpus=0-1"].map(str::to_owned).to_vec();
        assert_eq!(notes(&[&other]), [] as [String; 0]);
        header.host.affinity = Some("0-3".to_owned());
        assert_eq!(notes(&[&header]), [] as [String; 0]);
    }
}
