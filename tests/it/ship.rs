//! The lines of `tune --print`, read by their target programs: every value survives unchanged.

use std::fs;
use std::process::{Command, Output};

use analysis::tune::Server;
use record::{AllocatorFacts, AllocatorFamily, CellFacts};
use report::sweep::ship::Form;
use report::sweep::ship::text;
use serde_json::Value;

/// Values that break quotes, escapes and comments.
const ODD: [&str; 8] = [
    "plain,value:1",
    "it's \"50%\" of $HOME and `id` \\ $(id) %n ~",
    "two\nlines\tand a tab",
    "ends\n\n",
    "\u{1b}[31mred\u{7f}\u{85}\\033\r",
    "\u{202e}backwards\u{2028}é日本",
    "```\n#! */ // -- ]]",
    "",
];

fn server(family: AllocatorFamily, prefix: Option<&str>) -> Server {
    Server {
        name: "rust-analyzer".to_owned(),
        program: "rust-analyzer".to_owned(),
        allocator: Some(AllocatorFacts {
            family,
            prefix: prefix.map(str::to_owned),
            variable: Some("_RJEM_MALLOC_CONF".to_owned()),
            ..AllocatorFacts::default()
        }),
        ..Server::default()
    }
}

fn glibc() -> Server {
    server(AllocatorFamily::Glibc, None)
}

/// A cell that sets `A`, with an argument and processors, which some forms only mention in comments.
fn cell(value: &str) -> CellFacts {
    CellFacts {
        env: [("A".to_owned(), value.to_owned())].into(),
        args: vec![value.to_owned()],
        cpus: Some("0-1".to_owned()),
        ..CellFacts::default()
    }
}

#[track_caller]
fn written(form: Form, server: &Server, cell: &CellFacts) -> String {
    let text = text(form, server, cell).expect("it can be written so");
    let control = text.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
    assert_eq!(control, None, "{text:?}");
    text
}

#[track_caller]
fn heard(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("it is UTF-8")
}

#[test]
fn a_shell_takes_lines_of_the_environment_as_they_are_meant() {
    for value in ODD {
        let lines = written(Form::Env, &glibc(), &cell(value));
        // In a child process, because the lines export.
        let script = format!("{lines}exec awk 'BEGIN {{ printf \"%s\", ENVIRON[\"A\"] }}'");
        let output = Command::new("sh")
            .args(["-c", &script])
            .output()
            .expect("there is a shell");
        assert_eq!(heard(&output), value, "{lines}");
    }
}

#[test]
fn an_editor_takes_its_members_as_they_are_meant() {
    for value in ODD {
        let text = written(Form::Vscode, &glibc(), &cell(value));
        // Like a reader of JSON with comments.
        let members: String = text.lines().filter(|line| !line.starts_with("//")).collect();
        let read: Value = serde_json::from_str(&format!("{{{}}}", members.trim_end_matches(','))).expect("it is JSON");
        assert_eq!(read["rust-analyzer.server.extraEnv"]["A"], value);
        assert_eq!(read["rust-analyzer.server.path"], "/path/to/rust-analyzer-tuned");
    }
}

#[test]
fn a_build_and_a_program_take_the_options_as_they_are_meant() {
    let server = server(AllocatorFamily::Jemalloc, Some("_rjem_"));
    let place = tempfile::tempdir().expect("there is a place for temporary files");
    let mut program = String::new();
    let mut checks = String::new();
    for (number, value) in ODD.into_iter().enumerate() {
        let cell = CellFacts {
            env: [("_RJEM_MALLOC_CONF".to_owned(), value.to_owned())].into(),
            ..CellFacts::default()
        };
        let read: toml::Table = toml::from_str(&written(Form::Cargo, &server, &cell)).expect("it is TOML");
        assert_eq!(read["env"]["JEMALLOC_SYS_WITH_MALLOC_CONF"].as_str(), Some(value));
        let text = written(Form::Rust, &server, &cell).replace("_rjem_malloc_conf", &format!("conf_{number}"));
        program.push_str(&format!("mod m{number} {{\n{text}}}\n"));
        checks.push_str(&format!(
            "assert_eq!(m{number}::MALLOC_CONF, &{:?});\n",
            [value.as_bytes(), b"\0"].concat()
        ));
    }
    let source = place.path().join("conf.rs");
    fs::write(&source, format!("{program}fn main() {{\n{checks}}}\n")).expect("the place is ours");
    let built = place.path().join("conf");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", "2024", "-o"])
        .args([&built, &source])
        .output()
        .expect("what built this test is there");
    heard(&output);
    heard(&Command::new(built).output().expect("it was built"));
}
