//! Facts about the program under test outside the protocol: its hash and its version.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::subprocess::ask;
use base::Cancel;

/// Starting a virtual machine or an interpreter on a cold disk takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Characters of a version that are kept.
const LONGEST: usize = 200;

/// SHA-256 of a file, in hexadecimal.
pub fn file_sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// True if a program runs with rights of its own, so that its loader takes nothing from the
/// environment (ld.so(8), secure-execution mode).
#[cfg(unix)]
pub fn is_privileged(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let is_set = std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o6000 != 0);
    is_set || has_capabilities(path)
}

/// Other systems have no such loader.
#[cfg(not(unix))]
pub fn is_privileged(_: &Path) -> bool {
    false
}

/// True if a file has capabilities that the user lacks.
#[cfg(target_os = "linux")]
fn has_capabilities(path: &Path) -> bool {
    let attached = rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 64][..]);
    attached.is_ok() && !rustix::process::geteuid().is_root()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_capabilities(_: &Path) -> bool {
    false
}

/// The line with the version that the command prints; `None` if it fails, prints nothing, takes too long, or is cancelled. Its
/// stdin is empty, and none of its processes stays.
pub fn version_line(command: &mut Command, cancel: &Cancel) -> Option<String> {
    version_line_within(command, PATIENCE, cancel)
}

/// A line with a version, else the first line; of stdout before stderr.
fn version_line_within(command: &mut Command, patience: Duration, cancel: &Cancel) -> Option<String> {
    let answer = ask(command, patience, cancel)?;
    let (stdout, stderr) = (&*answer.stdout, &*answer.stderr);
    let line = line_with_version(stdout)
        .or_else(|| line_with_version(stderr))
        .or_else(|| lines(stdout).next())
        .or_else(|| lines(stderr).next())?;
    Some(shown(line))
}

/// The line with the version in what a program has printed.
pub fn version_in(text: &str) -> Option<String> {
    line_with_version(text).map(shown)
}

/// The line as reports show it: bounded, without control characters.
fn shown(line: &str) -> String {
    let number = line.strip_prefix("Version ").unwrap_or(line);
    number.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The first line that has a version and is no notice. Launchers of packages print that a newer one exists, before the
/// version or after it.
fn line_with_version(text: &str) -> Option<&str> {
    lines(text).find(|line| !is_notice(line) && has_version(line))
}

fn is_notice(line: &str) -> bool {
    const BEGINNINGS: [&str; 7] = ["warn", "npm ", "notice", "[notice]", "note:", "info", "(node:"];
    let lower = line.to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning)) || line.contains("->")
}

/// True if the line has two numbers with a point between them.
fn has_version(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes
        .windows(3)
        .any(|three| three[0].is_ascii_digit() && three[1] == b'.' && three[2].is_ascii_digit())
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, patience: Duration) -> Option<String> {
        let mut command = Command::new("/bin/sh");
        version_line_within(
            command.args(["-c", script]).env("WHO", "me"),
            patience,
            &Cancel::default(),
        )
    }

    #[test]
    fn a_version_is_the_first_line_of_stdout_or_else_of_stderr() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo; echo $WHO 1.2; echo more", long).as_deref(), Some("me 1.2"));
        assert_eq!(shell("echo Version 7.0.0-dev", long).as_deref(), Some("7.0.0-dev"));
        assert_eq!(shell("echo me 1.2 >&2", long).as_deref(), Some("me 1.2"));
        assert_eq!(shell("echo usage >&2; exit 1", long), None);
        assert_eq!(shell("true", long), None);
        assert_eq!(
            version_line(&mut Command::new("/no/such/program"), &Cancel::default()),
            None
        );
    }

    #[test]
    fn a_version_is_no_notice_before_or_after_it() {
        let long = Duration::from_secs(60);
        let before = "echo 'WARNING: there is a new pyright version available (v1.1.313 -> v1.1.414).'\n\
                      echo 'Please install the new version or set PYRIGHT_PYTHON_FORCE_VERSION to `latest`'\n\
                      echo; echo 'added 1 package in 7s'; echo 'npm notice 11.19.1' >&2; echo 'pyright 1.1.313'";
        assert_eq!(shell(before, long).as_deref(), Some("pyright 1.1.313"));
        let after = "echo 1.2.3; echo 'npm notice New minor version of npm available! 11.19.1 -> 11.21.2'";
        assert_eq!(shell(after, long).as_deref(), Some("1.2.3"));
        let on_the_other_pipe = "echo 'Warning: 3.2 is old'; echo 'openjdk version \"21.0.1\"' >&2";
        assert_eq!(
            shell(on_the_other_pipe, long).as_deref(),
            Some("openjdk version \"21.0.1\"")
        );
        let nothing_else = "echo 'built from abcdef'; echo more";
        assert_eq!(shell(nothing_else, long).as_deref(), Some("built from abcdef"));
    }

    #[test]
    fn a_program_that_hangs_has_no_version_and_is_killed_with_its_helpers() {
        let begun = Instant::now();
        assert_eq!(shell("sleep 1000 & wait", Duration::from_millis(200)), None);
        assert!(begun.elapsed() < Duration::from_secs(500));
    }

    /// Including one that left the program's group and session.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_daemon_of_a_version_is_killed() {
        let script = "echo $(setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!')";
        let daemon = shell(script, Duration::from_secs(60)).expect("it is told");
        let stat = std::fs::read_to_string(format!("/proc/{daemon}/stat"));
        assert!(stat.is_err(), "{stat:?}");
    }

    #[test]
    fn a_program_that_is_to_stop_is_not_waited_for() {
        let begun = Instant::now();
        let mut command = Command::new("/bin/sh");
        let command = command.args(["-c", "sleep 1000 & wait"]);
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(version_line_within(command, Duration::from_secs(1000), &cancel), None);
        assert!(begun.elapsed() < Duration::from_secs(500));
    }

    #[test]
    fn a_hash_is_that_of_the_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(file_sha256(&path).unwrap(), hash);
    }
}
