//! From typed commands to programs, each under every allocator and with every value of its parameters.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use crate::campaign::single::PAGE_CACHE;
use crate::cli;
use crate::commands::prepare::{self, variable};
use crate::config::{Catalogue, Profile, Report, as_file_name};
use crate::resolve::{CommandPlan, Program, ServerChoice, distinct, preload, which};
use base::units;
use proctree::child::Stream;
use record::Preload;

use super::label::{Value, hole, label, number, preloaded};

/// A command with values in place of its parameters.
struct Typed {
    text: String,
    /// Its place among the commands, from 0; the reference has none.
    place: Option<usize>,
    values: Vec<Value>,
}

/// What is compared with each other: all commands, or one under several allocators.
pub struct Case {
    /// The command, if there are others.
    pub name: Option<String>,
    /// In the order in which they are listed, the reference first.
    pub choices: Vec<ServerChoice>,
}

/// All commands are one case; under several allocators each is a case of its own. Mistakes are added.
pub fn cases(options: &cli::Cold, mistakes: &mut Report) -> Vec<Case> {
    let (preloads, twice) = distinct(&options.preload);
    for wrong in twice {
        mistakes.add_loose(wrong.to_string(), "");
    }
    counted(options, mistakes);
    if options.reference.is_some() && preloads.len() > 1 {
        let title = "`--reference` compares commands, and several allocators are compared with each other";
        mistakes.add_loose(title, "leave `--reference` out, or name one allocator");
    }
    parameters(options, mistakes);
    resources(options, mistakes);
    let known = Catalogue::built_in();
    let mut choices: Vec<ServerChoice> = Vec::new();
    for (text, place, around) in commands(options) {
        let filled = filled(text, place, &around, &options.parameters);
        choices.extend(
            filled
                .iter()
                .filter_map(|typed| choice(typed, options, &known, mistakes)),
        );
    }
    number(&mut choices.iter_mut().map(|choice| &mut choice.label).collect::<Vec<_>>());
    let cases: Vec<Case> = match (choices.as_slice(), preloads.as_slice()) {
        ([_, _, ..], [_, _, ..]) => {
            let alone = |choice: &ServerChoice| Case {
                name: Some(as_file_name(&choice.label)),
                choices: under(choice, &preloads, Preload::label, mistakes),
            };
            choices.iter().map(alone).collect()
        }
        (_, []) => vec![Case { name: None, choices }],
        (_, _) => {
            let suffixed = |choice: &ServerChoice| {
                let with = |preload: &Preload| preloaded(&choice.label, preload);
                under(choice, &preloads, with, mistakes)
            };
            let choices = choices.iter().flat_map(suffixed).collect();
            vec![Case { name: None, choices }]
        }
    };
    let cases: Vec<Case> = cases.into_iter().map(|case| through(options, case, mistakes)).collect();
    for mistake in cases.iter().flat_map(|case| crate::resolve::mistakes(&case.choices)) {
        mistakes.add_loose(mistake, "");
    }
    cases
}

/// The commands of a case through each lens. A command has no checkpoint before which it could be made to release.
fn through(options: &cli::Cold, case: Case, mistakes: &mut Report) -> Case {
    let choices = prepare::through(options.lens, &|_| None, case.choices, mistakes);
    if let Some(choice) = choices.iter().find(|choice| choice.lens.collected_by.is_some()) {
        let title = format!("`{}` collects garbage, which a command is not made to do", choice.label);
        mistakes.add_loose(title, "leave `--lens` out");
    }
    Case { choices, ..case }
}

/// Each command with its place and the scripts before and after it. The reference comes first, and has no place.
fn commands(options: &cli::Cold) -> impl Iterator<Item = (&String, Option<usize>, [Option<&String>; 2])> {
    let commands = options.commands.iter().enumerate();
    let commands = commands.map(|(place, text)| (text, Some(place)));
    let reference = options.reference.iter().map(|text| (text, None));
    reference.chain(commands).map(|(text, place)| {
        let around = [&options.prepare, &options.conclude];
        let around = around.map(|scripts| own(scripts, place, options.reference.is_some()));
        (text, place, around)
    })
}

/// Everything that is given for each command is given as often as there are commands.
fn counted(options: &cli::Cold, mistakes: &mut Report) {
    let count = options.commands.len();
    let all = count + usize::from(options.reference.is_some());
    for (name, scripts) in [("prepare", &options.prepare), ("conclude", &options.conclude)] {
        if scripts.len() > 1 && scripts.len() != all {
            let title = format!(
                "`--{name}` is given {} times for {}",
                scripts.len(),
                units::counted(all as u64, "command")
            );
            mistakes.add_loose(
                title,
                "give it once for all commands, or once for each, the reference first",
            );
        }
    }
    if options.names.len() > count {
        let [names, commands] =
            [(options.names.len(), "name"), (count, "command")].map(|(count, of)| units::counted(count as u64, of));
        let title = format!("{names} for {commands}");
        mistakes.add_loose(title, "give at most one `--command-name` for each command");
    }
}

