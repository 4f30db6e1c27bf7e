//! Linux: reads `/proc` through descriptors that are kept open; what the texts mean is in `procfs`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::record::{Nanos, Rollup, Used, nanos};

use super::procfs::{self, Stat};
use super::source::{Effort, Failure, Found, Opened, Program, Reading, Source};
use super::tree::Own;
use super::{Duty, mapped};

mod clock;
mod convert;

use convert::{count_stat, count_status, found, kin};

/// The share of one processor that looking for new processes may take.
const LOOK_SHARE: f64 = 0.005;

/// The longest pause after a look, whatever it cost: just under two of the usual intervals, so that at least every second
/// deadline has one. Where all of `/proc` is gone over for want of anything cheaper, it is five times as long.
const LOOK_PAUSE: Nanos = 90_000_000;
/// What looking at one id costs, to choose between that and going over all of `/proc`: measured 3 to 6 µs.
const PROBE_COST: Duration = Duration::from_micros(5);
/// How often all of `/proc` is gone over even though the last id given says that nothing is missing.
const SWEEP_PAUSE: Nanos = 2_000_000_000;
/// The same where the last id given is unknown.
const BLIND_SWEEP_PAUSE: Nanos = 100_000_000;
/// How often an id is looked at that has no process: it may have been given to one that is not yet there to be seen.
const PROBE_TRIES: u8 = 3;
/// Longest command line that is kept, in arguments and in bytes.
const COMMAND_ARGUMENTS: usize = 8;
const COMMAND_BYTES: u64 = 1024;

pub struct System {
    loadavg: Option<File>,
    /// The last process id given when `/proc` was looked at last.
    last: Option<u32>,
    /// Ids that were given but had no process when looked at, and how often they were.
    missing: Vec<(u32, u8)>,
    duty: Duty,
    next_sweep: Nanos,
    sweep_cost: Duration,
    /// Nanoseconds of a clock tick.
    tick: Nanos,
    buffer: Vec<u8>,
}

/// A process held open. The descriptors belong to this one process: after its end they give errors, never the
/// numbers of another.
pub struct Process {
    pid: u32,
    directory: OwnedFd,
    stat: File,
    status: File,
}

impl System {
    /// Opens what is needed for looking.
    pub fn new() -> io::Result<System> {
        Ok(System {
            loadavg: File::open("/proc/loadavg").ok(),
            last: None,
            missing: Vec::new(),
            duty: Duty::new(LOOK_SHARE, 0),
            next_sweep: 0,
            sweep_cost: Duration::ZERO,
            tick: tick(),
            buffer: vec![0; 4096],
        })
    }

    pub fn own() -> io::Result<Own> {
        let text = fs::read("/proc/self/stat")?;
        let stat = procfs::stat(&text).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Own {
            pid: stat.pid,
            group: Some(stat.group),
            session: Some(stat.session),
        })
    }

    /// Now, in the unit of start times: clock ticks of the clock that goes on while the machine sleeps
    /// (proc_pid_stat(5), field 22).
    pub fn moment() -> Option<u64> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let since_boot = Duration::new(u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?);
        Some(nanos(since_boot) / tick())
    }

    /// The last process id given; it tells of new processes and threads for the price of one short read.
    fn last_id(&mut self) -> Option<u32> {
        let file = self.loadavg.as_ref()?;
        let text = read_whole(file, &mut self.buffer).ok()?;
        procfs::last_pid(text)
    }

    fn sweep(&mut self, found: &mut Vec<Found>) -> io::Result<()> {
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
                found.extend(self.probe(pid));
            }
        }
        Ok(())
    }

    /// Whether all of `/proc` must be gone over, or cheaper so than looking at each id that may be new.
    fn must_sweep(&self, now: Nanos, effort: Effort, last_known: bool, new_known: bool, probes: usize) -> bool {
        let probe_cost = PROBE_COST.saturating_mul(u32::try_from(probes).unwrap_or(u32::MAX));
        let unknown = !new_known && (last_known || effort == Effort::CatchUp);
        effort == Effort::Thorough || now >= self.next_sweep || unknown || probe_cost > self.sweep_cost
    }

    /// What the process, or thread, of that id is.
    fn probe(&mut self, pid: u32) -> Option<Found> {
        let file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let stat = procfs::stat(read_whole(&file, &mut self.buffer).ok()?)?;
        (!stat.ended()).then(|| found(&stat))
    }

    /// Looks at the ids given since the last look, and once more at those that had no process then.
    fn probe_new(&mut self, ids: std::ops::RangeInclusive<u32>, found: &mut Vec<Found>) {
        let mut missing = std::mem::take(&mut self.missing);
        missing.extend(ids.map(|pid| (pid, 0)));
        missing.retain_mut(|(pid, tries)| {
            let met = self.probe(*pid);
            *tries += 1;
            found.extend(met);
            met.is_none() && *tries < PROBE_TRIES
        });
        self.missing = missing;
    }

    /// Whether a process that failed to be read is over.
    fn over(&mut self, process: &Process) -> bool {
        let stat = stat_of(&process.stat, &mut self.buffer);
        stat.map_or_else(|error| is_gone(&error), |stat| stat.ended())
    }

    /// A failure, unless the process is over: then there is nothing to tell. It loses its memory, and all files about
    /// that say so, a little before it counts as over.
    fn failed<T: Default>(&mut self, process: &Process, what: &'static str, error: io::Error) -> Result<T, Failure> {
        let ends = is_gone(&error) || (error.kind() == io::ErrorKind::NotFound && error.raw_os_error().is_none());
        if ends || self.over(process) {
            Ok(T::default())
        } else {
            Err(Failure { what, error })
        }
    }
}

