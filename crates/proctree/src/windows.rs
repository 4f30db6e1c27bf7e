//! Windows: reads processes through open handles, which also prevents reuse of their ids.

use std::collections::HashMap;
use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::time::Instant;

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME, INVALID_HANDLE_VALUE, WAIT_OBJECT_0};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS_EX};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    PROCESS_VM_READ, QueryFullProcessImageNameW, WaitForSingleObject,
};

use record::{AddressSpaceRule, Counters, Nanos, Rollup, nanos};

use super::Duty;
use super::source::{Effort, Failure, Found, Kin, Opened, Program, Reading, Source};
use super::tree::Own;

/// Share of one processor that looking for new processes may take: a snapshot takes some milliseconds.
const LOOK_SHARE: f64 = 0.005;

/// Longest pause after a look, in nanoseconds: servers start helpers when machines are busy and a look is slow.
const LOOK_PAUSE: Nanos = 500_000_000;

/// The host of a console window.
const CONSOLE: &str = "conhost.exe";

pub struct System {
    duty: Duty,
    /// From the last look: parent and threads by process id.
    listed: HashMap<u32, Listed>,
}

#[derive(Clone, Copy)]
struct Listed {
    parent: u32,
    threads: u64,
    /// True for the host of a console window: the system starts it, so its memory does not count.
    is_console: bool,
}

pub struct Process {
    handle: OwnedHandle,
    pid: u32,
    parent: u32,
}

impl System {
    pub fn new() -> io::Result<System> {
        Ok(System {
            duty: Duty::new(LOOK_SHARE, 0),
            listed: HashMap::new(),
        })
    }

    /// The ids of lsp-soak. Windows has no process groups in the sense of Unix.
    pub fn own_ids() -> io::Result<Own> {
        Ok(Own {
            pid: std::process::id(),
            group: None,
            session: None,
        })
    }

    pub fn moment() -> Option<u64> {
        None
    }

    pub fn address_spaces() -> Option<AddressSpaceRule> {
        None
    }
}

impl Source for System {
    type Process = Process;

    fn look(&mut self, now: Nanos, effort: Effort, found: &mut Vec<Found>) -> io::Result<()> {
        if effort == Effort::Cheap && !self.duty.ready(now) {
            return Ok(());
        }
        let started = Instant::now();
        self.listed = list()?;
        // Start times require opening each process: done only for possible members.
        let others = self.listed.iter().filter(|(_, listed)| !listed.is_console);
        found.extend(others.map(|(&pid, listed)| as_found(pid, listed.parent, None)));
        if effort == Effort::Cheap {
            self.duty.spent(now, nanos(started.elapsed()), LOOK_PAUSE);
        }
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<(Process, Opened)> {
        let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_VM_READ | PROCESS_SYNCHRONIZE;
        // SAFETY: takes numbers only.
        let handle = unsafe { OpenProcess(rights, 0, pid) };
        if handle.is_null() {
            let error = io::Error::last_os_error();
            let unknown = error.raw_os_error() == i32::try_from(ERROR_INVALID_PARAMETER).ok();
            return Err(if unknown { io::ErrorKind::NotFound.into() } else { error });
        }
        // SAFETY: the handle was just opened and is nobody else's.
        let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
        let parent = self.listed.get(&pid).map_or(0, |listed| listed.parent);
        let process = Process { handle, pid, parent };
        if is_over(&process) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let started = times(&process)?.created;
        let name = self.describe(&process).map(|program| program.name).unwrap_or_default();
        // A process that is starting may have had no name in the list, at least under Wine.
        if name.eq_ignore_ascii_case(CONSOLE) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((
            process,
            Opened {
                found: as_found(pid, parent, Some(started)),
                started,
                name,
            },
        ))
    }

    fn read(&mut self, process: &mut Process, failures: &mut Vec<Failure>) -> Option<Reading> {
        if is_over(process) {
            return None;
        }
        let mut counters = Counters {
            forked: Some(false),
            ..Counters::default()
        };
        // From the last look, at most some hundred milliseconds ago: the list is the only source.
        counters.threads = self.listed.get(&process.pid).map(|listed| listed.threads);
        match memory(process) {
            Ok(memory) => count_memory(&mut counters, &memory),
            Err(error) => failures.push(Failure {
                what: "memory info",
                error,
            }),
        }
        match times(process) {
            Ok(times) => {
                counters.user = Some(times.user);
                counters.system = Some(times.system);
            }
            Err(error) => failures.push(Failure {
                what: "process times",
                error,
            }),
        }
        // Windows has no exec: the program never changes.
        let kin = Kin {
            parent: process.parent,
            group: None,
            session: None,
            reaped: None,
            program: 0,
        };
        Some(Reading {
            counters,
            kin: Some(kin),
        })
    }

    fn describe(&mut self, process: &Process) -> Option<Program> {
        // The command line is in the memory of the process; the program's path identifies it well enough.
        let mut text = [0u16; 1024];
        let mut length = 1024;
        // SAFETY: the handle is open and the buffer as long as is said.
        let known = unsafe {
            QueryFullProcessImageNameW(
                process.handle.as_raw_handle(),
                PROCESS_NAME_WIN32,
                text.as_mut_ptr(),
                &mut length,
            )
        };
        if known == 0 {
            return None;
        }
        let path = String::from_utf16_lossy(text.get(..usize::try_from(length).ok()?)?);
        let name = Path::new(&path).file_name()?.to_string_lossy().into_owned();
        Some(Program {
            name,
            command: vec![path],
            huge_pages: None,
        })
    }

    fn rollup(&mut self, _: &Process, _: u32) -> Result<Option<Rollup>, Failure> {
        Ok(None)
    }

    fn reset_peak(&mut self, _: &Process) -> Result<bool, Failure> {
        Ok(false)
    }
}

fn as_found(pid: u32, parent: u32, started: Option<u64>) -> Found {
    Found {
        pid,
        parent,
        group: None,
        session: None,
        started,
    }
}

fn list() -> io::Result<HashMap<u32, Listed>> {
    // SAFETY: takes numbers only.
    let handle = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was just opened and is nobody else's.
    let snapshot = unsafe { OwnedHandle::from_raw_handle(handle) };
    let size = u32::try_from(size_of::<PROCESSENTRY32W>()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut entry = PROCESSENTRY32W {
        dwSize: size,
        ..PROCESSENTRY32W::default()
    };
    let mut listed = HashMap::new();
    // SAFETY: the handle is open and the struct says its own size, as the function demands.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &mut entry) };
    while more != 0 {
        let process = Listed {
            parent: entry.th32ParentProcessID,
            threads: u64::from(entry.cntThreads),
            is_console: is_console(&entry.szExeFile),
        };
        listed.insert(entry.th32ProcessID, process);
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &mut entry) };
    }
    Ok(listed)
}

