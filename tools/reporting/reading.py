"""Run and sweep folders as plain data: rows typed, names in the scenario's order, nothing computed but the means.

Unusable is raised for a folder that cannot be reported, with one line that says why. A folder that holds less
than it should (failed runs, missing points) is read; `notices` says what is missing.
"""
import collections
import gzip
import itertools
import pathlib
import shlex
import zlib

from .files import Unusable, check_shape, check_version, damage, parsed, read_json, read_rows, value_of  # noqa: F401

LARGEST_TAPE_BYTES = 200_000_000
NEW_POINTS = ("--dry-run", "--status", "--json", "--retry-failed")  # options that a command to go on with is without
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
        self.name = real_name(self.comparison.get("scenario", self.path.name), manifest, ".json")
        self.protocols = list(self.comparison["protocols"])
        self.baseline = self.comparison["baseline"]
        self.seeds = self.comparison["seeds"]
        self.rows, failed = sorted_rows(self.path / "table.csv")
        self.failed = collections.Counter(row["protocol"] for row in failed)  # protocol → how many of its seeds failed
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
        for protocol, seed in itertools.product(self.protocols, self.seeds):
            self._check_seed(protocol, seed)
        for row in self.rows:
            where = f"{row['protocol']} seed {row['seed']}"
            if row.get("loss.n") and not self.curves.get(row["protocol"], {}).get(row["seed"]):
                lack = "has no loss" if (self.path / "curves.csv").exists() else "is missing"
                raise Unusable(f"{self.path}: half a result: curves.csv {lack}, but {where} was trained; run it again")

    def _check_seed(self, protocol, seed):
        """A run that failed has a summary too, which says so."""
        folder = self.seed_folder(protocol, seed)
        path = folder / "summary.json"
        if not path.exists():
            raise Unusable(f"{self.path}: half a result: {path.relative_to(self.path)} is missing; run it again")
        summary = read_json(path)
        if (summary.get("protocol"), summary.get("seed")) != (protocol, seed):
            raise Unusable(f"{path}: is damaged: it is not of {protocol} seed {seed}")
        for name in ("tape.jsonl", "tape.jsonl.gz"):
            head = tape_head(folder / name)
            if head and (head.get("protocol"), head.get("seed")) != (protocol, seed):
                raise Unusable(f"{folder / name}: is damaged: it is the tape of {head.get('protocol')} seed "
                               f"{head.get('seed')}, and not of {protocol} seed {seed}")

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
    """One combination and one row of a sweep: its points over seeds; failed: how many more seeds have failed."""

    def __init__(self, point, protocol, rows, paired, failed=0):
        self.point, self.protocol, self.rows, self.paired, self.failed = point, protocol, rows, paired, failed

    def values(self, metric):
        return numbers(self.rows, metric)

    def missed(self):
        return len(missed(self.rows))


class Sweep(Folder):
    kind = "sweep"

    def __init__(self, path, manifest):
        super().__init__(path, manifest)
        self.design = read_json(self.path / "sweep.json")
        self.name = real_name(manifest.get("sweep", self.path.name), manifest, ".sweep.json", ".json")
        self.axes = {name: pointers(axis.get("at")) for name, axis in self.design.get("axes", {}).items()}
        self.about = self.design.get("about", "")
        check_shape(self.path / "sweep.json", self.design, {"axes": dict, "table": dict, "scenario": dict})
        records = self._records()
        self.pending = not (self.path / "table.csv").exists()  # times to a target loss stand in the tables alone
        if not self.pending:
            rows, failed = sorted_rows(self.path / "table.csv", self.axes)
            strangers = [row.get("id") for row in rows if row.get("id") not in self._warned]
            if self._warned and len(strangers) > self._damaged:
                raise Unusable(f"{self.path / 'table.csv'}: of another sweep, or runs.jsonl was cut: "
                               f"it has no point {strangers[0]}")
        else:
            rows, failed = ([record for record in records if (record["status"] == "failed") is lost]
                            for lost in (False, True))
            self.notices.append("The tables are not written yet: what is shown was read from runs.jsonl, with points "
                                "that an earlier design may have left. Times and costs to the target loss are not worked "
                                "out yet.")
        if self._damaged and (self.pending or not manifest.get("complete", True)):
            self.notices.append(f"Damaged lines of runs.jsonl that are left out here: {self._damaged}. To run "
                                f"their points again: {self.again()}")
        if not rows:
            raise Unusable(f"{self.path}: a sweep without one finished point")
        self.rows = rows
        self.warnings = list(collections.Counter(
            text for row in rows for text in self._warned.get(row["id"], [])).items())
        self.groups, self.failed_groups = self._groups(failed)
        self.protocols = list(dict.fromkeys(group.protocol for group in self.groups))
        total = manifest.get("points", 0)
        if len(rows) < total or not manifest.get("complete", True):
            lost = len(failed)
            what = "what is missing" if not lost else "the failed points again" if len(rows) + lost >= total else \
                "what is missing and what failed"
            self.notices.insert(0, f"Incomplete: {len(rows)} of {total} points are here, {lost} failed. "
                                   f"To run {what}: {self.again(lost > 0)}")

    def again(self, retry_failed=False):
        """The command that runs the points that are not there: all shards, and those that failed where it is told to."""
        words, kept = list(self.manifest.get("command") or ["skerry", "sweep", "SWEEP"]), []
        while words:
            word = words.pop(0)
            if word == "--shard":
                words[:1] = []
            elif word not in NEW_POINTS and not word.startswith("--shard="):
                kept.append(word)
        return shlex.join(kept + ["--retry-failed"] * retry_failed)

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

    def _groups(self, failed):
        """(groups with finished points, groups all of whose points failed)"""
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
        for row in (*self.rows, *failed):
            point = {axis: row.get(axis) for axis in self.axes}
            key = key_of(point.values(), row["protocol"])
            group = groups.setdefault(key, Group(point, row["protocol"], [], paired.get(key)))
            if row.get("status") == "failed":
                group.failed += 1
            else:
                group.rows.append(row)
        return ([group for group in groups.values() if group.rows], [group for group in groups.values() if not group.rows])


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


def real_name(stored, manifest, *ends):
    """The program stores names with '-' for every character that no folder may have; the file's own name is in the command."""
    for word in manifest.get("command", []):
        file = pathlib.PurePath(word).name
        stem = next((file.removesuffix(end) for end in ends if file.endswith(end)), None)
        if stem and len(stem.encode()) == len(str(stored)) and all(
                chr(b) == a or a == "-" for a, b in zip(str(stored), stem.encode())):
            return stem
    return str(stored)


def tape_head(path):
    """The first fact of a tape; None where there is none."""
    if not path.exists():
        return None
    with damage(path):
        try:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
                head = parsed(next(file, "null") or "null")
        except (EOFError, zlib.error):  # of a compressed one that was cut
            return None
        return head if isinstance(head, dict) else None


def sorted_rows(path, free=()):
    """(rows of finished runs, rows of those that failed)"""
    if not path.exists():
        raise Unusable(f"{path.parent}: half a result: {path.name} is missing; run it again")
    every = read_rows(path, (), free)
    rows = [row for row in every if row.get("status") != "failed"]
    if not rows:
        raise Unusable(f"{path}: no finished run in it")
    lost = tuple(key for key in rows[0] if key.startswith("chip_seconds.lost."))
    for key in (*BOOKED, *lost, "protocol", "status"):
        if any(row.get(key) in (None, "") for row in rows):
            raise Unusable(f"{path}: is damaged: a finished run has no {key}")
    return rows, [row for row in every if row.get("status") == "failed"]


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
