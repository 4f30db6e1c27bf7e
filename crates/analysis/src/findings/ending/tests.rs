use super::*;
use crate::golden::summarised;
use crate::summary::exit_of_run;
use base::exit::Exit;
use record::UnfinishedMessage;
use record::golden::Session;

#[test]
fn a_wedge_names_what_is_stuck_and_in_which_direction() {
    const ADVICE: &str = "attach a debugger";
    let reading = wedged("textDocument/hover", "30.0 s", 0, ADVICE);
    assert!(
        reading.contains("`textDocument/hover` has been open for 30.0 s"),
        "{reading}"
    );
    let writing = wedged("", "30.0 s", 65_536, ADVICE);
    assert!(writing.contains("for 30.0 s it has read none of 64.0 KiB"), "{writing}");
    let own = wedged(BARRIER, "30.0 s", 0, ADVICE);
    assert!(own.contains("a request of lsp-soak (`lspSoak/barrier`)"), "{own}");
}

#[test]
fn an_interrupted_run_says_how_its_server_left() {
    for (stage, words) in [
        (
            ShutdownStage::Terminated,
            "interrupted: the server was shut down, and the phases",
        ),
        (
            ShutdownStage::Killed,
            "interrupted: the server was killed, and the phases",
        ),
        (
            ShutdownStage::AlreadyGone,
            "interrupted: the server was gone already, and the phases",
        ),
    ] {
        let mut session = Session::new("server");
        session.shut_down(stage, Vec::new(), Ending::Interrupted, "");
        let last = super::ending(&summarised(&session)).unwrap();
        assert!(last.text.starts_with(words), "{}", last.text);
    }
}

#[test]
fn an_end_is_told_by_signal_code_or_not_at_all() {
    assert!(status(None, Some(9)).contains("out-of-memory killer"));
    assert_eq!(status(Some(101), None), "exit code 101");
    assert_eq!(status(None, None), "it ended, and how is not known");
}

#[test]
fn a_server_that_ends_by_itself_has_not_crashed_and_still_shows_its_last_words() {
    for (code, words) in [
        (
            0,
            "ended by itself (exit code 0) during the start: is this a language server",
        ),
        (2, "crashed during the start: exit code 2"),
    ] {
        let mut session = Session::new("server");
        let ending = Ending::Crashed {
            code: Some(code),
            signal: None,
            during: "the start".to_owned(),
        };
        session.shut_down(ShutdownStage::AlreadyGone, Vec::new(), ending, "usage: server --stdio");
        let summary = summarised(&session);
        let last = super::ending(&summary).unwrap();
        assert!(last.text.contains(words), "{}", last.text);
        assert_eq!(last.details, ["usage: server --stdio"]);
        assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
    }
}

#[test]
fn a_shutdown_that_took_no_more_than_a_phase_is_not_spoken_of() {
    for (more, is_reported) in [(0, false), (MORE - 1, false), (MORE, true)] {
        let mut summary = summarised(&Session::new("server"));
        summary.memory.peak = Some(crate::summary::Peak {
            lower: 8 << 20,
            upper: Some(8 << 20),
            unseen: false,
        });
        summary.memory.shutdown_peak = Some((8 << 20) + more);
        let mut list = Vec::new();
        shutdown(&summary, &mut list);
        assert_eq!(!list.is_empty(), is_reported, "{list:?}");
    }
}

#[test]
fn a_step_of_errors_says_which_and_not_that_nothing_is_there() {
    let mut step = EmptyStep {
        phase: "goto".to_owned(),
        step: "definition".to_owned(),
        requests: 25,
        errors: 25,
        error: Some("-32603: no index".to_owned()),
        looked_for: None,
        parked: 0,
        lacks: None,
    };
    let errors = empty(std::slice::from_ref(&step), true);
    assert!(
        errors.text.contains("with an error") && !errors.text.contains("expect"),
        "{}",
        errors.text
    );
    let line = "`definition` in phase `goto`: 25 requests, 25 errors, most often: -32603: no index";
    assert_eq!(errors.details, [line]);
    step.errors = 3;
    let some = empty(std::slice::from_ref(&step), true);
    assert!(some.text.contains("expect"), "{}", some.text);
    assert!(some.details[0].ends_with("25 requests, nothing found, 3 errors, most often: -32603: no index"));
}

