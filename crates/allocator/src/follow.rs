//! From the started program to the one that allocates: scripts lead to interpreters, launchers to their programs.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use proctree::host;
use record::Evidence;

use super::probe::Subject;
use super::rustup::{Proxied, proxied};
use super::seen;

/// Steps from one file to the next; a circle ends here.
const MOST: usize = 6;

/// So much of a script is read.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    pub file: PathBuf,
    /// The last script on the way and the interpreter that it named.
    pub script: Option<(PathBuf, PathBuf)>,
    /// Why the program cannot run, and what to do, where that is known.
    pub missing: Option<String>,
    pub evidence: Vec<Evidence>,
}

/// Follows a server to the native program that runs in the end. `find` looks names up as the server would.
pub fn follow(subject: &Subject, find: &dyn Fn(&str) -> Option<PathBuf>, stop: &dyn Fn() -> bool) -> Followed {
    let mut named = subject.program.clone();
    let mut followed = Followed {
        file: real(&named),
        ..Followed::default()
    };
    for _ in 0..MOST {
        let here = followed.file.clone();
        let (next, why) = if let Some(interpreter) = host::named_interpreter(&here) {
            match launched(&here, &interpreter, find).as_deref() {
                Some([next, script]) if host::named_interpreter(next).is_none() => {
                    followed.script = Some((real(script), next.clone()));
                    (next.clone(), "a shell script that ends by running")
                }
                Some([next, ..]) => (next.clone(), "a shell script that ends by running"),
                Some([]) | None => {
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
        } else {
            match proxied(subject, &named, stop) {
                Some(Proxied::Program(next)) => (next, "a proxy of rustup for"),
                Some(Proxied::Missing(cure)) => {
                    let missing = lacks_component(&named, &cure);
                    followed.evidence.push(seen("wrapper", missing.clone()));
                    followed.missing = Some(missing);
                    return followed;
                }
                None => return followed,
            }
        };
        let saw = format!("`{}` is {why} `{}`", here.display(), next.display());
        followed.evidence.push(seen("wrapper", saw));
        followed.file = real(&next);
        named = next;
    }
    followed
}

fn lacks_component(proxy: &Path, cure: &str) -> String {
    let name = proxy.file_stem().unwrap_or_default().to_string_lossy();
    format!(
        "`{}` is a proxy of rustup, whose toolchain has no `{name}`: install it with `{cure}`",
        proxy.display()
    )
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What a shell script runs: the last program that is there among those that it runs in its own place or passes its
/// arguments on to.
fn launched(script: &Path, interpreter: &str, find: &dyn Fn(&str) -> Option<PathBuf>) -> Option<Vec<PathBuf>> {
    let shell = interpreter.rsplit('/').next().unwrap_or(interpreter);
    if !["sh", "bash", "dash", "ash", "ksh", "zsh"].contains(&shell) {
        return None;
    }
    let mut text = String::new();
    File::open(script).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let directory = script.parent()?;
    let mut beside = BESIDE.map(str::to_owned).to_vec();
    let mut last = None;
    for line in text.lines().map(str::trim) {
        beside.extend(
            directory_in(line)
                .into_iter()
                .flat_map(|name| [format!("${{{name}}}"), format!("${name}")]),
        );
        let words = words(line, directory, &beside);
        let program = words.first().and_then(|word| match word.starts_with('/') {
            true => Some(PathBuf::from(word)).filter(|path| path.is_file()),
            false if word.contains(['/', '$', '=']) => None,
            false => find(word),
        });
        // An interpreter runs the program that is named after it.
        let run = words
            .iter()
            .skip(1)
            .find(|word| !word.starts_with('-'))
            .map(PathBuf::from);
        let run = run.filter(|path| path.is_absolute() && path.is_file());
        last = program
            .map(|program| [program].into_iter().chain(run).collect())
            .or(last);
    }
    last
}

/// How a script names the directory that it is in.
const BESIDE: [&str; 4] = ["$(dirname \"$0\")", "$(dirname $0)", "`dirname $0`", "${0%/*}"];

/// The variable that a line sets to the directory of the script.
fn directory_in(line: &str) -> Option<&str> {
    let line = ["export ", "local ", "readonly "]
        .iter()
        .fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    let (name, value) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_own = value.contains("$0") || value.contains("BASH_SOURCE");
    (is_name && is_own && value.contains("dirname") && !value.contains("/..")).then_some(name)
}

/// The words of a line `exec "/opt/x/server" -v "$@"`, or of one that passes the arguments of the script on; none of
/// other lines. What stands for the script's own directory is replaced by it.
fn words(line: &str, directory: &Path, beside: &[String]) -> Vec<String> {
    let executes = line.strip_prefix("exec ");
    let passes = ["\"$@\"", "$@", "$*"].iter().any(|all| line.contains(all));
    let Some(line) = executes.or(Some(line).filter(|line| passes && !line.starts_with('#'))) else {
        return Vec::new();
    };
    let here = directory.display().to_string();
    let line = beside
        .iter()
        .fold(line.to_owned(), |line, beside| line.replace(beside, &here));
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ' | '\t', None) => words.push(String::new()),
            (c, _) => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<PathBuf> {
        None
    }

    fn follow(program: &Path, find: &dyn Fn(&str) -> Option<PathBuf>, stop: &dyn Fn() -> bool) -> Followed {
        super::follow(&subject(program), find, stop)
    }

    fn subject(program: &Path) -> Subject {
        Subject {
            program: program.to_owned(),
            ..Subject::default()
        }
    }

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_script_leads_to_its_interpreter_and_a_launcher_to_what_it_launches() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let write = |name: &str, text: &str| write(&here, name, text);
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
        let here = fs::canonicalize(directory.path()).unwrap();
        let text = format!("#!/bin/sh\nexec {} \"$@\"\n", here.join("again").display());
        let path = write(&here, "again", &text);
        assert_eq!(follow(&path, &none, &|| false).evidence.len(), MOST);
    }

    #[test]
    fn a_shell_wrapper_leads_to_what_it_passes_its_arguments_on_to() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let write = |name: &str, text: &str| write(&here, name, text);
        let (server, node) = (write("my server", "\u{7f}ELF"), write("node", "\u{7f}ELF"));
        let cli = write("cli.js", "#!/usr/bin/env node\n");
        let find = |name: &str| (name == "node").then(|| node.clone());
        for (line, file, script) in [
            ("exec \"$(dirname \"$0\")/my server\" \"$@\"", Some(&server), None),
            ("  exec \"$HERE/my server\" -x", Some(&server), None),
            ("\"${0%/*}/my server\" --log x \"$@\"", Some(&server), None),
            ("\"$HERE/my server\" \"$@\"", Some(&server), None),
            ("\"${HERE}/my server\" $@", Some(&server), None),
            (
                "exec node --no-warnings \"$HERE/cli.js\" \"$@\"",
                Some(&node),
                Some(&cli),
            ),
            ("node $HERE/cli.js \"$@\"", Some(&node), Some(&cli)),
            ("exec \"$program\" \"$@\"", None, None),
            ("exec nobody \"$@\"", None, None),
            ("# node \"$@\"", None, None),
            ("node $HERE/cli.js", None, None),
            ("executive /opt", None, None),
            ("exec ", None, None),
        ] {
            let text = format!("#!/bin/sh\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n{line}\n");
            let wrapper = write("wrapper", &text);
            let followed = follow(&wrapper, &find, &|| false);
            let expected = file.cloned().unwrap_or_else(|| real(Path::new("/bin/sh")));
            assert_eq!(followed.file, expected, "{line}");
            let of = followed.script.map(|(script, _)| script);
            assert_eq!(of, script.or(file.is_none().then_some(&wrapper)).cloned(), "{line}");
        }
    }

    #[test]
    fn a_proxy_of_rustup_without_its_component_is_said_to_run_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let rustup = directory.path().join("rustup");
        // No script, or it would be followed to its shell.
        fs::copy("/bin/false", &rustup).unwrap();
        fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755)).unwrap();
        let proxy = directory.path().join("rust-analyzer");
        std::os::unix::fs::symlink(&rustup, &proxy).unwrap();
        let missing = follow(&proxy, &none, &|| false).missing.unwrap_or_default();
        assert!(missing.ends_with("`rustup component add rust-analyzer`"), "{missing}");
        assert_eq!(follow(&rustup, &none, &|| false).missing, None);
    }

    #[test]
    fn a_proxy_of_rustup_is_asked_in_the_environment_of_the_server() {
        let directory = tempfile::tempdir().unwrap();
        // No script, which would be followed to its shell: it prints its arguments, and then the variable.
        let rustup = directory.path().join("rustup");
        fs::copy("/usr/bin/printenv", &rustup).unwrap();
        let proxy = directory.path().join("RUSTUP_HOME");
        std::os::unix::fs::symlink(&rustup, &proxy).unwrap();
        let tool = write(directory.path(), "tool", "\u{7f}ELF");
        let mut server = subject(&proxy);
        server.env = vec![
            ("which".into(), None),
            ("RUSTUP_HOME".into(), Some(tool.clone().into_os_string())),
        ];
        let missing = super::follow(&subject(&proxy), &none, &|| false).missing;
        assert!(missing.is_some());
        assert_eq!(super::follow(&server, &none, &|| false).file, real(&tool));
    }
}
