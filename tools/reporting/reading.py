"""Run and sweep folders as plain data: rows typed, names in the scenario's order, nothing computed but the means.

Unusable is raised for a folder that cannot be reported, with one line that says why. A folder that holds less
than it should (failed runs, missing points) is read; `notices` says what is missing.
"""
import collections
import csv
import gzip
import json
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import skerry  # noqa: E402

VERSIONS = {"manifest.json": ("run/1", "sweep-run/1"), "comparison.json": ("comparison/1",),
            "sweep.json": ("sweep/1",), "statistics.json": ("statistics/1",),
            "scenario.resolved.json": ("scenario/1",), "summary.json": ("summary/1",), "a tape": ("tape/1",)}
FORMULA = "=+-@\t\r"  # the program puts an apostrophe before texts that begin with one of these
LARGEST_TAPE_BYTES = 200_000_000


class Unusable(Exception):
    pass


def value_of(text):
    """A cell: number, truth, text, or None for an empty one."""
    if len(text) > 1 and text[0] == "'" and text[1] in FORMULA:
        return text[1:]
    return skerry._value(text)


TEXTS = ("hash", "id", "tape_fingerprint", "fingerprint", "protocol", "preset", "status", "wan.busiest_port")


def read_rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise Unusable(f"{path}: line {reader.line_num} is cut off")
            rows.append({plain(key): plain(cell) if key in TEXTS else value_of(cell) for key, cell in row.items()})
    return rows


def plain(text):
    return text[1:] if len(text) > 1 and text[0] == "'" and text[1] in FORMULA else text


