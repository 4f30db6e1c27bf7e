//! Conditions of the machine that make figures less precise, as sentences.

use crate::summary::Summary;
use base::units;
use record::{Host, Strain};

/// Since this kernel, resident counters are batched per processor.
const BATCHED_SINCE: (u64, u64) = (6, 2);

/// Since this kernel, reads sum them up exactly ("mm: fix the inaccurate memory statistics issue for users").
const EXACT_SINCE: (u64, u64) = (6, 16);

/// The long-term release and patch level with the same change.
const EXACT_STABLE: (u64, u64, u64) = (6, 12, 38);

/// Largest error that needs no warning.
const NEGLIGIBLE: u64 = 1 << 20;

/// Share of time spent waiting for memory above which the kernel was reclaiming memory.
const PRESSURE: f64 = 0.01;

/// Temporary conditions known before the run, a sentence each.
pub fn beforehand(host: &Host) -> Vec<(Strain, String)> {
    let mut conditions = Vec::new();
    if let Some(text) = shortage_before(host) {
        conditions.push((Strain::Short, text));
    }
    if let Some(text) = overload(host) {
        conditions.push((Strain::Busy, text));
    }
    conditions
}

/// The conditions of a run, each with its amount.
pub fn strains(summary: &Summary) -> impl Iterator<Item = (Strain, f64)> + use<> {
    let host = &summary.header.host;
    // An unknown share is less than any other.
    let before = share_before(host).unwrap_or(0.0);
    let shortage = before.max(memory_wait_share(summary).unwrap_or(0.0));
    let mut strains = Vec::new();
    if let Some(error) = notable_error(host) {
        strains.push((Strain::Counters, error as f64));
    }
    if shortage >= PRESSURE {
        strains.push((Strain::Short, shortage));
    }
    if let Some((load, cpus)) = excessive_load(host) {
        strains.push((Strain::Busy, load / cpus as f64));
    }
    if let Some(jobs) = summary.header.plan.jobs {
        strains.push((Strain::Shared, f64::from(jobs)));
    }
    strains.into_iter()
}

/// The share of the run in which a process waited for memory.
pub fn memory_wait_share(summary: &Summary) -> Option<f64> {
    let waited = summary.pressure.as_ref()?.memory_some?;
    if summary.duration == 0 {
        return None;
    }
    Some(waited as f64 / summary.duration as f64)
}

/// The share of the ten seconds before a run in which a process waited for memory.
fn share_before(host: &Host) -> Option<f64> {
    host.memory_pressure.map(|percent| percent / 100.0)
}

/// The load and the number of processors, if the load is higher.
fn excessive_load(host: &Host) -> Option<(f64, u64)> {
    let (load, cpus) = (host.load?, host.cpus?);
    if load > cpus as f64 { Some((load, cpus)) } else { None }
}

/// The error of resident counters, if it needs a warning.
fn notable_error(host: &Host) -> Option<u64> {
    resident_error(host).filter(|error| *error >= NEGLIGIBLE)
}

/// All warnings; `wait_share` is the share of the run in which a process waited for memory.
pub fn advice(host: &Host, wait_share: Option<f64>) -> Vec<String> {
    let mut advice = Vec::new();
    if let Some(error) = notable_error(host) {
        advice.push(format!(
            "kernel {} counts resident memory per processor, so the curve and high-water marks may be off by up to \
             {}: compare checkpoints, which are exact, or use kernel 6.12.38, 6.16 or later",
            host.kernel.as_deref().unwrap_or_default(),
            units::bytes(error)
        ));
    }
    advice.extend(shortage_before(host));
    advice.extend(wait_share.and_then(|share| shortage("during the run", share)));
    advice.extend(overload(host));
    advice
}

fn shortage_before(host: &Host) -> Option<String> {
    shortage("in the ten seconds before the run", share_before(host)?)
}

