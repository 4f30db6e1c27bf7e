//! From typed commands to programs, each under every allocator and with every value of its parameters.

use crate::cli;
use crate::commands::prepare::variable;
use crate::config::{Profile, Report};
use crate::exit::child::Stream;
use crate::record::Preload;
use crate::resolve::{CommandPlan, Ignored, Program, ServerChoice, distinct, label_of, preload, which};

/// A command with values in place of its parameters.
struct Typed {
    text: String,
    /// Its place among the commands, from 0; the reference has none.
    place: Option<usize>,
    /// The values of its parameters, for its name.
    values: Vec<(String, String)>,
}

/// The commands in the order in which they are listed, the reference first. Mistakes are added.
pub fn choices(options: &cli::Cold, mistakes: &mut Report) -> Vec<ServerChoice> {
    let (preloads, twice) = distinct(&options.preload);
    for wrong in twice {
        mistakes.add_loose(wrong.to_string(), "");
    }
    let count = options.commands.len();
    for (name, given) in [("prepare", &options.prepare), ("conclude", &options.conclude)] {
        if given.len() > 1 && given.len() != count {
            let title = format!("`--{name}` is given {} times for {count} commands", given.len());
            mistakes.add_loose(title, "give it once for all commands, or once for each");
        }
    }
    if options.names.len() > count {
        let title = format!("there are {} names for {count} commands", options.names.len());
        mistakes.add_loose(title, "give at most one `--command-name` for each command");
    }
    let own = options.commands.iter().enumerate();
    let own = own.map(|(place, text)| (text, Some(place)));
    let reference = options.reference.iter().map(|text| (text, None));
    let mut choices: Vec<ServerChoice> = Vec::new();
    for (text, place) in reference.chain(own) {
        for typed in filled(text, place, &options.parameters) {
            match choice(&typed, options, mistakes) {
                Some(choice) => choices.extend(under(&choice, &preloads, mistakes)),
                None => continue,
            }
        }
    }
    number(&mut choices);
    for mistake in crate::resolve::mistakes(&choices) {
        mistakes.add_loose(mistake, "");
    }
    choices
}

/// The command with every combination of the values that it names: `VAR`, then its values between commas.
fn filled(text: &str, place: Option<usize>, parameters: &[String]) -> Vec<Typed> {
    let mut all = vec![Typed {
        text: text.to_owned(),
        place,
        values: Vec::new(),
    }];
    for parameter in parameters.chunks_exact(2) {
        let (name, hole) = (&parameter[0], format!("{{{}}}", parameter[0]));
        if !text.contains(&hole) {
            continue;
        }
        let with = |typed: &Typed, value: &str| Typed {
            text: typed.text.replace(&hole, value),
            place,
            values: [typed.values.as_slice(), &[(name.clone(), value.to_owned())]].concat(),
        };
        all = all
            .iter()
            .flat_map(|typed| {
                parameter[1]
                    .split(',')
                    .map(|value| with(typed, value))
                    .collect::<Vec<Typed>>()
            })
            .collect();
    }
    all
}

fn choice(typed: &Typed, options: &cli::Cold, mistakes: &mut Report) -> Option<ServerChoice> {
    let words = match &options.shell {
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
    // Without a shell, variables may still precede the program.
    let is_variable = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
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
    let name = typed.place.and_then(|place| options.names.get(place));
    let mut choice = ServerChoice::plain(&label(typed, name, program), Profile::default(), Program::File(found));
    choice.args = args.to_vec();
    let set = options.env.iter().chain(variables);
    choice.env.extend(set.filter_map(|text| variable(text, mistakes)));
    choice.command = Some(plan(typed, options));
    Some(choice)
}

/// A label that names files: the given name, else the program, with the values of its parameters.
fn label(typed: &Typed, name: Option<&String>, program: &str) -> String {
    let values = typed.values.iter().map(|(name, value)| format!("-{name}-{value}"));
    let values: String = values.collect();
    match (name, typed.place) {
        (Some(name), _) => label_of(&format!("{name}{values}")),
        (None, None) => label_of("reference"),
        (None, Some(_)) => label_of(&format!("{}{values}", label_of(program))),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn plan(typed: &Typed, options: &cli::Cold) -> CommandPlan {
    let own = |given: &[String]| match (given, typed.place) {
        ([one], _) => Some(one.clone()),
        (several, Some(place)) => several.get(place).cloned(),
        (_, None) => None,
    };
    let filled = |script: Option<String>| {
        script.map(|script| {
            let fill = |script: String, (name, value): &(String, String)| script.replace(&format!("{{{name}}}"), value);
            typed.values.iter().fold(script, fill)
        })
    };
    CommandPlan {
        typed: typed.text.clone(),
        prepare: filled(own(&options.prepare)),
        conclude: filled(own(&options.conclude)),
        ignored: match options.ignore_failure.as_deref() {
            None => Ignored::None,
            Some([]) => Ignored::All,
            Some(codes) => Ignored::These(codes.iter().copied().collect()),
        },
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

/// The command under each of these allocators.
fn under(choice: &ServerChoice, preloads: &[Preload], mistakes: &mut Report) -> Vec<ServerChoice> {
    let with = |preload: &Preload| ServerChoice {
        label: choice.label.clone() + &preload.suffix(),
        preload: preload.clone(),
        preload_asked: true,
        ..choice.clone()
    };
    let mut all: Vec<ServerChoice> = match preloads {
        [] => vec![choice.clone()],
        preloads => preloads.iter().map(with).collect(),
    };
    all.retain_mut(|choice| match preload::find(choice) {
        Ok(()) => true,
        Err(mistake) => {
            mistakes.add_loose(mistake, "");
            false
        }
    });
    all
}

/// Numbers equal labels, since each names its files.
fn number(choices: &mut [ServerChoice]) {
    for place in 1..choices.len() {
        let (before, rest) = choices.split_at_mut(place);
        let label = rest[0].label.clone();
        let taken = |label: &str| before.iter().any(|choice| choice.label.eq_ignore_ascii_case(label));
        let mut numbers = 2_u32..;
        while taken(&rest[0].label) {
            rest[0].label = format!("{label}-{}", numbers.next().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, parameters: &[&str]) -> Vec<String> {
        let parameters: Vec<String> = parameters.iter().map(|text| (*text).to_owned()).collect();
        filled(text, Some(0), &parameters)
            .into_iter()
            .map(|typed| typed.text)
            .collect()
    }

    #[test]
    fn a_command_is_run_with_every_combination_of_the_values_that_it_names() {
        assert_eq!(
            texts("make -j {n} {t}", &["n", "1,2", "t", "a,b"]),
            ["make -j 1 a", "make -j 1 b", "make -j 2 a", "make -j 2 b"]
        );
        assert_eq!(texts("make", &["n", "1,2"]), ["make"]);
    }

    #[test]
    fn equal_labels_are_numbered() {
        let plain = |label: &str| ServerChoice::plain(label, Profile::default(), Program::Build(Vec::new()));
        let mut choices = [plain("ty"), plain("Ty"), plain("other"), plain("ty")];
        number(&mut choices);
        assert_eq!(choices.map(|choice| choice.label), ["ty", "Ty-2", "other", "ty-3"]);
    }

    #[test]
    fn only_what_a_shell_would_take_for_a_variable_is_one() {
        assert!(is_name("MALLOC_ARENA_MAX") && is_name("_a1"));
        assert!(!is_name("") && !is_name("1a") && !is_name("--flag") && !is_name("a.b"));
    }
}
