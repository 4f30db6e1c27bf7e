//! Processes that run already, by name.

use std::io;

use record::Nanos;
use record::process_title;

use super::platform::System;
use super::source::{Effort, Source};

/// A process that lsp-soak did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub pid: u32,
    pub parent: u32,
    /// Start time in the system's own unit.
    pub started: u64,
    /// The program, and of an interpreter its script.
    pub title: String,
    pub command: Vec<String>,
}

impl Running {
    /// True if people call it so: by its program, or by the script that an interpreter runs.
    fn is_called(&self, name: &str) -> bool {
        let first = self.command.first().map_or("", String::as_str);
        let mut names = self.title.split(' ').chain([file_name(first)]);
        names.any(|own| own == name) || self.title == name
    }
}

/// The process of this id; an error of kind `NotFound` if there is none.
pub fn running(pid: u32) -> io::Result<Running> {
    open(&mut System::new()?, pid)
}

/// The processes of this name that can be read, except lsp-soak and those whose parent has the name too.
pub fn running_called(name: &str) -> io::Result<Vec<Running>> {
    const NOW: Nanos = 0;
    let mut source = System::new()?;
    let mut found = Vec::new();
    source.look(NOW, Effort::Thorough, &mut found)?;
    let mut called = Vec::new();
    for process in found {
        if process.pid == std::process::id() {
            continue;
        }
        // It may have ended since, or belong to somebody else.
        let Ok(process) = open(&mut source, process.pid) else {
            continue;
        };
        if process.is_called(name) {
            called.push(process);
        }
    }
    Ok(without_children(called))
}

fn open(source: &mut System, pid: u32) -> io::Result<Running> {
    let (process, opened) = source.open(pid)?;
    let program = source.describe(&process).unwrap_or_default();
    let name = if program.name.is_empty() {
        opened.name
    } else {
        program.name
    };
    Ok(Running {
        pid,
        parent: opened.found.parent,
        started: opened.started,
        title: process_title(&name, &program.command),
        command: program.command,
    })
}

/// The processes whose parent is none of the others: the tree of each has the rest.
fn without_children(processes: Vec<Running>) -> Vec<Running> {
    let pids: Vec<u32> = processes.iter().map(|process| process.pid).collect();
    let roots = processes.into_iter().filter(|process| !pids.contains(&process.parent));
    roots.collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_process(pid: u32, parent: u32, command: &[&str]) -> Running {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        Running {
            pid,
            parent,
            started: 1,
            title: process_title(file_name(&command[0]), &command),
            command,
        }
    }

    #[test]
    fn a_server_in_an_interpreter_is_called_by_its_script() {
        let node = a_process(
            1,
            0,
            &["/usr/bin/node", "--max-old-space-size=99", "/x/tsserver.js", "--stdio"],
        );
        for (name, is_its_name) in [
            ("node", true),
            ("tsserver.js", true),
            ("node tsserver.js", true),
            ("ts", false),
        ] {
            assert_eq!(node.is_called(name), is_its_name, "{name}");
        }
    }

    #[test]
    fn a_process_whose_parent_has_the_name_is_part_of_its_tree() {
        let all = [(5, 1), (6, 5), (7, 1)].map(|(pid, parent)| a_process(pid, parent, &["/x/ty", "server"]));
        let roots: Vec<u32> = without_children(all.to_vec()).iter().map(|root| root.pid).collect();
        assert_eq!(roots, [5, 7]);
    }

    #[test]
    fn this_test_runs_but_no_process_has_an_unheard_of_name() {
        let own = running(std::process::id()).expect("this process runs");
        assert!(own.started > 0 && !own.title.is_empty());
        assert_eq!(running_called("no-such-server").expect("processes can be listed"), []);
    }
}
