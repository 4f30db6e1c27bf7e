//! macOS: reads processes through libproc. Identity is the start time, checked with every read.

use std::collections::HashSet;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::time::Instant;

use libc::{proc_bsdinfo, proc_taskallinfo, rusage_info_v4};

use record::{AddressSpaceRule, Counters, Nanos, Rollup, nanos};

use super::Duty;
use super::source::{Effort, Failure, Found, Kin, Opened, Program, Reading, Source};
use super::tree::Own;

/// Share of one processor that looking for new processes may take.
const LOOK_SHARE: f64 = 0.005;

/// Longest pause after a look, in nanoseconds: servers start helpers when machines are busy and a look is slow.
const LOOK_PAUSE: Nanos = 500_000_000;
/// `PROC_FLAG_EXEC` of sys/proc_info.h: the process has called exec.
const CALLED_EXEC: u32 = 0x4000;
/// Longest command line that is kept, in arguments and in bytes of each.
const COMMAND_ARGUMENTS: usize = 8;
const COMMAND_BYTES: usize = 1024;

#[repr(C)]
#[derive(Clone, Copy)]
struct Timebase {
    numerator: u32,
    denominator: u32,
}

unsafe extern "C" {
    /// libproc_internal.h: restarts the interval maximum of the footprint.
    fn proc_reset_footprint_interval(pid: c_int) -> c_int;
    fn mach_timebase_info(info: *mut Timebase) -> c_int;
}

pub struct System {
    /// Process ids of the last look: only new ones are opened.
    known: HashSet<c_int>,
    duty: Duty,
    timebase: Timebase,
}

/// A process, known by its start time.
pub struct Process {
    pid: c_int,
    started: u64,
    session: Option<u32>,
}

impl System {
    /// Reads the unit of time.
    pub fn new() -> io::Result<System> {
        let mut timebase = Timebase {
            numerator: 1,
            denominator: 1,
        };
        // SAFETY: the pointer is to a struct of the layout that the function fills.
        if unsafe { mach_timebase_info(&mut timebase) } != 0 || timebase.denominator == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(System {
            known: HashSet::new(),
            duty: Duty::new(LOOK_SHARE, 0),
            timebase,
        })
    }

    pub fn own_ids() -> io::Result<Own> {
        // SAFETY: takes nothing and cannot fail.
        let group = unsafe { libc::getpgrp() };
        Ok(Own {
            pid: std::process::id(),
            group: u32::try_from(group).ok(),
            session: session(0),
        })
    }

    pub fn moment() -> Option<u64> {
        None
    }

    pub fn address_spaces() -> Option<AddressSpaceRule> {
        None
    }

    fn nanos(&self, ticks: u64) -> Nanos {
        let nanos = u128::from(ticks) * u128::from(self.timebase.numerator) / u128::from(self.timebase.denominator);
        Nanos::try_from(nanos).unwrap_or(Nanos::MAX)
    }

    fn count(&self, counters: &mut Counters, usage: &rusage_info_v4) {
        counters.resident = Some(usage.ri_resident_size);
        counters.private = Some(usage.ri_phys_footprint);
        counters.private_high_water = Some(usage.ri_interval_max_phys_footprint);
        counters.user = Some(self.nanos(usage.ri_user_time));
        counters.system = Some(self.nanos(usage.ri_system_time));
        counters.cpu = counters.user.zip(counters.system).map(|(user, system)| user + system);
    }
}

impl Source for System {
    type Process = Process;

    fn look(&mut self, now: Nanos, effort: Effort, facts: &mut Vec<Found>) -> io::Result<()> {
        if effort == Effort::Cheap && !self.duty.ready(now) {
            return Ok(());
        }
        let started = Instant::now();
        let pids = all_pids()?;
        for &pid in &pids {
            if effort == Effort::Thorough || !self.known.contains(&pid) {
                // Processes of other users are unreadable and never the server's.
                facts.extend(
                    bsd_info(pid)
                        .ok()
                        .filter(|info| info.pbi_status != libc::SZOMB)
                        .map(|info| as_found(&info)),
                );
            }
        }
        self.known = pids.into_iter().collect();
        if effort == Effort::Cheap {
            self.duty.spent(now, nanos(started.elapsed()), LOOK_PAUSE);
        }
        Ok(())
    }

