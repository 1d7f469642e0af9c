"""skerry export: OpenMetrics by a reader of another maker, event files by a reader written here."""
import csv
import io
import json
import struct
import unittest

from program import TINY, ProgramTest

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

TRAINED = ("data_parallel", "decoupled_diloco")


def crc32c(data):
    """Bit by bit, from the polynomial."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """TFRecord framing, both checks."""
    at = 0
    while at < len(data):
        length = data[at:at + 8]
        size, = struct.unpack("<Q", length)
        body = data[at + 12:at + 12 + size]
        assert struct.unpack("<I", data[at + 8:at + 12]) == (masked(length),), "length"
        assert struct.unpack("<I", data[at + 12 + size:at + 16 + size]) == (masked(body),), "data"
        yield body
        at += 16 + size


def fields(data):
    """Protobuf's wire format: field -> values."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at:at + size], at + size
            if kind in (1, 5):
                value, = struct.unpack("<d" if kind == 1 else "<f", value)
        found.setdefault(key >> 3, []).append(value)
    assert at == len(data)
    return found


def events(path):
    """(tag -> [(wall time, step, value)]) of an event file."""
    first, *rest = map(fields, records(path.read_bytes()))
    assert first[3] == [b"brain.Event:2"], first
    scalars = {}
    for event in rest:
        value, = fields(event[5][0])[1]
        value = fields(value)
        scalars.setdefault(value[1][0].decode(), []).append(
            (event[1][0], event.get(2, [0])[0], value[2][0]))
    return scalars


