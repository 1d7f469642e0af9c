"""Run and sweep folders as plain data: rows typed, names in the scenario's order, nothing computed but the means.

Unusable is raised for a folder that cannot be reported, with one line that says why. A folder that holds less
than it should (failed runs, missing points) is read; `notices` says what is missing.
"""
import collections
import gzip
import json
import pathlib
import shlex
import zlib

from .files import Unusable, check_shape, check_version, damage, parsed, read_json, read_rows, value_of  # noqa: F401

LARGEST_TAPE_BYTES = 200_000_000
BOOKED = ("seed", "tokens_per_s", "goodput", "chip_seconds.total", "chip_seconds.productive")


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
        self._check_shapes()
        self.name = str(self.comparison.get("scenario", self.path.name))
        self.protocols = list(self.comparison["protocols"])
        self.baseline = self.comparison["baseline"]
        self.seeds = self.comparison["seeds"]
        self.rows = usable_rows(self.path / "table.csv")
        self.tape_troubles = {}  # file → why its tape is not drawn
        self.by_protocol = {name: [row for row in self.rows if row["protocol"] == name] for name in self.protocols}
        self.shown = [name for name in self.protocols if self.by_protocol[name]]
        self.warnings = [(text, None) for text in self.comparison.get("warnings", [])]
        self.curves = self._curves()
        self._check()

    def _check_shapes(self):
        path = self.path / "comparison.json"
        check_shape(path, self.comparison, {"protocols": dict, "seeds": list, "baseline": str, "plan": dict, "expect": list,
                                            "warnings": list, "calibrated_keys": list}, ("protocols", "seeds", "baseline"))
        check_shape(path, self.comparison["protocols"], dict.fromkeys(self.comparison["protocols"], dict),
                    self.comparison["protocols"])
        check_shape(path, self.comparison.get("plan", {}), dict.fromkeys(self.comparison.get("plan", {}), dict))
        check_shape(self.path / "scenario.resolved.json", self.scenario,
                    {"protocols": dict, "islands": dict, "regions": dict, "prices": dict}, ("protocols", "islands"))

    def _check_parts(self):
        """Every part belongs to this run and is whole."""
        mine = self.manifest.get("hash")
        found = {self.path / "comparison.json": {self.comparison.get("hash")},
                 self.path / "table.csv": {row.get("hash") for row in self.rows}}
        for path, hashes in found.items():
            if others := sorted(str(other) for other in hashes - {mine}):
                raise Unusable(f"{path}: of another run: its hash is {', '.join(others)}, that of the manifest {mine}")
        unknown = sorted({row["protocol"] for row in self.rows} - set(self.protocols))
        if unknown:
            raise Unusable(f"{self.path / 'table.csv'}: of another run: comparison.json has no {', '.join(unknown)}")
        for row in self.rows:
            where = f"{row['protocol']} seed {row['seed']}"
            path = self.seed_folder(row["protocol"], row["seed"]) / "summary.json"
            if path.exists():
                summary = read_json(path)
                if (summary.get("protocol"), summary.get("seed")) != (row["protocol"], row["seed"]):
                    raise Unusable(f"{path}: is damaged: it is not of {where}")
            if row.get("loss.n") and not self.curves.get(row["protocol"], {}).get(row["seed"]):
                lack = "has no loss" if (self.path / "curves.csv").exists() else "is missing"
                raise Unusable(f"{self.path}: half a result: curves.csv {lack}, but {where} was trained; run it again")

    def _check(self):
        self._check_parts()
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
        for row in read_rows(path, ("seed", "simulated_s", "tokens")) if path.exists() else []:
            if row.get("loss") is not None:
                seeds = curves.setdefault(row["protocol"], {})
                seeds.setdefault(row["seed"], []).append((row["simulated_s"], row["tokens"], row["loss"]))
        return {name: curves[name] for name in self.protocols if name in curves}

    def seed_folder(self, protocol, seed):
        return self.path / protocol / f"seed-{seed}"

    def tape(self, protocol, seed, kinds):
        """The facts of these kinds, in order; None where no whole tape of a size for drawing is there (tape_troubles)."""
        for name, opened in (("tape.jsonl", open), ("tape.jsonl.gz", gzip.open)):
            path = self.seed_folder(protocol, seed) / name
            if path.exists():
                break
        else:
            return None
        size = path.stat().st_size
        if size > LARGEST_TAPE_BYTES:
            self.tape_troubles[path] = (f"{path.relative_to(self.path)} is too large to draw ({size / 1e6:,.0f} MB, the limit "
                                        f"is {LARGEST_TAPE_BYTES / 1e6:,.0f} MB)")
            return None
        wanted = tuple(f'{{"f":"{kind}"' for kind in kinds)
        with damage(path):
            lines, last = [], ""
            try:
                with opened(path, "rt", encoding="utf-8") as file:
                    check_version(path, "a tape", parsed(next(file, "null") or "null").get("skerry"))
                    for last in file:
                        if last.startswith(wanted):
                            lines.append(last)
            except (EOFError, zlib.error):  # of a compressed one
                last = ""
            if not (last.startswith('{"f":"end"') and last.rstrip().endswith("}")):
                if path not in self.tape_troubles:
                    self.notices.append(f"Cut off, so not drawn: {path.relative_to(self.path)} has no end.")
                self.tape_troubles[path] = f"{path.relative_to(self.path)} is cut off: it has no end"
                return None
            return [parsed(line) for line in lines]

    def outer_steps(self, protocol, seed):
        path = self.seed_folder(protocol, seed) / "outer_steps.csv"
        return read_rows(path, ("stepped_s", "participants")) if path.exists() else []

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

    def missed(self):
        return len(missed(self.rows))