fn is_console(name: &[u16]) -> bool {
    let name = name.split(|unit| *unit == 0).next().unwrap_or_default();
    String::from_utf16_lossy(name).eq_ignore_ascii_case(CONSOLE)
}

fn is_over(process: &Process) -> bool {
    // SAFETY: the handle is open; waiting for no time only asks.
    unsafe { WaitForSingleObject(process.handle.as_raw_handle(), 0) == WAIT_OBJECT_0 }
}

fn memory(process: &Process) -> io::Result<PROCESS_MEMORY_COUNTERS_EX> {
    let size = u32::try_from(size_of::<PROCESS_MEMORY_COUNTERS_EX>()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut memory = PROCESS_MEMORY_COUNTERS_EX {
        cb: size,
        ..PROCESS_MEMORY_COUNTERS_EX::default()
    };
    // SAFETY: the handle is open; the struct is the documented longer form of the one declared, and its size is given.
    let known = unsafe { GetProcessMemoryInfo(process.handle.as_raw_handle(), (&raw mut memory).cast(), size) };
    if known == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(memory)
    }
}

fn count_memory(counters: &mut Counters, memory: &PROCESS_MEMORY_COUNTERS_EX) {
    counters.resident = bytes(memory.WorkingSetSize);
    counters.high_water = bytes(memory.PeakWorkingSetSize);
    counters.private = bytes(memory.PrivateUsage);
    if counters.private.is_some() {
        counters.private_high_water = bytes(memory.PeakPagefileUsage);
    } else {
        // Documented as equal. Wine has only this one: touched memory, not commit, and without a true peak.
        counters.private = bytes(memory.PagefileUsage);
    }
    // Soft and hard faults in one number.
    counters.minor_faults = Some(u64::from(memory.PageFaultCount));
}

/// A size in bytes; `None` for zero: every process has some memory, so the system lacks the counter.
fn bytes(size: usize) -> Option<u64> {
    // A `usize` of Windows has at most 64 bits.
    if size > 0 { Some(size as u64) } else { None }
}

struct Times {
    /// In units of 100 ns since 1601.
    created: u64,
    user: Nanos,
    system: Nanos,
}

fn times(process: &Process) -> io::Result<Times> {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, system, user] = &mut times;
    // SAFETY: the handle is open and the pointers are to four different structs.
    let known = unsafe { GetProcessTimes(process.handle.as_raw_handle(), created, ended, system, user) };
    if known == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Times {
        created: units(created),
        user: units(user) * 100,
        system: units(system) * 100,
    })
}

/// The time in units of 100 ns.
fn units(time: &FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}
