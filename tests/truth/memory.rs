//! Known memory of a single process.

use analysis::summary::decay::WindowKind;
use analysis::summary::{Peak, PrivateMetric, Summary};
use record::{Entry, Event};

use crate::outcome::{KIB, MIB, changed, increment, phase, private};
use crate::peer::same;
use crate::phases::{CLOSE_TWO, OPEN};
use crate::soak::{Soak, passing};

const HOVERS: &str = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 3 } }, { hover = { per-file = 2 } }]
[[phase]]
name = "hover"
steps = [{ hover = { per-file = 20 } }, { document-symbol = { times = 5 } }]
"#;

const LOOK: &str = r#"
[[phase]]
name = "look"
steps = [{ workspace-symbol = { queries = ["total"] } }]
"#;

const CLOSE_ALL: &str = r#"
[[phase]]
name = "close-all"
steps = [{ close = {} }]
"#;

/// References run in one phase only, so a spike in them belongs to that phase.
const AROUND: &str = r#"
[[phase]]
name = "before"
steps = [{ start = {} }, { open = { files = 1 } }, { hover = { per-file = 1 } }]
[[phase]]
name = "spike"
steps = [{ references = { files = 1, per-file = 1 } }]
[[phase]]
name = "after"
steps = [{ hover = { files = 1, per-file = 1 } }]
"#;

/// The increments add up to the difference of last and first checkpoint, to the byte.
#[track_caller]
fn adds_up(summary: &Summary) {
    let known: Vec<i64> = summary
        .phases
        .iter()
        .filter_map(|phase| phase.private)
        .map(u64::cast_signed)
        .collect();
    let (first, last) = (known[0], known[known.len() - 1]);
    let sum: i64 = summary.phases.iter().filter_map(|phase| phase.increment).sum();
    assert_eq!(sum, last - first);
    assert_eq!(known.len(), summary.phases.len());
    assert_eq!(summary.memory.private_metric, PrivateMetric::Exact);
}

#[test]
fn ballast_is_in_the_start_value_and_nowhere_else() {
    let phases = "[[phase]]\nname = \"look\"\nsteps = [{ workspace-symbol = { queries = [\"total\"] } }]";
    let plain = passing(phases, &[]);
    let loaded = passing(phases, &["--ballast", "48MiB"]);
    same(private(&loaded, "start") - private(&plain, "start"), 48 * MIB);
    changed(increment(&loaded, "look"), increment(&plain, "look"));
    adds_up(&loaded);
}

#[test]
fn processor_time_of_a_run_is_known_to_the_nanosecond() {
    let summary = passing(LOOK, &[]);
    let cpu = summary
        .processes
        .programs
        .iter()
        .map(|program| program.cpu.expect("it was read at its end"));
    let cpu: u64 = cpu.sum();
    assert!(cpu > 0 && !cpu.is_multiple_of(1_000_000), "{cpu} is in ticks");
}

#[test]
fn a_leak_is_its_size_times_its_requests() {
    let summary = passing(HOVERS, &["--leak", "256KiB-per=textDocument/hover"]);
    let hovers = phase(&summary, "hover").steps[0].requests.expect("the step ended");
    assert_eq!(hovers, 60);
    changed(increment(&summary, "hover"), (hovers * 256 * KIB).cast_signed());
    adds_up(&summary);
}

#[test]
fn a_leak_shows_the_same_slope_in_every_round() {
    let phases = r#"
[[phase]]
name = "warm"
steps = [{ open = { files = 3 } }, { hover = { per-file = 20 } }]
[[phase]]
name = "hover"
repeat = { times = 4 }
steps = [{ hover = { per-file = 10 } }]
"#;
    let summary = passing(phases, &["--leak", "128KiB-per=textDocument/hover"]);
    let rounds: Vec<i64> = summary.phases[2..]
        .iter()
        .map(|phase| phase.increment.expect("every round has a checkpoint"))
        .collect();
    assert_eq!(rounds.len(), 4);
    for round in rounds {
        changed(round, (30 * 128 * KIB).cast_signed());
    }
    adds_up(&summary);
}

