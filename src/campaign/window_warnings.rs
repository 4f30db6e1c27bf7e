//! Finds idle windows that are too short to settle, before any server starts.

use std::time::Duration;

use crate::config::step::{Idle, IdleEnd, IdleMode};
use crate::config::{Loaded, Scenario, Step};
use crate::drive::settling::{Rule, USUAL};
use crate::plan::outline;
use crate::resolve::{Program, ServerChoice};
use base::Cancel;
use base::units::{self, Span};
use record::AllocatorDecay;

use crate::resolve::detector;

/// The rule by which a server releases memory; `None` if unknown, and for a server that is still to be built.
fn decay_of(choice: &ServerChoice) -> Option<AllocatorDecay> {
    let Program::File(program) = &choice.program else {
        return None;
    };
    // Wrong settings have already been reported.
    let examined = detector::examine(choice, program, None, &Cancel::default());
    examined.decay(choice).map(|known| known.decay)
}

/// A sentence on idle windows under a garbage collector: if they wait for it, and how long a run takes that does.
pub fn collector_wait(choice: &ServerChoice, scenario: &Loaded) -> Option<String> {
    collector_sentence(
        &choice.label,
        decay_of(choice)?,
        &scenario.scenario,
        scenario.project.files.len() as u64,
    )
}

fn collector_sentence(label: &str, decay: AllocatorDecay, scenario: &Scenario, files: u64) -> Option<String> {
    let runtime = decay.runtime?;
    let mut windows = scenario.idle_windows();
    if !windows.any(|idle| matches!(idle.end(), IdleEnd::Settled { .. })) {
        return None;
    }
    let Some(needed) = decay.needed() else {
        return Some(format!(
            "`{label}`: {} releases nothing by itself, however long a window is",
            runtime.name()
        ));
    };
    let needed = Duration::from_nanos(needed);
    let has_full_decay = scenario.waits_for_full_decay();
    let mut waiting = scenario.clone();
    if !has_full_decay {
        waiting.wait_for_full_decay();
    }
    for step in waiting.phases.iter_mut().flat_map(|phase| &mut phase.steps) {
        if let Step::Idle(idle) = step
            && matches!(idle.end(), IdleEnd::Settled { .. })
        {
            idle.time = Some(Span(
                Rule::for_window(Some(decay), idle.mode == IdleMode::Silent, idle).floor(),
            ));
        }
    }
    let least = units::duration(outline(&waiting, files).total.least);
    let (needed, runtime) = (units::duration(needed), runtime.name());
    Some(if has_full_decay {
        let which = if scenario.idle_windows().all(|idle| idle.full_decay) {
            "each idle window"
        } else {
            "an idle window with `full-decay`"
        };
        format!("`{label}`: {which} waits {needed} or more for {runtime}, so a run takes at least {least}")
    } else {
        format!(
            "`{label}`: {runtime} releases memory within {needed}, and idle windows end once memory is stable: with \
             `--full-decay` they wait, and a run takes at least {least}"
        )
    })
}

/// A sentence for each window that is too short to settle, once per phase; empty for a server that is still to be built.
pub fn length_warnings(choice: &ServerChoice, scenario: &Loaded) -> Vec<String> {
    if !matches!(choice.program, Program::File(_)) {
        return Vec::new();
    }
    let decay = decay_of(choice);
    let mut sentences: Vec<String> = Vec::new();
    for phase in &scenario.scenario.phases {
        for step in &phase.steps {
            let Step::Idle(idle) = step else { continue };
            let Some(sentence) = length_warning(idle, decay) else {
                continue;
            };
            let text = format!("`{}` on `{}`: {sentence}", phase.name, choice.label);
            if !sentences.contains(&text) {
                sentences.push(text);
            }
        }
    }
    sentences
}

