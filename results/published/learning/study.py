"""What the studies share: a sweep run and read, differences paired by seed, and claims with their interval."""
import csv
import json
import math
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SWEEPS = ROOT / "scenarios/study/learning"
MODELS = QUICK, DEFAULT = "quick", "default"
# 97.5 % quantiles of Student's t by degrees of freedom.
T_975 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


class Study:
    """The program, how large the studies are, where they work, and what they have found so far."""

    def __init__(self, skerry, work, jobs, seeds, small, models):
        self.skerry, self.work, self.jobs, self.seeds, self.small = skerry, work, jobs, seeds, small
        self.claims, self.points, self.learning, self.curves = [], [], [], []
        self.seconds = {}
        self.models = [QUICK] if small else models

    def sweep(self, study, name, label="", values=None, skip=(), few=(), shorten=0.2):
        """Runs scenarios/study/learning/NAME.sweep.json with --set VALUES → its points. Small: two seeds, the
        small model, `shorten` of the tokens, and without the combinations of `few`."""
        document = json.loads((SWEEPS / f"{name}.sweep.json").read_text(encoding="utf-8"))
        scenario, values = document["scenario"], dict(values or {})
        seeds = min(scenario["seeds"], self.seeds)
        skips = [*document.get("skip", []), *(one for one in skip if DEFAULT in self.models or "model" not in one)]
        if "model" in document["axes"]:
            models = values.pop("model", None) or document["axes"]["model"]["values"]
            document["axes"]["model"]["values"] = [one for one in models if one["preset"] in self.models]
        if self.small:
            scenario["stop"]["tokens"] *= shorten
            skips += few
        scenario["seeds"] = scenario["training"]["seeds"] = seeds
        corpus = scenario["training"]["corpus"]
        if "/" in corpus:
            scenario["training"]["corpus"] = str((SWEEPS / corpus).resolve())
        if skips:
            document["skip"] = skips
        folder = self.work / (name + label)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.sweep.json"
        file.write_text(json.dumps(document, indent=1), encoding="utf-8")
        command = [self.skerry, "sweep", file, "--out", folder / "sweep", "--jobs", self.jobs, "--quiet"]
        for pointer, value in values.items():
            command += ["--set", f"{pointer}={json.dumps(value)}"]
        self.call(study, command)
        with open(folder / "sweep/table.csv", encoding="utf-8", newline="") as table:
            return self.read(study, name + label, list(document["axes"]), csv.DictReader(table))

    def call(self, study, command):
        began = time.monotonic()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}{done.stdout}")
        self.seconds[study] = self.seconds.get(study, 0.0) + time.monotonic() - began

    def read(self, study, name, axes, lines):
        """→ {(model, row, other axes …): {seed: line}}; each point is kept for points.csv."""
        found = {}
        for line in lines:
            if line["status"] != "ok":
                raise SystemExit(f"{name}: a point of {line['protocol']} is '{line['status']}'")
            model = json.loads(line["model"])["preset"] if "model" in axes else QUICK
            others = [line[axis] for axis in axes if axis != "model"]
            found.setdefault((model, line["protocol"], *others), {})[int(line["seed"])] = line
            setting = " ".join(f"{axis}={line[axis]}" for axis in axes if axis != "model")
            self.point(study, name, model, line["protocol"], setting, line)
        return found

    def point(self, study, name, model, row, setting, line):
        self.points.append({
            "study": study, "sweep": name, "model": model, "protocol": row, "setting": setting,
            "seed": line["seed"], "loss": line["loss.final"], "goodput": line["goodput"],
            "merged_share": line["merged_share"], "participants": line["participants.mean"],
            "outer_rounds": line["loss.outer_rounds"], "simulated_s": line["simulated_s"],
            "tokens": line["tokens"]})

    def claim(self, study, what, model, values, unit, low=None, high=None, why=""):
        """Books mean and 95 % interval (Student's t over seeds). With a band: met when the whole interval lies in
        it, open when only part of it does. Ratios (unit ×): of their logarithms."""
        mean, *ends = interval(values, unit == "×")
        inside = None
        if low is not None or high is not None:
            floor = -math.inf if low is None else low
            ceiling = math.inf if high is None else high
            least, most = ends or (mean, mean)
            inside = ("yes" if floor <= least and most <= ceiling
                      else "no" if most < floor or least > ceiling else "open")
        self.claims.append({
            "study": study, "claim": what, "model": model, "mean": f"{mean:.4g}",
            "low": f"{ends[0]:.4g}" if ends else "", "high": f"{ends[1]:.4g}" if ends else "",
            "unit": unit, "n": len(values),
            "expected": band(low, high), "met": inside or "", "why": why})


def interval(values, ratios=False):
    """Mean, and the ends of its 95 % interval where there are two values or more; geometric with ratios."""
    values = [math.log(v) for v in values] if ratios else values
    n = len(values)
    out = [sum(values) / n]
    if n > 1:
        deviation = math.sqrt(sum((v - out[0]) ** 2 for v in values) / (n - 1))
        half = (T_975[n - 1] if n <= len(T_975) else 1.96) * deviation / math.sqrt(n)
        out += [out[0] - half, out[0] + half]
    return [math.exp(v) for v in out] if ratios else out


def band(low, high):
    if low is None and high is None:
        return ""
    if low is None:
        return f"<= {high:g}"
    return f">= {low:g}" if high is None else f"{low:g} to {high:g}"


def number(line, key):
    return float(line[key])


def values(points, key, scale=1.0):
    return [scale * number(points[seed], key) for seed in sorted(points)]


def per_cent(points, base, key="loss.final"):
    """Differences in per cent of the base, paired by seed."""
    seeds = sorted(set(points) & set(base))
    return [100.0 * (number(points[s], key) / number(base[s], key) - 1.0) for s in seeds]