impl Source for System {
    type Process = Process;

    fn look(&mut self, now: Nanos, effort: Effort, found: &mut Vec<Found>) -> io::Result<()> {
        if effort == Effort::Cheap && !self.duty.ready(now) {
            return Ok(());
        }
        let started = Instant::now();
        let last = self.last_id();
        let new = match (self.last, last) {
            (Some(before), Some(last)) if before <= last => Some(before + 1..=last),
            // Ids began anew from the bottom, or nothing is known of them.
            (Some(_) | None, Some(_) | None) => None,
        };
        let probes = new.clone().map_or(0, Iterator::count) + self.missing.len();
        let timed = last.is_some() && now >= self.next_sweep;
        let sweep = self.must_sweep(now, effort, last.is_some(), new.is_some(), probes);
        if sweep {
            self.sweep(found)?;
            self.missing.clear();
            self.sweep_cost = started.elapsed();
            let pause = if last.is_some() { SWEEP_PAUSE } else { BLIND_SWEEP_PAUSE };
            self.next_sweep = now.saturating_add(pause);
        } else if let Some(new) = new
            && probes > 0
        {
            self.probe_new(new, found);
        } else {
            return Ok(());
        }
        self.last = last;
        let cost = nanos(started.elapsed());
        match effort {
            // Asked for by the driver, seldom: it must not make the looks after it blind.
            Effort::Thorough => {}
            // Servers start helpers at the very moment when machines are busy, and a busy machine makes a look seem
            // dear: the pause must not grow with that.
            Effort::Cheap | Effort::CatchUp => {
                // One that is due by the clock is seldom enough: it does not put off what is cheap.
                let most = if sweep && !timed { 5 * LOOK_PAUSE } else { LOOK_PAUSE };
                self.duty.spent(now, cost, most);
            }
        }
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<(Process, Opened)> {
        let directory = rustix::fs::open(
            format!("/proc/{pid}"),
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let process = Process {
            pid,
            stat: file(&directory, "stat")?,
            status: file(&directory, "status")?,
            directory,
        };
        let status = procfs::status(read_whole(&process.status, &mut self.buffer).map_err(gone)?);
        if status.leader != Some(pid) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let text = read_whole(&process.stat, &mut self.buffer).map_err(gone)?;
        let stat = procfs::stat(text)
            .filter(|stat| !stat.ended())
            .ok_or(io::ErrorKind::NotFound)?;
        let name = String::from_utf8_lossy(stat.name).into_owned();
        Ok((
            process,
            Opened {
                found: found(&stat),
                started: stat.started,
                name,
            },
        ))
    }

    fn read(&mut self, process: &mut Process, failures: &mut Vec<Failure>) -> Option<Reading> {
        let mut reading = Reading::default();
        let mut threads = 1;
        // Before the file of this very process says that it is still there.
        reading.counters.cpu = clock::cpu(process.pid);
        match stat_of(&process.stat, &mut self.buffer) {
            Ok(stat) if stat.ended() => return None,
            Ok(stat) => {
                threads = stat.threads;
                count_stat(&mut reading.counters, &stat, self.tick);
                reading.kin = Some(kin(&stat));
            }
            Err(error) if is_gone(&error) => return None,
            Err(error) => failures.push(Failure { what: "stat", error }),
        }
        match read_whole(&process.status, &mut self.buffer) {
            Ok(text) => {
                let status = procfs::status(text);
                // It gave its memory up since `stat` was read.
                if status.resident.is_none() && threads <= 1 {
                    return None;
                }
                count_status(&mut reading.counters, &status);
            }
            Err(error) if is_gone(&error) => return None,
            Err(error) => failures.push(Failure { what: "status", error }),
        }
        Some(reading)
    }

    fn used(&mut self, process: &Process) -> Option<Used> {
        let cpu = clock::cpu(process.pid);
        let stat = stat_of(&process.stat, &mut self.buffer).ok()?;
        Some(Used {
            cpu,
            ..stat.used(self.tick)
        })
    }

    fn describe(&mut self, process: &Process) -> Option<Program> {
        let mut text = Vec::new();
        file(&process.directory, "cmdline")
            .ok()?
            .take(COMMAND_BYTES)
            .read_to_end(&mut text)
            .ok()?;
        let stat = stat_of(&process.stat, &mut self.buffer).ok()?;
        let arguments = procfs::arguments(&text, COMMAND_ARGUMENTS);
        let name = procfs::program(&String::from_utf8_lossy(stat.name), &arguments);
        let status = read_whole(&process.status, &mut self.buffer).map(procfs::status);
        Some(Program {
            name,
            command: arguments,
            huge_pages: status.ok().and_then(|status| status.huge_pages),
        })
    }

    fn mapped(&mut self, process: &Process) -> Option<Vec<PathBuf>> {
        let mut text = String::new();
        file(&process.directory, "maps").ok()?.read_to_string(&mut text).ok()?;
        Some(mapped(&text))
    }

    fn environment(&mut self, process: &Process) -> Option<Vec<Vec<u8>>> {
        let mut text = Vec::new();
        file(&process.directory, "environ").ok()?.read_to_end(&mut text).ok()?;
        procfs::environment(&text)
    }

    fn rollup(&mut self, process: &Process, number: u32) -> Result<Option<Rollup>, Failure> {
        let started = Instant::now();
        // Opened anew each time: the descriptor belongs to one address space, and an exec brings another.
        let read = file(&process.directory, "smaps_rollup").and_then(|file| {
            read_whole(&file, &mut self.buffer).map(|text| procfs::rollup(text, number, nanos(started.elapsed())))
        });
        match read {
            Ok(Some(rollup)) => Ok(Some(rollup)),
            Ok(None) => self.failed(process, "smaps_rollup", io::ErrorKind::InvalidData.into()),
            Err(error) => self.failed(process, "smaps_rollup", error),
        }
    }

    fn reset_peak(&mut self, process: &Process) -> Result<bool, Failure> {
        let opened = openat(
            &process.directory,
            "clear_refs",
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        // `5` sets the high-water mark to what is resident (proc_pid_clear_refs(5)).
        let written = opened
            .map_err(io::Error::from)
            .and_then(|file| File::from(file).write_all(b"5"));
        match written {
            Ok(()) => Ok(true),
            Err(error) => self.failed(process, "clear_refs", error),
        }
    }
}

/// Nanoseconds of a clock tick.
fn tick() -> Nanos {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Opens a file of a process's directory, which cannot be another's even if the process id was given again.
fn file(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from);
    file.map(File::from).map_err(gone)
}

/// Reads a file of `/proc` from its start, in one call unless it outgrew the buffer.
fn read_whole<'b>(file: &File, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    loop {
        let length = file.read_at(buffer, 0)?;
        if length < buffer.len() {
            return Ok(&buffer[..length]);
        }
        buffer.resize(buffer.len() * 2, 0);
    }
}

fn stat_of<'b>(file: &File, buffer: &'b mut Vec<u8>) -> io::Result<Stat<'b>> {
    procfs::stat(read_whole(file, buffer)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The same kind for a process that is over whether its directory or its task went first.
fn gone(error: io::Error) -> io::Error {
    if is_gone(&error) {
        io::ErrorKind::NotFound.into()
    } else {
        error
    }
}
