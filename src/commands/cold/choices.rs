//! From the text of a command to programs, one with every combination of the values of its parameters.

use std::collections::BTreeMap;
use std::path::Path;

use crate::commands::prepare::variable;
use crate::config::{Catalogue, MistakeReport, Profile};
use crate::resolve::{CommandPlan, Program, ServerChoice, which};

use super::label::{Value, hole, label};

/// A command as it was typed, with its name and the scripts around it.
#[derive(Clone, Copy)]
pub struct Command<'c> {
    pub text: &'c str,
    pub name: Option<&'c str>,
    pub prepare: Option<&'c str>,
    pub conclude: Option<&'c str>,
}

impl Command<'_> {
    /// True if a script around the command names a parameter by its hole.
    pub fn scripts_contain(&self, hole: &str) -> bool {
        [self.prepare, self.conclude]
            .into_iter()
            .flatten()
            .any(|script| script.contains(hole))
    }
}

/// What all commands have in common.
pub struct Common<'c> {
    /// The shell that each command is run through.
    pub shell: Option<&'c str>,
    /// Variables as `NAME=VALUE`.
    pub env: &'c [String],
    /// `VAR`, then its values between commas.
    pub parameters: &'c [String],
    /// The plan of each command, but for its text and the scripts around it.
    pub plan: CommandPlan,
}

/// A command with values in place of its parameters.
struct Filled {
    text: String,
    values: Vec<Value>,
}

/// The programs of a command; without those that have a mistake.
pub fn choices(
    command: Command<'_>,
    common: &Common<'_>,
    known: &Catalogue,
    mistakes: &mut MistakeReport,
) -> Vec<ServerChoice> {
    let mut choices = Vec::new();
    for filled in filled(command, common.parameters) {
        choices.extend(choice(&filled, command, common, known, mistakes));
    }
    choices
}

/// The command with every combination of the values that it or a script around it names.
fn filled(command: Command<'_>, parameters: &[String]) -> Vec<Filled> {
    let mut all = vec![Filled {
        text: command.text.to_owned(),
        values: Vec::new(),
    }];
    for parameter in parameters.chunks_exact(2) {
        let (name, hole) = (&parameter[0], hole(&parameter[0]));
        let in_command = command.text.contains(&hole);
        if !in_command && !command.scripts_contain(&hole) {
            continue;
        }
        let texts = values(&parameter[1]);
        let mut combinations = Vec::new();
        for filled in &all {
            for value in &texts {
                let filling = Value {
                    parameter: name.clone(),
                    text: value.clone(),
                    in_command,
                };
                combinations.push(Filled {
                    text: filled.text.replace(&hole, value),
                    values: [filled.values.as_slice(), &[filling]].concat(),
                });
            }
        }
        all = combinations;
    }
    all
}

/// The values between commas. `\,` is a comma in a value.
fn values(list: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut rest = list.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, values.last_mut()) {
            (',', _) => values.push(String::new()),
            ('\\', Some(value)) => value.push(rest.next_if_eq(&',').unwrap_or(c)),
            (_, Some(value)) => value.push(c),
            (_, None) => {}
        }
    }
    values
}

/// A sign of shells, such as `|`, that stands alone and without quotes among the words of a command.
fn shell_sign<'w>(text: &str, words: &'w [String]) -> Option<&'w String> {
    const SIGNS: [&str; 10] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];
    words.iter().find(|word| {
        let is_bare = text.split_whitespace().any(|part| part == word.as_str());
        SIGNS.contains(&word.as_str()) && is_bare
    })
}

