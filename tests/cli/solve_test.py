"""`skerry solve` from outside: a closed form met to 0.1 %, refusals with their numbers, the same bytes however many
runs there are at once."""
import json

from program import ProgramTest

# Ring of two: both gradients cross once, so that a step of data-parallel takes
# max(T + V / (n B), T_forward + T_backward / n + V / B) with T 3 s, V 16 Gbit, n = 4 buckets, backward 2/3 of T:
# max(3 + 4 / B, 1.5 + 16 / B). The slower port B is b's.
BASE = {
    "skerry": "scenario/1",
    "stop": {"simulated_s": 20000},
    "regions": {"a": {"port_gbps": 10}, "b": {"port_gbps": 5}},
    "links": {"a<>b": {"latency_one_way_ms": 0}},
    "islands": {"one": {"region": "a", "chips": 8, "step_s": 3}, "two": {"region": "b", "chips": 8, "step_s": 3}},
    "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1000},
    "protocols": {"data_parallel": {"buckets": 4}},
    "training": False,
}
LEARNERS = {"data_parallel": {"buckets": 4}, "diloco": {"sync_period_steps": 10},
            "decoupled_diloco": {}, "ideal": {}}
PORTS = ("--vary", "/regions/*/port_gbps")


def port_for(utilization):
    step_s = 3 / utilization
    return max(16 / (step_s - 1.5), 4 / (step_s - 3))


class Solve(ProgramTest):
    def write(self, **changes):
        path = self.folder / "s.json"
        path.write_text(json.dumps({**BASE, **changes.pop("more", {}), **changes}), encoding="utf-8")
        return path.name

    def solve(self, *words, expect=0, **changes):
        done = self.skerry("solve", self.write(**changes), *words, expect=expect)
        return done

    def cells(self, *words, expect=0, **changes):
        rows = json.loads(self.solve(*words, "--json", expect=expect, **changes).stdout)["rows"]
        return {(row["protocol"], cell["target"]): cell for row in rows for cell in row["cells"]}

    def refusal(self, *words, expect=2, **changes):
        done = self.solve(*words, expect=expect, **changes)
        return done.stderr

    def check(self, cell, right):
        """The bracket is narrow and holds the right answer, up to what the cut last step does to the mean."""
        self.assertEqual(cell["status"], "solved")
        self.assertGreaterEqual(cell["metric"], cell["target"])
        self.assertLess(cell["metric_below"], cell["target"])
        self.assertLessEqual(abs(cell["x"] / cell["x_below"] - 1), 1e-3)
        self.assertLess(abs(cell["x"] / right - 1), 1.5e-3)


