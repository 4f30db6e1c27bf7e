//! A process that stands for the editor where the scenario lets it die: servers watch the process that `initialize` names.

use std::io;
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::starter::Starter;
use proctree::child::{self, Awaited};

pub struct Editor {
    pub pid: u32,
    process: Child,
    _awaited: Awaited,
}

impl Editor {
    /// Starts it. It ends with lsp-soak at the latest, when its stdin closes.
    pub fn start() -> io::Result<Editor> {
        let starter = Starter::find()?;
        let mut command = Command::new(&starter.program);
        command.args(&starter.args).arg(Starter::STAND_IN);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.kill_on_drop(true);
        let (process, awaited) = child::start(|| command.spawn(), Child::id)?;
        let pid = process.id().ok_or(io::ErrorKind::NotFound)?;
        Ok(Editor {
            pid,
            process,
            _awaited: awaited,
        })
    }

    /// Kills it, and waits until its process id is gone.
    pub async fn die(mut self) {
        // One that has ended already is as dead.
        let _ = self.process.kill().await;
    }
}
