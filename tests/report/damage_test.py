"""Damaged and foreign folders: one plain line and exit code 2, or a page that says what is not there."""
import gzip
import json
import shutil
import unittest

from folders import FOLDER, ReportTest, change_table, made, report


def change_json(path, change):
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(data) or data), encoding="utf-8")


class Damage(ReportTest):
    def refuses(self, words, message):
        done = report(*words, expect=2)
        self.assertRegex(done.stderr, message)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_bytes_that_are_no_text(self):
        steps = "decoupled_diloco/seed-1/outer_steps.csv"
        for name in ("table.csv", "curves.csv", "comparison.json", "manifest.json", steps,
                     "decoupled_diloco/seed-1/tape.jsonl"):
            with self.subTest(name=name):
                folder = self.copy("run")
                path = folder / name
                path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
                self.refuses([folder], f"{path}: is damaged: byte [0-9]+ is no UTF-8")

    def test_columns_that_are_not_there(self):
        folder = self.copy("run")
        path = folder / "decoupled_diloco/seed-1/outer_steps.csv"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("stepped_s", "stopped_s"), encoding="utf-8")
        self.refuses([folder], "outer_steps.csv: is damaged: it has no column stepped_s")
        head, first, *rest = text.splitlines()
        path.write_text("\n".join([head, ",".join([""] * len(first.split(","))), *rest]) + "\n", encoding="utf-8")
        self.refuses([folder], "outer_steps.csv: is damaged: line 2: .* no number")

    def test_numbers_that_are_none(self):
        for column, value in (("goodput", "nan"), ("tokens_per_s", "inf"), ("wan.bytes", "many"), ("goodput", ""),
                              ("chip_seconds.total", "")):
            with self.subTest(column=column, value=value):
                folder = self.copy("run")
                change_table(folder, lambda row: {**row, column: value})
                self.refuses([folder], f"table.csv: is damaged: .*{column}")
        folder = self.copy("ports")
        change_table(folder, lambda row: {**row, "goodput": "inf"})
        self.refuses([folder], "table.csv: is damaged: line 2: goodput is 'inf', no number")

    def test_a_comparison_without_content(self):
        for key, value in (("plan", None), ("protocols", {}), ("protocols", None), ("seeds", None), ("expect", {}),
                           ("protocols", {"data_parallel": None})):
            with self.subTest(key=key, value=value):
                folder = self.copy("run")
                change_json(folder / "comparison.json", lambda data: {**data, key: value})
                self.refuses([folder], "comparison.json: is damaged: ")

    def test_parts_of_another_run(self):
        folder = self.copy("run")
        change_table(folder, lambda row: {**row, "hash": "01234567"})
        self.refuses([folder], "table.csv: of another run: its hash is 01234567, that of the manifest")
        folder = self.copy("ports")
        shutil.copy(made("periods") / "table.csv", folder)
        self.refuses([folder], "table.csv: of another sweep, or runs.jsonl was cut: it has no point")
        folder = self.copy("run")
        path = folder / "diloco/seed-2/summary.json"
        whole = path.read_text(encoding="utf-8")
        for text, message in ((whole[:300], "summary.json: is damaged"),
                              (whole.replace("summary/1", "summary/9"), "summary.json: found \"skerry\": \"summary/9\""),
                              (whole.replace('"seed": 2', '"seed": 3'), "it is not of diloco seed 2")):
            path.write_text(text, encoding="utf-8")
            self.refuses([folder], message)

    def test_runs_that_are_not_there(self):
        folder = self.copy("run")
        (folder / "diloco/seed-1/summary.json").unlink()
        self.refuses([folder], "half a result: diloco/seed-1/summary.json is missing; run it again")
        folder = self.copy("run")
        shutil.rmtree(folder / "decoupled_diloco")
        self.refuses([folder], "half a result: decoupled_diloco/seed-1/summary.json is missing; run it again")

    def test_a_tape_of_another_row(self):
        folder = self.copy("run")
        path = folder / "decoupled_diloco/seed-1/tape.jsonl"
        for other, name in (("diloco/seed-1", "diloco seed 1"), ("decoupled_diloco/seed-2", "decoupled_diloco seed 2"),
                            ("data_parallel/seed-1", "data_parallel seed 1")):
            shutil.copy(folder / other / "tape.jsonl", path)
            self.refuses([folder], f"tape.jsonl: is damaged: it is the tape of {name}, and not of decoupled_diloco seed 1")
            with gzip.open(path.with_suffix(".jsonl.gz"), "wb") as file:
                file.write(path.read_bytes())
            path.unlink()
            self.refuses([folder], f"tape.jsonl.gz: is damaged: it is the tape of {name}, and not")
            path.with_suffix(".jsonl.gz").unlink()

    def test_losses_that_are_not_there(self):
        folder = self.copy("run")
        path = folder / "curves.csv"
        head = path.read_text(encoding="utf-8").splitlines()[0]
        for text in ("", head + "\n"):
            path.write_text(text, encoding="utf-8")
            self.refuses([folder], "half a result: curves.csv has no loss, but data_parallel seed 1 was trained")
        path.unlink()
        self.refuses([folder], "half a result: curves.csv is missing, but data_parallel seed 1 was trained")

    def test_tapes_that_are_cut_or_too_large(self):
        folder = self.copy("run")
        for path in folder.rglob("tape.jsonl"):
            path.write_bytes(path.read_bytes()[:-30])
        self.assertIn("Cut off, so not drawn: decoupled_diloco/seed-1/tape.jsonl has no end.", report(folder).stdout)
        text = (folder / "report.html").read_text(encoding="utf-8")
        self.assertRegex(text, "A fault on one time axis: .*decoupled_diloco/seed-1/tape.jsonl is cut off")
        self.assertNotIn('<figure id="fault">', text)
        for path in folder.rglob("tape.jsonl"):
            with path.open("r+b") as file:
                file.truncate(210_000_000)   # a hole: nothing is written
        report(folder)
        self.assertIn("tape.jsonl is too large to draw (210 MB, the limit is 200 MB)",
                      (folder / "report.html").read_text(encoding="utf-8"))

    def test_places_that_cannot_be_written(self):
        folder = self.copy("run")
        before = sorted(folder.rglob("*"))
        (FOLDER / "a-file").write_text("", encoding="utf-8")
        self.refuses([folder, "--figures", FOLDER / "a-file"], "--figures .*a-file is a file; name a folder")
        self.refuses([folder, "--figures", FOLDER / "a-file" / "below"], "a-file is a file; name a folder")
        self.refuses([folder, "--out", folder], "--out .*: is a folder; name a file")
        self.refuses([folder, "--out", FOLDER / "no" / "page.html"], "--out .*: there is no folder")
        (FOLDER / "taken" / "loss.svg").mkdir(parents=True, exist_ok=True)
        self.refuses([folder, "--figures", FOLDER / "taken"], "loss.svg: is a folder where a figure would be written")
        self.assertEqual(sorted(folder.rglob("*")), before)
        self.assertEqual(list(FOLDER.glob("*.part")), [])

    def test_a_sweep_that_was_stopped(self):
        folder = self.copy("periods")
        for name in ("table.csv", "statistics.json"):
            (folder / name).unlink()
        lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "runs.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:200] + b"\xff\n")
        self.assertIn("Damaged lines of runs.jsonl that are left out here: 1.", report(folder).stdout)
        text = (folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<td>not worked out yet</td>", text)
        self.assertNotIn("<td>not reached</td>", text)
        self.assertIn("Times and costs to the target loss are not worked out yet: they stand in", text)


if __name__ == "__main__":
    unittest.main()
