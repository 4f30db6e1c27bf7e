//! The preloaded library that gives memory back on a signal, under a program that knows nothing of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::outcome::MIB;
use crate::peer::{proc_bytes, wait_until};

/// Above what any runtime uses for itself.
const SIGNAL: &str = "50";

/// A program that is killed with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Builds the library and gives its path.
fn library(target: &Path) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--release", "--quiet", "--manifest-path"])
        .arg(root("purge-shim/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status();
    assert!(built.expect("cargo starts").success());
    target.join("release/libpurge_shim.so")
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

/// Starts the program and waits until it has freed what it had.
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
    let told = || fs::read_to_string(place.path().join(pid.to_string())).unwrap_or_default();
    wait_until("its thread", || told().ends_with('\n'));
    assert!(
        told().starts_with("ready thread=") && told().contains("libc.so"),
        "{}",
        told()
    );
    let before = proc_bytes(pid, "smaps_rollup", "Anonymous");
    let sent = Command::new("kill").args(["-s", SIGNAL, &pid.to_string()]).status();
    assert!(sent.expect("kill starts").success());
    wait_until("the memory", || told().lines().count() == 2);
    assert!(told().contains("released malloc_trim=1"), "{}", told());
    let after = proc_bytes(pid, "smaps_rollup", "Anonymous");
    // 12 MiB are still in use, in pages that are not wholly free.
    assert!(before > 200 * MIB && after < before / 2, "{before} {after}");
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
