//! A setting in the form in which it ships: every text can be pasted unchanged.

mod escape;
mod extension;
mod form;
mod program;
mod shell;
mod vscode;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

pub use form::Form;

use analysis::tune::Server;
use record::CellFacts;

/// Variables that make a loader load a library first.
const PRELOADS: [&str; 2] = ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES"];

/// What a cell sets in this form; or why it cannot be written so, as a sentence with what to do instead.
pub fn text(form: Form, server: &Server, sets: &CellFacts) -> Result<String, String> {
    let setting = Setting::of(server, sets);
    if setting.is_empty() {
        return Err("nothing to set: these are the server's defaults".to_owned());
    }
    match form {
        Form::Vscode if server.is_command => {
            Err("an editor starts servers, and this is a command; write --print env".to_owned())
        }
        Form::Env => Ok(shell::env(&setting)),
        Form::Rust => program::rust(&setting),
        Form::Cargo => program::cargo(&setting),
        Form::Vscode => Ok(vscode::text(&setting)),
    }
}

/// The forms that say something of this cell, without being asked for: where it is set, and how a program is built with it.
pub fn usual(server: &Server, sets: &CellFacts) -> Vec<Form> {
    let forms = [Form::Env, Form::Rust, Form::Cargo];
    forms
        .into_iter()
        .filter(|form| text(*form, server, sets).is_ok())
        .collect()
}

/// What a cell sets, and on which server.
#[derive(Clone)]
struct Setting<'s> {
    server: &'s Server,
    /// The server's own environment, overridden by the cell's settings, as measured.
    env: BTreeMap<String, String>,
    args: &'s [String],
    cpus: Option<&'s str>,
    settings: Option<Value>,
    init_options: Option<Value>,
}

type Pair<'s> = (&'s String, &'s String);

impl<'s> Setting<'s> {
    fn of(server: &'s Server, sets: &'s CellFacts) -> Setting<'s> {
        let value = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let mut env = sets.given.clone();
        env.extend(sets.env.clone());
        Setting {
            server,
            env,
            args: &sets.args,
            cpus: sets.cpus.as_deref(),
            settings: value(&sets.settings),
            init_options: value(&sets.init_options),
        }
    }

    fn is_empty(&self) -> bool {
        let nothing = self.settings.is_none() && self.init_options.is_none() && self.cpus.is_none();
        nothing && self.env.is_empty() && self.args.is_empty()
    }

    fn preloading(&self) -> Option<&'static str> {
        PRELOADS.into_iter().find(|name| self.env.contains_key(*name))
    }

    /// Variables whose names a reader accepts, and the others.
    fn variables(
        &self,
        is_name: impl Fn(&str) -> bool + Copy,
    ) -> (impl Iterator<Item = Pair<'_>>, impl Iterator<Item = Pair<'_>>) {
        let named = self.env.iter().filter(move |(name, _)| is_name(name));
        let odd = self.env.iter().filter(move |(name, _)| !is_name(name));
        (named, odd)
    }

    /// What besides environment variables has to be set, each as a sentence.
    fn rest(&self) -> Vec<String> {
        let mut rest = Vec::new();
        if !self.args.is_empty() {
            rest.push(format!("and start it as: {}", self.command()));
        }
        if let Some(cpus) = self.cpus {
            rest.push(format!(
                "and keep it to processors {cpus}, such as by `taskset -c {cpus}`"
            ));
        }
        let values = [
            ("settings", &self.settings),
            ("initialization options", &self.init_options),
        ];
        rest.extend(
            values
                .into_iter()
                .filter_map(|(what, value)| Some(format!("and these {what}: {}", value.as_ref()?))),
        );
        rest
    }

    /// The program that is started.
    fn program(&self) -> &String {
        self.server.path.as_ref().unwrap_or(&self.server.program)
    }

    /// The program with all its arguments.
    fn words(&self) -> Vec<&str> {
        let program = std::iter::once(self.program());
        let words = program.chain(&self.server.args).chain(self.args);
        words.map(String::as_str).collect()
    }

    /// The same as a shell takes it.
    fn command(&self) -> String {
        let words: Vec<String> = self.words().into_iter().map(escape::shell).collect();
        words.join(" ")
    }
}
