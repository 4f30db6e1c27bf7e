//! Members for Visual Studio Code's `settings.json`: where an extension passes an environment on, and what to do where it does not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use record::leaves;

use super::escape::{comment, is_name, join_lines, json as in_json, shell};
use super::extension::Extension;
use super::{Pair, Setting};

/// The members, a line each. Comments hold what the extension has no setting for.
pub(crate) fn text(setting: &Setting<'_>) -> String {
    let extension = Extension::for_server(setting.server);
    let mut members: BTreeMap<String, Value> = BTreeMap::new();
    let mut comments: Vec<String> = Vec::new();
    // A script in the server's place sets all that the extension has no setting for.
    let mut without_own_setting = Setting {
        settings: None,
        init_options: None,
        ..setting.clone()
    };
    if let Some(key) = extension.and_then(|extension| extension.env) {
        let env = std::mem::take(&mut without_own_setting.env);
        if !env.is_empty() {
            members.insert(key.to_owned(), json!(env));
        }
    }
    if let Some(key) = extension.and_then(|extension| extension.args) {
        let args = std::mem::take(&mut without_own_setting.args);
        if !args.is_empty() {
            members.insert(key.to_owned(), json!(args));
        }
    }
    if !without_own_setting.is_empty() {
        match extension.and_then(|extension| extension.instead) {
            Some(instead) => comments.push(instead.to_owned()),
            None => members.extend(script_member(&without_own_setting, extension, &mut comments)),
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
    join_lines(comments.chain(members))
}

/// The member that names a script in the server's place, if the extension has one; the script's lines are added to `comments`.
/// Starting the editor with the server's environment would
/// set it for every program that the editor starts, and preload libraries into all of them.
fn script_member(
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
    let (named, unexportable) = setting.variables(is_name);
    let named: Vec<Pair<'_>> = named.collect();
    comments.push("  #!/bin/sh".to_owned());
    // A comment is one line, which cannot hold a value of several lines.
    if named.iter().any(|(_, value)| value.contains('\n')) {
        comments.push("  … and here the lines of --print env".to_owned());
    } else {
        for (name, value) in named {
            comments.push(format!("  export {name}={}", shell(value)));
        }
    }
    let unexportable: Vec<String> = unexportable
        .map(|(name, value)| shell(&format!("{name}={value}")))
        .collect();
    let mut words = vec!["exec".to_owned()];
    if !unexportable.is_empty() {
        words.push(format!("env {}", unexportable.join(" ")));
    }
    if let Some(cpus) = setting.cpus {
        words.push(format!("taskset -c {cpus}"));
    }
    words.extend([shell(setting.program()), "\"$@\"".to_owned()]);
    words.extend(setting.args.iter().map(|arg| shell(arg)));
    comments.push(format!("  {}", words.join(" ")));
    member.map(|(key, value)| (key.to_owned(), value))
}
