"""Runs the program from outside, in a folder of its own; shared by the tests here."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SKERRY", ROOT / "build" / "skerry")).resolve()

# Two learners, 30 steps each: 12e9 parameters at 16 bits are 24e9 bytes, 96 s over a 2 Gbit/s port.
TINY = {
    "skerry": "scenario/1",
    "seeds": 2,
    "stop": {"tokens": 6e7, "max_simulated_h": 24},
    "regions": {"us-west1": {"port_gbps": 5}, "us-east5": {"port_gbps": 2}},
    "islands": {
        "west": {"region": "us-west1", "device": "v5p", "count": 1, "chips": 32, "slices": 4, "step_s": 7},
        "east": {"region": "us-east5", "device": "v5p", "count": 1, "chips": 32, "slices": 4, "step_s": 7},
    },
    "charged_model": {"parameters": 12e9, "tokens_per_learner_step": 1e6},
    "protocols": {"data_parallel": {}, "decoupled_diloco": {}},
    "baseline": "data_parallel",
    "faults": {"chips": {"kind": "slice_down", "each": "slice", "mean_between_h": 4,
                         "away": {"mean_min": 1}}},
    "training": {"model": "quick", "warm_start_steps": 4, "evaluations": 4, "evaluation_windows": 4},
}


class ProgramTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def scenario(self, name="tiny", **changes):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({**TINY, **changes}), encoding="utf-8")
        return path.name

    def skerry(self, *words, expect=0):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def files(self, folder):
        """Every file below a folder but the manifest, as path → bytes."""
        top = self.folder / folder
        return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*"))
                if path.is_file() and path.name != "manifest.json"}

    def read_json(self, *parts):
        return json.loads(self.folder.joinpath(*parts).read_text(encoding="utf-8"))
