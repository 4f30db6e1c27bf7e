//! The preloaded library that releases memory on a signal, in a program that does not know of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::outcome::MIB;
use crate::peer::{proc_bytes, wait_until};

/// A signal number above those that runtimes use.
const SIGNAL: &str = "50";

/// A program that is killed with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Builds the library and returns its path.
fn library(target: &Path) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args([
            "build", "--locked", "--profile", "preloaded", "--quiet", "--manifest-path",
        ])
        .arg(root("purge-shim/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status();
    assert!(built.expect("cargo starts").success());
    target.join("preloaded/libpurge_shim.so")
}

fn churn(target: &Path) -> PathBuf {
    let program = target.join("churn");
    let built = Command::new("cc")
        .args(["-O1", "-pthread", "-o"])
        .arg(&program)
        .arg(root("fixtures/churn/churn.c"))
        .status();
    assert!(built.expect("there is a C compiler").success());
    program
}

/// Starts the program and waits until it has freed its memory.
fn start(program: &Path, library: &Path, directory: &Path) -> Running {
    let child = Command::new(program)
        .env("LD_PRELOAD", library)
        .env("LSP_SOAK_PURGE_DIR", directory)
        .env("LSP_SOAK_PURGE_SIGNAL", SIGNAL)
        .stdout(Stdio::piped())
        .spawn();
    let mut running = Running(child.expect("it was just built"));
    let mut said = String::new();
    let stdout = running.0.stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut said).expect("it can be read");
    assert_eq!(said, "freed\n");
    running
}

#[test]
fn what_glibc_keeps_of_four_threads_comes_back_on_a_signal() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let running = start(&churn(place.path()), &library(place.path()), place.path());
    let pid = running.0.id();
    let log = place.path().join(pid.to_string());
    wait_until("its thread", || read_log(&log).ends_with('\n'));
    let ready = read_log(&log);
    assert!(
        ready.starts_with("ready thread=") && ready.contains("libc.so"),
        "{ready}"
    );
    let before = proc_bytes(pid, "smaps_rollup", "Anonymous");
    let sent = Command::new("kill").args(["-s", SIGNAL, &pid.to_string()]).status();
    assert!(sent.expect("kill starts").success());
    wait_until("the memory", || read_log(&log).lines().count() == 2);
    let released = read_log(&log);
    assert!(released.contains("released malloc_trim=1"), "{released}");
    let after = proc_bytes(pid, "smaps_rollup", "Anonymous");
    // 12 MiB are still in use, scattered over pages.
    assert!(before > 200 * MIB && after < before / 2, "{before} {after}");
}

/// The library's log so far; empty before there is a file.
fn read_log(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The output of a shell script that runs with the library.
#[track_caller]
fn shell(place: &Path, script: &str, pids: Option<&str>) -> String {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(place)
        .env("LD_PRELOAD", library(place))
        .env("LSP_SOAK_PURGE_DIR", place)
        .env("LSP_SOAK_PURGE_SIGNAL", SIGNAL);
    command.envs(pids.map(|pids| ("LSP_SOAK_PURGE_PIDS", pids)));
    let output = command.output().expect("there is a shell");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("it says plain text")
}

/// Makes the shell itself release memory, and waits for the report.
const GIVE_BACK: &str = r#"
kill -s 50 $$
left=500
until grep -q released $$; do
    left=$((left - 1)); [ $left -gt 0 ] || { echo "nothing was given back" >&2; exit 1; }
    sleep 0.02
done
"#;

#[test]
fn a_program_that_uses_any_descriptor_again_finds_only_its_own_lines_there() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let reuse = "for number in 3 4 5 6 7 8 9; do eval \"exec $number>own$number\"; done\n";
    let close = "for number in 3 4 5 6 7 8 9; do eval \"exec $number>&-\"; done\n";
    let script = format!(
        "ls -l /proc/$$/fd | grep -c \"$PWD/$$\"\n{reuse}{GIVE_BACK}echo own >&3\n{close}kill -s 50 $$; cat own*; tail -n 1 $$"
    );
    let said = shell(place.path(), &script, None);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["0", "own"], "{said}");
    assert!(lines.len() == 3 && lines[2].starts_with("released "), "{said}");
}

#[test]
fn what_a_link_points_to_is_left_alone() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let script = "echo precious >soft; cp soft hard; rm $$; ln -s soft $$; exec sh -c \
                  'cat soft; rm $$; ln hard $$; exec sh -c \"cat hard\"'";
    assert_eq!(shell(place.path(), script, None), "precious\nprecious\n");
}

#[test]
fn a_program_that_becomes_another_keeps_its_file_and_says_ready_again() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let said = shell(place.path(), "exec sh -c 'cut -d \" \" -f 1 $$'", None);
    assert_eq!(said, "ready\nready\n");
}

#[test]
fn in_another_namespace_of_process_ids_the_library_does_nothing() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let script = "ls /proc/$$/task | wc -l; ls | grep -c '^[0-9]*$' || true";
    assert_eq!(shell(place.path(), script, Some("pid:[1]")), "1\n0\n");
    let own = fs::read_link("/proc/self/ns/pid").expect("there is such a link");
    let said = shell(place.path(), script, own.to_str());
    assert!(said.starts_with("2\n") && !said.ends_with("\n0\n"), "{said}");
}

/// Creates a user namespace, and enters another process's.
const ENTER: &str = r#"
rm -f within
unshare -U echo made 2>/dev/null || echo refused
unshare -U sh -c 'touch within; exec sleep 60' 2>/dev/null &
until [ -e within ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
nsenter -U --preserve-credentials -t $! echo entered 2>/dev/null || echo refused
{ kill $!; wait; } 2>/dev/null
"#;

#[test]
fn a_program_goes_into_a_namespace_of_users_as_it_does_without_the_library() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let plain = Command::new("sh").args(["-c", ENTER]).current_dir(&place).output();
    let plain = String::from_utf8(plain.expect("there is a shell").stdout).expect("it says plain text");
    assert_eq!(plain.lines().count(), 2, "{plain}");
    assert_eq!(shell(place.path(), ENTER, None), plain);
}

#[test]
fn without_its_variables_the_library_does_nothing() {
    let place = TempDir::new().expect("there is a place for temporary files");
    let output = Command::new("sh")
        .args(["-c", "ls /proc/self/task | wc -l"])
        .env("LD_PRELOAD", library(place.path()))
        .output()
        .expect("there is a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
