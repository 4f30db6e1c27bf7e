//! Processes on Windows: a job that contains the server and all its children, and ends with lsp-soak.
#![expect(
    unsafe_code,
    reason = "job objects and process handles are only reachable through the system's C interface"
)]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::ExitStatus;
use std::ptr::null;

use tokio::process::{Child, Command};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenProcess, OpenThread, PROCESS_TERMINATE,
    ResumeThread, THREAD_SUSPEND_RESUME, TerminateProcess,
};

/// Exit code of a process that was killed.
const KILLED: u32 = 1;

/// The server's job. The system ends its processes when the last handle is closed, even after a crash.
#[derive(Debug)]
pub(super) struct Group {
    job: OwnedHandle,
}

/// Starts the server suspended, so that it has no children before it is in the job.
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(super) fn prepare(command: &mut Command) -> io::Result<()> {
    command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW);
    Ok(())
}

/// Puts the child into a new job, and lets it run.
pub(super) fn adopt(child: &mut Child) -> io::Result<Group> {
    let process = child.raw_handle().ok_or_else(gone)?;
    let pid = child.id().ok_or_else(gone)?;
    let job = create_job()?;
    // SAFETY: both handles are open: the job is ours, and the child's is held by `child`.
    checked(unsafe { AssignProcessToJobObject(job.as_raw_handle(), process) })?;
    resume(pid)?;
    Ok(Group { job })
}

/// The job that ends a companion with lsp-soak.
pub(super) type Bond = Group;

/// Started suspended, so that it has no children before it is in the job.
pub(super) fn prepare_companion(command: &mut Command) {
    command.creation_flags(CREATE_SUSPENDED);
}

pub(super) fn bond(child: &mut Child) -> io::Result<Bond> {
    adopt(child)
}

fn gone() -> io::Error {
    io::Error::other("the server was gone before it could be watched")
}

fn create_job() -> io::Result<OwnedHandle> {
    // SAFETY: null asks for default security and no name.
    let job = owned(unsafe { CreateJobObjectW(null(), null()) })?;
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32;
    // SAFETY: `limits` is the structure that this class of information asks for, and `size` is its size.
    checked(unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size,
        )
    })?;
    Ok(job)
}

/// Resumes the only thread of a process that was started suspended.
fn resume(pid: u32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 {
        dwSize: size_of::<THREADENTRY32>() as u32,
        ..THREADENTRY32::default()
    };
    // SAFETY: `entry` is a structure of the size that it states.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == pid {
            // SAFETY: takes no pointers.
            let thread = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open and has the right that the call needs.
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: as for the first.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    Ok(())
}

impl Group {
    /// Windows has no request to end for a program without a window.
    #[expect(clippy::unused_self, reason = "the same signature as on Unix")]
    pub(super) fn terminate(&self, _leader_gone: bool) {}

    /// Ignores failure: then no process is left.
    pub(super) fn kill(&self, _leader_gone: bool) {
        // SAFETY: the handle is open for as long as `self` lives.
        unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) };
    }
}

/// On Windows the size of a pipe is fixed at its creation.
pub(super) fn widen<T>(_pipe: &T) {}

pub(super) fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

pub(super) fn wait_unreaped(_child: Option<u32>) -> impl Future<Output = Option<(Option<i32>, Option<i32>)>> {
    std::future::ready(None)
}

/// Kills one process if `is_meant`, which is checked while its id cannot be reused. Returns whether it was.
pub fn kill_pid(pid: u32, is_meant: impl FnOnce() -> bool) -> io::Result<bool> {
    // SAFETY: takes no pointers.
    let opened = owned(unsafe { OpenProcess(PROCESS_TERMINATE, 0, pid) });
    let Ok(process) = opened else { return Ok(false) };
    if !is_meant() {
        return Ok(false);
    }
    // SAFETY: the handle is open and has the right that the call needs.
    checked(unsafe { TerminateProcess(process.as_raw_handle(), KILLED) })?;
    Ok(true)
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call that made the handle succeeded, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn checked(success: i32) -> io::Result<()> {
    if success == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
