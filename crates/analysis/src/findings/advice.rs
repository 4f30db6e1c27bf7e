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
    let short = host.memory_pressure.map(|percent| percent / 100.0);
    let short = short.and_then(|waited| shortage("in the ten seconds before the run", waited));
    let strains = [(Strain::Short, short), (Strain::Busy, overload(host))];
    strains
        .into_iter()
        .filter_map(|(strain, text)| text.map(|text| (strain, text)))
        .collect()
}

/// The conditions of a run, each with its amount.
pub fn strains(summary: &Summary) -> impl Iterator<Item = (Strain, f64)> + use<> {
    let host = &summary.header.host;
    let before = host.memory_pressure.map(|percent| percent / 100.0);
    let short = [before, waited(summary)].into_iter().flatten().reduce(f64::max);
    let strains = [
        (Strain::Counters, notable_error(host).map(|error| error as f64)),
        (Strain::Short, short.filter(|waited| *waited >= PRESSURE)),
        (Strain::Busy, busy(host).map(|(load, cpus)| load / cpus as f64)),
        (Strain::Shared, summary.header.plan.jobs.map(f64::from)),
    ];
    strains
        .into_iter()
        .filter_map(|(strain, worst)| worst.map(|worst| (strain, worst)))
}

/// The share of the run in which a process waited for memory.
pub fn waited(summary: &Summary) -> Option<f64> {
    let waited = summary.pressure.as_ref()?.memory_some?;
    (summary.duration > 0).then(|| waited as f64 / summary.duration as f64)
}

/// The load and the number of processors, if the load is higher.
fn busy(host: &Host) -> Option<(f64, u64)> {
    let busy = host.load.zip(host.cpus);
    busy.filter(|(load, cpus)| *load > *cpus as f64)
}

/// The error of resident counters, if it needs a warning.
fn notable_error(host: &Host) -> Option<u64> {
    resident_error(host).filter(|error| *error >= NEGLIGIBLE)
}

/// All warnings; `waited` is the share of the run in which a process waited for memory.
pub fn advice(host: &Host, waited: Option<f64>) -> Vec<String> {
    let mut advice = Vec::new();
    if let Some(error) = notable_error(host) {
        advice.push(format!(
            "kernel {} counts resident memory per processor, so the curve and high-water marks may be off by up to \
             {}: compare checkpoints, which are exact, or use kernel 6.12.38, 6.16 or later",
            host.kernel.as_deref().unwrap_or_default(),
            units::bytes(error)
        ));
    }
    let before = beforehand(host);
    let advise = |strain| {
        before
            .iter()
            .filter(move |(advise, _)| *advise == strain)
            .map(|(_, text)| text.clone())
    };
    advice.extend(advise(Strain::Short));
    advice.extend(waited.and_then(|waited| shortage("during the run", waited)));
    advice.extend(advise(Strain::Busy));
    advice
}

fn shortage(when: &str, waited: f64) -> Option<String> {
    (waited >= PRESSURE).then(|| {
        format!(
            "memory was short: {when} processes waited for memory {} of the time, so resident figures may be too low: \
             close other programs",
            units::percent(waited)
        )
    })
}

fn overload(host: &Host) -> Option<String> {
    let (load, cpus) = busy(host)?;
    Some(format!(
        "the machine was busy (load {load:.1} on {}), which lengthens all times: repeat when it is idle",
        units::counted(cpus, "processor")
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
    use record::golden;

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
        let mut summary = crate::summary::read(golden::open("completed")).unwrap();
        summary.header.host.memory_pressure = Some(12.0);
        let advise = |summary: &Summary| {
            let list = crate::findings::findings(summary);
            list.iter().any(|one| one.text.starts_with("memory was short"))
        };
        assert!(advise(&summary));
        assert!(!advise(&traced(summary, 7)));
    }
}
