"""What `run` and `fit` share: the published cells and how one point of the study is simulated."""
import json
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BASE = ROOT / "scenarios/study/decoupled-table-1/base.json"

CHIPS = {"150k": 150000, "300k": 300000, "600k": 600000, "1.2M": 1200000, "2.4M": 2400000}
# Table 1 of arXiv 2604.21428: per cent, by number of learners ("none": one, without elasticity).
GOODPUT = {
    "none": [72, 57, 38, 27, 18],
    "1": [88, 80, 69, 58, 40],
    "2": [94, 88, 80, 70, 54],
    "4": [96, 93, 89, 82, 73],
    "8": [98, 96, 94, 88, 80],
    "16": [99, 98, 96, 93, 86],
}
UPTIME = {
    "none": [72, 57, 38, 27, 18],
    "1": [88, 81, 69, 59, 42],
    "2": [100, 97, 96, 90, 80],
    "4": [100, 100, 99, 99, 99],
    "8": [100, 100, 100, 100, 99],
    "16": [100, 100, 100, 100, 99],
}
ROW_OF = {"none": "none", "1": "elastic"}  # else decoupled


def simulate(skerry, chips, learners, rows, seeds, settings):
    """Goodput and uptime in per cent, one of each a seed, by row."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "run"
        command = [skerry, "run", str(BASE), "--no-tape", "--quiet", "--jobs", "1", "--out", str(out),
                   "--seeds", str(seeds),
                   "--set", f"/islands/pod/chips_total={chips}",
                   "--set", f"/islands/pod/count={learners}"]
        for row in rows:
            command += ["--protocol", row]
        for pointer, value in settings.items():
            command += ["--set", f"{pointer}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        found = {}
        for row in rows:
            summaries = [json.loads((out / row / f"seed-{s}" / "summary.json").read_text())
                         for s in range(1, seeds + 1)]
            found[row] = {metric: [100 * s[metric] for s in summaries]
                          for metric in ("goodput", "uptime")}
        return found


def program():
    built = ROOT / "build/skerry"
    skerry = str(built) if built.exists() else shutil.which("skerry")
    if skerry is None:
        raise SystemExit("build/skerry is not there: tools/build makes it")
    return skerry
