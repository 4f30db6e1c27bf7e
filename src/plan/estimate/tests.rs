//! Tests of the estimate, on small scenarios counted by hand.

use super::*;

/// The amounts of the steps of one phase over ten files.
fn amounts(steps: &str) -> Vec<(u64, u64)> {
    let text = format!("format = 1\n[[phase]]\nname = \"a\"\nsteps = [{steps}]");
    let scenario: Scenario = crate::config::place::read(&text).unwrap();
    let phase = &outline(&scenario, 10).phases[0];
    let amounts = phase
        .steps
        .iter()
        .map(|step| (step.amount.requests, step.amount.notifications));
    amounts.collect()
}

#[test]
fn no_more_documents_are_used_than_are_open_and_no_more_are_opened_than_there_are() {
    assert_eq!(
        amounts("{ open = { files = 4 } }, { hover = { files = 9, per-file = 3 } }, { open = { files = 20 } }"),
        [(0, 4), (12, 0), (0, 6)]
    );
    assert_eq!(
        amounts("{ open = { files = 4, pick = 'next' } }, { close = { files = 1 } }, { references = {} }"),
        [(0, 4), (0, 1), (30, 0)]
    );
}

#[test]
fn typing_counts_every_key_and_one_stroke_to_undo_it() {
    assert_eq!(
        amounts(
            "{ open = { files = 2 } }, { type-and-complete = { per-file = 3, text = 'a.bc', resolve = 2 } },
             { type = { per-file = 1, keystrokes = 2 } }"
        ),
        [(0, 2), (18, 30), (0, 6)]
    );
}

#[test]
fn a_raw_request_is_sent_as_often_as_its_placeholders_ask() {
    assert_eq!(
        amounts(
            "{ open = { files = 2 } }, { request = { method = 'a', params = {} } },
             { request = { method = 'a', params = { uri = '${uri}' }, times = 3 } },
             { request = { method = 'a', params = { at = '${position}' }, per-file = 5 } }"
        ),
        [(0, 2), (1, 0), (6, 0), (10, 0)]
    );
}

#[test]
fn rounds_multiply_and_a_repetition_by_time_takes_at_least_its_time() {
    let text = "format = 1\nrepeat = { times = 3 }\n[[phase]]\nname = 'a'\nsteps = [{ start = {} }]\n[[phase]]\nname = 'b'\n\
                repeat = { for = '1h' }\nsettle = { quiet = '0' }\nsteps = [{ pause = { for = '2s' } }]";
    let outline = outline(&crate::config::place::read(text).unwrap(), 1);
    assert_eq!((outline.once, outline.total.requests), (1, 1));
    assert_eq!(outline.total.least, Duration::from_secs(3 * 3600 + 1));
}

#[test]
fn a_round_begins_with_the_documents_that_the_one_before_left_open() {
    let of = |head: &str, steps: &str| {
        let text = format!(
            "format = 1\n{head}\n[[phase]]\nname = 'a'\nsteps = [{{ start = {{}} }}]\n[[phase]]\nname = 'b'\n\
             repeat = {{ times = 3 }}\nsteps = [{steps}]"
        );
        let total = outline(&crate::config::place::read(&text).unwrap(), 10).total;
        (total.requests - 1, total.notifications - 1)
    };
    // The same four are open from the second round on.
    let first = "{ open = { files = 4 } }, { hover = { per-file = 1 } }";
    assert_eq!(of("", first), (3 * 4, 4));
    assert_eq!(of("repeat = { times = 2 }", first), (6 * 4, 4));
    // Four more in each round until all ten are open: 4, 8, 10.
    let next = "{ open = { files = 4, pick = 'next' } }, { hover = { per-file = 1 } }";
    assert_eq!(of("", next), (4 + 8 + 10, 10));
    assert_eq!(
        of("repeat = { times = 1000000000 }", next),
        (22 + 2_999_999_997 * 10, 10)
    );
}

#[test]
fn an_idle_takes_at_least_as_long_as_it_must_see_steady_memory() {
    let least = |idle: &str| {
        let text = format!(
            "format = 1\n[[phase]]\nname = 'a'\nsettle = {{ quiet = '2s' }}\nsteps = [{{ idle = {{ {idle} }} }}]"
        );
        outline(&crate::config::place::read(&text).unwrap(), 1).total.least
    };
    assert_eq!(least("for = '3s'"), Duration::from_secs(3 + 2));
    assert_eq!(least("at-most = '60s'"), Duration::from_secs(8 + 2));
    assert_eq!(least("at-most = '5s'"), Duration::from_secs(5 + 2));
}
