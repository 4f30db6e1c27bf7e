//! Finds strace, checks that it works, and builds its command line.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use base::Cancel;
use proctree::host;
use record::TracerFacts;

use super::line::{Line, Lines};

/// Memory calls, and the calls that start processes, which show whose break moves. `?` marks calls that some
/// processors lack.
const CALLS: &str =
    "trace=brk,mmap,?mmap2,munmap,mremap,madvise,?process_madvise,clone,?clone3,?fork,?vfork,execve,?execveat";

/// Time limit for tracing a trivial program.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long strace's output may take to reach the file after that program ended.
const WRITTEN: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracer {
    program: PathBuf,
    version: Option<String>,
    /// Whether a kernel filter limits stops to the traced calls.
    filters: bool,
}

/// Why tracing is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untraceable {
    #[error("system calls are traced on Linux only")]
    Unsupported,
    #[error("`strace` is not on PATH")]
    Missing,
    /// strace exists but failed.
    #[error("strace cannot trace a program here: {stderr}")]
    Refused {
        stderr: String,
        /// `kernel.yama.ptrace_scope`, if the kernel has it.
        scope: Option<u8>,
        contained: bool,
    },
}

impl Untraceable {
    pub fn cure(&self) -> &'static str {
        match self {
            Untraceable::Unsupported => "leave `--trace-syscalls` out",
            Untraceable::Missing => "install the package `strace`, or leave `--trace-syscalls` out",
            Untraceable::Refused { scope: Some(2..), .. } => {
                "allow it with `sysctl kernel.yama.ptrace_scope=1`, or leave `--trace-syscalls` out"
            }
            Untraceable::Refused { contained: true, .. } => {
                "start the container with `--cap-add=SYS_PTRACE`, or leave `--trace-syscalls` out"
            }
            Untraceable::Refused { scope: Some(1), .. } => {
                "allow it with `sysctl kernel.yama.ptrace_scope=0`, or leave `--trace-syscalls` out"
            }
            Untraceable::Refused { .. } => "allow ptrace to this user, or leave `--trace-syscalls` out",
        }
    }
}

impl Tracer {
    /// The strace at `program`, after a trial on lsp-soak itself with output to `scratch`.
    pub fn probe(program: Option<PathBuf>, scratch: &Path) -> Result<Tracer, Untraceable> {
        if !cfg!(target_os = "linux") {
            return Err(Untraceable::Unsupported);
        }
        let program = program.ok_or(Untraceable::Missing)?;
        let asked = host::run_program(
            Command::new(&program).arg("--version").current_dir(scratch),
            PATIENCE,
            &Cancel::default(),
        );
        let version = asked.ok().and_then(|heard| version(&heard.said.stdout));
        let mut refused = String::new();
        // A filter in the kernel (Linux 4.8, strace 5.3) stops the server at the traced calls only.
        for filters in [true, false] {
            let tracer = Tracer {
                program: program.clone(),
                version: version.clone(),
                filters,
            };
            match tracer.trial(&scratch.join(format!("tried-{filters}")), scratch) {
                Ok(()) => return Ok(tracer),
                Err(stderr) => refused = stderr,
            }
        }
        Err(Untraceable::Refused {
            stderr: refused,
            scope: fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
                .ok()
                .and_then(|text| text.trim().parse().ok()),
            contained: host::fingerprint().container.is_some(),
        })
    }

    pub fn facts(&self) -> TracerFacts {
        TracerFacts {
            name: "strace".to_owned(),
            version: self.version.clone(),
        }
    }

    /// The command line before a program and its arguments; strace traces all its processes and writes to `to`.
    pub fn words(&self, to: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.program.clone().into()];
        words.extend(["-DDD", "-f", "-qq", "-ttt", "-s", "0", "-e", "signal=none", "-e", CALLS].map(OsString::from));
        if self.filters {
            words.push("--seccomp-bpf".into());
        }
        words.extend(["-o".into(), to.into(), "--".into()]);
        words
    }

    fn trial(&self, to: &Path, directory: &Path) -> Result<(), String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let words = self.words(to);
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg(own)
            .arg("--version")
            .current_dir(directory);
        let heard = host::run_program(&mut command, PATIENCE, &Cancel::default()).map_err(|error| error.to_string())?;
        let stderr = heard.said.stderr.trim();
        if !stderr.is_empty() {
            return Err(stderr.lines().next().unwrap_or_default().to_owned());
        }
        let deadline = Instant::now() + WRITTEN;
        while !has_call(to) {
            if Instant::now() > deadline {
                return Err("it saw no call of a program that makes some".to_owned());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

fn has_call(to: &Path) -> bool {
    let mut lines = Lines::default();
    let text = fs::read_to_string(to).unwrap_or_default();
    text.lines().any(|line| matches!(lines.read(line), Line::Call(_)))
}

/// `6.1` from `strace -- version 6.1`.
fn version(stderr: &str) -> Option<String> {
    let first = stderr.lines().next()?;
    first.rsplit(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_forbidden_is_said_with_what_helps() {
        let refused = |scope, contained| Untraceable::Refused {
            stderr: "strace: ptrace: Operation not permitted".to_owned(),
            scope,
            contained,
        };
        for (error, help) in [
            (Untraceable::Missing, "the package `strace`"),
            (refused(Some(3), true), "kernel.yama.ptrace_scope=1"),
            (refused(Some(1), false), "kernel.yama.ptrace_scope=0"),
            (refused(Some(1), true), "--cap-add=SYS_PTRACE"),
            (refused(None, false), "allow ptrace"),
        ] {
            assert!(error.cure().contains(help), "{error}: {}", error.cure());
        }
        assert_eq!(version("strace -- version 6.1\nCopyright"), Some("6.1".to_owned()));
    }

    #[test]
    fn a_program_that_is_no_tracer_is_refused() {
        if cfg!(target_os = "linux") {
            let scratch = tempfile::tempdir().unwrap();
            let probe = Tracer::probe(Some("/bin/false".into()), scratch.path());
            assert!(matches!(probe, Err(Untraceable::Refused { .. })), "{probe:?}");
            assert_eq!(Tracer::probe(None, scratch.path()), Err(Untraceable::Missing));
        }
    }
}
