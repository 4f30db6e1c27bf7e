//! The memory of a process, read as lsp-soak reads that of a server.

use std::io;

use proctree::System;
use proctree::source::Source;
use record::Counters;

/// The counters of a process now.
pub fn counters(pid: u32) -> io::Result<Counters> {
    let mut system = System::new()?;
    let (mut process, _) = system.open(pid)?;
    let reading = system.read(&mut process, &mut Vec::new());
    reading
        .map(|reading| reading.counters)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}
