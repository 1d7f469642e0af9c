"""The files of a result folder: read whole, checked for damage, and typed.

Unusable is raised with one line that names the file and says what is wrong with it.
"""
import contextlib
import csv
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import skerry  # noqa: E402

VERSIONS = {"manifest.json": ("run/1", "sweep-run/1"), "comparison.json": ("comparison/1",),
            "sweep.json": ("sweep/1",), "statistics.json": ("statistics/1",),
            "scenario.resolved.json": ("scenario/1",), "summary.json": ("summary/1",), "a tape": ("tape/1",)}
FORMULA = "=+-@\t\r"  # the program puts an apostrophe before texts that begin with one of these
TEXTS = ("hash", "id", "tape_fingerprint", "fingerprint", "protocol", "preset", "status", "wan.busiest_port")
NO_NUMBERS = ("flagged",)


class Unusable(Exception):
    pass


@contextlib.contextmanager
def damage(path):
    """What goes wrong while a file is read or its content used becomes one line about that file."""
    try:
        yield
    except (KeyError, IndexError) as error:
        raise Unusable(f"{path}: is damaged: it lacks {error}") from None
    except UnicodeDecodeError as error:
        raise Unusable(f"{path}: is damaged: byte {error.start} is no UTF-8") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError, csv.Error) as error:
        raise Unusable(f"{path}: is damaged: {error}") from None


def no_number(word):
    raise ValueError(f"{word} is no number")


def parsed(text):
    return json.loads(text, parse_constant=no_number)


def value_of(text):
    """A cell: number, truth, text, or None for an empty one."""
    if len(text) > 1 and text[0] == "'" and text[1] in FORMULA:
        return text[1:]
    return skerry._value(text)


def plain(text):
    return text[1:] if len(text) > 1 and text[0] == "'" and text[1] in FORMULA else text


def read_rows(path, needs=(), free=()):
    """Typed rows. needs: columns with a number in every row; free: columns that may hold anything (swept axes)."""
    with damage(path), path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise Unusable(f"{path}: line {reader.line_num} is cut off")
            typed = {plain(key): plain(cell) if key in TEXTS else value_of(cell) for key, cell in row.items()}
            for key, value in typed.items():
                if key not in TEXTS and key not in NO_NUMBERS and key not in free and not is_cell(value, key in needs):
                    raise ValueError(f"line {reader.line_num}: {key} is {row.get(key)!r}, no number")
            rows.append(typed)
        missing = [key for key in needs if key not in (reader.fieldnames or ())]
        if missing and (rows or reader.fieldnames):
            raise ValueError(f"it has no column {', '.join(missing)}")
    return rows


def is_cell(value, needed):
    if value is None:
        return not needed
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read_json(path):
    """A JSON file of a known version."""
    try:
        with damage(path):
            data = parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Unusable(f"{path.parent}: half a result: {path.name} is missing; run it again") from None
    except OSError as error:
        raise Unusable(f"{path}: cannot be read: {error.strerror}") from None
    check_version(path, path.name, data.get("skerry") if isinstance(data, dict) else None)
    return data


def check_version(path, name, found):
    if found == "sensitivity/1":
        raise Unusable(f"{path.parent}: a sensitivity study, which table.txt there tells; this report reads runs and sweeps")
    if found not in VERSIONS[name]:
        raise Unusable(f"{path}: found \"skerry\": {json.dumps(found)}, this report reads "
                       f"{' and '.join(VERSIONS[name])}; take the tools of the version that wrote it")


def check_shape(path, tree, kinds, needed=()):
    """kinds: {key: type}; a key that is there has that type, a needed one is there and not empty."""
    for key, kind in kinds.items():
        if (key in tree or key in needed) and (not isinstance(tree.get(key), kind) or key in needed and not tree[key]):
            what = {dict: "object", list: "list", str: "text"}[kind]
            raise Unusable(f"{path}: is damaged: {key} is no {what}" + (" with content" if key in needed else ""))
