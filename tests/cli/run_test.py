"""Runs, their folders and their repeats."""
import csv
import json
import os
import signal
import subprocess

from program import PROGRAM, ProgramTest

RUNS = [f"{protocol}/seed-{seed}" for protocol in ("data_parallel", "decoupled_diloco")
        for seed in (1, 2)]


class Folders(ProgramTest):
    def test_a_run_writes_every_file_and_the_table_fits(self):
        done = self.skerry("run", self.scenario(), "--out", "r")
        wanted = {"table.csv", "comparison.json", "plan.csv", "scenario.resolved.json",
                  "curves.csv", "learning.csv"}
        for run in RUNS:
            wanted |= {f"{run}/{name}" for name in
                       ("summary.json", "tape.jsonl", "loss.csv", "outer_steps.csv")}
        self.assertEqual(set(self.files("r")), wanted)
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertRegex(lines[-1], r"^next: .*skerry show r --format csv$")
        with open(self.folder / "r" / "table.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["protocol"], row["seed"]) for row in rows],
                         [tuple(run.split("/seed-")) for run in RUNS])
        manifest = self.read_json("r", "manifest.json")
        self.assertTrue(manifest["complete"])
        self.assertEqual({row["hash"] for row in rows}, {manifest["hash"]})
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["r", "tiny.json"])

    def test_a_run_with_files_named_by_relative_paths_can_be_read_again(self):
        inner = self.folder / "inner"
        inner.mkdir()
        (inner / "mine.csv").write_text("at_s,for_s,kind,target\n100,50,slice_down,a.1/slice.1\n",
                                        encoding="utf-8")
        (inner / "planned.json").write_text(json.dumps({
            "skerry": "scenario/1", "stop": {"simulated_h": 1}, "regions": {"one": {}},
            "islands": {"a": {"region": "one", "chips": 8, "slices": 2, "step_s": 10}},
            "protocols": {"data_parallel_elastic": {"exchange": "off"}},
            "faults": {"p": {"plan": "mine.csv"}}, "training": False}), encoding="utf-8")
        ran = self.skerry("run", "inner/planned.json", "--out", "r").stdout.splitlines()
        shown = self.skerry("show", "r").stdout.splitlines()
        self.assertEqual(ran[:8], shown[:8])

    def test_the_ledger_closes(self):
        self.skerry("run", self.scenario(), "--out", "r", "--no-train")
        for run in RUNS:
            summary = self.read_json("r", run, "summary.json")
            books = summary["chip_seconds"]
            booked = books["productive"] + sum(books["lost"].values())
            self.assertAlmostEqual(booked / books["total"], 1, delta=1e-9)
            # 64 chips are allocated from the start to the end.
            self.assertAlmostEqual(books["total"] / (64 * summary["simulated_s"]), 1, delta=1e-9)

    def test_repeats_are_the_same_bytes(self):
        name = self.scenario()
        self.skerry("run", name, "--out", "a", "--again")
        self.skerry("run", name, "--out", "b", "--again")
        self.assertEqual(self.files("a"), self.files("b"))
        self.skerry("run", name, "--out", "a", "--again")
        self.assertEqual(self.files("a"), self.files("b"))

    def test_threads_and_jobs_do_not_change_a_bit(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        name = self.scenario()
        self.skerry("run", name, "--out", "a", "--jobs", 1, "--threads", 1)
        self.skerry("run", name, "--out", "b", "--jobs", 1, "--threads", 2)
        self.skerry("run", name, "--out", "c", "--jobs", 2, "--threads", 1)
        self.assertEqual(self.files("a"), self.files("b"))
        self.assertEqual(self.files("a"), self.files("c"))

    def test_the_same_scenario_again_prints_the_stored_table(self):
        name = self.scenario()
        first = self.skerry("run", name).stdout.splitlines()
        folder = next((self.folder / "results" / "runs").iterdir())
        before = (folder / "manifest.json").read_bytes()
        second = self.skerry("run", name).stdout.splitlines()
        self.assertEqual(first[:-1], second[:len(first) - 1])
        self.assertRegex(second[-1], r"^next: .*skerry run tiny.json --again$")
        self.assertEqual((folder / "manifest.json").read_bytes(), before)
        shown = self.skerry("show", f"results/runs/{folder.name}").stdout.splitlines()
        self.assertEqual(first[:-1], shown)
        self.skerry("run", name, "--again")
        self.assertNotEqual((folder / "manifest.json").read_bytes(), before)

    def test_show_formats(self):
        self.skerry("run", self.scenario(), "--out", "r", "--no-train")
        table = (self.folder / "r" / "table.csv").read_text(encoding="utf-8")
        self.assertEqual(self.skerry("show", "r", "--format", "csv").stdout, table)
        first, second = self.skerry("show", "r", "--format", "md").stdout.split("\n\n")
        for block in (first, second):   # with the money
            lines = block.strip("\n").split("\n")
            self.assertIn("| decoupled_diloco |", block)
            self.assertEqual({text.count("|") for text in lines}, {lines[0].count("|")})
        self.assertTrue(second.startswith("| protocol | USD |"))
        self.assertIn('"comparison"', self.skerry("show", "r", "--format", "json").stdout)
        self.skerry("show", "nothing", expect=2)

    def test_a_folder_that_holds_something_else_is_refused(self):
        name = self.scenario()
        (self.folder / "other").mkdir()
        (self.folder / "other" / "letter.txt").write_text("dear", encoding="utf-8")
        self.assertIn("not a Skerry run", self.skerry("run", name, "--out", "other", expect=2).stderr)
        self.assertEqual(set(self.files("other")), {"letter.txt"})
        self.skerry("run", name, "--out", "r", "--no-train")
        kept = self.files("r")
        self.assertIn("another scenario", self.skerry("run", name, "--out", "r", expect=2).stderr)
        self.assertEqual(self.files("r"), kept)
        self.skerry("run", name, "--out", name, expect=2)

    def test_a_target_never_reached_is_null(self):
        training = {"model": "quick", "warm_start_steps": 4, "evaluations": 4, "evaluation_windows": 4,
                    "target_loss": 1e-3}
        done = self.skerry("run", self.scenario(training=training), "--out", "r")
        self.assertIn("not reached", done.stdout)
        self.assertIn("n = 1, no interval", done.stdout)
        summary = self.read_json("r", "decoupled_diloco/seed-1", "summary.json")
        self.assertEqual(summary["target_loss"], 1e-3)
        self.assertIsNone(summary["time_to_loss_s"])
        self.assertIsNone(summary["tokens_to_loss"])
        with open(self.folder / "r" / "table.csv", encoding="utf-8") as file:
            self.assertEqual({row["time_to_loss_s"] for row in csv.DictReader(file)}, {""})

    def test_a_warning_stays_in_the_result(self):
        protocols = {"data_parallel": {}, "decoupled_diloco": {"quorum": 2}}  # grace waits for nobody
        self.skerry("run", self.scenario(protocols=protocols), "--out", "r", "--no-train")
        warnings = self.read_json("r", "decoupled_diloco/seed-1", "summary.json")["warnings"]
        self.assertTrue(any("grace" in warning for warning in warnings), warnings)


class Training(ProgramTest):
    def test_training_a_tape_again_equals_a_run_with_that_setting(self):
        name = self.scenario()
        setting = ("--set", "/training/inner/rate=0.002")
        self.skerry("run", name, "--out", "first")
        self.skerry("train", "first", *setting, "--out", "again")
        self.skerry("run", name, *setting, "--out", "whole")
        again, whole = self.files("again"), self.files("whole")
        self.assertEqual(again, whole)
        self.assertNotEqual(self.files("first")["decoupled_diloco/seed-1/loss.csv"],
                            again["decoupled_diloco/seed-1/loss.csv"])

    def test_other_pointers_would_change_the_tape(self):
        self.skerry("run", self.scenario(), "--out", "r", "--no-train")
        done = self.skerry("train", "r", "--set", "/protocols/decoupled_diloco/quorum=2", expect=2)
        self.assertIn("would change the tape", done.stderr)


class Interrupts(ProgramTest):
    def start(self, name, *words):
        run = subprocess.Popen([PROGRAM, "run", name, "--out", "r", *words], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        return run

    def children(self, run):
        """Pids of the running children, as soon as there are any."""
        for _ in range(100000):
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
                pids = [int(word) for word in file.read().split()]
            if pids:
                return pids
            self.assertIsNone(run.poll(), "ended before it had a child")
        return self.fail("no child")

    def long_scenario(self):
        return self.scenario(stop={"tokens": 6e11}, training=False)

    def test_a_signal_ends_the_run_and_leaves_nothing(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            name = self.long_scenario()
            run = self.start(name)
            pids = self.children(run)
            run.send_signal(number)
            run.communicate(timeout=60)
            self.assertEqual(run.returncode, code)
            self.assertEqual([path.name for path in self.folder.iterdir()], [name])
            for pid in pids:
                self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_a_child_that_dies_is_a_failure_and_the_others_go_on(self):
        run = self.start(self.long_scenario(), "--protocol", "data_parallel", "--jobs", "1")
        os.kill(self.children(run)[0], signal.SIGKILL)
        _, errors = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 4)
        self.assertIn("killed by signal 9", errors)
        manifest = self.read_json("r", "manifest.json")
        self.assertFalse(manifest["complete"])
        dead = manifest["failures"][0]["run"]
        self.assertEqual(len(manifest["failures"]), 1)
        self.assertEqual(self.read_json("r", dead, "summary.json")["status"], "failed")
        self.assertEqual(set(self.files(f"r/{dead}")), {"summary.json"})
        alive = ({"data_parallel/seed-1", "data_parallel/seed-2"} - {dead}).pop()
        self.assertNotEqual(self.read_json("r", alive, "summary.json")["status"], "failed")