/// A sentence about a window that is too short, or unexpectedly long, with its cure.
fn length_warning(idle: &Idle, decay: Option<AllocatorDecay>) -> Option<String> {
    let IdleEnd::Settled { .. } = idle.end() else {
        return None;
    };
    let silent = idle.mode == IdleMode::Silent;
    let rule = Rule::for_window(decay, silent, idle);
    let uncapped = Idle {
        at_most: None,
        ..idle.clone()
    };
    let (floor, longest) = (rule.floor(), Rule::for_window(decay, silent, &uncapped).most);
    let whose = match decay {
        Some(_) => "with its allocator",
        None => "because its allocator is not known",
    };
    let cure = if longest >= floor {
        format!("`at-most = \"{}\"` or more", typed(floor))
    } else {
        format!(
            "`for = \"{}\"`, since no window that settles lasts longer than {}",
            typed(floor),
            units::duration(longest)
        )
    };
    // A long window that the scenario or the command line asks for needs no message.
    let is_asked = idle.at_most.is_some() || idle.full_decay;
    if rule.most >= floor && floor > USUAL && !is_asked {
        return Some(format!(
            "a {} window takes at least {}, because the allocator keeps freed memory as long: write `for` to end it \
             earlier, or set a shorter decay",
            if silent { "silent" } else { "simmering" },
            units::duration(floor),
        ));
    }
    if rule.most >= floor {
        return None;
    }
    Some(format!(
        "a {} window of at most {} is too short: memory needs at least {} to settle {whose}; write {cure}",
        if silent { "silent" } else { "simmering" },
        units::duration(rule.most),
        units::duration(floor),
    ))
}

/// A duration in scenario syntax, rounded up to a whole second.
fn typed(time: Duration) -> String {
    format!("{}s", time.as_millis().div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Delay, Runtime};

    fn decay(idle: bool, seconds: u64) -> Option<AllocatorDecay> {
        Some(AllocatorDecay {
            idle,
            delay: Delay::After(seconds * 1_000_000_000),
            lazy: false,
            runtime: None,
        })
    }

    fn window(at_most: Option<u64>) -> Idle {
        Idle {
            at_most: at_most.map(Span::from_secs),
            ..Idle::default()
        }
    }

    #[test]
    fn a_cap_below_what_settling_takes_is_told_with_one_that_is_long_enough() {
        let text = |idle: &Idle, decay| length_warning(idle, decay).unwrap_or_default();
        assert_eq!(
            text(&window(Some(10)), decay(false, 10)),
            "a silent window of at most 10.0 s is too short: memory needs at least 12.0 s to settle with its \
             allocator; write `at-most = \"12s\"` or more"
        );
        assert!(text(&window(Some(5)), None).contains("needs at least 8.00 s to settle because its allocator"));
        assert!(
            text(&window(None), decay(true, 3_000))
                .ends_with("write `for = \"6001s\"`, since no window that settles lasts longer than 1 h 00 min")
        );
        assert!(
            text(&window(None), decay(true, 100))
                .starts_with("a silent window takes at least 3 min 21 s, because the allocator")
        );
        for (idle, decay) in [
            (window(Some(12)), decay(false, 10)),
            (window(None), decay(true, 10)),
            (window(Some(8)), None),
            (
                Idle {
                    time: Some(Span::from_secs(2)),
                    ..Idle::default()
                },
                None,
            ),
        ] {
            assert_eq!(length_warning(&idle, decay), None);
        }
    }

    #[test]
    fn the_time_that_a_collector_needs_is_told_with_what_the_scenario_then_takes() {
        let go = AllocatorDecay {
            runtime: Some(Runtime::Go),
            ..decay(true, 120).expect("it is known")
        };
        let scenario = || -> Scenario {
            crate::config::place::read(
                "phase = [{ name = \"decay\", steps = [\
                 { idle = { at-most = \"25s\" } }, { idle = { mode = \"simmer\" } }, { idle = { for = \"5s\" } }] }]",
            )
            .expect("it is valid")
        };
        let mut waiting = scenario();
        waiting.wait_for_full_decay();
        let told = |decay: AllocatorDecay, scenario: &Scenario| collector_sentence("s", decay, scenario, 1);
        assert_eq!(
            told(go, &scenario()).as_deref(),
            Some(
                "`s`: Go releases memory within 4 min 01 s, and idle windows end once memory is stable: with `--full-decay` \
                 they wait, and a run takes at least 8 min 08 s"
            )
        );
        assert_eq!(
            told(go, &waiting).as_deref(),
            Some("`s`: each idle window waits 4 min 01 s or more for Go, so a run takes at least 8 min 08 s")
        );
        let passive = AllocatorDecay {
            idle: false,
            delay: Delay::Untimed,
            runtime: Some(Runtime::G1),
            ..go
        };
        assert_eq!(
            told(passive, &waiting).as_deref(),
            Some("`s`: G1 releases nothing by itself, however long a window is")
        );
        assert_eq!(told(decay(true, 10).expect("it is known"), &waiting), None);
    }
}
