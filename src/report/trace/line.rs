//! One event of Chrome's format.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::record::{Counters, Nanos, Rollup};

#[derive(Clone, Copy)]
pub enum Track {
    Phases,
    Steps,
    Windows,
    /// One of the lanes that requests which were under way at once need.
    Requests(u32),
}

impl Track {
    fn number(self) -> u32 {
        match self {
            Track::Phases => 1,
            Track::Steps => 2,
            Track::Windows => 3,
            Track::Requests(lane) => lane.saturating_add(10),
        }
    }

    pub fn name(self) -> String {
        match self {
            Track::Phases => "phases".to_owned(),
            Track::Steps => "steps".to_owned(),
            Track::Windows => "windows".to_owned(),
            Track::Requests(0) => "requests".to_owned(),
            Track::Requests(lane) => format!("requests, lane {}", u64::from(lane) + 1),
        }
    }
}

/// An event. Times are microseconds, as the format has them, with as many digits as nanoseconds need.
#[derive(Serialize)]
pub struct Line<'l> {
    name: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: Facts,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Facts {
    Any(Map<String, Value>),
    Counters(Box<Held>),
}

impl<'l> Line<'l> {
    fn of(name: &'l str, ph: &'static str, pid: u32, args: Facts) -> Line<'l> {
        Line {
            name,
            cat: None,
            ph,
            pid,
            tid: None,
            ts: None,
            dur: None,
            s: None,
            args,
        }
    }

    /// The name of a process, or of a row of it.
    pub fn name(what: &'static str, pid: u32, track: Option<Track>, name: &str) -> Line<'static> {
        let named = [("name".to_owned(), Value::from(name))];
        let mut line = Line::of(what, "M", pid, Facts::Any(named.into_iter().collect()));
        line.tid = track.map(Track::number);
        line
    }

    /// The session stands above the processes.
    pub fn sort(pid: u32) -> Line<'static> {
        let first = [("sort_index".to_owned(), Value::from(-1))];
        Line::of("process_sort_index", "M", pid, Facts::Any(first.into_iter().collect()))
    }

    pub fn counters(pid: u32, at: Nanos, changed: Held) -> Line<'static> {
        let mut line = Line::of("process", "C", pid, Facts::Counters(Box::new(changed)));
        line.ts = Some(micros(at));
        line
    }

    pub fn slice(
        name: &'l str,
        cat: &'static str,
        pid: u32,
        track: Track,
        (from, to): (Nanos, Nanos),
        args: Map<String, Value>,
    ) -> Line<'l> {
        let mut line = Line::of(name, "X", pid, Facts::Any(args));
        (line.cat, line.tid) = (Some(cat), Some(track.number()));
        (line.ts, line.dur) = (Some(micros(from)), Some(micros(to.saturating_sub(from))));
        line
    }

    pub fn instant(
        name: &'l str,
        cat: &'static str,
        pid: u32,
        track: Track,
        at: Nanos,
        args: Map<String, Value>,
    ) -> Line<'l> {
        let mut line = Line::slice(name, cat, pid, track, (at, at), args);
        (line.ph, line.dur, line.s) = ("i", None, Some("t"));
        line
    }
}

/// Exact to the nanosecond for three months.
fn micros(at: Nanos) -> f64 {
    at as f64 / 1_000.0
}

/// The values of a process's counters: all that are known, or those that changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Held {
    #[serde(skip_serializing_if = "Option::is_none")]
    private_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_water_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_high_water_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minor_faults: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    major_faults: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_private_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proportional_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lazy_free_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    huge_pages_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_proportional_bytes: Option<u64>,
}

/// Remembers a value; `None` where it is what it was, or not known any more.
fn changed(held: &mut Option<u64>, now: Option<u64>) -> Option<u64> {
    let before = std::mem::replace(held, now);
    now.filter(|_| now != before)
}

impl Held {
    pub fn private(&self) -> Option<u64> {
        self.private_bytes
    }

    /// Takes cheap counters: those that changed, if any did.
    pub fn sample(&mut self, now: &Counters) -> Option<Held> {
        let changed = Held {
            private_bytes: changed(&mut self.private_bytes, now.private),
            resident_bytes: changed(&mut self.resident_bytes, now.resident),
            file_bytes: changed(&mut self.file_bytes, now.file),
            shared_bytes: changed(&mut self.shared_bytes, now.shared),
            swap_bytes: changed(&mut self.swap_bytes, now.swap),
            high_water_bytes: changed(&mut self.high_water_bytes, now.high_water),
            private_high_water_bytes: changed(&mut self.private_high_water_bytes, now.private_high_water),
            virtual_bytes: changed(&mut self.virtual_bytes, now.virtual_size),
            minor_faults: changed(&mut self.minor_faults, now.minor_faults),
            major_faults: changed(&mut self.major_faults, now.major_faults),
            user_ns: changed(&mut self.user_ns, now.user),
            system_ns: changed(&mut self.system_ns, now.system),
            threads: changed(&mut self.threads, now.threads),
            ..Held::default()
        };
        (changed != Held::default()).then_some(changed)
    }

    pub fn rollup(&mut self, now: &Rollup) -> Option<Held> {
        let changed = Held {
            exact_private_bytes: changed(&mut self.exact_private_bytes, now.private()),
            proportional_bytes: changed(&mut self.proportional_bytes, Some(now.proportional)),
            unique_bytes: changed(&mut self.unique_bytes, Some(now.unique)),
            lazy_free_bytes: changed(&mut self.lazy_free_bytes, Some(now.lazy_free)),
            huge_pages_bytes: changed(&mut self.huge_pages_bytes, Some(now.huge_pages)),
            swap_proportional_bytes: changed(&mut self.swap_proportional_bytes, Some(now.swap_proportional)),
            ..Held::default()
        };
        (changed != Held::default()).then_some(changed)
    }
}
