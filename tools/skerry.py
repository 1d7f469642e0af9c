"""Skerry from Python: run, sweep, load. Functions without state around the program.

    import sys; sys.path.insert(0, "tools")
    import skerry
    run = skerry.run("scenarios/smoke/link-slows.json", {"/protocols/diloco/sync_period_steps": 4}, seeds=3)
    run.table                      # pandas DataFrame, or a list of dicts where pandas is not installed
    run.comparison["protocols"]    # comparison.json
    run.summaries[0]["goodput"]    # one summary.json a run, protocol by protocol
    for fact in run.tape("diloco", 1): ...

Results are in files; a Run or a Sweep only knows its folder. The program is `build/skerry` beside this
folder, or what the environment variable SKERRY or the argument `program` names.
"""
import csv
import json
import os
import pathlib
import subprocess
import tempfile

try:
    import pandas
except ImportError:  # tables are lists of dicts then
    pandas = None

_BUILT = pathlib.Path(__file__).resolve().parents[1] / "build" / "skerry"


class SkerryError(Exception):
    """The program refused or failed: `exit_code` (2 bad input, 3 cannot go on, 4 a bug, 5 failed points) and
    `message`, what it said."""

    def __init__(self, exit_code, message):
        super().__init__(f"{message} (exit {exit_code})")
        self.exit_code = exit_code
        self.message = message


class _Folder:
    def __init__(self, folder, exit_code=0):
        self.folder = pathlib.Path(folder)
        self.exit_code = exit_code

    def __repr__(self):
        return f"{type(self).__name__}({str(self.folder)!r})"

    @property
    def manifest(self):
        return _read_json(self.folder / "manifest.json")

    @property
    def table(self):
        """table.csv, one row a run: a DataFrame, or a list of dicts with numbers for numbers and None for empty."""
        path = self.folder / "table.csv"
        if pandas is not None:  # a hash of digits alone stays a text
            return pandas.read_csv(path, dtype={"hash": str, "id": str})
        with path.open(encoding="utf-8", newline="") as file:
            return [{key: text if key in ("hash", "id") else _value(text) for key, text in row.items()}
                    for row in csv.DictReader(file)]


class Run(_Folder):
    """A run folder. `exit_code` is 1 when a claim (`expect`) of the scenario was missed, else 0."""

    @property
    def comparison(self):
        return _read_json(self.folder / "comparison.json")

    @property
    def scenario(self):
        """The resolved scenario: every default filled in."""
        return _read_json(self.folder / "scenario.resolved.json")

    @property
    def summaries(self):
        """Every summary.json, in the order of protocols and seeds of the scenario."""
        order = list(self.comparison["protocols"])
        seeds = self.comparison["seeds"]
        paths = [self.folder / protocol / f"seed-{seed}" / "summary.json" for protocol in order
                 for seed in seeds]
        return [_read_json(path) for path in paths if path.exists()]

    def tape(self, protocol, seed):
        """The facts of one run as dicts, in order."""
        path = self.folder / protocol / f"seed-{seed}" / "tape.jsonl"
        if not path.exists():
            raise SkerryError(2, f"{path}: no such tape (a run keeps it unless told not to)")
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]


class Sweep(_Folder):
    """A sweep folder: `table` has one row a point, with its axes as columns. `exit_code` is always 0."""

    @property
    def statistics(self):
        return _read_json(self.folder / "statistics.json")


def run(scenario, settings=None, seeds=None, out=None, *, protocols=None, train=True, again=False, program=None):
    """Runs a scenario: a path, or the scenario as a dict (files that it names by absolute path).

    settings: {"/pointer": value}. seeds: how many (1 to N), or a list of them. out: the run folder; else
    results/runs/NAME-HASH below the current folder, where a stored result of the same scenario is taken.
    """
    words = ["--json", "--quiet"]
    words += _setting_words(settings) + _seed_words(seeds)
    for protocol in _names(protocols, "protocols"):
        words += ["--protocol", protocol]
    words += [] if out is None else ["--out", out]
    words += [] if train else ["--no-train"]
    words += ["--again"] if again else []
    with _file_of(scenario, "scenario.json") as path:
        code, printed = _call(program, ["run", path, *words], allowed=(0, 1))
    return Run(json.loads(printed)["folder"], code)


