//! Builds a server with its profile's command and finds the program.

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use crate::progress;
use crate::resolve::shim::is_checkout;
use crate::resolve::{LIBRARY, Shim};
use base::units::Span;
#[cfg(unix)]
use proctree::child;
use proctree::host;

/// Last lines of a hidden build that an error shows.
const SHOWN_LINES: usize = 20;

/// Runs a profile's `build` command, with its stderr shown. The program is the last `executable` in the command's
/// cargo JSON messages. Dropping the future kills the command and its helpers.
pub async fn build(label: &str, command: &[String], time: Option<Span>, quiet: bool) -> anyhow::Result<PathBuf> {
    let [program, args @ ..] = command else {
        bail!("the profile of `{label}` has an empty `build` command")
    };
    let shown = command.join(" ");
    if !quiet {
        let minutes = time.map(|Span(time)| time.as_secs().div_ceil(60));
        let lasts = minutes.map_or_else(String::new, |minutes| {
            format!(" (the first time, on two processors, about {minutes} min)")
        });
        progress::say(&format!("building `{label}`{lasts}: {shown}"));
    }
    let mut build = Command::new(program);
    build
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(if quiet { Stdio::piped() } else { Stdio::inherit() })
        .kill_on_drop(true);
    #[cfg(unix)]
    child::tie(build.as_std_mut());
    let (mut child, _tied) = host::start(|| build.spawn(), Child::id).with_context(|| {
        format!("cannot build `{label}`: `{program}` cannot be run; install it, or name the path of a program")
    })?;
    let stdout = child.stdout.take();
    let stdout = stdout.context("the build command was started without a pipe")?;
    let (executable, tail) = tokio::join!(executable(stdout), tail(child.stderr.take()));
    let executable = executable.with_context(|| format!("cannot read what `{shown}` prints"))?;
    let status = child.wait().await;
    let status = status.with_context(|| format!("cannot wait for `{shown}`"))?;
    match (status.success(), executable) {
        (true, Some(executable)) => Ok(executable),
        (true, None) => bail!("`{shown}` printed no executable: it must print cargo's --message-format=json"),
        (false, _) => bail!("`{shown}` failed, {status}; {}{tail}", cure(command)),
    }
}

/// The last program in cargo's messages.
async fn executable(stdout: impl AsyncRead + Unpin) -> std::io::Result<Option<PathBuf>> {
    let mut lines = BufReader::new(stdout).lines();
    let mut executable = None;
    while let Some(line) = lines.next_line().await? {
        let message: Option<Value> = serde_json::from_str(&line).ok();
        executable = message.as_ref().and_then(artifact).or(executable);
    }
    Ok(executable)
}

/// The program, or the `cdylib`, that a cargo message names.
fn artifact(message: &Value) -> Option<PathBuf> {
    if let Some(program) = message["executable"].as_str() {
        return Some(PathBuf::from(program));
    }
    let kinds = message["target"]["kind"].as_array()?;
    if !kinds.iter().any(|kind| kind == "cdylib") {
        return None;
    }
    message["filenames"][0].as_str().map(PathBuf::from)
}

/// The last lines of a hidden build, each after a line break.
async fn tail(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let Some(stderr) = stderr else {
        return String::new();
    };
    let mut reader = BufReader::new(stderr);
    let (mut kept, mut line) = (VecDeque::new(), Vec::new());
    // A read error ends the text like the end of the stream.
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        kept.push_back(format!("\n{}", String::from_utf8_lossy(&line).trim_end()));
        line.clear();
        if kept.len() > SHOWN_LINES {
            kept.pop_front();
        }
    }
    kept.into_iter().collect()
}

fn cure(command: &[String]) -> &'static str {
    let here = env::current_dir().unwrap_or_default();
    let of_ours = command.iter().any(|word| word.starts_with("fixture-"));
    if of_ours && command[0] == "cargo" && !here.ancestors().any(is_checkout) {
        "run this in a checkout of lsp-soak, or name the path of a fixture binary"
    } else {
        "run it by hand to see why"
    }
}

/// The preloaded release library, built if necessary; `None` where a script takes its place.
pub async fn library(shim: &Shim, quiet: bool) -> anyhow::Result<Option<PathBuf>> {
    let manifest = match shim {
        Shim::Node => return Ok(None),
        Shim::File(file) => return Ok(Some(file.clone())),
        Shim::Build(manifest) => manifest.display().to_string(),
    };
    let command = [
        "cargo", "build", "--profile", "preloaded", "--locked", "--manifest-path", &manifest, "--message-format=json",
    ];
    let file = build(LIBRARY, &command.map(str::to_owned), None, quiet).await?;
    // The canonical path, as in the process's mappings.
    let found = fs::canonicalize(&file);
    found
        .map(Some)
        .with_context(|| format!("cannot find `{}`, which was just built", file.display()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept() {
        let text: String = (0..100).map(|n| format!("line {n}\r\n")).collect();
        let kept = tail(Some(text.as_bytes())).await;
        assert_eq!(kept.lines().skip(1).count(), SHOWN_LINES);
        assert!(kept.starts_with("\nline 80\n") && kept.ends_with("\nline 99"), "{kept}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_quiet_build_says_why_it_failed() {
        let command = ["sh", "-c", "echo the reason >&2; exit 3"].map(str::to_owned);
        let error = build("label", &command, None, true)
            .await
            .expect_err("the command fails");
        assert!(error.to_string().ends_with("\nthe reason"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_build_that_is_dropped_takes_its_helpers_along() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let file = directory.path().join("helper");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let command = ["sh", "-c", &script].map(str::to_owned);
        let helper = || fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok();
        let announced = async {
            while helper().is_none() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            built = build("label", &command, None, true) => panic!("{built:?}"),
            () = announced => {}
        }
        let stat = PathBuf::from(format!("/proc/{}/stat", helper().expect("it was told")));
        let lives = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
        for _ in 0..1000 {
            if !lives() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("the helper lives on");
    }

    #[test]
    fn the_sources_of_lsp_soak_are_recognised() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(is_checkout(here) && !is_checkout(&here.join("src")));
    }
}