class Sweep(Folder):
    kind = "sweep"

    def __init__(self, path, manifest):
        super().__init__(path, manifest)
        self.design = read_json(self.path / "sweep.json")
        self.name = str(manifest.get("sweep", self.path.name))
        self.axes = {name: pointers(axis.get("at")) for name, axis in self.design.get("axes", {}).items()}
        self.about = self.design.get("about", "")
        check_shape(self.path / "sweep.json", self.design, {"axes": dict, "table": dict, "scenario": dict})
        records = self._records()
        self.pending = not (self.path / "table.csv").exists()  # times to a target loss stand in the tables alone
        if not self.pending:
            rows = usable_rows(self.path / "table.csv", self.axes)
            strangers = [row.get("id") for row in rows if row.get("id") not in self._warned]
            if self._warned and len(strangers) > self._damaged:
                raise Unusable(f"{self.path / 'table.csv'}: of another sweep, or runs.jsonl was cut: "
                               f"it has no point {strangers[0]}")
        else:
            rows = [record for record in records if record["status"] != "failed"]
            self.notices.append("The tables are not written yet: what is shown was read from runs.jsonl, with points "
                                "that an earlier design may have left. Times and costs to the target loss are not worked "
                                "out yet.")
        if self._damaged and (self.pending or not manifest.get("complete", True)):
            self.notices.append(f"Damaged lines of runs.jsonl that are left out here: {self._damaged}. The command below runs "
                                "their points again.")
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
        rows, seen, damaged = [], {}, 0
        for path in sorted(self.path.glob("runs*.jsonl")):
            for line in path.read_bytes().splitlines():
                try:
                    record = parsed(line.decode("utf-8"))
                    identity, summary = record["id"], record.get("summary") or {}
                    flat = dict(flattened(summary))
                    row = {**flat, **record.get("point", {}), "id": identity, "protocol": record["protocol"],
                           "seed": record["seed"], "status": flat.get("status", record["status"])}
                except (ValueError, KeyError, TypeError, AttributeError):
                    damaged += 1  # the program runs damaged records again
                    continue
                if identity in seen:
                    continue
                seen[identity] = summary.get("warnings", [])
                if summary:
                    check_version(path, "summary.json", summary.get("skerry"))
                rows.append(row)
        self._damaged = damaged
        self._warned = seen
        return rows

    def _groups(self):
        paired = {}
        path = self.path / "statistics.json"
        self.baseline = None
        if path.exists():
            statistics = read_json(path)
            self.baseline = statistics.get("baseline")
            with damage(path):
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


def usable_rows(path, free=()):
    if not path.exists():
        raise Unusable(f"{path.parent}: half a result: {path.name} is missing; run it again")
    rows = [row for row in read_rows(path, (), free) if row.get("status") != "failed"]
    if not rows:
        raise Unusable(f"{path}: no finished run in it")
    lost = tuple(key for key in rows[0] if key.startswith("chip_seconds.lost."))
    for key in (*BOOKED, *lost, "protocol", "status"):
        if any(row.get(key) in (None, "") for row in rows):
            raise Unusable(f"{path}: is damaged: a finished run has no {key}")
    return rows


def aimed(rows):
    """Those with a target loss to reach."""
    return [row for row in rows if isinstance(row.get("target_loss"), (int, float))]


def missed(rows):
    """Those that ended above their target loss."""
    return [row for row in aimed(rows) if row.get("time_to_loss_s") is None]


def trained(rows):
    return any(row.get("loss.n") or row.get("loss.start") is not None for row in rows)


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
    with damage(path):
        return Run(path, manifest) if manifest["skerry"] == "run/1" else Sweep(path, manifest)


def load_all(paths):
    folders = [load(path) for path in paths]
    meanings = {folder.manifest.get("numbers_version") for folder in folders if folder.kind == "sweep"}
    if len(meanings) > 1:
        raise Unusable("the sweeps are of different numbers_version "
                       f"({', '.join(sorted(map(str, meanings)))}): their numbers do not compare; run the older one again")
    return folders
