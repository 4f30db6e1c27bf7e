//! A child process under the test's control: this test program, started again.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use proctree::{Options, Sampler};
use record::Clock;

use super::Kept;

const VARIABLE: &str = "LSP_SOAK_TEST_CHILD";

/// A child in its own process group; dropping it kills the group.
pub struct Child {
    pub process: std::process::Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Child {
    /// This program, waiting for commands.
    pub fn obedient() -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["sample::child::obeys", "--exact", "--nocapture"])
            .env(VARIABLE, "1");
        let mut child = Child::spawn(command);
        child.hear("ready");
        // Loads the code of `spike` now, so that its pages disturb no measurement.
        child.perform("spike 33");
        child
    }

    /// A shell with a script.
    pub fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::spawn(command)
    }

    fn spawn(mut command: Command) -> Child {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("it can be started");
        let stdin = process.stdin.take().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Child { process, stdin, stdout }
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a command, waits for its end and returns the rest of the answer's line.
    pub fn perform(&mut self, command: &str) -> String {
        self.say(command);
        self.hear("done")
    }

    pub fn say(&mut self, what: &str) {
        writeln!(self.stdin, "{what}").unwrap();
    }

    /// Waits for a line with this word, and returns the rest of it.
    pub fn hear(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the child ended before it said `{word}`"
            );
            // The test harness writes to the same stream, sometimes without a line end.
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Kills the process, but not its group.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.process);
        // The group may have ended already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.process.wait();
    }
}

/// The child's program. As an ordinary test it does nothing.
#[expect(clippy::print_stdout, reason = "stdout is how the child answers")]
#[test]
fn obeys() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    println!("ready");
    let mut held: Vec<Vec<u8>> = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (verb, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let number: usize = number.parse().unwrap();
        let mut answer = String::new();
        match verb {
            // Above 32 MiB malloc maps it directly, and unmaps it on drop.
            "touch" => held.push(vec![1; number << 20]),
            "drop" => held.clear(),
            "spike" => drop(std::hint::black_box(vec![1u8; number << 20])),
            "burn" => burn(Duration::from_millis(number as u64)),
            "threads" => (0..number).for_each(|_| drop(std::thread::spawn(std::thread::park))),
            "short" => (0..number).for_each(|_| assert!(Command::new("true").status().unwrap().success())),
            "adopt" => answer = adopt(false),
            "adopt-late" => answer = adopt(true),
            _ => panic!("told to {line}"),
        }
        println!("done {answer}");
    }
}

/// Works until the system has counted this much processor time.
fn burn(time: Duration) {
    let until = processor_time() + time;
    while processor_time() < until {
        std::hint::black_box((0..100_000u64).sum::<u64>());
    }
}

/// The processor time of this process, as the system has counted it.
fn processor_time() -> Duration {
    let text = std::fs::read("/proc/self/stat").unwrap();
    let stat = proctree::procfs::stat(&text).unwrap();
    Duration::from_secs(stat.user + stat.system) / rustix::param::clock_ticks_per_second() as u32
}

/// Acts as lsp-soak with a server whose daemon's parent ends at once, and prints the names that the sampler sees.
/// With `late` the server ends before the sampler starts.
fn adopt(late: bool) -> String {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let options = Options {
        orphans_since: proctree::start_time_now(),
        ..Options::default()
    };
    let mut server = Child::shell("(setsid sleep 300 &) ; echo started ; read line");
    server.hear("started");
    let pid = server.pid();
    let mut helper = Command::new("sleep").arg("301").spawn().unwrap();
    if late {
        end(&mut server);
    }
    let sampler = Sampler::start(pid, options, Clock::start(), Box::new(Kept::default())).unwrap();
    let mut later = Command::new("sleep").arg("302").spawn().unwrap();
    if !late {
        end(&mut server);
    }
    // The daemon may still be on its way from shell to `setsid` to `sleep`.
    let mut alive = Vec::new();
    super::wait_until("the daemon", || {
        alive = sampler.living_processes();
        !alive.is_empty() && alive.iter().all(|living| living.2 == "sleep")
    });
    for (pid, ..) in &alive {
        let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    for child in [&mut helper, &mut later] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    alive
        .iter()
        .map(|(_, _, name)| name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Lets a shell that waits for a line end.
fn end(server: &mut Child) {
    server.say("end");
    server.process.wait().unwrap();
}
