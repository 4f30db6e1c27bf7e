//! A directory with a scenario, a workspace and servers, to run lsp-soak in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::fixture::SYSTEM;

/// Starts the server and asks for two definitions.
const PAIR: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }]
[[phase]]
name = "goto"
steps = [{ open = { files = 1 } }, { definition = { per-file = 2 } }]
"#;

/// The workspace of [`PAIR`].
const SHOP: &str = "def price(item):\n    return item\n\n\nprice(1)\nprice(price(2))\n";

/// Declares the fixture's allocator in its profile, so that the purged lens works.
pub const LINKED_SYSTEM: &str = "allocator = { linked = 'system' }\n";

/// A scenario of these phases over Python files, which settles after `quiet`.
pub fn scenario(name: &str, quiet: &str, phases: &str) -> String {
    format!(
        r#"
format = 1
name = "{name}"
[workspace]
path = "workspace"
language = "python"
files = "*.py"
[readiness]
start-grace = "200ms"
quiet = "200ms"
[settle]
quiet = "{quiet}"
{phases}"#
    )
}

pub struct PreparedWorkspace(TempDir);

impl PreparedWorkspace {
    /// A directory with `scenario.toml` over a workspace of one file.
    pub fn new(scenario: &str, shop: &str) -> PreparedWorkspace {
        let ground = PreparedWorkspace(tempfile::tempdir().expect("there is a place for temporary files"));
        ground.write("scenario.toml", scenario);
        ground.write("workspace/shop.py", shop);
        ground
    }

    pub fn pair() -> PreparedWorkspace {
        PreparedWorkspace::new(&scenario("pair", "200ms", PAIR), SHOP)
    }

    /// Adds an idle window, after which the purged lens accepts the spread of two runs.
    pub fn ending_idle(self) -> PreparedWorkspace {
        let scenario = fs::read_to_string(self.join("scenario.toml")).expect("it is there");
        let asks = "{ definition = { per-file = 2 } }";
        assert!(scenario.contains(asks), "{scenario}");
        let idle = format!("{asks}, {{ idle = {{ for = '300ms' }} }}");
        self.write("scenario.toml", &scenario.replace(asks, &idle));
        self
    }

    /// Adds a server: the fixture on the system's allocator with these arguments. `profile` extends its profile.
    pub fn with_server(self, name: &str, args: &[&str], profile: &str) -> PreparedWorkspace {
        let before = fs::read_to_string(self.join("servers.toml")).unwrap_or_default();
        let server =
            format!("[server.{name}]\nprograms = ['{SYSTEM}']\nargs = {args:?}\nlanguages = ['python']\n{profile}");
        self.write("servers.toml", &(before + &server));
        self
    }

    /// Adds a server with an undetectable allocator: a shell finds the program by itself.
    pub fn launched(self, name: &str) -> PreparedWorkspace {
        self.write(
            "launcher",
            &format!("#!/bin/sh\nserver={SYSTEM}\nexec \"$server\" \"$@\"\n"),
        );
        let launcher = self.join("launcher");
        fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        let before = fs::read_to_string(self.join("servers.toml")).unwrap_or_default();
        let server = format!("[server.{name}]\nprograms = {:?}\nlanguages = ['python']\n", [launcher]);
        self.write("servers.toml", &(before + &server));
        self
    }

    /// Writes a file and creates its directories.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("the directory is ours");
        fs::write(path, text).expect("the directory is ours");
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The records in a directory, by name.
    pub fn records(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.join(name)).into_iter().flatten();
        let mut records: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        records.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        records.sort();
        records
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lsp-soak"));
        command.current_dir(self.0.path()).args(words).stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("lsp-soak starts")
    }

    /// The stdout of a command that must succeed.
    #[track_caller]
    pub fn stdout(&self, words: &[&str]) -> String {
        self.ends(0, words).0
    }

    /// Stdout and stderr of a command that must end with this code.
    #[track_caller]
    pub fn ends(&self, code: i32, words: &[&str]) -> (String, String) {
        ended(code, words, self.run(words))
    }
}

/// Stdout and stderr of a command that must have ended with this code.
#[track_caller]
pub fn ended(code: i32, words: &[&str], output: Output) -> (String, String) {
    let [said, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("reports are UTF-8"));
    assert_eq!(output.status.code(), Some(code), "{words:?}\n{said}\n{errors}");
    (said, errors)
}
