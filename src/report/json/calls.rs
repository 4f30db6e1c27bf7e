//! Memory calls in JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analyse::calls;
use crate::record::{CallCount, CallKind, TracerFacts};

/// The memory calls of a traced run. No memory and no latency of that run is used anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Traced {
    /// What traced it.
    pub tracer: TracerFacts,
    /// Whether it was played to its end and the server did not fail.
    pub whole: bool,
    /// By phase, in their order; rounds of one name are added up.
    pub phases: Vec<PhaseCalls>,
}

/// The calls of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PhaseCalls {
    /// Its name; `null` of what came after the last phase, or before the first.
    pub phase: Option<String>,
    /// By kind; one that was not called is missing.
    pub calls: BTreeMap<CallKind, CallCount>,
    /// Minor page faults meanwhile.
    pub minor_faults: Option<u64>,
}

pub(in crate::report) fn traced(traced: &calls::Traced) -> Traced {
    let phases = traced.phases.iter().map(|one| PhaseCalls {
        phase: one.name.clone(),
        calls: one.calls.clone(),
        minor_faults: one.minor_faults,
    });
    Traced {
        tracer: traced.tracer.clone(),
        whole: traced.whole,
        phases: phases.collect(),
    }
}
