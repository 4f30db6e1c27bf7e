//! Tests of the whole journal: every written entry is readable, however the journal was cut.

use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::read::Reader;
use super::{
    Clock, Ending, Entry, Event, FORMAT, Header, Journal, ReadError, Storage, Version, Warning, WarningKind,
    WriteError, open,
};

pub(super) fn header() -> Header {
    Header {
        tool: "0.1.0".to_owned(),
        started: "2026-11-21T06:00:00Z".to_owned(),
        ..Header::default()
    }
}

pub(super) fn warning(text: &str) -> Event {
    Event::Warning(Warning {
        kind: WarningKind::Noise,
        text: text.to_owned(),
    })
}

/// A disk that accepts `room` bytes and then fails like a full one, in the middle of a line.
#[derive(Clone)]
pub(super) struct Disk {
    room: usize,
    written: Arc<Mutex<Vec<u8>>>,
    /// A test that holds this lock stalls the disk.
    gate: Arc<Mutex<()>>,
}

impl Disk {
    pub(super) fn with_room(room: usize) -> Disk {
        Disk {
            room,
            written: Arc::default(),
            gate: Arc::default(),
        }
    }

    pub(super) fn content(&self) -> Vec<u8> {
        self.written.lock().unwrap().clone()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _gate = self.gate.lock().unwrap();
        let mut written = self.written.lock().unwrap();
        let taken = bytes.len().min(self.room - written.len());
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        written.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for Disk {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn texts(bytes: &[u8]) -> (Vec<Event>, bool) {
    let mut reader = Reader::new(bytes).unwrap();
    let events = reader.by_ref().map(|entry| entry.unwrap().event).collect();
    (events, reader.is_truncated())
}

#[test]
fn a_record_is_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    fs::write(&path, "mine").unwrap();
    let error = Journal::create(&path, &header(), Clock::start())
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, WriteError::Exists(_)), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn what_was_reported_is_on_disk_before_the_journal_is_finished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    let (journal, end) = Journal::create(&path, &header(), Clock::start()).unwrap();
    journal.write_at(7, warning("seen"));
    while open(&path).unwrap().count() == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    end.finish().unwrap();
    let entries: Vec<Entry> = open(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        entries,
        [Entry {
            at: 7,
            event: warning("seen")
        }]
    );
}

#[test]
fn two_producers_interleave_whole_lines_in_their_own_order() {
    let disk = Disk::with_room(usize::MAX);
    let (journal, end) =
        Journal::with_storage(disk.clone(), &header(), Clock::start(), Duration::from_secs(60)).unwrap();
    thread::scope(|scope| {
        for producer in ["a", "b"] {
            let journal = journal.clone();
            scope.spawn(move || {
                for at in 0..5_000 {
                    journal.write_at(at, warning(producer));
                }
            });
        }
    });
    end.finish().unwrap();
    journal.write(warning("after the end"));
    let bytes = disk.content();
    for producer in ["a", "b"] {
        let entries = Reader::new(&bytes[..]).unwrap().map(Result::unwrap);
        let times: Vec<u64> = entries
            .filter(|entry| entry.event == warning(producer))
            .map(|entry| entry.at)
            .collect();
        assert_eq!(times, (0..5_000).collect::<Vec<u64>>());
    }
}

#[test]
fn a_full_disk_ends_the_journal_and_leaves_it_readable() {
    let head = serde_json::to_vec(&header()).unwrap().len() + 1;
    let line = serde_json::to_vec(&Entry {
        at: 10,
        event: warning("w"),
    })
    .unwrap()
    .len()
        + 1;
    for extra in 0..line {
        let disk = Disk::with_room(head + 3 * line + extra);
        let (journal, end) =
            Journal::with_storage(disk.clone(), &header(), Clock::start(), Duration::from_secs(60)).unwrap();
        for at in 10..20 {
            journal.write_at(at, warning("w"));
        }
        while !journal.failed() {
            thread::yield_now();
        }
        let error = end.finish().unwrap_err();
        assert!(matches!(error, WriteError::Disk(_)), "{error}");
        let (events, truncated) = texts(&disk.content());
        assert_eq!(truncated, extra > 0);
        assert_eq!(events.len(), if extra == line - 1 { 4 } else { 3 });
    }
}

#[test]
fn a_header_that_finds_no_room_is_an_error_at_once() {
    let error = Journal::with_storage(Disk::with_room(10), &header(), Clock::start(), Duration::ZERO)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, WriteError::Disk(_)), "{error}");
}

#[test]
fn a_disk_that_stands_still_fails_the_journal_instead_of_filling_memory() {
    let disk = Disk::with_room(usize::MAX);
    let (journal, end) =
        Journal::with_storage(disk.clone(), &header(), Clock::start(), Duration::from_millis(1)).unwrap();
    let gate = disk.gate.lock().unwrap();
    let long = "x".repeat(1 << 20);
    // More than fits the queue and the write in progress.
    for _ in 0..12 {
        journal.write(warning(&long));
    }
    assert!(journal.failed());
    drop(gate);
    assert!(matches!(end.finish(), Err(WriteError::Stalled)));
}