class Answers(Solve):
    def test_the_port_for_a_utilization(self):
        targets = (0.5, 0.9, 0.95, 0.99)
        cells = self.cells("--vary", "/regions/b/port_gbps", "--metric", "CU", "--target", *targets,
                           "--between", "0.1:1000",
                           regions={"a": {"port_gbps": 1000}, "b": {"port_gbps": 5}})
        self.assertEqual(len(cells), 4)
        for target in targets:
            cell = cells["data_parallel", target]
            self.check(cell, port_for(target))
            self.assertEqual(cell["values"], {"/regions/b/port_gbps": cell["x"]})

    def test_several_keys_keep_their_ratio(self):
        cell = self.cells(*PORTS, "--metric", "CU", "--target", 0.8)["data_parallel", 0.8]
        self.check(cell, port_for(0.8) / 5)
        self.assertAlmostEqual(cell["values"]["/regions/a/port_gbps"], 10 * cell["x"], places=9)
        self.assertAlmostEqual(cell["values"]["/regions/b/port_gbps"], 5 * cell["x"], places=9)
        cell = self.cells(*PORTS, "--metric", "CU", "--target", 0.8, "--between", "1:100")["data_parallel", 0.8]
        self.check(cell, port_for(0.8))  # one common value

    def test_other_metrics_and_a_falling_one(self):
        # 2 x 1000 tokens a step of 4 s are 500 tokens/s: B = 16 / 2.5.
        cells = self.cells(*PORTS, "--metric", "tokens_per_s", "--target", 500, "--times", "0.1:10")
        self.check(cells["data_parallel", 500], 16 / 2.5 / 5)
        cell = self.cells(*PORTS, "--metric", "goodput", "--target", 0.9)["data_parallel", 0.9]
        self.check(cell, port_for(0.9) / 5)
        # A step of 6 s: B = 16 / 4.5; the largest port that is no faster.
        cell = self.cells(*PORTS, "--metric", "step_interval_s.mean", "--target", 6, "--times", "0.1:10")
        cell = cell["data_parallel", 6]
        self.check(cell, 16 / 4.5 / 5)
        self.assertLess(cell["x"], cell["x_below"])

    def test_shares_of_merges(self):
        # A fragment of 16 / 24 Gbit leaves every step of 3 s, one at a time: below 16 / 24 / 3 Gbit/s they queue up.
        words = (*PORTS, "--protocol", "decoupled_diloco", "--target", 0.5)
        cell = self.cells(*words, "--metric", "hidden_share", protocols=LEARNERS)["decoupled_diloco", 0.5]
        self.check(cell, 16 / 24 / 3 / 5)
        # Merges fall on other steps as the port changes: dips of half a per cent.
        words = (*words, "--metric", "merged_share")
        self.assertIn("not monotone", self.refusal(*words, protocols=LEARNERS))
        cell = self.cells(*words, "--dip", 0.05, protocols=LEARNERS)["decoupled_diloco", 0.5]
        self.assertEqual(cell["status"], "solved")
        self.assertLess(cell["metric_below"], 0.5)

    def test_durations_and_whole_numbers(self):
        # Two hops of a ring of two: a bucket's latency is paid after all, 2 x latency in 1.5 + 16 / B + 2 L = 6 s.
        pointer = "/links/a<>b/latency_one_way_ms"
        cell = self.cells("--vary", pointer, "--between", "1:10000", "--metric", "CU", "--target", 0.5)
        self.check(cell["data_parallel", 0.5], 1000 * (6 - 1.5 - 16 / 5) / 2)
        # H steps of 3 s and 16 / 5 = 3.2 s without overlap: 3 H / (3 H + 3.2) >= 0.95 at H >= 20.27.
        cell = self.cells("--vary", "/protocols/diloco/sync_period_steps", "--between", "1:200", "--metric", "CU",
                          "--target", 0.95, protocols=LEARNERS)["diloco", 0.95]
        self.assertEqual((cell["x"], cell["x_below"]), (21, 20))

    def test_the_next_command_reaches_the_target(self):
        done = self.solve(*PORTS, "--metric", "CU", "--target", 0.8)
        self.assertTrue(all(len(line) <= 100 for line in done.stdout.splitlines()[:-1]), done.stdout)
        last = done.stdout.splitlines()[-1]
        self.assertTrue(last.startswith("next: "), last)
        self.skerry(*last.split()[2:], "--out", "r")
        summary = self.read_json("r", "data_parallel", "seed-1", "summary.json")
        self.assertGreaterEqual(summary["compute_utilization_whole_periods"], 0.8)
        self.assertLess(summary["compute_utilization_whole_periods"], 0.8011)

    def test_the_mean_over_the_seeds(self):
        spread = {"relative": 0.5}
        words = (*PORTS, "--metric", "tokens_per_s", "--target", 300, "--times", "0.1:10", "--seeds", 3)
        done = json.loads(self.solve(*words, "--json", speed_spread=spread).stdout)
        self.assertEqual(done["seeds"], [1, 2, 3])
        points = done["rows"][0]["points"]
        self.assertEqual(done["runs"], 3 * len(points))
        for point in points:
            self.assertEqual(len(set(point["by_seed"])), 3)
            self.assertAlmostEqual(point["metric"], sum(point["by_seed"]) / 3, places=9)

    def test_jobs_change_no_byte(self):
        words = (*PORTS, "--metric", "CU", "--target", 0.5, 0.9)
        for tail, expect in (((), 5), (("--json",), 5), (("--protocol", "diloco"), 0)):
            one, two = (self.solve(*words, *tail, "--jobs", jobs, expect=expect, protocols=LEARNERS)
                        for jobs in (1, 2))
            self.assertEqual((one.stdout, one.stderr), (two.stdout, two.stderr))

    def test_training_and_expect_play_no_part(self):
        cells = self.cells(*PORTS, "--metric", "CU", "--target", 0.8,
                           training={"model": "quick", "warm_start_steps": 4},
                           more={"expect": [{"protocol": "data_parallel", "metric": "goodput", "min": 1, "why": "-"}]})
        self.check(cells["data_parallel", 0.8], port_for(0.8) / 5)


