"""Tapes trained again: same settings, edited tapes, training that stops and goes on."""
import csv
import re
import shutil

from program import ProgramTest

ROWS = ("data_parallel", "decoupled_diloco")
TRAINING = {"model": "quick", "warm_start_steps": 4, "evaluations": 8, "evaluation_windows": 4}


class Replay(ProgramTest):
    def run_once(self, **training):
        name = self.scenario(training={**TRAINING, **training}, seeds=1)
        self.skerry("run", name, "--out", "r", "--quiet")

    def test_the_same_settings_give_the_bits_of_the_live_run(self):
        self.run_once(wire="int4", error_feedback=True, shards="contiguous", mixing_alpha=0.25)
        self.assertIn("changes nothing", self.skerry("train", "r", expect=2).stderr)
        self.skerry("train", "r", "--out", "again")
        self.assertEqual(self.files("r"), self.files("again"))
        self.assertEqual(self.read_json("again", "manifest.json")["tapes_from"], "r")

    def test_an_edited_tape_is_trained_or_refused_with_its_line(self):
        self.run_once()
        tape = self.folder / "r" / "decoupled_diloco" / "seed-1" / "tape.jsonl"
        lines = tape.read_text(encoding="utf-8").splitlines(keepends=True)
        tape.write_text(re.sub('"weight":[^,]*,', '"weight":1,', "".join(lines), count=1), encoding="utf-8")
        self.skerry("train", "r", "--out", "weighed")
        before, after = (self.read_json(run, "decoupled_diloco", "seed-1", "summary.json")
                         for run in ("r", "weighed"))
        self.assertNotEqual(before["loss"]["final"], after["loss"]["final"])
        self.assertNotEqual(before["tape_fingerprint"], after["tape_fingerprint"])

        step = next(i for i, line in enumerate(lines) if line.startswith('{"f":"outer_step"'))
        date = re.search('"t":[^,]*,', lines[step]).group()
        taken = next(i for i, line in enumerate(lines) if line.startswith('{"f":"overwrite"'))
        early = re.sub('"t":[^,]*,', date, lines.pop(taken))
        tape.write_text("".join([*lines[:step], early, *lines[step:]]), encoding="utf-8")
        done = self.skerry("train", "r", "--out", "moved", expect=2)
        self.assertIn(f"tape.jsonl: line {step + 1}: the tape does not fit together: an overwrite "
                      "before its outer step", done.stderr)
        self.assertFalse((self.folder / "moved").exists())
        tape.write_text("".join([*lines, lines[1]]), encoding="utf-8")
        self.assertIn("something follows 'end'", self.skerry("train", "r", "--out", "moved", expect=2).stderr)

        tape.write_text("".join(lines).replace("tape/1", "tape/2", 1), encoding="utf-8")
        self.assertIn("tape.jsonl: line 1: ", self.skerry("train", "r", "--out", "other", expect=2).stderr)

    def test_outer_steps_say_what_was_merged(self):
        self.run_once()
        with open(self.folder / "r" / "decoupled_diloco" / "seed-1" / "outer_steps.csv",
                  encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        merged = [row for row in rows if row["merged_norm"]]
        self.assertGreater(len(merged), len(rows) // 2)
        for row in merged:
            self.assertGreater(float(row["mean_norm"]), 0)
            if row["participants"] == "2":
                self.assertLessEqual(abs(float(row["mean_cosine"])), 1 + 1e-9)
                self.assertAlmostEqual(float(row["smallest_weight_share"]) +
                                       float(row["largest_weight_share"]), 1, delta=1e-12)
            if row["stale_steps"]:
                self.assertLessEqual(float(row["stale_steps"]), float(row["most_stale_steps"]))
        self.skerry("train", "r", "--set", "/training/wire=int1", "--out", "one-bit")
        ends = [self.read_json(run, "decoupled_diloco", "seed-1", "summary.json")["loss"]["final"]
                for run in ("r", "one-bit")]
        self.assertLess(*ends)

    def test_a_wire_of_no_known_format_is_warned_of_and_not_rounded(self):
        protocols = {"decoupled_diloco": {"wire": 14.4}}
        name = self.scenario(training=TRAINING, seeds=1, protocols=protocols, baseline="decoupled_diloco")
        self.skerry("run", name, "--out", "r")
        warnings = self.read_json("r", "decoupled_diloco", "seed-1", "summary.json")["warnings"]
        self.assertTrue(any(w.startswith("W34") and "14.4 bits" in w for w in warnings), warnings)
        self.skerry("train", "r", "--set", "/training/wire=fp32", "--out", "whole")
        loss = "decoupled_diloco/seed-1/loss.csv"
        self.assertEqual(self.files("r")[loss], self.files("whole")[loss])
        self.assertFalse(any("W34" in w for w in self.read_json(
            "whole", "decoupled_diloco", "seed-1", "summary.json")["warnings"]))


class Stop(ProgramTest):
    def test_training_stops_at_a_loss_and_goes_on_to_the_same_bits(self):
        name = self.scenario(training={**TRAINING, "wire": "int4", "error_feedback": True}, seeds=1)
        self.skerry("run", name, "--out", "whole", "--quiet")
        losses = {}
        for row in ROWS:
            with open(self.folder / "whole" / row / "seed-1" / "loss.csv", encoding="utf-8") as file:
                losses[row] = [float(point["loss"]) for point in csv.DictReader(file)]
        level = max(losses[row][3] for row in ROWS)
        self.skerry("train", "whole", "--set", f"/training/stop_at_loss={level!r}", "--out", "part")
        stopped = 0
        for row in ROWS:
            summary = self.read_json("part", row, "seed-1", "summary.json")
            points = next(i for i, loss in enumerate(losses[row]) if loss <= level) + 1
            self.assertEqual(summary["loss"]["final"], losses[row][points - 1])
            self.assertTrue(any(w.startswith("W37") for w in summary["warnings"]))
            self.assertTrue((self.folder / "part" / row / "seed-1" / "snapshot.bin").is_file())
            stopped += points < len(losses[row])
        self.assertEqual(stopped, 2)
        self.skerry("train", "part", "--resume", "--out", "rest", "--threads", 2, "--jobs", 1)
        rest, whole = self.files("rest"), self.files("whole")
        for found in (rest, whole):  # says whether it was a command that changed the settings
            del found["comparison.json"]
        self.assertEqual(rest, whole)
        self.assertEqual(self.read_json("rest", "manifest.json")["tapes_from"], "part")

    def test_what_cannot_go_on_is_refused(self):
        name = self.scenario(training={**TRAINING, "stop_at_loss": 50}, seeds=1)
        self.skerry("run", name, "--out", "part", "--quiet")
        done = self.skerry("train", "part", "--resume", "--set", "/training/inner/rate=0.01",
                           "--out", "r", expect=2)
        self.assertIn("snapshot.bin: is a snapshot of training with other settings", done.stderr)
        done = self.skerry("train", "part", "--resume", "--set", "/training/model/width=16",
                           "--out", "r", expect=2)
        self.assertIn("snapshot.bin: is a snapshot of another model", done.stderr)
        rows = [self.folder / "part" / row / "seed-1" / "snapshot.bin" for row in ROWS]
        kept = rows[0].read_bytes()
        shutil.copy(rows[1], rows[0])
        done = self.skerry("train", "part", "--resume", "--out", "r", expect=2)
        self.assertIn("is a snapshot of decoupled_diloco, seed 1; wanted data_parallel", done.stderr)
        rows[0].write_bytes(kept[:-1])
        done = self.skerry("train", "part", "--resume", "--out", "r", expect=2)
        self.assertIn("is damaged", done.stderr)
        for row in rows:
            row.unlink()
        done = self.skerry("train", "part", "--resume", "--out", "r", expect=2)
        self.assertIn("holds no snapshot.bin", done.stderr)
        self.assertFalse((self.folder / "r").exists())
