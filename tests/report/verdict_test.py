"""What a report says of targets that some seeds missed, of ties, claims, shares and money."""
import html
import json
import subprocess
import sys
import unittest

import folders
from folders import FOLDER, PROGRAM, ReportTest, change_table, report

sys.dont_write_bytecode = True
sys.path.insert(0, str(folders.ROOT / "tools"))
from reporting import common, cost_figure, money, reading, sheet, statistics, tables, verdict  # noqa: E402


def words_of(folder):
    report(folder)
    return html.unescape((folder / "report.html").read_text(encoding="utf-8"))


class Targets(ReportTest):
    def run_with(self, change):
        folder = self.copy("run")
        change_table(folder, change)
        return reading.load(folder)

    def test_a_row_that_some_seeds_missed_is_not_first(self):
        # diloco reaches it at once in one seed of two: 41 times sooner there, and no row to rank.
        hours = {"data_parallel": {"1": "36000", "2": "36000"}, "diloco": {"1": "878", "2": ""},
                 "decoupled_diloco": {"1": "18000", "2": "18000"}}
        run = self.run_with(lambda row: {**row, "time_to_loss_s": hours[row["protocol"]][row["seed"]], "target_loss": "3.2",
                                         "cost_usd": "5"})
        said = verdict.to_target(run)
        self.assertIn("is reached first by decoupled_diloco, after 5 h (mean of all 2 seeds). That is 2 times sooner", said)
        self.assertIn("Reached in some seeds only, so not ranked: diloco in 1 of 2 seeds (mean of that one 0.244 h).", said)
        figure = cost_figure.cost(run)
        self.assertIn("diloco reached the target in 1 of 2 seeds only (open markers)", figure.note)
        self.assertEqual([row[1] for row in figure.rows], ["10", "0.243889 (in 1 of 2 seeds)", "5"])
        drawn = sheet.svg_of(figure.draw(720), figure.name, figure.title, figure.description)
        self.assertIn(">diloco, in 1 of 2 seeds</text>", drawn)

    def test_no_ratio_to_a_baseline_that_missed_it(self):
        run = self.run_with(lambda row: {**row, "target_loss": "3.2", "time_to_loss_s":
                                         "" if (row["protocol"], row["seed"]) == ("data_parallel", "2") else "3600"})
        said = verdict.to_target(run)
        self.assertIn("is reached first by diloco and decoupled_diloco, after 1 h", said)
        self.assertIn("The baseline data_parallel did not reach it in every seed, so there is no ratio to it.", said)
        self.assertNotIn("sooner", said)

    def test_no_target(self):
        run = self.run_with(lambda row: {**row, "status": "diverged", "loss.final": "", "target_loss": "",
                                         "time_to_loss_s": "", "tokens_to_loss": ""})
        self.assertEqual(verdict.to_target(run),
                         "There is no target, since the baseline data_parallel has no final loss.")

    def test_the_cost_to_a_target_counts_the_seeds_that_missed_it(self):
        folder = self.copy("periods")
        path = folder / "sweep.json"
        design = json.loads(path.read_text(encoding="utf-8"))
        design["table"]["cells"] = ["cost_to_loss_usd"]
        path.write_text(json.dumps(design), encoding="utf-8")
        # diloco: one seed of two at H 4, none at H 16.
        missed = {("diloco", "4", "2"), ("diloco", "16", "1"), ("diloco", "16", "2")}

        def change(row):
            lost = (row["protocol"], row["H"], row["seed"]) in missed
            return {**row, "time_to_loss_s": "" if lost else "7200", "cost_to_loss_usd": "" if lost else "50"}

        change_table(folder, change)
        text = words_of(folder)
        self.assertIn("<td>50 n=1 of 2, not reached in 1 of 2</td>", text)
        self.assertIn("<td>not reached</td>", text)
        self.assertIn("Not every seed reached the target loss in 2 of 4 combinations", text)
        self.assertIn("diloco, H 4: not reached in 1 of 2; diloco, H 16: not reached in 2 of 2", text)
        self.assertNotIn("diloco has 1 times", text)

    def test_the_cheapest_way_to_a_target(self):
        # Hours 4 and 2, dollars 10 and 30: the fastest is not the cheapest; diloco missed it in one seed.
        hours = {"data_parallel": "14400", "decoupled_diloco": "7200", "diloco": "3600"}
        usd = {"data_parallel": "10", "decoupled_diloco": "30", "diloco": "1"}

        def change(row):
            name = row["protocol"]
            lost = (name, row["seed"]) == ("diloco", "2")
            return {**row, "target_loss": "3.2", "time_to_loss_s": "" if lost else hours[name],
                    "cost_to_loss_usd": "" if lost else usd[name]}

        self.assertEqual(verdict.money_to_target(self.run_with(change)),
                         "To the target loss data_parallel costs least: 10 USD, in 4 h (means of all 2 seeds); the fastest, "
                         "decoupled_diloco, costs 30 USD and takes 2 h.")
        usd["decoupled_diloco"] = "5"
        self.assertEqual(verdict.money_to_target(self.run_with(change)),
                         "To the target loss decoupled_diloco costs least: 5 USD, in 2 h (means of all 2 seeds), and is the "
                         "fastest as well. decoupled_diloco costs 0.5 times what the baseline data_parallel costs (10 USD) "
                         "(95 % interval 0.5 to 0.5, n = 2).")
        self.assertIsNone(verdict.money_to_target(self.run_with(lambda row: {**row, "cost_to_loss_usd": ""})))

    def test_the_cheapest_combination(self):
        folder = self.copy("periods")
        change_table(folder, lambda row: {
            **row, "target_loss": "4.2", "time_to_loss_s": "3600" if row["H"] == "4" else "7200",
            "cost_to_loss_usd": "8" if (row["protocol"], row["H"]) == ("diloco", "16") else "9"})
        self.assertIn("Of the 4 combinations that reached the target loss in every seed, diloco, H 16 costs least: 8 USD, in "
                      "2 h; the fastest, data_parallel, H 4, costs 9 USD and takes 1 h.",
                      " ".join(verdict.of_sweep(reading.load(folder))))

    def test_sentences_on_intervals(self):
        self.assertEqual(verdict.told_apart(1, 1, 0, 0), "The 95 % interval says more")
        self.assertEqual(verdict.told_apart(2, 0, 0, 2), "The 95 % intervals of both say neither more nor less")
        self.assertEqual(verdict.told_apart(3, 3, 0, 0), "The 95 % intervals of all 3 say more")
        self.assertEqual(verdict.told_apart(6, 3, 1, 2),
                         "Of their 95 % intervals 3 say more, 1 says less and 2 say neither more nor less")
        self.assertEqual(verdict.over_combinations(1), "at one combination")

    def test_claims(self):
        run = self.run_with(dict)
        met = {"protocol": "diloco", "metric": "uptime", "verdict": "met"}
        run.comparison["expect"] = [met, {**met, "metric": "goodput", "verdict": "missed"}, met]
        self.assertEqual(verdict.claims(run), "1 of 3 claims of the scenario (expect) was not met: diloco goodput.")

    def test_ties(self):
        run = self.run_with(lambda row: {**row, "tokens_per_s": "10" if row["protocol"] == "data_parallel" else "20"})
        self.assertIn("diloco and decoupled_diloco have the same mean throughput, 20 tokens/s over 2 seeds: no other row has "
                      "more. diloco makes 2 times the tokens/s of the baseline", verdict.fastest(run))
        run = self.run_with(lambda row: {**row, "tokens_per_s": "20"})
        self.assertEqual(verdict.fastest(run), "data_parallel, diloco and decoupled_diloco have the same mean throughput, "
                         "20 tokens/s over 2 seeds. data_parallel is the baseline.")

    def test_shares_stay_between_0_and_1(self):
        # 0.9 and 1: mean 0.95, half-width 12.7062 x 0.0707107 / sqrt(2) = 0.635.
        run = self.run_with(lambda row: {**row, "goodput": "0.9" if row["seed"] == "1" else "1"})
        self.assertIn("95.0 % in decoupled_diloco (95 % interval 31.5 to 100.0 %, n = 2)", verdict.productive(run))
        group = reading.Group({}, "x", [{"seed": 1, "goodput": 0.0}, {"seed": 2, "goodput": 0.1}], None)
        self.assertEqual(tables.cell_of(group, "goodput", False), "5.0 % [0.0, 68.5] n=2")
        wide = statistics.mean_interval([-1.0, 3.0])
        self.assertIs(common.possible(wide, "loss.final"), wide)


