//! From the started program to the one that allocates: scripts lead to interpreters, launchers to their programs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::paths::real;
use proctree::host::{self, Which};
use record::Evidence;

use super::evidence;
use super::probe::Context;
use super::rustup::{Proxied, proxied};

/// Steps from one file to the next; a circle ends here.
const MOST: usize = 6;

/// Bytes of a script that are read, at most.
const LONGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    pub file: PathBuf,
    /// The last script on the way and the interpreter that it named.
    pub script: Option<(PathBuf, PathBuf)>,
    /// Set if the program is known not to run: the reason, and what to do.
    pub missing: Option<String>,
    pub evidence: Vec<Evidence>,
}

/// Follows a server to the native program that runs in the end.
pub fn follow(context: &Context<'_>) -> Followed {
    let mut named = context.subject.program.clone();
    let mut followed = Followed {
        file: real(&named),
        ..Followed::default()
    };
    for _ in 0..MOST {
        let step = match host::named_interpreter(&followed.file) {
            Some(interpreter) => followed.step_from_script(&interpreter, context),
            None => followed.step_from_proxy(&named, context),
        };
        let Some(Step { next, why }) = step else {
            return followed;
        };
        followed.note(format!("`{}` is {why} `{}`", followed.file.display(), next.display()));
        followed.file = real(&next);
        named = next;
    }
    followed
}

/// One step on the way to the native program.
struct Step {
    next: PathBuf,
    /// The role of the present file for the next one, as words between the two.
    why: &'static str,
}

impl Followed {
    fn note(&mut self, saw: String) {
        self.evidence.push(evidence("wrapper", saw));
    }

    /// From a script to what it launches, or else to its interpreter; `None` if that is not on `PATH`.
    fn step_from_script(&mut self, interpreter: &str, context: &Context<'_>) -> Option<Step> {
        if let Some(launch) = launch_of_shell_script(&self.file, interpreter, &context.subject.which()) {
            if let Some(script) = launch.script
                && host::named_interpreter(&launch.program).is_none()
            {
                self.script = Some((real(&script), launch.program.clone()));
            }
            return Some(Step {
                next: launch.program,
                why: "a shell script that ends by running",
            });
        }
        let path = if interpreter.contains('/') {
            Some(PathBuf::from(interpreter))
        } else {
            context.subject.which().program(interpreter)
        };
        let Some(path) = path else {
            self.note(format!(
                "`{}` is a script for `{interpreter}`, which is not on PATH",
                self.file.display()
            ));
            return None;
        };
        self.script = Some((self.file.clone(), path.clone()));
        Some(Step {
            next: path,
            why: "a script for",
        })
    }

    /// From a proxy of rustup to its program; `None` for other programs, and for a proxy without its component.
    fn step_from_proxy(&mut self, program: &Path, context: &Context<'_>) -> Option<Step> {
        match proxied(context.subject, program, context.cancel)? {
            Proxied::Program(next) => Some(Step {
                next,
                why: "a proxy of rustup for",
            }),
            Proxied::Missing(cure) => {
                let missing = lacks_component(program, &cure);
                self.note(missing.clone());
                self.missing = Some(missing);
                None
            }
        }
    }
}

fn lacks_component(proxy: &Path, cure: &str) -> String {
    let name = proxy.file_stem().unwrap_or_default().to_string_lossy();
    format!(
        "`{}` is a proxy of rustup, whose toolchain has no `{name}`: install it with `{cure}`",
        proxy.display()
    )
}

/// A program that a shell script runs.
struct Launch {
    program: PathBuf,
    /// The existing file that its first argument names: an interpreter runs it.
    script: Option<PathBuf>,
}

/// The last existing program that a shell script runs in its own place or passes its arguments on to. `None` for scripts
/// of other interpreters.
fn launch_of_shell_script(script: &Path, interpreter: &str, which: &Which) -> Option<Launch> {
    let shell = interpreter.rsplit('/').next().unwrap_or(interpreter);
    if !["sh", "bash", "dash", "ash", "ksh", "zsh"].contains(&shell) {
        return None;
    }
    let mut text = String::new();
    File::open(script).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let directory = script.parent()?;
    let mut own_directory = OWN_DIRECTORY.map(str::to_owned).to_vec();
    let mut last = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = directory_variable(line) {
            own_directory.extend([format!("${{{name}}}"), format!("${name}")]);
        }
        let words = command_words(line, directory, &own_directory);
        if let Some(program) = words.first().and_then(|word| find_program(word, which)) {
            let argument = words.iter().skip(1).find(|word| !word.starts_with('-'));
            let script = argument.map(PathBuf::from);
            last = Some(Launch {
                program,
                script: script.filter(|path| path.is_absolute() && path.is_file()),
            });
        }
    }
    last
}

