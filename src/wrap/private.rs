//! Keeps out of the record what the sampler sees and the user or the project may have named.

use record::{Event, Nanos, Process};

use crate::config::Catalogue;
use proctree::Sink;

use super::place::Written;

/// Programs that servers are run by or run themselves. `MainThread` is what Node.js calls itself.
const KNOWN: [&str; 17] = [
    "MainThread", "bun", "cargo", "cmake", "deno", "dotnet", "git", "go", "java", "node", "npm", "perl", "php",
    "python", "ruby", "rustc", "sh",
];

/// Name of a process whose own name is not known.
const OTHER: &str = "process";

/// Characters of the name of a process on Linux.
const LONGEST_NAME: usize = 15;

/// Names of programs that are everybody's.
pub struct KnownPrograms(Vec<(String, String)>);

impl KnownPrograms {
    /// The programs of the built-in profiles, each with its profile.
    pub fn read() -> KnownPrograms {
        let mut known = Vec::new();
        for (name, profile) in Catalogue::built_in().iter() {
            for program in profile.programs(name) {
                known.push((program.to_owned(), name.to_owned()));
            }
        }
        KnownPrograms(known)
    }

    /// The profile of a program, or of a package.
    pub fn profile_of(&self, program: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let known = pairs.find(|(known, profile)| known == program || profile == program);
        known.map(|(_, profile)| profile.as_str())
    }

    /// The name of a process if it is known, else a neutral word. A version after it is dropped.
    fn process_name(&self, name: &str) -> &str {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let servers = self.0.iter().map(|(program, _)| program.as_str());
        let known = servers.chain(KNOWN).find(|known| {
            let cut = &known[..known.floor_char_boundary(LONGEST_NAME)];
            [cut, *known].into_iter().any(|known| known == name || known == stem)
        });
        known.unwrap_or(OTHER)
    }
}

/// Passes on what is no secret.
pub struct PublicSink<S> {
    pub inner: S,
    pub known: KnownPrograms,
    pub written: Written,
}

impl<S: Sink> Sink for PublicSink<S> {
    fn put(&mut self, at: Nanos, event: Event) {
        if !self.written.has_room_for_memory() {
            return;
        }
        let event = match event {
            Event::Process(process) => Event::Process(Process {
                name: self.known.process_name(&process.name).to_owned(),
                command: Vec::new(),
                ..process
            }),
            counted @ (Event::Sample(_)
            | Event::Rollup(_)
            | Event::Peak(_)
            | Event::ProcessEnded(_)
            | Event::Late(_)
            | Event::Delays(_)
            | Event::Unseen(_)
            | Event::ReadFailed(_)
            | Event::OverLimit(_)
            | Event::Warning(_)) => counted,
            // Whatever else comes may have a path in it.
            _ => return,
        };
        self.inner.put(at, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_only_if_its_program_is_known() {
        let known = KnownPrograms::read();
        for (name, expected) in [
            ("ty", "ty"),
            ("rust-analyzer", "rust-analyzer"),
            ("python3.11", "python"),
            ("pyright-langser", "pyright-langserver"),
            ("basedpyright-langserver", "basedpyright-langserver"),
            ("customer-secret", OTHER),
        ] {
            assert_eq!(known.process_name(name), expected);
        }
    }
}
