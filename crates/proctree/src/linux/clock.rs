//! The processor time of a process in nanoseconds; `/proc/PID/stat` has only ticks.
#![expect(unsafe_code, reason = "no safe wrapper asks for the clock of another process")]

use std::time::Duration;

use record::{Nanos, nanos};

/// Processor time of all threads, including ended ones, until the process is reaped.
///
/// The id of a reaped process may be reused: callers check that the process still exists.
pub(super) fn cpu(pid: u32) -> Option<Nanos> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a clock id of our own, which the call writes or leaves.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a time of our own, which the call writes or leaves.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let (seconds, rest) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    Some(nanos(Duration::new(seconds, rest)))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    /// A shell that used about ten milliseconds and was not reaped.
    fn ended() -> Child {
        let child = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        let id = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        child
    }

    #[test]
    fn a_zombie_still_says_to_the_nanosecond_what_it_used() {
        let mut child = ended();
        // `schedstat` begins with the thread's CPU nanoseconds, and the process has one thread.
        let own = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id())).unwrap();
        let own: u64 = own.split(' ').next().unwrap().parse().unwrap();
        let read = cpu(child.id()).unwrap();
        assert!(read.abs_diff(own) < 2_000_000, "{read} {own}");
        assert!(read > 1_000_000, "{read}");
        child.wait().unwrap();
    }

    #[test]
    fn threads_that_ended_count() {
        let (before, own_before) = used_so_far();
        for _ in 0..4 {
            std::thread::spawn(burn_ten_milliseconds).join().unwrap();
        }
        let (used, own) = used_so_far();
        let (used, own) = (used - before, own - own_before);
        assert!(used >= 40_000_000, "{used}");
        assert!(
            used.abs_diff(own) < 2_000_000,
            "by itself it used {own}, as read {used}"
        );
    }

    /// Processor time of this process, as `cpu` reads it and as the process itself does.
    fn used_so_far() -> (Nanos, Nanos) {
        let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let own = Duration::new(own.tv_sec.unsigned_abs(), u32::try_from(own.tv_nsec).unwrap());
        (cpu(std::process::id()).unwrap(), nanos(own))
    }

    /// Reads only `tv_nsec`, so the thread's clock must be below a second.
    fn burn_ten_milliseconds() {
        let begin = thread_nanos();
        while thread_nanos() - begin < 10_000_000 {}
    }

    fn thread_nanos() -> i64 {
        rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_nsec
    }
}
