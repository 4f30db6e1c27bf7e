//! Runs the real `lsp-soak run` on the real fixture, and checks what remains afterwards.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use analysis::summary::Summary;
use proctree::child::{self, Awaited};
use record::Event;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::fixture::SYSTEM;
use crate::outcome::{KIB, MIB, Outcome};
use crate::peer::PATIENCE;

/// Marks every process of a run, which all inherit it.
const MARK: &str = "LSP_SOAK_TRUTH_RUN";

/// The head of every scenario; the fixture is quick, so waits are short.
const HEAD: &str = r#"
format = 1
name = "truth"
[workspace]
path = "workspace"
language = "python"
"#;

/// Limits that a loaded machine keeps.
const LIMITS: &str = r#"
[readiness]
start-grace = "300ms"
quiet = "300ms"
timeout = "40s"
[settle]
quiet = "300ms"
at-most = "8s"
"#;

/// Starts the server and settles.
pub const START: &str = r#"
[[phase]]
name = "start"
steps = [{ start = {} }]
"#;

/// Limit of lsp-soak's own memory in any run, besides twice the text it opens. No server may make it grow.
const SMALL: u64 = 64 * MIB;

/// Largest file that a scenario opens.
const LARGEST: u64 = 4 * MIB;

/// A run to start.
pub struct Soak {
    directory: Arc<TempDir>,
    mark: String,
    options: Vec<OsString>,
    server: PathBuf,
    /// Command before the program, such as a shell that sets limits.
    wrap: Vec<OsString>,
}

pub struct Running {
    soak: Soak,
    child: Child,
    /// Until it is dropped, a client in this process does not reap the child as an orphan: the child has a group of its own.
    _awaited: Awaited,
    output: Option<[JoinHandle<String>; 2]>,
    /// Highest private memory of lsp-soak itself so far.
    peak: u64,
    /// Its resident high-water mark, including its program.
    mark: u64,
}

/// Plays the phases after a start with the server's options, and expects the run to pass.
#[track_caller]
pub fn passing(phases: &str, server: &[&str]) -> Summary {
    Soak::new(&format!("{START}{phases}")).server(server).run().passed()
}

impl Soak {
    /// A run of these phases over three small Python files.
    pub fn new(phases: &str) -> Soak {
        Soak::with_limits(LIMITS, phases)
    }

    /// As [`Soak::new`], with other limits.
    pub fn with_limits(limits: &str, phases: &str) -> Soak {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let workspace = directory.path().join("workspace");
        fs::create_dir_all(&workspace).expect("the directory is ours");
        for (name, text) in files() {
            fs::write(workspace.join(name), text).expect("the directory is ours");
        }
        fs::write(
            directory.path().join("scenario.toml"),
            format!("deadline = \"20s\"{HEAD}{limits}{phases}"),
        )
        .expect("the directory is ours");
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        Soak {
            directory: Arc::new(directory),
            mark,
            options: Vec::new(),
            server: SYSTEM.into(),
            wrap: Vec::new(),
        }
    }

    pub fn server(mut self, options: &[&str]) -> Soak {
        for option in options {
            self.options.extend(["--server-arg".into(), option.into()]);
        }
        self
    }

    /// Options of `lsp-soak run`.
    pub fn options(mut self, options: &[&str]) -> Soak {
        self.options.extend(options.iter().map(OsString::from));
        self
    }

