"""Links, paths, commands, options, pointers and columns that the pages name are there, and the commands of
README.md run. No address of a host is opened."""
import csv
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import pages
from pages import ROOT

PROGRAM = pathlib.Path(os.environ.get("SKERRY", ROOT / "build/skerry")).resolve()
SMALL = "scenarios/smoke/four-us-regions-quiet.json"
TRAINED = {
    "skerry": "scenario/1", "seeds": 2, "stop": {"simulated_min": 20},
    "regions": {"a": {"port_gbps": 2}, "b": {"port_gbps": 2}}, "links": {"a<>b": {"latency_one_way_ms": 20}},
    "islands": {"west": {"region": "a", "chips": 8, "slices": 2, "step_s": 10},
                "east": {"region": "b", "chips": 8, "slices": 2, "step_s": 10}},
    "charged_model": {"parameters": 1e9, "tokens_per_learner_step": 1000},
    "protocols": {"data_parallel": {}, "decoupled_diloco": {}},
    "faults": {"gone": {"kind": "slice_down", "target": "west.1/slice.1", "at_min": 5, "for_min": 2}},
    "training": {"model": "quick", "warm_start_steps": 4, "evaluations": 4, "evaluation_windows": 4}}
STUDY = {"skerry": "sweep/1", "scenario": {**TRAINED, "training": False}, "keep": ["tape", "timeline"],
         "axes": {"H": {"at": "/protocols/decoupled_diloco/sync_period_steps", "values": [12, 24]}}}
# Files that need something to go wrong, or a training that stops early.
RARE = {"PROTOCOL/seed-N/snapshot.bin", "failed/ID.log", "runs-I-of-N-HOST.jsonl"}
FOREIGN = {"fault_trace.json"}  # what a file is called where it comes from


def skerry(*words, cwd=ROOT):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)


@functools.cache
def help_of(command):
    """Empty for a command that is not there."""
    done = skerry(command, "--help")
    return done.stdout if done.returncode == 0 else ""


@functools.cache
def listed_commands():
    return re.findall(r"^  skerry (\w+) ", skerry("--help").stdout, re.MULTILINE)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


@functools.cache
def tool_text(tool):
    """A tool's own words: what it understands stands there."""
    text = (ROOT / tool).read_text(encoding="utf-8")
    if "versus.py" in text:
        text += (ROOT / "tests/bench/peers/versus.py").read_text(encoding="utf-8")
    return text


def wrong_words(words):
    """What is wrong with a command as it is written: its program, sub-command, options, files."""
    program, *rest = words
    if program.startswith("tools/"):
        if not (ROOT / program).is_file():
            return f"{program}: no such tool"
        known = options_in(tool_text(program)) | (options_in(help_of("run")) if program == "tools/run" else set())
    else:
        known, command = {"--help", "--version"}, rest[0] if rest else ""
        if re.fullmatch(r"[a-z]+", command):
            if command not in listed_commands():
                return f"{command}: no such command"
            known, rest = options_in(help_of(command)), rest[1:]
    for word in rest:
        option = word.split("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known:
            return f"{option}: no such option"
        if pages.looks_like_a_path(word) and word.count("/") and pages.missing_path(word, ROOT, ()):
            return f"{word}: no such file"
    return ""


def section(heading):
    text = (ROOT / "results/README.md").read_text(encoding="utf-8")
    return re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL).group(1)


def first_column(heading):
    """(name, its row) of the first columns of a section's tables in results/README.md."""
    rows = [line for line in section(heading).splitlines() if line.startswith("| `")]
    return [(name, row) for row in rows for name in pages.SPAN.findall(row.split(" | ")[0])]


def result_files():
    """As results/README.md names them, which is checked against a run and a sweep below."""
    named = {name for heading in ("A run's folder", "A sweep's folder") for name, _ in first_column(heading)}
    return named | {name.rsplit("/", 1)[-1] for name in named}


