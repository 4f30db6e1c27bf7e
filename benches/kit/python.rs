//! A peer in Python: finds an interpreter with the packages it needs, and runs a script that answers line by line.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::part::Part;
use super::race::Lap;

/// A running script, or the reason why there is none.
pub enum Peer {
    /// It runs.
    Runs(Part),
    /// The advice to install its modules.
    Missing(String),
}

impl Peer {
    /// Starts `script` under `$PYTHON`, or `python3`, if that can import the modules.
    pub fn start(script: &str, modules: &[&str], words: &[&str]) -> Peer {
        let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        let import = format!("import {}", modules.join(", "));
        let mut probe = Command::new(&python);
        probe.args(["-c", &import]).stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success())
            && let Ok(part) = Part::run(Command::new(&python).args(["-c", script]).args(words))
        {
            return Peer::Runs(part);
        }
        let modules = modules.join(" ");
        Peer::Missing(format!(
            "n/a: `pip install {modules}`, or name a python that has it in $PYTHON"
        ))
    }

    /// Text to add to its name: the advice if it is missing, else nothing.
    pub fn note(&self) -> String {
        match self {
            Peer::Runs(_) => String::new(),
            Peer::Missing(advice) => format!(" ({advice})"),
        }
    }

    /// Has it do its work so many times; it answers with the nanoseconds of the clock and of the processor.
    pub fn work(&mut self, times: u32) -> Option<Lap> {
        let Peer::Runs(part) = self else { return None };
        writeln!(part.stdin.as_mut()?, "{times}").ok()?;
        let answer = part.line().ok()?;
        let mut nanos = answer
            .split(' ')
            .map(|number| number.parse().ok().map(Duration::from_nanos));
        Some(Lap {
            wall: nanos.next()??,
            cpu: nanos.next()??,
        })
    }
}
