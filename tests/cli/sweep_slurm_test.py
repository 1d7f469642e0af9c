"""tools/sweep-slurm on a Slurm of one node that is started here: own folder, own ports, no system service.

Tasks are killed in both ways in which Slurm starts them again; the tables must be those of a local sweep.
"""
import collections
import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from program import PROGRAM, ROOT, TINY, ProgramTest

TOOL = ROOT / "tools" / "sweep-slurm"
TABLES = ("table.csv", "table.txt", "statistics.json")
BASE = {**TINY, "seeds": 1, "stop": {"simulated_h": 20}, "training": False}
LONG_H = 5000  # many seconds
# Debian keeps daemons where only root's path looks.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

CONF = """ClusterName=skerry-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=500
PartitionName=all Nodes=ALL Default=YES State=UP
"""  # a task that is requeued waits until its credential has expired


def until(what, condition, seconds=30):
    """The first true value of the condition; fails when there is none in time."""
    tick, end = threading.Event(), time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        tick.wait(0.05)
    raise AssertionError(f"{what}: not within {seconds} s")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Slurm:
    """munged, slurmctld and slurmd as children of this process."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)
        self.daemons = []
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(2)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.folder / "state").mkdir()
        (self.folder / "spool").mkdir()
        (self.folder / "slurm.conf").write_text(
            CONF.format(host=host, user=getpass.getuser(), folder=self.folder, controller_port=ports[0],
                        node_port=ports[1]), encoding="utf-8")
        # This version of the plugin touches no cgroup until it is used: a machine without any will do.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")
        names = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid",
                 "log-file": "munged.log", "seed-file": "munged.seed"}
        self.daemon("munged", "--foreground", "--force",
                    *(f"--{option}={self.folder / name}" for option, name in names.items()))
        until("munged", (self.folder / "munge.sock").exists)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D", "-N", host)
        try:
            until("an idle node", lambda: self.said("sinfo", "--noheader", "--format=%T") == "idle")
        except AssertionError as error:
            logs = [path.read_text(encoding="utf-8", errors="replace") for path in self.folder.glob("*.out")]
            raise AssertionError("\n".join([str(error), *logs])) from None

    def daemon(self, name, *words):
        if shutil.which(name, path=PATH) is None:
            raise AssertionError(f"{name} is missing: tools/setup --tests installs it")
        with open(self.folder / f"{name}.out", "wb") as log:
            self.daemons.append(subprocess.Popen([name, *words], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=subprocess.STDOUT))

    def stop(self):
        if len(self.daemons) == 3:
            self.said("scancel", "--user", getpass.getuser())
            until("the end of all jobs", lambda: self.said("squeue", "--noheader") == "")
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def said(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60).stdout.strip()

    def job(self, name):
        """What Slurm knows of a job or of one task of an array."""
        return dict(re.findall(r"(\w+)=(\S*)", self.said("scontrol", "show", "job", "--oneliner", name)))

    def ended(self, name):
        return self.job(name).get("JobState") in ("COMPLETED", "FAILED")


class SlurmTest(ProgramTest):
    environment = dict(os.environ)

    def setUp(self):
        super().setUp()
        self.folder = self.folder / "a shared folder"
        self.folder.mkdir()

    def write(self, **changes):
        document = {"skerry": "sweep/1", "scenario": BASE, "seeds": 4,
                    "axes": {"port": {"at": "/regions/*/port_gbps", "values": [1, 2, 5]},
                             "step": {"at": "/islands/*/step_s", "values": [4, 6]}}, **changes}
        (self.folder / "s.sweep.json").write_text(json.dumps(document), encoding="utf-8")
        return "s.sweep.json"

    def tool(self, *words, expect=0, environment=None):
        done = subprocess.run([TOOL, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120,
                              env={**(environment or self.environment), "SKERRY": str(PROGRAM)})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def records(self, pattern):
        return [json.loads(line) for path in sorted((self.folder / "out").glob(pattern))
                for line in path.read_text(encoding="utf-8").split("\n")[:-1]]  # whole lines


class OnOneNode(SlurmTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="slurm-")
        cls.addClassCleanup(folder.cleanup)
        cls.slurm = Slurm(folder.name)
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.start()
        cls.environment = cls.slurm.environment

    def submit(self, *words):
        said = self.tool(*words).stdout
        return re.search(r"^array job (\d+): ", said, re.M)[1], re.search(r"^merge job (\d+): ", said, re.M)[1], said

    def skerry_of(self, shard):
        """Process id of the `skerry sweep` of a shard of this test's folder; its children have the same words."""
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_text(encoding="utf-8").split("\0")
                parent = int((path / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            except (OSError, UnicodeDecodeError):
                continue
            if "--shard" in words and shard in words and str(self.folder / "out") in words:
                found[int(path.name)] = parent
        tops = [process for process, parent in found.items() if parent not in found]
        self.assertEqual(len(tops), 1, f"programs of shard {shard}")
        return tops[0]

    def test_killed_tasks_start_again_and_the_tables_are_those_of_a_local_sweep(self):
        name = self.write()
        array, merge, said = self.submit(name, "--out", "out", "--tasks", 2, "--time", "00:10:00")
        self.assertIn(f"{array}: 2 tasks, 48 points: 0 ok, 0 failed, 48 missing", said)
        self.assertIn("have not ended", self.tool(name, "--out", "out", expect=2).stderr)

        # Both are stopped in the middle. Then one is requeued while it runs, as after a lost node, and the
        # program of the other is killed under it.
        for task in (1, 2):
            until(f"a point of task {task}", lambda: self.records(f"runs-{task}-of-2-*.jsonl"))
            os.kill(self.skerry_of(f"{task}/2"), signal.SIGSTOP)
        self.assertEqual(self.slurm.job(f"{array}_1")["JobState"], "RUNNING")
        self.slurm.said("scontrol", "requeue", f"{array}_1")
        os.kill(self.skerry_of("2/2"), signal.SIGKILL)
        until("two requeued tasks", lambda: all(self.slurm.job(f"{array}_{task}").get("Restarts") == "1"
                                                for task in (1, 2)))
        before = self.records("runs-*.jsonl")
        self.assertLess(len(before), 48)
        line = self.tool(name, "--out", "out", "--status").stdout
        self.assertRegex(line, rf"^s: 48 points: \d+ ok, 0 failed, \d+ missing; tasks of {array}: .*(pending|running"
                               rf"|completing).*, 0 ended; merge {merge}: pending dependency\n$")

        self.skerry("sweep", name, "--out", "local")
        until("the merge job", lambda: self.slurm.ended(merge))
        log = (self.folder / "out" / ".slurm" / f"task-{array}-2.log").read_text(encoding="utf-8")
        self.assertIn("ended with 137: retry 1 of 3", log)
        for job in (f"{array}_1", f"{array}_2", merge):
            self.assertEqual(self.slurm.job(job)["ExitCode"], "0:0")
        self.assertIn("48 points: 48 ok, 0 failed, 0 missing; ", self.tool(name, "--out", "out", "--status").stdout)
        self.assertIn("2 ended", self.tool(name, "--out", "out", "--status").stdout)
        # What had finished before the kills was not run again; the merge found nothing missing.
        self.assertEqual(len(self.records("runs-*.jsonl")), 48)
        self.assertEqual(self.records("runs.jsonl"), [])

        for table in TABLES:
            self.assertEqual((self.folder / "out" / table).read_bytes(),
                             (self.folder / "local" / table).read_bytes(), table)
        again = self.tool(name, "--out", "out")
        self.assertIn("nothing to submit", again.stdout)

    def test_points_that_fail_are_no_crash(self):
        axes = {"hours": {"at": "/stop/simulated_h", "values": [1, 2, LONG_H]}}
        name = self.write(seeds=1, axes=axes, skip=[{"protocol": "data_parallel", "hours": LONG_H}])
        said = self.tool(name, "--out", "out", "--tasks", 9, "--limit", 0.5, "--wait", expect=5).stdout
        self.assertIn("--tasks 9 is more than the points: 5 tasks", said)
        array = re.search(r"^array job (\d+): ", said, re.M)[1]
        self.assertRegex(said, r"merge job \d+: FAILED, exit code 5\n$")
        tasks = [self.slurm.job(f"{array}_{task}") for task in range(1, 6)]
        self.assertEqual({task["Restarts"] for task in tasks}, {"0"})
        self.assertEqual(collections.Counter(task["ExitCode"] for task in tasks), {"0:0": 4, "5:0": 1})
        self.assertEqual([r["status"] for r in self.records("runs*.jsonl")].count("failed"), 1)

    def test_retries_end(self):
        name = self.write(seeds=1)
        # A program that reads the design and then crashes, on every start.
        crash = self.folder / "crash"
        crash.write_text(f'#!/bin/sh\ncase "$*" in *--dry-run*) exec "{PROGRAM}" "$@";; esac\nexit 4\n',
                         encoding="utf-8")
        crash.chmod(0o755)
        said = self.tool(name, "--out", "out", "--tasks", 1, "--retries", 0, "--skerry", crash, "--wait",
                         expect=4).stdout
        array = re.search(r"^array job (\d+): ", said, re.M)[1]
        self.assertEqual(self.slurm.job(array)["ExitCode"], "4:0")
        log = (self.folder / "out" / ".slurm" / f"task-{array}-1.log").read_text(encoding="utf-8")
        self.assertEqual(log, "ended with 4: no retry left of 0\n")

    def test_what_sbatch_refuses_leaves_nothing_queued(self):
        name = self.write()
        self.assertIn("nowhere", self.tool(name, "--out", "out", "--partition", "nowhere", expect=2).stderr)
        self.assertIn("nothing was submitted", self.tool(name, "--out", "out", "--status", expect=2).stderr)


class Refusals(SlurmTest):
    def setUp(self):
        super().setUp()
        commands = self.folder / "commands"  # an sbatch that must not be reached
        commands.mkdir()
        (commands / "sbatch").write_text("#!/bin/sh\necho reached >&2\nexit 1\n", encoding="utf-8")
        (commands / "sbatch").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}

    def refused(self, *words):
        errors = self.tool(*words, expect=2).stderr
        self.assertNotIn("reached", errors)
        return errors

    def test_bad_input_is_refused_before_anything_is_submitted(self):
        name = self.write()
        for words, part in ((("--tasks", 0), "--tasks: found 0, allowed 1 or more"),
                            (("--tasks", "many"), "invalid int value"),
                            (("--cpus-per-task", 0), "allowed 1 or more"),
                            (("--retries", -1), "allowed 0 or more"),
                            (("--status", "--tasks", 3), "--status: found --tasks too"),
                            (("--set", "/stopp=1"), "unknown key"),
                            (("--", "--array=1-3"), "sets --array itself"),
                            (("--skerry", "nowhere"), "cannot be started")):
            self.assertIn(part, self.refused(name, "--out", "out", *words))
        self.write(desing="grid")
        self.assertIn("did you mean 'design'", self.refused(name, "--out", "out"))
        self.assertFalse((self.folder / "out").exists())

    def test_folders_that_cannot_be_used(self):
        name = self.write()
        (self.folder / "file").write_text("", encoding="utf-8")
        self.assertIn("cannot be written", self.refused(name, "--out", "file/below"))
        self.assertIn("cannot be written", self.refused(name, "--out", "/proc/here"))
        (self.folder / "other").mkdir()
        (self.folder / "other" / "letter.txt").write_text("dear", encoding="utf-8")
        self.assertIn("not a sweep", self.refused(name, "--out", "other"))

    def test_without_slurm(self):
        name = self.write()
        python = self.folder / "python"
        python.mkdir()
        (python / "python3").symlink_to(pathlib.Path(sys.executable).resolve())  # python3 of PATH may be a script
        errors = self.tool(name, "--out", "out", expect=2, environment={**os.environ, "PATH": str(python)}).stderr
        self.assertIn("sbatch is not installed here (Debian: package slurm-client)", errors)

    def test_dry_run_shows_both_jobs_and_writes_nothing(self):
        name = self.write()
        said = self.tool(name, "--out", "out", "--cpus-per-task", 2, "--dry-run", "--", "--mem=1G").stdout
        self.assertEqual(said.count("--mem=1G"), 2)
        self.assertIn("--array=1-16 ", said)
        self.assertIn("--dependency=afterany:ARRAY ", said)
        self.assertIn(f"--out '{self.folder}/out' --jobs 2 --threads 1", said)
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()
