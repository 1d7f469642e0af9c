"""skerry timeline: trace events whose structure and sums can be checked."""
import bisect
import json
import math
import os
import pathlib
import shutil
import subprocess
import unittest

from program import PROGRAM, ProgramTest

SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"

SCENARIO = {
    "skerry": "scenario/1",
    "stop": {"tokens": 4e5},
    "regions": {"east": {"port_gbps": 1}, "west": {"port_gbps": 1}},
    "links": {"east<>west": {"latency_one_way_ms": 20}},
    "islands": {"e": {"region": "east", "count": 2, "chips": 8, "slices": 2, "step_s": 10},
                "w": {"region": "west", "chips": 8, "slices": 2, "step_s": 11}},
    "charged_model": {"parameters": 5e8, "layers": 8, "tokens_per_learner_step": 1000},
    "protocols": {"data_parallel_elastic": {},
                  "streaming_diloco": {"sync_period_steps": 8, "anatomy": "layers", "fragments": 8},
                  "decoupled_diloco": {"sync_period_steps": 8, "in_flight": 2}},
    "faults": {"dark": {"kind": "island_down", "target": "w.1", "at_s": 300, "for_s": 60},
               "slow": {"kind": "straggler", "target": "e.1", "at_s": 100, "for_s": 200, "factor": 1.5}},
    "training": False}


