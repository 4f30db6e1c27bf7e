//! Linux: reads `/proc` through descriptors that stay open; `procfs` parses the texts.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use record::{AddressSpaceRule, EndCause, Nanos, Rollup, SharedMemory, Used, nanos};

use super::procfs::{self, Stat, Status};
use super::source::{Effort, Failure, Found, Opened, Program, Reading, Source};
use super::tree::Own;
use super::{Duty, mapped_files};

mod address_space;
mod clock;
mod convert;
mod exit;
mod resources;

use convert::{as_found, count_stat, count_status, kin};

/// Share of one processor that looking for new processes may take.
const LOOK_SHARE: f64 = 0.005;

/// Longest pause after a look, in nanoseconds: just under two usual intervals, so that at least every second deadline
/// has a look. Five times as long after a full scan of `/proc`.
const LOOK_PAUSE: Nanos = 90_000_000;
/// Cost of probing one id, compared with a scan of `/proc`: measured 3 to 6 µs.
const PROBE_COST: Duration = Duration::from_micros(5);
/// Interval of full scans of `/proc` although the last id shows nothing new.
const SWEEP_PAUSE: Nanos = 2_000_000_000;
/// Interval of full scans of `/proc` if the last id is unknown.
const BLIND_SWEEP_PAUSE: Nanos = 100_000_000;
/// Probes of an id without a process: its process may not be visible yet.
const PROBE_TRIES: u8 = 3;
/// Longest command line that is kept, in arguments and in bytes.
const COMMAND_ARGUMENTS: usize = 8;
const COMMAND_BYTES: u64 = 1024;

pub struct System {
    loadavg: Option<File>,
    /// The last process id at the previous look.
    last: Option<u32>,
    /// Ids without a process, and how often each was probed.
    missing: Vec<(u32, u8)>,
    duty: Duty,
    next_sweep: Nanos,
    sweep_cost: Duration,
    /// Nanoseconds of a clock tick.
    tick: Nanos,
    /// True where the kernel compares address spaces.
    compares: bool,
    buffer: Vec<u8>,
}

/// A process with open descriptors. They belong to this process: after its end they return errors, never the data of
/// another.
pub struct Process {
    pid: u32,
    directory: OwnedFd,
    stat: File,
    status: File,
    /// Tells the exit status; `None` on old kernels.
    descriptor: Option<OwnedFd>,
    /// A living thread, once the main thread has ended before the others: files of the main thread lose the memory.
    thread: Option<u32>,
}

impl Process {
    /// A file about the memory of the process.
    fn memory_file(&self, name: &str) -> String {
        match self.thread {
            Some(thread) => format!("task/{thread}/{name}"),
            None => name.to_owned(),
        }
    }

    /// A task that has the memory of the process.
    fn memory_task(&self) -> u32 {
        self.thread.unwrap_or(self.pid)
    }
}

impl System {
    pub fn new() -> io::Result<System> {
        Ok(System {
            loadavg: File::open("/proc/loadavg").ok(),
            last: None,
            missing: Vec::new(),
            duty: Duty::new(LOOK_SHARE, 0),
            next_sweep: 0,
            sweep_cost: Duration::ZERO,
            tick: tick(),
            compares: address_space::may_ask(),
            buffer: vec![0; 4096],
        })
    }

