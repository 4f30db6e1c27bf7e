//! The commands by which records were made, to be typed again.

use crate::record::Header;

use super::text::quoted;

/// Each command once, in the order of its first record. Empty where the records do not say any.
pub(super) fn commands(headers: &[&Header]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for header in headers {
        let command = command(&header.settings.command_line);
        if !command.is_empty() && !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
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
}
