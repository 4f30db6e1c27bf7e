//! Published workloads of allocators, written anew. Each program in `bin/` runs them on another allocator.

mod block;
mod options;
mod random;
mod trial;
mod workload;

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use options::Options;
use trial::Outcome;

/// The line on stdout, with its keys in this order.
#[derive(Serialize)]
struct Line<'a> {
    workload: String,
    allocator: &'a str,
    threads: usize,
    seconds: f64,
    operations_per_second: u64,
    nanoseconds_per_operation: f64,
    live_bytes: usize,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounded: Option<bool>,
}

impl<'a> Line<'a> {
    fn new(options: &Options, allocator: &'a str, outcome: &Outcome) -> Line<'a> {
        let (payload, bounded) = if options.workload.has_payload() {
            (Some(options.payload()), Some(options.bounded))
        } else {
            (None, None)
        };
        let rate = outcome.operations as f64 / outcome.seconds;
        Line {
            workload: options.workload.to_string(),
            allocator,
            threads: options.threads(),
            seconds: options.seconds.as_secs_f64(),
            operations_per_second: rate.round() as u64,
            nanoseconds_per_operation: (1e12 / rate).round() / 1e3,
            live_bytes: outcome.live_bytes,
            seed: options.seed,
            payload,
            bounded,
        }
    }
}

/// Runs the workload of the command line and prints its line; `allocator` is the one that this program links.
pub fn main(allocator: &str) -> ExitCode {
    let options = Options::from_command_line();
    let outcome = options.workload.run(&options);
    let line = serde_json::to_string(&Line::new(&options, allocator, &outcome))
        .expect("numbers and strings are always valid JSON");
    match writeln!(std::io::stdout(), "{line}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