#[test]
fn memory_of_open_documents_comes_and_goes_with_them() {
    let phases = format!("{LOOK}{OPEN}{CLOSE_TWO}{CLOSE_ALL}");
    let summary = passing(&phases, &["--retain-open", "16MiB"]);
    changed(increment(&summary, "open"), (48 * MIB).cast_signed());
    changed(increment(&summary, "close"), -(32 * MIB).cast_signed());
    changed(increment(&summary, "close-all"), -(16 * MIB).cast_signed());
    let returned = phase(&summary, "close-all").returned;
    for share in [returned.private, returned.resident] {
        let share = share.expect("much was taken");
        assert!((share - 1.0).abs() < 0.02, "{share}");
    }
    let half = phase(&summary, "close").returned.private.expect("much was taken");
    assert!((half - 2.0 / 3.0).abs() < 0.02, "{half}");
    adds_up(&summary);
}

/// Compares the peaks of the phases in a run with a spike. Returns whether a sample saw the spike.
fn spike(interval: &str, size: u64, argument: &str) -> bool {
    let outcome = Soak::new(AROUND)
        .server(&["--spike", argument])
        .options(&["--interval", interval])
        .run();
    let summary = outcome.passed();
    let before = resident(&summary, "before");
    for name in ["before", "spike", "after"] {
        let peak = peak(&summary, name);
        assert!(peak.is_exact(), "{name}: {peak:?}");
    }
    let spike = peak(&summary, "spike");
    same(spike.lower - before, size);
    for name in ["before", "after"] {
        let above = peak(&summary, name).lower.saturating_sub(resident(&summary, name));
        assert!(above < MIB, "the peak of `{name}` is {above} above its checkpoint");
    }
    let (mark, sampled) = seen(&outcome.entries());
    // The kernel's own mark, to the byte.
    assert_eq!(spike.lower, mark.max(sampled));
    assert_eq!(summary.memory.peak, Some(spike));
    sampled >= before + size / 2
}

/// Resident memory at the checkpoint of a phase.
#[track_caller]
fn resident(summary: &Summary, name: &str) -> u64 {
    let checkpoint = phase(summary, name).checkpoint.as_ref();
    checkpoint.and_then(|taken| taken.resident).expect("Linux tells it")
}

#[track_caller]
fn peak(summary: &Summary, name: &str) -> Peak {
    phase(summary, name).peak.expect("every phase has a mark")
}

/// The mark at the end of the phase `spike`, and its largest resident sample.
fn seen(entries: &[Entry]) -> (u64, u64) {
    let began = entries
        .iter()
        .position(|entry| matches!(&entry.event, Event::PhaseStarted(phase) if phase.name == "spike"));
    let mut sampled = 0;
    for entry in &entries[began.expect("the phase was played")..] {
        match &entry.event {
            Event::Sample(sample) => sampled = sampled.max(sample.counters.resident.unwrap_or(0)),
            Event::Peak(peak) if peak.phase.name == "spike" => {
                let marks = peak.marks.iter().filter_map(|sample| sample.counters.high_water);
                return (marks.max().expect("there is a mark"), sampled);
            }
            _ => {}
        }
    }
    panic!("the marks of the phase were not read");
}

#[test]
fn a_spike_between_two_samples_is_seen_exactly_in_its_phase_alone() {
    // A sample may hit the spike by chance; the peak must be right then too.
    let seen_each_time = (0..3).all(|_| spike("1s", 24 * MIB, "24MiB-in=textDocument/references"));
    assert!(!seen_each_time, "the samples saw what is shorter than their interval");
}

#[test]
fn a_spike_is_seen_exactly_at_the_default_interval() {
    spike("50ms", 64 * MIB, "64MiB-in=textDocument/references");
}

#[test]
fn a_spike_is_seen_exactly_at_the_longest_interval() {
    spike("10s", 24 * MIB, "24MiB-in=textDocument/references");
}

