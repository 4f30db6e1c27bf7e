//! Builds the command that starts a server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::resolve::{ServerChoice, listed, tools};
use allocator::preload::VARIABLE;
use proctree::process::Launch;

/// Replaces `${workspace}` and `${cache}` in an argument.
fn placed(text: &str, root: &Path, caches: &Path) -> String {
    text.replace("${workspace}", &root.to_string_lossy())
        .replace("${cache}", &caches.to_string_lossy())
}

/// The command that starts `program` in `root`, and the inherited variables that it removes.
pub fn launch(
    choice: &ServerChoice,
    program: PathBuf,
    root: &Path,
    caches: &Path,
) -> anyhow::Result<(Launch, Vec<String>)> {
    let mut env: Vec<(OsString, Option<OsString>)> = Vec::new();
    let inherited = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let scrubbed: Vec<String> = inherited.filter(|name| choice.profile.scrubs(name)).collect();
    env.extend(scrubbed.iter().map(|name| (name.into(), None)));
    for (name, directory) in &choice.profile.cache_env {
        let path = caches.join(directory);
        fs::create_dir_all(&path).with_context(|| format!("cannot create the cache `{}`", path.display()))?;
        env.push((name.into(), Some(path.into())));
    }
    if choice.profile.cache_env.contains_key("HOME") {
        env.extend(tools());
    }
    env.extend(choice.env.iter().map(|(name, value)| (name.into(), Some(value.into()))));
    env.extend(listed(choice)?.map(|value| (VARIABLE.into(), Some(value))));
    let args = choice
        .args
        .iter()
        .map(|text| placed(text, root, caches).into())
        .collect();
    Ok((
        Launch {
            before: Vec::new(),
            program,
            args,
            env,
            cwd: root.to_owned(),
            cpus: choice.cpus.clone(),
            ..Launch::default()
        },
        scrubbed,
    ))
}