    pub fn own_ids() -> io::Result<Own> {
        let text = fs::read("/proc/self/stat")?;
        let stat = procfs::stat(&text).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Own {
            pid: stat.pid,
            group: Some(stat.group),
            session: Some(stat.session),
        })
    }

    /// The current time in the unit of start times: clock ticks of the clock that includes suspend (proc_pid_stat(5),
    /// field 22).
    pub fn moment() -> Option<u64> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let since_boot = Duration::new(u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?);
        Some(nanos(since_boot) / tick())
    }

    /// The rule by which processes in one address space are known on this system.
    pub fn address_spaces() -> Option<AddressSpaceRule> {
        if address_space::may_ask() {
            Some(AddressSpaceRule::Kernel)
        } else {
            Some(AddressSpaceRule::EqualCounters)
        }
    }

    /// The last process id assigned; reveals new processes and threads with one short read.
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

    /// True if a full scan of `/proc` is required, or cheaper than probing each new id.
    fn must_sweep(&self, now: Nanos, effort: Effort, knows_last: bool, knows_new: bool, probes: usize) -> bool {
        let probe_cost = PROBE_COST.saturating_mul(u32::try_from(probes).unwrap_or(u32::MAX));
        let cannot_probe = !knows_new && (knows_last || effort == Effort::CatchUp);
        effort == Effort::Thorough || now >= self.next_sweep || cannot_probe || probe_cost > self.sweep_cost
    }

    /// The process or thread with this id.
    fn probe(&mut self, pid: u32) -> Option<Found> {
        let file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let stat = procfs::stat(read_whole(&file, &mut self.buffer).ok()?)?;
        if stat.ended() { None } else { Some(as_found(&stat)) }
    }

    /// Probes the ids assigned since the last look, and again those without a process.
    fn probe_new(&mut self, ids: std::ops::RangeInclusive<u32>, found: &mut Vec<Found>) {
        let mut missing = std::mem::take(&mut self.missing);
        missing.extend(ids.map(|pid| (pid, 0)));
        missing.retain_mut(|(pid, tries)| {
            let process = self.probe(*pid);
            *tries += 1;
            found.extend(process);
            process.is_none() && *tries < PROBE_TRIES
        });
        self.missing = missing;
    }

    /// The status of a living thread of a process whose main thread has ended.
    fn status_of_thread(&mut self, process: &mut Process) -> Option<Status> {
        let tasks = openat(
            &process.directory,
            "task",
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?;
        for entry in Dir::read_from(tasks).ok()? {
            let name = entry.ok()?.file_name().to_string_lossy().into_owned();
            let Ok(thread) = name.parse() else { continue };
            let Ok(file) = file(&process.directory, &format!("task/{name}/status")) else {
                continue;
            };
            let status = procfs::status(read_whole(&file, &mut self.buffer).ok()?);
            if status.resident.is_some() {
                process.thread = Some(thread);
                return Some(status);
            }
        }
        None
    }

    /// The shared memory of a process by what holds it. Most processes have none, and then nothing more is read.
    fn shared_memory(&mut self, process: &Process, rollup: &Rollup) -> io::Result<SharedMemory> {
        let has_pages = rollup.proportional_shared.unwrap_or(0) > 0;
        // Swapped shared memory is in `Swap` alone.
        let has_swapped = rollup.swap > rollup.swap_proportional;
        if !has_pages && !has_swapped {
            return Ok(SharedMemory::default());
        }
        // Without the mounts, removed files of a tmpfs count as named ones.
        let tmpfs = self.tmpfs_devices(process).unwrap_or_default();
        let smaps = file(&process.directory, &process.memory_file("smaps"))?;
        let root = format!("/proc/{}/root", process.pid);
        let own = procfs::own_shared(BufReader::new(smaps), &tmpfs, |path| inode(Path::new(&root), path))?;
        let status = file(&process.directory, &process.memory_file("status"))?;
        let status = procfs::status(read_whole(&status, &mut self.buffer)?);
        Ok(SharedMemory {
            own: own.proportional,
            own_resident: own.resident,
            own_swap: own.swap,
            named: status.shared.unwrap_or(0).saturating_sub(own.resident),
        })
    }

    /// The devices of the tmpfs that the process sees.
    fn tmpfs_devices(&mut self, process: &Process) -> io::Result<Vec<Vec<u8>>> {
        let mounts = file(&process.directory, &process.memory_file("mountinfo"))?;
        let text = read_whole(&mounts, &mut self.buffer)?;
        Ok(procfs::tmpfs_devices(text))
    }

    /// True if an unreadable process has ended.
    fn has_ended(&mut self, process: &Process) -> bool {
        match stat_of(&process.stat, &mut self.buffer) {
            Ok(stat) => stat.ended(),
            Err(error) => is_gone(&error),
        }
    }

    /// A failure, unless the process has ended. An ending process loses its memory, and the files about it, shortly
    /// before it counts as ended.
    fn failed<T: Default>(&mut self, process: &Process, what: &'static str, error: io::Error) -> Result<T, Failure> {
        let is_over = is_gone(&error) || (error.kind() == io::ErrorKind::NotFound && error.raw_os_error().is_none());
        if is_over || self.has_ended(process) {
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
            // Ids wrapped around, or are unknown.
            (Some(_) | None, Some(_) | None) => None,
        };
        let probes = new.clone().map_or(0, Iterator::count) + self.missing.len();
        let is_timed = last.is_some() && now >= self.next_sweep;
        let sweeps = self.must_sweep(now, effort, last.is_some(), new.is_some(), probes);
        if sweeps {
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
            // Requested by the driver, rarely: it must not delay later looks.
            Effort::Thorough => {}
            // Servers start helpers when machines are busy, and then a look takes longer: the pause must not grow with
            // that.
            Effort::Cheap | Effort::CatchUp => {
                // A scan that is due by the clock is rare enough: it does not delay cheap looks.
                let most = if sweeps && !is_timed {
                    5 * LOOK_PAUSE
                } else {
                    LOOK_PAUSE
                };
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
            descriptor: exit::open(pid),
            thread: None,
        };
        // Read after the descriptor was opened: the id belongs to the same process if this still finds it.
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
                found: as_found(&stat),
                started: stat.started,
                name,
            },
        ))
    }

    fn read(&mut self, process: &mut Process, failures: &mut Vec<Failure>) -> Option<Reading> {
        let mut reading = Reading::default();
        let mut threads = 1;
        // Read before the check that this process still exists.
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
                // It released its memory after `stat` was read.
                if status.resident.is_none() && threads <= 1 {
                    return None;
                }
                let status = match status.resident {
                    Some(_) => status,
                    None => self.status_of_thread(process).unwrap_or(status),
                };
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

    fn shares_memory(&mut self, one: &Process, other: &Process) -> Option<bool> {
        if !self.compares {
            return None;
        }
        address_space::is_same(one.memory_task(), other.memory_task())
    }

    fn kill(&mut self, process: &Process) {
        if let Some(descriptor) = &process.descriptor {
            // One that has ended needs no signal.
            let _ = rustix::process::pidfd_send_signal(descriptor, rustix::process::Signal::KILL);
        }
    }

    fn cause(&mut self, process: &Process) -> EndCause {
        if let Some(cause) = process.descriptor.as_ref().and_then(exit::cause) {
            return cause;
        }
        // Nobody has reaped it yet: its own file has the status.
        let status = stat_of(&process.stat, &mut self.buffer).ok().filter(Stat::ended);
        match status.and_then(|stat| i32::try_from(stat.exit_code).ok()) {
            Some(status) => exit::from_status(status),
            None => EndCause::Unknown,
        }
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
        Some(mapped_files(&text))
    }

    fn environment(&mut self, process: &Process) -> Option<Vec<Vec<u8>>> {
        let mut text = Vec::new();
        file(&process.directory, "environ").ok()?.read_to_end(&mut text).ok()?;
        procfs::environment(&text)
    }

    fn rollup(&mut self, process: &Process, number: u32) -> Result<Option<Rollup>, Failure> {
        let started = Instant::now();
        // Opened anew each time: the descriptor belongs to one address space, and an exec creates another.
        let read = file(&process.directory, &process.memory_file("smaps_rollup"))
            .and_then(|file| Ok(procfs::rollup(read_whole(&file, &mut self.buffer)?, number, 0)));
        match read {
            Ok(Some(mut rollup)) => {
                rollup.shared_memory = match self.shared_memory(process, &rollup) {
                    Ok(shared) => Some(shared),
                    Err(error) => return self.failed(process, "smaps", error),
                };
                rollup.cost = nanos(started.elapsed());
                Ok(Some(rollup))
            }
            Ok(None) => self.failed(process, "smaps_rollup", io::ErrorKind::InvalidData.into()),
            Err(error) => self.failed(process, "smaps_rollup", error),
        }
    }

    fn descriptors(&mut self, process: &Process) -> Option<u64> {
        resources::descriptors(&process.directory, &process.memory_file("fd"))
    }

    fn zombies(&mut self, parents: &[u32]) -> Option<u64> {
        resources::zombies(parents, &mut self.buffer)
    }

    fn reset_peak(&mut self, process: &Process) -> Result<bool, Failure> {
        let opened = openat(
            &process.directory,
            process.memory_file("clear_refs"),
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        // `5` resets the high-water mark to the resident size (proc_pid_clear_refs(5)).
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

/// Opens a file in a process's directory; safe if the process id is reused.
fn file(directory: &OwnedFd, name: &str) -> io::Result<File> {
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from);
    file.map(File::from).map_err(gone)
}

/// The inode of a path in `smaps`, below the root directory of a process.
fn inode(root: &Path, path: &[u8]) -> Option<u64> {
    let path = procfs::unescaped(path.strip_prefix(b"/")?);
    let file = root.join(OsStr::from_bytes(&path));
    Some(fs::symlink_metadata(file).ok()?.ino())
}

/// Reads a file of `/proc` from its start, in one call unless it is larger than the buffer.
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

/// One error kind for an ended process, whether its directory or its task disappeared first.
fn gone(error: io::Error) -> io::Error {
    if is_gone(&error) {
        io::ErrorKind::NotFound.into()
    } else {
        error
    }
}
