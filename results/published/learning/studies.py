"""The six studies: which points, and what is claimed of them."""
import csv

from study import DEFAULT, QUICK, ROOT, per_cent, values

BATCH = {QUICK: 8, DEFAULT: 4}  # windows of each of eight learners
LARGER = {"preset": DEFAULT, "batch": BATCH[DEFAULT]}
CLEARLY = 1.0                   # per cent of loss


def failures(s):
    elastic = {"protocol": "elastic", "years": 1}
    found = s.sweep(1, "failures", skip=[{"model": LARGER, **elastic}], few=[elastic])
    for model in s.models:
        base = found[model, "elastic", "30000"]
        failing, calm = found[model, "decoupled", "1"], found[model, "decoupled", "30000"]
        s.claim(1, "decoupled with failures − data-parallel without", model, per_cent(failing, base), "% of loss",
                low=-1.5, high=1.5, why="asked of this study; arXiv 2604.21428, Table 2: 64.2 against 64.4 points")
        s.claim(1, "decoupled without failures − data-parallel without", model, per_cent(calm, base), "% of loss")
        s.claim(1, "decoupled with failures − without", model, per_cent(failing, calm), "% of loss",
                low=-1.5, high=1.5, why="failures as such cost no quality: Table 2, 69.8 and 69.8")
        if (model, "elastic", "1") in found:
            s.claim(1, "elastic data-parallel with failures − data-parallel without", model,
                    per_cent(found[model, "elastic", "1"], base), "% of loss")
        s.claim(1, "goodput of decoupled with failures", model, values(failing, "goodput", 100), "%",
                low=83, high=93, why="Table 1: 88; losing slices alone, as there")


def mixed_devices(s):
    found = s.sweep(2, "mixed-devices")
    for model in s.models:
        k8, k1, grace = (found[model, row] for row in ("k8", "k1", "k1_grace"))
        s.claim(2, "goodput, K = 8", model, values(k8, "goodput", 100), "%", low=83, high=87,
                why="(4 + 3 × 1.18 + 1.298) / 8 / 1.298 = 85.1; Table 5: 84")
        s.claim(2, "goodput, K = 1", model, values(k1, "goodput", 100), "%", low=99, why="Table 5: 100")
        s.claim(2, "goodput, K = 1 with grace", model, values(grace, "goodput", 100), "%", low=99,
                why="Table 5: 100")
        s.claim(2, "participants of a merge, K = 1", model, values(k1, "participants.mean"), "learners",
                high=1.3, why="about one at a time")
        s.claim(2, "participants of a merge, K = 1 with grace", model, values(grace, "participants.mean"),
                "learners", low=4, why="the window collects many")
        s.claim(2, "K = 1 − K = 1 with grace", model, per_cent(k1, grace), "% of loss", low=CLEARLY,
                why="Table 5: 51.4 against 55.3 points")
        s.claim(2, "K = 1 with grace − K = 8", model, per_cent(grace, k8), "% of loss", low=-1.5, high=1.5,
                why="Table 5: 55.3 against 54.4 points")


def wire(s):
    found = s.sweep(3, "wire", skip=[{"model": LARGER, "wire": ["int8", "fp4"]}, {"model": LARGER, "feedback": True}],
                    few=[{"wire": ["int8", "fp4", "int2"]}, {"feedback": True}])
    for model in s.models:
        base = found[model, "decoupled", "bf16", "false"]
        s.claim(3, "bf16", model, values(base, "loss.final"), "nats per byte")
        for kind in ("int8", "fp4", "int4", "int2", "int1"):
            for feedback in ("false", "true"):
                points = found.get((model, "decoupled", kind, feedback))
                if points is None:
                    continue
                bound = {"int4": {"high": 0.5, "why": "Table 10: + 0.09 %"},
                         "int2": {"low": CLEARLY, "why": "Table 10: + 32 %"},
                         "int1": {"low": CLEARLY, "why": "Table 10: + 83 %"}}.get(kind, {})
                if feedback == "true":
                    bound = {}
                s.claim(3, f"{kind}{' with error feedback' if feedback == 'true' else ''} − bf16", model,
                        per_cent(points, base), "% of loss", **bound)


