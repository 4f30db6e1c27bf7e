//! Facts about the machine that figures depend on. Unreadable facts are `None`.

mod probe_directory;
mod program;
mod revision;
mod script;
mod subprocess;
mod which;

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod huge_pages;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
#[cfg(target_os = "linux")]
use linux::{complete, pressure as platform_pressure};
#[cfg(target_os = "linux")]
pub use linux::{cpus_by_core, keep_to, may_keep_to};
#[cfg(windows)]
use windows::complete;

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, System};

use record::HugePages;
use record::{Host, Memory, Pressure};

pub use probe_directory::{ProbeDirectory, Toolchain};
pub use program::{file_sha256, is_privileged, version_in, version_line};
pub use revision::{ELSEWHERE, revision};
pub use script::{interpreter, interpreter_file, named_interpreter};
pub use subprocess::{FinishedProgram, ProgramOutput, TiedProgram, hang_up, listen_up_to, run_program, start};
pub use which::{Which, unrunnable, which};

/// The machine and its current state.
///
/// Refreshes only the needed facts: a full refresh reads every process.
pub fn fingerprint() -> Host {
    complete(portable())
}

/// Total time that tasks waited for memory, processors and disks since boot; `None` if the system does not count it.
pub fn pressure() -> Option<Pressure> {
    platform_pressure()
}

/// Memory that each of `runs` runs at once may take before the machine suffers: the smaller of 95 % of the control
/// group's limit and the available memory less 5 % of all, divided among them. `None` if nothing is known.
pub fn memory_left(memory: &Memory, runs: u32) -> Option<u64> {
    let group_room = memory.cgroup_limit.map(|limit| limit / 100 * 95);
    let machine_room = match (memory.available, memory.total) {
        (Some(available), Some(total)) => Some(available.saturating_sub(total / 20)),
        (Some(_) | None, Some(_) | None) => None,
    };
    let room = group_room.into_iter().chain(machine_room).min()?;
    Some(room / u64::from(runs.max(1)))
}

/// Out-of-memory kills that the kernel counted so far, in our control group or on the machine; `None` if it counts none.
#[cfg(target_os = "linux")]
pub fn out_of_memory_kills() -> Option<u64> {
    linux::out_of_memory_kills()
}

/// Other systems do not count them.
#[cfg(not(target_os = "linux"))]
pub fn out_of_memory_kills() -> Option<u64> {
    None
}

/// Other systems cannot restrict child processes through a thread.
#[cfg(not(target_os = "linux"))]
pub fn keep_to(_cpus: &[usize]) -> std::io::Result<()> {
    no_affinity()
}

/// An empty list restricts nothing.
#[cfg(not(target_os = "linux"))]
pub fn may_keep_to(cpus: &[usize]) -> std::io::Result<()> {
    if cpus.is_empty() { Ok(()) } else { no_affinity() }
}

#[cfg(not(target_os = "linux"))]
pub fn cpus_by_core() -> std::io::Result<Vec<usize>> {
    no_affinity().map(|()| Vec::new())
}

#[cfg(not(target_os = "linux"))]
fn no_affinity() -> std::io::Result<()> {
    let reason = "on this system a server does not inherit the CPUs of the process that starts it";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, reason))
}

/// Limits huge pages of all programs started from here on.
#[cfg(target_os = "linux")]
pub fn limit_huge_pages(mode: HugePages) -> std::io::Result<()> {
    huge_pages::limit(mode, linux::huge_pages_mode().as_deref())
}

/// Other systems have no such limit.
#[cfg(not(target_os = "linux"))]
pub fn limit_huge_pages(_mode: HugePages) -> std::io::Result<()> {
    let reason = "this system has none that come without being asked for";
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, reason))
}

#[cfg(not(target_os = "linux"))]
fn platform_pressure() -> Option<Pressure> {
    None
}

#[cfg(not(any(target_os = "linux", windows)))]
fn complete(host: Host) -> Host {
    host
}

/// The facts that sysinfo reads on every system.
fn portable() -> Host {
    let mut system = System::new().ok();
    if let Some(system) = &mut system {
        system.refresh_memory_specifics(MemoryRefreshKind::everything());
        system.refresh_cpu_list(CpuRefreshKind::nothing());
    }
    let system = system.as_ref();
    let brand = system.and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()));
    let cpus = system.map(|system| system.cpus().len() as u64);
    let load = System::load_average().ok().map(|load| load.one);
    Host {
        target: target(),
        os: std::env::consts::OS.to_owned(),
        distribution: System::long_os_version().ok(),
        kernel: System::kernel_version().ok(),
        cpu: brand.filter(|brand| !brand.is_empty()),
        cpus: cpus.filter(|cpus| *cpus > 0),
        memory: Memory {
            total: system.map(System::total_memory).filter(|total| *total > 0),
            available: system.map(System::available_memory).filter(|available| *available > 0),
            swap: system.map(System::total_swap),
            ..Memory::default()
        },
        page_size: page_size(),
        load: load.filter(|load| load.is_finite() && cfg!(unix)),
        ..Host::default()
    }
}

/// The target triple, built from its parts: cargo passes it only to build scripts.
fn target() -> String {
    let environment = if cfg!(target_env = "musl") {
        "musl"
    } else if cfg!(target_env = "msvc") {
        "msvc"
    } else {
        "gnu"
    };
    let system = match std::env::consts::OS {
        "macos" => "apple-darwin".to_owned(),
        "windows" => format!("pc-windows-{environment}"),
        other => format!("unknown-{other}-{environment}"),
    };
    format!("{}-{system}", std::env::consts::ARCH)
}

#[cfg(unix)]
fn page_size() -> Option<u64> {
    u64::try_from(rustix::param::page_size()).ok()
}

#[cfg(not(unix))]
fn page_size() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_processors() {
        let host = fingerprint();
        assert!(host.memory.total.unwrap() > host.memory.available.unwrap());
        assert!(host.cpus.unwrap() >= 1);
        assert_eq!(host.os, std::env::consts::OS);
    }

    #[test]
    fn a_fingerprint_can_be_written_as_json() {
        serde_json::to_string(&fingerprint()).unwrap();
    }
}