def read_json(path):
    """A JSON file of a known version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Unusable(f"{path.parent}: half a result: {path.name} is missing; run it again") from None
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: cannot be read: {error}") from None
    found = data.get("skerry") if isinstance(data, dict) else None
    check_version(path, path.name, found)
    return data


def check_version(path, name, found):
    if found == "sensitivity/1":
        raise Unusable(f"{path.parent}: a sensitivity study, which table.txt there tells; this report reads runs and sweeps")
    if found not in VERSIONS[name]:
        raise Unusable(f"{path}: found \"skerry\": {json.dumps(found)}, this report reads "
                       f"{' and '.join(VERSIONS[name])}; take the tools of the version that wrote it")


class Folder:
    def __init__(self, path, manifest):
        self.path = pathlib.Path(path)
        self.manifest = manifest
        self.command = shlex.join(manifest.get("command", []))
        self.notices = []


class Run(Folder):
    kind = "run"

    def __init__(self, path, manifest):
        super().__init__(path, manifest)
        self.comparison = read_json(self.path / "comparison.json")
        self.scenario = read_json(self.path / "scenario.resolved.json")
        self.name = str(self.comparison.get("scenario", self.path.name))
        self.protocols = list(self.comparison["protocols"])
        self.baseline = self.comparison["baseline"]
        self.seeds = self.comparison["seeds"]
        self.rows = usable_rows(self.path / "table.csv")
        self.by_protocol = {name: [row for row in self.rows if row["protocol"] == name] for name in self.protocols}
        self.shown = [name for name in self.protocols if self.by_protocol[name]]
        self.warnings = [(text, None) for text in self.comparison.get("warnings", [])]
        self.curves = self._curves()
        self._check()

    def _check(self):
        planned, there = len(self.protocols) * len(self.seeds), len(self.rows)
        if there < planned:
            self.notices.append(f"Incomplete: {there} of {planned} runs are here.")
        for failure in self.manifest.get("failures", []):
            self.notices.append(f"Failed: {failure['run']} (exit {failure['exit_code']}): {failure['message']}")
        if not self.manifest.get("complete", True) and not self.notices:
            self.notices.append("Incomplete: the manifest says that some runs failed.")

    def _curves(self):
        """protocol → seed → [(simulated_s, tokens, loss)]"""
        path = self.path / "curves.csv"
        curves = {}
        for row in read_rows(path) if path.exists() else []:
            if isinstance(row["loss"], (int, float)):
                seeds = curves.setdefault(row["protocol"], {})
                seeds.setdefault(row["seed"], []).append((row["simulated_s"], row["tokens"], row["loss"]))
        return {name: curves[name] for name in self.protocols if name in curves}

    def seed_folder(self, protocol, seed):
        return self.path / protocol / f"seed-{seed}"

    def tape(self, protocol, seed, kinds):
        """The facts of these kinds, in order; None where the run kept no tape, or one too long to read here."""
        for name, opened in (("tape.jsonl", open), ("tape.jsonl.gz", gzip.open)):
            path = self.seed_folder(protocol, seed) / name
            if path.exists() and path.stat().st_size <= LARGEST_TAPE_BYTES:
                break
        else:
            return None
        wanted = tuple(f'{{"f":"{kind}"' for kind in kinds)
        try:
            with opened(path, "rt", encoding="utf-8") as file:
                check_version(path, "a tape", json.loads(next(file)).get("skerry"))
                return [json.loads(line) for line in file if line.startswith(wanted)]
        except (ValueError, StopIteration, OSError) as error:
            raise Unusable(f"{path}: cannot be read: {error}") from None

    def outer_steps(self, protocol, seed):
        path = self.seed_folder(protocol, seed) / "outer_steps.csv"
        return read_rows(path) if path.exists() else []

    def learners(self):
        """[(name, region)] in the scenario's order: what the tape's indices mean."""
        return [(f"{name}.{k + 1}", island.get("region") or "everywhere")
                for name, island in self.scenario.get("islands", {}).items() for k in range(int(island["count"]))]


class Group:
    """One combination and one row of a sweep: its points over seeds."""

    def __init__(self, point, protocol, rows, paired):
        self.point, self.protocol, self.rows, self.paired = point, protocol, rows, paired

    def values(self, metric):
        return numbers(self.rows, metric)


class Sweep(Folder):
    kind = "sweep"

    def __init__(self, path, manifest):
        super().__init__(path, manifest)
        self.design = read_json(self.path / "sweep.json")
        self.name = str(manifest.get("sweep", self.path.name))
        self.axes = {name: pointers(axis.get("at")) for name, axis in self.design.get("axes", {}).items()}
        self.about = self.design.get("about", "")
        records = self._records()
        if (self.path / "table.csv").exists():
            rows = usable_rows(self.path / "table.csv")
        else:
            rows = [record for record in records if record["status"] != "failed"]
            self.notices.append("The tables are not written yet: what is shown was read from runs.jsonl, with points "
                                "that an earlier design may have left.")
        if not rows:
            raise Unusable(f"{self.path}: a sweep without one finished point")
        self.rows = rows
        self.warnings = list(collections.Counter(
            text for row in rows for text in self._warned.get(row["id"], [])).items())
        self.groups = self._groups()
        self.protocols = list(dict.fromkeys(group.protocol for group in self.groups))
        total = manifest.get("points", 0)
        if len(rows) < total or not manifest.get("complete", True):
            self.notices.insert(0, f"Incomplete: {len(rows)} of {total} points are here, {manifest.get('failed', 0)} "
                                   "failed. The command below runs what is missing.")

    def _records(self):
        """Rows from runs*.jsonl, for their warnings and for a sweep that has no table yet."""
        rows, seen = [], {}
        for path in sorted(self.path.glob("runs*.jsonl")):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    record = json.loads(line)
                    identity, summary = record["id"], record.get("summary") or {}
                    flat = dict(flattened(summary))
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue  # the program runs damaged records again
                if identity in seen:
                    continue
                seen[identity] = summary.get("warnings", [])
                if summary:
                    check_version(path, "summary.json", summary.get("skerry"))
                rows.append({**flat, **record.get("point", {}), "id": identity, "status": record.get("status"),
                             "protocol": record.get("protocol"), "seed": record.get("seed")})
        self._warned = seen
        return rows

    def _groups(self):
        paired = {}
        path = self.path / "statistics.json"
        self.baseline = None
        if path.exists():
            statistics = read_json(path)
            self.baseline = statistics.get("baseline")
            for group in statistics["groups"]:
                paired[key_of(group["point"].values(), group["protocol"])] = group.get("paired")
        groups = {}
        for row in self.rows:
            point = {axis: row.get(axis) for axis in self.axes}
            groups.setdefault(key_of(point.values(), row["protocol"]), (point, row["protocol"], []))[2].append(row)
        return [Group(point, protocol, rows, paired.get(key)) for key, (point, protocol, rows) in groups.items()]


def pointers(at):
    return [at] if isinstance(at, str) else list(at or [])


def key_of(values, protocol):
    return (protocol, *(str(float(v)) if isinstance(v, (int, float)) and not isinstance(v, bool) else str(v)
                        for v in values))


def flattened(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            yield prefix + key, value


def usable_rows(path):
    if not path.exists():
        raise Unusable(f"{path.parent}: half a result: {path.name} is missing; run it again")
    rows = [row for row in read_rows(path) if row.get("status") != "failed"]
    if not rows:
        raise Unusable(f"{path}: no finished run in it")
    return rows


def numbers(rows, metric):
    """Values of a column by seed; a column may stand below another name in later summaries ("cost.cost_usd")."""
    if rows and metric not in rows[0]:
        metric = next((name for name in rows[0] if name.endswith("." + metric)), metric)
    return {row["seed"]: row[metric] for row in rows
            if isinstance(row.get(metric), (int, float)) and not isinstance(row.get(metric), bool)}


def load(path):
    path = pathlib.Path(path)
    if not path.is_dir():
        raise Unusable(f"{path}: no such folder")
    if not (path / "manifest.json").exists():
        raise Unusable(f"{path}: holds no result of Skerry: no manifest.json")
    manifest = read_json(path / "manifest.json")
    try:
        return Run(path, manifest) if manifest["skerry"] == "run/1" else Sweep(path, manifest)
    except (KeyError, TypeError, AttributeError) as error:
        raise Unusable(f"{path}: a file of it lacks {error}") from None


def load_all(paths):
    folders = [load(path) for path in paths]
    meanings = {folder.manifest.get("numbers_version") for folder in folders if folder.kind == "sweep"}
    if len(meanings) > 1:
        raise Unusable("the sweeps are of different numbers_version "
                       f"({', '.join(sorted(map(str, meanings)))}): their numbers do not compare; run the older one again")
    return folders
