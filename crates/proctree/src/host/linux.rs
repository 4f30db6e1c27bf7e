//! Facts from Linux's `/proc` and `/sys`: reading here, parsing in functions that need no Linux.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{cgroup, huge_pages};
use base::processors;
use record::{Host, Nanos, Pressure};

/// Adds the facts that only Linux has.
pub(super) fn complete(mut host: Host) -> Host {
    let release = fs::read_to_string("/etc/os-release").ok();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    host.distribution = release.as_deref().and_then(pretty_name).or(host.distribution.take());
    host.libc = libc();
    host.affinity = sched_getaffinity(None).ok().and_then(|set| affinity(&set));
    host.governor = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    host.memory.huge_pages = huge_pages_mode();
    host.memory.huge_pages_defrag = line("/sys/kernel/mm/transparent_hugepage/defrag")
        .as_deref()
        .and_then(chosen);
    let state = huge_pages::state();
    host.memory.huge_pages_disabled = state.map(|state| state.is_disabled);
    host.memory.huge_pages_exempt = state.map(|state| state.is_advised_exempt);
    host.memory.overcommit = line("/proc/sys/vm/overcommit_memory").and_then(|mode| mode.parse().ok());
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = cgroup::limits(&groups, |file| line(file));
    host.memory.cgroup_limit = limits.memory;
    host.memory.cgroup_high = limits.high;
    host.memory.cgroup_swap = limits.swap;
    host.cpu_quota = limits.processors;
    host.container = container(&groups);
    host.virtual_machine = virtual_machine(&cpuinfo);
    host.memory_pressure = fs::read_to_string("/proc/pressure/memory")
        .ok()
        .as_deref()
        .and_then(average);
    host
}

/// Out-of-memory kills so far: in our control group, else on the whole machine.
pub(super) fn out_of_memory_kills() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let counted = cgroup::out_of_memory_kills(&groups, |file| fs::read_to_string(file).ok());
    counted.or_else(|| cgroup::kills(&fs::read_to_string("/proc/vmstat").ok()?))
}

pub(super) fn huge_pages_mode() -> Option<String> {
    line("/sys/kernel/mm/transparent_hugepage/enabled")
        .as_deref()
        .and_then(chosen)
}

/// The pressure totals of all resources.
pub(super) fn pressure() -> Option<Pressure> {
    let [memory, cpu, io] = ["memory", "cpu", "io"]
        .map(|resource| fs::read_to_string(Path::new("/proc/pressure").join(resource)).unwrap_or_default());
    let pressure = Pressure {
        memory_some: total(&memory, "some"),
        memory_full: total(&memory, "full"),
        cpu_some: total(&cpu, "some"),
        io_some: total(&io, "some"),
        io_full: total(&io, "full"),
    };
    if pressure == Pressure::default() {
        None
    } else {
        Some(pressure)
    }
}

/// The text of a file with one line; `None` if it is empty or unreadable.
fn line(path: impl AsRef<Path>) -> Option<String> {
    non_empty(fs::read_to_string(path).ok()?.trim())
}

