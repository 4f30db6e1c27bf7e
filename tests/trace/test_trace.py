"""Traces of records, opened by Perfetto and asked by SQL: every answer is what the record says."""

import collections
import json
import os
import subprocess
import tempfile
import unittest

from processor import Processor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOAK = os.environ.get("LSP_SOAK", os.path.join(ROOT, "target/release/lsp-soak"))
COUNTERS = {
    "private_bytes": "private", "resident_bytes": "resident", "high_water_bytes": "high_water", "threads": "threads",
    "minor_faults": "minor_faults", "user_ns": "user",
}
EXACT = {"proportional_bytes": "proportional", "huge_pages_bytes": "huge_pages", "unique_bytes": "unique"}


def record(name):
    return os.path.join(ROOT, f"fixtures/records/{name}.jsonl")


def said(name, form):
    made = subprocess.run([SOAK, "report", name, "--format", form], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return made.stdout


def opened(*names):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        made = subprocess.run([SOAK, "report", *names, "--format", "perfetto"], stdout=file, stderr=subprocess.DEVNULL)
        assert made.returncode in (0, 4, 130), made
        return Processor(file.name)


class Trace(unittest.TestCase):
    """One record with one process, one with a tree."""

    def each(self):
        for name in ("completed", "tree", "crashed"):
            with self.subTest(record=name), open(record(name), encoding="utf-8") as lines:
                trace = opened(record(name))
                try:
                    events = [json.loads(line) for line in lines][1:]
                    yield trace, events, json.loads(said(record(name), "json"))
                finally:
                    trace.close()

    def test_nothing_was_left_out(self):
        for trace, *_ in self.each():
            wrong = trace.rows("select name, value from stats where value > 0 and severity in ('error', 'data_loss')")
            self.assertEqual(wrong, [])

    def test_processes_have_their_ids_and_names(self):
        for trace, events, _ in self.each():
            named = {e["event"]["process"]["pid"]: e["event"]["process"]["name"] for e in events if "process" in e["event"]}
            self.assertEqual(dict(trace.rows("select pid, name from process where pid between 1 and 4194303")), named)

    def test_counters_have_every_maximum_and_last_value(self):
        for trace, events, _ in self.each():
            pids, values = {}, collections.defaultdict(list)
            for entry in events:
                event = entry["event"]
                if "process" in event:
                    pids[event["process"]["process"]] = event["process"]["pid"]
                samples = [event["sample"]] if "sample" in event else []
                rollups = [event["rollup"]] if "rollup" in event else []
                if "checkpoint" in event:
                    samples += [sample for one in event["checkpoint"]["rounds"] for sample in one]
                    rollups += event["checkpoint"]["rollups"]
                if "peak" in event:
                    samples += event["peak"]["marks"]
                for one in samples:
                    for key, field in COUNTERS.items():
                        if field in one["counters"]:
                            values[pids[one["process"]], f"process {key}"].append(one["counters"][field])
                for one in rollups:
                    for key, field in EXACT.items():
                        values[pids[one["process"]], f"process {key}"].append(one[field])
            found = trace.rows(
                "select p.pid, t.name, max(c.value), min(c.value) from counter c join process_counter_track t"
                " on c.track_id = t.id join process p using (upid) group by 1, 2")
            found = {(pid, name): (most, least) for pid, name, most, least in found}
            self.assertGreater(len(values), 6)
            for key, all_ in values.items():
                self.assertEqual(found[key], (max(all_), min(all_)), key)

    def test_phases_are_as_long_as_the_report_says(self):
        for trace, _, report in self.each():
            found = trace.rows("select name, ts, dur from slice where category = 'phase' order by ts")
            wanted = [(p["name"], p["started"], p["ended"] - p["started"]) for p in report["phases"]]
            self.assertEqual(found, wanted)

    def test_requests_are_counted_and_timed(self):
        for trace, events, _ in self.each():
            asked = [e["event"]["request"] for e in events if "request" in e["event"]]
            found = trace.rows("select name, count(*), sum(dur) from slice where category = 'request' group by 1")
            counts, times = collections.Counter(), collections.Counter()
            for one in asked:
                counts[one["method"]] += 1
                times[one["method"]] += one.get("latency", 0)
            self.assertEqual({n: (c, t) for n, c, t in found}, {n: (counts[n], times[n]) for n in counts})

    def test_steps_windows_checkpoints_and_peaks_are_there(self):
        for trace, events, report in self.each():
            count = lambda cat: trace.rows(f"select count(*) from slice where category = '{cat}'")[0][0]
            self.assertEqual(count("step"), sum("step-started" in e["event"] for e in events))
            self.assertEqual(count("checkpoint"), sum("checkpoint" in e["event"] for e in events))
            peaks = trace.rows(
                "select max(a.int_value) from slice s join args a using (arg_set_id)"
                " where s.category = 'peak' and a.key = 'args.private_bytes'")
            highest = [p["private_peak"] for p in report["phases"] if p.get("private_peak") is not None]
            self.assertEqual(peaks[0][0], max(highest))

    def test_several_records_are_one_trace(self):
        trace = opened(record("completed"), record("tree"))
        try:
            [(requests,)] = trace.rows("select count(*) from slice where category = 'request'")
            wanted = 0
            for name in ("completed", "tree"):
                with open(record(name), encoding="utf-8") as lines:
                    wanted += sum('"request":' in line for line in lines)
            self.assertEqual(requests, wanted)
            sessions = trace.rows("select name from process where pid >= 4194304 and name like '%.jsonl)%on%'")
            self.assertEqual(len(sessions), 2)
        finally:
            trace.close()


if __name__ == "__main__":
    unittest.main()