fn choice(
    filled: &Filled,
    command: Command<'_>,
    common: &Common<'_>,
    known: &Catalogue,
    mistakes: &mut MistakeReport,
) -> Option<ServerChoice> {
    let shell = match common.shell {
        Some("none") | None => None,
        Some("default") => Some("sh"),
        named => named,
    };
    let split = match shell {
        Some(shell) => {
            shell_words::split(shell).map(|shell| [shell, vec!["-c".to_owned(), filled.text.clone()]].concat())
        }
        None => shell_words::split(&filled.text),
    };
    let words = match split {
        Ok(words) => words,
        Err(error) => {
            mistakes.add_loose(format!("`{}`: {error}", filled.text), "close the quote");
            return None;
        }
    };
    if let Some(sign) = shell_sign(&filled.text, &words) {
        let title = format!(
            "`{}` is run without a shell, and `{sign}` would be an argument",
            filled.text
        );
        mistakes.add_loose(title, "write it as `sh -c '…'`, or quote it if the command takes it");
        return None;
    }
    // Without a shell, variables may still precede the program.
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    let (variables, words) = words.split_at(variables);
    let Some((program, args)) = words.split_first() else {
        mistakes.add_loose(
            format!("`{}` names no program", filled.text),
            "write a program and its arguments",
        );
        return None;
    };
    let Some(found) = which(None).command(program) else {
        let cure = "name one that `PATH` has or its path, and use --shell for what a shell knows";
        mistakes.add_loose(format!("there is no program `{program}`"), cure);
        return None;
    };
    let profile = Profile {
        cache_env: caches(program, known),
        ..Profile::default()
    };
    let label = label(&filled.text, command.name, &filled.values);
    let mut choice = ServerChoice::plain(&label, profile, Program::File(found));
    choice.args = args.to_vec();
    for text in common.env.iter().chain(variables) {
        choice.env.extend(variable(text, mistakes));
    }
    choice.command = Some(CommandPlan {
        typed: filled.text.clone(),
        prepare: command.prepare.map(|script| filled_script(script, &filled.values)),
        conclude: command.conclude.map(|script| filled_script(script, &filled.values)),
        ..common.plan.clone()
    });
    Some(choice)
}

fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The variables that name the caches of a program, each a new directory in every run.
fn caches(program: &str, known: &Catalogue) -> BTreeMap<String, String> {
    let stem = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    let profile = known.by_program(&stem).and_then(|name| known.get(name));
    let mut caches = profile.map_or_else(BTreeMap::new, |profile| profile.cache_env.clone());
    // A server without variables of its own has a home in sessions; a command keeps the user's settings.
    if caches.contains_key("HOME") {
        caches.clear();
    }
    caches.insert("XDG_CACHE_HOME".to_owned(), "xdg".to_owned());
    caches
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// A script with values in place of the parameters.
fn filled_script(script: &str, values: &[Value]) -> String {
    let mut script = script.to_owned();
    for value in values {
        script = script.replace(&hole(&value.parameter), &value.text);
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, script: Option<&str>, parameters: &[&str]) -> Vec<String> {
        let parameters: Vec<String> = parameters.iter().map(|text| (*text).to_owned()).collect();
        let command = Command {
            text,
            name: None,
            prepare: script,
            conclude: None,
        };
        filled(command, &parameters)
            .into_iter()
            .map(|filled| filled.text)
            .collect()
    }

    #[test]
    fn a_command_is_run_with_every_combination_of_the_values_that_it_names() {
        assert_eq!(
            texts("make -j {n} {t}", None, &["n", "1,2", "t", "a,b"]),
            ["make -j 1 a", "make -j 1 b", "make -j 2 a", "make -j 2 b"]
        );
        assert_eq!(texts("make", None, &["n", "1,2"]), ["make"]);
        assert_eq!(texts("{s}", None, &["s", r"a\,b,c\d"]), ["a,b", r"c\d"]);
        assert_eq!(texts("bench", Some("make O={n}"), &["n", "0,3"]), ["bench", "bench"]);
    }

    #[test]
    fn only_what_a_shell_would_take_for_a_variable_is_one() {
        assert!(is_name("MALLOC_ARENA_MAX") && is_name("_a1"));
        assert!(!is_name("") && !is_name("1a") && !is_name("--flag") && !is_name("a.b"));
    }
}