class Money(ReportTest):
    def priced(self, *words):
        out = FOLDER / "-".join(["priced", *words])
        if not out.exists():
            prices = {"usd_per_chip_hour": 2.5, "power_w": 500, "idle_power_share": 0.3}
            scenario = {**folders.RUN, "islands": {name: {**island, **prices}
                                                   for name, island in folders.RUN["islands"].items()}}
            path = FOLDER / "priced.json"
            path.write_text(json.dumps(scenario), encoding="utf-8")
            subprocess.run([PROGRAM, "run", path, "--out", out, "--quiet", *words], check=True, capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=300)
        return out

    def test_the_parts_add_up(self):
        run = reading.load(self.priced("--no-train"))
        totals, causes = money.tables(run)
        self.assertEqual(totals[1][-1], "USD per Gtoken")
        columns = list(zip(*causes[2]))
        self.assertIn("wide area", columns[0])
        self.assertIn("wasted: exposed communication", columns[0])
        for cells, total in zip(columns[1:], totals[2]):
            parts = [float(cell.split()[0]) for cell in cells]
            self.assertAlmostEqual(sum(parts[:-1]), parts[-1], delta=0.01 * parts[-1])   # three digits each
            wasted = sum(part for name, part in zip(columns[0], parts) if name.startswith("wasted"))
            self.assertAlmostEqual(wasted, float(total[3].split()[0]), delta=0.01 * parts[-1])
        text = words_of(self.priced("--no-train"))
        self.assertIn("<h2>Money</h2>", text)
        self.assertIn("USD a chip-hour: e 2.5, w 2.5.", text)
        self.assertIn("Wasted: chip-hours that were not productive", text)

    def test_wasted_hours_and_what_rounding_leaves_over(self):
        run = reading.load(self.priced("--no-train"))
        title, columns, rows = money.tables(run)[0]
        wasted = columns.index("wasted, chip-h")
        for row in rows:
            mine = run.by_protocol[row[0]]
            self.assertEqual(row[wasted], sheet.number(sum(r["wasted_chip_hours"] for r in mine) / len(mine)))
        self.assertEqual(money.share_of(6.2e-10, 100), "0")
        self.assertEqual(money.share_of(1, 100), "1 (1.0 %)")
        for row in run.rows:   # a cause that is rounding everywhere has no line
            row["cost.lost_usd.degraded"] = 1e-12
        causes = [line[0] for line in money.tables(run)[1][2]]
        self.assertNotIn("wasted: degraded", causes)

    def test_money_to_the_target(self):
        run = reading.load(self.priced())
        row = run.by_protocol["diloco"][0]
        row.update(time_to_loss_s=None, cost_to_loss_usd=None)
        run.by_protocol["decoupled_diloco"] = [{**row, "seed": seed} for seed in (1, 2)]
        lines = {line[0]: line[-1] for line in money.tables(run)[0][2]}
        self.assertRegex(lines["diloco"], r"^[\d.]+, not reached in 1 of 2$")
        self.assertEqual(lines["decoupled_diloco"], "not reached")
        self.assertRegex(lines["data_parallel"], r"^[\d.]+$")

    def test_without_prices_there_is_no_table(self):
        self.assertEqual(money.tables(reading.load(folders.made("run"))), [])


if __name__ == "__main__":
    unittest.main()
