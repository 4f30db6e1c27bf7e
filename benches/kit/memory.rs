//! The memory of a process, read as lsp-soak reads that of a server.

use std::io;

use lsp_soak::record::Counters;
use lsp_soak::sample::System;
use lsp_soak::sample::source::Source;

/// The counters of a process now.
pub fn counters(pid: u32) -> io::Result<Counters> {
    let mut system = System::new()?;
    let (mut process, _) = system.open(pid)?;
    let reading = system.read(&mut process, &mut Vec::new());
    reading
        .map(|reading| reading.counters)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}
