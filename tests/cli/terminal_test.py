"""What reaches a terminal and what a pipe: progress for the one alone, escape sequences for neither."""
import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

from program import PROGRAM, ProgramTest

ESCAPE = b"\x1b"
SWEEP = """{"skerry": "sweep/1", "seeds": 2, "scenario": "tiny.json",
            "axes": {"port": {"at": "/regions/us-east5/port_gbps", "values": [1, 2]}}}"""


class Terminal(ProgramTest):
    def on_terminal(self, *words, columns=80):
        """What the program writes to stderr when that is a terminal, and its stdout through a pipe."""
        try:
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        except OSError as error:  # no /dev/pts in a bare chroot
            self.skipTest(str(error))
        running = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:     # the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(master)
        with running.stdout:
            printed = running.stdout.read()
        self.assertEqual(running.wait(timeout=300), 0, shown + printed)
        return shown, printed

    def long_run(self):
        """Takes long enough for a line of progress: that comes five times a second at most."""
        return self.scenario("long", stop={"tokens": 6e9, "max_simulated_days": 300}, seeds=2)

    def test_progress_is_for_terminals_and_plain(self):
        name = self.long_run()
        shown, printed = self.on_terminal("run", name, "--out", "a", "--no-train")
        self.assertIn(b"long: ", shown)
        self.assertNotIn(ESCAPE, shown + printed)
        self.assertTrue(shown.endswith(b" \r"), shown[-80:])     # blanks over the last line
        silent, _ = self.on_terminal("run", name, "--out", "b", "--no-train", "--quiet")
        self.assertEqual(silent, b"")

    def test_progress_keeps_to_a_narrow_terminal(self):
        shown, _ = self.on_terminal("run", self.long_run(), "--out", "a", "--no-train", columns=20)
        pieces = shown.split(b"\r")
        self.assertEqual(max(map(len, pieces)), 19)  # the last column would move the cursor on
        self.assertTrue(any(piece.startswith(b"long: ") for piece in pieces))

    def test_no_command_writes_escapes_into_a_pipe(self):
        name = self.scenario(seeds=1, training=False)
        (self.folder / "s.sweep.json").write_text(SWEEP, encoding="utf-8")
        for words in (("run", name, "--out", "out"), ("show", "out"), ("check", name), ("plan", name),
                      ("estimate", name), ("probe", name), ("diff", "out", "out"), ("compare", "out", "out"),
                      ("sweep", "s.sweep.json", "--out", "sweep"), ("sweep", "s.sweep.json", "--dry-run"),
                      ("test", name), ("timeline", "out", "--protocol", "data_parallel"),
                      ("export", "out", "--format", "openmetrics"), ("explain", "/prices"), ("schema",),
                      ("solve", name, "--vary", "/regions/*/port_gbps", "--metric", "CU", "--target", "0.5"),
                      ("--version",), ("--help",), ("run", "--help"), ("run", "nothing.json")):
            done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=300)
            self.assertNotIn(ESCAPE, done.stdout + done.stderr, words)
            self.assertTrue(done.stdout + done.stderr, words)


if __name__ == "__main__":
    unittest.main()
