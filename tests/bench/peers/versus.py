#!/usr/bin/python3
"""The kernels beside PyTorch and oneDNN: correctness first, then rounds in which each takes its turn, then a table of
ratios against their targets. Every ratio is of two medians from the same rounds. Run it by tools/bench-kernels."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIGS = {"A": (4, 128, 4, 128, 256, 8), "B": (6, 384, 6, 256, 256, 4), "C": (2, 64, 2, 64, 256, 8)}
OPENBLAS = Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")
MEGABYTE = 1e6
# For each measure, by instruction set, its targets for A, B, C.
TARGETS = {
    "torch 2 threads": {"avx512": (2.0, 1.30, 4.0), "avx2": (1.67, 1.30, 3.5)},
    "torch 2 x 1": {"avx512": (1.5, 1.15, 2.2)},
    "share of peak": {"avx512": (0.68, 0.77, 0.71)},
}


class Absent(Exception):
    """A peer that cannot run, and why."""


class Worker:
    """A process that answers lines."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def send(self, *words):
        try:
            self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        why = self.process.stderr.read().strip().splitlines() or ["no message"]
        raise Absent(f"{self.name} ended with code {self.process.wait()}: {why[-1]}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Quiet:
    """Measures while the rest of the machine leaves it alone, as far as patience lasts."""

    def __init__(self, workers, allowed, patience_s):
        self.workers, self.allowed, self.left = workers, allowed, patience_s
        self.taken = self.noisy = 0

    def others(self):
        """Processor seconds since boot that were not these workers'."""
        tick = os.sysconf("SC_CLK_TCK")
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
        mine = 0
        for worker in self.workers:
            fields = Path(f"/proc/{worker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            mine += int(fields[11]) + int(fields[12])
        return (user + nice + system + irq + softirq - mine) / tick

    def share(self, act):
        """What act() returns, and how many processors others used meanwhile."""
        before, start = self.others(), time.monotonic()
        value = act()
        gone = time.monotonic() - start
        return value, (self.others() - before) / gone, gone

    def measure(self, act):
        while True:
            value, share, gone = self.share(act)
            if share <= self.allowed or self.left <= 0:
                break
            self.left -= gone
            while self.left > 0:
                self.left -= gone
                _, share, gone = self.share(lambda: time.sleep(0.3))
                if share <= self.allowed:
                    break
        self.taken += 1
        self.noisy += share > self.allowed
        return value


def peer_environment(isa):
    """What tunes the peers, for their own processes only."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("OPENBLAS_", "OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "MALLOC_"))}
    kept["LD_LIBRARY_PATH"] = str(OPENBLAS)
    # Freed memory is kept: else every step asks the system for its activations anew, a fault a page.
    for name in ("TRIM_THRESHOLD_", "MMAP_THRESHOLD_"):
        kept["MALLOC_" + name] = str(4 << 30)
    kept["ATEN_CPU_CAPABILITY"] = isa
    if isa == "avx2":
        kept["OPENBLAS_CORETYPE"] = "Haswell"
        kept["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    return kept


def torch_workers(isa):
    """One process of two threads, and two of one."""
    if not (OPENBLAS / "libblas.so.3").exists():
        raise Absent("PyTorch is tuned by OpenMP OpenBLAS, which is not installed (libopenblas0-openmp)")
    workers = []
    for name, threads in (("PyTorch", 2), ("PyTorch", 1), ("PyTorch", 1)):
        command = ["/usr/bin/python3", str(HERE / "torch_worker.py"), str(threads)]
        workers.append(Worker(name, command, peer_environment(isa)))
    for worker in workers:
        about = worker.ask("about")
        if not any("openblasp" in name for name in about["libraries"]):
            raise Absent(f"PyTorch does not run on OpenBLAS but on {about['libraries']}")
    return workers, about["version"]


def same(ours, theirs):
    most = max(abs(value) for value in theirs)
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / most
    if not worst <= 1e-4:
        sys.exit(f"the matrix products differ: by {worst:.2g} of the largest element, allowed 1e-4")
    return worst


def measures(config, isa, seconds, ours, torch):
    """Name to a function that returns a number; a round runs them all."""
    def step(learners, shards, threads):
        return lambda: ours.ask("step", config, isa, learners, shards, threads, seconds)["tokens_per_s"]

    def peak():
        found = ours.ask("peak", isa, 2)
        return max(found["fma_loop"], found["product"]) * 1e9

    def torch_alone():
        return torch[0].ask("step", *CONFIGS[config], seconds)["tokens_per_s"]

    def torch_pair():
        for worker in torch[1:]:
            worker.send("step", *CONFIGS[config], seconds)
        return sum(worker.answer()["tokens_per_s"] for worker in torch[1:])

    table = {"one learner, 2 shards, 2 threads": step(1, 2, 2), "2 learners, 2 threads": step(2, 1, 2),
             "1 learner, 1 thread": step(1, 1, 1), "1 learner, 2 shards, 1 thread": step(1, 2, 1), "peak": peak}
    if config != "B":  # half a minute a round
        table["16 learners, 2 threads"] = step(16, 1, 2)
    if torch:
        table["PyTorch, 2 threads"] = torch_alone
        table["PyTorch, 2 processes of 1 thread"] = torch_pair
    return table


def run_rounds(table, rounds, quiet):
    """Every round starts one place further on, so that nothing always follows the same neighbour."""
    names, found = list(table), {name: [] for name in table}
    for name in names:
        table[name]()  # warm
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            found[name].append(quiet.measure(table[name]))
    return found


def onednn(build, isa, rounds):
    program = Path(build) / "tests/bench/peers/onednn_gemm"
    if not program.exists():
        raise Absent("oneDNN's headers were not there when the build was set up (libdnnl-dev)")
    environment = peer_environment(isa)
    environment["OMP_NUM_THREADS"] = "1"
    done = subprocess.run([program, isa, str(rounds)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"onednn_gemm: {done.stderr.strip() or 'ended with code ' + str(done.returncode)}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of(config, isa, found, flops):
    """(measure, ratio, target, 'at least' or 'at most') of one configuration."""
    middle = {name: statistics.median(values) for name, values in found.items()}
    place = list(CONFIGS).index(config)

    def target(name):
        return TARGETS[name].get(isa, (None,) * 3)[place]

    side = middle["2 learners, 2 threads"]
    rows = []
    if "PyTorch, 2 threads" in middle:
        rows.append(("over PyTorch, 2 threads (one learner in 2 shards)",
                     middle["one learner, 2 shards, 2 threads"] / middle["PyTorch, 2 threads"],
                     target("torch 2 threads"), ">="))
        rows.append(("over PyTorch, 2 threads (2 learners side by side)", side / middle["PyTorch, 2 threads"],
                     target("torch 2 threads"), ">="))
        rows.append(("over PyTorch, 2 processes of 1 thread", side / middle["PyTorch, 2 processes of 1 thread"],
                     target("torch 2 x 1"), ">="))
    rows += [
        ("share of peak, 2 learners, 2 threads", side * flops / middle["peak"], target("share of peak"), ">="),
        ("1 to 2 threads, learners side by side", side / middle["1 learner, 1 thread"], 1.8, ">="),
        ("1 to 2 threads, one learner in 2 shards",
         middle["one learner, 2 shards, 2 threads"] / middle["1 learner, 2 shards, 1 thread"], 1.8, ">="),
        ("2 shards against 1, 1 thread (fixed order)",
         middle["1 learner, 2 shards, 1 thread"] / middle["1 learner, 1 thread"], 0.97, ">="),
    ]
    if "16 learners, 2 threads" in middle:
        rows.append(("16 learners against 2, 2 threads", middle["16 learners, 2 threads"] / side, 0.95, ">="))
    return rows


def print_row(row, noisy):
    config, what, value, target, relation = row
    if target is None:
        verdict, wanted = "", ""
    else:
        verdict = "" if (value >= target if relation == ">=" else value <= target) else "MISSED"
        if noisy and "memory" not in what:
            verdict = "too noisy to say"
        wanted = f"{relation} {target:g}"
    print(f"{config:4} {what:52} {value:9.3f}  {wanted:9} {verdict}")


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench-kernels", description=__doc__)
    parser.add_argument("--build", default="build", help="build folder (default: build)")
    parser.add_argument("--isa", choices=["avx512", "avx2"], help="kernels of both sides (default: the best here)")
    parser.add_argument("--rounds", type=int, default=5, help="at least 5 for a claim (default: 5)")
    parser.add_argument("--configs", default="ABC", help="which of A, B, C (default: ABC)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the time of each measurement (default: 1)")
    parser.add_argument("--others", type=float, default=0.1,
                        help="processors that others may use during a measurement (default: 0.1)")
    parser.add_argument("--patience", type=float, default=300.0,
                        help="seconds to spend, in all, on waiting for that and on measuring again (default: 300)")
    parser.add_argument("--json", metavar="FILE", help="write all numbers here")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or not chosen.scale > 0 or not set(chosen.configs) <= set(CONFIGS) or not chosen.configs:
        parser.error("--rounds from 1, --scale above 0, --configs of the letters A, B, C")
    return chosen


def memory_of_16(build, isa):
    worker = Worker("skerry_worker", [f"{build}/tests/bench/peers/skerry_worker"], os.environ)
    worker.ask("step", "A", isa, 16, 1, 2, 0.2)
    found = worker.ask("memory")["bytes"]
    worker.close()
    return found


def summary_rows(gemms, memory):
    rows = [("A", "memory of 16 learners, MB", memory / MEGABYTE, 230, "<=")]
    if gemms:
        ratios = [line["ratio"] for line in gemms]
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        rows.append(("ABC", "GEMM over oneDNN, 1 thread: geometric mean", mean, 1.0, ">="))
        rows.append(("ABC", "GEMM over oneDNN, 1 thread: worst", min(ratios), 0.88, ">="))
        for direction in ("forward", "dX", "dW"):
            some = [line["ratio"] for line in gemms if line["direction"] == direction]
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in some))
            rows.append(("ABC", f"GEMM over oneDNN, 1 thread: {direction}", mean, None, ""))
    return rows


def main():
    chosen = arguments()
    notes = []
    ours = Worker("skerry_worker", [f"{chosen.build}/tests/bench/peers/skerry_worker"], os.environ)
    checked = ours.ask("check")
    if not checked["same_bits"]:
        sys.exit("AVX2 and AVX-512 give different bits")
    isa = chosen.isa or ("avx512" if checked["avx512"] else "avx2")
    if isa == "avx512" and not checked["avx512"]:
        sys.exit("--isa avx512: this processor or build has none")
    try:
        torch, version = torch_workers(isa)
        difference = same(ours.ask("gemm")["c"], torch[0].ask("gemm")["c"])
        notes.append(f"PyTorch {version}, OpenMP OpenBLAS, kernels {isa}; a product differs by {difference:.1g}")
    except Absent as reason:
        torch = []
        notes.append(f"no comparison with PyTorch: {reason}")
    try:
        gemms = onednn(chosen.build, isa, max(chosen.rounds, 5) * 4)
        notes.append(f"oneDNN: products differ by at most {max(line['error'] for line in gemms):.1g}")
    except Absent as reason:
        gemms = []
        notes.append(f"no comparison with oneDNN: {reason}")
    seconds = {"A": 0.6 * chosen.scale, "B": 1.5 * chosen.scale, "C": 0.4 * chosen.scale}
    quiet = Quiet([ours, *torch], chosen.others, chosen.patience)
    print(f"kernels: {isa}; whole steps have the same bits in both builds")
    for note in notes:
        print(note)
    raw, rows, load = {}, [], [os.getloadavg()[0]]
    for config in chosen.configs:
        raw[config] = run_rounds(measures(config, isa, seconds[config], ours, torch), chosen.rounds, quiet)
        flops = ours.ask("step", config, isa, 1, 1, 1, 0.01)["flops_per_token"]
        rows += [(config, *row) for row in rows_of(config, isa, raw[config], flops)]
        load.append(os.getloadavg()[0])
        for name, values in raw[config].items():
            unit, by = ("GFLOP/s", 1e9) if name == "peak" else ("k tokens/s", 1e3)
            print(f"{config:4} {name:38} {statistics.median(values) / by:9.2f} {unit:10} "
                  f"({min(values) / by:.2f} to {max(values) / by:.2f})", flush=True)
    rows += summary_rows(gemms, memory_of_16(chosen.build, isa))
    for worker in [ours, *torch]:
        worker.close()
    print(f"medians of {chosen.rounds} rounds in turns; load {', '.join(f'{value:.1f}' for value in load)}; others used "
          f"more than {chosen.others:g} of a processor in {quiet.noisy} of {quiet.taken} measurements")
    print(f"{'':4} {'':52} {'found':>9}  target")
    for row in rows:
        print_row(row, quiet.noisy > quiet.taken / 5)
    if chosen.json:
        result = {"isa": isa, "rounds": chosen.rounds, "load": load, "noisy": [quiet.noisy, quiet.taken], "notes": notes, "raw": raw, "gemm": gemms,
                  "rows": [dict(zip(("config", "measure", "value", "target", "relation"), row)) for row in rows]}
        Path(chosen.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Absent as reason:
        sys.exit(f"a measurement broke off: {reason}")
