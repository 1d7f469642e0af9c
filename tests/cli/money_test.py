"""Money and energy through the program: a scenario worked by hand, prices overridden and missing, and where the numbers go."""
import csv
import io
import json
import unittest

from program import TINY, ProgramTest

# One learner of four chips steps for an hour: 4 chips x 3600 s x 4.20 USD / 3600 = 16.80 USD, and
# 4 x 284 W x 1 h = 1.136 kWh. 36 steps of 1e6 tokens.
HOUR = {
    "skerry": "scenario/1",
    "stop": {"simulated_h": 1},
    "islands": {"one": {"device": "v5p", "chips": 4, "step_s": 100}},
    "charged_model": {"parameters": 1e6, "tokens_per_learner_step": 1e6},
    "protocols": {"data_parallel": {}},
    "training": False,
    "expect": [
        {"protocol": "data_parallel", "metric": "cost_usd", "equal": 16.8, "why": "4 chips x 1 h x 4.20 USD"},
        {"protocol": "data_parallel", "metric": "cost_usd_per_1e9_tokens", "equal": 466.6666666666667,
         "why": "16.80 USD / 0.036"},
        {"protocol": "data_parallel", "metric": "energy_kwh", "equal": 1.136, "why": "4 x 284 W x 1 h"}],
}