    /// A shell script as the server; `$FIXTURE` is the fixture.
    pub fn script(mut self, script: &str) -> Soak {
        use std::os::unix::fs::PermissionsExt;
        let path = self.directory.path().join("scripted-server");
        let text = format!("#!/bin/sh\nFIXTURE='{}'\n{script}\n", SYSTEM);
        fs::write(&path, text).expect("the directory is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        self.server = path;
        self
    }

    /// A program with this text as the server.
    pub fn program(mut self, text: &str) -> Soak {
        use std::os::unix::fs::PermissionsExt;
        self.server = self.directory.path().join("unusual-server");
        fs::write(&self.server, text).expect("the directory is ours");
        fs::set_permissions(&self.server, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        self
    }

    /// Another program as the server.
    pub fn program_at(mut self, path: &str) -> Soak {
        self.server = path.into();
        self
    }

    /// A profile as the server.
    pub fn named(mut self, profile: &str) -> Soak {
        self.server = profile.into();
        self
    }

    /// Adds a file beside the scenario.
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Soak {
        fs::write(self.directory.path().join(name), text).expect("the directory is ours");
        self
    }

    /// Starts lsp-soak through this command.
    pub fn wrap(mut self, words: &[&str]) -> Soak {
        self.wrap = words.iter().map(OsString::from).collect();
        self
    }

    pub fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    /// Bytes of the files that a scenario may open.
    fn text(&self) -> u64 {
        let files = fs::read_dir(self.workspace()).into_iter().flatten().flatten();
        let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()).filter(|size| *size <= LARGEST));
        sizes.sum()
    }

    pub fn record(&self) -> PathBuf {
        let out = fs::read_dir(self.directory.path().join("out")).into_iter().flatten();
        let mut files = out.flatten().map(|entry| entry.path());
        files
            .find(|path| is_record(path) && !is_traced(path))
            .unwrap_or_else(|| self.directory.path().join("no-record"))
    }

