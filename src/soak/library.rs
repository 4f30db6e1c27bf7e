//! The preloaded purge library, or the script of Node.js, in the processes of the tree: who listens, and the signal.

use crate::drive::ReleaseResult;
use crate::resolve::{Collector, Library};
use base::units;
use record::regular_file;
use record::{AllocatorFamily, Listening, ReleasedBy, Releaser};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval of looks for an answer.
const LOOK: Duration = Duration::from_millis(5);

/// Longest wait for the answers of all signalled processes together: a heap of many GiB takes a second or two. A process whose runtime handles the signal
/// itself never answers.
const LONGEST: Duration = Duration::from_secs(10);

/// Longest wait for the script of Node.js, which runs between the program's own work: checking a large file takes seconds.
const LONGEST_OF_NODE: Duration = Duration::from_secs(60);

/// Knowledge of the processes that listen: which are in the journal, which do not answer, and what was found in them.
#[derive(Debug, Default)]
pub struct Heard {
    /// Processes in the journal, each with the library's thread: a process with a new program has a new thread.
    journaled: Mutex<BTreeSet<(u32, u32)>>,
    /// Those that did not answer once, and are not asked again.
    mute: Mutex<BTreeSet<(u32, u32)>>,
    /// Findings within each examined program.
    within: Mutex<BTreeMap<PathBuf, Option<AllocatorFamily>>>,
}

/// A process in which the library listens.
struct Listener {
    pid: u32,
    thread: u32,
    malloc: Option<String>,
    released: usize,
    /// Worker threads of Node.js, each with a heap of its own.
    workers: usize,
}

impl Listener {
    /// Distinguishes it from the same process's earlier program.
    fn key(&self) -> (u32, u32) {
        (self.pid, self.thread)
    }
}

impl Heard {
    /// Listening processes that are not in the journal yet.
    pub fn new_listeners(&self, library: &Library) -> Vec<Listening> {
        let mut journaled = lock(&self.journaled);
        let new = listeners(library).into_iter().filter(|one| journaled.insert(one.key()));
        new.map(|one| Listening {
            pid: one.pid,
            within: self.program_allocator(one.pid),
            malloc: one.malloc,
        })
        .collect()
    }

    /// The allocator within the program of a process. Each program is read once: a second for each GB.
    fn program_allocator(&self, pid: u32) -> Option<AllocatorFamily> {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let mut known = lock(&self.within);
        *known
            .entry(program)
            .or_insert_with_key(|program| allocator::linked_allocator(program))
    }

    /// Signals the listening processes of `alive` all at once, and waits for their answers.
    pub async fn give_back(&self, library: &Library, alive: &[u32], patience: Duration) -> ReleaseResult {
        let mut release = ReleaseResult::default();
        let listening = listeners(library).into_iter();
        let listening: Vec<Listener> = listening.filter(|one| alive.contains(&one.pid)).collect();
        if listening.is_empty() {
            let what = library
                .path
                .as_ref()
                .map_or("script of Node.js", |_| "preloaded library");
            let why = format!("the {what} was not seen to listen in any process of the server");
            release.missing.push(why);
            return release;
        }
        release.missing.extend(deaf_processes(alive, &listening));
        let asked = listening.len();
        let has_deaf_node = library.path.is_none()
            && alive
                .iter()
                .any(|pid| !listens(*pid, &listening) && self.program_allocator(*pid) == Some(AllocatorFamily::V8));
        let mut waiting = Vec::new();
        let mut has_workers = false;
        for one in listening {
            if one.workers > 0 {
                has_workers = true;
                let count = units::count_of(one.workers as u64, "worker thread");
                let why = format!("the garbage of {count} of process {} cannot be collected", one.pid);
                release.missing.push(why);
            }
            if lock(&self.mute).contains(&one.key()) {
                release
                    .missing
                    .push(format!("process {} did not answer before", one.pid));
            } else if let Err(why) = proctree::process::signal_thread(one.pid, one.thread, library.signal) {
                release
                    .missing
                    .push(format!("process {} cannot be asked to purge: {why}", one.pid));
            } else {
                waiting.push(one);
            }
        }
        self.await_answers(library, waiting, patience, &mut release).await;
        if has_workers || has_deaf_node || release.used.len() < asked {
            release.forget_live();
        }
        release
    }