def sweep(sweep, out, settings=None, *, jobs=None, shard=None, limit_s=None, retry_failed=False, fail_fast=False,
          sensitivity=False, program=None):
    """Runs what is missing of a sweep, given as a path or as a dict, in the folder `out`. Points that failed raise
    SkerryError with exit code 5; load(out) has the others. A dict has the name `study`: a folder takes one study
    and its grown versions. shard: "I/N". limit_s: wall time of one point."""
    words = ["--quiet", "--out", out, *_setting_words(settings)]
    words += [] if jobs is None else ["--jobs", jobs]
    words += [] if shard is None else ["--shard", shard]
    words += [] if limit_s is None else ["--limit", limit_s]
    words += ["--retry-failed"] if retry_failed else []
    words += ["--fail-fast"] if fail_fast else []
    words += ["--sensitivity"] if sensitivity else []
    with _file_of(sweep, "study.sweep.json") as path:
        _call(program, ["sweep", path, *words], allowed=(0,))
    return load(out)


def status(sweep, out, settings=None, *, program=None):
    """How many points of a sweep the folder `out` has by now: {"points", "ok", "failed", "missing", "left_s", …}."""
    with _file_of(sweep, "study.sweep.json") as path:
        words = ["sweep", path, "--out", out, "--status", "--json", *_setting_words(settings)]
        return json.loads(_call(program, words, allowed=(0,))[1])


def load(folder):
    """The Run or Sweep that stands in a folder."""
    folder = pathlib.Path(folder)
    try:
        kind = _read_json(folder / "manifest.json").get("skerry", "")
    except (OSError, ValueError, AttributeError) as error:
        raise SkerryError(2, f"{folder}: holds no result of Skerry: {error}") from None
    return Run(folder) if kind == "run/1" else Sweep(folder)


def _setting_words(settings):
    words = []
    for pointer, value in (settings or {}).items():
        words += ["--set", f"{pointer}={json.dumps(value)}"]
    return words


def _seed_words(seeds):
    if seeds is None:
        return []
    if isinstance(seeds, int):
        return ["--seeds", seeds]
    words = []
    for seed in seeds:
        words += ["--seed", seed]
    if not words:
        raise SkerryError(2, "seeds is an empty list: give at least one, or None for the scenario's own")
    return words


def _names(value, what):
    """A list of names: one name alone would be taken letter by letter."""
    if isinstance(value, str):
        value = [value]
    names = list(value or [])
    if value is not None and not names:
        raise SkerryError(2, f"{what} is an empty list: give at least one name, or None for all")
    return names


class _file_of:
    """A path as it is; a dict as a file that is gone afterwards."""

    def __init__(self, source, name):
        self.source, self.name, self.scratch = source, name, None

    def __enter__(self):
        if not isinstance(self.source, dict):
            return self.source
        self.scratch = tempfile.TemporaryDirectory(prefix="skerry-")
        path = pathlib.Path(self.scratch.name) / self.name
        path.write_text(json.dumps(self.source), encoding="utf-8")
        return path

    def __exit__(self, *_):
        if self.scratch is not None:
            self.scratch.cleanup()


def _call(program, words, allowed):
    command = [str(program or os.environ.get("SKERRY") or _BUILT), *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise SkerryError(2, f"{command[0]} cannot be started: {error}; tools/build makes it") from None
    if done.returncode not in allowed:
        raise SkerryError(done.returncode, done.stderr.strip() or done.stdout.strip())
    return done.returncode, done.stdout


def _read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def _value(text):
    if text == "":
        return None
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text
