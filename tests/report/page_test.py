"""What a report says and refuses, and that the same folders give the same bytes."""
import html
import json
import re
import sys
import unittest
import xml.etree.ElementTree as xml

import folders
from folders import EVIL, FOLDER, ReportTest, change_table, made, page, report

sys.dont_write_bytecode = True
sys.path.insert(0, str(folders.ROOT / "tools"))
from reporting import front, reading, sheet, statistics, verdict  # noqa: E402


class Page(ReportTest):
    def test_same_folders_same_bytes(self):
        first = page("run", made("run"))
        report(made("run"), "--out", FOLDER / "again.html", "--figures", FOLDER / "again")
        text = first.read_bytes()
        self.assertEqual(text, (FOLDER / "again.html").read_bytes())
        drawn = sorted((FOLDER / "again").iterdir())
        self.assertEqual({path.stem for path in drawn}, folders.RUN_FIGURES)
        for path in drawn:
            self.assertEqual(path.read_bytes(), (FOLDER / "run-figures" / path.name).read_bytes())
        self.assertNotRegex(text.decode(), r"https?://(?!www\.w3\.org/)")

    def test_figures_are_svg_files_with_words_and_paper(self):
        page("run", made("run"))
        page("ports", made("ports"))
        drawn = {path.stem for path in (FOLDER / "ports-figures").iterdir()}
        self.assertEqual(drawn, folders.PORT_FIGURES)
        for path in [*(FOLDER / "run-figures").iterdir(), *(FOLDER / "ports-figures").iterdir()]:
            root = xml.parse(path).getroot()
            name = "{http://www.w3.org/2000/svg}"
            self.assertEqual(root.get("role"), "img")
            self.assertTrue(root.find(f"{name}title").text and root.find(f"{name}desc").text)
            self.assertEqual(root.find(f"{name}rect").get("width"), "100%")
            self.assertGreater(len(list(root.iter(f"{name}text"))), 3)

    def test_the_picture_of_the_readme(self):
        stored = folders.ROOT / "results/published/four-us-regions/loss-and-goodput.svg"
        self.assertLess(stored.stat().st_size, 300_000)
        figure = front.loss_and_goodput(reading.load(made("run")))
        drawn = sheet.svg_of(figure.draw(720), figure.name, figure.title, figure.description, True, sheet.LIGHT)
        for text in (stored.read_text(encoding="utf-8"), drawn):
            self.assertIn('<rect width="100%" height="100%" style="fill:var(--paper)"/>', text)
            self.assertIn("--paper:#ffffff", text)
            self.assertNotIn("prefers-color-scheme", text)
            root = xml.fromstring(text)
            words = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
            for word in ("decoupled_diloco", "productive", "failures and recovery", "simulated time (h, log scale)"):
                self.assertIn(word, words)

    def test_what_it_says_about_a_run(self):
        text = html.unescape(page("run", made("run")).read_text(encoding="utf-8"))
        comparison = json.loads((made("run") / "comparison.json").read_text(encoding="utf-8"))
        speeds = {name: row["tokens_per_s"] for name, row in comparison["protocols"].items()}
        first = max(speeds, key=speeds.get)
        ratio = comparison["protocols"][first]["tokens_per_s_ratio"]
        self.assertIn(f"{first} has the highest mean throughput", text)
        self.assertIn(f"{verdict.three(ratio['value'])} times the tokens/s of the baseline data_parallel (95 % interval "
                      f"{verdict.three(ratio['low'])} to {verdict.three(ratio['high'])}, n = 2)", text)
        for word in ("calibrated or assumed", "kind fluid", "W35", "skerry", "--quiet", "Not shown", "version of simgrid",
                     "not in this run"):
            self.assertIn(word, text)
        self.assertIn("Row decoupled_diloco, seed 1", text)
        self.assertIn("region dark, west, at 60 s", text)

    def test_badput_adds_up(self):
        text = page("run", made("run")).read_text(encoding="utf-8")
        figure = text[text.index('<figure id="badput">'):text.index("</figure>")]
        rows = re.findall(r"<tr>(<td>.*?)</tr>", figure)
        self.assertEqual(len(rows), 3)
        for row in rows:
            cells = [float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", row)]
            self.assertAlmostEqual(sum(cells[:-1]), 100, delta=0.01)
            self.assertAlmostEqual(cells[-1], 100, delta=1e-3)

    def test_a_time_that_was_not_reached_is_no_time(self):
        folder = self.copy("periods")
        change_table(folder, lambda row: {
            **row, "target_loss": "4.2",
            "time_to_loss_s": "" if row["protocol"] == "diloco" and row["seed"] == "2" else "7200"})
        report(folder, "--figures", folder / "figures")
        text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
        self.assertIn("7,200 n=1 of 2", text)
        self.assertIn("Not every seed reached the target loss in 2 of 4 combinations", text)
        drawn = (folder / "figures" / "time-to-loss.svg").read_text(encoding="utf-8")
        self.assertIn(">not reached</text>", drawn)
        self.assertIn("not reached by every seed", drawn)
        rows = re.findall(r"<tr><td>diloco</td><td>(\d+)</td><td>2</td><td>1</td><td>2</td></tr>", text)
        self.assertEqual(rows, ["4", "16"])

    def test_costs_where_a_run_has_them(self):
        folder = self.copy("run")
        change_table(folder, lambda row: {
            **row, "time_to_loss_s": "" if row["protocol"] == "diloco" else "3600", "cost_usd": "12.5",
            "energy_kwh": "3"})
        report(folder, "--figures", folder / "figures")
        text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
        self.assertIn("<tr><td>data_parallel</td><td>1</td><td>12.5</td><td>3</td></tr>", text)
        self.assertIn("<tr><td>diloco</td><td>not reached</td><td>12.5</td><td>3</td></tr>", text)
        self.assertIn("Not reached, so not drawn: diloco.", text)
        self.assertIn("cost of the whole run (USD)", (folder / "figures" / "cost.svg").read_text(encoding="utf-8"))

    def test_draws_at_random(self):
        folder = self.copy("ports")
        design = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        (folder / "sweep.json").write_text(json.dumps({**design, "design": {"random": 6, "seed": 1}}), encoding="utf-8")
        report(folder, "--figures", folder / "figures")
        drawn = (folder / "figures" / "scatter.svg").read_text(encoding="utf-8")
        self.assertIn("port (Gbit/s), log scale", drawn)

    def test_several_folders(self):
        text = page("both", made("run"), made("ports")).read_text(encoding="utf-8")
        self.assertIn("2 results", text)
        names = {path.name for path in (FOLDER / "both-figures").iterdir()}
        self.assertEqual(names, {f"1-{name}.svg" for name in folders.RUN_FIGURES}
                         | {f"2-{name}.svg" for name in folders.PORT_FIGURES})
        ids = re.findall(r' id="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        for used in re.findall(r'(?:href="#|url\(#)([^")]+)', text):
            self.assertIn(used, set(ids))

    def test_names_of_strangers_are_text(self):
        text = page("evil", folders.evil_run()).read_text(encoding="utf-8")
        self.assertNotIn("<img", text)
        self.assertNotIn("<script", text)
        self.assertIn(html.escape(EVIL), text)
        self.assertIn("$x_1$ &amp; &lt;b&gt;", text)
        for path in (FOLDER / "evil-figures").iterdir():
            self.assertFalse([e.tag for e in xml.parse(path).iter() if e.tag.endswith(("script", "img", "}b"))])
            self.assertIn("$x_1$ &amp; &lt;b&gt;", path.read_text(encoding="utf-8")) if path.stem != "fault" else None


