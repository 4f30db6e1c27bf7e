//! The commands by which records were made, to be typed again.

use std::collections::BTreeMap;

use record::Header;

use base::text::quoted;

/// Variables that are everywhere and that a person has of their own.
const EVERYWHERE: [&str; 3] = ["HOME", "LANG", "PATH"];

/// Each command once, in the order of its first record, with the directory that it was called in and what the servers
/// had from its surroundings. Empty where the records do not say any.
pub(crate) fn commands(headers: &[&Header]) -> Vec<String> {
    // Servers of one command may have different variables set, and so inherit different ones: it had all of them.
    let mut calls: Vec<(String, Option<&str>, BTreeMap<&str, &str>)> = Vec::new();
    for header in headers {
        let settings = &header.settings;
        let (line, directory) = (command(&settings.command_line), settings.directory.as_deref());
        if line.is_empty() {
            continue;
        }
        let had = header.server.inherited.iter();
        let had = had.filter(|(name, _)| !EVERYWHERE.contains(&name.as_str()));
        let had = had.map(|(name, value)| (name.as_str(), value.as_str()));
        match calls
            .iter_mut()
            .find(|(seen, place, _)| (seen, *place) == (&line, directory))
        {
            Some((.., seen)) => had.for_each(|(name, value)| {
                seen.entry(name).or_insert(value);
            }),
            None => calls.push((line, directory, had.collect())),
        }
    }
    let whole = |(line, directory, had): &(String, Option<&str>, BTreeMap<&str, &str>)| {
        let directory = directory.map_or_else(String::new, |directory| format!("cd {} && ", quoted(directory)));
        let had: String = had
            .iter()
            .map(|(name, value)| format!("{name}={} ", quoted(value)))
            .collect();
        format!("{directory}{had}{line}")
    };
    calls.iter().map(whole).collect()
}

/// On which processors the runs were played, where these were not all and no command says it.
pub(crate) fn notes(headers: &[&Header]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for header in headers {
        let (host, words) = (&header.host, &header.settings.command_line);
        let all = host.cpus.map(|cpus| match cpus {
            1 => "0".to_owned(),
            cpus => format!("0-{}", cpus.saturating_sub(1)),
        });
        let some = host
            .affinity
            .as_ref()
            .filter(|_| !words.iter().any(|word| word.starts_with("--cpus")));
        let Some(some) = some.filter(|some| all.as_ref().is_some_and(|all| all != *some)) else {
            continue;
        };
        let note = format!("on processors {some} (taskset or --cpus)");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// A command line as a shell reads it.
fn command(words: &[String]) -> String {
    let words = words.iter().enumerate().map(|(place, word)| {
        let word = match place {
            // Where the program lies on the machine that made the records says nothing.
            0 => word.rsplit(['/', '\\']).next().unwrap_or(word),
            _ => word,
        };
        quoted(word)
    });
    words.collect::<Vec<String>>().join(" ")
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
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut one = Header::default();
        one.settings.command_line = words(&["lsp-soak", "run", "a.toml"]);
        one.settings.directory = Some("/my project".to_owned());
        for (name, value) in [("HOME", "/home/me"), ("PATH", "/bin"), ("VIRTUAL_ENV", "/venv")] {
            one.server.inherited.insert(name.to_owned(), value.to_owned());
        }
        (one.host.cpus, one.host.affinity) = (Some(4), Some("0-1".to_owned()));
        let mut other = one.clone();
        other.server.inherited.clear();
        let both = [&one, &other];
        assert_eq!(
            commands(&both),
            ["cd '/my project' && VIRTUAL_ENV=/venv lsp-soak run a.toml"]
        );
        assert_eq!(notes(&both), ["on processors 0-1 (taskset or --cpus)"]);
        other.settings.command_line = words(&["lsp-soak", "run", "a.toml", "--cpus=0-1"]);
        assert_eq!(notes(&[&other]), [] as [String; 0]);
        one.host.affinity = Some("0-3".to_owned());
        assert_eq!(notes(&[&one]), [] as [String; 0]);
    }
}
