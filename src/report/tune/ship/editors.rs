//! Settings of editors: where they pass an environment on, and honest words where they do not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::config::tune::leaves;
use crate::report::text::quoted;

use super::Setting;
use super::shell::joined;

/// What an extension of Visual Studio Code calls things: its server, where the environment goes, where arguments go, and
/// what begins the names of its settings.
struct Extension {
    server: &'static str,
    env: Option<&'static str>,
    args: Option<&'static str>,
    /// What initialization options are of, where the extension makes them of its settings.
    section: Option<&'static str>,
}

const EXTENSIONS: [Extension; 6] = [
    Extension {
        server: "rust-analyzer",
        env: Some("rust-analyzer.server.extraEnv"),
        args: None,
        section: Some("rust-analyzer"),
    },
    Extension {
        server: "gopls",
        env: Some("go.toolsEnvVars"),
        args: Some("go.languageServerFlags"),
        section: Some("gopls"),
    },
    Extension {
        server: "clangd",
        env: None,
        args: Some("clangd.arguments"),
        section: None,
    },
    Extension {
        server: "haskell-language-server",
        env: Some("haskell.serverEnvironment"),
        args: None,
        section: None,
    },
    Extension {
        server: "ty",
        env: None,
        args: None,
        section: Some("ty"),
    },
    Extension {
        server: "ruff",
        env: None,
        args: None,
        section: Some("ruff"),
    },
];

/// Members for `settings.json`. What the extension has no setting for is told in comments.
pub(super) fn vscode(setting: &Setting<'_>) -> Result<String, String> {
    let name = setting.server.name.as_str();
    let extension = EXTENSIONS.iter().find(|one| one.server == name);
    let mut members: BTreeMap<String, Value> = BTreeMap::new();
    let mut comments: Vec<String> = Vec::new();
    if !setting.env.is_empty() {
        match extension.and_then(|extension| extension.env) {
            Some(key) => {
                members.insert(key.to_owned(), json!(setting.env));
            }
            None => {
                let env: Vec<String> = setting
                    .env
                    .iter()
                    .map(|(name, value)| format!("{name}={}", quoted(value)))
                    .collect();
                comments.push(format!(
                    "the extension of {name} passes no environment on that is known here;"
                ));
                comments.push(format!("start the editor with it: {} code", env.join(" ")));
            }
        }
    }
    if !setting.args.is_empty() {
        match extension.and_then(|extension| extension.args) {
            Some(key) => {
                members.insert(key.to_owned(), json!(setting.args));
            }
            None => comments.push(format!("start the server as: {}", setting.command())),
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
    comments.extend(
        setting
            .cpus
            .map(|cpus| format!("keep it to processors {cpus}: taskset -c {cpus} code")),
    );
    if members.is_empty() && comments.is_empty() {
        return Err("there is nothing to set".to_owned());
    }
    let members = members.iter().map(|(key, value)| {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        format!("{}: {},", json!(key), text)
    });
    let comments = comments.into_iter().map(|line| format!("// {line}"));
    Ok(joined(comments.chain(members)))
}

/// Servers whose configuration in Neovim is called otherwise.
const CONFIGURATIONS: [(&str, &str); 5] = [
    ("rust-analyzer", "rust_analyzer"),
    ("typescript-language-server", "ts_ls"),
    ("lua-language-server", "lua_ls"),
    ("haskell-language-server", "hls"),
    ("bash-language-server", "bashls"),
];

/// A call of `vim.lsp.config`, which adds to what is configured already.
pub(super) fn neovim(setting: &Setting<'_>) -> String {
    let name = setting.server.name.as_str();
    let known = CONFIGURATIONS.iter().find(|(server, _)| *server == name);
    let name = known.map_or(name, |(_, name)| name);
    let mut lines = vec![format!("vim.lsp.config({}, {{", text(name))];
    if !setting.args.is_empty() {
        let words: Vec<String> = setting.words().iter().map(|word| text(word)).collect();
        lines.push(format!("  cmd = {{ {} }},", words.join(", ")));
    }
    if !setting.env.is_empty() {
        lines.push(format!("  cmd_env = {},", lua(&json!(setting.env))));
    }
    for (key, value) in [("settings", &setting.settings), ("init_options", &setting.init_options)] {
        lines.extend(value.as_ref().map(|value| format!("  {key} = {},", lua(value))));
    }
    lines.push("})".to_owned());
    lines.extend(
        setting
            .cpus
            .map(|cpus| format!("-- and keep it to processors {cpus}: put 'taskset', '-c', '{cpus}' before its `cmd`")),
    );
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
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !RESERVED.contains(&name);
    if is_name {
        name.to_owned()
    } else {
        format!("[{}]", text(name))
    }
}

/// A string of Lua.
fn text(string: &str) -> String {
    let string = string
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\n', "\\n")
        .replace('\r', "\\r");
    format!("'{string}'")
}