class Money(ProgramTest):
    def write(self, scenario, name="s"):
        (self.folder / f"{name}.json").write_text(json.dumps(scenario), encoding="utf-8")
        return f"{name}.json"

    def summary(self, *words, protocol="data_parallel", scenario=None, out="out", expect=0):
        self.skerry("run", self.write(scenario or HOUR), "--out", out, "--quiet", *words, expect=expect)
        return self.read_json(out, protocol, "seed-1", "summary.json")

    def test_an_hour_of_four_chips(self):
        summary = self.summary()       # `expect` holds the arithmetic
        self.assertEqual(summary["wasted_cost_usd"], 0)
        self.assertEqual(summary["cost"]["wan_usd"], 0)
        self.assertAlmostEqual(summary["cost_spot_usd"], 4 * 0.836)
        self.assertIsNone(summary["cost_to_loss_usd"])
        table = next(csv.DictReader(io.StringIO((self.folder / "out" / "table.csv").read_text("utf-8"))))
        self.assertAlmostEqual(float(table["cost_usd"]), 16.8)
        self.assertEqual(table["cost_to_loss_usd"], "")
        rows = self.read_json("out", "comparison.json")["protocols"]
        self.assertAlmostEqual(rows["data_parallel"]["cost_usd"], 16.8)

    def test_prices_are_overridden(self):
        summary = self.summary("--set", "/islands/one/usd_per_chip_hour=1", "--set",
                               "/islands/one/power_w=1000", "--set", "/prices/pricing=spot", "--set",
                               "/islands/one/usd_per_chip_hour_spot=0.25")
        self.assertAlmostEqual(summary["cost_usd"], 1.0)   # 4 x 0.25
        self.assertAlmostEqual(summary["cost_spot_usd"], 1.0)
        self.assertAlmostEqual(summary["energy_kwh"], 4.0)
        free = self.summary("--set", "/islands/one/usd_per_chip_hour=0", out="free")
        self.assertEqual(free["cost_usd"], 0)
        self.assertEqual(free["cost_usd_per_1e9_tokens"], 0)

    def test_without_a_price_the_cost_is_null_and_the_claim_is_missed(self):
        scenario = json.loads(json.dumps(HOUR))
        del scenario["islands"]["one"]["device"]
        summary = self.summary(scenario=scenario, expect=1)
        for key in ("cost_usd", "cost_spot_usd", "cost_usd_per_1e9_tokens", "wasted_cost_usd", "energy_kwh"):
            self.assertIsNone(summary[key], key)
        self.assertEqual(set(summary["cost"]["lost_usd"].values()), {None})
        table = next(csv.DictReader(io.StringIO((self.folder / "out" / "table.csv").read_text("utf-8"))))
        self.assertEqual((table["cost_usd"], table["energy_kwh"], table["cost.lost_usd.down"]), ("", "", ""))
        shown = self.skerry("show", "out").stdout
        self.assertIn("no usd_per_chip_hour for island one: the cost of its rows is not known", shown)
        self.assertIn("a chip without a price", " ".join(shown.split()))

    def test_causes_add_up_and_the_wide_area_has_its_price(self):
        changes = dict(training=False, seeds=1)
        self.skerry("run", self.scenario(**changes), "--out", "out", "--quiet", "--set",
                    "/prices/wan_usd_per_gib=0.5")
        for protocol in TINY["protocols"]:
            summary = self.read_json("out", protocol, "seed-1", "summary.json")
            cost = summary["cost"]
            self.assertAlmostEqual(cost["wan_usd"], 0.5 * summary["wan"]["bytes"] / 2 ** 30)
            self.assertGreater(cost["wan_usd"], 0)
            lost = sum(cost["lost_usd"].values())
            self.assertAlmostEqual(summary["wasted_cost_usd"], lost)
            self.assertAlmostEqual(lost, cost["chips_usd"] - cost["productive_usd"])
            self.assertAlmostEqual(summary["cost_usd"], cost["chips_usd"] + cost["wan_usd"])
            self.assertLess(summary["closure_cost"], 1e-9)
            for cause, seconds in summary["chip_seconds"]["lost"].items():
                self.assertAlmostEqual(cost["lost_usd"][cause], 4.2 * seconds / 3600)
            # Nothing draws more than all chips at full power, and stepping chips draw it.
            full = 0.284 * summary["chip_seconds"]["total"] / 3600
            self.assertLess(summary["energy_kwh"], full)
            self.assertGreater(summary["energy_kwh"],
                               0.284 * summary["chip_seconds"]["productive"] / 3600)

    def test_a_sweep_over_a_price_has_the_costs_as_columns_and_to_the_target(self):
        scenario = dict(TINY, seeds=1)
        scenario["training"] = dict(TINY["training"], target_loss=5)   # 256 words begin at ln 256 = 5.5
        study = {"skerry": "sweep/1", "seeds": 1, "scenario": scenario,
                 "axes": {"usd": {"at": "/islands/west/usd_per_chip_hour", "values": [0, 9]}},
                 "table": {"rows": ["usd"], "columns": "protocol", "cells": ["cost_usd", "energy_kwh"]}}
        self.write(study, "p.sweep")
        done = self.skerry("sweep", "p.sweep.json", "--out", "sweep", "--quiet")
        self.assertIn("cost_usd", done.stdout)
        rows = list(csv.DictReader(io.StringIO((self.folder / "sweep" / "table.csv").read_text("utf-8"))))
        by = {(row["usd"], row["protocol"]): row for row in rows}
        for protocol in TINY["protocols"]:
            free, dear = by["0", protocol], by["9", protocol]
            self.assertEqual(free["energy_kwh"], dear["energy_kwh"])
            hours = 32 * float(dear["simulated_s"]) / 3600
            self.assertAlmostEqual(float(dear["cost_usd"]) - float(free["cost_usd"]), 9 * hours)
            # As the run folder of the same scenario says.
            one = dict(scenario, islands={**scenario["islands"]})
            one["islands"]["west"] = dict(one["islands"]["west"], usd_per_chip_hour=9)
            self.skerry("run", self.write(one, "one"), "--out", "one", "--quiet")
            summary = self.read_json("one", protocol, "seed-1", "summary.json")
            self.assertIsNotNone(summary["cost_to_loss_usd"])
            self.assertAlmostEqual(float(dear["cost_to_loss_usd"]), summary["cost_to_loss_usd"])

    def test_an_estimate_prices_the_hour(self):
        self.write(HOUR)
        rows = json.loads(self.skerry("estimate", "s.json", "--json").stdout)["rows"]
        self.assertAlmostEqual(rows["data_parallel"]["money"]["chips_usd_per_hour"], 16.8)


if __name__ == "__main__":
    unittest.main()
