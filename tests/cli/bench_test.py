"""What tools/bench says of ratios; it is never run for times here."""
import json
import types
import unittest

from program import ROOT

PATH = ROOT / "tools" / "bench"


def bench():
    module = types.ModuleType("bench")
    module.__file__ = str(PATH)
    exec(compile(PATH.read_text(encoding="utf-8"), str(PATH), "exec"), module.__dict__)
    return module


class Bench(unittest.TestCase):
    KNOWN = {"run/a/over_bare_simgrid": {"ratio": 2.0, "factor": 1.5},
             "kernels/a/avx2/peak_share": {"ratio": 0.6, "factor": 1.5}}

    def verdict(self, name, ratio):
        text, inside = bench().judged(name, ratio, self.KNOWN)
        return inside, text

    def test_inside_up_to_the_factor_both_ways(self):
        for ratio in (2.0, 2.99, 1.34):  # 2 / 1.5 = 1.333, 2 × 1.5 = 3
            self.assertTrue(self.verdict("run/a/over_bare_simgrid", ratio)[0])
        for ratio, word in ((3.01, "slower"), (1.33, "faster")):
            inside, text = self.verdict("run/a/over_bare_simgrid", ratio)
            self.assertFalse(inside)
            self.assertTrue(text.endswith(word), text)

    def test_a_share_of_the_peak_is_better_when_higher(self):
        self.assertTrue(self.verdict("kernels/a/avx2/peak_share", 0.91)[1].endswith("faster"))
        self.assertTrue(self.verdict("kernels/a/avx2/peak_share", 0.39)[1].endswith("slower"))

    def test_a_ratio_without_baseline_is_said_and_not_judged(self):
        inside, text = self.verdict("run/new", 1.0)
        self.assertTrue(inside)
        self.assertIn("no baseline", text)

    def test_the_stored_ratios_are_of_every_kind(self):
        kept = json.loads((ROOT / "results/baseline/bench.json").read_text(encoding="utf-8"))
        self.assertEqual(kept["skerry"], "bench/1")
        self.assertEqual({name.split("/")[0] for name in kept["ratios"]}, {"kernels", "flows", "faults", "run"})
        runs = {name.split("/")[1] for name in kept["ratios"] if name.startswith("run/")}
        self.assertEqual(runs, set(bench().WHOLE_RUNS))
        for name, one in kept["ratios"].items():
            self.assertGreater(one["ratio"], 0, name)
            self.assertGreater(one["factor"], 1, name)


if __name__ == "__main__":
    unittest.main()
