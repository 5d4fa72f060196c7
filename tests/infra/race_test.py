#!/usr/bin/env python3
"""What may be started twice at once: PostgreSQL, and the whole of infra/up, on a directory that is new."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from farm import ROOT, Farm, json_of


def at_once(count, *command):
    """Runs it so often at the same time: [(exit code, output)]."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(count)]
    return [(one.returncode, said) for one, said in [(one, one.communicate(timeout=300)[0]) for one in running]]


class RaceTest(unittest.TestCase):
    def test_postgres(self):
        home = pathlib.Path(tempfile.mkdtemp(prefix="kiln race "))
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        tool, place = ROOT / "infra/postgres", home / "pg"
        try:
            done = at_once(4, tool, "start", place, "--no-sync")
            self.assertEqual([code for code, _ in done], [0] * 4, done)
            self.assertEqual(len({said.splitlines()[-1] for _, said in done}), 1, "one server")
        finally:
            done = at_once(3, tool, "stop", place)
        self.assertEqual([code for code, _ in done], [0] * 3, done)
        self.assertEqual(subprocess.run([tool, "status", place], capture_output=True).returncode, 3)

    def test_infra_up(self):
        farm = Farm(workers=2, options=("--no-sample",), start=False)
        self.addCleanup(farm.close)
        up = [ROOT / "infra/up", "--dir", farm.dir, "--workers", "2", "--no-sample"]
        for _ in range(2):  # a new directory, then one that is there
            done = at_once(3, *up)
            self.assertEqual([code for code, _ in done], [0] * 3, done)
            farm.env = farm.environment()
            workers = json_of(farm.kiln("workers", "--json"))["workers"]
            self.assertEqual([worker["state"] for worker in workers], ["live"] * 2)
            self.assertEqual(len([line for _, line in farm.processes() if re.search(r"/kiln-coordinator --listen", line)]), 1)
            subprocess.run([*up[:3], "--stop"], check=True, capture_output=True)
            self.assertEqual(farm.processes(), [])


if __name__ == "__main__":
    unittest.main()