fn non_empty(text: &str) -> Option<String> {
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// The system's C library. Asks its own tools, because a static build of lsp-soak contains another one.
fn libc() -> Option<String> {
    if let Some(text) = output("getconf", "GNU_LIBC_VERSION")
        && text.trim().starts_with("glibc ")
    {
        return Some(text.trim().to_owned());
    }
    musl(&output("ldd", "--version")?)
}

/// Both outputs of a program, stdout first.
fn output(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// musl's loader prints its version when called without a program.
fn musl(text: &str) -> Option<String> {
    if !text.starts_with("musl libc") {
        return None;
    }
    let version = text.lines().find_map(|line| line.strip_prefix("Version "))?;
    Some(format!("musl {}", version.trim()))
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    non_empty(value.trim_matches(['"', '\'']))
}

/// The choice in brackets: `always [madvise] never` → `madvise`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// `full avg10=0.12 … total=34` → 34_000 ns.
fn total(text: &str, kind: &str) -> Option<Nanos> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    let (_, microseconds) = line.rsplit_once("total=")?;
    microseconds.trim().parse::<Nanos>().ok()?.checked_mul(1_000)
}

/// `some avg10=0.12 …` → 0.12.
fn average(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
    let number: f64 = some.split(' ').next()?.parse().ok()?;
    if number.is_finite() { Some(number) } else { None }
}

/// Restricts this thread, and all threads and processes that it starts, to some of its processors.
pub fn keep_to(cpus: &[usize]) -> io::Result<()> {
    may_keep_to(cpus)?;
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// An error names the first of these processors that may not be used.
pub fn may_keep_to(cpus: &[usize]) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    for cpu in cpus {
        if *cpu >= CpuSet::MAX_CPU || !allowed.is_set(*cpu) {
            let all = affinity(&allowed).unwrap_or_default();
            return Err(io::Error::other(format!(
                "of the processors {all} that may be used none is {cpu}"
            )));
        }
    }
    Ok(())
}

/// The processors that this process may use; those of one core stand together.
pub fn cpus_by_core() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    cpus.sort_by_cached_key(|cpu| (first_sibling(*cpu).unwrap_or(*cpu), *cpu));
    Ok(cpus)
}

/// The first processor of the core that this processor is part of.
fn first_sibling(cpu: usize) -> Option<usize> {
    let siblings = line(format!(
        "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    ))?;
    processors::list(&siblings)?.first().copied()
}

fn affinity(set: &CpuSet) -> Option<String> {
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
    non_empty(&processors::ranges(&cpus))
}

fn container(groups: &str) -> Option<String> {
    for (file, name) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if Path::new(file).exists() {
            return Some(name.to_owned());
        }
    }
    let known = ["kubepods", "docker", "libpod", "containerd", "lxc", "garden"];
    let name = known.into_iter().find(|name| groups.contains(name))?;
    Some(name.to_owned())
}

fn virtual_machine(cpuinfo: &str) -> Option<String> {
    if let Some(hypervisor) = line("/sys/hypervisor/type") {
        return Some(hypervisor);
    }
    let vendor = line("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = line("/sys/class/dmi/id/product_name").unwrap_or_default();
    if let Some(name) = vendor_of(&vendor, &product) {
        return Some(name);
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        Some("unnamed hypervisor".to_owned())
    } else {
        None
    }
}

/// Names virtual machines by their firmware.
fn vendor_of(vendor: &str, product: &str) -> Option<String> {
    let is_virtual = match vendor {
        "QEMU" | "Xen" | "Bochs" | "Parallels" | "OpenStack Foundation" | "Apple Virtualization" => true,
        "VMware, Inc." | "innotek GmbH" | "Google" | "Amazon EC2" | "DigitalOcean" | "Hetzner" => true,
        "Microsoft Corporation" => product == "Virtual Machine",
        _ => product.contains("KVM") || product.contains("VirtualBox"),
    };
    if is_virtual && !product.contains("metal") {
        Some(format!("{vendor} {product}").trim().to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }

    #[test]
    fn pressure_is_the_ten_second_average_of_some() {
        let text = "some avg10=1.25 avg60=0.50 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!(average(text), Some(1.25));
        assert_eq!(average("some avg10=nan"), None);
    }

    #[test]
    fn pressure_totals_are_microseconds_of_their_own_line() {
        let text = "some avg10=1.25 avg60=0.50 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!((total(text, "some"), total(text, "full")), (Some(12_000), Some(3_000)));
        assert_eq!(total("some avg10=0.00", "some"), None);
    }

    #[test]
    fn names_of_systems_and_libraries_are_read() {
        assert_eq!(
            pretty_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(),
            Some("Debian 12")
        );
        assert_eq!(
            musl("musl libc (x86_64)\nVersion 1.2.5\n").as_deref(),
            Some("musl 1.2.5")
        );
        assert_eq!(musl("ldd (GNU libc) 2.36\n"), None);
        assert_eq!(vendor_of("Microsoft Corporation", "Surface Laptop"), None);
        assert_eq!(vendor_of("Amazon EC2", "c7a.metal-48xl"), None);
        assert_eq!(vendor_of("QEMU", "Standard PC").as_deref(), Some("QEMU Standard PC"));
    }
}