    /// Adds the answers of the signalled processes to a release, and why others have none.
    async fn await_answers(
        &self,
        library: &Library,
        waiting: Vec<Listener>,
        patience: Duration,
        release: &mut ReleaseResult,
    ) {
        let longest = library.path.as_ref().map_or(LONGEST_OF_NODE, |_| LONGEST);
        let deadline = Instant::now() + patience.min(longest);
        for one in waiting {
            match answer(&library.directory, &one, deadline).await {
                Some(released) => release.used.push(released),
                None => {
                    // The script is late, and answers when its program has time.
                    let why = match &library.path {
                        Some(_) => "its runtime may block signals",
                        None => "it was busy",
                    };
                    if library.path.is_some() {
                        lock(&self.mute).insert(one.key());
                    }
                    release
                        .missing
                        .push(format!("process {} did not answer the signal: {why}", one.pid));
                }
            }
        }
    }
}

fn listens(pid: u32, listening: &[Listener]) -> bool {
    listening.iter().any(|listener| listener.pid == pid)
}

/// Names the processes that do not listen; `None` if all do.
fn deaf_processes(alive: &[u32], listening: &[Listener]) -> Option<String> {
    let mut absent = alive.iter().filter(|pid| !listens(**pid, listening));
    let first = absent.next()?;
    Some(match absent.count() {
        0 => format!("process {first} does not listen"),
        others => format!(
            "process {first} and {} do not listen",
            units::count_of(others as u64, "other")
        ),
    })
}

