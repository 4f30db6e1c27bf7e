//! Settings of jemalloc that were seen in force before the run: it confirms them once more when it starts in the run.

use crate::allocator::{read_jemalloc, same_value};
use crate::record::{Close, KnobFacts, ServerFacts};

/// Where a confirmation is looked for.
const SEEN: &str = "what jemalloc confirmed on stderr in the run";

/// What is known of a server before its run, less what jemalloc did not confirm in it. Silence is as good as a denial, since
/// it was told to confirm and did so before the run: another program runs in its place, or somebody keeps its stderr, and
/// nothing shows that the setting was in force. Says whether the lens is among them, so that freed memory is in every
/// figure.
pub(super) fn correct(server: &mut ServerFacts, close: &Close) -> bool {
    let kept = [&close.stderr_head, &close.stderr_tail];
    let said: Vec<(String, String)> = kept
        .into_iter()
        .flat_map(|text| read_jemalloc(text))
        .flat_map(|said| said.set)
        .collect();
    let length: usize = kept.iter().map(|text| text.len()).sum();
    let is_whole = close.stderr <= length as u64;
    let mut is_blind = false;
    let confirms = |knob: &KnobFacts| knob.taken == Some(true) && knob.variable.ends_with("MALLOC_CONF");
    for knob in server.knobs.iter_mut().filter(|knob| confirms(knob)) {
        let Some(option) = &knob.option else { continue };
        let value = said.iter().rev().find(|(one, _)| one == option).map(|(_, value)| value);
        if value.is_some_and(|value| same_value(value, &knob.requested)) {
            continue;
        }
        knob.effective = value.cloned();
        knob.seen = Some(SEEN.to_owned());
        // Of what lies between the start and the end that were kept nothing is known.
        knob.taken = (value.is_some() || is_whole).then_some(false);
        if server.lens.env.contains_key(&knob.variable) {
            server.lens.verified = knob.taken;
            is_blind = true;
        }
    }
    is_blind
}

/// Whether a setting was seen before the run and was not confirmed in it.
pub fn is_denied(knob: &KnobFacts) -> bool {
    knob.taken == Some(false) && knob.seen.as_deref() == Some(SEEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob() -> KnobFacts {
        KnobFacts {
            variable: "_RJEM_MALLOC_CONF".to_owned(),
            option: Some("dirty_decay_ms".to_owned()),
            requested: "0".to_owned(),
            effective: Some("0".to_owned()),
            seen: Some("its statistics".to_owned()),
            taken: Some(true),
        }
    }

    /// The setting, which is the lens's too, after a run that said this on stderr, of so many bytes.
    fn after(stderr: &str, bytes: usize) -> ServerFacts {
        let mut server = ServerFacts {
            knobs: vec![knob()],
            ..ServerFacts::default()
        };
        server.lens.env = [("_RJEM_MALLOC_CONF".to_owned(), "dirty_decay_ms:0".to_owned())].into();
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
    fn what_is_confirmed_in_the_run_stays_as_it_was_seen() {
        let said = "<jemalloc>: -- Set conf value: dirty_decay_ms:0\n";
        let server = after(said, said.len());
        assert_eq!(server.knobs, [knob()]);
        assert_eq!(server.lens.verified, Some(true));
    }

    #[test]
    fn what_is_not_confirmed_in_the_run_was_not_in_force() {
        let other = "<jemalloc>: -- Set conf value: dirty_decay_ms:5\n";
        for (said, effective) in [(other, Some("5")), ("a log line\n", None)] {
            let server = after(said, said.len());
            let knob = &server.knobs[0];
            assert_eq!((knob.taken, knob.effective.as_deref()), (Some(false), effective));
            assert!(is_denied(knob));
            assert_eq!(server.lens.verified, Some(false));
        }
    }

    #[test]
    fn of_what_was_not_kept_of_stderr_nothing_is_known() {
        let server = after("the end of a flood\n", 1_000_000);
        assert_eq!((server.knobs[0].taken, server.lens.verified), (None, None));
    }
}
