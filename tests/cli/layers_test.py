"""Arrows between folders point one way, and each library stays in its folders: read from #include lines."""
import re
import unittest

from program import ROOT

ORDER = ["kernels", "sim/base", "sim/scenario", "sim/cost", "sim/tape", "sim/faults", "sim/engine",
         "sim/net", "sim/protocols", "sim/measure", "sim/train", "sim/report", "sim/run", "sim"]
CONFINED = [
    (r"^(simgrid|xbt)/", {"sim/engine", "sim/net"}),
    (r"^(tbb|oneapi)/", {"kernels"}),
    (r"^nlohmann/", {"sim/scenario", "sim/report"}),
    (r"^(thread|future|mutex|condition_variable)$", {"kernels"}),
    (r"^(ctime|sys/time\.h|time\.h)$", {"sim/run"}),
    (r"^chrono$", {"sim/run"}),
]


def includes():
    """(folder, file, what it includes) of every line in the layered folders."""
    for folder in ORDER:
        for path in sorted((ROOT / folder).glob("*.[ch]pp")):
            for what in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"),
                                   re.MULTILINE):
                yield folder, path, what


class Layers(unittest.TestCase):
    def test_every_folder_of_code_is_in_the_order(self):
        folders = {str(path.parent.relative_to(ROOT)) for top in ("kernels", "sim")
                   for path in (ROOT / top).rglob("*.[ch]pp")}
        self.assertEqual(folders - set(ORDER), set())

    def test_a_folder_includes_only_folders_above_it(self):
        seen = 0
        for folder, path, what in includes():
            below = what.rsplit("/", 1)[0]
            if below not in ORDER:
                self.assertFalse(what.startswith(("sim/", "tests/")), f"{path} includes {what}")
                continue
            seen += 1
            self.assertLessEqual(ORDER.index(below), ORDER.index(folder), f"{path} includes {what}")
        self.assertGreater(seen, 50)

    def test_libraries_and_clocks_stay_where_they_belong(self):
        seen = 0
        for folder, path, what in includes():
            for pattern, allowed in CONFINED:
                if re.search(pattern, what):
                    seen += 1
                    self.assertIn(folder, allowed, f"{path} includes {what}")
        self.assertGreater(seen, 5)

    def test_no_random_device_and_no_environment(self):
        for folder in ORDER:
            for path in sorted((ROOT / folder).glob("*.[ch]pp")):
                text = path.read_text(encoding="utf-8")
                for word in ("random_device", "getenv", "-ffast-math"):
                    self.assertNotIn(word, text, str(path))
