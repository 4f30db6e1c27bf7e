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

/// The commands that are compared with each other: all, or one under several allocators.
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
    check_counts(options, mistakes);
    if options.reference.is_some() && preloads.len() > 1 {
        let title = "`--reference` compares commands, and several allocators are compared with each other";
        mistakes.add_loose(title, "leave `--reference` out, or name one allocator");
    }
    check_parameters(options, mistakes);
    check_resources(options, mistakes);
    let known = Catalogue::built_in();
    let mut choices: Vec<ServerChoice> = Vec::new();
    for (text, place, around) in commands(options) {
        for typed in filled(text, place, &around, &options.parameters) {
            choices.extend(choice(&typed, options, &known, mistakes));
        }
    }
    number(&mut choices.iter_mut().map(|choice| &mut choice.label).collect::<Vec<_>>());
    let cases: Vec<Case> = cases_of_allocators(choices, &preloads, mistakes)
        .into_iter()
        .map(|case| case_through_lenses(options, case, mistakes))
        .collect();
    for mistake in cases.iter().flat_map(|case| crate::resolve::mistakes(&case.choices)) {
        mistakes.add_loose(mistake, "");
    }
    cases
}

/// Several commands under several allocators are a case each; otherwise all are one case.
fn cases_of_allocators(choices: Vec<ServerChoice>, preloads: &[Preload], mistakes: &mut Report) -> Vec<Case> {
    if choices.len() > 1 && preloads.len() > 1 {
        let mut cases = Vec::new();
        for choice in &choices {
            cases.push(Case {
                name: Some(as_file_name(&choice.label)),
                choices: choices_under(choice, preloads, Preload::label, mistakes),
            });
        }
        return cases;
    }
    if preloads.is_empty() {
        return vec![Case { name: None, choices }];
    }
    let mut under_allocators = Vec::new();
    for choice in &choices {
        let label = |preload: &Preload| preloaded(&choice.label, preload);
        under_allocators.extend(choices_under(choice, preloads, label, mistakes));
    }
    vec![Case {
        name: None,
        choices: under_allocators,
    }]
}

/// The commands of a case through each lens. A command has no checkpoint before which it could be made to release.
fn case_through_lenses(options: &cli::Cold, case: Case, mistakes: &mut Report) -> Case {
    let choices = prepare::choices_through(options.lens, |_| None, case.choices, mistakes);
    if let Some(choice) = choices.iter().find(|choice| choice.lens.collected_by.is_some()) {
        let title = format!("`{}` collects garbage, which a command is not made to do", choice.label);
        mistakes.add_loose(title, "leave `--lens` out");
    }
    Case { choices, ..case }
}

/// Each command with its place and the scripts before and after it. The reference comes first, and has no place.
fn commands(options: &cli::Cold) -> impl Iterator<Item = (&String, Option<usize>, [Option<&String>; 2])> {
    let commands = options
        .commands
        .iter()
        .enumerate()
        .map(|(place, text)| (text, Some(place)));
    let reference = options.reference.iter().map(|text| (text, None));
    let has_reference = options.reference.is_some();
    reference.chain(commands).map(move |(text, place)| {
        let prepare = script_for(&options.prepare, place, has_reference);
        let conclude = script_for(&options.conclude, place, has_reference);
        (text, place, [prepare, conclude])
    })
}

/// Checks that scripts and names are as many as there are commands.
fn check_counts(options: &cli::Cold, mistakes: &mut Report) {
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
        let title = format!(
            "{} for {}",
            units::counted(options.names.len() as u64, "name"),
            units::counted(count as u64, "command")
        );
        mistakes.add_loose(title, "give at most one `--command-name` for each command");
    }
}

