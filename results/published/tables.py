"""What the tables of bandwidths share: the program, its `solve` and `run`, and the form of table.csv."""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDY = ROOT / "scenarios/study"
METRIC = "compute_utilization_whole_periods"
PORTS = "/regions/*/port_gbps"


def options(doc, here):
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    parser.add_argument("--out", type=pathlib.Path, default=here, help="folder of the tables")
    parser.add_argument("--skerry", default=None, help="the program (default: build/skerry)")
    return parser


def parse(parser):
    found = parser.parse_args()
    found.skerry = found.skerry or program()
    return found


def program():
    built = ROOT / "build/skerry"
    skerry = str(built) if built.exists() else shutil.which("skerry")
    if skerry is None:
        raise SystemExit("build/skerry is not there: tools/build makes it")
    return skerry


def call(command, allowed=(0,)):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done


def settings(values):
    words = []
    for pointer, value in values.items():
        words += ["--set", f"{pointer}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def solve(skerry, scenario, targets, values=None, rows=(), metric=METRIC, vary=PORTS,
          within=("--between", "0.001:20000"), tolerance=1e-4, jobs=1, more=()):
    """Where each row's metric reaches each target → {row: {target: cell}}. A cell has `x`, the smallest value
    that reached it, `x_below`, the largest that did not, and `metric`; a refused one `reason` instead."""
    command = [skerry, "solve", scenario, "--vary", vary, *within, "--metric", metric, "--json", "--quiet",
               "--tolerance", tolerance, "--jobs", jobs, *more, *settings(values or {})]
    for row in rows:
        command += ["--protocol", row]
    done = call([*command, "--target", *targets], allowed=(0, 5))
    return {row["protocol"]: {cell["target"]: cell for cell in row["cells"]}
            for row in json.loads(done.stdout)["rows"]}


def run(skerry, scenario, values=None, rows=(), jobs=1):
    """→ {row: its summary}, of seed 1."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "run"
        command = [skerry, "run", scenario, "--no-tape", "--quiet", "--jobs", jobs, "--out", out,
                   *settings(values or {})]
        for row in rows:
            command += ["--protocol", row]
        call(command)
        return {path.parents[1].name: json.loads(path.read_text(encoding="utf-8"))
                for path in sorted(out.glob("*/seed-1/summary.json"))}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    half_written = path.with_name(path.name + ".part")
    with half_written.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    half_written.replace(path)


def line(cell, published, found, tolerance, within, kind="predicted", **more):
    """`found`: a cell of solve(). The bracket stands in low and high."""
    return {"cell": cell, "published": published, "skerry": f"{found['x']:.6g}",
            "low": f"{found['x_below']:.6g}", "high": f"{found['x']:.6g}", "n": 1, "kind": kind,
            "tolerance": tolerance, "within": "yes" if within else "no", **more}


# ------------------------------------------------------------------------- tables read off a grid of bandwidths

# 50 points, equally spaced in the logarithm, 0.1 to 1000 Gbit/s: 20.7 % from one to the next.
GRID = [0.1 * 10 ** (4 * i / 49) for i in range(50)]


def grid_point(found):
    """Index of the last point of the grid whose utilization is below the target."""
    inside = [gbps for gbps in GRID if found["x_below"] < gbps < found["x"]]
    if inside:
        raise SystemExit(f"{inside[0]:g} Gbit/s lies within the bracket {found['x_below']}:{found['x']}")
    below = [i for i, gbps in enumerate(GRID) if gbps <= found["x_below"]]
    if not below:
        raise SystemExit(f"{found['x']} Gbit/s lies below the grid")
    return below[-1]


def steps_off(printed, index):
    """Grid steps from the nearest point that prints so: rounded to two decimals, then to one (86.851 as 86.8,
    2.947 as 3.0)."""
    candidates = [i for i, gbps in enumerate(GRID) if round(round(gbps, 2), 1) == printed]
    if not candidates:
        raise SystemExit(f"{printed} is no point of the grid")
    return min((index - i for i in candidates), key=abs)


def grid_line(cell, printed, found, kind):
    off = steps_off(printed, grid_point(found))
    return line(cell, printed, found, "one grid step", abs(off) <= 1, kind,
                grid=f"{GRID[grid_point(found)]:.4g}", steps_off=off)


def count_grid(lines):
    """→ identical cells, and the names of those more than one step off."""
    identical = sum(entry["steps_off"] == 0 for entry in lines)
    return identical, [f"{entry['cell']} {entry['steps_off']:+d}" for entry in lines
                       if abs(entry["steps_off"]) > 1]
