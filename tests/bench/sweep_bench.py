#!/usr/bin/env python3
"""What a sweep costs beside its runs: correctness first, then time.

    tests/bench/sweep_bench.py [--points 10000] [--skerry build/skerry]

overhead   CPU of a sweep of 200 points less that of `skerry run` with the same seeds, per point
use        wall time inside children over jobs x wall time of the sweep, points of 50 ms and more
resume     a finished sweep of --points points: --status (reads the design and all records), and the
           same command once more (and writes the tables again); the most memory either takes
"""
import argparse
import csv
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = {
    "skerry": "scenario/1", "stop": {"simulated_h": 4},
    "regions": {"us-west1": {"port_gbps": 5}, "us-east5": {"port_gbps": 2}},
    "islands": {"west": {"region": "us-west1", "chips": 32, "slices": 4, "step_s": 7},
                "east": {"region": "us-east5", "chips": 32, "slices": 4, "step_s": 7}},
    "charged_model": {"parameters": 12e9, "tokens_per_learner_step": 1e6},
    "protocols": {"data_parallel": {}, "decoupled_diloco": {}},
    "faults": {"slices": {"kind": "slice_down", "each": "slice", "mean_between_h": 4, "away": {"mean_min": 1}}},
    "training": False,
}


class Bench:
    def __init__(self, skerry, folder):
        self.skerry, self.folder = skerry, folder

    def call(self, *words):
        """Wall seconds, CPU seconds of the program and its children, and its own peak memory (MB)."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        subprocess.run([self.skerry, *map(str, words)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, cpu, after.ru_maxrss / 1024

    def sweep(self, name, hours, seeds, axes=None):
        scenario = {**SCENARIO, "stop": {"simulated_h": hours}}
        axes = axes or {"hours": {"at": "/stop/simulated_h", "values": [hours]}}
        document = {"skerry": "sweep/1", "scenario": scenario, "axes": axes, "seeds": seeds}
        (self.folder / f"{name}.sweep.json").write_text(json.dumps(document), encoding="utf-8")
        (self.folder / f"{name}.json").write_text(json.dumps(scenario), encoding="utf-8")

    def overhead(self):
        self.sweep("o", 4, 100)
        best = []
        for i in range(3):
            run = self.call("run", "o.json", "--seeds", 100, "--no-tape", "--out", f"run-{i}")
            sweep = self.call("sweep", "o.sweep.json", "--quiet", "--out", f"sweep-{i}")
            best.append(((sweep[1] - run[1]) / 200, sweep[1] / 200, (sweep[0] - run[0]) / 200))
        with open(self.folder / "sweep-0" / "table.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                path = self.folder / "run-0" / row["protocol"] / f"seed-{row['seed']}" / "summary.json"
                alone = json.loads(path.read_text(encoding="utf-8"))
                assert float(row["tokens_per_s"]) == alone["tokens_per_s"], row
        cpu, whole, wall = sorted(best)[1]
        print(f"overhead  {1e3 * cpu:.2f} ms CPU a point beside `run` ({1e3 * whole:.1f} ms in all); "
              f"{1e3 * wall:.2f} ms wall; allowed 3 ms")

    def use(self):
        self.sweep("u", 30, 500)
        wall, _, _ = self.call("sweep", "u.sweep.json", "--quiet", "--out", "use")
        lines = (self.folder / "use" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
        inside = sum(json.loads(line)["wall_s"] for line in lines)
        jobs = len(os.sched_getaffinity(0))
        print(f"use       {inside / (jobs * wall):.1%} of {jobs} cores, {len(lines)} points of "
              f"{1e3 * inside / len(lines):.0f} ms; wanted 95 %")

    def resume(self, points):
        count = points // 10
        axes = {"port": {"at": "/regions/*/port_gbps", "log_range": {"from": 1, "to": 100, "count": count}}}
        self.sweep("r", 0.2, 5, axes)
        self.call("sweep", "r.sweep.json", "--quiet", "--out", "resume")
        before = {p.name: p.read_bytes() for p in (self.folder / "resume").glob("table*")}
        status = self.call("sweep", "r.sweep.json", "--status", "--out", "resume")
        again = self.call("sweep", "r.sweep.json", "--quiet", "--out", "resume")
        assert before == {p.name: p.read_bytes() for p in (self.folder / "resume").glob("table*")}
        print(f"resume    {10 * count} points: {status[0]:.2f} s to know what is missing, {again[0]:.2f} s with all "
              f"tables written again, {again[2]:.0f} MB; allowed 2 s and 300 MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10000, help="of the resume part")
    parser.add_argument("--skerry", type=pathlib.Path, default=ROOT / "build" / "skerry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.skerry.resolve(), pathlib.Path(folder))
        bench.overhead()
        bench.use()
        bench.resume(options.points)


main()