    pub fn start(self) -> Running {
        let directory = self.directory.path();
        let mut words = self.wrap.clone();
        words.push(env!("CARGO_BIN_EXE_lsp-soak").into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["run", "--details"])
            .arg(directory.join("scenario.toml"))
            .arg("--server")
            .arg(&self.server)
            .arg("--env")
            .arg(format!("{MARK}={}", self.mark))
            .arg("--out")
            .arg(directory.join("out"))
            .args(&self.options)
            .current_dir(directory)
            .env("TMPDIR", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Like a shell's foreground job.
            .process_group(0);
        let (mut child, awaited) =
            child::start(|| command.spawn(), |child| Some(child.id())).expect("lsp-soak is built beside its tests");
        let output = [
            drain(child.stdout.take().expect("stdout is piped")),
            drain(child.stderr.take().expect("stderr is piped")),
        ];
        Running {
            soak: self,
            child,
            _awaited: awaited,
            output: Some(output),
            peak: 0,
            mark: 0,
        }
    }

    #[track_caller]
    pub fn run(self) -> Outcome {
        self.start().finish()
    }
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// True if the record is of a traced run, by its name.
pub fn is_traced(path: &Path) -> bool {
    is_record(path)
        && path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("traced-"))
}

fn drain(mut pipe: impl std::io::Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        // The output before a failure is enough.
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// The workspace: identifiers used across files.
fn files() -> Vec<(String, String)> {
    (0..3)
        .map(|file| (format!("module_{file}.py"), module_text(file)))
        .collect()
}

/// Functions of which each calls that of the same number in the next file.
fn module_text(file: usize) -> String {
    let next = (file + 1) % 3;
    (0..20)
        .map(|n| {
            format!(
                "def total_{file}_{n}(orders):\n    count_{n} = len(orders)\n    return count_{n} + total_{next}_{n}(orders)\n\n"
            )
        })
        .collect()
}

impl Running {
    /// Waits for an event in the record.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, is: impl Fn(&Event) -> bool) {
        let begun = Instant::now();
        loop {
            let found = record::open(&self.soak.record())
                .is_ok_and(|reader| reader.filter_map(Result::ok).any(|entry| is(&entry.event)));
            if found {
                return;
            }
            self.look();
            assert!(begun.elapsed() < PATIENCE, "no {what}");
            let over = self.child.try_wait().expect("a child of ours can be waited for");
            assert_eq!(over, None, "the run ended before {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for a file beside the scenario.
    #[track_caller]
    pub fn wait_for_file(&mut self, name: &str) {
        let path = self.soak.directory.path().join(name);
        let begun = Instant::now();
        while !path.exists() {
            assert!(begun.elapsed() < PATIENCE, "no `{name}`");
            let over = self.child.try_wait().expect("a child of ours can be waited for");
            assert_eq!(over, None, "the run ended before `{name}`");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn directory(&self) -> &Path {
        self.soak.directory.path()
    }

    /// Processes of the server's tree.
    pub fn tree(&self) -> Vec<u32> {
        marked(&self.soak.mark)
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process number is not zero");
        kill_process(pid, signal).expect("lsp-soak is there");
    }

    /// Updates lsp-soak's own private memory. Pages of its program depend on debug information, so they do not count.
    /// The high-water mark minus file pages covers peaks between two looks.
    fn look(&mut self) {
        // From `vfork` to the middle of `exec`, what was started is in the memory of the tests.
        if program_of(&self.child.id().to_string()) == program_of("self") {
            return;
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let [anonymous, swap, mark, files] =
            ["RssAnon", "VmSwap", "VmHWM", "RssFile"].map(|field| status_bytes(&status, field));
        let now = anonymous.unwrap_or(0) + swap.unwrap_or(0);
        let before = mark.zip(files).map_or(0, |(mark, files)| mark.saturating_sub(files));
        self.peak = self.peak.max(now).max(before);
        self.mark = self.mark.max(mark.unwrap_or(0));
    }

    /// Waits for the end of the run, within its time limit, and checks that no process or directory remains.
    #[track_caller]
    pub fn finish(mut self) -> Outcome {
        let begun = Instant::now();
        let status = loop {
            self.look();
            if let Some(status) = self.child.try_wait().expect("a child of ours can be waited for") {
                break status;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "the run does not end: {:?}",
                self.record_so_far()
            );
            thread::sleep(Duration::from_millis(10));
        };
        // The kernel has signalled the children at the server's end; they need a moment.
        let patience = Instant::now() + Duration::from_secs(10);
        while !self.tree().is_empty() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(20));
        }
        let orphans: Vec<String> = self.tree().into_iter().map(describe).collect();
        let output = self.output.take().expect("a run ends once");
        let [stdout, stderr] = output.map(|text| text.join().expect("the drain ends with the pipe"));
        assert!(orphans.is_empty(), "left behind: {orphans:?}\n{stdout}{stderr}");
        let most = SMALL + 2 * self.soak.text();
        assert!(
            self.mark <= most,
            "lsp-soak itself had {} of {most} bytes\n{stdout}{stderr}",
            self.mark
        );
        Outcome {
            status,
            stdout,
            stderr,
            own_peak: self.peak,
            record: self.soak.record(),
            took: begun.elapsed(),
            directory: Arc::clone(&self.soak.directory),
        }
    }

    fn record_so_far(&self) -> Vec<String> {
        let text = fs::read_to_string(self.soak.record()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("\"sample\"")).collect();
        lines[lines.len().saturating_sub(5)..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An already ended process is fine. A failed test must not leave a server running.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in self.tree() {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// The program of a process, which is a number or `self`.
fn program_of(process: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// A field of `/proc/PID/status` that is in kibibytes there.
fn status_bytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes = line.strip_prefix(':')?.trim().strip_suffix(" kB")?;
    Some(kibibytes.parse::<u64>().ok()? * KIB)
}

/// Processes whose environment has the mark. An ended process has an empty environment.
fn marked(mark: &str) -> Vec<u32> {
    let needle = format!("{MARK}={mark}\0");
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        memchr::memmem::find(&environment, needle.as_bytes()).is_some()
    })
    .collect()
}

fn describe(pid: u32) -> String {
    let [command, stat] =
        ["cmdline", "stat"].map(|file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default());
    format!("{pid} {} {stat}", command.replace('\0', " "))
}
