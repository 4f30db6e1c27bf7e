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

/// The settings of a cell in this form. The error is a sentence on why they cannot be written so, with what to do instead.
pub fn text(form: Form, server: &Server, sets: &CellFacts) -> Result<String, String> {
    let setting = Setting::new(server, sets);
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

/// The forms that a report shows without being asked for them, as far as this cell can be written in them.
pub fn usual_forms(server: &Server, sets: &CellFacts) -> Vec<Form> {
    let forms = [Form::Env, Form::Rust, Form::Cargo].into_iter();
    forms.filter(|form| text(*form, server, sets).is_ok()).collect()
}

/// A cell's settings for one server.
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
    fn new(server: &'s Server, sets: &'s CellFacts) -> Setting<'s> {
        let mut env = sets.given.clone();
        env.extend(sets.env.clone());
        Setting {
            server,
            env,
            args: &sets.args,
            cpus: sets.cpus.as_deref(),
            settings: sets.settings.as_deref().and_then(json_value),
            init_options: sets.init_options.as_deref().and_then(json_value),
        }
    }

    fn is_empty(&self) -> bool {
        self.env.is_empty()
            && self.args.is_empty()
            && self.cpus.is_none()
            && self.settings.is_none()
            && self.init_options.is_none()
    }

    /// The variable that preloads a library, if one is set.
    fn preload_variable(&self) -> Option<&'static str> {
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

    /// Instructions for all that is not an environment variable.
    fn instructions(&self) -> Vec<String> {
        let mut instructions = Vec::new();
        if !self.args.is_empty() {
            instructions.push(format!("and start it as: {}", self.command()));
        }
        if let Some(cpus) = self.cpus {
            instructions.push(format!(
                "and keep it to processors {cpus}, such as by `taskset -c {cpus}`"
            ));
        }
        if let Some(settings) = &self.settings {
            instructions.push(format!("and these settings: {settings}"));
        }
        if let Some(options) = &self.init_options {
            instructions.push(format!("and these initialization options: {options}"));
        }
        instructions
    }

    /// The program that is started.
    fn program(&self) -> &String {
        self.server.path.as_ref().unwrap_or(&self.server.program)
    }

    /// The command line of the program with all its arguments, for a shell.
    fn command(&self) -> String {
        let words = std::iter::once(self.program())
            .chain(&self.server.args)
            .chain(self.args);
        let escaped: Vec<String> = words.map(|word| escape::shell(word)).collect();
        escaped.join(" ")
    }
}

/// The value of a text that is JSON.
fn json_value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