    fn open(&mut self, pid: u32) -> io::Result<(Process, Opened)> {
        let pid = c_int::try_from(pid).map_err(|_| io::ErrorKind::NotFound)?;
        let info = bsd_info(pid).map_err(gone)?;
        let usage = usage(pid).map_err(gone)?;
        if usage.ri_proc_exit_abstime != 0 || info.pbi_status == libc::SZOMB {
            return Err(io::ErrorKind::NotFound.into());
        }
        let found = as_found(&info);
        let process = Process {
            pid,
            started: usage.ri_proc_start_abstime,
            session: found.session,
        };
        Ok((
            process,
            Opened {
                found,
                started: started(&info),
                name: name(&info),
            },
        ))
    }

    fn read(&mut self, process: &mut Process, failures: &mut Vec<Failure>) -> Option<Reading> {
        let mut reading = Reading::default();
        let mut kin = Kin {
            session: process.session,
            ..Kin::default()
        };
        let mut complete = true;
        match usage(process.pid) {
            Ok(usage) if usage.ri_proc_start_abstime != process.started || usage.ri_proc_exit_abstime != 0 => {
                return None;
            }
            Ok(usage) => {
                self.count(&mut reading.counters, &usage);
                kin.reaped = Some(usage.ri_child_user_time + usage.ri_child_system_time + usage.ri_child_pageins);
                // The program's UUID changes with an exec.
                kin.program = number(&usage.ri_uuid[..8]) ^ number(&usage.ri_uuid[8..16]);
            }
            Err(error) if is_gone(&error) => return None,
            Err(error) => {
                complete = false;
                failures.push(Failure { what: "rusage", error });
            }
        }
        match pid_info::<proc_taskallinfo>(process.pid, libc::PROC_PIDTASKALLINFO) {
            Ok(info) if info.pbsd.pbi_status == libc::SZOMB => return None,
            Ok(info) => {
                count_task(&mut reading.counters, &info);
                kin.parent = info.pbsd.pbi_ppid;
                kin.group = Some(info.pbsd.pbi_pgid);
            }
            Err(error) if is_gone(&error) => return None,
            Err(error) => {
                complete = false;
                failures.push(Failure {
                    what: "taskinfo",
                    error,
                });
            }
        }
        reading.kin = if complete { Some(kin) } else { None };
        Some(reading)
    }

    fn describe(&mut self, process: &Process) -> Option<Program> {
        let info = bsd_info(process.pid).ok()?;
        let command = arguments(process.pid).unwrap_or_default();
        let is_same = usage(process.pid).is_ok_and(|usage| usage.ri_proc_start_abstime == process.started);
        if !is_same {
            return None;
        }
        Some(Program {
            name: name(&info),
            command,
            huge_pages: None,
        })
    }

    fn rollup(&mut self, _: &Process, _: u32) -> Result<Option<Rollup>, Failure> {
        Ok(None)
    }

    fn reset_peak(&mut self, process: &Process) -> Result<bool, Failure> {
        // SAFETY: takes a number; a process that is not ours is refused by the kernel.
        if unsafe { proc_reset_footprint_interval(process.pid) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        if is_gone(&error) {
            Ok(false)
        } else {
            Err(Failure {
                what: "footprint interval",
                error,
            })
        }
    }
}

fn all_pids() -> io::Result<Vec<c_int>> {
    // SAFETY: without a buffer the function only says how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // Processes may start between the two calls.
    let mut pids = vec![0 as c_int; count + 64];
    let bytes = c_int::try_from(pids.len() * size_of::<c_int>()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: the buffer holds as many bytes as is said.
    let filled = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast::<c_void>(), bytes) };
    let filled = usize::try_from(filled).map_err(|_| io::Error::last_os_error())?;
    pids.truncate(filled);
    pids.retain(|&pid| pid > 0);
    Ok(pids)
}

/// One of libproc's structs of plain numbers.
///
/// # Safety
///
/// All zeroes must be a value of the type, and libproc must fill it for some flavor.
unsafe trait Info: Copy {}
// SAFETY: plain numbers, filled for PROC_PIDTBSDINFO.
unsafe impl Info for proc_bsdinfo {}
// SAFETY: plain numbers, filled for PROC_PIDTASKALLINFO.
unsafe impl Info for proc_taskallinfo {}

