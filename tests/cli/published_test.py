"""Tables of results/published: what is committed is within its tolerance, and a short run agrees."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKERRY = pathlib.Path(os.environ.get("SKERRY", ROOT / "build/skerry")).resolve()
TABLE_1 = ROOT / "results/published/decoupled-table-1"


def cells(path):
    with path.open(encoding="utf-8") as file:
        return {line["cell"]: line for line in csv.DictReader(file)}


class DecoupledTable1(unittest.TestCase):
    def test_committed_table_is_whole_and_within_tolerance(self):
        table = cells(TABLE_1 / "table.csv")
        self.assertEqual(len(table), 60)
        self.assertIn("goodput/8/1.2M", table)
        self.assertIn("uptime/none/150k", table)
        for cell, line in table.items():
            with self.subTest(cell=cell):
                off = abs(float(line["skerry"]) - float(line["published"]))
                self.assertLessEqual(off, float(line["tolerance"]))
                self.assertEqual(line["within"], "yes")
                self.assertLessEqual(float(line["low"]), float(line["high"]))

    def test_learners_and_chips_scaled_together(self):
        """F3: goodput(M, N) and goodput(kM, kN) within four points, for k = 2, 4, 8, 16."""
        table = cells(TABLE_1 / "table.csv")
        sizes, rows = ["150k", "300k", "600k", "1.2M", "2.4M"], ["1", "2", "4", "8", "16"]
        for i, row in enumerate(rows):
            for j, size in enumerate(sizes):
                one = float(table[f"goodput/{row}/{size}"]["skerry"])
                for k in range(1, min(len(rows) - i, len(sizes) - j)):
                    scaled = float(table[f"goodput/{rows[i + k]}/{sizes[j + k]}"]["skerry"])
                    self.assertLess(abs(one - scaled), 4, (row, size, k))

    def test_uptime_of_independent_learners(self):
        """F2: 1 - (1 - u)^M, u of one learner with as many chips, within 1.5 points."""
        table = cells(TABLE_1 / "table.csv")
        sizes = ["150k", "300k", "600k", "1.2M", "2.4M"]
        for doublings in range(1, 5):
            learners = 2 ** doublings
            for i in range(doublings, len(sizes)):
                one = float(table[f"uptime/1/{sizes[i - doublings]}"]["skerry"]) / 100
                found = float(table[f"uptime/{learners}/{sizes[i]}"]["skerry"])
                self.assertAlmostEqual(found, 100 * (1 - (1 - one) ** learners), delta=1.5)

    def test_a_short_run_gives_the_same_table(self):
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run(
                [str(TABLE_1 / "run"), "--skerry", str(SKERRY), "--days", "1", "--seeds", "2",
                 "--out", scratch], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            short = cells(pathlib.Path(scratch) / "table.csv")
        for cell, line in cells(TABLE_1 / "table.csv").items():
            with self.subTest(cell=cell):  # a day of 2 seeds is worth a few points at most
                self.assertLess(abs(float(short[cell]["skerry"]) - float(line["skerry"])), 4)


HEAVY_TAIL = {
    "skerry": "scenario/1", "seeds": 5, "stop": {"simulated_days": 348}, "regions": {"one": {}},
    "islands": {"pod": {"region": "one", "chips": 3200, "slices": 400, "step_h": 1}},
    "protocols": {"data_parallel_elastic": {"exchange": "off"}},
    "recovery": {"slice_down_s": 0, "scale_up_s": 0, "step_in_progress": "kept"},
    "faults": {"servers": {
        "kind": "slice_down", "each": "slice", "law": "exponential", "mean_between_days": 238,
        "away": {"law": {"kind": "weibull", "shape": 0.45}, "mean_h": 132.8}}},
    "training": False,
}


class HeavyTailedRepair(unittest.TestCase):
    """F16: repairs of Weibull shape 0.45; what few seeds can say is said as an interval."""

    def test_the_interval_is_shown_and_one_seed_claims_none(self):
        with tempfile.TemporaryDirectory() as scratch:
            scenario = pathlib.Path(scratch) / "heavy.json"
            scenario.write_text(json.dumps(HEAVY_TAIL), encoding="utf-8")

            def run(*words):
                done = subprocess.run(
                    [str(SKERRY), "run", str(scenario), "--no-tape", "--quiet", *words],
                    capture_output=True, text=True, check=False, cwd=scratch)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            many = json.loads(run("--json", "--out", "many"))
            interval = many["comparison"]["protocols"]["data_parallel_elastic"]["goodput_interval"]
            self.assertEqual(interval["n"], 5)
            # 132.8 h away in every 238 days: 2.27 % down, less what the start with all up leaves out.
            self.assertLess(interval["low"], 1 - 0.0185)
            self.assertGreater(interval["high"], 1 - 0.0240)
            self.assertGreater(interval["high"] - interval["low"], 0.0005)
            self.assertIn("n = 1, no interval", run("--seeds", "1", "--out", "one"))


if __name__ == "__main__":
    unittest.main()