class Made(unittest.TestCase):
    """A small run, trained, and a small sweep, made once."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        for name, what in (("small", TRAINED), ("study", STUDY)):
            (cls.folder / f"{name}.json").write_text(json.dumps(what), encoding="utf-8")
        for words in (("run", "small.json", "--out", "run"), ("sweep", "study.json", "--out", "sweep"),
                      ("timeline", "run", "--protocol", "decoupled_diloco")):
            done = skerry(*words, cwd=cls.folder)
            if done.returncode:
                raise AssertionError(f"{words}: {done.stdout}{done.stderr}")

    def files(self, top):
        found = {str(path.relative_to(self.folder / top)) for path in (self.folder / top).rglob("*") if path.is_file()}
        found = {re.sub(r"^[a-z_]+/seed-\d+/", "PROTOCOL/seed-N/", name) for name in found}
        return {re.sub(r"/[0-9a-f]{16}\.", "/ID.", name) for name in found}


class Pages(unittest.TestCase):
    def setUp(self):
        self.pages = pages.pages()
        self.assertGreater(len(self.pages), 8)

    def test_links_and_headings(self):
        known = {page.path: page for page in self.pages}
        self.assertEqual([text for page in self.pages for text in pages.broken_links(page, known)], [])
        self.assertGreater(sum(len(page.links()) for page in self.pages), 5)

    def test_paths(self):
        names = {path.name for top in ("kernels", "sim", "scenarios", "results", "tests", "tools")
                 for path in (ROOT / top).rglob("*") if path.is_file()} | result_files() | FOREIGN
        wrong, seen = [], 0
        for page in self.pages:
            for word in page.spans():
                if pages.looks_like_a_path(word):
                    seen += 1
                    if pages.missing_path(word, page.path.parent, names):
                        wrong.append(f"{page.name}: {word}")
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 100)

    def test_commands_and_options(self):
        wrong, seen = [], 0
        for page in self.pages:
            for words in page.commands():
                seen += 1
                reason = wrong_words(words)
                if reason:
                    wrong.append(f"{page.name}: {' '.join(words)}: {reason}")
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 40)

    def test_pointers(self):
        pointers, tops = set(), set(re.findall(r"\w+", skerry("explain", "").stdout.split("keys:")[1].split("\n")[0]))
        for page in self.pages:
            if page.name == "scenarios/README.md":  # the program writes it from the same keys
                continue
            texts = page.spans() + [word for words in page.commands() for word in words]
            for text in texts:
                found = re.match(r"/(\w+)[\w/*.-]*", text)
                if found and found.group(1) in tops:
                    pointers.add(found.group().rstrip("/"))
        wrong = [pointer for pointer in sorted(pointers) if skerry("explain", pointer).returncode]
        self.assertEqual(wrong, [])
        self.assertGreater(len(pointers), 5)

    def test_every_study_is_listed(self):
        text = section("Studies")
        studies = [path.name for path in (ROOT / "results/published").iterdir() if (path / "run").exists()]
        self.assertGreater(len(studies), 5)
        self.assertEqual([name for name in studies if f"(published/{name}/README.md)" not in text], [])

    def test_every_warning_is_explained(self):
        codes = {code for path in (ROOT / "sim").rglob("*.cpp") if path.name != "reference.cpp"
                 for code in re.findall(r'"(W\d\d)\b', path.read_text(encoding="utf-8"))}
        table = set(re.findall(r"^\| (W\d\d) \|", (ROOT / "scenarios/README.md").read_text(encoding="utf-8"),
                               re.MULTILINE))
        self.assertEqual(codes, table)


class Help(unittest.TestCase):
    def test_every_command_teaches(self):
        self.assertGreater(len(listed_commands()), 14)
        for command in listed_commands():
            with self.subTest(command):
                text = help_of(command)
                self.assertIn("Example: skerry " + command, text)
                example = re.sub(r"\s+", " ", re.search(r"Example: ((?:.*\n)(?: +--.*\n)*)", text + "\n").group(1))
                for words in pages.commands_in(example):
                    self.assertEqual(wrong_words(words), "")
                for word in text.split():
                    if word.endswith(".md"):
                        self.assertTrue((ROOT / word).exists(), word)


class Readme(Made):
    """The commands of README.md, on something small."""

    STANDS_FOR = {"SCENARIO": SMALL, "BASELINE": "results/baseline/region-dark.json"}

    def on_something_small(self, words):
        """The words to run; empty for what is too slow or was checked by its words alone."""
        stands_for = {**self.STANDS_FOR, "RUN": self.folder / "run", "A": self.folder / "run",
                      "B": self.folder / "run", "RESULT": self.folder / "run"}
        words = [str(stands_for.get(word, word)) for word in words]
        if words[1:2] == ["run"]:
            return ["check", *words[2:]]
        if words[1:2] == ["sweep"]:
            return [*words[1:], "--dry-run"]
        if words[1:2] == ["train"]:
            return [*words[1:], "--out", str(self.folder / "trained")]
        if words[1:2] == ["test"]:
            return ["check", *map(str, sorted((ROOT / words[2]).glob("*.json")))]
        return words[1:]

    def test_commands_run(self):
        page = pages.Page(ROOT / "README.md", (ROOT / "README.md").read_text(encoding="utf-8"))
        seen = set()
        for words in page.commands():
            if words[0].startswith("tools/") or len(words) == 1 or not re.fullmatch(r"[a-z]+", words[1]):
                continue
            with self.subTest(" ".join(words)):
                done = skerry(*self.on_something_small(words))
                # A baseline of another scenario: 2 is the answer.
                self.assertEqual(done.returncode, 2 if words[1] == "compare" else 0, done.stdout + done.stderr)
                self.assertNotEqual(done.stdout + done.stderr, "")
                seen.add(words[1])
        self.assertLessEqual({"run", "estimate", "solve", "sweep", "timeline", "plan", "probe", "explain"}, seen)


class Results(Made):
    """results/README.md against what the program writes."""

    def test_files(self):
        for heading, folder in (("A run's folder", "run"), ("A sweep's folder", "sweep")):
            with self.subTest(heading):
                self.assertEqual({name for name, _ in first_column(heading)} - RARE, self.files(folder))

    def test_columns(self):
        run = self.folder / "run"
        one = run / "decoupled_diloco/seed-1"
        for path in (run / "plan.csv", one / "loss.csv", run / "curves.csv", run / "learning.csv",
                     one / "outer_steps.csv"):
            with self.subTest(path.name):
                named = [name for name, _ in first_column(path.name)]
                self.assertEqual(sorted(named), sorted(header(path)))

    def test_numbers_of_a_summary(self):
        rows = first_column("summary.json")
        patterns = {re.sub(r"\b[A-Z]+\b", r"[a-z_]+", re.escape(name)) for name, row in rows if "*JSON only*" not in row}
        columns = {"hash", *header(self.folder / "sweep/table.csv")} - {"id", "H"}
        self.assertEqual({name for name in columns if not any(re.fullmatch(p, name) for p in patterns)}, {"hash"})
        self.assertEqual({p for p in patterns if not any(re.fullmatch(p, name) for name in columns)}, set())
        summary = json.loads((self.folder / "run/decoupled_diloco/seed-1/summary.json").read_text(encoding="utf-8"))
        for name, _ in rows:
            top = name.split(".")[0]
            self.assertIn(top, summary)

    def test_kinds_of_facts(self):
        named = [name for name, _ in first_column("tape.jsonl")]
        written = re.findall(r'name = "(\w+)"', (ROOT / "sim/tape/members.hpp").read_text(encoding="utf-8"))
        self.assertEqual(sorted(named), sorted(written))

    def test_fields_of_json_files(self):
        for name in ("comparison.json", "manifest.json"):
            with self.subTest(name):
                found = json.loads((self.folder / "run" / name).read_text(encoding="utf-8"))
                found |= found.get("protocols", {}).get("data_parallel", {})
                self.assertEqual({key for key in found if f"`{key}`" not in section(name)}, {"skerry"})


def header(path):
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


class TheCheckers(unittest.TestCase):
    """They can fail."""

    def page(self, text):
        return pages.Page(ROOT / "made-up.md", text)

    def test_links(self):
        page = self.page("# A `b` heading: here\n[good](README.md) [bad](nowhere.md) ![picture](no.svg) [web](https://x.y)\n"
                         "[in](#a-b-heading-here) [out](#elsewhere) `[code](none.md)`\n\n```\n[fenced](none.md)\n```\n")
        self.assertEqual(pages.broken_links(page, {page.path: page}),
                         ["made-up.md: nowhere.md: no such file", "made-up.md: no.svg: no such file",
                          "made-up.md: #elsewhere: no such heading"])

    def test_paths(self):
        for word, wanted in (("sim/main.cpp", False), ("sim/mean.cpp", True), ("results/published/*/run", False),
                             ("results/published/*/walk", True), ("scenarios/study/NAME.json", False),
                             ("no-such-file.json", True)):
            with self.subTest(word):
                self.assertTrue(pages.looks_like_a_path(word))
                self.assertEqual(pages.missing_path(word, ROOT, {"table.csv"}), wanted)
        for word in ("west.1/slice.3", "/protocols/*/quorum", "results/runs/NAME-hash8/", "build/skerry", "loss.final"):
            self.assertFalse(pages.looks_like_a_path(word), word)

    def test_commands(self):
        line = "for f in a b; do build/skerry run \"$f\" --out x || break; done; tools/test # skerry fly"
        self.assertEqual(pages.commands_in(line), [["build/skerry", "run", "$f", "--out", "x"], ["tools/test"]])
        self.assertEqual(pages.commands_in("`skerry`: \"skerry\": 1, my/skerry run"), [])
        page = self.page("text `skerry show RUN`\n\n    tools/bench --update   # why\n\n```\nskerry fly\n```\n")
        self.assertEqual([words[:2] for words in page.commands()],
                         [["skerry", "show"], ["skerry", "fly"], ["tools/bench", "--update"]])
        for text, wanted in (("skerry fly", "fly: no such command"), ("skerry run S --quick", "--quick: no such option"),
                             ("skerry run S --quiet", ""), ("tools/fly", "tools/fly: no such tool"),
                             ("tools/test --quick", "--quick: no such option"), ("tools/test --sanitize", ""),
                             ("tools/run S --no-train", ""),
                             ("skerry run scenarios/none.json", "scenarios/none.json: no such file")):
            with self.subTest(text):
                self.assertEqual(wrong_words(text.split()), wanted)


if __name__ == "__main__":
    unittest.main()
