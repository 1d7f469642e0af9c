"""tools/skerry.py from outside. Where pandas is not installed, tables are lists of dicts and its part is left out."""
import importlib.util
import json
import os
import pathlib
import unittest

from program import PROGRAM, ROOT, TINY, ProgramTest

PATH = ROOT / "tools" / "skerry.py"


def module():
    """The module anew: it must need nothing but its file."""
    spec = importlib.util.spec_from_file_location("skerry", PATH)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Module(ProgramTest):
    def setUp(self):
        super().setUp()
        self.skerry_module = module()
        here = pathlib.Path.cwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def run_tiny(self, *words, **named):
        named.setdefault("train", False)
        return self.skerry_module.run(dict(TINY), *words, program=PROGRAM, **named)

    def test_a_dict_gives_table_comparison_summaries_and_tape(self):
        run = self.run_tiny(seeds=3, out="r")
        self.assertEqual(run.exit_code, 0)
        self.assertEqual([(one["protocol"], one["seed"]) for one in run.summaries],
                         [(protocol, seed) for protocol in TINY["protocols"] for seed in (1, 2, 3)])
        self.assertEqual(run.comparison["seeds"], [1, 2, 3])
        self.assertEqual(run.scenario["islands"]["west"]["chips"], 32)
        facts = run.tape("decoupled_diloco", 2)
        lines = (self.folder / "r/decoupled_diloco/seed-2/tape.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual(facts, [json.loads(line) for line in lines])
        with self.assertRaises(self.skerry_module.SkerryError):
            run.tape("decoupled_diloco", 4)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r"])

    def test_rows_of_the_table_are_numbers_without_pandas(self):
        run = self.run_tiny(out="r")
        self.skerry_module.pandas = None
        rows = run.table
        self.assertEqual(len(rows), 4)
        for row, summary in zip(rows, run.summaries):
            self.assertEqual(row["goodput"], summary["goodput"])
            self.assertEqual(row["seed"], summary["seed"])
            self.assertEqual(row["status"], "ok")
            self.assertIsNone(row["loss.final"])
            self.assertEqual(row["hash"], run.manifest["hash"])

    def test_table_is_a_frame_with_pandas(self):
        if self.skerry_module.pandas is None:
            self.skipTest("pandas is not installed (Debian: python3-pandas)")
        run = self.run_tiny(out="r")
        means = run.table.groupby("protocol")["goodput"].mean()
        for protocol in TINY["protocols"]:
            values = [one["goodput"] for one in run.summaries if one["protocol"] == protocol]
            self.assertAlmostEqual(means[protocol], sum(values) / 2, delta=1e-12)
        self.assertEqual(list(run.table["hash"].unique()), [run.manifest["hash"]])

    def test_settings_seeds_and_protocols_reach_the_program(self):
        run = self.run_tiny({"/islands/west/step_s": 6, "/protocols/decoupled_diloco/quorum": 2}, seeds=[5],
                            out="r", protocols=["decoupled_diloco"])
        self.assertEqual([(one["protocol"], one["seed"]) for one in run.summaries], [("decoupled_diloco", 5)])
        self.assertEqual(run.scenario["islands"]["west"]["step_s"], 6)
        self.assertEqual(run.scenario["protocols"]["decoupled_diloco"]["quorum"], 2)

    def test_a_path_the_default_folder_and_load(self):
        name = self.scenario(training=False)
        run = self.skerry_module.run(name, program=PROGRAM)
        self.assertRegex(str(run.folder), r"^results/runs/tiny-[0-9a-f]{8}$")
        again = self.skerry_module.load(run.folder)
        self.assertEqual(again.summaries, run.summaries)
        before = (run.folder / "manifest.json").read_bytes()
        self.skerry_module.run(name, program=PROGRAM)  # the stored one
        self.assertEqual((run.folder / "manifest.json").read_bytes(), before)

    def test_a_sweep_gives_one_row_a_point_and_grows(self):
        study = {"skerry": "sweep/1", "scenario": {**TINY, "training": False}, "seeds": 2,
                 "axes": {"step": {"at": "/islands/west/step_s", "values": [6, 7]}}}
        self.skerry_module.pandas = None
        done = self.skerry_module.sweep(study, "s", program=PROGRAM)
        points = [(row["step"], row["protocol"], row["seed"]) for row in done.table]
        self.assertEqual(sorted(points), sorted(
            (step, protocol, seed) for step in (6, 7) for protocol in TINY["protocols"] for seed in (1, 2)))
        self.assertTrue(all(isinstance(row["id"], str) and len(row["id"]) == 16 for row in done.table))
        study["axes"]["step"]["values"].append(8)
        self.assertEqual(len(self.skerry_module.sweep(study, "s", program=PROGRAM).table), 12)
        loaded = self.skerry_module.load("s")
        self.assertIsInstance(loaded, self.skerry_module.Sweep)
        self.assertEqual(len(loaded.table), 12)
        self.assertIsInstance(loaded.statistics, dict)
        self.assertEqual(self.skerry_module.status(study, "s", program=PROGRAM)["ok"], 12)
        self.skerry_module.sweep(study, "parts", shard="1/2", limit_s=100, fail_fast=True, program=PROGRAM)
        self.assertEqual(self.skerry_module.status(study, "parts", program=PROGRAM)["missing"], 6)
        other = {**study, "axes": {"count": {"at": "/islands/west/slices", "values": [2, 4]}}}
        with self.assertRaises(self.skerry_module.SkerryError) as caught:
            self.skerry_module.sweep(other, "s", program=PROGRAM)
        self.assertIn("another study", caught.exception.message)
        study["axes"]["step"]["at"] = "/islands/west/stepp_s"
        with self.assertRaises(self.skerry_module.SkerryError) as caught:
            self.skerry_module.sweep(study, "t", program=PROGRAM)
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertIn("stepp_s", caught.exception.message)

    def test_errors_carry_exit_code_and_message(self):
        error_of = self.skerry_module.SkerryError
        for words in ({"seeds": []}, {"protocols": []}):
            with self.assertRaises(error_of) as caught:
                self.skerry_module.run(self.scenario(), program=PROGRAM, **words)
            self.assertIn("is an empty list", caught.exception.message)
        one = self.skerry_module.run(self.scenario(training=False), protocols="data_parallel", seeds=[1], out="one",
                                     program=PROGRAM)
        self.assertEqual(list(one.comparison["protocols"]), ["data_parallel"])
        with self.assertRaises(error_of) as caught:
            self.run_tiny({"/islands/west/stepp_s": 6})
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertIn("/islands/west/stepp_s", caught.exception.message)
        with self.assertRaises(error_of) as caught:
            self.skerry_module.load(self.folder)
        self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaises(error_of) as caught:
            self.skerry_module.run(self.scenario(), program="no-such-program")
        self.assertIn("no-such-program", caught.exception.message)

    def test_a_missed_claim_is_a_result(self):
        claim = {"protocol": "data_parallel", "metric": "goodput", "min": 2, "why": "no share is above one"}
        run = self.skerry_module.run({**TINY, "training": False, "expect": [claim]}, out="r", program=PROGRAM)
        self.assertEqual(run.exit_code, 1)
        self.assertEqual(run.comparison["expect"][0]["verdict"], "missed")


if __name__ == "__main__":
    unittest.main()
