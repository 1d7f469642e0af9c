"""What a report says and refuses, and that the same folders give the same bytes."""
import html
import json
import re
import shutil
import sys
import unittest
import xml.etree.ElementTree as xml

import folders
from folders import EVIL, FOLDER, ReportTest, change_table, made, page, report

sys.dont_write_bytecode = True
sys.path.insert(0, str(folders.ROOT / "tools"))
from reporting import common, front, reading, run_figures, sheet, statistics, sweep_figures, tables, verdict  # noqa: E402


def fail(folder, which):
    """Rows of table.csv as the program writes those of failed runs."""
    kept = ("hash", "id", "protocol", "preset", "seed", "port", "chips")
    change_table(folder, lambda row: {**{key: value if key in kept else "" for key, value in row.items()},
                                      "status": "failed"} if which(row) else row)


def first_id(folder):
    """The id of the first point."""
    return json.loads((folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()[0])["id"]


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
        self.assertIn("<h2>time to the target loss (h)</h2>", text)
        self.assertIn("<td>2 n=1 of 2, not reached in 1 of 2</td>", text)
        self.assertIn("Not every seed reached the target loss in 2 of 4 combinations", text)
        drawn = (folder / "figures" / "time-to-loss.svg").read_text(encoding="utf-8")
        self.assertIn("not reached by every seed", drawn)
        rows = re.findall(r"<tr><td>diloco</td><td>(\d+)</td><td>2</td><td>1</td><td>2</td><td>[\d.]+</td></tr>", text)
        self.assertEqual(rows, ["4", "16"])

    def test_a_run_that_missed_its_target_stands_at_its_end(self):
        # diloco ends at 1 h without the target, the others reach it at 30 h: a log axis, and nothing above the 30 h.
        folder = self.copy("periods")
        change_table(folder, lambda row: {
            **row, "target_loss": "4.2", "simulated_s": "3600" if row["protocol"] == "diloco" else "108000",
            "time_to_loss_s": "" if row["protocol"] == "diloco" else "108000"})
        sweep = reading.load(folder)
        figure = sweep_figures.time_to_loss(sweep)
        axes = figure.draw(720).axes[0]
        dates = {float(y) for line in axes.lines for y in line.get_ydata() if y == y}
        self.assertEqual(dates, {1.0, 30.0})
        self.assertEqual((axes.get_yscale(), axes.get_ylabel()), ("log", "time to the target loss (h, log scale)"))
        arrows = [note for note in axes.texts if getattr(note, "arrow_patch", None)]
        self.assertEqual({note.xy for note in arrows}, {(4, 1.0), (16, 1.0)})
        self.assertEqual([row[-1] for row in figure.rows if row[0] == "diloco"], ["1", "1"])

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

    def test_units(self):
        for metric, unit in (("tokens_per_s", "tokens/s"), ("step_interval_s.mean", "s"), ("wasted_chip_hours", "chip-hours"),
                             ("cost_usd_per_1e9_tokens", "USD per 1e9 tokens"), ("wan.bytes", "bytes"), ("goodput", ""),
                             ("time_to_loss_s", "h"), ("cost.lost_usd.down", "USD"), ("stale_steps.mean", "steps"),
                             ("closure_chip_seconds", "chip-seconds"), ("port_gbps", "Gbit/s"), ("faults.hit", "")):
            self.assertEqual(common.unit_of(metric), unit, metric)
        folder = self.copy("ports")
        design = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        design["table"]["cells"] = ["tokens_per_s"]
        (folder / "sweep.json").write_text(json.dumps(design), encoding="utf-8")
        said = " ".join(verdict.of_sweep(reading.load(folder)))
        self.assertRegex(said, r"Highest mean tokens/s: \S.* with [\d,.]+ tokens/s \(95 % interval [\d,.]+ to [\d,.]+ "
                               "tokens/s, n = 2")

    def test_swept_ports_are_not_said_to_be_ideal(self):
        sweep = reading.load(made("ports"))
        said = tables.transport({**sweep.design["scenario"], "regions": {"east": {}, "west": {"port_gbps": 1}}},
                                tables.swept(sweep))
        self.assertIn("ports: swept, 0.5 to 4 Gbit/s", said)
        self.assertNotIn("ideal", said)
        self.assertNotIn("west", said)
        half = tables.transport(sweep.design["scenario"], [("/regions/east/port_gbps", "2 to 3 Gbit/s"),
                                                           ("/islands/*/chips", "8"), ("/transport/streams", "1 to 4")])
        self.assertIn("ports: west 1 Gbit/s; ports of east: swept, 2 to 3 Gbit/s", half)
        self.assertIn("/transport/streams: swept, 1 to 4", half)
        self.assertNotIn("transport: defaults", half)
        self.assertIn("ports: swept, 0.5 to 4 Gbit/s", html.unescape(page("ports", made("ports")).read_text(encoding="utf-8")))

    def test_lines_that_coincide_are_named(self):
        folder = self.copy("ports")
        change_table(folder, lambda row: {**row, "compute_utilization": "1"} if row["protocol"] != "elastic" else row)
        note = sweep_figures.utilization(reading.load(folder)).note
        self.assertIn("In compute utilization these 4 lines coincide, and the last one covers the others: "
                      "data_parallel, chips 8; decoupled_diloco, chips 8; data_parallel, chips 16; decoupled_diloco, chips 16.",
                      note)

    def test_the_baselines_are_called_as_in_the_legend(self):
        note = sweep_figures.goodput(reading.load(made("ports"))).note
        self.assertIn("Both baselines are there: data_parallel and elastic (the preset data_parallel_elastic).", note)

    def test_one_unit_for_one_quantity(self):
        sweep, run = reading.load(made("ports")), reading.load(made("run"))
        figure = sweep_figures.paired(sweep)
        self.assertEqual(figure.draw(720).axes[0].get_xlabel(), "goodput (points of %), minus data_parallel")
        self.assertEqual(figure.columns[2], "difference, points of %")
        group = next(g for g in sweep.groups if g.protocol == "elastic")
        raw = group.paired["metrics"]["goodput"]["difference"]["value"]
        self.assertAlmostEqual(float(figure.rows[0][2]), 100 * raw, places=3)
        self.assertIn("minus data_parallel (points of %)", [panel[1] for panel in run_figures.pair_panels(run)])
        left, right = run_figures.losses(run).draw(720).axes
        self.assertEqual(left.get_ylim(), right.get_ylim())

    def test_causes_have_colours_of_their_own(self):
        for scheme in (sheet.LIGHT, sheet.DARK):
            self.assertEqual(len(set(scheme.values())), len(scheme))
        page("run", made("run"))
        drawn = (FOLDER / "run-figures" / "badput.svg").read_text(encoding="utf-8")
        body = drawn[drawn.index("</style>"):]
        self.assertIn("var(--c1)", body)
        self.assertNotIn("var(--s1)", body)

    def test_the_file_of_a_scenario_is_named_as_it_is(self):
        folder = self.copy("run")
        for name, pattern in (("comparison.json", '"scenario": "run"'), ("manifest.json", '/run.json"')):
            path = folder / name
            text = path.read_text(encoding="utf-8")
            self.assertIn(pattern, text)
            path.write_text(text.replace('"scenario": "run"', '"scenario": "-img-src-x-onerror-alert-1--"')
                            .replace('/run.json"', f'/{EVIL}.json"'), encoding="utf-8")
        report(folder)
        text = (folder / "report.html").read_text(encoding="utf-8")
        self.assertIn(f">{html.escape(EVIL)}</h1>", text)
        self.assertNotIn("<img", text)
        self.assertEqual(reading.real_name("a-b", {"command": ["skerry", "run", "other.json"]}, ".json"), "a-b")
        self.assertEqual(reading.real_name("caf--", {"command": ["skerry", "run", "x/caf\u00e9.json"]}, ".json"), "caf\u00e9")

    def test_folders_that_begin_with_a_dash(self):
        shutil.copytree(made("run"), FOLDER / "-cmd-x")
        report("--", "-cmd-x/")
        text = (FOLDER / "-cmd-x" / "report.html").read_text(encoding="utf-8")
        self.assertIn("<code>tools/report -- -cmd-x/</code>", text)

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

    def test_failed_runs_are_said(self):
        folder = self.copy("run")
        lost = {("diloco", "1"), ("diloco", "2"), ("decoupled_diloco", "2")}
        fail(folder, lambda row: (row["protocol"], row["seed"]) in lost)
        run = reading.load(folder)
        columns, rows = tables.comparison(run)
        self.assertEqual({row[0]: (row[1] == "failed", row[-1]) for row in rows},
                         {"data_parallel": (False, 2), "diloco": (True, "0 (2 failed)"),
                          "decoupled_diloco": (False, "1 (1 failed)")})
        self.assertEqual({len(row) for row in rows}, {len(columns)})

    def test_failed_points_are_said(self):
        folder = self.copy("ports")
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        command = ["skerry", "sweep", "a b.json", "--shard", "1/4", "--out", "x"]
        path.write_text(json.dumps({**manifest, "complete": False, "failed": 3, "command": command}), encoding="utf-8")
        first = first_id(folder)
        fail(folder, lambda row: row["protocol"] == "elastic" and row["chips"] == "8" and row["port"] == "4"
             or row["id"] == first)
        said = report(folder).stdout
        self.assertIn("Incomplete: 33 of 36 points are here, 3 failed. To run the failed points again: "
                      "skerry sweep 'a b.json' --out x --retry-failed\n", said)
        text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
        self.assertIn("<td>failed in 2 of 2 seeds</td>", text)
        self.assertIn("n=1, failed in 1 of 2</td>", text)
        self.assertIn(">failed</text>", text)   # in the heat map
        rows = (folder / "table.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "table.csv").write_text("".join(rows[:-1]), encoding="utf-8")
        self.assertIn("To run what is missing and what failed: skerry", report(folder).stdout)

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
