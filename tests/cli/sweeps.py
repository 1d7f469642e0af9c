"""What the tests of sweeps share: a small study, and how its folder is read."""
import csv
import json

from program import TINY, ProgramTest

TABLES = ("table.csv", "table.txt", "statistics.json")
BASE = {**TINY, "seeds": 1, "stop": {"simulated_h": 2}, "training": False}
LONG_H = 5000  # 2.6e7 facts: just under the limit of a run, and many seconds


def sweep(**changes):
    return {"skerry": "sweep/1", "scenario": BASE, "seeds": 2,
            "axes": {"port": {"at": "/regions/*/port_gbps", "values": [1, 2, 5]},
                     "step": {"at": "/islands/*/step_s", "range": {"from": 4, "to": 8, "step": 2}}},
            **changes}


class SweepTest(ProgramTest):
    def write(self, name="s", **changes):
        path = self.folder / f"{name}.sweep.json"
        path.write_text(json.dumps(sweep(**changes)), encoding="utf-8")
        return path.name

    def tables(self, folder):
        return {name: (self.folder / folder / name).read_bytes() for name in TABLES}

    def records(self, folder):
        lines = []
        for path in sorted((self.folder / folder).glob("runs*.jsonl")):
            lines += path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def rows(self, folder):
        with open(self.folder / folder / "table.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def counts(self, *words, expect=0):
        return json.loads(self.skerry("sweep", *words, "--json", expect=expect).stdout)
