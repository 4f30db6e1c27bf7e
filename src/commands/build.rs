//! Builds a server whose profile says how, and finds the program that came out.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

/// Runs a profile's `build` command; its progress goes to stderr as it is. The command prints cargo's JSON messages,
/// and the last `executable` in them is the program.
pub fn build(label: &str, command: &[String], quiet: bool) -> anyhow::Result<PathBuf> {
    let [program, args @ ..] = command else {
        bail!("the profile of `{label}` has an empty `build` command")
    };
    let shown = command.join(" ");
    if !quiet {
        anstream::eprintln!("building `{label}`: {shown}");
    }
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(if quiet { Stdio::null() } else { Stdio::inherit() })
        .spawn()
        .with_context(|| format!("cannot build `{label}`: `{program}` cannot be run"))?;
    let stdout = child
        .stdout
        .take()
        .context("the build command was started without a pipe")?;
    let mut executable = None;
    for line in BufReader::new(stdout).lines() {
        let line = line.with_context(|| format!("cannot read what `{shown}` prints"))?;
        let message: Option<Value> = serde_json::from_str(&line).ok();
        if let Some(path) = message.as_ref().and_then(|message| message["executable"].as_str()) {
            executable = Some(PathBuf::from(path));
        }
    }
    let status = child.wait().with_context(|| format!("cannot wait for `{shown}`"))?;
    match (status.success(), executable) {
        (true, Some(executable)) => Ok(executable),
        (true, None) => bail!("`{shown}` named no executable: it must print cargo's --message-format=json"),
        (false, _) => bail!("`{shown}` failed, {status}; run it by hand to see why"),
    }
}