/// Waits for one more answer than there was.
async fn answer(directory: &Path, one: &Listener, deadline: Instant) -> Option<Releaser> {
    loop {
        let text = content(&directory.join(one.pid.to_string())).unwrap_or_default();
        if let Some(line) = complete_lines(&text).filter(|line| is_release(line)).nth(one.released) {
            return Some(parse_release(one.pid, line));
        }
        if Instant::now() >= deadline {
            return None;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Processes whose file says ready and which still listen: the signal would end a process with a new program, or
/// another process with its id.
fn listeners(library: &Library) -> Vec<Listener> {
    let files = fs::read_dir(&library.directory).into_iter().flatten().flatten();
    let mut listeners: Vec<Listener> = files
        .filter_map(|file| {
            let pid = file.file_name().to_str()?.parse().ok()?;
            parse_listener(pid, &content(&file.path())?)
        })
        .filter(|one| still_listens(library, one))
        .collect();
    listeners.sort_by_key(|one| one.pid);
    listeners
}

/// The content of a file of the library, which every process of the tree can write.
fn content(path: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    String::from_utf8(regular_file::read(path, MOST).ok()?).ok()
}

/// Worker threads that began and have not ended. One that was terminated does not say so, and counts.
fn workers(text: &str) -> usize {
    let began = complete_lines(text).filter(|line| *line == "worker began").count();
    let ended = complete_lines(text).filter(|line| *line == "worker ended").count();
    began.saturating_sub(ended)
}

/// True if the process still maps the library, or the script still catches the signal.
fn still_listens(library: &Library, one: &Listener) -> bool {
    let file = if library.path.is_some() { "maps" } else { "status" };
    let text = fs::read_to_string(format!("/proc/{}/{file}", one.pid)).unwrap_or_default();
    match &library.path {
        Some(path) => proctree::mapped_files(&text).contains(path),
        None => catches(&text, library.signal),
    }
}

/// True if a process has a handler for a signal, by its `/proc/PID/status`: `SigCgt:` has one bit for each, the first for 1.
fn catches(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// `ready thread=4711 malloc=/lib/x86_64-linux-gnu/libc.so.6`, then a line for each release. A process that has become
/// another program says it again: the last one holds.
fn parse_listener(pid: u32, text: &str) -> Option<Listener> {
    let rest = complete_lines(text)
        .filter_map(|line| line.strip_prefix("ready thread="))
        .last()?;
    let (thread, malloc) = rest.split_once(" malloc=")?;
    Some(Listener {
        pid,
        thread: thread.parse().ok()?,
        malloc: Some(malloc.to_owned()).filter(|file| file != "?"),
        released: complete_lines(text).filter(|line| is_release(line)).count(),
        workers: workers(text),
    })
}

fn is_release(line: &str) -> bool {
    line.starts_with("released")
}

/// `released malloc_trim=1 nanos=301544`; `gc()` answers with the bytes that are live.
fn parse_release(pid: u32, line: &str) -> Releaser {
    let fields: Vec<(&str, &str)> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
    let took = fields.iter().find(|(name, _)| *name == "nanos");
    let called = fields.iter().filter(|(name, _)| *name != "nanos");
    let live = fields.iter().find(|(name, _)| *name == Collector::Node.to_string());
    let names: Vec<&str> = called.clone().map(|(name, _)| *name).collect();
    let answers: Vec<String> = called.map(|(name, answer)| format!("{name}={answer}")).collect();
    Releaser {
        by: ReleasedBy::Allocator,
        what: names.join(", "),
        pid: Some(pid),
        answer: answers.join(", "),
        accounted: live.and_then(|(_, bytes)| bytes.parse().ok()),
        took: took.and_then(|(_, nanos)| nanos.parse().ok()).unwrap_or_default(),
    }
}

/// The lines that are written to their end.
fn complete_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_who_listens_and_how_often_it_gave_back() {
        let text = "ready thread=12 malloc=/lib/libc.so.6\nreleased malloc_trim=1 nanos=5\nreleased mal";
        let one = parse_listener(7, text).expect("it is ready");
        assert_eq!(
            (one.thread, one.released),
            (12, 1),
            "what is half written is not there yet"
        );
        assert_eq!(one.malloc.as_deref(), Some("/lib/libc.so.6"));
        let again = format!("{text}loc_trim=1 nanos=5\nready thread=13 malloc=/lib/libmimalloc.so.2\n");
        let again = parse_listener(7, &again).expect("it is ready");
        assert_eq!(
            (again.thread, again.released),
            (13, 2),
            "the program that it became counts on"
        );
        assert!(parse_listener(7, "").is_none() && parse_listener(7, "ready thread=1").is_none());
        assert_eq!(
            parse_listener(7, "ready thread=1 malloc=?\n")
                .expect("it is ready")
                .malloc,
            None
        );
    }

    #[test]
    fn who_does_not_listen_beside_those_that_do_is_named() {
        let one = parse_listener(7, "ready thread=12 malloc=?\n").expect("it is ready");
        let listening = [one];
        assert_eq!(deaf_processes(&[7], &listening), None);
        assert_eq!(
            deaf_processes(&[7, 8], &listening).as_deref(),
            Some("process 8 does not listen")
        );
        let several = deaf_processes(&[6, 7, 8, 9], &listening);
        assert_eq!(several.as_deref(), Some("process 6 and 2 others do not listen"));
    }

    #[test]
    fn an_answer_names_what_was_called() {
        let warned = parse_release(7, "released mallctl=0 malloc_trim=1 nanos=301544");
        assert_eq!(warned.what, "mallctl, malloc_trim");
        assert_eq!(warned.answer, "mallctl=0, malloc_trim=1");
        assert_eq!((warned.pid, warned.took), (Some(7), 301_544));
    }

    #[test]
    fn a_collection_of_node_reports_what_is_live() {
        let collected = parse_release(7, "released gc()=67108864 nanos=5");
        assert_eq!((collected.what.as_str(), collected.accounted), ("gc()", Some(64 << 20)));
        assert_eq!(parse_release(7, "released malloc_trim=1 nanos=5").accounted, None);
    }

    #[test]
    fn a_worker_thread_counts_until_it_says_that_it_ended() {
        assert_eq!(
            workers("ready thread=1 malloc=?\nworker began\nworker began\nworker ended\n"),
            1
        );
        assert_eq!(
            workers("ready thread=1 malloc=?\nworker began\nworker ended\nworker beg"),
            0
        );
    }

    #[test]
    fn a_process_without_the_handler_would_be_ended_by_the_signal() {
        let status = "Name:\tnode\nSigCgt:\t000000010000c602\n";
        assert!(catches(status, 16) && !catches("Name:\tsh\nSigCgt:\t0000000000010002\n", 16));
        assert!(catches(status, 2) && !catches(status, 12) && !catches("", 16));
    }

    #[tokio::test]
    async fn where_nobody_listens_that_is_said() {
        let place = tempfile::tempdir().expect("there is a place for temporary files");
        let library = Library {
            path: Some("/nowhere/libpurge_shim.so".into()),
            directory: place.path().to_owned(),
            signal: 50,
        };
        let release = Heard::default().give_back(&library, &[1], LOOK).await;
        assert!(
            release.used.is_empty() && release.missing[0].contains("not seen to listen"),
            "{release:?}"
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_process_that_is_another_by_now_is_not_signalled() {
        let place = tempfile::tempdir().expect("there is a place for temporary files");
        let own = std::process::id();
        fs::write(
            place.path().join(own.to_string()),
            format!("ready thread={own} malloc=?\n"),
        )
        .expect("it is ours");
        let library = Library {
            path: Some("/nowhere/libpurge_shim.so".into()),
            directory: place.path().to_owned(),
            signal: 50,
        };
        let heard = Heard::default();
        let release = heard.give_back(&library, &[own], LOOK).await;
        assert!(release.missing[0].contains("not seen to listen"), "{release:?}");
        assert_eq!(heard.new_listeners(&library), []);
    }
}
