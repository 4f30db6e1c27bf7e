//! The exit status of a process that is not our child, from the descriptor that was opened while it lived.
#![expect(
    unsafe_code,
    reason = "no safe wrapper asks a process descriptor for its information"
)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use record::EndCause;

/// `struct pidfd_info` in its first version, 64 bytes (include/uapi/linux/pidfd.h).
#[repr(C)]
#[derive(Default)]
struct Information {
    mask: u64,
    control_group: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// `PIDFD_INFO_EXIT`, since Linux 6.15: the exit status, known once the process was reaped.
const EXIT: u64 = 1 << 3;

/// `PIDFD_GET_INFO`: `_IOWR(0xFF, 11, struct pidfd_info)`.
const GET_INFORMATION: libc::c_ulong = (3 << 30) | (64 << 16) | (0xFF << 8) | 11;

/// A descriptor of a process; `None` on kernels before 5.3 or when descriptors run out.
pub(super) fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// The cause of the end of a reaped process; `None` while it is not reaped, and on kernels before 6.15.
pub(super) fn cause(process: &OwnedFd) -> Option<EndCause> {
    let mut information = Information {
        mask: EXIT,
        ..Information::default()
    };
    // SAFETY: the descriptor is open, and the pointer is to a structure of our own with the size that the request
    // names; the call writes at most that size.
    let answer = unsafe { libc::ioctl(process.as_raw_fd(), GET_INFORMATION as _, &raw mut information) };
    if answer != 0 || information.mask & EXIT == 0 {
        return None;
    }
    Some(from_status(information.exit_code))
}

/// The meaning of a wait status (wait(2)).
pub(super) fn from_status(status: i32) -> EndCause {
    let status = ExitStatus::from_raw(status);
    match (status.code(), status.signal()) {
        (Some(code), _) => EndCause::Exited { code },
        (None, Some(signal)) => EndCause::Signalled {
            signal,
            out_of_memory: false,
        },
        (None, None) => EndCause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_structure_has_the_size_that_the_request_names() {
        assert_eq!(size_of::<Information>(), 64);
    }

    #[test]
    fn a_process_that_somebody_else_reaped_still_tells_how_it_ended() {
        for (script, expected) in [
            ("exit 3", EndCause::Exited { code: 3 }),
            (
                "kill -ABRT $$",
                EndCause::Signalled {
                    signal: 6,
                    out_of_memory: false,
                },
            ),
        ] {
            let mut child = Command::new("sh")
                .args(["-c", &format!("read go; {script}")])
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let descriptor = open(child.id()).unwrap();
            assert_eq!(cause(&descriptor), None, "while it lives");
            drop(child.stdin.take());
            child.wait().unwrap();
            let seen = cause(&descriptor);
            // Kernels before 6.15 do not tell.
            assert!(seen == Some(expected) || (seen.is_none() && !tells_exits()), "{seen:?}");
        }
    }

    fn tells_exits() -> bool {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(6), Some(15))
    }
}