class Refusals(Solve):
    def test_some_cells_refused(self):
        done = self.solve(*PORTS, "--metric", "CU", "--target", 0.5, 1.5, expect=5, protocols=LEARNERS)
        self.assertIn("refused data_parallel, compute_utilization_whole_periods 1.5: out of reach: the metric is", done.stderr)
        self.assertIn("refused decoupled_diloco, compute_utilization_whole_periods 0.5, 1.5: the key does not move the metric: "
                      "it is 1 at all of 5 points from 0.0001 to 10000; its learners never wait", done.stderr)
        self.assertIn("note ideal: a reference row", done.stdout)
        self.assertIn("refused", done.stdout)

    def test_nothing_solved(self):
        done = self.solve(*PORTS, "--metric", "CU", "--target", 0.5, "--protocol", "ideal", expect=2,
                          protocols=LEARNERS)
        self.assertEqual(done.stdout, "")
        self.assertIn("does not move the metric: it is 1", done.stderr)
        cells = self.cells(*PORTS, "--metric", "CU", "--target", 0.5, "--times", "10:20", expect=2)
        self.assertEqual(cells["data_parallel", 0.5]["status"], "refused")
        # 50 Gbit/s: 3.08 s a step.
        self.assertIn("everything between reaches it", cells["data_parallel", 0.5]["reason"])
        self.assertIn("0.974", cells["data_parallel", 0.5]["reason"])

    def test_a_metric_that_turns_round(self):
        # The first fragments of a starved DiLoCo are merged all or not at all.
        text = self.refusal(*PORTS, "--metric", "merged_share", "--target", 0.5, "--protocol", "diloco",
                            protocols=LEARNERS)
        self.assertRegex(text, r"not monotone: \S+ at \S+, \S+ at \S+, \S+ at \S+; that is")

    def test_a_run_that_cannot_be(self):
        text = self.refusal("--vary", "/protocols/diloco/overlap_steps", "--between", "0:30", "--metric", "CU",
                            "--target", 0.9, "--protocol", "diloco", protocols=LEARNERS)
        # Probes at 31^(i/4) - 1: 0, 1, 5, 12, 30; of those that fail the first speaks.
        self.assertIn("the run at 12 failed: ", text)
        self.assertIn("found 12, allowed less than sync_period_steps = 10", text)

    def test_bad_input(self):
        good = {"--vary": "/regions/b/port_gbps", "--metric": "CU", "--target": 0.5}
        cases = [
            ({"--vary": "/regions/c/port_gbps"}, "the scenario has no '/regions/c'"),
            ({"--vary": "/regions/b/port_gbs"}, "did you mean 'port_gbps'?"),
            ({"--vary": "/stop"}, "allowed a key that is a number"),
            ({"--vary": "/seeds"}, "which no axis may vary"),
            ({"--vary": "/regions/b/up_gbps"}, "has no number in this scenario"),
            ({"--metric": "compute_utilisation"}, "did you mean 'compute_utilization'?"),
            ({"--metric": "loss.final"}, "never trains"),
            ({"--metric": "by_learner.nobody.1.goodput"}, "which this row does not have"),
            ({"--between": "5:1"}, "found '5:1', allowed LO:HI"),
            ({"--between": "1:2", "--times": "1:2"}, "allowed one of them"),
            ({"--tolerance": 0}, "--tolerance"),
            ({"--target": "x"}, "--target"),
            ({"--protocol": "data_paralel"}, "did you mean 'data_parallel'?"),
            ({"--set": "/protocols/diloco={}", "--vary": "/protocols/diloco/sync_period_steps",
              "--protocol": "data_parallel"}, "hits no key that the row 'data_parallel' reads"),
        ]
        for changes, message in cases:
            with self.subTest(changes):
                words = [word for pair in {**good, **changes}.items() for word in pair]
                self.assertIn(message, self.refusal(*words))
        for missing in good:
            words = [word for key, value in good.items() if key != missing for word in (key, value)]
            self.assertIn(missing, self.refusal(*words))
        self.assertIn("found 0.5 twice", self.refusal("--vary", good["--vary"], "--metric", "CU",
                                                      "--target", 0.5, 0.5))


class Documentation(Solve):
    def test_help_says_the_exit_codes(self):
        text = self.skerry("solve", "--help").stdout
        for word in ("--vary", "--between", "--times", "--dip", "5 some were refused"):
            self.assertIn(word, text)
