//! A server process that only forwards bytes: the driver spawns it as usual, and the test plays the server.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use proctree::process::Launch;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::lsp::peer::Peer;

/// Capacity of a pipe.
const ROOM: usize = 64 * 1024;

/// The process's script and its named pipes.
pub struct Relay {
    directory: TempDir,
}

impl Relay {
    /// Creates the pipes and the peer at their other end, but starts nothing.
    pub fn new() -> (Relay, Peer) {
        let relay = Relay {
            directory: tempfile::tempdir().unwrap(),
        };
        let made = Command::new("mkfifo").args(relay.pipes()).status().unwrap();
        assert!(made.success());
        let [from_peer, to_peer] = relay.pipes();

        let (heard, mut hearing) = tokio::sync::mpsc::channel::<Vec<u8>>(16);
        thread::spawn(move || {
            let mut pipe = File::open(to_peer).unwrap();
            let mut buffer = [0; ROOM];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                if heard.blocking_send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (mut near, input) = duplex(ROOM);
        tokio::spawn(async move {
            while let Some(bytes) = hearing.recv().await {
                if near.write_all(&bytes).await.is_err() {
                    break;
                }
            }
        });

        let (said, saying) = mpsc::channel::<Vec<u8>>();
        thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(from_peer).unwrap();
            for bytes in saying {
                if pipe.write_all(&bytes).is_err() {
                    break;
                }
            }
        });
        let (output, mut near) = duplex(ROOM);
        tokio::spawn(async move {
            let mut buffer = vec![0; ROOM];
            while let Ok(read @ 1..) = near.read(&mut buffer).await {
                if said.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        (relay, Peer::over(input, output))
    }

    pub fn launch(&self) -> Launch {
        let [from_peer, to_peer] = self.pipes();
        let script = "cat \"$1\" & exec cat > \"$2\"";
        Launch {
            program: "/bin/sh".into(),
            args: vec![
                "-c".into(),
                script.into(),
                "relay".into(),
                from_peer.into(),
                to_peer.into(),
            ],
            cwd: self.directory.path().to_owned(),
            ..Launch::default()
        }
    }

    fn pipes(&self) -> [PathBuf; 2] {
        ["from-peer", "to-peer"].map(|name| self.directory.path().join(name))
    }
}