fn shortage(when: &str, wait_share: f64) -> Option<String> {
    if wait_share < PRESSURE {
        return None;
    }
    Some(format!(
        "memory was short: {when} processes waited for memory {} of the time, so resident figures may be too low: \
         close other programs",
        units::percent(wait_share)
    ))
}

fn overload(host: &Host) -> Option<String> {
    let (load, cpus) = excessive_load(host)?;
    Some(format!(
        "the machine was busy (load {load:.1} on {}), which lengthens all times: repeat when it is idle",
        units::count_of(cpus, "processor")
    ))
}

/// The largest error of a resident counter on an inexact kernel: each processor holds back up to
/// `max(32, 2 × processors)` pages.
fn resident_error(host: &Host) -> Option<u64> {
    if host.os != "linux" {
        return None;
    }
    let (major, minor, patch) = version(host.kernel.as_deref()?)?;
    let stable = (major, minor) == (EXACT_STABLE.0, EXACT_STABLE.1) && patch >= EXACT_STABLE.2;
    if (major, minor) < BATCHED_SINCE || (major, minor) >= EXACT_SINCE || stable {
        return None;
    }
    let cpus = host.cpus?;
    let pages = cpus.saturating_mul(cpus.saturating_mul(2).max(32));
    Some(pages.saturating_mul(host.page_size.unwrap_or(4096)))
}

/// `6.12.38-generic` → (6, 12, 38).
fn version(release: &str) -> Option<(u64, u64, u64)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    let patch = parts.next().and_then(|patch| patch.parse().ok()).unwrap_or(0);
    Some((major, minor, patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::traced;

    fn host(kernel: &str, cpus: u64) -> Host {
        let (os, kernel) = ("linux".to_owned(), Some(kernel.to_owned()));
        Host {
            os,
            kernel,
            cpus: Some(cpus),
            page_size: Some(4096),
            ..Host::default()
        }
    }

    #[test]
    fn only_kernels_between_the_change_and_its_repair_are_inexact() {
        for (kernel, inexact) in [
            ("6.1.0-43-amd64", false),
            ("6.2.0", true),
            ("6.8.0-31-generic", true),
            ("6.12.37", true),
            ("6.12.38", false),
            ("6.15.2-arch1-1", true),
            ("6.16.0", false),
            ("6.18", false),
            ("7.0-rc1", false),
        ] {
            assert_eq!(!advice(&host(kernel, 64), None).is_empty(), inexact, "{kernel}");
        }
    }

    #[test]
    fn the_error_grows_with_the_processors_and_is_silent_when_small() {
        assert_eq!(resident_error(&host("6.8.0", 64)), Some(64 * 128 * 4096));
        assert!(advice(&host("6.8.0", 2), None).is_empty());
    }

    #[test]
    fn pressure_and_load_are_told() {
        let busy = Host {
            memory_pressure: Some(12.5),
            load: Some(9.0),
            ..host("6.18.0", 4)
        };
        let advise = advice(&busy, Some(0.031));
        assert!(
            advise[0].contains("before the run processes waited for memory 12 %"),
            "{advise:?}"
        );
        assert!(
            advise[1].contains("during the run processes waited for memory 3 %"),
            "{advise:?}"
        );
        assert!(advise[2].contains("load 9.0 on 4 processors"), "{advise:?}");
        assert_eq!(advice(&host("6.18.0", 4), Some(0.009)), Vec::<String>::new());
        let before: Vec<String> = beforehand(&busy).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            before,
            [advise[0].clone(), advise[2].clone()],
            "what is known of it already"
        );
    }

    #[test]
    fn a_traced_run_has_no_figures_that_could_be_less_sure() {
        let mut measured = crate::golden::read("completed");
        measured.header.host.memory_pressure = Some(12.0);
        for (summary, is_advised) in [(measured.clone(), true), (traced(measured, 7), false)] {
            let list = crate::findings::findings(&summary);
            let mut texts = list.iter().map(|finding| &finding.text);
            assert_eq!(texts.any(|text| text.starts_with("memory was short")), is_advised);
        }
    }
}
