//! From what the user starts to the program that allocates: scripts lead to interpreters, launchers to what they launch.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::host;
use crate::record::Evidence;

use super::seen;

/// Steps from one file to the next; a circle ends here.
const MOST: usize = 6;

/// So much of a script is read.
const LONGEST: u64 = 1 << 20;

/// How long `rustup` may take to say where a tool is.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where following ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The program, with links resolved.
    pub file: PathBuf,
    /// The last script on the way and the interpreter that it named.
    pub script: Option<(PathBuf, PathBuf)>,
    /// The steps, for people.
    pub evidence: Vec<Evidence>,
}

/// Follows `program` to the native one that runs in the end. `find` looks names up as the program would.
pub fn follow(program: &Path, find: &dyn Fn(&str) -> Option<PathBuf>, stop: &dyn Fn() -> bool) -> Followed {
    let mut followed = Followed {
        file: real(program),
        ..Followed::default()
    };
    let mut named = program.to_owned();
    for _ in 0..MOST {
        let here = followed.file.clone();
        let (next, why) = if let Some(interpreter) = host::named_interpreter(&here) {
            match launched(&here, &interpreter) {
                Some(next) => (next, "a shell script that ends by running"),
                None => {
                    let path = match interpreter.contains('/') {
                        true => Some(PathBuf::from(&interpreter)),
                        false => find(&interpreter),
                    };
                    let Some(path) = path else {
                        let saw = format!(
                            "`{}` is a script for `{interpreter}`, which is not on PATH",
                            here.display()
                        );
                        followed.evidence.push(seen("wrapper", saw));
                        return followed;
                    };
                    followed.script = Some((here.clone(), path.clone()));
                    (path, "a script for")
                }
            }
        } else if let Some(next) = proxied(&named, &here, stop) {
            (next, "a proxy of rustup for")
        } else {
            return followed;
        };
        let saw = format!("`{}` is {why} `{}`", here.display(), next.display());
        followed.evidence.push(seen("wrapper", saw));
        followed.file = real(&next);
        named = next;
    }
    followed
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What a shell script runs in its own place: the last `exec` of a path that is there.
fn launched(script: &Path, interpreter: &str) -> Option<PathBuf> {
    let shell = interpreter.rsplit('/').next().unwrap_or(interpreter);
    if !["sh", "bash", "dash", "ash", "ksh", "zsh"].contains(&shell) {
        return None;
    }
    let mut text = String::new();
    File::open(script).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let directory = script.parent()?;
    let paths = text.lines().filter_map(|line| executed(line, directory));
    paths.rev().find(|path| path.is_file())
}

/// The program of a line `exec "/opt/x/server" "$@"`, also beside the script: `exec "$(dirname "$0")/server"`.
fn executed(line: &str, directory: &Path) -> Option<PathBuf> {
    let rest = line.trim().strip_prefix("exec ")?.trim_start();
    let here = directory.display().to_string();
    let rest = ["$(dirname \"$0\")", "$(dirname $0)", "`dirname $0`", "${0%/*}"]
        .iter()
        .fold(rest.to_owned(), |rest, beside| rest.replace(beside, &here));
    let word = match rest.chars().next()? {
        quote @ ('"' | '\'') => rest[1..].split(quote).next()?,
        _ => rest.split_ascii_whitespace().next()?,
    };
    (word.starts_with('/') && !word.contains('$')).then(|| PathBuf::from(word))
}

/// What `rustup` runs under the name of one of its proxies.
fn proxied(named: &Path, file: &Path, stop: &dyn Fn() -> bool) -> Option<PathBuf> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem(named).filter(|name| name != "rustup")?;
    stem(file).filter(|stem| stem == "rustup")?;
    let heard = host::listen(Command::new(file).args(["which", &name]), PATIENCE, stop).ok()?;
    let path = PathBuf::from(heard.said.stdout.trim());
    path.is_file().then_some(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<PathBuf> {
        None
    }

    #[test]
    fn a_script_leads_to_its_interpreter_and_a_launcher_to_what_it_launches() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let write = |name: &str, text: &str| {
            let path = here.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let native = write("native", "\u{7f}ELF");
        let script = write("script", "#!/usr/bin/env node\n");
        let find = |name: &str| (name == "node").then(|| native.clone());
        let followed = follow(&script, &find, &|| false);
        assert_eq!(followed.file, native);
        assert_eq!(followed.script, Some((script.clone(), native.clone())));
        let launcher = write(
            "launcher",
            "#!/bin/sh\nset -e\nexec \"$(dirname \"$0\")/script\" --stdio \"$@\"\n",
        );
        let followed = follow(&launcher, &find, &|| false);
        assert_eq!((followed.file, followed.evidence.len()), (native.clone(), 2));
        let lost = follow(&script, &none, &|| false);
        assert!(lost.evidence[0].saw.ends_with("which is not on PATH"), "{lost:?}");
        assert_eq!(follow(&native, &none, &|| false).evidence, []);
    }

    #[test]
    fn a_circle_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(directory.path()).unwrap().join("again");
        fs::write(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", path.display())).unwrap();
        assert_eq!(follow(&path, &none, &|| false).evidence.len(), MOST);
    }

    #[test]
    fn only_a_path_that_is_written_out_is_followed() {
        let here = Path::new("/here");
        for (line, path) in [
            ("exec /opt/x/server \"$@\"", Some("/opt/x/server")),
            ("  exec '/opt/my server' -x", Some("/opt/my server")),
            ("exec ${0%/*}/server", Some("/here/server")),
            ("exec \"$program\" \"$@\"", None),
            ("exec node server.js", None),
            ("executive /opt", None),
            ("exec ", None),
        ] {
            assert_eq!(executed(line, here), path.map(PathBuf::from), "{line}");
        }
    }
}
