//! The end of a relayed session.

use record::{Close, EndCause, Ending, Event, Nanos, Shutdown, ShutdownReply, ShutdownStage};

/// Facts of the relay about the end of the server.
#[derive(Clone, Debug)]
pub struct Departure {
    pub at: Nanos,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// True if a signal that asks to end was passed on.
    pub forwarded: bool,
    /// True if the editor closed the server's input.
    pub input_ended: bool,
    /// Bytes from the editor, from the server, and on stderr.
    pub sent: u64,
    pub received: u64,
    pub stderr: u64,
}

/// Messages of editor and server about the end.
#[derive(Clone, Debug, Default)]
pub struct Farewell {
    /// When `shutdown` was sent.
    pub asked: Option<Nanos>,
    pub reply: Option<ShutdownReply>,
    pub exit_sent: bool,
}

impl Departure {
    /// The last events of the record; `open` is a method that was not answered.
    pub fn events(&self, farewell: &Farewell, close: Close, open: Option<&str>) -> Vec<Event> {
        let shutdown = Shutdown {
            stage: self.stage(farewell),
            reply: match (&farewell.reply, farewell.asked) {
                (None, Some(_)) => Some(ShutdownReply::Gone),
                (reply, _) => reply.clone(),
            },
            exit_sent: Some(farewell.exit_sent),
            code: self.code,
            signal: self.signal,
            took: farewell.asked.map(|asked| self.at.saturating_sub(asked)),
            orphaned: None,
            survivors: Vec::new(),
        };
        let close = Close {
            sent: self.sent,
            received: self.received,
            stderr: self.stderr,
            ..close
        };
        let ending = self.ending(farewell, open);
        vec![Event::Shutdown(shutdown), Event::Closed(close), Event::Ended(ending)]
    }

    fn stage(&self, farewell: &Farewell) -> ShutdownStage {
        if farewell.exit_sent {
            ShutdownStage::Exit
        } else if self.forwarded {
            ShutdownStage::Terminated
        } else if self.input_ended {
            ShutdownStage::StdinClosed
        } else {
            ShutdownStage::AlreadyGone
        }
    }

    /// A server that was asked to end in any way has completed the session, unless it crashed on the way.
    fn ending(&self, farewell: &Farewell, open: Option<&str>) -> Ending {
        let was_asked = self.stage(farewell) != ShutdownStage::AlreadyGone;
        let has_crashed = self.signal.is_some_and(is_fault);
        if was_asked && !has_crashed {
            return Ending::Completed;
        }
        let during = match open {
            Some(method) => format!("`{method}` in an editor's session"),
            None => "an editor's session".to_owned(),
        };
        Ending::Crashed {
            code: self.code,
            signal: self.signal,
            during,
        }
    }
}

fn is_fault(signal: i32) -> bool {
    let cause = EndCause::Signalled {
        signal,
        out_of_memory: false,
    };
    cause.is_crash()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(departure: Departure, exit_sent: bool) -> Ending {
        let farewell = Farewell {
            exit_sent,
            ..Farewell::default()
        };
        let mut events = departure.events(&farewell, Close::default(), Some("textDocument/hover"));
        match events.pop() {
            Some(Event::Ended(ending)) => ending,
            other => panic!("{other:?}"),
        }
    }

    fn a_departure() -> Departure {
        Departure {
            at: 5,
            code: Some(0),
            signal: None,
            forwarded: false,
            input_ended: false,
            sent: 0,
            received: 0,
            stderr: 0,
        }
    }

    #[test]
    fn a_server_that_nobody_asked_to_end_has_crashed_whatever_its_exit_code() {
        let during = "`textDocument/hover` in an editor's session".to_owned();
        let crashed = Ending::Crashed {
            code: Some(0),
            signal: None,
            during,
        };
        assert_eq!(ending(a_departure(), false), crashed);
    }

    #[test]
    fn a_server_that_was_asked_to_end_has_completed_the_session() {
        assert_eq!(ending(a_departure(), true), Ending::Completed);
        let closed = Departure {
            input_ended: true,
            ..a_departure()
        };
        assert_eq!(ending(closed, false), Ending::Completed);
        let terminated = Departure {
            forwarded: true,
            signal: Some(15),
            code: None,
            ..a_departure()
        };
        assert_eq!(ending(terminated, false), Ending::Completed);
    }

    #[test]
    fn a_fault_on_the_way_to_the_end_is_a_crash() {
        let faulted = Departure {
            signal: Some(11),
            code: None,
            ..a_departure()
        };
        assert!(matches!(
            ending(faulted, true),
            Ending::Crashed { signal: Some(11), .. }
        ));
    }
}