/// A run in which these steps had no results.
fn run_with_empty_steps(steps: &[&EmptyStep]) -> Summary {
    let mut session = Session::new("server");
    let steps = steps.iter().copied().cloned().collect();
    session.shut_down(ShutdownStage::Exit, Vec::new(), Ending::Empty { steps }, "");
    summarised(&session)
}

#[test]
fn a_step_that_asked_nothing_is_blamed_on_nobody_and_says_what_it_looked_for() {
    let silent = EmptyStep {
        phase: "goto".to_owned(),
        step: "definition".to_owned(),
        requests: 0,
        errors: 0,
        error: None,
        looked_for: Some("names in 20 open json files".to_owned()),
        parked: 0,
        lacks: None,
    };
    let lacks = EmptyStep {
        looked_for: None,
        parked: 0,
        lacks: Some("textDocument/definition".to_owned()),
        ..silent.clone()
    };
    let summary = run_with_empty_steps(&[&silent]);
    let last = super::ending(&summary).unwrap();
    assert!(last.text.starts_with("the scenario asked nothing"), "{}", last.text);
    assert_eq!(
        last.details,
        ["`definition` in phase `goto` asked nothing: it found no names in 20 open json files"]
    );
    assert_eq!(exit_of_run(&summary), Exit::OwnFailure);
    assert_eq!(super::super::outcome(&summary), "asked nothing");
    let summary = run_with_empty_steps(&[&lacks]);
    let last = super::ending(&summary).unwrap();
    assert!(last.text.starts_with("the server supports nothing"), "{}", last.text);
    assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
    // Error answers are the server's failure, so they take precedence.
    let refused = EmptyStep {
        requests: 5,
        errors: 5,
        error: Some("-1: no".to_owned()),
        ..silent.clone()
    };
    let summary = run_with_empty_steps(&[&silent, &refused]);
    assert!(super::ending(&summary).unwrap().text.contains("with an error"));
    assert_eq!(exit_of_run(&summary), Exit::ServerFailed);
}

/// The text about a server that hangs after an unfinished message, or after these notifications.
fn hang_text(unfinished: Option<UnfinishedMessage>, notifications: &[(&str, u64)]) -> String {
    let mut summary = summarised(&Session::new("server"));
    summary.lifecycle.close = Some(record::Close {
        unfinished,
        notifications: notifications
            .iter()
            .map(|(method, count)| ((*method).to_owned(), *count))
            .collect(),
        ..record::Close::default()
    });
    summary.ending = Some(Ending::Wedged {
        method: "textDocument/definition".to_owned(),
        after: 30_000_000_000,
        unsent: 0,
        during: String::new(),
    });
    super::ending(&summary).unwrap().text
}

#[test]
fn a_server_that_stands_still_after_notifications_of_its_own_may_wait_for_their_answer() {
    let own = hang_text(None, &[("tsserver/request", 3), ("window/logMessage", 9)]);
    assert!(
        own.contains("does not send: `tsserver/request` (3 times); if not, attach"),
        "{own}"
    );
    let none = hang_text(None, &[("window/logMessage", 9)]);
    assert!(none.contains("it waits for something: attach a debugger"), "{none}");
    let mut unframed = summarised(&Session::new("server"));
    unframed.lifecycle.close = Some(record::Close {
        noise: 192,
        received: 192,
        noise_sample: "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_owned(),
        ..record::Close::default()
    });
    let unframed = waits_for(&unframed);
    assert!(
        unframed.contains("it wrote 192 B without a `Content-Length` header"),
        "{unframed}"
    );
    let short = UnfinishedMessage {
        announced: 500,
        came: 450,
    };
    let short = hang_text(Some(short), &[]);
    assert!(
        short.contains("of its last message 450 came and its `Content-Length` announces 500"),
        "{short}"
    );
}
