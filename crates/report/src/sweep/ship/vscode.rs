//! Members for Visual Studio Code's `settings.json`: where an extension passes an environment on, and what to do where it does not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use record::leaves;

use super::escape::{comment, is_name, joined, json as in_json, shell};
use super::extension::Extension;
use super::{Pair, Setting};

/// The members, a line each. Comments hold what the extension has no setting for.
pub(crate) fn text(setting: &Setting<'_>) -> String {
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
