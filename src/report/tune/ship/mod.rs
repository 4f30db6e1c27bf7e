//! A setting as it is written down where it is shipped: every text can be pasted as it is.

mod editors;
mod program;
mod shell;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::analyse::tune::{Server, Swept};
use crate::record::{AllocatorFacts, AllocatorFamily};
use crate::report::text::quoted;

/// Variables by which a loader is told to load a library first.
const PRELOADS: [&str; 2] = ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES"];

/// Where a setting is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Form {
    /// Lines for an environment file or a shell
    Env,
    /// A static of a Rust program that is built with jemalloc
    Rust,
    /// What cargo builds jemalloc with
    Cargo,
    /// Visual Studio Code's settings.json
    Vscode,
    /// Neovim's Lua
    Neovim,
    /// A unit of systemd
    Systemd,
}

impl Form {
    /// What it is, above its text.
    pub fn title(self) -> &'static str {
        match self {
            Form::Env => "environment",
            Form::Rust => "in a Rust program",
            Form::Cargo => "when it is built",
            Form::Vscode => "settings.json of VS Code",
            Form::Neovim => "Neovim",
            Form::Systemd => "systemd",
        }
    }

    /// The language of its text, for Markdown.
    pub fn language(self) -> &'static str {
        match self {
            Form::Env => "sh",
            Form::Rust => "rust",
            Form::Cargo => "toml",
            Form::Vscode => "jsonc",
            Form::Neovim => "lua",
            Form::Systemd => "ini",
        }
    }

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Form::Env => "env",
            Form::Rust => "rust",
            Form::Cargo => "cargo",
            Form::Vscode => "vscode",
            Form::Neovim => "neovim",
            Form::Systemd => "systemd",
        }
    }
}

/// Every form, in the order in which they are told.
pub const ALL: [Form; 6] = [
    Form::Env,
    Form::Rust,
    Form::Cargo,
    Form::Vscode,
    Form::Neovim,
    Form::Systemd,
];

/// The cell in this form; or why it cannot be written so, as a sentence.
pub fn text(form: Form, server: &Server, cell: &Swept) -> Result<String, String> {
    let setting = Setting::of(server, cell);
    match form {
        Form::Env => Ok(shell::env(&setting)),
        Form::Rust => program::rust(&setting),
        Form::Cargo => program::cargo(&setting),
        Form::Vscode => editors::vscode(&setting),
        Form::Neovim => Ok(editors::neovim(&setting)),
        Form::Systemd => Ok(shell::systemd(&setting)),
    }
}

/// The forms that say something of this cell, without being asked for: where it is set, and how a program is built with it.
pub fn usual(server: &Server, cell: &Swept) -> Vec<Form> {
    let forms = [Form::Env, Form::Rust, Form::Cargo];
    forms
        .into_iter()
        .filter(|form| text(*form, server, cell).is_ok())
        .collect()
}

/// What a cell sets, and on which server.
struct Setting<'s> {
    server: &'s Server,
    env: &'s BTreeMap<String, String>,
    args: &'s [String],
    cpus: Option<&'s str>,
    settings: Option<Value>,
    init_options: Option<Value>,
}

impl<'s> Setting<'s> {
    fn of(server: &'s Server, cell: &'s Swept) -> Setting<'s> {
        let value = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Setting {
            server,
            env: &cell.sets.env,
            args: &cell.sets.args,
            cpus: cell.sets.cpus.as_deref(),
            settings: value(&cell.sets.settings),
            init_options: value(&cell.sets.init_options),
        }
    }

    /// jemalloc's options and the facts of it, where they are all that the cell sets and the program has its own jemalloc.
    fn jemalloc(&self) -> Option<(&'s str, &'s AllocatorFacts)> {
        let facts = self.server.allocator.as_ref()?;
        let variable = facts.variable.as_deref()?;
        // What is preloaded reads nothing of the program.
        let preloaded = self.env.keys().any(|name| PRELOADS.contains(&name.as_str()));
        let own = facts.family == AllocatorFamily::Jemalloc && !preloaded;
        Some((self.env.get(variable)?.as_str(), facts)).filter(|_| own)
    }

    /// What besides environment variables has to be set, each as a comment line without its sign.
    fn rest(&self, environment: bool) -> Vec<String> {
        let mut rest = Vec::new();
        if environment && !self.args.is_empty() {
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

    /// The program with all its arguments.
    fn words(&self) -> Vec<&str> {
        let program = std::iter::once(&self.server.program);
        let words = program.chain(&self.server.args).chain(self.args);
        words.map(String::as_str).collect()
    }

    /// The same as a shell takes it.
    fn command(&self) -> String {
        let words: Vec<String> = self.words().into_iter().map(quoted).collect();
        words.join(" ")
    }
}
