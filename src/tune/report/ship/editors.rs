//! Settings of editors: where they pass an environment on, and what to do where they do not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::record::leaves;

use super::escape::{comment, is_name, joined, json as in_json, lua as text, shell};
use super::extension::Extension;
use super::{Pair, Setting};

/// Members for `settings.json`. Comments hold what the extension has no setting for.
pub(crate) fn vscode(setting: &Setting<'_>) -> String {
    let extension = Extension::of(setting.server);
    let mut members: BTreeMap<String, Value> = BTreeMap::new();
    let mut comments: Vec<String> = Vec::new();
    // What no setting takes goes into a script in the server's place.
    let mut scripted = Setting {
        settings: None,
        init_options: None,
        ..setting.clone()
    };
    if let Some(key) = extension.and_then(|extension| extension.env) {
        let env = std::mem::take(&mut scripted.env);
        members.extend((!env.is_empty()).then(|| (key.to_owned(), json!(env))));
    }
    if let Some(key) = extension.and_then(|extension| extension.args) {
        let args = std::mem::take(&mut scripted.args);
        members.extend((!args.is_empty()).then(|| (key.to_owned(), json!(args))));
    }
    if !scripted.is_empty() {
        match extension.and_then(|extension| extension.instead) {
            Some(instead) => comments.push(instead.to_owned()),
            None => members.extend(in_its_place(&scripted, extension, &mut comments)),
        }
    }
    if let Some(settings) = &setting.settings {
        leaves(settings, "", &mut |path, value| {
            members.insert(path.to_owned(), value.clone());
        });
    }
    match (&setting.init_options, extension.and_then(|extension| extension.section)) {
        (Some(options), Some(section)) => leaves(options, section, &mut |path, value| {
            members.insert(path.to_owned(), value.clone());
        }),
        (Some(options), None) => comments.push(format!("initialization options: {options}")),
        (None, _) => {}
    }
    let members = members
        .iter()
        .map(|(key, value)| format!("{}: {},", in_json(&json!(key)), in_json(value)));
    let comments = comments.iter().map(|line| comment("//", line));
    joined(comments.chain(members))
}

/// The setting that names a script, which `comments` contain. Starting the editor with the server's environment would
/// set it for every program that the editor starts, and preload libraries into all of them.
fn in_its_place(
    setting: &Setting<'_>,
    extension: Option<&Extension>,
    comments: &mut Vec<String>,
) -> Option<(String, Value)> {
    let name = &setting.server.name;
    let program = &setting.server.program;
    let file = format!("/path/to/{program}-tuned");
    let member = extension.and_then(|extension| extension.program(&file));
    comments.push(match &member {
        Some(_) => {
            format!("{name}'s extension has no setting for this: make `{file}` executable, with these lines:")
        }
        None => format!(
            "the extension's setting for {name} is not known: make it start an executable file with these lines \
             instead of the server:"
        ),
    });
    let (named, odd) = setting.variables(is_name);
    let named: Vec<Pair<'_>> = named.collect();
    comments.push("  #!/bin/sh".to_owned());
    // A comment is one line, and a value of several would not be the same on one.
    if named.iter().any(|(_, value)| value.contains('\n')) {
        comments.push("  … and here the lines of --print env".to_owned());
    } else {
        let line = |(name, value): &Pair<'_>| format!("  export {name}={}", shell(value));
        comments.extend(named.iter().map(line));
    }
    let before: Vec<String> = odd.map(|(name, value)| shell(&format!("{name}={value}"))).collect();
    let mut words = vec!["exec".to_owned()];
    if !before.is_empty() {
        words.push(format!("env {}", before.join(" ")));
    }
    words.extend(setting.cpus.map(|cpus| format!("taskset -c {cpus}")));
    words.extend([shell(setting.program()), "\"$@\"".to_owned()]);
    words.extend(setting.args.iter().map(|arg| shell(arg)));
    comments.push(format!("  {}", words.join(" ")));
    member.map(|(key, value)| (key.to_owned(), value))
}

/// Servers with another name in Neovim's configurations.
const CONFIGURATIONS: [(&str, &str); 5] = [
    ("rust-analyzer", "rust_analyzer"),
    ("typescript-language-server", "ts_ls"),
    ("lua-language-server", "lua_ls"),
    ("haskell-language-server", "hls"),
    ("bash-language-server", "bashls"),
];

/// A call of `vim.lsp.config`, which extends the existing configuration.
pub(crate) fn neovim(setting: &Setting<'_>) -> String {
    let name = setting.server.name.as_str();
    let known = CONFIGURATIONS.iter().find(|(server, _)| *server == name);
    let name = known.map_or(name, |(_, name)| name);
    let mut lines = vec![format!("vim.lsp.config({}, {{", text(name))];
    if !setting.args.is_empty() || setting.cpus.is_some() {
        let kept = setting.cpus.into_iter().flat_map(|cpus| ["taskset", "-c", cpus]);
        let words: Vec<String> = kept.chain(setting.words()).map(text).collect();
        lines.push(format!("  cmd = {{ {} }},", words.join(", ")));
    }
    if !setting.env.is_empty() {
        lines.push(format!("  cmd_env = {},", lua(&json!(setting.env))));
    }
    for (key, value) in [("settings", &setting.settings), ("init_options", &setting.init_options)] {
        lines.extend(value.as_ref().map(|value| format!("  {key} = {},", lua(value))));
    }
    lines.push("})".to_owned());
    joined(lines.into_iter())
}

fn lua(value: &Value) -> String {
    match value {
        Value::Null => "vim.NIL".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(string) => text(string),
        Value::Array(items) if items.is_empty() => "{}".to_owned(),
        Value::Array(items) => format!("{{ {} }}", items.iter().map(lua).collect::<Vec<String>>().join(", ")),
        Value::Object(members) if members.is_empty() => "vim.empty_dict()".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), lua(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}

/// Words that are no names in Lua.
const RESERVED: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn key(name: &str) -> String {
    if is_name(name) && !RESERVED.contains(&name) {
        name.to_owned()
    } else {
        format!("[{}]", text(name))
    }
}