def learners(s):
    found = {}
    counts = (2, 16) if s.small else (2, 4, 8, 16)
    for count in counts:
        skip = [{"protocol": ["data_parallel", "decoupled_momentum"]}] if count == 16 else []
        if count < 8:
            skip = [{"protocol": ["data_parallel", "decoupled_mean", "decoupled_momentum"]}]
        models = [{"preset": model, "batch": BATCH[model] * 8 // count} for model in s.models]
        found[count] = s.sweep(4, "learners", f"-{count}", skip=skip, values={
            "/islands/pod/count": count, "/charged_model/tokens_per_learner_step": 8000 / count,
            "model": models})
    for model in s.models:
        for count in () if s.small else counts:
            s.claim(4, f"{count} learners − data-parallel", model,
                    per_cent(found[count][model, "decoupled"], found[8][model, "data_parallel"]), "% of loss")
        s.claim(4, "16 learners − 2", model,
                per_cent(found[16][model, "decoupled"], found[2][model, "decoupled"]), "% of loss", low=0,
                why="arXiv 2503.09799, Table 4: loss grows with the number of learners, less in larger models")
        if 8 in found:
            s.claim(4, "outer momentum 0.8 − 0.9, 8 learners", model,
                    per_cent(found[8][model, "decoupled_momentum"], found[8][model, "decoupled"]), "% of loss")
        for count in (8, 16):
            if count not in found:
                continue
            s.claim(4, f"radial-directional − mean, {count} learners", model,
                    per_cent(found[count][model, "decoupled"], found[count][model, "decoupled_mean"]), "% of loss",
                    high=0, why="arXiv 2604.21428, merging table: 54.4 against 54.1 points at 8, 54.5 against 52.7 at 16")


def periods(s):
    if s.small:
        return
    found = s.sweep(4, "periods")
    for model in s.models:
        base = found[model, "decoupled", "24"]
        for period in ("10", "100"):
            s.claim(4, f"H = {period} − H = 24", model, per_cent(found[model, "decoupled", period], base),
                    "% of loss", **({"low": 0} if period == "100" else {"high": 0}),
                    why="arXiv 2311.08105 and 2503.09799: loss grows with H")


RUN_ROWS = {QUICK: ("data_parallel", "data_parallel_elastic", "best_region", "diloco", "streaming_diloco",
                    "decoupled_diloco"),
            DEFAULT: ("data_parallel", "decoupled_diloco")}


def four_regions(s):
    if s.small:
        return
    for model in s.models:
        folder = s.work / f"four-us-regions-{model}"
        command = [s.skerry, "run", ROOT / "scenarios/four-us-regions.json", "--out", folder, "--quiet", "--again",
                   "--no-tape", "--jobs", s.jobs, "--seeds", s.seeds]
        for row in RUN_ROWS[model]:
            command += ["--protocol", row]
        for setting in (f"/training/seeds={s.seeds}", "/stop/tokens=1.8e10", "/training/corpus=data/kjv-whole.txt",
                        "/training/warm_start_steps=200", "/training/inner/rate=tuned",
                        f'/training/model={{"preset": "{model}", "batch": {BATCH[model]}}}'):
            command += ["--set", setting]
        s.call(5, command)
        read_four_regions(s, model, folder)


def read_four_regions(s, model, folder):
    with open(folder / "learning.csv", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            s.learning.append({"model": model, **line})
    with open(folder / "curves.csv", encoding="utf-8", newline="") as file:
        s.curves += [{"model": model, **line} for line in csv.DictReader(file)]
    with open(folder / "table.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    found = {}
    for line in table:
        found.setdefault(line["protocol"], {})[int(line["seed"])] = line
        s.point(5, "four-us-regions", model, line["protocol"], "", line)
    base = found["data_parallel"]
    decoupled = found["decoupled_diloco"]
    for more in (0, 5, 10):
        sooner = []
        for seed in sorted(base):
            loss = float(base[seed]["loss.final"]) * (1 + more / 100)
            dates = [when_below(s.curves, model, row, seed, loss) for row in ("data_parallel", "decoupled_diloco")]
            if None not in dates:
                sooner.append(dates[0] / dates[1])
        s.claim(5, f"of {len(base)} seeds, those in which decoupled reaches data-parallel's last loss + {more} %", model, [len(sooner)], "seeds")
        if sooner:
            s.claim(5, f"times sooner at data-parallel's last loss + {more} %, seeds that reach it", model, sooner, "×")
    s.claim(5, "tokens/s of decoupled over data-parallel", model,
            [float(decoupled[k]["tokens_per_s"]) / float(base[k]["tokens_per_s"]) for k in sorted(base)], "×", low=20,
            why="24 fragments × port 0.90 full = 21.6 without faults")
    for row, points in found.items():
        if row != "data_parallel":
            s.claim(5, f"{row} − data_parallel at equal tokens", model, per_cent(points, base), "% of loss")


def when_below(curves, model, row, seed, loss):
    """Date at which the curve crosses the loss, linear between its points; None when it never does."""
    before = None
    for line in curves:
        if line["model"] != model or line["protocol"] != row or int(line["seed"]) != seed:
            continue
        at = float(line["simulated_s"]), float(line["loss"])
        if at[1] <= loss:
            if before is None or before[1] == at[1]:
                return at[0]
            return before[0] + (at[0] - before[0]) * (before[1] - loss) / (before[1] - at[1])
        before = at
    return None


PORTS = ["6.667", "3.333", "1.667", "0.667", "0.333", "0.1667"]


def bandwidth(s):
    found = s.sweep(6, "same-trajectory", shorten=1)
    rows = {}
    for (model, row, _), points in found.items():
        rows.setdefault((model, row), []).append([points[seed]["loss.final"] for seed in sorted(points)])
    for (model, row), losses in rows.items():
        same = 1.0 if all(one == losses[0] for one in losses) else 0.0
        s.claim(6, f"{row}: all final losses the same to the last bit on {len(losses)} ports", model, [same], "",
                low=1, high=1)
    between = ["3.333", "1.667", "0.333"]
    found = s.sweep(6, "starved", skip=[{"model": LARGER, "port_gbps": [float(p) for p in between]}],
                    few=[{"port_gbps": [float(p) for p in (*between, "0.667")]}])
    for model in s.models:
        starved(s, model, {port: found[model, "decoupled", port] for port in PORTS
                           if (model, "decoupled", port) in found})


def starved(s, model, found):
    ports = list(found)
    for port in ports:
        s.claim(6, f"merged share when a sync takes {3.3333 / float(port):.2g} steps", model,
                values(found[port], "merged_share", 100), "%")
    for port in ports[1:]:
        s.claim(6, f"sync of {3.3333 / float(port):.2g} steps − of 0.5", model,
                per_cent(found[port], found[ports[0]]), "% of loss", **({"low": 0} if port == PORTS[-1] else {}))
    lost = [a - b for a, b in zip(values(found[ports[0]], "merged_share", 100),
                                  values(found[ports[-1]], "merged_share", 100))]
    s.claim(6, "merged share lost between syncs of 0.5 and of 20 steps", model, lost, "points", low=0)


ALL = {1: [failures], 2: [mixed_devices], 3: [wire], 4: [learners, periods], 5: [four_regions], 6: [bandwidth]}
