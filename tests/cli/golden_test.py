"""The numbers of every smoke scenario as they stand: a number that moved is explained in its commit.

SKERRY_WRITE_GOLDEN=1 writes tests/golden/ anew.
"""
import json
import os
import unittest

from program import ROOT, ProgramTest

GOLDEN = ROOT / "tests" / "golden"
SMOKE = sorted((ROOT / "scenarios" / "smoke").glob("*.json"))
KEPT = ("simulated_s", "tokens", "goodput", "compute_utilization", "hidden_share", "merged_share",
        "tape_fingerprint")


class Golden(ProgramTest):
    def test_numbers_stand(self):
        self.assertGreater(len(SMOKE), 10)
        for scenario in SMOKE:
            with self.subTest(scenario.stem):
                self.skerry("run", scenario, "--out", scenario.stem, "--quiet")
                found = {}
                for path in sorted((self.folder / scenario.stem).rglob("summary.json")):
                    summary = json.loads(path.read_text(encoding="utf-8"))
                    kept = {key: summary[key] for key in KEPT}
                    if summary.get("loss"):
                        kept["loss.final"] = summary["loss"]["final"]
                    found[str(path.parent.relative_to(self.folder / scenario.stem))] = kept
                golden = GOLDEN / scenario.name
                if os.environ.get("SKERRY_WRITE_GOLDEN"):
                    golden.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                self.assertEqual(found, json.loads(golden.read_text(encoding="utf-8")))

    def test_nothing_is_kept_that_no_scenario_gives(self):
        self.assertEqual({path.name for path in GOLDEN.glob("*.json")}, {path.name for path in SMOKE})


if __name__ == "__main__":
    unittest.main()
