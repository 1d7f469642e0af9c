"""Regression from outside: baselines, `skerry compare` and `skerry diff`."""
import json
import os
import re
import unittest
import xml.etree.ElementTree

from program import ROOT, ProgramTest

BASELINE = ROOT / "results" / "baseline"
SMOKE = ROOT / "scenarios" / "smoke"
QUICK = ("link-slows", "tcp-window", "region-dark")


class Baselines(ProgramTest):
    def test_quick_smoke_scenarios_stand_and_doctored_ones_do_not(self):
        for name in QUICK:
            with self.subTest(name):
                self.skerry("run", SMOKE / f"{name}.json", "--out", f"runs/{name}", "--quiet")
                done = self.skerry("compare", BASELINE / f"{name}.json", f"runs/{name}")
                self.assertRegex(done.stdout, rf"^{name}: \d+ runs?, \d+ values: ")
                self.doctored(name)
        self.skerry("run", SMOKE / "tcp-window.json", "--out", "other", "--seed", 2, "--quiet")
        done = self.skerry("compare", BASELINE / "tcp-window.json", "other", expect=2)
        self.assertIn("other seeds: 1 against 2", done.stdout)

    def doctored(self, name):
        kept = json.loads((BASELINE / f"{name}.json").read_text(encoding="utf-8"))
        row = next(iter(kept["rows"]))
        kept["rows"][row]["seed-1"]["tokens_per_s"] *= 1 + 1e-6
        self.write("doctored.json", kept)
        done = self.skerry("compare", "doctored.json", f"runs/{name}", expect=1)
        self.assertRegex(done.stdout, r"(?m)^! tokens_per_s +\S+ +\S+ +-\S+ +rel 1e-09$")
        self.assertIn("1 moved, 1 outside its tolerance", done.stdout)

    def test_every_smoke_scenario_has_a_baseline_without_fingerprints(self):
        names = {path.name for path in BASELINE.glob("*.json")} - {"bench.json"}
        self.assertEqual(names, {path.name for path in SMOKE.glob("*.json")})
        for name in names:
            self.assertNotIn("fingerprint", (BASELINE / name).read_text(encoding="utf-8"))

    def write(self, name, tree):
        (self.folder / name).write_text(json.dumps(tree), encoding="utf-8")


