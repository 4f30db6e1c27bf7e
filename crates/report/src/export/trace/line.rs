use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::export::csv::{COUNTERS, EXACT};
use record::{Counters, Nanos, Rollup};

#[derive(Clone, Copy)]
pub enum Track {
    Phases,
    Steps,
    Windows,
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

/// One event. Times are microseconds, with the decimals that nanoseconds need.
#[derive(Serialize)]
pub struct Line<'l, A = Map<String, Value>> {
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
    args: A,
}

/// Counters with new values: by far the most frequent arguments.
pub struct Changed(Vec<(&'static str, u64)>);

impl Serialize for Changed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl<'l, A> Line<'l, A> {
    fn new(name: &'l str, ph: &'static str, pid: u32, args: A) -> Line<'l, A> {
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
}

impl Line<'static, Changed> {
    pub fn counters(pid: u32, at: Nanos, changed: Changed) -> Self {
        let mut line = Line::new("process", "C", pid, changed);
        line.ts = Some(micros(at));
        line
    }
}

impl<'l> Line<'l> {
    /// The name of a process or of one of its tracks.
    pub fn name(what: &'static str, pid: u32, track: Option<Track>, name: &str) -> Line<'static> {
        let mut line = Line::new(what, "M", pid, object(json!({ "name": name })));
        line.tid = track.map(Track::number);
        line
    }

    /// Sorts the session above the processes.
    pub fn sort(pid: u32) -> Line<'static> {
        Line::new("process_sort_index", "M", pid, object(json!({ "sort_index": -1 })))
    }

    pub fn slice(
        name: &'l str,
        cat: &'static str,
        pid: u32,
        track: Track,
        (from, to): (Nanos, Nanos),
        args: Value,
    ) -> Line<'l> {
        let mut line = Line::new(name, "X", pid, object(args));
        (line.cat, line.tid) = (Some(cat), Some(track.number()));
        (line.ts, line.dur) = (Some(micros(from)), Some(micros(to.saturating_sub(from))));
        line
    }

    /// A point in time on the track of phases.
    pub fn instant(name: &'static str, pid: u32, at: Nanos, args: Value) -> Line<'static> {
        let mut line = Line::slice(name, name, pid, Track::Phases, (at, at), args);
        (line.ph, line.dur, line.s) = ("i", None, Some("t"));
        line
    }
}

/// The known values: Perfetto would show `null` as text.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// Exact to a nanosecond for three months.
fn micros(at: Nanos) -> f64 {
    at as f64 / 1_000.0
}
/// The last known counter values of a process.
#[derive(Default)]
pub struct Values {
    cheap: [Option<u64>; COUNTERS.len()],
    exact: [Option<u64>; EXACT.len()],
    pub private: Option<u64>,
}

impl Values {
    /// Updates the cheap counters and returns the changes.
    pub fn sample(&mut self, now: &Counters) -> Option<Changed> {
        self.private = now.private;
        changed(
            &mut self.cheap,
            COUNTERS.iter().map(|(name, value)| (*name, value(now))),
        )
    }

    pub fn rollup(&mut self, now: &Rollup) -> Option<Changed> {
        changed(&mut self.exact, EXACT.iter().map(|(name, value)| (*name, value(now))))
    }
}

/// Updates values and returns those that changed and are known.
fn changed(values: &mut [Option<u64>], now: impl Iterator<Item = (&'static str, Option<u64>)>) -> Option<Changed> {
    let mut changed: Vec<(&str, u64)> = Vec::new();
    for (value, (name, now)) in values.iter_mut().zip(now) {
        let before = std::mem::replace(value, now);
        if let Some(known) = now
            && now != before
        {
            changed.push((name, known));
        }
    }
    if changed.is_empty() {
        return None;
    }
    Some(Changed(changed))
}
