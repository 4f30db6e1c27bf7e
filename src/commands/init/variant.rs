//! The setting by which the starter shows one server twice: one that its allocator takes.

use std::path::Path;

use crate::commands::servers;
use crate::config::Profile;
use crate::resolve::detector;
use allocator::knobs;
use base::Cancel;
use record::{AllocatorFacts, AllocatorFamily};

/// A variable that changes nothing about memory, and is right for every server.
const HARMLESS: (&str, &str) = ("RUST_LOG", "error");

/// A variable and value that change no memory.
pub fn harmless() -> (String, String) {
    (HARMLESS.0.to_owned(), HARMLESS.1.to_owned())
}

/// A variable and value for a server, installed or not.
pub fn setting(name: &str, profile: &Profile, program: Option<&Path>) -> (String, String) {
    let Some(program) = program else {
        return harmless();
    };
    let mut choice = servers::chosen(name, profile, program);
    let inspected = detector::inspect(&choice, program, None, &Cancel::default());
    let Some((variable, value)) = frugal_setting(&inspected.facts) else {
        return harmless();
    };
    // Detection may be wrong; a setting that a run would refuse is not proposed.
    choice.env.insert(variable.clone(), value.to_owned());
    let examined = detector::examine(&choice, program, None, &Cancel::default());
    if examined.settings().is_ok() {
        (variable, value.to_owned())
    } else {
        harmless()
    }
}

/// A variable and value that make an allocator hold less memory; `None` if it has no such setting.
fn frugal_setting(facts: &AllocatorFacts) -> Option<(String, &'static str)> {
    match facts.family {
        AllocatorFamily::Jemalloc => Some((facts.variable.clone()?, "narenas:1")),
        AllocatorFamily::Mimalloc => Some((knobs::purge_delay(&facts.options), "0")),
        AllocatorFamily::Glibc => Some(("MALLOC_ARENA_MAX".to_owned(), "1")),
        AllocatorFamily::Go => Some(("GOGC".to_owned(), "50")),
        AllocatorFamily::V8 => {
            let own = facts.variable.clone();
            let variable = own.unwrap_or_else(|| "NODE_OPTIONS".to_owned());
            Some((variable, "--max-semi-space-size=1"))
        }
        // For the part that the C library serves.
        AllocatorFamily::Pymalloc => Some(("MALLOC_ARENA_MAX".to_owned(), "1")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allocator_has_a_variable_that_it_reads_itself() {
        for family in [
            AllocatorFamily::Jemalloc,
            AllocatorFamily::Mimalloc,
            AllocatorFamily::Glibc,
            AllocatorFamily::Go,
            AllocatorFamily::V8,
        ] {
            let variable = match family {
                AllocatorFamily::Jemalloc => Some("_RJEM_MALLOC_CONF".to_owned()),
                _ => None,
            };
            let facts = AllocatorFacts {
                family,
                variable,
                ..AllocatorFacts::default()
            };
            let (variable, _) = frugal_setting(&facts).unwrap();
            assert_eq!(knobs::reader(&variable), Some(family));
        }
        assert_eq!(frugal_setting(&AllocatorFacts::default()), None);
        assert_eq!(knobs::reader(HARMLESS.0), None);
    }
}