/// Checks that each parameter has one list of values, and is named where it is replaced.
fn check_parameters(options: &cli::Cold, mistakes: &mut Report) {
    let mut names: Vec<&str> = Vec::new();
    for parameter in options.parameters.chunks_exact(2) {
        let (name, hole) = (parameter[0].as_str(), hole(&parameter[0]));
        if names.contains(&name) {
            let title = format!("`--parameter-list {name}` is given twice");
            mistakes.add_loose(title, "give all its values in one list");
        }
        names.push(name);
        let mut texts = options
            .commands
            .iter()
            .chain(&options.reference)
            .chain(&options.prepare)
            .chain(&options.conclude);
        if !texts.any(|text| text.contains(&hole)) {
            let title = format!("`--parameter-list {name}`: no command contains `{hole}`");
            mistakes.add_loose(title, "write it where the values shall stand");
        }
        for (text, place, around) in commands(options) {
            let is_named = command_name(options, place).is_some_and(|name| name.contains(&hole));
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

/// Checks the input file, and the permission to drop the page cache.
fn check_resources(options: &cli::Cold, mistakes: &mut Report) {
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
fn script_for(scripts: &[String], place: Option<usize>, has_reference: bool) -> Option<&String> {
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
        let in_command = text.contains(&hole);
        let in_script = around.iter().flatten().any(|script| script.contains(&hole));
        if !in_command && !in_script {
            continue;
        }
        let texts = values(&parameter[1]);
        let mut combinations = Vec::new();
        for typed in &all {
            for value in &texts {
                let filling = Value {
                    parameter: name.clone(),
                    text: value.clone(),
                    in_command,
                };
                combinations.push(Typed {
                    text: typed.text.replace(&hole, value),
                    place,
                    values: [typed.values.as_slice(), &[filling]].concat(),
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

fn choice(typed: &Typed, options: &cli::Cold, known: &Catalogue, mistakes: &mut Report) -> Option<ServerChoice> {
    let shell = match options.shell.as_deref() {
        Some("none") | None => None,
        Some("default") => Some("sh"),
        named => named,
    };
    let split = match shell {
        Some(shell) => {
            shell_words::split(shell).map(|shell| [shell, vec!["-c".to_owned(), typed.text.clone()]].concat())
        }
        None => shell_words::split(&typed.text),
    };
    let words = match split {
        Ok(words) => words,
        Err(error) => {
            mistakes.add_loose(format!("`{}`: {error}", typed.text), "close the quote");
            return None;
        }
    };
    if let Some(sign) = shell_sign(&typed.text, &words) {
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
    let name = command_name(options, typed.place);
    let profile = Profile {
        cache_env: caches(program, known),
        ..Profile::default()
    };
    let label = label(&typed.text, name.map(String::as_str), &typed.values);
    let mut choice = ServerChoice::plain(&label, profile, Program::File(found));
    choice.args = args.to_vec();
    for text in options.env.iter().chain(variables) {
        choice.env.extend(variable(text, mistakes));
    }
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

/// The name that `--command-name` or `--reference-name` gives to a command.
fn command_name(options: &cli::Cold, place: Option<usize>) -> Option<&String> {
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
    let has_reference = options.reference.is_some();
    CommandPlan {
        typed: typed.text.clone(),
        prepare: filled_script(typed, &options.prepare, has_reference),
        conclude: filled_script(typed, &options.conclude, has_reference),
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

/// The command's own script, with its values in place of the parameters.
fn filled_script(typed: &Typed, scripts: &[String], has_reference: bool) -> Option<String> {
    let mut script = script_for(scripts, typed.place, has_reference)?.clone();
    for value in &typed.values {
        script = script.replace(&hole(&value.parameter), &value.text);
    }
    Some(script)
}

/// Commands run in another directory.
fn absolute(file: &str) -> std::path::PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.into())
}

/// The command under each of these allocators, without those whose library is missing.
fn choices_under(
    choice: &ServerChoice,
    preloads: &[Preload],
    label: impl Fn(&Preload) -> String,
    mistakes: &mut Report,
) -> Vec<ServerChoice> {
    let mut choices = Vec::new();
    for preload in preloads {
        let mut preloaded = ServerChoice {
            label: label(preload),
            preload: preload.clone(),
            preload_asked: true,
            ..choice.clone()
        };
        match preload::find(&mut preloaded) {
            Ok(()) => choices.push(preloaded),
            Err(mistake) => mistakes.add_loose(mistake, ""),
        }
    }
    choices
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
        for (place, script) in [(None, "r"), (Some(0), "a"), (Some(1), "b")] {
            assert_eq!(script_for(&scripts, place, true).map(String::as_str), Some(script));
        }
    }

    #[test]
    fn only_what_a_shell_would_take_for_a_variable_is_one() {
        assert!(is_name("MALLOC_ARENA_MAX") && is_name("_a1"));
        assert!(!is_name("") && !is_name("1a") && !is_name("--flag") && !is_name("a.b"));
    }
}