class Refusals(ReportTest):
    def refuses(self, words, message):
        done = report(*words, expect=2)
        self.assertRegex(done.stderr, message)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_what_is_no_result(self):
        empty = FOLDER / "empty"
        empty.mkdir(exist_ok=True)
        self.refuses([empty], "holds no result of Skerry: no manifest.json")
        self.refuses([FOLDER / "nowhere"], "no such folder")
        self.refuses([made("run"), empty], "holds no result")
        self.assertFalse((FOLDER / "report.html").exists())

    def test_half_a_run(self):
        for name in ("table.csv", "comparison.json"):
            folder = self.copy("run")
            (folder / name).unlink()
            self.refuses([folder], f"half a result: {name} is missing")
        folder = self.copy("run")
        table = folder / "table.csv"
        table.write_bytes(table.read_bytes()[:-200])
        self.refuses([folder], "is cut off")
        self.assertFalse((folder / "report.html").exists())

    def test_another_schema(self):
        for name, found in (("manifest.json", "run/2"), ("comparison.json", "comparison/2")):
            folder = self.copy("run")
            path = folder / name
            data = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps({**data, "skerry": found}), encoding="utf-8")
            self.refuses([made("run"), folder], f'{name}: found "skerry": "{found}", this report reads')
        folder = self.copy("ports")
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        manifest["numbers_version"] += 1
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        self.refuses([made("ports"), folder], "different numbers_version")

    def test_without_the_packages(self):
        done = report(made("run"), expect=2, python="/usr/bin/python3")
        self.assertEqual(done.stderr, "tools/report: these Debian packages are missing: python3-matplotlib python3-jinja2 "
                         "(tools/setup --report installs them)\n")

    def test_missing_runs_are_said(self):
        folder = self.copy("run")
        rows = (folder / "table.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "table.csv").write_text("".join(rows[:-1]), encoding="utf-8")
        self.assertIn("Incomplete: 5 of 6 runs are here.", report(folder).stdout)
        self.assertIn("Incomplete: 5 of 6 runs are here.", (folder / "report.html").read_text(encoding="utf-8"))

    def test_an_incomplete_sweep(self):
        folder = self.copy("ports")
        rows = (folder / "table.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "table.csv").write_text("".join(rows[:20]), encoding="utf-8")
        self.assertIn("Incomplete: 19 of 36 points are here", report(folder).stdout)
        for name in ("table.csv", "statistics.json"):   # killed before the tables were written
            (folder / name).unlink()
        self.assertIn("read from runs.jsonl", report(folder).stdout)
        (folder / "runs.jsonl").unlink()
        self.refuses([folder], "a sweep without one finished point")


class Honesty(unittest.TestCase):
    def test_student(self):
        for freedom, quantile in ((1, 12.7062), (4, 2.77645), (20, 2.08596), (25, 2.05954), (100, 1.98397)):
            self.assertAlmostEqual(statistics.student_t(freedom), quantile, places=4)
        # 1, 2, 3: deviation 1, half-width 4.30265 / √3 = 2.48414.
        interval = statistics.mean_interval([1, 2, 3])
        self.assertAlmostEqual(interval.high - interval.value, 2.48414, places=5)
        self.assertTrue(interval.low < 0)
        self.assertIsNone(statistics.mean_interval([7]).low)

    def words(self, speeds):
        """speeds: {protocol: [by seed]}; the first is the baseline."""
        run = type("Run", (), {})()
        run.shown, run.baseline = list(speeds), list(speeds)[0]
        run.by_protocol = {name: [{"seed": i, "tokens_per_s": value} for i, value in enumerate(values)]
                           for name, values in speeds.items()}
        return verdict.fastest(run)

    def test_no_claim_beyond_the_interval(self):
        self.assertIn("not told apart from the baseline a", self.words({"a": [10, 12, 9], "b": [11, 10, 12]}))
        clear = self.words({"a": [10, 12, 9], "b": [20, 24.1, 18]})
        self.assertIn("times the tokens/s of the baseline a (95 % interval", clear)
        self.assertIn("no interval, so this is no law", self.words({"a": [10], "b": [20]}))
        self.assertIn("not told apart from the second, b", self.words(
            {"a": [1, 1, 1], "b": [9, 11, 10], "c": [11, 10, 9.9]}))

    def test_formula_cells_come_back_as_they_were(self):
        self.assertEqual(reading.value_of("'=1+1"), "=1+1")
        self.assertEqual(reading.value_of("-1.5"), -1.5)
        self.assertEqual(reading.value_of("'quoted"), "'quoted")
        self.assertIsNone(reading.value_of(""))


if __name__ == "__main__":
    unittest.main()
