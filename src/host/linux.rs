//! What Linux says in `/proc` and `/sys`: reading here, parsing in functions that need no Linux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, sched_getaffinity, transparent_huge_pages_are_disabled};

use crate::record::Host;

/// A control group without a limit says a number near the end of the range, rounded to pages.
const NO_LIMIT: u64 = 1 << 60;

/// Adds to what every system says what only this one does.
pub(super) fn complete(mut host: Host) -> Host {
    let release = fs::read_to_string("/etc/os-release").ok();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    host.distribution = release.as_deref().and_then(pretty_name).or(host.distribution.take());
    host.libc = libc();
    host.affinity = sched_getaffinity(None).ok().and_then(|set| affinity(&set));
    host.governor = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    host.memory.huge_pages = line("/sys/kernel/mm/transparent_hugepage/enabled")
        .as_deref()
        .and_then(chosen);
    host.memory.huge_pages_defrag = line("/sys/kernel/mm/transparent_hugepage/defrag")
        .as_deref()
        .and_then(chosen);
    host.memory.huge_pages_disabled = transparent_huge_pages_are_disabled().ok();
    host.memory.overcommit = line("/proc/sys/vm/overcommit_memory").and_then(|mode| mode.parse().ok());
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    host.memory.cgroup_limit = limit_files(&groups)
        .filter_map(line)
        .filter_map(|text| limit(&text))
        .min();
    host.container = container(&groups);
    host.virtual_machine = virtual_machine(&cpuinfo);
    host.memory_pressure = fs::read_to_string("/proc/pressure/memory")
        .ok()
        .as_deref()
        .and_then(pressure);
    host
}

fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The system's C library. It is asked through its own tools, since a static build of lsp-soak carries another one.
fn libc() -> Option<String> {
    let output = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let gnu = output("getconf", "GNU_LIBC_VERSION").map(|text| text.trim().to_owned());
    gnu.filter(|text| text.starts_with("glibc "))
        .or_else(|| musl(&output("ldd", "--version")?))
}

/// musl's loader tells its version when it is called with nothing to load.
fn musl(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| line.strip_prefix("Version "))?;
    text.starts_with("musl libc")
        .then(|| format!("musl {}", version.trim()))
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// `always [madvise] never` → `madvise`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// `some avg10=0.12 …` → 0.12.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
    let number: f64 = some.split(' ').next()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The files that may limit these control groups and those around them, of both versions and of a hybrid.
///
/// Inside a container the path is often one of the host, and only the topmost file is there: all are tried.
fn limit_files(groups: &str) -> impl Iterator<Item = PathBuf> {
    let roots = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (controllers, path) = (parts.nth(1).unwrap_or_default(), parts.next().unwrap_or_default());
        let roots: &[(&str, &str)] = match controllers {
            "" => &[
                ("/sys/fs/cgroup", "memory.max"),
                ("/sys/fs/cgroup/unified", "memory.max"),
            ],
            some if some.split(',').any(|one| one == "memory") => &[("/sys/fs/cgroup/memory", "memory.limit_in_bytes")],
            _ => &[],
        };
        roots
            .iter()
            .map(move |(root, file)| (*root, *file, path.trim_start_matches('/').to_owned()))
    });
    let files = roots.flat_map(|(root, file, path)| {
        let around = Path::new(&path)
            .ancestors()
            .map(|group| Path::new(root).join(group).join(file));
        around.collect::<Vec<PathBuf>>()
    });
    files.collect::<Vec<PathBuf>>().into_iter()
}

fn limit(text: &str) -> Option<u64> {
    text.parse().ok().filter(|limit| *limit < NO_LIMIT)
}

fn affinity(set: &CpuSet) -> Option<String> {
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
    Some(list(&cpus)).filter(|list| !list.is_empty())
}

/// 0, 1, 2, 5 → `0-2,5`.
fn list(cpus: &[usize]) -> String {
    let ranges = cpus.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<String>>().join(",")
}

fn container(groups: &str) -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked = marks.iter().find(|(file, _)| Path::new(file).exists());
    let known = ["kubepods", "docker", "libpod", "containerd", "lxc", "garden"];
    let named = || known.iter().find(|name| groups.contains(**name)).copied();
    marked.map(|(_, name)| *name).or_else(named).map(str::to_owned)
}

fn virtual_machine(cpuinfo: &str) -> Option<String> {
    let hypervisor = line("/sys/hypervisor/type");
    let vendor = line("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = line("/sys/class/dmi/id/product_name").unwrap_or_default();
    hypervisor.or_else(|| vendor_of(&vendor, &product)).or_else(|| {
        let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
        flags
            .split_whitespace()
            .any(|flag| flag == "hypervisor")
            .then(|| "unnamed hypervisor".to_owned())
    })
}

/// Makers of machines that are none, by what their firmware says.
fn vendor_of(vendor: &str, product: &str) -> Option<String> {
    let is_virtual = match vendor {
        "QEMU" | "Xen" | "Bochs" | "Parallels" | "OpenStack Foundation" | "Apple Virtualization" => true,
        "VMware, Inc." | "innotek GmbH" | "Google" | "Amazon EC2" | "DigitalOcean" | "Hetzner" => true,
        "Microsoft Corporation" => product == "Virtual Machine",
        _ => product.contains("KVM") || product.contains("VirtualBox"),
    };
    (is_virtual && !product.contains("metal")).then(|| format!("{vendor} {product}").trim().to_owned())
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
    fn processors_are_listed_as_ranges() {
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn limits_of_both_versions_are_looked_for_up_to_the_root() {
        let names = |groups| {
            limit_files(groups)
                .map(|file| file.display().to_string())
                .collect::<Vec<_>>()
        };
        let hybrid = names("8:pids:/\n4:cpuacct,memory:/a/b\n0::/\n");
        assert_eq!(hybrid[0], "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
        assert!(hybrid.contains(&"/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned()));
        assert!(hybrid.contains(&"/sys/fs/cgroup/memory.max".to_owned()));
        assert!(names("0::/user.slice/x").contains(&"/sys/fs/cgroup/user.slice/memory.max".to_owned()));
    }

    #[test]
    fn no_limit_is_not_a_limit() {
        assert_eq!(limit("max"), None);
        assert_eq!(limit("9223372036854771712"), None);
        assert_eq!(limit("1073741824"), Some(1 << 30));
    }

    #[test]
    fn pressure_is_the_ten_second_average_of_some() {
        let text = "some avg10=1.25 avg60=0.50 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!(pressure(text), Some(1.25));
        assert_eq!(pressure("some avg10=nan"), None);
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
