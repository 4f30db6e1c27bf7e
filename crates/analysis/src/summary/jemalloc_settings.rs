//! Settings of jemalloc that were seen in force before the run: it confirms them once more when it starts in the run.

use record::jemalloc::{CONFIRM, Output, read};
use record::variables::are_equal_values;
use record::{Close, KnobFacts, ServerFacts};

use super::preload_share::UNCONFIRMED;

/// The source of a confirmation, for people.
const SEEN: &str = "what jemalloc confirmed on stderr in the run";

/// Most bytes that a record keeps of the end of stderr.
const TAIL: u64 = 64 * 1024;

/// A server's facts from before its run, less the settings that jemalloc did not confirm during it. It confirmed them
/// before the run, so a missing confirmation means that another program runs or stderr is hidden, and nothing shows
/// that the setting was in force. Returns whether the lens's setting is among them, so that every figure includes
/// freed memory.
pub(super) fn correct(server: &mut ServerFacts, close: &Close) -> bool {
    let outputs = jemalloc_outputs(close);
    let is_stderr_whole = close.stderr_head.is_empty() && close.stderr <= TAIL;
    let mut lens_settings = Vec::new();
    for knob in &mut server.knobs {
        let list = server.env.get(&knob.variable);
        let was_to_confirm = list.is_some_and(|list| list.starts_with(CONFIRM));
        if knob.taken != Some(true) || !was_to_confirm {
            continue;
        }
        let Some(option) = &knob.option else { continue };
        // The last value that each process confirmed.
        let values: Vec<&String> = outputs
            .iter()
            .filter_map(|output| output.set.iter().rfind(|(name, _)| name == option))
            .map(|(_, value)| value)
            .collect();
        // One process that has it suffices: the environment check looks at the one with the most memory.
        if values.iter().any(|value| are_equal_values(value, &knob.requested)) {
            continue;
        }
        knob.effective = values.last().map(|value| (*value).clone());
        knob.seen = Some(SEEN.to_owned());
        // A confirmation may be in the part of stderr that was not kept.
        let is_known = knob.effective.is_some() || is_stderr_whole;
        knob.taken = if is_known { Some(false) } else { None };
        if server.lens.env.contains_key(&knob.variable) {
            lens_settings.push(knob.taken);
        }
    }
    if lens_settings.is_empty() {
        return false;
    }
    // One that was refused outweighs those of which nothing is known.
    server.lens.verified = if lens_settings.contains(&Some(false)) {
        Some(false)
    } else {
        None
    };
    true
}

/// The confirmations of each jemalloc process in both kept parts of stderr. The last line of the first part may be cut, and
/// is left out.
fn jemalloc_outputs(close: &Close) -> Vec<Output> {
    let head = close.stderr_head.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut outputs = read(head);
    outputs.extend(read(&close.stderr_tail));
    outputs
}

/// True if a setting was seen not to be in force, or was to be confirmed in the run and was not. False for a setting that
/// nothing can confirm.
pub fn is_denied(knob: &KnobFacts) -> bool {
    let was_to_be_seen = [SEEN, UNCONFIRMED].contains(&knob.seen.as_deref().unwrap_or_default());
    knob.taken == Some(false) || (knob.taken.is_none() && was_to_be_seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::golden::knob;

    /// The setting, which is also the lens's, after a run with this on stderr, of this many bytes.
    fn corrected(stderr: &str, bytes: usize) -> ServerFacts {
        let mut server = ServerFacts {
            knobs: vec![knob(Some(true))],
            ..ServerFacts::default()
        };
        server.lens.env = [("_RJEM_MALLOC_CONF".to_owned(), "dirty_decay_ms:0".to_owned())].into();
        let variable = ("_RJEM_MALLOC_CONF".to_owned(), format!("{CONFIRM},dirty_decay_ms:0"));
        server.env = [variable].into();
        server.lens.verified = Some(true);
        let close = Close {
            stderr: bytes as u64,
            stderr_tail: stderr.to_owned(),
            ..Close::default()
        };
        let was_seen = server.lens.verified;
        assert_eq!(correct(&mut server, &close), server.lens.verified != was_seen);
        server
    }

    #[test]
    fn what_nothing_can_show_is_not_denied() {
        let unseen = KnobFacts {
            seen: Some("its syntax".to_owned()),
            taken: None,
            ..knob(Some(true))
        };
        assert!(!is_denied(&unseen));
        assert!(!is_denied(&knob(Some(true))));
    }

    #[test]
    fn what_is_confirmed_in_the_run_stays_as_it_was_seen() {
        let stderr = "<jemalloc>: -- Set conf value: dirty_decay_ms:0\n";
        let server = corrected(stderr, stderr.len());
        assert_eq!(server.knobs, [knob(Some(true))]);
        assert_eq!(server.lens.verified, Some(true));
    }

    #[test]
    fn what_is_not_confirmed_in_the_run_was_not_in_force() {
        let other = "<jemalloc>: -- Set conf value: dirty_decay_ms:5\n";
        for (stderr, effective) in [(other, Some("5")), ("a log line\n", None)] {
            let server = corrected(stderr, stderr.len());
            let knob = &server.knobs[0];
            assert_eq!((knob.taken, knob.effective.as_deref()), (Some(false), effective));
            assert!(is_denied(knob));
            assert_eq!(server.lens.verified, Some(false));
        }
    }

    #[test]
    fn one_process_that_has_the_value_is_enough() {
        let both = "<jemalloc>: malloc_conf #4 (x): \"\"\n<jemalloc>: -- Set conf value: dirty_decay_ms:0\n\
                    <jemalloc>: malloc_conf #1 (x): \"\"\n<jemalloc>: -- Set conf value: dirty_decay_ms:5\n";
        assert_eq!(corrected(both, both.len()).knobs, [knob(Some(true))]);
    }

    #[test]
    fn what_was_not_told_to_confirm_is_not_judged() {
        let mut server = ServerFacts {
            knobs: vec![knob(Some(true))],
            ..ServerFacts::default()
        };
        server.env = [("_RJEM_MALLOC_CONF".to_owned(), "dirty_decay_ms:0".to_owned())].into();
        assert!(!correct(&mut server, &Close::default()));
        assert_eq!(server.knobs, [knob(Some(true))]);
    }

    #[test]
    fn of_what_was_not_kept_of_stderr_nothing_is_known() {
        let server = corrected("the end of a flood\n", 1_000_000);
        assert_eq!((server.knobs[0].taken, server.lens.verified), (None, None));
        assert!(is_denied(&server.knobs[0]), "nothing shows that it was in force");
    }
}
