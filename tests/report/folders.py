"""Small results made once with the program, and tools/report called on them; shared by the tests here."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SKERRY", ROOT / "build" / "skerry")).resolve()
REPORT = ROOT / "tools" / "report"
EVIL = "<img src=x onerror=alert(1)>"
FORMULA_LIKE = "$x_1$ & <b>"

RUN = {
    "skerry": "scenario/1", "about": f"{EVIL}<script>alert(2)</script>", "seeds": 2, "stop": {"tokens": 1.2e5},
    "regions": {"east": {"port_gbps": 1}, "west": {"port_gbps": 1}},
    "links": {"east<>west": {"latency_one_way_ms": 20}},
    "islands": {"e": {"region": "east", "count": 2, "chips": 8, "slices": 2, "step_s": 5},
                "w": {"region": "west", "chips": 8, "slices": 2, "step_s": 6}},
    "charged_model": {"parameters": 5e8, "tokens_per_learner_step": 1000},
    "protocols": {"data_parallel": {}, "diloco": {"sync_period_steps": 8},
                  "decoupled_diloco": {"sync_period_steps": 8, "fragments": 4}},
    "faults": {"dark": {"kind": "region_dark", "target": "west", "at_s": 60, "for_s": 30}},
    "recovery": {"detection_s": 5, "restart_s": 10},
    "training": {"model": "quick", "warm_start_steps": 4, "evaluations": 6, "evaluation_windows": 4, "seeds": 2}}
PORTS = {
    "skerry": "sweep/1", "about": EVIL, "seeds": 2,
    "scenario": {**RUN, "stop": {"simulated_min": 10}, "training": False,
                 "protocols": {"data_parallel": {}, "elastic": {"preset": "data_parallel_elastic"},
                               "decoupled_diloco": {"sync_period_steps": 8, "fragments": 4}}},
    "axes": {"port": {"at": "/regions/*/port_gbps", "values": [0.5, 1, 4]},
             "chips": {"at": "/islands/*/chips", "values": [8, 16]}},
    "table": {"rows": ["protocol", "chips"], "columns": "port", "cells": ["goodput", "tokens_per_s"]}}
PERIODS = {
    "skerry": "sweep/1", "seeds": 2,
    "scenario": {**{key: value for key, value in RUN.items() if key not in ("faults", "recovery")},
                 "protocols": {"data_parallel": {}, "diloco": {}},
                 "training": {**RUN["training"], "target_loss": 4.2}},
    "axes": {"H": {"at": "/protocols/diloco/sync_period_steps", "values": [4, 16]}},
    "table": {"rows": ["protocol"], "columns": "H", "cells": ["time_to_loss_s"]}}
RUN_FIGURES = {"badput", "loss", "paired", "fault", "participants"}
PORT_FIGURES = {"utilization", "goodput", "heat-map", "badput", "paired"}

_scratch = tempfile.TemporaryDirectory(prefix="skerry-report-")
FOLDER = pathlib.Path(_scratch.name)


def made(name):
    """The folder of one of the three results; the first call makes it."""
    out = FOLDER / name
    if not out.exists():
        scenario = {"run": RUN, "ports": PORTS, "periods": PERIODS}[name]
        path = FOLDER / (f"{name}.json" if name == "run" else f"{name}.sweep.json")
        path.write_text(json.dumps(scenario), encoding="utf-8")
        subprocess.run([PROGRAM, "run" if name == "run" else "sweep", path, "--out", out, "--quiet"], check=True,
                       capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    return out


def evil_run():
    """The run with a scenario and a row whose names are what no scenario may be called: a folder from a stranger."""
    out = FOLDER / "evil"
    if not out.exists():
        shutil.copytree(made("run"), out)
        (out / "decoupled_diloco").rename(out / EVIL)
        for path in out.rglob("*"):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                text = text.replace("decoupled_diloco", EVIL).replace('"scenario": "run"', f'"scenario": "{EVIL}"')
                path.write_text(text.replace('"diloco"', json.dumps(FORMULA_LIKE)).replace(",diloco,", f",{FORMULA_LIKE},")
                                .replace("\ndiloco,", f"\n{FORMULA_LIKE},"), encoding="utf-8")
        (out / "diloco").rename(out / FORMULA_LIKE)
    return out


def report(*words, expect=0, python=None):
    command = [*([python, "-S"] if python else []), str(REPORT), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=FOLDER, timeout=120,
                          check=False)
    if done.returncode != expect:
        raise AssertionError(f"exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done


def page(name, *folders):
    """Path of the report over some folders; made once."""
    out = FOLDER / f"{name}.html"
    if not out.exists():
        report(*folders, "--out", out, "--figures", FOLDER / f"{name}-figures")
    return out


def change_table(folder, change):
    """table.csv of a folder with every row as `change` returns it."""
    path = folder / "table.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [change(row) for row in csv.DictReader(file)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


class ReportTest(unittest.TestCase):
    def copy(self, name):
        out = pathlib.Path(tempfile.mkdtemp(dir=FOLDER)) / name
        shutil.copytree(made(name), out)
        return out