/// The program that the first word of a command means; `None` if it is not there, or only the shell knows it.
fn find_program(word: &str, which: &Which) -> Option<PathBuf> {
    if word.starts_with('/') {
        return Some(PathBuf::from(word)).filter(|path| path.is_file());
    }
    if word.contains(['/', '$', '=']) {
        return None;
    }
    which.program(word)
}

/// Expressions by which a script names the directory that it is in.
const OWN_DIRECTORY: [&str; 4] = ["$(dirname \"$0\")", "$(dirname $0)", "`dirname $0`", "${0%/*}"];

/// The variable that a line sets to the directory of the script.
fn directory_variable(line: &str) -> Option<&str> {
    let mut assignment = line;
    for word in ["export ", "local ", "readonly "] {
        assignment = assignment.strip_prefix(word).unwrap_or(assignment);
    }
    let (name, value) = assignment.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let names_script = value.contains("$0") || value.contains("BASH_SOURCE");
    if is_name && names_script && value.contains("dirname") && !value.contains("/..") {
        Some(name)
    } else {
        None
    }
}

/// The words of a line `exec "/opt/x/server" -v "$@"`, or of one that passes the arguments of the script on; none of
/// other lines. Expressions for the script's own directory are replaced by it.
fn command_words(line: &str, directory: &Path, own_directory: &[String]) -> Vec<String> {
    let passes_arguments = ["\"$@\"", "$@", "$*"].iter().any(|all| line.contains(all));
    let mut command = if let Some(command) = line.strip_prefix("exec ") {
        command.to_owned()
    } else if passes_arguments && !line.starts_with('#') {
        line.to_owned()
    } else {
        return Vec::new();
    };
    let directory = directory.display().to_string();
    for expression in own_directory {
        command = command.replace(expression, &directory);
    }
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ' | '\t', None) => words.push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::probe::Subject;
    use super::*;
    use base::Cancel;
    use std::fs;

    fn follow(program: &Path) -> Followed {
        follow_with_node(program, None)
    }

    /// Follows a program with the directory of `node`, if given, as the search path.
    fn follow_with_node(program: &Path, node: Option<&Path>) -> Followed {
        let mut subject = subject(program);
        if let Some(directory) = node.and_then(Path::parent) {
            subject.path = directory.into();
        }
        super::follow(&Context {
            subject: &subject,
            cancel: &Cancel::default(),
        })
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

    fn program(directory: &Path, name: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = write(directory, name, "\u{7f}ELF");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_script_leads_to_its_interpreter_and_a_launcher_to_what_it_launches() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let native = program(&here, "node");
        let script = write(&here, "script", "#!/usr/bin/env node\n");
        let followed = follow_with_node(&script, Some(&native));
        assert_eq!(followed.file, native);
        assert_eq!(followed.script, Some((script.clone(), native.clone())));
        let launcher = write(
            &here,
            "launcher",
            "#!/bin/sh\nset -e\nexec \"$(dirname \"$0\")/script\" --stdio \"$@\"\n",
        );
        let followed = follow_with_node(&launcher, Some(&native));
        assert_eq!((followed.file, followed.evidence.len()), (native.clone(), 2));
        let lost = follow(&script);
        assert!(lost.evidence[0].saw.ends_with("which is not on PATH"), "{lost:?}");
        assert_eq!(follow(&native).evidence, []);
    }

    #[test]
    fn a_circle_ends() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let text = format!("#!/bin/sh\nexec {} \"$@\"\n", here.join("again").display());
        let path = write(&here, "again", &text);
        assert_eq!(follow(&path).evidence.len(), MOST);
    }

    #[test]
    fn a_shell_wrapper_leads_to_what_it_passes_its_arguments_on_to() {
        let directory = tempfile::tempdir().unwrap();
        let here = fs::canonicalize(directory.path()).unwrap();
        let server = write(&here, "my server", "\u{7f}ELF");
        let node = program(&here, "node");
        let cli = write(&here, "cli.js", "#!/usr/bin/env node\n");
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
            let wrapper = write(&here, "wrapper", &text);
            let followed = follow_with_node(&wrapper, Some(&node));
            let expected = file.cloned().unwrap_or_else(|| real(Path::new("/bin/sh")));
            assert_eq!(followed.file, expected, "{line}");
            // Without a program to follow, the wrapper itself is the script.
            let expected = if file.is_none() { Some(&wrapper) } else { script };
            let followed_script = followed.script.map(|(script, _)| script);
            assert_eq!(followed_script.as_ref(), expected, "{line}");
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
        let missing = follow(&proxy).missing.unwrap_or_default();
        assert!(missing.ends_with("`rustup component add rust-analyzer`"), "{missing}");
        assert_eq!(follow(&rustup).missing, None);
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
        assert!(follow(&proxy).missing.is_some());
        let followed = super::follow(&Context {
            subject: &server,
            cancel: &Cancel::default(),
        });
        assert_eq!(followed.file, real(&tool));
    }
}