class Compare(ProgramTest):
    def setUp(self):
        super().setUp()
        self.name = self.scenario(training=False)
        self.skerry("run", self.name, "--out", "runs/tiny", "--quiet")

    def write(self, name, tree):
        (self.folder / name).write_text(json.dumps(tree), encoding="utf-8")

    def test_update_writes_and_keeps_tolerances(self):
        self.skerry("compare", "b.json", "runs/tiny", expect=2)
        self.assertIn("b.json: written", self.skerry("compare", "b.json", "runs/tiny", "--update").stdout)
        kept = self.read_json("b.json")
        self.assertEqual(kept["skerry"], "baseline/1")
        self.assertEqual(kept["seeds"], [1, 2])
        self.assertEqual(sorted(kept["rows"]), ["data_parallel", "decoupled_diloco"])
        summary = self.read_json("runs/tiny/decoupled_diloco/seed-2/summary.json")
        row = kept["rows"]["decoupled_diloco"]["seed-2"]
        self.assertEqual(row["goodput"], summary["goodput"])
        self.assertEqual(row["chip_seconds.lost.down"], summary["chip_seconds"]["lost"]["down"])
        kept["tolerances"] = {"goodput": {"absolute": 0.5}}
        row["goodput"] += 0.25
        self.write("b.json", kept)
        self.assertIn("1 moved, 0 outside", self.skerry("compare", "b.json", "runs/tiny").stdout)
        self.assertIn("rewritten", self.skerry("compare", "b.json", "runs/tiny", "--update").stdout)
        again = self.read_json("b.json")
        self.assertEqual(again["rows"]["decoupled_diloco"]["seed-2"]["goodput"], summary["goodput"])
        self.assertEqual(again["tolerances"], kept["tolerances"])
        self.assertIn("stands as it is", self.skerry("compare", "b.json", "runs/tiny", "--update").stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["b.json", "runs", "tiny.json"])

    def test_junit_overwrites_files_alone(self):
        (self.folder / "link").symlink_to("elsewhere")
        os.mkfifo(self.folder / "pipe")
        for place in ("link", "pipe", "runs"):
            done = self.skerry("compare", "runs/tiny", "runs/tiny", "--junit", place, expect=2)
            self.assertIn("is no regular file", done.stderr)
        self.assertTrue((self.folder / "link").is_symlink())
        done = self.skerry("compare", "runs/tiny", "runs/tiny", "--junit", "/dev/stdout")
        self.assertIn("<testsuite ", done.stdout)
        (self.folder / "j.xml").write_text("old", encoding="utf-8")
        self.skerry("compare", "runs/tiny", "runs/tiny", "--junit", "j.xml")
        self.assertIn("<testsuite ", (self.folder / "j.xml").read_text(encoding="utf-8"))

    def test_json(self):
        self.skerry("compare", "b.json", "runs/tiny", "--update")
        kept = self.read_json("b.json")
        kept["rows"]["data_parallel"]["seed-1"]["goodput"] *= 2
        self.write("b.json", kept)
        said = json.loads(self.skerry("compare", "b.json", "runs/tiny", "--json", expect=1).stdout)
        self.assertEqual(said["skerry"], "compare/1")
        (one,) = said["comparisons"]
        self.assertEqual((one["verdict"], one["outside"], one["differs"]), ("outside", 1, []))
        (moved,) = one["moved"]
        self.assertEqual((moved["row"], moved["seed"], moved["metric"]), ("data_parallel", 1, "goodput"))
        self.assertEqual(moved["old"], 2 * moved["new"])
        said = json.loads(self.skerry("diff", "b.json", "runs/tiny", "--json").stdout)
        self.assertIsNone(said["inputs"])
        (row,) = said["rows"]
        self.assertEqual(row["seeds"], [1, 2])
        self.assertEqual([m["metric"] for m in row["metrics"]], ["goodput"])
        self.assertEqual(row["metrics"][0]["n"], 2)
        self.skerry("compare", "b.json", "runs/tiny", "--json", "--update", expect=2)

    def test_a_folder_is_updated_whole_or_not_at_all(self):
        self.skerry("run", self.scenario("second", training=False, seeds=1), "--out", "runs/second", "--quiet")
        (self.folder / "base").mkdir()
        self.write("base/tiny.json", {"skerry": "novel/1"})  # the later of the two
        self.skerry("compare", "base", "runs", "--update", expect=2)
        self.assertEqual([path.name for path in (self.folder / "base").iterdir()], ["tiny.json"])

    def test_update_leaves_alone_what_is_no_baseline(self):
        before = (self.folder / self.name).read_bytes()
        self.skerry("compare", self.name, "runs/tiny", "--update", expect=2)
        self.assertEqual((self.folder / self.name).read_bytes(), before)
        self.skerry("compare", "runs/tiny", "runs/tiny", "--update", expect=2)
        self.skerry("compare", "b.json", "runs/tiny", "--update", "--junit", "j.xml", expect=2)

    def test_tolerances_from_a_file(self):
        self.skerry("compare", "b.json", "runs/tiny", "--update")
        kept = self.read_json("b.json")
        for seed in ("seed-1", "seed-2"):
            kept["rows"]["data_parallel"][seed]["goodput"] *= 1.05
        self.write("b.json", kept)
        self.skerry("compare", "b.json", "runs/tiny", expect=1)
        for text, code in (({"goodput": {"relative": 0.1}}, 0), ({"good*": {"absolute": 1e-6}}, 1),
                           ({"goodputt": "exact"}, 2), ({"goodput": "about"}, 2)):
            self.write("t.json", text)
            done = self.skerry("compare", "b.json", "runs/tiny", "--tolerances", "t.json", expect=code)
            if code == 2:
                self.assertIn("goodput", done.stderr)

    def test_missing_metric_other_inputs_other_schema(self):
        self.skerry("compare", "b.json", "runs/tiny", "--update")
        kept = self.read_json("b.json")
        del kept["rows"]["data_parallel"]["seed-1"]["uptime"]
        self.write("less.json", kept)
        done = self.skerry("compare", "less.json", "runs/tiny", expect=2)
        self.assertIn("uptime is only in the result (1 run)", done.stdout)
        self.skerry("run", self.name, "--out", "faster", "--set", "/islands/west/step_s=6", "--quiet")
        done = self.skerry("compare", "b.json", "faster", expect=2)
        self.assertIn("the inputs changed", done.stdout)
        done = self.skerry("compare", "runs/tiny", "faster", expect=2)
        self.assertIn("/islands/west/step_s: 7.0 against 6.0", done.stdout)
        kept["skerry"] = "baseline/2"
        self.write("newer.json", kept)
        self.assertIn("baseline/1", self.skerry("compare", "newer.json", "runs/tiny", expect=2).stderr)

    def test_folders_and_junit(self):
        self.skerry("run", self.scenario("second", training=False, seeds=1), "--out", "runs/second", "--quiet")
        (self.folder / "base").mkdir()
        self.skerry("compare", "base", "runs", "--update")
        self.write("base/bench.json", {"skerry": "bench/1"})
        done = self.skerry("compare", "base", "runs", "--junit", "j.xml")
        self.assertIn("2 baselines: 2 inside, 0 outside, 0 not comparable", done.stdout)
        kept = self.read_json("base/second.json")
        kept["rows"]["data_parallel"]["seed-1"]["learner_steps"] += 1
        self.write("base/second.json", kept)
        done = self.skerry("compare", "base", "runs", "--junit", "j.xml", expect=1)
        self.assertIn("1 inside, 1 outside", done.stdout)
        suites = xml.etree.ElementTree.parse(self.folder / "j.xml").getroot()
        self.assertEqual([suite.get("failures") for suite in suites], ["1", "0"])
        self.assertEqual(suites[0][0].get("name"), "second/data_parallel/seed-1")
        kept["scenario"] = "third"
        self.write("base/third.json", kept)
        done = self.skerry("compare", "base", "runs", "--junit", "j.xml", expect=2)
        self.assertIn("no result of third", done.stdout)
        self.write("base/odd.json", {"skerry": "novel/1"})
        self.skerry("compare", "base", "runs", expect=2)
        self.skerry("compare", "base", "runs/tiny", expect=2)

    def test_sweep_folders(self):
        study = {"skerry": "sweep/1", "scenario": "tiny.json",
                 "axes": {"step": {"at": "/islands/west/step_s", "values": [6, 7]}}}
        self.write("study.sweep.json", study)
        self.skerry("sweep", "study.sweep.json", "--out", "whole", "--quiet")
        for shard in ("2/2", "1/2"):
            self.skerry("sweep", "study.sweep.json", "--out", "parts", "--quiet", "--shard", shard)
        self.assertEqual(self.skerry("diff", "whole", "parts").stdout, "nothing differs\n")
        self.assertIn("study: 8 runs, ", self.skerry("compare", "whole", "parts").stdout)
        self.skerry("compare", "b.json", "whole", "--update")
        kept = self.read_json("b.json")
        self.assertEqual(sorted(kept["rows"]), [f"step={step} {protocol}" for step in (6, 7)
                                                for protocol in ("data_parallel", "decoupled_diloco")])
        kept["rows"]["step=7 data_parallel"]["seed-2"]["goodput"] /= 2
        self.write("b.json", kept)
        done = self.skerry("compare", "b.json", "parts", expect=1)
        self.assertIn("step=7 data_parallel/seed-2", done.stdout)
        study["axes"]["step"]["values"] = [6, 8]
        self.write("study.sweep.json", study)
        self.skerry("sweep", "study.sweep.json", "--out", "other", "--quiet")
        done = self.skerry("compare", "whole", "other", expect=2)
        self.assertIn("/axes/step/values/1: 7 against 8", done.stdout)
        self.assertIn("/axes/step/values/1: 7, 8", self.skerry("diff", "whole", "other").stdout)

    def study(self, values, **changes):
        document = {"skerry": "sweep/1", "scenario": "tiny.json", "seeds": 1,
                    "axes": {"H": {"at": "/protocols/decoupled_diloco/sync_period_steps", "values": values}},
                    **changes}
        self.write("study.sweep.json", document)
        return document

    def test_points_of_an_earlier_design_are_not_compared(self):
        self.study([12, 24])
        self.skerry("sweep", "study.sweep.json", "--out", "whole", "--quiet")
        for values in ([12, 24, 48], [12, 24]):  # grown, then shrunk
            self.study(values)
            self.skerry("sweep", "study.sweep.json", "--out", "moved", "--quiet")
        done = self.skerry("compare", "whole", "moved")
        self.assertIn("study: 4 runs, ", done.stdout)
        self.assertEqual(self.skerry("diff", "whole", "moved").stdout, "nothing differs\n")
        self.scenario(training=False, stop={"tokens": 4e7, "max_simulated_h": 24})  # the base of the study
        self.skerry("sweep", "study.sweep.json", "--out", "moved", "--quiet")
        self.assertIn("nothing moved", self.skerry("compare", "moved", "moved").stdout)

    def test_a_point_that_stands_in_several_combinations_has_all_their_names(self):
        self.study([12, 24])
        self.skerry("sweep", "study.sweep.json", "--out", "whole", "--quiet")
        self.study([24])
        self.skerry("sweep", "study.sweep.json", "--out", "other", "--quiet")
        self.study([12, 24])
        self.skerry("sweep", "study.sweep.json", "--out", "other", "--quiet")
        self.assertIn("study: 4 runs, ", self.skerry("compare", "whole", "other").stdout)
        manifest = self.read_json("other", "manifest.json")
        self.write("other/manifest.json", {**manifest, "ended": None})
        self.assertIn("still running or was killed", self.skerry("compare", "whole", "other", expect=2).stderr)

    def test_diff_names_inputs_before_numbers_and_pairs_by_seed(self):
        self.assertEqual(self.skerry("diff", "runs/tiny", "runs/tiny").stdout, "nothing differs\n")
        self.skerry("run", self.name, "--out", "faster", "--set", "/islands/west/step_s=6", "--quiet")
        done = self.skerry("diff", "runs/tiny", "faster")
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertIn("input /islands/west/step_s: 7.0, 6.0", lines)
        self.assertIn("decoupled_diloco (n = 2)", lines)
        changes = [float(found) for found in re.findall(r"([+-][\d.e+-]+) %$", done.stdout.split(
            "decoupled_diloco (n = 2)")[1], re.MULTILINE)]
        self.assertGreater(len(changes), 3)
        sizes = [abs(change) for change in changes]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.skerry("diff", "runs/tiny", "nowhere", expect=2)
        self.skerry("diff", "runs", "runs/tiny", expect=2)


if __name__ == "__main__":
    unittest.main()
