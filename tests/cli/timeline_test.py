"""skerry timeline: trace events whose structure and sums can be checked."""
import json
import unittest

from program import ProgramTest

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
        for event in dated:
            if event["ph"] in "stf":
                arrows.setdefault(event["id"], []).append(event)
                inside = [s for s in tracks[(event["pid"], event["tid"])]
                          if s["ts"] - 0.01 <= event["ts"] <= s["ts"] + s["dur"] + 0.01]
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
                (["timeline", "nowhere"], "nowhere/manifest.json: cannot be read"),
                (["timeline", "out"], "--protocol: the run has several rows, allowed data_parallel_elastic"),
                (["timeline", "out", "--protocol", "x"], "--protocol: found 'x', allowed"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--seed", "9"], "--seed: the run has no seed 9"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--level", "all"], "--level: found 'all'"),
                (["timeline", "out", "--protocol", "decoupled_diloco", "--from", "5", "--until", "4"],
                 "--until: found 4, allowed above --from = 5")]:
            self.assertIn(message, self.skerry(*words, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
