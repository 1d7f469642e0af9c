"""Checks the program's JSON Schema with an independent validator.

    check_schema.py SCHEMA SCENARIOS_FOLDER BAD_FOLDER

Every shipped scenario must validate. Every file of the bad folder must be refused, or expected.json must
say why a schema cannot refuse it; a reason that no longer holds is a failure too.
"""
import json
import pathlib
import sys

import jsonschema


def load(path):
    # A lax reader on purpose: what it lets through is the schema's to refuse.
    return json.loads(path.read_text(encoding="utf-8"))


def is_refused(validator, path):
    try:
        document = load(path)
    except ValueError:
        return True
    return next(validator.iter_errors(document), None) is not None


def shipped(folder):
    for part in ("*.json", "smoke/*.json", "study/*.json"):
        yield from sorted(folder.glob(part))
    for path in sorted(folder.glob("sweeps/*.json")):
        if "scenario" in load(path):
            yield path


def main():
    schema_path, scenarios, bad = (pathlib.Path(word) for word in sys.argv[1:4])
    schema = load(schema_path)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    failures, checked = [], 0

    for path in shipped(scenarios):
        document = load(path)
        inner = document if document.get("skerry") == "scenario/1" else document.get("scenario")
        if not isinstance(inner, dict):
            continue
        checked += 1
        for error in validator.iter_errors(inner):
            failures.append(f"{path}: {error.json_path}: {error.message[:200]}")

    expected = load(bad / "expected.json")
    files = {path.name for path in bad.glob("*.json")} - {"expected.json"}
    for name in sorted(files ^ set(expected)):
        failures.append(f"{bad / name}: not both a file and an entry of expected.json")
    for name in sorted(files & set(expected)):
        checked += 1
        claim = expected[name]["schema"]
        refused = is_refused(validator, bad / name)
        if claim == "refuses" and not refused:
            failures.append(f"{bad / name}: the schema lets it pass")
        elif claim != "refuses" and refused:
            failures.append(f"{bad / name}: the schema refuses it, although '{claim}'")
        elif claim != "refuses" and not claim.startswith("cannot say: "):
            failures.append(f"{bad / name}: no reason is given")

    for failure in failures:
        print(failure)
    print(f"{checked} files checked, {len(failures)} failed")
    return 1 if failures or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
