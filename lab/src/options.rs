//! The command line.

use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use crate::workload::Workload;

/// Run one published workload of allocators and print its throughput as one line of JSON.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Options {
    /// The workload to run
    #[arg(value_enum)]
    pub workload: Workload,
    /// Threads that work; mpsc: threads that send; xmalloc: pairs of threads
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Length of the timed part in seconds
    #[arg(long, value_name = "S", default_value = "5", value_parser = parse_seconds)]
    pub seconds: Duration,
    /// Seed of sizes, slots and keys
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Size of a message of mpsc, 8B to 64KiB [default: 16KiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_payload)]
    payload: Option<Payload>,
    /// Use a channel with room for 128 messages in mpsc; senders wait for room
    #[arg(long)]
    pub bounded: bool,
}

impl Options {
    /// Parses the command line; ends the program with a message if it is wrong.
    pub fn from_command_line() -> Options {
        let options = Options::parse();
        options.validate().unwrap_or_else(|error| error.exit())
    }

    pub fn threads(&self) -> usize {
        usize::from(self.threads)
    }

    /// The size of a message in bytes.
    pub fn payload(&self) -> usize {
        self.payload.map_or(16 * 1024, |payload| payload.0)
    }

    /// Refuses options that the workload would ignore.
    fn validate(self) -> Result<Options, clap::Error> {
        if self.workload.has_payload() {
            return Ok(self);
        }
        let ignored = [("--payload", self.payload.is_some()), ("--bounded", self.bounded)];
        let Some((name, _)) = ignored.into_iter().find(|(_, is_present)| *is_present) else {
            return Ok(self);
        };
        let message = format!("{name} has no meaning for {}: it belongs to mpsc", self.workload);
        Err(Options::command().error(ErrorKind::ArgumentConflict, message))
    }
}

/// Bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Payload(usize);

fn parse_payload(text: &str) -> Result<Payload, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match text[digits.len()..].trim_start() {
        "" | "B" => 1,
        "KiB" => 1024,
        _ => return Err("write a number of bytes, such as 64B or 16KiB".to_owned()),
    };
    let bytes = digits
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(factor));
    match bytes {
        Some(bytes @ 8..=0x1_0000) => Ok(Payload(bytes)),
        _ => Err("a message has 8B to 64KiB".to_owned()),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|number| Duration::try_from_secs_f64(number).ok());
    match seconds {
        Some(seconds) if !seconds.is_zero() && seconds.as_secs() <= 3600 => Ok(seconds),
        _ => Err("write a number of seconds up to 3600, such as 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split(' ')).and_then(Options::validate)
    }

    #[test]
    fn a_payload_is_written_in_bytes_or_kibibytes() {
        assert_eq!(parse_payload("8"), Ok(Payload(8)));
        assert_eq!(parse_payload("64 B"), Ok(Payload(64)));
        assert_eq!(parse_payload("64KiB"), Ok(Payload(65_536)));
        for wrong in ["7", "65KiB", "16KB", "KiB", "", "99999999999999999999KiB"] {
            assert!(parse_payload(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_trial_takes_more_than_no_time() {
        assert_eq!(parse_seconds("0.05"), Ok(Duration::from_millis(50)));
        for wrong in ["0", "-1", "NaN", "inf", "4000", "1s"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_option_of_another_workload_is_refused() {
        assert!(parse("lab mpsc --payload 8B --bounded").is_ok());
        let refusal = parse("lab larson --payload 8B").expect_err("larson has no payload");
        let message = refusal.to_string();
        assert!(message.contains("--payload has no meaning for larson"), "{message}");
    }
}