/// Each parameter has one list of values, and is named where it is replaced.
fn parameters(options: &cli::Cold, mistakes: &mut Report) {
    let mut names: Vec<&str> = Vec::new();
    for parameter in options.parameters.chunks_exact(2) {
        let (name, hole) = (parameter[0].as_str(), hole(&parameter[0]));
        if names.contains(&name) {
            let title = format!("`--parameter-list {name}` is given twice");
            mistakes.add_loose(title, "give all its values in one list");
        }
        names.push(name);
        let replaced = options.commands.iter().chain(&options.reference);
        let mut replaced = replaced.chain(&options.prepare).chain(&options.conclude);
        if !replaced.any(|text| text.contains(&hole)) {
            let title = format!("`--parameter-list {name}`: no command contains `{hole}`");
            mistakes.add_loose(title, "write it where the values shall stand");
        }
        for (text, place, around) in commands(options) {
            let is_named = named(options, place).is_some_and(|name| name.contains(&hole));
            if is_named && !text.contains(&hole) && !around.iter().flatten().any(|script| script.contains(&hole)) {
                let title = format!("the name of `{text}` contains `{hole}`, and it does not");
                mistakes.add_loose(title, "name it without, or use the parameter in it");
            }
        }
        for (option, file) in [("input", &options.input), ("output", &options.output_to)] {
            if file.contains(&hole) {
                let title = format!("`--{option}` contains `{hole}`, and is one file for all commands");
                mistakes.add_loose(title, "use --shell, and redirect in the command");
            }
        }
        for (option, script) in [("setup", &options.setup), ("cleanup", &options.cleanup)] {
            if script.as_ref().is_some_and(|script| script.contains(&hole)) {
                let title = format!("`--{option}` contains `{hole}`, and is run once for all commands");
                mistakes.add_loose(title, "use --prepare or --conclude, which are run with each value");
            }
        }
    }
}

/// What the runs will need besides programs.
fn resources(options: &cli::Cold, mistakes: &mut Report) {
    let input = options.input.as_str();
    if input != "null" && !Path::new(input).is_file() {
        let title = format!("`--input {input}`: there is no such file");
        mistakes.add_loose(title, "name a file, or null");
    }
    if options.drop_caches && File::options().write(true).open(PAGE_CACHE).is_err() {
        let title = format!("`--drop-caches` cannot write to `{PAGE_CACHE}`");
        mistakes.add_loose(title, "run as root on Linux, or leave it out");
    }
}

/// The script for a command: the only one, or its own where each has one, the reference first.
fn own(scripts: &[String], place: Option<usize>, has_reference: bool) -> Option<&String> {
    match scripts {
        [one] => Some(one),
        several => several.get(place.map_or(0, |place| place + usize::from(has_reference))),
    }
}

/// The command with every combination of the values that it or a script around it names: `VAR`, then its values between
/// commas.
fn filled(text: &str, place: Option<usize>, around: &[Option<&String>], parameters: &[String]) -> Vec<Typed> {
    let mut all = vec![Typed {
        text: text.to_owned(),
        place,
        values: Vec::new(),
    }];
    for parameter in parameters.chunks_exact(2) {
        let (name, hole) = (&parameter[0], hole(&parameter[0]));
        let is_in = |script: &Option<&String>| script.is_some_and(|script| script.contains(&hole));
        if !text.contains(&hole) && !around.iter().any(is_in) {
            continue;
        }
        let filling = |value: &str| Value {
            parameter: name.clone(),
            text: value.to_owned(),
            in_command: text.contains(&hole),
        };
        let with = |typed: &Typed, value: &str| Typed {
            text: typed.text.replace(&hole, value),
            place,
            values: [typed.values.as_slice(), &[filling(value)]].concat(),
        };
        let values = values(&parameter[1]);
        let filled = |typed: &Typed| values.iter().map(|value| with(typed, value)).collect::<Vec<Typed>>();
        all = all.iter().flat_map(filled).collect();
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

/// A sign of shells that stands alone and without quotes among the words of a command.
fn sign<'w>(text: &str, words: &'w [String]) -> Option<&'w String> {
    const SIGNS: [&str; 10] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];
    let is_bare = |word: &&String| text.split_whitespace().any(|part| part == word.as_str());
    words.iter().filter(|word| SIGNS.contains(&word.as_str())).find(is_bare)
}