#[test]
fn a_spike_while_the_server_is_shut_down_is_told_and_is_of_no_phase() {
    let outcome = Soak::new(AROUND)
        .server(&["--spike", "24MiB-in=shutdown"])
        .options(&["--interval", "10s"])
        .run();
    let summary = outcome.passed();
    let last = summary.phases.last().and_then(|phase| phase.checkpoint.as_ref());
    let resident = last.and_then(|taken| taken.resident).expect("Linux tells it");
    let most = summary.memory.shutdown_peak.expect("the last look was taken");
    same(most - resident, 24 * MIB);
    assert!(summary.memory.peak.is_some_and(|peak| peak.lower + 20 * MIB < most));
    outcome.says(&["during shutdown the server had at least"]);
}

#[test]
fn what_decays_is_returned_in_the_silent_window() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "silence"
steps = [{ idle = { mode = "silent", for = "6s" } }]
[[phase]]
name = "simmer"
steps = [{ idle = { mode = "simmer", every = "250ms", for = "1s" } }]
"#;
    let summary = passing(phases, &["--decay", "32MiB-after=4s"]);
    changed(increment(&summary, "open"), (32 * MIB).cast_signed());
    changed(increment(&summary, "silence"), -(32 * MIB).cast_signed());
    changed(increment(&summary, "simmer"), 0);
    let [silent, simmer] = &summary.windows[..] else {
        panic!("{:?}", summary.windows)
    };
    assert_eq!((silent.kind, simmer.kind), (WindowKind::Silent, WindowKind::Simmer));
    let [silent, simmer] = [silent, simmer].map(|window| window.private.as_ref().expect("no process was forked"));
    same(silent.before - silent.after, 32 * MIB);
    let share = silent.share.expect("much was taken");
    assert!((share - 1.0).abs() < 0.02, "{share}");
    same(simmer.before, simmer.after);
    adds_up(&summary);
}

#[test]
fn what_waits_for_traffic_is_returned_only_when_it_simmers() {
    let phases = r#"
[[phase]]
name = "open"
steps = [{ open = { files = 1 } }]
[[phase]]
name = "silence"
steps = [{ idle = { mode = "silent", for = "4s" } }]
[[phase]]
name = "simmer"
steps = [{ idle = { mode = "simmer", every = "250ms", for = "1s" } }]
"#;
    let summary = passing(phases, &["--decay-on-traffic", "32MiB"]);
    changed(increment(&summary, "open"), (32 * MIB).cast_signed());
    changed(increment(&summary, "silence"), 0);
    changed(increment(&summary, "simmer"), -(32 * MIB).cast_signed());
    let shares: Vec<f64> = summary
        .windows
        .iter()
        .filter_map(|window| window.private.as_ref()?.share)
        .collect();
    assert!(shares[0].abs() < 0.02 && (shares[1] - 1.0).abs() < 0.02, "{shares:?}");
    adds_up(&summary);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_whose_main_thread_has_ended_is_measured_by_another() {
    let plain = passing(HOVERS, &["--ballast", "60MiB"]);
    let leaderless = passing(HOVERS, &["--ballast", "60MiB", "--end-main-thread"]);
    assert_eq!(leaderless.memory.private_metric, PrivateMetric::Exact);
    // The stack of the other thread is little.
    let (with, without) = (private(&plain, "hover"), private(&leaderless, "hover"));
    assert!(with.abs_diff(without) < 2 * MIB, "{with} {without}");
    assert!(
        leaderless.memory.peak.is_some_and(|peak| peak.lower > 60 * MIB),
        "{:?}",
        leaderless.memory.peak
    );
    let descriptors = [&plain, &leaderless].map(|summary| summary.phases.last()?.checkpoint.as_ref()?.descriptors);
    assert!(
        descriptors[0].is_some_and(|count| count > 2) && descriptors[0] == descriptors[1],
        "{descriptors:?}"
    );
}