#[test]
fn a_number_that_json_cannot_say_is_refused() {
    for number in [f64::NAN, f64::INFINITY] {
        let mut header = header();
        header.host.load = Some(number);
        let error = Journal::with_storage(Disk::with_room(9_999), &header, Clock::start(), Duration::ZERO).map(|_| ());
        assert!(matches!(error, Err(WriteError::Unwritable(_))));
    }
}

#[test]
fn a_record_cut_at_any_byte_of_its_last_line_gives_all_lines_before_it() {
    let mut bytes = serde_json::to_vec(&header()).unwrap();
    bytes.push(b'\n');
    for text in ["one", "two"] {
        serde_json::to_writer(
            &mut bytes,
            &Entry {
                at: 1,
                event: warning(text),
            },
        )
        .unwrap();
        bytes.push(b'\n');
    }
    assert_eq!(texts(&bytes), (vec![warning("one"), warning("two")], false));
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    assert_eq!(texts(&bytes[..last]), (vec![warning("one")], false));
    for end in last + 1..bytes.len() - 1 {
        assert_eq!(texts(&bytes[..end]), (vec![warning("one")], true), "cut at {end}");
    }
    assert_eq!(
        texts(&bytes[..bytes.len() - 1]),
        (vec![warning("one"), warning("two")], true)
    );
}

#[test]
fn a_record_cut_inside_its_header_is_none() {
    let bytes = serde_json::to_vec(&header()).unwrap();
    for end in 0..bytes.len() {
        assert!(
            matches!(Reader::new(&bytes[..end]), Err(ReadError::NoHeader(_))),
            "cut at {end}"
        );
    }
}

fn with_version(version: Version, lines: &str) -> Vec<u8> {
    let header = Header {
        format: version,
        ..header()
    };
    format!("{}\n{lines}", serde_json::to_string(&header).unwrap()).into_bytes()
}

#[test]
fn a_newer_minor_version_is_read_without_what_is_not_known() {
    let version = Version {
        major: FORMAT.major,
        minor: FORMAT.minor + 1,
    };
    let lines = concat!(
        "{\"at\":1,\"event\":{\"eclipse\":{\"of\":\"the sun\"}}}\n",
        "{\"at\":2,\"cpu\":3,\"event\":{\"registered\":{\"method\":\"m\",\"scope\":\"all\"}}}\n",
        "{\"at\":3,\"event\":{\"late\":{\"missed\":1,\"late\":2,\"why\":{}}}}\n",
    );
    let bytes = with_version(version, lines);
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let times: Vec<u64> = reader.by_ref().map(|entry| entry.unwrap().at).collect();
    assert_eq!((times, reader.unknown_entries().count), (vec![2, 3], 1));
}

#[test]
fn in_our_own_version_too_an_unknown_event_is_left_out() {
    let bytes = with_version(
        FORMAT,
        "{\"at\":1,\"event\":{\"eclipse\":{}}}\n{\"at\":2,\"event\":{\"ended\":\"completed\"}}\n",
    );
    let mut reader = Reader::new(&bytes[..]).unwrap();
    let events: Vec<Event> = reader.by_ref().map(|entry| entry.unwrap().event).collect();
    assert_eq!(events, [Event::Ended(Ending::Completed)]);
    assert_eq!(
        (reader.unknown_entries().first.as_slice(), reader.damaged().count),
        (&[2][..], 0)
    );
}

#[test]
fn a_bad_line_in_the_middle_is_left_out_and_its_number_is_known() {
    let good = "{\"at\":7,\"event\":{\"ended\":\"completed\"}}\n";
    let long = "x".repeat((64 << 20) + 10);
    for bad in [
        "",
        "\0\0\0\0",
        "{\"at\":1,\"event\":{\"ended\":\"comp",
        "\u{1f4a5}",
        "[]",
        "{\"at\":-1}",
        &long,
    ] {
        let bytes = with_version(FORMAT, &format!("{good}{bad}\n{good}{bad}\n{good}"));
        let mut reader = Reader::new(&bytes[..]).unwrap();
        let times: Vec<u64> = reader.by_ref().map(|entry| entry.unwrap().at).collect();
        let start: String = bad.chars().take(40).collect();
        assert_eq!(times, [7, 7, 7], "{start}");
        assert_eq!(reader.damaged().first, [3, 5], "{start}");
        assert_eq!(
            (reader.unknown_entries().count, reader.is_truncated()),
            (0, false),
            "{start}"
        );
    }
}

#[test]
fn a_newer_major_version_is_refused_by_name() {
    let bytes = b"{\"format\":{\"major\":2,\"minor\":0},\"tool\":\"3.1.4\",\"everything\":\"else\"}\n";
    let error = Reader::new(&bytes[..]).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("format 2.0") && error.contains("lsp-soak 3.1.4"),
        "{error}"
    );
}

#[test]
fn a_stream_without_end_that_is_no_record_is_given_up() {
    use std::io::Read;

    for stream in [
        Box::new(std::io::repeat(0)) as Box<dyn std::io::Read>,
        Box::new(std::io::repeat(b'y')),
        Box::new(b"{".as_slice().chain(std::io::repeat(0))),
    ] {
        let error = Reader::new(std::io::BufReader::new(stream))
            .err()
            .expect("it is no record");
        assert!(matches!(error, ReadError::NoHeader(_)), "{error}");
    }
}
