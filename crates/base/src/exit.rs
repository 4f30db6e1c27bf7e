//! The exit codes of lsp-soak.

/// The result of a run, as a number for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The scenario was played to its end and the server exited cleanly.
    Passed,
    /// A gate failed: a figure increased more than tolerated.
    GateFailed,
    /// A gate could not be decided.
    Inconclusive,
    /// The record does not say how the run ended: lsp-soak itself was stopped or its disk failed. Or the scenario had no
    /// place to ask at in the files that it opened.
    OwnFailure,
    /// The server failed the scenario, crashed while it was shut down, or left processes behind that had to be killed.
    ServerFailed,
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::GateFailed => 1,
            Exit::OwnFailure => 2,
            Exit::Inconclusive => 3,
            Exit::ServerFailed => 4,
            Exit::Interrupted => 130,
        }
    }

    /// The exit code of two outcomes in one invocation: 130 > 2 > 4 > 1 > 3 > 0.
    pub fn worse(self, other: Exit) -> Exit {
        if other.severity() > self.severity() {
            other
        } else {
            self
        }
    }

    fn severity(self) -> u8 {
        match self {
            Exit::Passed => 0,
            Exit::Inconclusive => 1,
            Exit::GateFailed => 2,
            Exit::ServerFailed => 3,
            Exit::OwnFailure => 4,
            Exit::Interrupted => 5,
        }
    }
}