fn choice(typed: &Typed, options: &cli::Cold, known: &Catalogue, mistakes: &mut Report) -> Option<ServerChoice> {
    let shell = match options.shell.as_deref() {
        Some("none") | None => None,
        Some("default") => Some("sh"),
        named => named,
    };
    let words = match shell {
        Some(shell) => {
            shell_words::split(shell).map(|shell| [shell, vec!["-c".to_owned(), typed.text.clone()]].concat())
        }
        None => shell_words::split(&typed.text),
    };
    let words = match words {
        Ok(words) => words,
        Err(error) => {
            mistakes.add_loose(format!("`{}`: {error}", typed.text), "close the quote");
            return None;
        }
    };
    if let Some(sign) = sign(&typed.text, &words) {
        let title = format!(
            "`{}` is run without a shell, and `{sign}` would be an argument",
            typed.text
        );
        mistakes.add_loose(title, "write it as `sh -c '…'`, or quote it if the command takes it");
        return None;
    }
    // Without a shell, variables may still precede the program.
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    let (variables, command) = words.split_at(variables);
    let Some((program, args)) = command.split_first() else {
        mistakes.add_loose(
            format!("`{}` names no program", typed.text),
            "write a program and its arguments",
        );
        return None;
    };
    let Some(found) = which(None).command(program) else {
        let cure = "name one that `PATH` has or its path, and use --shell for what a shell knows";
        mistakes.add_loose(format!("there is no program `{program}`"), cure);
        return None;
    };
    let name = named(options, typed.place);
    let profile = Profile {
        cache_env: caches(program, known),
        ..Profile::default()
    };
    let label = label(&typed.text, name.map(String::as_str), &typed.values);
    let mut choice = ServerChoice::plain(&label, profile, Program::File(found));
    choice.args = args.to_vec();
    let set = options.env.iter().chain(variables);
    choice.env.extend(set.filter_map(|text| variable(text, mistakes)));
    choice.command = Some(plan(typed, options));
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

/// The name that was given to a command.
fn named(options: &cli::Cold, place: Option<usize>) -> Option<&String> {
    match place {
        Some(place) => options.names.get(place),
        None => options.reference_name.as_ref(),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn plan(typed: &Typed, options: &cli::Cold) -> CommandPlan {
    let filled = |scripts: &[String]| {
        let script = own(scripts, typed.place, options.reference.is_some())?.clone();
        let fill = |script: String, value: &Value| script.replace(&hole(&value.parameter), &value.text);
        Some(typed.values.iter().fold(script, fill))
    };
    CommandPlan {
        typed: typed.text.clone(),
        prepare: filled(&options.prepare),
        conclude: filled(&options.conclude),
        ignored: options.ignore_failure.clone(),
        prints: options.figures.is_some(),
        drop_caches: options.drop_caches,
        input: match options.input.as_str() {
            "null" => Stream::Null,
            file => Stream::File(absolute(file)),
        },
        output: match options.output_to.as_str() {
            "null" => Stream::Null,
            "pipe" => Stream::Piped,
            "inherit" => Stream::Inherit,
            file => Stream::File(absolute(file)),
        },
    }
}

/// Commands run in another directory.
fn absolute(file: &str) -> std::path::PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.into())
}

/// The command under each of these allocators, with a label for each.
fn under(
    choice: &ServerChoice,
    preloads: &[Preload],
    label: impl Fn(&Preload) -> String,
    mistakes: &mut Report,
) -> Vec<ServerChoice> {
    let with = |preload: &Preload| ServerChoice {
        label: label(preload),
        preload: preload.clone(),
        preload_asked: true,
        ..choice.clone()
    };
    let mut all: Vec<ServerChoice> = preloads.iter().map(with).collect();
    all.retain_mut(|choice| match preload::find(choice) {
        Ok(()) => true,
        Err(mistake) => {
            mistakes.add_loose(mistake, "");
            false
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, script: Option<&str>, parameters: &[&str]) -> Vec<String> {
        let parameters: Vec<String> = parameters.iter().map(|text| (*text).to_owned()).collect();
        filled(text, Some(0), &[script.map(str::to_owned).as_ref()], &parameters)
            .into_iter()
            .map(|typed| typed.text)
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
    fn a_reference_has_the_first_of_the_scripts() {
        let scripts = ["r", "a", "b"].map(str::to_owned);
        let own = |place| own(&scripts, place, true).map(String::as_str);
        assert_eq!([None, Some(0), Some(1)].map(own), [Some("r"), Some("a"), Some("b")]);
    }

    #[test]
    fn only_what_a_shell_would_take_for_a_variable_is_one() {
        assert!(is_name("MALLOC_ARENA_MAX") && is_name("_a1"));
        assert!(!is_name("") && !is_name("1a") && !is_name("--flag") && !is_name("a.b"));
    }
}
