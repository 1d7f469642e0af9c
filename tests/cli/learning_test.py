"""The studies of results/published/learning, small: directions with effects that a wrong merge, weight or precision
turns or takes away. Losses are the same bits on every machine, so nothing here is left to luck."""
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, ROOT

RUN = ROOT / "results/published/learning/run"


class Learning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="skerry-learning-")
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        done = subprocess.run([sys.executable, RUN, "--small", "--skerry", PROGRAM, "--work", folder / "work", "--out",
                               folder / "out"], capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(folder / "out/claims.csv", encoding="utf-8", newline="") as file:
            cls.claims = {line["claim"]: line for line in csv.DictReader(file)}
        with open(folder / "out/points.csv", encoding="utf-8", newline="") as file:
            cls.points = list(csv.DictReader(file))

    def mean(self, claim):
        return float(self.claims[claim]["mean"])

    def test_failures_cost_no_quality(self):
        self.assertLess(abs(self.mean("decoupled with failures − without")), 1.5)
        # From one start, a fifth of the tokens: eight learners are behind one batch of all, by some per cent.
        self.assertGreater(self.mean("decoupled with failures − data-parallel without"), 1)
        self.assertLess(self.mean("decoupled with failures − data-parallel without"), 10)
        self.assertAlmostEqual(self.mean("goodput of decoupled with failures"), 89, delta=3)

    def test_a_quorum_of_one_needs_its_grace_window(self):
        # (4 + 3 × 1.18 + 1.298) / 8 / 1.298 = 0.8512; the spread of 1 % moves the slowest.
        self.assertAlmostEqual(self.mean("goodput, K = 8"), 85.1, delta=2)
        self.assertGreater(self.mean("goodput, K = 1"), 99)
        self.assertGreater(self.mean("goodput, K = 1 with grace"), 99)
        self.assertLess(self.mean("participants of a merge, K = 1"), 1.3)
        self.assertGreater(self.mean("participants of a merge, K = 1 with grace"), 4)
        self.assertGreater(self.mean("K = 1 − K = 1 with grace"), 5)
        self.assertLess(abs(self.mean("K = 1 with grace − K = 8")), 2)

    def test_precision_reaches_the_loss(self):
        self.assertLess(abs(self.mean("int4 − bf16")), 0.5)
        self.assertGreater(self.mean("int1 − bf16"), 0.5)
        losses = {(p["setting"], p["seed"]): p["loss"] for p in self.points if p["sweep"] == "wire"}
        self.assertEqual(len(set(losses.values())), len(losses), "a precision that changes no bit")

    def test_more_learners_are_worse_at_equal_tokens(self):
        self.assertGreater(self.mean("16 learners − 2"), 2)
        self.assertLess(self.mean("radial-directional − mean, 16 learners"), -0.5)

    def test_bandwidth_changes_time_alone_where_all_wait(self):
        for row in ("data_parallel", "diloco", "streaming_diloco", "decoupled"):
            self.assertEqual(self.mean(f"{row}: all final losses the same to the last bit on 4 ports"), 1)
        dates = {p["simulated_s"] for p in self.points if p["sweep"] == "same-trajectory" and p["seed"] == "1"
                 and p["protocol"] == "data_parallel"}
        self.assertEqual(len(dates), 4)

    def test_a_starved_syncer_merges_less_and_learns_less(self):
        self.assertGreater(self.mean("merged share lost between syncs of 0.5 and of 20 steps"), 30)
        self.assertGreater(self.mean("sync of 20 steps − of 0.5"), 5)


if __name__ == "__main__":
    unittest.main()
