"""Exit codes, bad input, and what the program says about itself."""
import json

from program import ROOT, TINY, ProgramTest

COMMANDS = ("run", "train", "show", "plan", "estimate", "probe", "check", "test", "explain", "schema")


class CommandLine(ProgramTest):
    def test_alone_it_lists_the_commands(self):
        text = self.skerry().stdout
        for command in COMMANDS:
            self.assertIn(f"\n  skerry {command}", text)

    def test_command_line_errors(self):
        name = self.scenario()
        for words in (["fly"], ["run"], ["run", name, "--jobs", "0"], ["run", name, "--wings"],
                      ["run", name, "--set", "seeds=2"], ["run", name, "--isa", "mmx"],
                      ["run", name, "--jobs", "64", "--threads", "64"], ["run", "nowhere.json"],
                      ["run", name, "--protocol", "nobody"], ["explain", "/protocols/*/wings"],
                      ["show", name], ["train", name, "--set", "/training/seeds=1"],
                      ["test", "."]):
            with self.subTest(words=words):
                self.assertNotEqual(self.skerry(*words, expect=2).stderr, "")
                self.assertEqual([path.name for path in self.folder.iterdir()], [name])

    def test_an_unknown_command_is_named_with_its_nearest(self):
        for words in (["swep"], ["swep", "--help"], ["swep", "a.json", "--out", "x"]):
            errors = self.skerry(*words, expect=2).stderr
            self.assertIn("found the command 'swep', allowed run, ", errors)
            self.assertIn("did you mean 'sweep'?", errors)

    def test_explain_and_schema(self):
        self.assertIn("quorum", self.skerry("explain", "/protocols/*/quorum").stdout)
        self.assertIn("properties", json.loads(self.skerry("schema").stdout))

    def test_plan_is_csv_and_depends_on_the_seed(self):
        name = self.scenario()
        plan = self.skerry("plan", name, "--hours", "10").stdout.splitlines()
        self.assertEqual(plan[0], "at_s,for_s,kind,target,factor,notice_s,source")
        self.assertGreater(len(plan), 1)
        self.assertEqual(self.skerry("plan", name, "--hours", "10").stdout.splitlines(), plan)
        other = self.skerry("plan", name, "--hours", "10", "--seed", "2").stdout.splitlines()
        self.assertNotEqual(other, plan)

    def test_a_plan_can_be_played_again(self):
        # Young's rule takes its rate from the law, or from the plan's lines: a stated period is the same.
        recovery = {"checkpoint_every_s": 900}
        name = self.scenario(recovery=recovery)
        plan = self.skerry("plan", name, "--hours", "1", "--seed", "1").stdout
        (self.folder / "plan.csv").write_text(plan, encoding="utf-8")
        self.scenario("planned", faults={"replayed": {"plan": "plan.csv"}}, recovery=recovery)
        self.skerry("run", name, "--out", "drawn", "--seed", "1", "--protocol", "data_parallel",
                    "--no-train", "--set", "/stop/tokens=6e6")
        self.skerry("run", "planned.json", "--out", "planned", "--seed", "1", "--protocol",
                    "data_parallel", "--no-train", "--set", "/stop/tokens=6e6")
        drawn = self.read_json("drawn", "data_parallel/seed-1", "summary.json")
        planned = self.read_json("planned", "data_parallel/seed-1", "summary.json")
        self.assertLess(drawn["simulated_s"], 3600)
        for key in ("simulated_s", "chip_seconds", "faults"):
            self.assertEqual(drawn[key], planned[key])


class ExitCodes(ProgramTest):
    def expecting(self, **bounds):
        return self.scenario(training=False, expect=[
            {"protocol": "decoupled_diloco", "metric": "goodput", "why": "it is a share", **bounds}])

    def test_0_when_expect_is_met(self):
        self.assertIn("expect met", self.skerry("run", self.expecting(min=0, max=1), "--out", "r").stdout)

    def test_1_when_expect_is_missed(self):
        name = self.expecting(min=1.5)
        done = self.skerry("run", name, "--out", "r", expect=1)
        self.assertIn("expect missed", done.stdout)
        self.assertIn("why: it is a share", done.stdout)
        done = self.skerry("test", ".", "--junit", "junit.xml", "-k", "tiny", expect=1)
        self.assertTrue(done.stdout.endswith("0 passed, 1 failed\n"), done.stdout)
        self.assertIn("<failure", (self.folder / "junit.xml").read_text(encoding="utf-8"))

    def test_expect_is_not_applied_to_a_changed_scenario(self):
        name = self.expecting(min=1.5)
        for change in (["--set", "/stop/tokens=4e7"], ["--seeds", "1"],
                       ["--protocol", "decoupled_diloco", "--protocol", "data_parallel", "--seed", "7"]):
            with self.subTest(change=change):
                self.assertIn("expect not applied", self.skerry("run", name, *change).stdout)

    def test_3_when_nothing_can_ever_happen_again(self):
        name = self.scenario(stop={"tokens": 6e7}, training=False, protocols={"data_parallel": {}},
                             faults={"cut": {"kind": "link_cut", "target": "us-west1>us-east5", "at_s": 60}})
        done = self.skerry("run", name, "--out", "r", expect=3)
        self.assertIn("waits for", done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], [name])

    def test_2_for_every_broken_scenario_with_its_message(self):
        bad = ROOT / "tests" / "bad"
        expected = json.loads((bad / "expected.json").read_text(encoding="utf-8"))
        self.assertGreater(len(expected), 20)
        for name, entry in expected.items():
            with self.subTest(name=name):
                done = self.skerry("run", bad / name, expect=2)
                self.assertIn(entry["message"], done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(list(self.folder.iterdir()), [])


class ShippedScenarios(ProgramTest):
    def test_all_are_read(self):
        files = [path for part in ("*.json", "smoke/*.json", "study/*.json")
                 for path in sorted((ROOT / "scenarios").glob(part))]
        self.assertIn(ROOT / "scenarios" / "four-us-regions.json", files)
        done = self.skerry("check", *files)
        self.assertEqual(done.stdout.count("ok "), len(files))

    def test_a_resolved_copy_means_the_same(self):
        name = self.scenario()
        resolved = self.skerry("check", name, "--print-resolved").stdout
        (self.folder / "resolved.json").write_text(resolved, encoding="utf-8")
        again = self.skerry("check", "resolved.json", "--print-resolved").stdout
        self.assertEqual(json.loads(resolved), json.loads(again))
        self.assertGreater(len(resolved), len(json.dumps(TINY)))
