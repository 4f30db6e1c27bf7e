//! Finds idle windows that are too short to settle, before any server starts.

use std::time::Duration;

use crate::config::step::{Idle, IdleEnd, IdleMode};
use crate::config::{Loaded, Step};
use crate::drive::settling::{Rule, USUAL};
use crate::record::AllocatorDecay;
use crate::resolve::{Program, ServerChoice};
use crate::units;

use crate::resolve::detector;

/// A sentence for each such window, once per phase; empty for a server that is still to be built.
pub fn too_short(choice: &ServerChoice, scenario: &Loaded) -> Vec<String> {
    let Program::File(program) = &choice.program else {
        return Vec::new();
    };
    // Wrong settings have already been reported.
    let Ok(checked) = detector::knobs(choice, program, &|| false) else {
        return Vec::new();
    };
    let facts = detector::detection(choice, program, &|| false);
    let decay = detector::decay(choice, &facts.facts, &checked).map(|known| known.decay);
    let mut sentences: Vec<String> = Vec::new();
    for phase in &scenario.scenario.phases {
        let idle = |step: &Step| match step {
            Step::Idle(idle) => sentence(idle, decay),
            _ => None,
        };
        for sentence in phase.steps.iter().filter_map(idle) {
            let text = format!("`{}` on `{}`: {sentence}", phase.name, choice.label);
            if !sentences.contains(&text) {
                sentences.push(text);
            }
        }
    }
    sentences
}

/// Why the window is too short, or unexpectedly long, and what to write instead.
fn sentence(idle: &Idle, decay: Option<AllocatorDecay>) -> Option<String> {
    let IdleEnd::Settled { .. } = idle.end() else {
        return None;
    };
    let silent = idle.mode == IdleMode::Silent;
    let rule = Rule::of(decay, silent, idle);
    let uncapped = Idle {
        at_most: None,
        ..idle.clone()
    };
    let (floor, longest) = (rule.floor(), Rule::of(decay, silent, &uncapped).most);
    let whose = match decay {
        Some(_) => "with its allocator",
        None => "because its allocator is not known",
    };
    let cure = match longest >= floor {
        true => format!("`at-most = \"{}\"` or more", typed(floor)),
        false => format!(
            "`for = \"{}\"`, since no window that settles lasts longer than {}",
            typed(floor),
            units::duration(longest)
        ),
    };
    // A long window that the scenario asks for needs no message.
    if rule.most >= floor && floor > USUAL && idle.at_most.is_none() {
        return Some(format!(
            "a {} window takes at least {}, because the allocator keeps freed memory as long: write `for` to end it \
             earlier, or set a shorter decay",
            if silent { "silent" } else { "simmering" },
            units::duration(floor),
        ));
    }
    (rule.most < floor).then(|| {
        format!(
            "a {} window of at most {} is too short: memory needs at least {} to settle {whose}; write {cure}",
            if silent { "silent" } else { "simmering" },
            units::duration(rule.most),
            units::duration(floor),
        )
    })
}

/// A duration in scenario syntax, rounded up to a whole second.
fn typed(time: Duration) -> String {
    format!("{}s", time.as_millis().div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Delay;
    use crate::units::Span;

    fn decay(idle: bool, seconds: u64) -> Option<AllocatorDecay> {
        Some(AllocatorDecay {
            idle,
            delay: Delay::After(seconds * 1_000_000_000),
            lazy: false,
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
        let text = |idle: &Idle, decay| sentence(idle, decay).unwrap_or_default();
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
            assert_eq!(sentence(&idle, decay), None);
        }
    }
}