class Export(ProgramTest):
    def run_tiny(self, *words):
        self.skerry("run", self.scenario(), "--out", "out", "--quiet", *words)

    def rows(self, *parts):
        return list(csv.DictReader(io.StringIO(self.folder.joinpath(*parts).read_text(encoding="utf-8"))))

    def test_the_reader_here_knows_the_check_value(self):
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)

    @unittest.skipIf(text_string_to_metric_families is None, "python3-prometheus-client is not installed")
    def test_openmetrics_says_what_the_summaries_say(self):
        self.run_tiny()
        text = self.skerry("export", "out", "--format", "openmetrics").stdout
        self.assertTrue(text.endswith("# EOF\n"))
        found = {}
        for family in text_string_to_metric_families(text):
            self.assertEqual(family.type, "gauge")
            self.assertTrue(family.documentation)
            self.assertTrue(not family.unit or family.name.endswith("_" + family.unit), family.name)
            for sample in family.samples:
                labels = dict(sample.labels)
                self.assertEqual(labels.pop("scenario"), "tiny")
                found[sample.name, labels.pop("protocol"), labels.pop("seed"),
                      *labels.values()] = sample.value
        for protocol in TINY["protocols"]:
            for seed in ("1", "2"):
                summary = self.read_json("out", protocol, f"seed-{seed}", "summary.json")
                for name, value in (("skerry_goodput_ratio", summary["goodput"]),
                                    ("skerry_speed_tokens_per_second", summary["tokens_per_s"]),
                                    ("skerry_cost_usd", summary["cost_usd"]),
                                    ("skerry_wasted_cost_usd", summary["wasted_cost_usd"]),
                                    ("skerry_energy_kilowatt_hours", summary["energy_kwh"]),
                                    ("skerry_loss_nats_per_byte", summary["loss"]["final"]),
                                    ("skerry_time_to_loss_seconds", summary["time_to_loss_s"])):
                    self.assertEqual(found.get((name, protocol, seed)), value, name)
                self.assertEqual(found["skerry_run", protocol, seed, summary["status"]], 1)
                lost = summary["chip_seconds"]["lost"]
                for cause, seconds in lost.items():
                    self.assertEqual(found["skerry_badput_chip_seconds", protocol, seed, cause], seconds)
                self.assertAlmostEqual(found["skerry_productive_chip_seconds", protocol, seed] +
                                       sum(lost.values()),
                                       found["skerry_allocated_chip_seconds", protocol, seed])

    def test_openmetrics_to_a_file_is_the_same_text(self):
        self.run_tiny("--no-train")
        text = self.skerry("export", "out", "--format", "openmetrics").stdout
        done = self.skerry("export", "out", "--format", "openmetrics", "--out", "m.txt")
        self.assertEqual(done.stdout, "")
        self.assertEqual((self.folder / "m.txt").read_text(encoding="utf-8"), text)
        self.assertNotIn("loss", text)

    def test_event_files_hold_the_curves_again(self):
        self.run_tiny()
        self.assertIn("4 event files", self.skerry("export", "out", "--format", "tensorboard",
                                                   "--out", "tb").stdout)
        for protocol in TINY["protocols"]:
            place = self.folder / "out" / protocol / "seed-1"
            path, = (self.folder / "tb" / protocol / "seed-1").iterdir()
            self.assertIn("tfevents", path.name)
            scalars = events(path)
            curve = self.rows(place / "loss.csv")
            loss = scalars["loss_by_million_tokens"]
            self.assertEqual(len(loss), len(curve))
            for point, (wall, step, value) in zip(curve, loss):
                self.assertEqual(wall, float(point["simulated_s"]))
                self.assertEqual(step, round(float(point["tokens"]) / 1e6))
                self.assertAlmostEqual(value, float(point["loss"]), places=5)
            summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
            goodput = scalars["goodput_by_second"]
            self.assertEqual(len(goodput), 200)
            self.assertEqual(goodput[-1][0], summary["simulated_s"])
            self.assertAlmostEqual(goodput[-1][2], summary["goodput"], places=6)
            merges = self.rows(place / "outer_steps.csv")
            self.assertEqual([(step, value) for _, step, value in scalars.get("participants_by_clock", [])],
                             [(int(row["clock"]), float(row["participants"])) for row in merges])
            dates = [wall for values in scalars.values() for wall, _, _ in values]
            self.assertGreaterEqual(min(dates), 0)
            self.assertLessEqual(max(dates), summary["simulated_s"])

    def test_the_same_run_gives_the_same_bytes_with_and_without_tapes(self):
        self.run_tiny("--no-train")
        self.skerry("export", "out", "--format", "tensorboard", "--out", "a")
        self.skerry("export", "out", "--format", "tensorboard", "--out", "b")
        self.assertEqual(self.files("a"), self.files("b"))
        self.assertEqual(len(self.files("a")), 4)
        self.skerry("run", self.scenario(), "--out", "bare", "--quiet", "--no-tape")
        done = self.skerry("export", "bare", "--format", "tensorboard")
        self.assertIn("left out: goodput and participants of 4 runs without a tape", done.stdout)
        path, = (self.folder / "bare" / "tensorboard" / "data_parallel" / "seed-1").iterdir()
        self.assertEqual(set(events(path)), {"loss_by_million_tokens"})

    def test_what_is_no_run_is_refused(self):
        def refused(folder, *formats):
            for one in formats or ("openmetrics", "tensorboard"):
                done = self.skerry("export", folder, "--format", one, expect=2)
                self.assertEqual(done.stdout, "")
                self.assertNotIn("terminate", done.stderr)
                self.assertTrue(done.stderr.strip())
        (self.folder / "empty").mkdir()
        refused("nowhere")
        refused("empty")
        self.run_tiny("--no-train")
        done = self.skerry("export", "out", "--format", "parquet", expect=2)
        self.assertIn("openmetrics", done.stderr)
        self.skerry("export", "out", "--format", "openmetrics", "--out", "empty", expect=2)
        self.skerry("export", "out", "--format", "tensorboard", "--out", "tiny.json", expect=2)
        manifest = self.folder / "out" / "manifest.json"
        whole = manifest.read_text(encoding="utf-8")
        manifest.write_text(whole[:len(whole) // 2], encoding="utf-8")
        refused("out")
        manifest.write_text(whole.replace("run/1", "run/9"), encoding="utf-8")
        refused("out")
        manifest.write_text(whole, encoding="utf-8")
        summary = self.folder / "out" / "data_parallel" / "seed-1" / "summary.json"
        text = summary.read_text(encoding="utf-8")
        summary.write_text(text.replace("summary/1", "summary/2"), encoding="utf-8")
        refused("out")
        summary.unlink()     # half a run
        refused("out")


if __name__ == "__main__":
    unittest.main()