fn pid_info<T: Info>(pid: c_int, flavor: c_int) -> io::Result<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let size = c_int::try_from(size_of::<T>()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the buffer is as large as is said.
    let filled = unsafe { libc::proc_pidinfo(pid, flavor, 0, info.as_mut_ptr().cast::<c_void>(), size) };
    if filled != size {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `Info` holds for all zeroes, and the kernel filled all of it.
    Ok(unsafe { info.assume_init() })
}

fn bsd_info(pid: c_int) -> io::Result<proc_bsdinfo> {
    pid_info(pid, libc::PROC_PIDTBSDINFO)
}

fn usage(pid: c_int) -> io::Result<rusage_info_v4> {
    let mut usage = MaybeUninit::<rusage_info_v4>::zeroed();
    // SAFETY: the buffer is of the type that the flavor names; libproc declares it as a pointer of another type.
    let result = unsafe { libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V4, usage.as_mut_ptr().cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: plain numbers, for which all zeroes are a value, and the call succeeded.
    Ok(unsafe { usage.assume_init() })
}

fn session(pid: c_int) -> Option<u32> {
    // SAFETY: takes a number, gives a number or -1.
    u32::try_from(unsafe { libc::getsid(pid) }).ok()
}

/// The arguments that the process was started with.
fn arguments(pid: c_int) -> Option<Vec<String>> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    // If the buffer is too small, the kernel returns the end of the area, but the arguments are at its start: use the
    // largest size.
    let mut text = vec![0u8; 1 << 20];
    let mut length = text.len();
    // SAFETY: three numbers are named and given, and the buffer is as large as is said.
    let result = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            3,
            text.as_mut_ptr().cast::<c_void>(),
            &mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    if result != 0 {
        return None;
    }
    text.truncate(length);
    // Layout: number of arguments, the program's path, zero bytes up to the next word, the arguments, the environment.
    let (count, rest) = text.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path = rest.iter().position(|&byte| byte == 0)?;
    let first = path + rest[path..].iter().position(|&byte| byte != 0)?;
    let arguments = rest[first..]
        .split(|&byte| byte == 0)
        .take(count.min(COMMAND_ARGUMENTS));
    Some(arguments.map(shortened).collect())
}

fn shortened(argument: &[u8]) -> String {
    String::from_utf8_lossy(&argument[..argument.len().min(COMMAND_BYTES)]).into_owned()
}

/// The number that these bytes write, the highest first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
}

fn as_found(info: &proc_bsdinfo) -> Found {
    Found {
        pid: info.pbi_pid,
        parent: info.pbi_ppid,
        group: Some(info.pbi_pgid),
        session: c_int::try_from(info.pbi_pid).ok().and_then(session),
        started: Some(started(info)),
    }
}

/// Microseconds since 1970.
fn started(info: &proc_bsdinfo) -> u64 {
    info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec
}

fn name(info: &proc_bsdinfo) -> String {
    let name = text(&info.pbi_name);
    if name.is_empty() { text(&info.pbi_comm) } else { name }
}

/// The text before the first zero byte.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .take_while(|&&byte| byte != 0)
        .map(|&byte| byte.cast_unsigned())
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn count_task(counters: &mut Counters, info: &proc_taskallinfo) {
    // The kernel stores signed 32-bit numbers that wrap.
    let (faults, pageins) = (
        info.ptinfo.pti_faults.cast_unsigned(),
        info.ptinfo.pti_pageins.cast_unsigned(),
    );
    counters.minor_faults = Some(u64::from(faults.saturating_sub(pageins)));
    counters.major_faults = Some(u64::from(pageins));
    counters.virtual_size = Some(info.ptinfo.pti_virtual_size);
    counters.threads = u64::try_from(info.ptinfo.pti_threadnum).ok();
    counters.forked = Some(info.pbsd.pbi_flags & CALLED_EXEC == 0);
}

fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

fn gone(error: io::Error) -> io::Error {
    if is_gone(&error) {
        io::ErrorKind::NotFound.into()
    } else {
        error
    }
}
