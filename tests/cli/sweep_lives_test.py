"""Sweeps: what survives, and that nothing but the design decides a byte of the tables.

SKERRY_KILLS=100 kills more often than the default of 10 times.
"""
import json
import os
import random
import resource
import signal
import socket
import subprocess
import unittest

from program import PROGRAM
from sweeps import BASE, LONG_H, TABLES, SweepTest, sweep


class Lives(SweepTest):
    """One sweep, killed, sharded, grown, failed: the same tables."""

    def whole(self):
        self.skerry("sweep", self.write(), "--out", "whole")
        return self.tables("whole")

    def start(self, *words):
        run = subprocess.Popen([PROGRAM, "sweep", *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        return run

    def test_the_order_of_finishing_changes_no_byte(self):
        whole = self.whole()
        self.skerry("sweep", "s.sweep.json", "--out", "one", "--jobs", 1)
        self.assertEqual(self.tables("one"), whole)
        # The same records backwards.
        path = self.folder / "one" / "runs.jsonl"
        path.write_text("".join(reversed(path.read_text(encoding="utf-8").splitlines(True))), encoding="utf-8")
        self.skerry("sweep", "s.sweep.json", "--out", "one")
        self.assertEqual(self.tables("one"), whole)
        self.assertEqual(len(self.records("one")), 36)

    def test_kill_9_at_random_moments_loses_nothing(self):
        whole = self.whole()
        moments = random.Random(20240601)
        kills = int(os.environ.get("SKERRY_KILLS", "10"))
        for round_ in range(max(1, kills // 5)):
            folder = f"killed-{round_}"
            before = 0
            for _ in range(5):
                run = self.start("s.sweep.json", "--out", folder)
                try:
                    run.wait(timeout=moments.uniform(0.0, 0.4))
                except subprocess.TimeoutExpired:
                    pass
                run.kill()
                run.communicate(timeout=60)
                path = self.folder / folder / "runs.jsonl"
                text = path.read_text(encoding="utf-8") if path.exists() else ""
                after = text.count("\n")
                self.assertGreaterEqual(after, before)
                before = after
            self.skerry("sweep", "s.sweep.json", "--out", folder)
            self.assertEqual(self.tables(folder), whole)
            ids = [record["id"] for record in self.records(folder)]
            self.assertEqual(len(ids), len(set(ids)), "a finished point ran again")

    def test_a_half_written_record_is_done_again(self):
        whole = self.whole()
        path = self.folder / "whole" / "runs.jsonl"
        lines = path.read_bytes().splitlines(True)
        for cut in (1, 20, len(lines[-1]) // 2, len(lines[-1]) - 1):
            path.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
            self.assertEqual(self.counts("s.sweep.json", "--out", "whole", "--dry-run")["missing"], 1)
            self.skerry("sweep", "s.sweep.json", "--out", "whole")
            self.assertEqual(self.tables("whole"), whole)
            self.assertEqual(len(self.records("whole")), 36)

    def test_two_shards_are_one_run(self):
        whole = self.whole()
        runs = [self.start("s.sweep.json", "--out", "parts", "--shard", f"{i}/2") for i in (1, 2)]
        for run in runs:
            output = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 0, output)
        self.assertEqual(self.tables("parts"), whole)
        names = {path.name for path in (self.folder / "parts").iterdir()}
        host = socket.gethostname()
        self.assertEqual(names, {f"runs-1-of-2-{host}.jsonl", f"runs-2-of-2-{host}.jsonl", "manifest.json",
                                 "sweep.json", *TABLES})
        self.assertEqual(len(self.records("parts")), 36)
        self.assertEqual(self.counts("s.sweep.json", "--out", "parts", "--status")["ok"], 36)

    def test_a_design_that_grew_runs_only_the_new_points(self):
        self.whole()
        axes = sweep()["axes"]
        axes["port"]["values"] = [1, 10, 2, 5]
        self.write(axes=axes, seeds=3)
        dry = self.counts("s.sweep.json", "--out", "whole", "--dry-run")
        # 4 ports x 3 steps x 2 rows x 3 seeds, 36 of them are there.
        self.assertEqual((dry["points"], dry["ok"], dry["missing"]), (72, 36, 36))
        self.skerry("sweep", "s.sweep.json", "--out", "whole")
        self.assertEqual(len(self.records("whole")), 72)
        self.skerry("sweep", "s.sweep.json", "--out", "fresh")
        self.assertEqual(self.tables("whole"), self.tables("fresh"))

    def test_a_signal_keeps_what_has_finished(self):
        self.write(seeds=40)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            folder = f"signal-{code}"
            run = self.start("s.sweep.json", "--out", folder)
            path = self.folder / folder / "runs.jsonl"
            while not path.exists() or path.stat().st_size == 0:
                self.assertIsNone(run.poll())
            run.send_signal(number)
            _, errors = run.communicate(timeout=60)
            self.assertEqual(run.returncode, code, errors)
            self.assertIn("points are kept", errors)
            self.assertEqual(len(self.rows(folder)), len(self.records(folder)))

    def test_one_point_of_twenty_that_fails(self):
        axes = {"hours": {"at": "/stop/simulated_h", "values": [*range(1, 10), LONG_H]}}
        name = self.write(axes=axes, seeds=1, skip=[{"protocol": "data_parallel", "hours": LONG_H}])
        done = self.skerry("sweep", name, "--out", "s", "--limit", 2, expect=5)
        self.assertIn("1 point failed", done.stdout)
        rows = self.rows("s")
        self.assertEqual([r["status"] for r in rows], ["ok"] * 18 + ["failed"])
        failed = next(r for r in self.records("s") if r["status"] == "failed")
        self.assertIn("ran longer than the limit of 2 s", failed["failure"])
        log = (self.folder / "s" / failed["log"]).read_text(encoding="utf-8")
        self.assertIn("ran longer", log)
        self.assertTrue(log.startswith(f"hours = {LONG_H}, decoupled_diloco, seed 1\n"), log)
        dry = self.counts(name, "--out", "s", "--dry-run", "--retry-failed")
        self.assertEqual((dry["missing"], dry["failed"], dry["to_run"]), (0, 1, 1))
        self.assertEqual(self.counts(name, "--out", "s", "--dry-run")["to_run"], 0)
        # A failed point stays so until it is asked for again.
        before = len(self.records("s"))
        self.skerry("sweep", name, "--out", "s", expect=5)
        self.assertEqual(len(self.records("s")), before)
        self.skerry("sweep", name, "--out", "s", "--retry-failed", "--limit", 1, expect=5)
        self.assertEqual(len(self.records("s")), before + 1)

    def test_a_point_that_ran_at_last_leaves_no_log(self):
        axes = {"hours": {"at": "/stop/simulated_h", "values": [40]}}
        name = self.write(axes=axes, seeds=1)
        self.skerry("sweep", name, "--out", "s", "--limit", 0.001, expect=5)
        self.assertEqual(len(list((self.folder / "s" / "failed").iterdir())), 2)
        self.skerry("sweep", name, "--out", "s", "--retry-failed")
        self.assertFalse((self.folder / "s" / "failed").exists())

    def test_tapes_that_are_asked_for_later_are_made(self):
        self.write(axes={"port": {"at": "/regions/*/port_gbps", "values": [1, 2]}}, seeds=1)
        self.skerry("sweep", "s.sweep.json", "--out", "s")
        tables = self.tables("s")
        self.write(axes={"port": {"at": "/regions/*/port_gbps", "values": [1, 2]}}, seeds=1, keep=["tape"])
        self.assertEqual(self.counts("s.sweep.json", "--out", "s", "--status")["missing"], 4)
        self.skerry("sweep", "s.sweep.json", "--out", "s")
        self.assertEqual(len(list((self.folder / "s" / "tapes").iterdir())), 4)
        self.assertEqual(self.tables("s"), tables)
        self.assertEqual(self.counts("s.sweep.json", "--out", "s", "--status")["missing"], 0)
        self.write(axes={"port": {"at": "/regions/*/port_gbps", "values": [1, 2]}}, seeds=1, keep=["timeline"])
        self.assertEqual(self.counts("s.sweep.json", "--out", "s", "--status")["missing"], 4)
        self.skerry("sweep", "s.sweep.json", "--out", "s")
        timelines = list((self.folder / "s" / "tapes").glob("*.timeline.json"))
        self.assertEqual(len(timelines), 4)
        self.assertTrue(json.loads(timelines[0].read_text(encoding="utf-8"))["traceEvents"])
        self.assertEqual(self.tables("s"), tables)
        half = self.folder / "s" / "tapes" / f"{'0' * 16}.jsonl.1-of-1-{socket.gethostname()}-7"
        half.write_text("half", encoding="utf-8")
        next((self.folder / "s" / "tapes").glob("*.jsonl")).unlink()
        self.skerry("sweep", "s.sweep.json", "--out", "s")
        self.assertFalse(half.exists())
        self.assertEqual(len(list((self.folder / "s" / "tapes").iterdir())), 8)

    def test_damaged_records_are_run_again(self):
        whole = self.whole()
        path = self.folder / "whole" / "runs.jsonl"
        lines = path.read_bytes().splitlines(True)
        holed = lines[3][:100] + bytes(50) + lines[3][150:]
        typed = lines[5].replace(b'"goodput":', b'"goodput":"high","was":')
        garbled = lines[7].replace(b'"seed":', b'"seed";', 1)
        path.write_bytes(b"".join(lines[:3] + [holed, lines[4], typed, lines[6], garbled] + lines[8:]))
        done = self.skerry("sweep", "s.sweep.json", "--out", "whole")
        self.assertIn("3 damaged records in whole count as missing", done.stderr)
        self.assertEqual(self.tables("whole"), whole)
        self.assertEqual(path.read_bytes().count(b"\n"), 36 + 3)
        os.mkfifo(self.folder / "whole" / "runs-f.jsonl")
        self.assertEqual(self.counts("s.sweep.json", "--out", "whole", "--status")["missing"], 0)

    def test_nothing_is_written_where_nothing_is_new(self):
        whole = self.whole()
        folder = self.folder / "whole"
        stamps = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
        done = self.skerry("sweep", "s.sweep.json", "--out", "whole")
        self.assertEqual({path.name: path.stat().st_mtime_ns for path in folder.iterdir()}, stamps)
        self.assertTrue(done.stdout.startswith(whole["table.txt"].decode()))
        (folder / "table.csv").write_text("mine", encoding="utf-8")
        self.skerry("sweep", "s.sweep.json", "--out", "whole")
        self.assertEqual(self.tables("whole"), whole)

    def test_another_study_of_the_same_name_is_refused(self):
        self.whole()
        kept = self.files("whole")
        other = {**BASE, "regions": {"a": {"port_gbps": 9}}, "stop": {"simulated_min": 9},
                 "islands": {"i": {"region": "a", "chips": 4, "step_s": 2}},
                 "charged_model": {"parameters": 5e9, "tokens_per_learner_step": 7e5}}
        del other["faults"]
        for changes in ({"axes": {"c": {"at": "/islands/*/chips", "values": [16, 32]}}},
                        {"scenario": other, "axes": {"port": sweep()["axes"]["port"]}}):
            error = self.skerry("sweep", self.write(**changes), "--out", "whole", expect=2).stderr
            self.assertIn("another study with the name 's'", error)
            self.assertEqual(self.files("whole"), kept)
        edited = {**BASE, "stop": {"simulated_h": 1}}
        self.skerry("sweep", self.write(scenario=edited), "--out", "whole")

    def test_a_crash_is_recorded_and_fail_fast_stops(self):
        axes = {"hours": {"at": "/stop/simulated_h", "values": [LONG_H, 1, 2, 3]}}
        self.write(axes=axes, seeds=1)
        for words, left in (((), 6), (("--fail-fast",), 0)):
            folder = "f" + str(left)
            run = self.start("s.sweep.json", "--out", folder, "--jobs", 1, *words)
            for _ in range(2 if not words else 1):
                os.kill(self.long_child(run, folder), signal.SIGKILL)
            _, errors = run.communicate(timeout=300)
            self.assertEqual(run.returncode, 5, errors)
            states = [r["status"] for r in self.records(folder)]
            self.assertEqual(states.count("ok"), left)
            self.assertGreaterEqual(states.count("failed"), 1)
            self.assertIn("killed by signal 9", self.records(folder)[0]["failure"])

    def long_child(self, run, folder):
        """The one running child, once it is another than the last one that was killed."""
        known = getattr(self, "killed", set())
        for _ in range(1000000):
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as file:
                pids = [int(word) for word in file.read().split()]
            fresh = [pid for pid in pids if pid not in known]
            if fresh:
                self.killed = known | {fresh[0]}
                return fresh[0]
            self.assertIsNone(run.poll(), f"{folder} ended without a child")
        return self.fail("no child")

    def test_a_full_disk_is_an_error_that_keeps_what_is_there(self):
        whole = self.whole()
        limit = (self.folder / "whole" / "runs.jsonl").stat().st_size // 2

        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = subprocess.run([PROGRAM, "sweep", "s.sweep.json", "--out", "full"], cwd=self.folder,
                              capture_output=True, text=True, timeout=300, preexec_fn=no_room)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("runs.jsonl: File too large", done.stderr)
        self.assertIn("finished points are kept in full", done.stderr)
        kept = self.records("full")
        self.assertGreater(len(kept), 10)
        self.skerry("sweep", "s.sweep.json", "--out", "full")
        self.assertEqual(self.tables("full"), whole)
        self.assertEqual(self.records("full")[:len(kept)], kept)

    def test_a_folder_that_cannot_be_written(self):
        name = self.write()
        (self.folder / "file").write_text("", encoding="utf-8")
        self.assertIn("cannot be written",
                      self.skerry("sweep", name, "--out", "file/below", expect=2).stderr)
        self.assertIn("cannot be written", self.skerry("sweep", name, "--out", "/proc/here", expect=2).stderr)

    def test_a_folder_of_something_else_is_refused(self):
        self.whole()
        (self.folder / "other").mkdir()
        (self.folder / "other" / "letter.txt").write_text("dear", encoding="utf-8")
        self.assertIn("not a sweep",
                      self.skerry("sweep", "s.sweep.json", "--out", "other", expect=2).stderr)
        self.assertEqual(set(self.files("other")), {"letter.txt"})
        kept = self.files("whole")
        error = self.skerry("sweep", self.write("t"), "--out", "whole", expect=2).stderr
        self.assertIn("is the folder of the sweep 's', this one is 't'", error)
        self.assertEqual(self.files("whole"), kept)
        self.skerry("sweep", "s.sweep.json", "--out", "s.sweep.json", expect=2)

    def test_one_process_a_file(self):
        self.write(seeds=200)
        first = self.start("s.sweep.json", "--out", "s")
        while not (self.folder / "s" / "sweep.json").exists():
            self.assertIsNone(first.poll())
        error = self.skerry("sweep", "s.sweep.json", "--out", "s", expect=2).stderr
        self.assertIn("is being written by another", error)
        first.kill()
        first.communicate(timeout=60)

    def test_an_output_that_is_full_is_no_bug(self):
        name = self.write()
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "sweep", name, "--dry-run"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output cannot be written", done.stderr)

    def test_dry_run_and_status_write_nothing(self):
        name = self.write()
        self.assertEqual(self.counts(name, "--dry-run")["missing"], 36)
        self.assertIn("nothing has run yet", self.skerry("sweep", name, "--status", expect=2).stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], [name])


if __name__ == "__main__":
    unittest.main()
