//! How the server began and ended, as JSON: the times of a run that was held up are no measurement.

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{self, Nanos, ShutdownReply, ShutdownStage, Survivor};

/// What the server said of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Initialized {
    /// `serverInfo.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `serverInfo.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The position encoding agreed on: `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
    /// How documents are synchronised: `none`, `full` or `incremental`.
    pub sync: String,
    /// Time from the request to its answer; `null` of a traced run.
    pub latency: Option<Nanos>,
}

/// How the server was brought down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shutdown {
    /// The last measure that was needed.
    pub stage: ShutdownStage,
    /// What came of the `shutdown` request; left out when it was not sent, or this was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ShutdownReply>,
    /// Whether the server was still there when `exit` was sent; left out when it was not meant to be, or this was not
    /// kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_sent: Option<bool>,
    /// Exit code, when it exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal, when one ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// From the shutdown request until the server's own process was gone; `null` of a traced run.
    pub took: Option<Nanos>,
    /// Processes of the tree that outlived the server; they were killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<Survivor>,
}

pub(super) fn initialized(said: record::Initialized, held_up: bool) -> Initialized {
    let record::Initialized {
        name,
        version,
        encoding,
        sync,
        latency,
    } = said;
    Initialized {
        name,
        version,
        encoding,
        sync,
        latency: (!held_up).then_some(latency),
    }
}

pub(super) fn shutdown(shutdown: record::Shutdown, held_up: bool) -> Shutdown {
    let record::Shutdown {
        stage,
        reply,
        exit_sent,
        code,
        signal,
        took,
        survivors,
    } = shutdown;
    Shutdown {
        stage,
        reply,
        exit_sent,
        code,
        signal,
        took: (!held_up).then_some(took),
        survivors,
    }
}

#[cfg(test)]
mod tests {
    use crate::record::golden;
    use crate::summary::calls::tests::traced;

    #[test]
    fn a_traced_run_has_no_time_of_its_beginning_and_of_its_end() {
        let plain = crate::summary::read(golden::open("completed")).expect("it is whole");
        let held_up = traced(plain.clone(), 7);
        for (summary, known) in [(plain, true), (held_up, false)] {
            let report = super::super::report(&summary);
            assert_eq!(report.initialized.is_some_and(|one| one.latency.is_some()), known);
            assert_eq!(report.shutdown.is_some_and(|one| one.took.is_some()), known);
            assert_eq!(!report.readiness.is_empty(), known);
        }
    }
}
