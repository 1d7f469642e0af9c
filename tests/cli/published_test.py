"""Tables of results/published: what is committed is within its tolerance, and a short run agrees."""
import csv
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


if __name__ == "__main__":
    unittest.main()