class Timeline(ProgramTest):
    def run_folder(self):
        (self.folder / "s.json").write_text(json.dumps(SCENARIO), encoding="utf-8")
        self.skerry("run", "s.json", "--out", "out", "--quiet")
        return "out"

    def timeline(self, row, *words):
        self.skerry("timeline", "out", "--protocol", row, "--out", "t.json", *words)
        return json.loads((self.folder / "t.json").read_text(encoding="utf-8"))

    def check_structure(self, trace):
        events = trace["traceEvents"]
        dated = [event for event in events if "ts" in event]
        self.assertEqual([e["ts"] for e in dated], sorted(e["ts"] for e in dated))
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        tracks = {}
        for event in dated:
            if event["ph"] == "X":
                tracks.setdefault((event["pid"], event["tid"]), []).append(event)
        self.assertLessEqual(set(tracks), named)
        for track, slices in tracks.items():
            for before, after in zip(slices, slices[1:]):   # in order and without overlap
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 0.01, track)
        arrows = {}
        dates = {track: [s["ts"] for s in slices] for track, slices in tracks.items()}
        for event in dated:
            if event["ph"] in "stf":
                arrows.setdefault(event["id"], []).append(event)
                track = event["pid"], event["tid"]
                last = bisect.bisect_right(dates[track], event["ts"] + 0.01)
                # One that ends here, and one that begins here.
                inside = [s for s in tracks[track][max(0, last - 3):last]
                          if event["ts"] <= s["ts"] + s["dur"] + 0.01]
                self.assertTrue(inside, event)
        for steps in arrows.values():
            self.assertEqual([e["ph"] for e in steps][0], "s")
            self.assertEqual([e["ph"] for e in steps][-1], "f")
        return tracks, arrows

    def test_every_row_and_its_sums(self):
        self.run_folder()
        for row in SCENARIO["protocols"]:
            with self.subTest(row):
                summary = json.loads((self.folder / "out" / row / "seed-1" / "summary.json")
                                     .read_text(encoding="utf-8"))
                sums = []
                for level in ("faults", "syncs", "steps", "transfers"):
                    trace = self.timeline(row, "--level", level)
                    tracks, arrows = self.check_structure(trace)
                    slices = [s for of in tracks.values() for s in of]
                    self.assertEqual(bool(arrows), row.endswith("diloco") and level != "faults")
                    sums.append(sum(s["args"]["compute_s"] * s["args"].get("n", 1)
                                    for s in slices if "compute_s" in s["args"]))
                    seconds = sum(s["args"]["seconds"] for s in slices
                                  if s["name"] == "exposed_communication")
                    self.assertAlmostEqual(
                        8 * (seconds + sum(s["args"]["exposed_s"] * s["args"].get("n", 1)
                                           for s in slices if "exposed_s" in s["args"])),
                        summary["chip_seconds"]["lost"]["exposed_communication"], delta=1e-6)
                self.assertLess(max(sums) - min(sums), 1e-6)
                instants = [e for e in trace["traceEvents"] if e["ph"] == "i"]
                self.assertEqual(len(instants), summary["faults"]["planned"])
                names = {e["name"] for e in trace["traceEvents"] if e["ph"] == "C"}
                self.assertIn("chips stepping", names)
                self.assertIn("east>west", names)

    # ------------------------------------------------------------------ bytes on links

    def counters(self, trace):
        found = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "C" and ">" in event["name"]:
                found.setdefault(event["name"], []).append((event["ts"] / 1e6, event["args"]["gbps"]))
        return found

    def check_links(self, folder, row):
        """Every link's counter over time is the summary's bytes; nothing beats a port. → its trace"""
        summary = self.read_json(folder, row, "seed-1", "summary.json")
        self.skerry("timeline", folder, "--protocol", row, "--out", "t.json")
        trace = self.read_json("t.json")
        counters = self.counters(trace)
        moved_by = {name: of["bytes"] for name, of in summary["wan"]["links"].items() if ">" in name}
        self.assertLessEqual(set(counters), set(moved_by))
        for link, bytes_of in moved_by.items():
            steps = counters.get(link, [])
            # GB/s = Gbit/s / 8; the last value is 0, at the end.
            moved = sum(gbps / 8 * (after - t) for (t, gbps), (after, _) in zip(steps, steps[1:])) * 1e9
            self.assertAlmostEqual(moved, bytes_of, delta=1e-6 * bytes_of + 1, msg=f"{row} {link}")
            if steps:
                self.assertEqual(steps[-1][1], 0)
        self.check_ports(folder, trace, counters)
        return trace

    def check_ports(self, folder, trace, counters):
        regions = self.read_json(folder, "scenario.resolved.json")["regions"]
        ports = {name: [of.get(side, of.get("port_gbps", math.inf)) for side in ("up_gbps", "down_gbps")]
                 for name, of in regions.items()}
        for side in (0, 1):   # sums over the links of a port, at every date at which one changes
            for name, port in ports.items():
                changes = []
                for steps in (of for link, of in counters.items() if link.split(">")[side] == name):
                    before = 0
                    for t, gbps in steps:
                        changes.append((t, gbps - before))
                        before = gbps
                dates, rate = {}, 0
                for t, more in changes:
                    dates[t] = dates.get(t, 0) + more
                for t in sorted(dates):
                    rate += dates[t]
                    self.assertLessEqual(rate, port[side] * (1 + 1e-6), (name, side, t))
        processes = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
        tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"]
                  if e["name"] == "thread_name"}
        for event in trace["traceEvents"]:
            if "mean_gbps" in event.get("args", {}):
                to = tracks[event["pid"], event["tid"]].removeprefix("to ").split(",")[0]
                most = min(ports[processes[event["pid"]]][0], ports[to][1])
                self.assertLessEqual(event["args"]["mean_gbps"], most * (1 + 1e-6), event)

    def no_exchange_of(self, trace, region, from_s, until_s):
        processes = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
        for event in trace["traceEvents"]:
            if event["ph"] != "X" or "bytes" not in event["args"]:
                continue
            if processes[event["pid"]] == region:
                outside = (event["ts"] + event["dur"] <= from_s * 1e6 or event["ts"] >= until_s * 1e6)
                self.assertTrue(outside, event)

    def test_links_of_a_dark_region(self):
        self.skerry("run", SCENARIOS / "smoke" / "region-dark.json", "--out", "dark", "--quiet")
        trace = self.check_links("dark", "decoupled_diloco")
        self.no_exchange_of(trace, "us-central1", 1200, 1800)
        counters = self.counters(trace)
        # 12e9 x 2 bytes in 24 fragments of 1 GB: 2 (3-1)/3 x 1 GB of each of the 60 merges goes around the
        # dark region. And only then.
        bypass = [(t, gbps) for t, gbps in counters["us-west1>us-south1"] if gbps > 0]
        self.assertGreaterEqual(bypass[0][0], 1195)
        self.assertLessEqual(bypass[-1][0], 1800)
        for link, steps in counters.items():
            if "us-central1" in link:
                self.assertFalse([t for t, gbps in steps if gbps > 0 and 1200 <= t < 1800], link)
        # 3 x 24 GB of state, 24 GB of fragments missed, both from the nearest region; the second has no date.
        self.assertIn("us-south1>us-central1 24.000", trace["otherData"]["about"])
        self.check_links("dark", "data_parallel")

    def test_links_of_the_main_scenario(self):
        self.skerry("run", SCENARIOS / "four-us-regions.json", "--no-train", "--seeds", 1, "--out", "main",
                    "--quiet", "--set", "/stop={\"simulated_h\": 12}")
        rows = sorted(p.parent.parent.name for p in (self.folder / "main").glob("*/seed-1/summary.json"))
        self.assertIn("decoupled_diloco", rows)
        for row in rows:
            with self.subTest(row):
                self.check_structure(self.check_links("main", row))

    def test_links_when_islands_come_and_go(self):
        self.run_folder()
        for row in SCENARIO["protocols"]:
            with self.subTest(row):
                self.check_links("out", row)

    def test_a_window_of_the_links(self):
        self.run_folder()
        whole = self.counters(self.check_links("out", "streaming_diloco"))
        part = self.counters(self.timeline("streaming_diloco", "--from", 100, "--until", 200))
        self.assertEqual(set(part), set(whole))
        for steps in part.values():
            self.assertTrue(all(100 <= t <= 200 for t, _ in steps))
            self.assertTrue(any(gbps > 0 for _, gbps in steps))

    # ------------------------------------------------------------------ folders and files

    def test_a_tape_of_another_row(self):
        self.run_folder()
        shutil.copy(self.folder / "out" / "data_parallel_elastic" / "seed-1" / "tape.jsonl",
                    self.folder / "out" / "streaming_diloco" / "seed-1" / "tape.jsonl")
        message = ("out/streaming_diloco/seed-1/tape.jsonl: is the tape of data_parallel_elastic, seed 1, "
                   "and stands for streaming_diloco, seed 1")
        for words in (["timeline", "out", "--protocol", "streaming_diloco"],
                      ["export", "out", "--format", "tensorboard"]):
            self.assertIn(message, self.skerry(*words, expect=2).stderr)

    def test_a_tape_of_another_scenario(self):
        self.run_folder()
        path = self.folder / "out" / "streaming_diloco" / "seed-1" / "tape.jsonl"
        text = path.read_text(encoding="utf-8")
        own = json.loads(text.split("\n", 1)[0])["scenario_hash"]
        path.write_text(text.replace(own, "deadbeef", 1), encoding="utf-8")
        message = f"tape.jsonl: is the tape of a run of scenario deadbeef, and stands in a folder of {own}"
        for words in (["timeline", "out", "--protocol", "streaming_diloco"],
                      ["train", "out", "--set", "/training=quick", "--set", "/training/warm_start_steps=0", "--out", "t"]):
            self.assertIn(message, self.skerry(*words, expect=2).stderr)

    def test_a_folder_that_cannot_be_written(self):
        self.run_folder()
        (self.folder / "file").write_text("", encoding="utf-8")
        place = ["--out", "file/below"]
        for words in (["timeline", "out", "--protocol", "streaming_diloco", *place],
                      ["export", "out", "--format", "tensorboard", *place],
                      ["export", "out", "--format", "openmetrics", *place]):
            error = self.skerry(*words, expect=2).stderr
            self.assertIn("file/below", error)
            self.assertIn("cannot be written: Not a directory", error)

    @unittest.skipIf(os.geteuid() == 0 and shutil.which("setpriv") is None, "needs another user")
    def test_a_read_only_run(self):
        self.run_folder()
        self.folder.chmod(0o755)
        for path in [self.folder / "out", *(self.folder / "out").rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        program = self.folder / "skerry"
        shutil.copy(PROGRAM, program)
        other = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        for words in (["timeline", "out", "--protocol", "streaming_diloco"],
                      ["export", "out", "--format", "tensorboard"]):
            done = subprocess.run([*other, program, *words], cwd=self.folder, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=300, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("cannot be written: Permission denied", done.stderr)
        for path in [self.folder / "out", *(self.folder / "out").rglob("*")]:
            path.chmod(0o755)

    def test_an_output_that_is_full(self):
        self.run_folder()
        for words in (["show", "out"], ["export", "out", "--format", "openmetrics"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("standard output cannot be written", done.stderr)

    def test_folders_that_hold_no_run(self):
        (self.folder / "empty").mkdir()
        study = {"skerry": "sweep/1", "scenario": {k: v for k, v in SCENARIO.items() if k != "faults"}, "seeds": [1],
                 "axes": {"steps": {"at": "/islands/e/step_s", "values": [10, 12]}}}
        (self.folder / "s.sweep.json").write_text(json.dumps(study), encoding="utf-8")
        self.skerry("sweep", "s.sweep.json", "--out", "study", "--quiet")
        for words in (["show"], ["timeline"], ["export", "--format", "openmetrics"]):
            for folder, message in (
                    ("empty", "empty: is no run folder: there is no manifest.json in it"),
                    ("none", "none: is no run folder: there is nothing of that name"),
                    ("study", "study: is the folder of the sweep 's', and no run folder: tools/report study")):
                error = self.skerry(words[0], folder, *words[1:], expect=2).stderr
                self.assertIn(message, error)

    def test_a_window(self):
        self.run_folder()
        trace = self.timeline("decoupled_diloco", "--from", 100, "--until", 200)
        self.check_structure(trace)
        steps = [e for e in trace["traceEvents"] if e["name"] == "step"]
        self.assertTrue(steps)
        for step in steps:
            self.assertGreaterEqual(step["ts"] + step["dur"], 100e6)
            self.assertLessEqual(step["ts"], 200e6)

    def test_bad_input(self):
        self.run_folder()
        for words, message in [
                (["timeline", "nowhere"], "nowhere: is no run folder: there is nothing of that name"),
                (["timeline", "out"], "--protocol: the run has several rows, allowed data_parallel_elastic"),
                (["timeline", "out", "--protocol", "x"], "--protocol: found 'x', allowed"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--seed", "9"], "--seed: the run has no seed 9"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--level", "all"], "--level: found 'all'"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--from", "5", "--until", "4"],
                 "--until: found 4, allowed above --from = 5"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--from", "nan"], "--from: found nan"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--until", "nan"], "--until: found nan"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--from", "1e6"],
                 "--from: found 1e+06, the run ends at ")]:
            self.assertIn(message, self.skerry(*words, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
