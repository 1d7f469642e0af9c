"""Sweeps: designs, examples, and what is refused."""
import json
import unittest

from program import ROOT
from sweeps import BASE, SweepTest, sweep


class Designs(SweepTest):
    def test_a_grid_runs_every_combination_in_the_order_of_the_file(self):
        done = self.skerry("sweep", self.write())
        self.assertEqual(done.stdout.splitlines()[-1],
                         "next: cat results/runs/s-sweep/table.csv")
        rows = self.rows("results/runs/s-sweep")
        # 3 ports x 3 steps x 2 rows x 2 seeds
        self.assertEqual([(r["port"], r["step"], r["protocol"], r["seed"]) for r in rows],
                         [(port, step, protocol, seed) for port in "125" for step in "468"
                          for protocol in ("data_parallel", "decoupled_diloco") for seed in "12"])
        self.assertEqual(len({r["id"] for r in rows}), 36)
        self.assertEqual({r["status"] for r in rows}, {"ok"})

    def test_a_point_is_what_run_gives_for_it(self):
        self.skerry("sweep", self.write(), "--out", "s")
        (self.folder / "one.json").write_text(json.dumps(BASE), encoding="utf-8")
        self.skerry("run", "one.json", "--seed", 2, "--out", "r", "--set", "/regions/us-west1/port_gbps=2",
                    "--set", "/regions/us-east5/port_gbps=2", "--set", "/islands/west/step_s=6",
                    "--set", "/islands/east/step_s=6")
        alone = self.read_json("r", "decoupled_diloco", "seed-2", "summary.json")
        row = next(r for r in self.rows("s")
                   if (r["port"], r["step"], r["protocol"], r["seed"]) == ("2", "6", "decoupled_diloco", "2"))
        for metric in ("tokens_per_s", "goodput", "merged_share", "uptime"):
            self.assertEqual(float(row[metric]), alone[metric])

    def test_zip_and_random(self):
        axes = {"port": {"at": "/regions/*/port_gbps", "values": [1, 2, 5]},
                "step": {"at": "/islands/*/step_s", "values": [4, 6, 8]}}
        self.assertEqual(self.counts(self.write(axes=axes, design="zip"), "--dry-run")["points"], 12)
        axes = {"port": {"at": "/regions/*/port_gbps", "log_range": {"from": 1, "to": 100}},
                "slices": {"at": "/islands/*/slices", "values": [2, 4]}}
        self.skerry("sweep", self.write("few", axes=axes, design={"random": 3, "seed": 7}), "--out", "few")
        # More draws keep the first ones.
        self.skerry("sweep", self.write("more", axes=axes, design={"random": 5, "seed": 7}), "--out", "more")
        few, more = ([r["id"] for r in self.rows(name)] for name in ("few", "more"))
        self.assertEqual(len(few), 12)
        self.assertEqual(few, more[:12])

    def test_skip_and_pairing_with_a_baseline_that_stands_once(self):
        axes = {"port": sweep()["axes"]["port"],
                "H": {"at": "/protocols/decoupled_diloco/sync_period_steps", "values": [12, 24, 48]}}
        name = self.write(axes=axes, skip=[{"protocol": "data_parallel", "H": [24, 48]}])
        self.skerry("sweep", name, "--out", "s")
        rows = self.rows("s")
        self.assertEqual({(r["protocol"], r["H"]) for r in rows},
                         {("data_parallel", "12"), ("decoupled_diloco", "12"), ("decoupled_diloco", "24"),
                          ("decoupled_diloco", "48")})
        groups = self.read_json("s", "statistics.json")["groups"]
        far = next(g for g in groups if g["point"] == {"port": 2, "H": 48})
        self.assertEqual(far["paired"]["point"], {"port": 2, "H": 12})
        speed = {(r["port"], r["H"], r["protocol"], r["seed"]): float(r["tokens_per_s"]) for r in rows}
        differences = [speed["2", "48", "decoupled_diloco", seed] - speed["2", "12", "data_parallel", seed]
                       for seed in "12"]
        paired = far["paired"]["metrics"]["tokens_per_s"]["difference"]
        self.assertAlmostEqual(paired["value"], sum(differences) / 2)
        # Two values: half width = 12.706 x deviation / sqrt(2) = 12.706 x |a - b| / 2.
        half = 12.7062047 * abs(differences[0] - differences[1]) / 2
        self.assertAlmostEqual(paired["interval"][1] - paired["value"], half, delta=1e-6 * half + 1e-9)

    def test_no_pair_with_a_baseline_of_other_inputs_or_one_that_has_not_run(self):
        name = self.write(axes={"port": {"at": "/regions/*/port_gbps", "values": [1, 4, 8]}})
        self.skerry("sweep", name, "--out", "whole")
        pairs = {json.dumps(g["point"]): g["paired"] for g in self.read_json("whole", "statistics.json")["groups"]
                 if "paired" in g}
        self.assertEqual(len(pairs), 3)
        # 3 ports x 2 rows x 2 seeds: shard 1 of 6 has points 1 and 7, shard 3 points 3 and 9, and so on.
        for shard in (1, 3, 4):
            self.skerry("sweep", name, "--out", "parts", "--shard", f"{shard}/6")
            for group in self.read_json("parts", "statistics.json")["groups"]:
                if "paired" not in group:
                    continue
                self.assertEqual(group["paired"]["point"], group["point"])
                for metric, change in group["paired"]["metrics"].items():
                    n = change["difference"]["n"]
                    self.assertLessEqual(n, pairs[json.dumps(group["point"])]["metrics"][metric]["difference"]["n"])
        far = self.write("t", axes={"port": {"at": "/regions/*/port_gbps", "values": [1, 4, 8]}},
                         skip=[{"protocol": "data_parallel", "port": [4, 8]}])
        self.skerry("sweep", far, "--out", "skipped")
        found = {g["point"]["port"] for g in self.read_json("skipped", "statistics.json")["groups"] if "paired" in g}
        self.assertEqual(found, {1})

    def test_until_with_a_point_that_stands_in_several_combinations(self):
        axes = {"H": {"at": "/protocols/decoupled_diloco/sync_period_steps", "values": [12, 24, 48]}}
        until = {"metric": "goodput", "half_width": 0.005, "min_seeds": 3, "max_seeds": 12}
        for number, protocol in enumerate(({"protocol": "data_parallel"}, {})):
            document = {key: value for key, value in sweep(axes=axes, until={**until, **protocol}).items()
                        if key != "seeds"}
            path = self.folder / f"u{number}.sweep.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            self.skerry("sweep", path.name, "--out", f"u{number}")
            counts = self.counts(path.name, "--out", f"u{number}", "--status")
            self.assertEqual((counts["missing"], counts["failed"]), (0, 0))
            groups = self.read_json(f"u{number}", "statistics.json")["groups"]
            sizes = {len(g["seeds"]) for g in groups if g["protocol"] == "data_parallel"}
            self.assertEqual(len(sizes), 1)
            self.assertGreater(min(sizes), 3)

    def test_until_says_where_it_ended_without_its_width(self):
        until = {"metric": "goodput", "half_width": 1e-9, "min_seeds": 2, "max_seeds": 3}
        document = {key: value for key, value in sweep(until=until).items() if key != "seeds"}
        document["axes"] = {"port": {"at": "/regions/*/port_gbps", "values": [1]}}
        (self.folder / "u.sweep.json").write_text(json.dumps(document), encoding="utf-8")
        done = self.skerry("sweep", "u.sweep.json", "--out", "u")
        self.assertIn("not within +- 1e-09 of goodput after max_seeds = 3:", done.stdout)
        self.assertIn("port=1 decoupled_diloco", done.stdout)
        for group in self.read_json("u", "statistics.json")["groups"]:
            self.assertTrue(group["interval_too_wide"])
        document["until"]["half_width"] = 1
        (self.folder / "u.sweep.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertNotIn("not within", self.skerry("sweep", "u.sweep.json", "--out", "u").stdout)

    def test_runs_at_the_cap_warnings_and_claims_are_named(self):
        scenario = {**BASE, "stop": {"tokens": 1e12, "max_simulated_h": 1},
                    "expect": [{"protocol": "data_parallel", "metric": "goodput", "min": 2, "why": "never"}]}
        done = self.skerry("sweep", self.write(scenario=scenario, seeds=1), "--out", "s")
        self.assertEqual({r["status"] for r in self.rows("s")}, {"time_cap"})
        self.assertRegex(done.stdout, r"\d\^")
        self.assertIn("^ among these runs 18 ended at the time cap and 0 diverged", done.stdout)
        self.assertIn("the scenario's 1 claim in `expect` is not judged by a sweep", done.stdout)
        self.assertIn("warning of 18 points: W", done.stdout)
        self.assertEqual(self.read_json("s", "statistics.json")["groups"][0]["time_cap"], 1)

    def test_long_names_are_cut(self):
        axes = {f"a-name-of-an-axis-that-goes-on-and-on-{i}": {"at": place, "values": [1, 2]}
                for i, place in enumerate(("/regions/us-west1/port_gbps", "/regions/us-east5/port_gbps"))}
        axes["step"] = {"at": "/islands/west/step_s", "values": [4, 5]}
        done = self.skerry("sweep", self.write(axes=axes, seeds=1), "--out", "s")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertIn("a-name-of~n-and-on-1", done.stdout)
        self.assertIn(",a-name-of-an-axis-that-goes-on-and-on-1,",
                      (self.folder / "s" / "table.csv").read_text(encoding="utf-8"))

    def test_texts_of_axes_stay_in_their_cells(self):
        scenario = {**BASE, "faults": {"one": {"kind": "slice_down", "each": "slice", "mean_between_h": 4,
                                               "away": {"mean_min": 1}, "about": "x"}}}
        axes = {"t": {"at": "/faults/one/about", "values": ["=1+1", "two\nlines", "-5"]}}
        done = self.skerry("sweep", self.write(scenario=scenario, axes=axes, seeds=1), "--out", "s")
        self.assertIn("two?lines", done.stdout)
        self.assertEqual([r["t"] for r in self.rows("s")][::2], ["'=1+1", "two\nlines", "'-5"])

    def test_one_seed_claims_no_interval(self):
        done = self.skerry("sweep", self.write(seeds=1), "--out", "s")
        self.assertIn("n = 1, no interval", done.stdout)
        self.assertNotIn("[", done.stdout)
        for group in self.read_json("s", "statistics.json")["groups"]:
            self.assertIsNone(group["metrics"]["goodput"]["t"])
            self.assertIsNone(group["metrics"]["goodput"]["bootstrap"])

    def test_points_that_differ_in_training_share_a_tape(self):
        training = {"model": "quick", "warm_start_steps": 4, "evaluations": 4, "evaluation_windows": 4}
        scenario = {**BASE, "stop": {"tokens": 2e7}, "training": training}
        axes = {"rate": {"at": "/training/inner/rate", "values": [1e-3, 2e-3, 4e-3]}}
        table = {"rows": ["protocol"], "columns": "rate", "cells": ["loss.final", "time_to_loss_s"]}
        name = self.write(scenario=scenario, axes=axes, table=table, keep=["tape"])
        self.skerry("sweep", name, "--out", "s")
        rows = self.rows("s")
        # Seed 1 is trained: three losses of one tape. Seed 2 is not: one point in three rows.
        for protocol in ("data_parallel", "decoupled_diloco"):
            trained = [r for r in rows if (r["protocol"], r["seed"]) == (protocol, "1")]
            self.assertEqual(len({r["tape_fingerprint"] for r in trained}), 1)
            self.assertEqual(len({r["loss.final"] for r in trained}), 3)
            plain = [r for r in rows if (r["protocol"], r["seed"]) == (protocol, "2")]
            self.assertEqual(len({r["id"] for r in plain}), 1)
        self.assertEqual(len(self.records("s")), 8)
        self.assertEqual(len(list((self.folder / "s" / "tapes").iterdir())), 4)
        without = self.write("t", scenario=scenario, axes=axes, table=table)
        self.skerry("sweep", without, "--out", "t", "--jobs", 1)
        self.assertEqual((self.folder / "t" / "table.csv").read_bytes(),
                         (self.folder / "s" / "table.csv").read_bytes())
        self.assertEqual(sorted(p.name for p in (self.folder / "t").iterdir()),
                         ["manifest.json", "runs.jsonl", "statistics.json", "sweep.json", "table.csv", "table.txt"])
        # A run of one rate alone gives the same loss: the tape that was shared is its own.
        (self.folder / "one.json").write_text(json.dumps(scenario), encoding="utf-8")
        self.skerry("run", "one.json", "--set", "/training/inner/rate=0.002", "--out", "r")
        alone = self.read_json("r", "decoupled_diloco", "seed-1", "summary.json")
        row = next(r for r in rows if (r["protocol"], r["seed"], r["rate"]) == ("decoupled_diloco", "1", "0.002"))
        self.assertEqual(float(row["loss.final"]), alone["loss"]["final"])
        self.assertEqual(row["fingerprint"], alone["fingerprint"])
        self.assertEqual(float(row["target_loss"]), alone["target_loss"])
        self.assertEqual(row["time_to_loss_s"], "" if alone["time_to_loss_s"] is None
                         else str(alone["time_to_loss_s"]).removesuffix(".0"))

    def test_until_adds_seeds_and_stops(self):
        until = {"metric": "goodput", "half_width": 0.02, "min_seeds": 3, "max_seeds": 12}
        changes = {"until": until, "axes": {"port": {"at": "/regions/*/port_gbps", "values": [1, 5]}}}
        document = sweep(**changes)
        del document["seeds"]
        (self.folder / "u.sweep.json").write_text(json.dumps(document), encoding="utf-8")
        self.skerry("sweep", "u.sweep.json", "--out", "a", "--jobs", 1)
        self.skerry("sweep", "u.sweep.json", "--out", "b")
        self.assertEqual(self.tables("a"), self.tables("b"))
        groups = self.read_json("a", "statistics.json")["groups"]
        sizes = set()
        for group in groups:
            n = group["metrics"]["goodput"]["n"]
            low, high = group["metrics"]["goodput"]["t"]
            self.assertEqual(group["seeds"], list(range(1, n + 1)))
            self.assertTrue(3 <= n <= 12)
            self.assertTrue((high - low) / 2 <= 0.02 or n == 12)
            sizes.add(n)
        self.assertGreater(len(sizes), 1, "seeds were added nowhere, or everywhere alike")
        for shard in (1, 2):
            self.skerry("sweep", "u.sweep.json", "--out", "c", "--shard", f"{shard}/2")
        self.assertEqual(self.tables("a"), self.tables("c"))

    def test_sensitivity_tries_every_assumed_key(self):
        done = self.skerry("sweep", self.write(seeds=1), "--sensitivity", "--out", "v")
        self.assertIn("verdict (order by tokens/s): decoupled_diloco  data_parallel", done.stdout)
        keys = {r["key"] for r in self.rows("v")}
        self.assertIn("/recovery/restart_s", keys)
        self.assertEqual({r["factor"] for r in self.rows("v")}, {"0.8", "1", "1.2"})
        self.assertIn("n = 1, no interval", done.stdout)
        self.assertIn("left out: the axis 'port' of the sweep", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertEqual(self.read_json("v", "sweep.json")["skerry"], "sensitivity/1")
        rows = {f"a-long-name-for-a-row-{i}": {"preset": "diloco"} for i in range(5)}
        scenario = {**BASE, "protocols": {**BASE["protocols"], **rows}}
        done = self.skerry("sweep", self.write("w", scenario=scenario, seeds=2), "--sensitivity", "--out", "w")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertIn("means over seeds, n = 2", done.stdout)
        # Five rows of equal numbers: nothing among them turns.
        for name in rows:
            self.assertIn(name, done.stdout)


class Examples(SweepTest):
    def test_the_worked_examples_are_read_and_listed(self):
        folder = ROOT / "scenarios" / "sweeps"
        page = (folder / "README.md").read_text(encoding="utf-8")
        found = sorted(folder.glob("*.sweep.json"))
        self.assertGreaterEqual(len(found), 3)
        for path in found:
            self.assertGreater(self.counts(path, "--dry-run")["points"], 1)
            self.assertIn(f"`{path.name}`", page)

    def test_a_small_example_ends_as_it_says(self):
        path = ROOT / "scenarios" / "sweeps" / "port-for-a-hidden-sync.sweep.json"
        self.skerry("sweep", path, "--out", "s")
        waits = {r["port_gbps"]: float(r["compute_utilization"]) for r in self.rows("s") if r["protocol"] == "waits"}
        # 1.33 x 8 Gbit a step in a ring of three: hidden behind 4 s above 2.67 Gbit/s, a quarter of that at 0.5.
        self.assertLess(waits["0.5"], 0.25)
        self.assertLess(waits["2"], 1)
        self.assertEqual([waits[port] for port in ("4", "8", "16")], [1, 1, 1])


class Refusals(SweepTest):
    CASES = [
        ({"axes": {"x": {"at": "/regions/us-west9/port_gbps", "values": [1]}}},
         "/axes/x/at: found '/regions/us-west9/port_gbps'", "did you mean 'us-west1'"),
        ({"axes": {"x": {"at": "/protocols/decoupled_diloco/quorun", "values": [1]}}}, "did you mean 'quorum'"),
        ({"axes": {"x": {"at": "regions", "values": [1]}}}, "allowed a pointer"),
        ({"axes": {"x": {"at": "/seeds", "values": [1]}}}, "no axis may vary"),
        ({"axes": {"x": {"at": "/protocols/decoupled_diloco/quorum", "values": ["many"]}}},
         "/axes/x/values/0: found \"many\""),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": [1, True]}}}, "/axes/x/values/1", "found true"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": [1, 1.0]}}}, "found 1.0 twice"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": []}}}, "/axes/x/values: found 0 entries"),
        ({"axes": {}}, "/axes: found 0 entries"),
        ({"axes": {"x": {"at": "/stop/simulated_h"}}}, "lacks its values"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": [1], "range": {"from": 1, "to": 2, "count": 2}}}},
         "found values and range"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "range": {"from": 2, "to": 1, "count": 2}}}}, "only upwards"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "range": {"from": 1, "to": 2}}}}, "lacks the number of values"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "log_range": {"from": 0, "to": 2, "count": 2}}}}, "allowed > 0"),
        ({"axes": {"goodput": {"at": "/stop/simulated_h", "values": [1]}}}, "name of a column"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": [1]}, "y": {"at": "/stop/simulated_min", "values": [1]}}},
         "allowed one axis a key"),
        ({"axes": {"x": {"at": "/regions/us-west1", "values": [{}]},
                   "y": {"at": "/regions/*/port_gbps", "values": [1]}}}, "allowed one axis a key"),
        ({"design": "zip", "axes": {"x": {"at": "/stop/simulated_h", "values": [1, 2]},
                                    "y": {"at": "/islands/west/step_s", "values": [1]}}},
         "found 1 values, but 'x' has 2"),
        ({"design": "grud"}, "did you mean 'grid'"),
        ({"desing": "grid"}, "did you mean 'design'"),
        ({"skip": [{"protocol": "decoupled"}]}, "/skip/0/protocol"),
        ({"skip": [{"prot": 1}]}, "found an unknown key", "protocol"),
        ({"skip": [{"port": 3}]}, "allowed a value of the axis"),
        ({"skip": [{}]}, "would skip everything"),
        ({"skip": [{"protocol": ["data_parallel", "decoupled_diloco"]}]}, "leaves no point"),
        ({"table": {"rows": ["protocl"]}}, "did you mean 'protocol'"),
        ({"table": {"cells": ["goodputt"]}}, "did you mean 'goodput'"),
        ({"table": {"cells": ["loss.final"]}}, "/training is false"),
        ({"until": {"metric": "goodput", "half_width": 1, "max_seeds": 9}}, "found seeds and until"),
        ({"seeds": None, "until": {"metric": "goodput", "half_width": 0, "max_seeds": 9}}, "/until/half_width"),
        ({"seeds": None, "until": {"metric": "goodput", "half_width": 1, "min_seeds": 9, "max_seeds": 4}},
         "min_seeds is 9"),
        ({"scenario": "nowhere.json"}, "found no file"),
        ({"scenario": {"skerry": "scenario/1"}}, "s.sweep.json#/scenario: lacks the required key"),
        ({"scenario": 5}, "/scenario: found 5, allowed the scenario itself or its path"),
        ({"skerry": "scenario/1"}, "/skerry: found \"scenario/1\"", "skerry run"),
        ({"skip": [{"protocol": []}]}, "/skip/0/protocol: found no value"),
        ({"axes": {"x": {"at": "/training/inner/rate", "values": [1e-3]}}}, "/axes/x/at", "has false at '/training'"),
        ({"axes": {"x": {"at": "/links/a/capacity_gbps", "values": [1]}}}, "it has nothing in '/links'"),
        ({"axes": {"x": {"at": "/islands/west/chips", "range": {"from": 0.5, "to": 2, "count": 2}}}},
         "/axes/x/range: found 0.5"),
        ({"axes": {"x": {"at": "/stop/simulated_h", "values": [1, -1]}}}, "/axes/x/values/1: found -1"),
        ({"design": "zip", "axes": {"x": {"at": "/stop/simulated_h", "values": [1, 1.0]}}}, "a second time"),
        ({"table": {"cells": ["preset"]}}, "/table/cells/0"),
        ({"seeds": None, "until": {"metric": "time_to_loss_s", "half_width": 1, "max_seeds": 4}}, "/until/metric"),
        # Each key for itself is right, both together are not: said before the first run.
        ({"axes": {"chips": {"at": "/islands/*/chips", "values": [32, 30]}}}, "at chips = 30", "30"),
    ]

    def test_bad_sweeps_are_refused_before_anything_runs(self):
        for changes, *parts in self.CASES:
            document = {key: value for key, value in sweep(**changes).items() if value is not None}
            (self.folder / "s.sweep.json").write_text(json.dumps(document), encoding="utf-8")
            with self.subTest(changes):
                errors = self.skerry("sweep", "s.sweep.json", expect=2).stderr
                for part in parts:
                    self.assertIn(part, errors)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["s.sweep.json"])

    def test_a_shard_outside_n(self):
        name = self.write()
        self.skerry("sweep", name, "--limit", "nan", expect=2)
        for shard in ("0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2x"):
            self.assertIn("--shard", self.skerry("sweep", name, f"--shard={shard}", expect=2).stderr)

    def test_a_setting_of_what_an_axis_varies(self):
        name = self.write()
        self.assertIn("is what the axis 'port' varies",
                      self.skerry("sweep", name, "--set", "/regions/us-west1/port_gbps=3", expect=2).stderr)
        self.assertIn("unknown key", self.skerry("sweep", name, "--set", "/stopp=3", expect=2).stderr)
        for setting in ("/regions/us-west1={}", "/islands/east/step_min=1", "/seeds=4"):
            self.assertIn("--set", self.skerry("sweep", name, "--set", setting, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
