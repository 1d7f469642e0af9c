#!/usr/bin/env python3
"""What threads give to the training of one tape: the same bits first, then tokens a second.

    tests/bench/training_bench.py [--rounds 5] [--learners 8] [--skerry build/skerry]

Trains one tape of Decoupled DiLoCo with 1 and with 2 threads, in turns; the ratio of the medians of wall time is
that of tokens a second, warm start and evaluations included. Wants two idle cores.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WANTED = 1.8


def scenario(learners):
    return {"skerry": "scenario/1", "stop": {"tokens": 300 * 1000 * learners},
            "islands": {"pod": {"count": learners, "chips": 4, "step_s": 1}},
            "speed_spread": {"law": "uniform", "relative": 0.01, "drawn": "once_per_island"},
            "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1000},
            "protocols": {"decoupled_diloco": {}}, "training": {"model": "default", "evaluations": 4}}


def train(skerry, folder, threads, out):
    began = time.monotonic()
    subprocess.run([skerry, "train", "run", "--threads", str(threads), "--jobs", "1", "--out", out, "--again",
                    "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - began
    summary = json.loads((folder / out / "decoupled_diloco/seed-1/summary.json").read_text(encoding="utf-8"))
    return wall, summary["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--learners", type=int, default=8)
    parser.add_argument("--skerry", default=str(ROOT / "build/skerry"), help="the program")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skerry-bench-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / "s.json").write_text(json.dumps(scenario(chosen.learners)), encoding="utf-8")
        subprocess.run([chosen.skerry, "run", "s.json", "--out", "run", "--quiet"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        walls = {1: [], 2: []}
        for i in range(chosen.rounds):
            losses = []
            for threads in walls:
                wall, loss = train(chosen.skerry, folder, threads, f"again-{i}-{threads}")
                walls[threads].append(wall)
                losses.append(loss)
            assert losses[0] == losses[1], losses
    ratio = statistics.median(walls[1]) / statistics.median(walls[2])
    print(f"training  {chosen.learners} learners, 2 threads over 1: {ratio:.2f} times the tokens a second; "
          f"wanted {WANTED}")


if __name__ == "__main__":
    main()
